"""Charts of a fitted session's rate: over time, its levels, its distribution and time scales."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog
from trafficgen.flows import rate_series
from trafficgen.formatting import format_duration, rate_text
from trafficgen.models import Facts
from trafficgen.processes.fractional_noise.hurst import Hurst
from trafficgen.processes.semi_markov.dwells import mean_dwell
from trafficgen.reports.fit.subject import FitSubject, PlayedSessions
from trafficgen.reports.page import (
    TIME,
    Axis,
    Band,
    Block,
    Cells,
    Chart,
    Curve,
    Rule,
    Span,
    tabulate,
)
from trafficgen.reports.samples import (
    Sample,
    Side,
    chart_distribution,
    chart_rates,
    rate_bin_s,
    thin,
)
from trafficgen.units import FloatArray, kbps_from_bps, ns_from_s, s_from_ns
from trafficgen.validation.distances import MOST_BINS

_RATE_BIN_S = 0.5
_HURST_BIN_S = 0.1
#: A link this many times faster than the fastest bin is named, not drawn.
_NEAR = 1.6
PLAYED = "played by the model"


def overlay_rates(subject: FitSubject) -> Iterator[Chart]:
    """Chart rate and bytes over time, measured and played on the same axes."""
    played, phases = subject.played, subject.session.phases
    sides = [Side("measured", "measured", subject.views.captured)]
    notes = []
    if phases.low_s is not None and phases.high_s is not None:
        end = format_duration(phases.buffering_end_s)
        ends = f"{format_duration(phases.low_s)} to {format_duration(phases.high_s)}"
        notes.append(f"Buffering ends at {end}, 95% interval {ends}.")
    if not isinstance(played, str):
        sides.append(Side(PLAYED, "synthetic", played.first))
        notes.append(
            f"Played with seed {subject.provenance.seed}: another draw of the same source, so its"
            " peaks lie elsewhere; their size and number count."
        )
        notes.append(note_as_sent(subject))
    bin_s = rate_bin_s(max(side.span_s for side in sides))
    highest = max(float(np.max(side.rate(bin_s).y, initial=0.0)) for side in sides)
    link_kbps, note = _link(subject, highest)
    yield from chart_rates(
        sides,
        behind=tuple(phase_spans(subject)),
        above=(
            *([] if link_kbps is None else [Rule(name="link", at=link_kbps)]),
            *_level_path(subject),
        ),
        top_kbps=link_kbps or 0.0,
        caption=" ".join(filter(None, [*notes, note])),
    )


def chart_rate_distribution(subject: FitSubject) -> Chart | None:
    """Chart the distribution of the rate in the playout, measured and played."""
    rows = [Sample(name="measured", role="measured", values=_playout_kbps(subject))]
    if not isinstance(subject.played, str):
        values = _playout_kbps(subject, subject.played)
        rows.append(Sample(name=PLAYED, role="synthetic", values=values, dashed=True))
    return chart_distribution(
        "rate-distribution",
        "Distribution of the rate in the playout",
        rows,
        axis=Axis(label=f"IP rate in bins of {_RATE_BIN_S:g} s", unit="kbit/s", low=0),
        caption="Where both curves are equal, the played rate is as often high as the measured.",
    )


def phase_spans(subject: FitSubject) -> Iterator[Span]:
    """Yield the phases of the session as spans; the playout is not shaded."""
    phases = subject.session.phases
    if phases.buffering_end_s is not None:
        yield Span(name="buffering", start=0.0, end=phases.buffering_end_s, role="extra")
    for stall in phases.stalls:
        yield Span(name="stall", start=stall.start_s, end=stall.end_s, role="other")
        if stall.refill_kbps is not None:
            yield Span(name="refill", start=stall.end_s, end=stall.refill_end_s, role="more")
    for pause in phases.player_stalls or ():
        end_s = pause.start_s + pause.duration_s
        yield Span(
            name="stall in the player", start=max(0.0, pause.start_s), end=end_s, role="other"
        )
    if phases.playout_end_s is not None:
        yield Span(name="end", start=phases.playout_end_s, end=phases.end_s, role="baseline")


def note_as_sent(subject: FitSubject) -> str:
    """Return a sentence for charts of played sessions that differ from the capture by the path."""
    if subject.provenance.restored is None:
        return ""
    return "Played sessions are as the source sends them, before the path."


def _link(subject: FitSubject, highest_kbps: float) -> tuple[float | None, str]:
    """Return the rate of the link where it is near the curve, kbit/s, and a sentence on it."""
    link = subject.provenance.conditions.link_rate_bps
    if link is None:
        return None, ""
    kbps = kbps_from_bps(link.value)
    if kbps > _NEAR * highest_kbps:
        return None, f"The narrow link has {rate_text(kbps)}, far above."
    return kbps, f"The narrow link has {rate_text(kbps)}, headers of the link layer included."


def _level_path(subject: FitSubject) -> Iterator[Curve]:
    levels = subject.session.levels
    if levels is not None:
        edge_s = s_from_ns(levels.edge_ns - subject.views.captured.first_media_ns)
        kbps = levels.kbps[np.append(levels.level, levels.level[-1])]
        yield Curve(name="level", x=edge_s, y=kbps, role="law", shape="steps")


def _playout_kbps(subject: FitSubject, played: PlayedSessions | None = None) -> FloatArray:
    """Return the rates in the playout, kbit/s; empty where there would be too many bins."""
    view, rows = (played.first, played.rows) if played else (subject.views.sent, subject.sent_rows)
    phases, playout = subject.views.sent_phases, rows.playout
    if phases.end_s > MOST_BINS * _RATE_BIN_S:
        return np.zeros(0)
    start_ns = view.first_media_ns + ns_from_s(phases.playout_start_s)
    time_ns, ip_bytes = view.table.time_ns[playout], view.table.ip_bytes[playout]
    return rate_series(time_ns, ip_bytes, bin_s=_RATE_BIN_S, start_ns=start_ns).rate_kbps


def chart_time_scales(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart autocorrelations and variance-time curve of the playout, measured and played."""
    for quantity, unit, lag, caption in (
        ("rate", "s", _RATE_BIN_S, f"Rates in bins of {_RATE_BIN_S:g} s of the playout."),
        ("gap", "packets", 1.0, "Gaps between successive media packets of the playout."),
    ):
        values = () if subject.facts is None else _autocorrelation(subject.facts, quantity)
        if not values:
            continue
        x = lag * np.arange(1, len(values) + 1, dtype=np.float64)
        curves = [_autocorrelation(facts, quantity) for facts in subject.played_facts]
        layers, note = _played_layers(x, [one for one in curves if len(one) == len(values)])
        measured = Curve(name="measured", x=x, y=np.array(values), shape="points")
        rows = [np.array(values), *(row for layer in layers for row in _rows_of(layer))]
        extremes = 1.1 * np.array([np.min(rows), np.max(rows)])
        yield Chart(
            name=f"{quantity}-autocorrelation",
            title=f"Autocorrelation of the {quantity}{'s' if quantity == 'gap' else ''}",
            x=Axis(label="lag", unit=unit, low=0),
            y=Axis(  # noise about 0 must not fill it
                label="correlation with itself",
                low=min(-0.25, float(extremes[0])),
                high=max(0.25, float(extremes[1])),
            ),
            layers=(Rule(name="none", at=0.0), *layers, measured),
            caption=f"{caption} 0 means no dependence. {note}".strip(),
        )
    yield _chart_variance_time(subject)


