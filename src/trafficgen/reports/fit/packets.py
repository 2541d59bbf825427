"""Charts of packets, bursts and frames of a fitted session, with their laws."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from trafficgen.calibration.phases.phase_rows import playout_gaps_s
from trafficgen.distributions.fitting.fit_law import FittedLaw
from trafficgen.flows import gaps_within_flows_s, segment_bursts
from trafficgen.formatting import format_duration, number
from trafficgen.models import BurstProcess, FrameProcess, Law
from trafficgen.processes.frames.group_of_pictures import find_group
from trafficgen.processes.frames.timing import Frames, frames_of
from trafficgen.reports.fit.rate import PLAYED, note_as_sent
from trafficgen.reports.fit.subject import FitSubject, StreamPart
from trafficgen.reports.laws import PlottedLaw, chart_law, chart_law_quantiles, chart_law_tail
from trafficgen.reports.page import BURST, GAP, SIZE, SPACING, Axis, Chart, Curve, Role
from trafficgen.reports.samples import Sample, chart_distribution
from trafficgen.units import FloatArray

_GAP_WITHIN = Axis(label="gap within a burst", unit="s", log=True)
_FRAME = Axis(label="frame, headers of its packets included", unit="bytes")
_FRAME_SPACING = Axis(label="first packet of a frame to that of the next", unit="s", log=True)
_BURST_ROLES: Mapping[str, Role] = {"playout": "measured", "buffering": "other"}
_FRAME_TYPES: Mapping[str, Role] = {
    "key": "other",
    "predicted": "measured",
    "bidirectional": "extra",
}
#: Frames that are shown one by one.
_SHOWN_FRAMES = 240


def chart_packets(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart sizes and gaps of the playout with their laws, and those of the buffering."""
    view, rows, session = subject.views.captured, subject.captured_rows, subject.session
    sizes = [_measured(view.table.ip_bytes[rows.playout])]
    title = "Packet sizes in the playout"
    yield chart_law("packet-sizes", title, sizes, _law_curves(session.packet_bytes), axis=SIZE)
    gap_s, laws = playout_gaps_s(view, rows), _law_curves(session.gap_s)
    gaps = [_measured(gap_s)]
    if not isinstance(subject.played, str):
        played_s = playout_gaps_s(subject.played.first, subject.played.rows)
        gaps.append(_sample(PLAYED, "synthetic", played_s))
    caption = f"Gaps of the playout. {note_as_sent(subject)}".strip()
    yield chart_law("gaps", "Gaps between packets", gaps, laws, axis=GAP, caption=caption)
    caption = "Both axes are logarithmic: a straight fall is a power law."
    yield chart_law_tail("gap-tail", "Tail of the gaps", gaps, laws, axis=GAP, caption=caption)
    yield chart_law_quantiles(
        "gap-quantiles",
        "Quantiles of the gaps against their law",
        gap_s,
        session.gap_s.law,
        axis=Axis(label="gap by the law", unit="s", log=True),
        of=Axis(label="measured gap", unit="s", log=True),
    )
    if session.phases.buffering_end_s is not None:
        yield from _chart_buffering(subject)


def _sample(name: str, role: Role, values: np.ndarray) -> Sample:
    """Return a sample to draw; what the model plays is dashed."""
    numbers = values.astype(np.float64)
    return Sample(name=name, role=role, values=numbers, dashed=role == "synthetic")


def _measured(values: np.ndarray) -> Sample:
    return _sample("measured", "measured", values)


def _law_curves(fitted: FittedLaw) -> list[PlottedLaw]:
    """Return the law that is played, and the best family where that was rejected."""
    curves = [PlottedLaw(name=family_name(fitted.law), law=fitted.law)]
    if fitted.is_rejected:
        name = f"rejected: {family_name(fitted.parametric)}"
        curves.append(PlottedLaw(name=name, law=fitted.parametric, role="extra", dashed=True))
    return curves


def family_name(law: Law) -> str:
    """Return the name of a law's family for a legend."""
    names = {"quantiles": "smoothed empirical law", "atoms": "single values"}
    return names.get(law.family, law.family.replace("_", " "))


