"""Sizes and gaps of a fitted session's packets beside their laws, and its bursts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from trafficgen.calibration.laws.fit_law import FittedLaw
from trafficgen.calibration.phases.phase_rows import playout_gaps_s
from trafficgen.flows import Bursts, gaps_within_flows_s, segment_bursts
from trafficgen.formatting import number
from trafficgen.models import BurstProcess, Law
from trafficgen.reports.charts import Axis, Chart, Role
from trafficgen.reports.curves import Sample, chart_distribution
from trafficgen.reports.fit.rate import as_sent
from trafficgen.reports.fit.subject import FitSubject, StreamPart
from trafficgen.reports.laws import PlottedLaw, chart_law, chart_law_quantiles, chart_law_tail
from trafficgen.units import FloatArray

_SIZE = Axis(label="IP packet", unit="bytes")
_GAP = Axis(label="gap between packets of a flow", unit="s", log=True)
_PLAYED = "played by the model"
_BURST_ROLES: Mapping[str, Role] = {"playout": "measured", "buffering": "other"}


def chart_packets(subject: FitSubject) -> Iterator[Chart | None]:
    """Yield sizes and gaps: distribution functions with the laws, tails, quantiles, and the
    buffering by itself.
    """
    view, rows, session = subject.views.captured, subject.captured_rows, subject.session
    sizes = view.table.ip_bytes[rows.playout].astype(np.float64)
    gap_s = playout_gaps_s(view, rows)
    yield chart_law(
        "packet-sizes",
        "Packet sizes in the playout",
        [_measured(sizes)],
        _laws(session.packet_bytes),
        axis=_SIZE,
    )
    gaps = [_measured(gap_s), *_played_gaps(subject)]
    laws = _laws(session.gap_s)
    caption = f"Gaps of the playout. {as_sent(subject)}".strip()
    yield chart_law("gaps", "Gaps between packets", gaps, laws, axis=_GAP, caption=caption)
    reaching = "Both axes are logarithmic: a straight fall is a power law."
    yield chart_law_tail("gap-tail", "Tail of the gaps", gaps, laws, axis=_GAP, caption=reaching)
    yield chart_law_quantiles(
        "gap-quantiles",
        "Quantiles of the gaps against their law",
        gap_s,
        session.gap_s.parametric,
        axis=Axis(label="gap by the law", unit="s", log=True),
        of=Axis(label="measured gap", unit="s", log=True),
    )
    yield from _chart_buffering(subject)


def _measured(values: FloatArray) -> Sample:
    return Sample(name="measured", role="measured", values=values)


def _laws(fitted: FittedLaw) -> list[PlottedLaw]:
    """Return the best family and, where no family fits, the smoothed empirical law that stands in
    for it.
    """
    family = PlottedLaw(name=family_name(fitted.parametric), law=fitted.parametric)
    if fitted.law is fitted.parametric:
        return [family]
    return [
        family,
        PlottedLaw(name="smoothed empirical law", law=fitted.law, role="extra", dashed=True),
    ]


def family_name(law: Law) -> str:
    """Return the name of a law's family as it stands in a legend."""
    return {"quantiles": "smoothed empirical law", "atoms": "single values"}.get(
        law.family, law.family.replace("_", " ")
    )


def _played_gaps(subject: FitSubject) -> list[Sample]:
    if isinstance(subject.played, str):
        return []
    gap_s = playout_gaps_s(subject.played.first, subject.played.rows)
    return [Sample(name=_PLAYED, role="synthetic", values=gap_s, dashed=True)]


def _chart_buffering(subject: FitSubject) -> Iterator[Chart | None]:
    """Yield sizes and gaps of the buffering beside those of the playout and what the model
    plays.
    """
    if subject.session.phases.buffering_end_s is None:
        return
    view, rows = subject.views.captured, subject.captured_rows
    sizes = [
        Sample(
            name="buffering",
            role="other",
            values=view.table.ip_bytes[rows.before].astype(np.float64),
        ),
        Sample(
            name="playout",
            role="measured",
            values=view.table.ip_bytes[rows.playout].astype(np.float64),
        ),
    ]
    gap_s, ends = gaps_within_flows_s(view.table, view.media)
    gaps = [
        Sample(name="buffering", role="other", values=gap_s[rows.before[ends]]),
        Sample(name="playout", role="measured", values=gap_s[rows.playout[ends]]),
    ]
    if not isinstance(subject.played, str):
        first, before = subject.played.first, subject.played.rows.before
        sent_gap_s, sent_ends = gaps_within_flows_s(first.table, first.media)
        played = "buffering, played"
        sent_bytes = first.table.ip_bytes[before].astype(np.float64)
        sizes.append(Sample(name=played, role="synthetic", values=sent_bytes, dashed=True))
        gaps.append(
            Sample(name=played, role="synthetic", values=sent_gap_s[before[sent_ends]], dashed=True)
        )
    caption = "The buffering has laws of its own in the model."
    yield chart_distribution(
        "packet-sizes-buffering",
        "Packet sizes in the buffering",
        sizes,
        axis=_SIZE,
        caption=caption,
    )
    yield chart_distribution(
        "gaps-buffering",
        "Gaps in the buffering",
        gaps,
        axis=_GAP,
        caption=f"{caption} Gaps of 0 s are left out.",
    )