def _autocorrelation(facts: Facts, quantity: str) -> tuple[float, ...]:
    return facts.rate_autocorrelation if quantity == "rate" else facts.gap_autocorrelation


def _rows_of(layer: Curve | Band) -> list[FloatArray]:
    rows = (layer.y,) if isinstance(layer, Curve) else (layer.low, layer.high)
    return [np.asarray(row, dtype=np.float64) for row in rows]


def _played_layers(
    x: FloatArray, curves: list[tuple[float, ...]]
) -> tuple[list[Curve | Band], str]:
    """Return the band and the median of played sessions, and how to read them."""
    if not curves:
        return [], ""
    values, runs = np.array(curves), len(curves)
    share = max(0.0, (runs - 1) / (runs + 1))
    note = (
        f"The band reaches from the smallest to the largest of {runs} sessions that the model"
        f" plays, measured by the same code: a further one lies in it at {share:.0%} of the places."
    )
    low, median, high = values.min(axis=0), np.median(values, axis=0), values.max(axis=0)
    return [
        Band(name=PLAYED, x=x, low=low, high=high, role="synthetic"),
        Curve(name="median of the played", x=x, y=median, role="synthetic"),
    ], note


def _chart_variance_time(subject: FitSubject) -> Chart | None:
    facts, hurst, words = subject.facts, subject.session.hurst, ""
    if facts is None or len(facts.scales) < 2:
        return None
    known = _variances(facts)
    bin_s, variance = np.array(list(known)), np.array(list(known.values()))
    curves = [
        tuple(_variances(one).get(width, math.nan) for width in known)
        for one in subject.played_facts
    ]
    layers, note = _played_layers(bin_s, [one for one in curves if np.isfinite(one).all()])
    long_range = subject.session.long_range
    periodic = long_range is not None and long_range.verdict == "periodic"
    if hurst is not None and not periodic:  # a strict period has no slope
        layers += _hurst_layers(hurst, bin_s, variance)
        words = (
            f" The dashed line has the slope 2 H - 2 of H = {hurst.value:.2f} [{hurst.low:.2f},"
            f" {hurst.high:.2f}]; its band has those of the ends of the interval."
        )
    return Chart(
        name="variance-time",
        title="Variance of the rate by time scale",
        x=Axis(label="width of the bins", unit="s", log=True),
        y=Axis(label="variance / squared mean", log=True),
        layers=(*layers, Curve(name="measured", x=bin_s, y=variance, shape="points")),
        caption=(
            "Independent packets fall with slope -1 (H = 0.5); bursts, levels and long memory fall"
            f" more slowly.{words} {note}".strip()
        ),
    )


