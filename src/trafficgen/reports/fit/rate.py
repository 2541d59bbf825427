"""Charts of a fitted session's rate: over time, its distribution and its time scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from trafficgen.flows import SessionView, rate_series
from trafficgen.formatting import number
from trafficgen.models import Facts
from trafficgen.reports.charts import Axis, Band, Chart, Curve, Layer, Rule, Span
from trafficgen.reports.fit.subject import FitSubject, PlayedSessions
from trafficgen.reports.samples import Sample, chart_distribution, rate_bin_s, rate_curve
from trafficgen.units import BoolArray, FloatArray, kbps_from_bps, ns_from_s, s_from_ns
from trafficgen.validation.time_scales import MOST_BINS

_RATE_BIN_S = 0.5
_HURST_BIN_S = 0.1
#: A link this many times faster than the fastest bin is named, not drawn.
_NEAR = 1.6
_TIME = "time after the first media packet"


def chart_rates(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart the rate over time, measured and played, and its distribution."""
    played = subject.played
    views = [subject.views.captured, *([] if isinstance(played, str) else [played.first])]
    phases = subject.session.phases
    end_s = max(_length_s(view) for view in views)
    bin_s = rate_bin_s(end_s)
    measured = rate_curve(views[0], bin_s=bin_s, name="measured", role="measured")
    model = [
        rate_curve(view, bin_s=bin_s, name="played by the model", role="synthetic")
        for view in views[1:]
    ]
    highest = max(
        [float(np.max(curve.y, initial=0.0)) for curve in (measured, *model)], default=0.0
    )
    link_kbps, said = _link(subject, highest)
    highest = 1.05 * max(highest, link_kbps or 0.0, 1e-3)
    time = Axis(label=_TIME, unit="s", low=0, high=end_s)
    rate = Axis(label="IP rate to the client", unit="kbit/s", low=0, high=highest)
    spans = tuple(phase_spans(subject))
    rules = [] if link_kbps is None else [Rule(name="link", at=link_kbps, role="baseline")]
    levels = list(_level_path(subject))
    end_of_buffering = ""
    if phases.low_s is not None and phases.high_s is not None:
        end_of_buffering = (
            f" Buffering ends at {number(phases.buffering_end_s)} s, 95% interval"
            f" {number(phases.low_s)} to {number(phases.high_s)} s."
        )
    yield Chart(
        name="rate",
        title="Rate over time",
        x=time,
        y=rate,
        layers=(*spans, measured, *rules, *levels),
        caption=f"Means over bins of {bin_s:g} s.{end_of_buffering}{said}",
    )
    if model:
        yield Chart(
            name="rate-played",
            title="Rate of a session that the model plays",
            x=time,
            y=rate,
            layers=(*spans, *model),
            caption=(
                f"The same for `trafficgen generate` with seed {subject.provenance.seed}: another"
                f" draw of the same source, so its peaks lie elsewhere. {note_as_sent(subject)}".strip()
            ),
        )
    yield _rate_distribution(subject)


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
        return None, f" The narrow link has {number(kbps)} kbit/s, far above."
    return kbps, f" The narrow link has {number(kbps)} kbit/s, headers of the link layer included."


def _level_path(subject: FitSubject) -> Iterator[Curve]:
    levels = subject.session.levels
    if levels is not None:
        edge_s = s_from_ns(levels.edge_ns - subject.views.captured.first_media_ns)
        kbps = levels.kbps[np.append(levels.level, levels.level[-1])]
        yield Curve(name="level", x=edge_s, y=kbps, role="law", shape="steps")


def _length_s(view: SessionView) -> float:
    return s_from_ns(int(view.media_time_ns[-1] - view.media_time_ns[0]))


def _rate_distribution(subject: FitSubject) -> Chart | None:
    views, played = subject.views, subject.played
    samples = [
        Sample(
            name="measured",
            role="measured",
            values=_rates(subject, views.sent, subject.sent_rows.playout),
        )
    ]
    if not isinstance(played, str):
        rates = _rates(subject, played.first, played.rows.playout)
        samples.insert(1, Sample(name="played by the model", role="synthetic", values=rates))
    return chart_distribution(
        "rate-distribution",
        "Distribution of the rate in the playout",
        samples,
        axis=Axis(label=f"IP rate in bins of {_RATE_BIN_S:g} s", unit="kbit/s", low=0),
        caption=(
            "Where both curves lie on each other, the played rate is as often high and low as the"
            " measured one."
        ),
    )


def _rates(subject: FitSubject, view: SessionView, playout: BoolArray) -> FloatArray:
    """Return the rates in the playout, kbit/s; empty where there would be too many bins."""
    phases = subject.views.sent_phases
    if phases.end_s > MOST_BINS * _RATE_BIN_S:
        return np.zeros(0)
    start_ns = view.first_media_ns + ns_from_s(phases.playout_start_s)
    table = view.table
    return rate_series(
        table.time_ns[playout], table.ip_bytes[playout], bin_s=_RATE_BIN_S, start_ns=start_ns
    ).rate_kbps


def chart_time_scales(subject: FitSubject) -> Iterator[Chart | None]:
    """Chart autocorrelations and variance-time curve of the playout, measured and played."""
    yield _autocorrelation(
        subject,
        "rate-autocorrelation",
        "Autocorrelation of the rate",
        lambda facts: facts.rate_autocorrelation,
        axis=Axis(label="lag", unit="s", low=0),
        lag=_RATE_BIN_S,
        of=f"Rates in bins of {_RATE_BIN_S:g} s of the playout.",
    )
    yield _autocorrelation(
        subject,
        "gap-autocorrelation",
        "Autocorrelation of the gaps",
        lambda facts: facts.gap_autocorrelation,
        axis=Axis(label="lag", unit="packets", low=0),
        lag=1.0,
        of="Gaps between successive media packets of the playout.",
    )
    yield _variance_time(subject)