def _chart_buffering(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart sizes and gaps of the buffering, of the playout and of what the model plays."""
    captured, rows = subject.views.captured, subject.captured_rows
    wanted = [
        ("buffering", _BURST_ROLES["buffering"], captured, rows.before),
        ("playout", _BURST_ROLES["playout"], captured, rows.playout),
    ]
    if not isinstance(subject.played, str):
        first, before = subject.played.first, subject.played.rows.before
        wanted.append(("buffering, played", "synthetic", first, before))
    sizes, gaps = [], []
    for name, role, view, part in wanted:
        gap_s, ends = gaps_within_flows_s(view.table, view.media)
        sizes.append(_sample(name, role, view.table.ip_bytes[part]))
        gaps.append(_sample(name, role, gap_s[part[ends]]))
    caption = "The buffering has laws of its own in the model."
    yield chart_distribution(
        "packet-sizes-buffering", "Packet sizes in the buffering", sizes, axis=SIZE, caption=caption
    )
    caption += " Gaps of 0 s are left out."
    yield chart_distribution(
        "gaps-buffering", "Gaps in the buffering", gaps, axis=GAP, caption=caption
    )


def chart_bursts(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart the bursts by phase, and those of the heaviest stream of bursts with their laws."""
    by_phase = subject.session.bursts_by_phase
    if by_phase is None:
        return
    threshold_s = by_phase["playout"].threshold_s
    caption = (
        f"Bursts of all media packets; gaps above {format_duration(threshold_s)} separate them."
    )
    found = [
        (name, by_phase[name], role) for name, role in _BURST_ROLES.items() if name in by_phase
    ]
    if not isinstance(subject.played, str):
        table, playout = subject.played.first.table, subject.played.rows.playout
        time_ns, ip_bytes = table.time_ns[playout], table.ip_bytes[playout]
        bursts = segment_bursts(time_ns, ip_bytes, threshold_s=threshold_s)
        found.append((f"playout, {PLAYED}", bursts, "synthetic"))
        caption = f"{caption} {note_as_sent(subject)}".strip()
    for name, title, quantity, axis in (
        ("burst-packets", "Packets in a burst", "packets", BURST),
        ("burst-spacing", "Spacing of the bursts", "spacing_s", SPACING),
    ):
        samples = [_sample(label, role, getattr(bursts, quantity)) for label, bursts, role in found]
        yield chart_distribution(name, title, samples, axis=axis, caption=caption)
    parts = [part for part in subject.parts if isinstance(part.phase.process, BurstProcess)]
    if parts:
        yield from _chart_burst_laws(max(parts, key=lambda part: part.packets.time_ns.size))


def _chart_burst_laws(part: StreamPart) -> Iterator[Chart | None]:
    """Chart the laws of a stream of bursts with their samples."""
    process, packets = part.phase.process, part.packets
    assert isinstance(process, BurstProcess)
    bursts = segment_bursts(packets.time_ns, packets.ip_bytes, threshold_s=process.threshold_s)
    drawn: list[tuple[str, str, FloatArray, Law | None, Axis]] = [
        (
            "burst-packets-law",
            "Packets in a burst and their law",
            bursts.packets.astype(np.float64),
            process.burst_packets,
            BURST,
        ),
        (
            "burst-spacing-law",
            "Spacing of the bursts and its law",
            bursts.spacing_s,
            process.spacing_s,
            SPACING,
        ),
        (
            "burst-gaps-law",
            "Gaps within bursts and their law",
            packets.gap_s[bursts.within],
            process.gap_within_s,
            _GAP_WITHIN,
        ),
    ]
    caption = f"{part.label}: what the model draws from."
    for name, title, values, law, axis in drawn:
        if law is not None:
            laws = [PlottedLaw(name=family_name(law), law=law)]
            yield chart_law(name, title, [_measured(values)], laws, axis=axis, caption=caption)


def chart_frames(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart the frames of the heaviest phase with a frame clock; video comes first."""
    found = [(part, frames_of(part.packets)) for part in subject.parts]
    parts = [(part, frames) for part, frames in found if frames is not None]
    if not parts:
        return
    part, frames = max(
        parts, key=lambda one: (one[0].stream.media == "video", float(one[1].frame_bytes.sum()))
    )
    sizes = frames.frame_bytes.astype(np.float64)
    group = find_group(sizes)
    types = group.types if group else np.ones(sizes.size, dtype=np.int64)
    names = dict(enumerate(_FRAME_TYPES)) if group else {1: "frame"}
    present = [kind for kind in names if np.any(types == kind)]
    yield _chart_frame_order(part, frames, types, {kind: names[kind] for kind in present})
    process = part.phase.process
    laws = {one.name: one.frame_bytes for one in getattr(process, "types", ())}
    for kind in present:
        name = names[kind]
        law = laws.get(name)
        role = _FRAME_TYPES.get(name, "measured")
        yield chart_law(
            f"frame-sizes-{name}",
            "Sizes of frames" if name == "frame" else f"Sizes of {name} frames",
            [_sample("measured", role, sizes[types == kind])],
            [PlottedLaw(name=family_name(law), law=law)] if law else [],
            axis=_FRAME,
            caption=f"{part.label}: {int(np.count_nonzero(types == kind)):,} frames.",
        )
    samples = [_measured(np.diff(frames.start_s))]
    played, place = list(subject.replay_packets(part.stream)), part.stream.phases.index(part.phase)
    again = frames_of(played[place]) if place < len(played) else None
    if again is not None:
        samples.append(_sample(PLAYED, "synthetic", np.diff(again.start_s)))
    caption = f"{part.label}. A step where all frames are on time; a slope where they are late."
    yield chart_distribution(
        "frame-spacing", "Spacing of the frames", samples, axis=_FRAME_SPACING, caption=caption
    )


def _chart_frame_order(
    part: StreamPart, frames: Frames, types: np.ndarray, names: Mapping[int, str]
) -> Chart:
    process, clock = part.phase.process, ""
    if isinstance(process, FrameProcess):
        clock = f" {number(process.frame_rate_hz.value)} frames a second by the media clock."
        if process.group is not None:
            mean = sum(each.frames * each.share for each in process.group.distances)
            clock += f" A key frame comes every {number(mean)} frames on average."
    first = types[:_SHOWN_FRAMES]
    curves = [
        Curve(
            name=name,
            x=frames.start_s[:_SHOWN_FRAMES][first == kind],
            y=frames.frame_bytes[:_SHOWN_FRAMES][first == kind].astype(np.float64),
            role=_FRAME_TYPES.get(name, "measured"),
            shape="points",
        )
        for kind, name in names.items()
        if np.any(first == kind)
    ]
    return Chart(
        name="frames",
        title="Frames one after another",
        x=Axis(label="time after the first frame of the phase", unit="s", low=0),
        y=Axis(label="frame", unit="bytes", low=0),
        layers=tuple(reversed(curves)),  # key frames last: they lie on top
        caption=(
            f"{part.label}: the first {min(_SHOWN_FRAMES, frames.first.size)} of"
            f" {frames.first.size:,} frames; types by their sizes.{clock}"
        ),
    )