def _variances(facts: Facts) -> dict[float, float]:
    """Return relative variances by bin; a constant rate has no place on a logarithmic axis."""
    scales = ((scale.bin_s, scale.relative_variance) for scale in facts.scales)
    return {bin_s: variance if variance > 0 else math.nan for bin_s, variance in scales}


def _hurst_layers(hurst: Hurst, bin_s: FloatArray, variance: FloatArray) -> list[Curve | Band]:
    """Return the line of the Hurst parameter through the measured curve, where it was fitted."""
    inside = (bin_s >= _HURST_BIN_S * 2 ** (hurst.first_octave - 1)) & np.isfinite(variance)
    if np.count_nonzero(inside) < 2:
        return []
    x, y = bin_s[inside], variance[inside]
    # Through the geometric middle of the points, so that neither end decides where it lies.
    middle_x, middle_y = math.exp(float(np.log(x).mean())), math.exp(float(np.log(y).mean()))
    low, slope, high = (
        middle_y * (x / middle_x) ** (2 * value - 2)
        for value in (hurst.low, hurst.value, hurst.high)
    )
    edges = {"low": np.minimum(low, high), "high": np.maximum(low, high)}
    return [
        Band(name="95% interval of H", x=x, role="law", **edges),
        Curve(name="slope of H", x=x, y=slope, role="law", dashed=True),
    ]


_CLOCKS = {
    "own": "by its own zero",
    "unix": "by Unix time",
    "option": "by the given offset",
    "capture_start": "at the capture's first packet",
}


def describe_levels(subject: FitSubject) -> Iterator[Block | None]:
    """Yield transitions and stays of the levels, by the player log where there is one."""
    played, levels = subject.session.played_levels, subject.session.levels
    if played is not None and len(played.names) > 1:
        yield from _describe_player(played)
    elif levels is not None:
        names = tuple(map(rate_text, levels.kbps.tolist()))
        rows = levels.transition_rows()
        if levels.switches > 1:
            yield _chart_transitions(names, rows, switches=levels.switches, source="the rate")
        records = []
        for level, name in enumerate(names):
            dwell = mean_dwell(levels.dwells(level))
            records.append(
                {
                    "level (IP bytes)": name,
                    "visits": int(np.count_nonzero(levels.level == level)),
                    "mean stay, s": dwell.mean_s if dwell else None,
                    "95% from": dwell.low_s if dwell else None,
                    "95% to": dwell.high_s if dwell else None,
                }
            )
        yield tabulate("Time at each level", records)