def _autocorrelation(
    subject: FitSubject,
    name: str,
    title: str,
    of_facts: Callable[[Facts], tuple[float, ...]],
    *,
    axis: Axis,
    lag: float,
    of: str,
) -> Chart | None:
    facts = subject.facts
    values = () if facts is None else of_facts(facts)
    if not values:
        return None
    x = lag * np.arange(1, len(values) + 1, dtype=np.float64)
    layers: list[Layer] = []
    said = ""
    if not isinstance(subject.played, str):
        played = [of_facts(one) for one in subject.played.facts]
        layers, said = _played_layers(
            subject.played, x, [each for each in played if len(each) == len(values)]
        )
    measured = Curve(name="measured", x=x, y=np.array(values), role="measured", shape="points")
    low, high = _least_range([*layers, measured])
    return Chart(
        name=name,
        title=title,
        x=axis,
        y=Axis(label="correlation with itself", low=low, high=high),
        layers=(Rule(name="none", at=0.0), *layers, measured),
        caption=f"{of} 0 is no dependence. {said}".strip(),
    )


def _least_range(layers: list[Layer]) -> tuple[float, float]:
    """Return ends of an axis of correlations; noise about 0 must not fill it."""
    rows = [np.asarray(row) for layer in layers if isinstance(layer, Curve) for row in [layer.y]]
    rows += [
        np.asarray(row)
        for layer in layers
        if isinstance(layer, Band)
        for row in (layer.low, layer.high)
    ]
    values = np.concatenate(rows)
    return min(-0.25, 1.1 * float(values.min())), max(0.25, 1.1 * float(values.max()))


def _played_layers(
    played: PlayedSessions, x: FloatArray, curves: list[tuple[float, ...]]
) -> tuple[list[Layer], str]:
    """Return the band and the median of played sessions, and how to read them."""
    if not curves:
        return [], ""
    values = np.array(curves)
    runs = values.shape[0]
    low, high = values.min(axis=0), values.max(axis=0)
    share = max(0.0, (runs - 1) / (runs + 1))
    said = (
        f"The band reaches from the smallest to the largest of {runs} sessions that the model"
        f" plays, measured by the same code: a further one lies in it at {share:.0%} of the places."
    )
    return [
        Band(name="played by the model", x=x, low=low, high=high, role="synthetic"),
        Curve(name="median of the played", x=x, y=np.median(values, axis=0), role="synthetic"),
    ], said


def _variance_time(subject: FitSubject) -> Chart | None:
    facts = subject.facts
    if facts is None or len(facts.scales) < 2:
        return None
    bin_s, variance = _curve(facts)
    layers: list[Layer] = []
    said = ""
    if not isinstance(subject.played, str):
        curves = [_at(one, bin_s) for one in subject.played.facts]
        layers, said = _played_layers(subject.played, bin_s, [each for each in curves if each])
    hurst, words = subject.session.hurst, ""
    periodic = (
        subject.session.long_range is not None and subject.session.long_range.verdict == "periodic"
    )
    if hurst is not None and not periodic:  # a strict period has no slope
        layers += _hurst_layers(subject, bin_s, variance)
        words = (
            f" The dashed line has the slope 2 H - 2 of H = {hurst.value:.2f} [{hurst.low:.2f},"
            f" {hurst.high:.2f}]; its band has those of the ends of the interval."
        )
    measured = Curve(name="measured", x=bin_s, y=variance, role="measured", shape="points")
    return Chart(
        name="variance-time",
        title="Variance of the rate by time scale",
        x=Axis(label="width of the bins", unit="s", log=True),
        y=Axis(label="variance / squared mean", log=True),
        layers=(*layers, measured),
        caption=(
            "Independent packets fall with slope -1 (H = 0.5); bursts, levels and long memory fall"
            f" more slowly.{words} {said}".strip()
        ),
    )


def _curve(facts: Facts) -> tuple[FloatArray, FloatArray]:
    """Return widths and relative variances; a constant rate has no place on a logarithmic axis."""
    bin_s = np.array([scale.bin_s for scale in facts.scales])
    variance = np.array([scale.relative_variance for scale in facts.scales])
    return bin_s, np.where(variance > 0, variance, math.nan)


def _at(facts: Facts, bin_s: FloatArray) -> tuple[float, ...]:
    """Return the relative variances of a session at some widths; empty where one is missing."""
    known = dict(zip(*_curve(facts), strict=True))
    values = [known.get(width, math.nan) for width in bin_s]
    return tuple(values) if np.isfinite(values).all() else ()


def _hurst_layers(subject: FitSubject, bin_s: FloatArray, variance: FloatArray) -> list[Layer]:
    """Return the line of the Hurst parameter through the measured curve, where it was fitted."""
    hurst = subject.session.hurst
    assert hurst is not None
    inside = np.flatnonzero(
        (bin_s >= _HURST_BIN_S * 2 ** (hurst.first_octave - 1)) & np.isfinite(variance)
    )
    if inside.size < 2:
        return []
    x, y = bin_s[inside], variance[inside]
    # Through the geometric middle of the points, so that neither end decides where it lies.
    middle_x, middle_y = math.exp(float(np.log(x).mean())), math.exp(float(np.log(y).mean()))

    def line(value: float) -> FloatArray:
        return np.asarray(middle_y * (x / middle_x) ** (2 * value - 2))

    ends = np.stack([line(hurst.low), line(hurst.high)])
    return [
        Band(
            name="95% interval of H", x=x, low=ends.min(axis=0), high=ends.max(axis=0), role="law"
        ),
        Curve(name="slope of H", x=x, y=line(hurst.value), role="law", dashed=True),
    ]