def chart_bursts(subject: FitSubject) -> Iterator[Chart | None]:
    """Yield packets and spacing of the bursts by phase, and those of the heaviest stream of bursts
    beside its laws.
    """
    by_phase = subject.session.bursts_by_phase
    if by_phase is None:
        return
    threshold_s = by_phase["playout"].threshold_s
    caption = (
        f"Bursts of all media packets of the session; gaps above {number(threshold_s)} s part them."
    )
    played = _played_bursts(subject, threshold_s)
    if played is not None:
        caption = f"{caption} {as_sent(subject)}".strip()
    yield chart_distribution(
        "burst-packets",
        "Packets in a burst",
        _burst_samples(by_phase, played, "packets"),
        axis=Axis(label="burst", unit="packets", log=True),
        caption=caption,
    )
    yield chart_distribution(
        "burst-spacing",
        "Spacing of the bursts",
        _burst_samples(by_phase, played, "spacing_s"),
        axis=Axis(label="start of a burst to the start of the next", unit="s", log=True),
        caption=caption,
    )
    found = max(
        (part for part in subject.parts if isinstance(part.phase.process, BurstProcess)),
        key=lambda part: part.packets.time_ns.size,
        default=None,
    )
    if found is not None:
        yield from _burst_laws(found)


def _played_bursts(subject: FitSubject, threshold_s: float) -> Bursts | None:
    if isinstance(subject.played, str):
        return None
    table, playout = subject.played.first.table, subject.played.rows.playout
    return segment_bursts(table.time_ns[playout], table.ip_bytes[playout], threshold_s=threshold_s)


def _burst_samples(
    by_phase: Mapping[str, Bursts], played: Bursts | None, quantity: str
) -> list[Sample]:
    samples = [
        Sample(
            name=phase,
            role=_BURST_ROLES[phase],
            values=np.asarray(getattr(by_phase[phase], quantity), dtype=np.float64),
        )
        for phase in ("playout", "buffering")
        if phase in by_phase
    ]
    if played is not None:
        values = np.asarray(getattr(played, quantity), dtype=np.float64)
        samples.append(
            Sample(
                name="playout, played by the model", role="synthetic", values=values, dashed=True
            )
        )
    return samples


def _burst_laws(part: StreamPart) -> Iterator[Chart | None]:
    """Yield the laws of a stream of bursts beside what they were fitted to."""
    process = part.phase.process
    assert isinstance(process, BurstProcess)
    bursts = segment_bursts(
        part.packets.time_ns, part.packets.ip_bytes, threshold_s=process.threshold_s
    )
    caption = f"{part.label}: what the model draws from."
    drawn: list[tuple[str, str, FloatArray, Law | None, Axis]] = [
        (
            "burst-packets-law",
            "Packets in a burst and their law",
            bursts.packets.astype(np.float64),
            process.burst_packets,
            Axis(label="burst", unit="packets", log=True),
        ),
        (
            "burst-spacing-law",
            "Spacing of the bursts and its law",
            bursts.spacing_s,
            process.spacing_s,
            Axis(label="start of a burst to the start of the next", unit="s", log=True),
        ),
        (
            "burst-gaps-law",
            "Gaps within bursts and their law",
            part.packets.gap_s[bursts.within],
            process.gap_within_s,
            Axis(label="gap within a burst", unit="s", log=True),
        ),
    ]
    for name, title, values, law, axis in drawn:
        if law is not None:
            yield chart_law(
                name,
                title,
                [_measured(values)],
                [PlottedLaw(name=family_name(law), law=law)],
                axis=axis,
                caption=caption,
            )