def _describe_player(played: PlayedLevels) -> Iterator[Block | None]:
    names = []
    for name, rate in zip(played.names, played.kbps, strict=True):
        unit = "" if rate is None else f" ({rate_text(rate)})"
        names.append(f"{name} kbit/s" if rate is not None and name == f"{rate:g}" else name + unit)
    yield _chart_transitions(
        tuple(names), played.transition, switches=played.switches, source="the player log"
    )
    stays = zip(played.names, played.kbps, played.mean_dwell_s, strict=True)
    records = (
        {"level": name, "encoding rate, kbit/s": rate, "mean stay, s": stay_s}
        for name, rate, stay_s in stays
    )
    yield tabulate("Time at each level, by the player log", records)


def _chart_transitions(
    names: tuple[str, ...],
    rows: Sequence[Sequence[float] | np.ndarray | None],
    *,
    switches: int,
    source: str,
) -> Chart:
    values = np.full((len(names), len(names)), math.nan)
    for level, row in enumerate(rows):
        if row is not None:
            values[level] = row
            values[level, level] = math.nan  # a level does not follow itself
    return Chart(
        name="level-transitions",
        title="Which level follows which: from row to column",
        x=Axis(label="to", categories=names),
        y=Axis(label="from", categories=names),
        layers=(Cells(name="share of the switches from this level", values=values),),
        caption=(
            f"Levels by {source}, {switches} switches. A row has the shares of the levels that"
            " followed, which add up to 1; a row without numbers was never left."
        ),
    )


def chart_player(subject: FitSubject) -> Iterator[Chart]:
    """Chart buffer and levels of the player log, if there is one."""
    log, played = subject.session.player_log, subject.session.played_levels
    if log is None:
        return
    spans = tuple(phase_spans(subject))
    if log.sample_time_s.size > 1:
        yield _chart_buffer(log, spans)
    if played is not None and len(played.names) > 1:
        yield _chart_levels(log, played.names, spans)


def _chart_buffer(log: PlayerLog, spans: tuple[Span, ...]) -> Chart:
    moments = {"playback starts": log.playback_start_s, "buffer full": log.buffer_full_s}
    rules = (
        Rule(name=name, at=at, axis="x", role="law")
        for name, at in moments.items()
        if at is not None
    )
    x, y = thin(log.sample_time_s, log.buffer_s)
    return Chart(
        name="player-buffer",
        title="Buffer of the player",
        x=TIME,
        y=Axis(label="media in the buffer", unit="s", low=0),
        layers=(*spans, *rules, Curve(name="buffer", x=x, y=y, role="measured")),
        caption=f"By {log.file}; its clock was placed {_CLOCKS[log.clock]}.",
    )


def _chart_levels(log: PlayerLog, names: tuple[str, ...], spans: tuple[Span, ...]) -> Chart:
    """Chart the levels over time; ``names`` has those that are not rates in ascending order."""
    axis = Axis(label="level", categories=names)
    y = [float(names.index(f"{one:g}" if isinstance(one, float) else one)) for one in log.levels]
    if all(isinstance(level, float) for level in log.levels):
        axis, y = Axis(label="encoding rate", unit="kbit/s"), [float(one) for one in log.levels]
    time_s = np.append(log.level_time_s, max(log.end_s, float(log.level_time_s[-1])))
    curve = Curve(name="level", x=time_s, y=np.append(y, y[-1]), role="law", shape="steps")
    return Chart(
        name="player-levels",
        title="Levels that the player chose",
        x=TIME,
        y=axis,
        layers=(*spans, curve),
        caption=f"By {log.file}: media payload, without headers.",
    )
