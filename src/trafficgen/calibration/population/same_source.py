"""Combine captures of one source over several paths: one model, one congestion response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.response.path_intervals import PathIntervals, measure_intervals
from trafficgen.calibration.response.response_curve import Observations, fit_response_curve
from trafficgen.errors import TooFewObservationsError
from trafficgen.flows import SessionView
from trafficgen.models import (
    FittedProvenance,
    Model,
    PathCondition,
    PooledResponse,
    ResponseCurve,
    ResponseKind,
)
from trafficgen.units import FloatArray


@dataclass(frozen=True)
class SameSourceLimits:
    """How captures are cut into intervals, and when their rates answer to the path."""

    #: Intervals are at least this long, s: a source takes a second or two to react.
    shortest_interval_s: float = 2.0
    #: A capture that is long enough has at least this many intervals;
    intervals_of_capture: int = 20
    #: with fewer known ones than this there is no curve.
    fewest_intervals: int = 8
    #: The source answers if the best value of a curve's interval is below 1 and the fall reaches
    #: this share,
    less: float = 0.9
    #: and does not if the worst of the interval leaves this share of the rate.
    hardly_less: float = 0.8
    #: It thins if this share of the rate's fall (on the logarithmic scale) is fewer frames.
    share_by_frames: float = 0.5
    #: It switches levels if its rates lie in so many clusters at most,
    most_levels: int = 6
    #: no wider than this ratio, which a steady encoder stays within,
    level_ratio: float = 1.2
    #: separated by this ratio at least,
    level_distance: float = 1.15
    #: that hold this share of the intervals.
    share_in_levels: float = 0.9
    #: Losses are compared to so many digits: smaller ones do not make a path congested.
    loss_digits: int = 3


_LIMITS = SameSourceLimits()
#: A condition varies if its 5% and 95% points differ by this: loss as a share, s, or as a ratio.
_VARIES: dict[PathCondition, float] = {
    "loss_rate": 0.01,
    "queueing_delay_s": 0.02,
    "throughput_bps": 1.3,
    "link_rate_bps": 1.2,
}
#: Conditions that are rates: more of them is less congestion.
_RATES: tuple[PathCondition, ...] = ("throughput_bps", "link_rate_bps")
#: A capture with its intervals.
_Used = Sequence[tuple["SourceCapture", PathIntervals]]
_WORDS: dict[PathCondition, str] = {
    "loss_rate": "loss",
    "queueing_delay_s": "queueing delay",
    "throughput_bps": "throughput of TCP",
    "link_rate_bps": "link rate",
}


@dataclass(frozen=True)
class SourceCapture:
    """One capture of the source.

    Attributes:
        name: Name of the capture.
        model: Model fitted to it.
        view: Packets of its session.
        has_levels: Whether its fit found levels of the rate.
    """

    name: str
    model: Model
    view: SessionView
    has_levels: bool = False

    @property
    def playout_start_s(self) -> float:
        """Start of the playout after the first media packet, s."""
        return self.model.buffering.duration_s.value if self.model.buffering else 0.0

    @property
    def link_rate_bps(self) -> float | None:
        """Rate of the narrow link as the fit of the capture found it, bit/s."""
        origin = self.model.provenance
        if not isinstance(origin, FittedProvenance) or origin.conditions.link_rate_bps is None:
            return None
        return origin.conditions.link_rate_bps.value


def combine_captures(captures: Sequence[SourceCapture]) -> Model:
    """Combine captures into one model of the source with its congestion response.

    The processes are those of the least congested capture (least loss, then least queueing, then
    most throughput): they are nearest to what the source sends by itself. The rate in each interval
    of the playouts is compared with the path one interval before: loss, queueing delay, throughput
    and link rate, if known and varying.

    Args:
        captures: Captures of the source, at least one.

    Raises:
        TooFewObservationsError: If there is no capture.
    """
    if not captures:
        raise TooFewObservationsError(what="captures of the source", required=1, available=0)
    lengths_s = [each.model.playout.duration_s.value for each in captures]
    interval_s = float(np.median(lengths_s)) / _LIMITS.intervals_of_capture
    interval_s = max(_LIMITS.shortest_interval_s, interval_s)
    most_s = min(lengths_s) / _LIMITS.fewest_intervals
    interval_s = max(_LIMITS.shortest_interval_s, min(interval_s, most_s))
    used = [
        (each, measure_intervals(each.view, start_s=each.playout_start_s, interval_s=interval_s))
        for each in captures
    ]
    calmest = min(range(len(used)), key=lambda row: _congestion(*used[row]))
    calm, intervals = used[calmest]
    uncongested_bps = (
        float(intervals.rate_bps.mean()) if len(intervals) else calm.model.playout.rate_bps.value
    )
    curves, absent = _curves(used, uncongested_bps)
    kind, evidence = _classify(used, curves)
    response = PooledResponse(
        kind=kind,
        evidence=tuple(evidence),
        interval_s=interval_s,
        uncongested_rate_bps=uncongested_bps,
        source=calm.name,
        captures=tuple(each.name for each, _ in used),
        curves=tuple(curves),
        absent=absent,
    )
    return calm.model.model_copy(update={"same_source": response})


def _congestion(capture: SourceCapture, intervals: PathIntervals) -> tuple[float, float, float]:
    """Return the order of a capture from calm to congested: loss, queueing, throughput."""
    loss = float(np.nanmean(intervals.loss_rate)) if np.isfinite(intervals.loss_rate).any() else 0.0
    delay = intervals.queueing_delay_s
    queued_s = float(np.nanmedian(delay)) if np.isfinite(delay).any() else 0.0
    given_bps = intervals.throughput_bps
    fastest_bps = (
        float(np.nanmedian(given_bps)) if np.isfinite(given_bps).any() else capture.link_rate_bps
    )
    return round(loss, _LIMITS.loss_digits), queued_s, -(fastest_bps or 0.0)


def _curves(used: _Used, uncongested_bps: float) -> tuple[list[ResponseCurve], dict[str, str]]:
    """Return the curve of each condition that varies, and why others have none."""
    curves: list[ResponseCurve] = []
    absent: dict[str, str] = {}
    for condition, least in _VARIES.items():
        observations = _observations(used, condition, uncongested_bps)
        known = observations.condition.size
        if known < _LIMITS.fewest_intervals:
            absent[condition] = f"{known} intervals show it, {_LIMITS.fewest_intervals} are needed"
            continue
        low, high = np.quantile(observations.condition, [0.05, 0.95]).tolist()
        varies = high >= least * max(low, 1e-12) if condition in _RATES else high - low >= least
        if not varies:
            absent[condition] = (
                f"it hardly varies: 90% of {known} intervals lie between {low:.4g} and {high:.4g}"
            )
            continue
        curves.append(fit_response_curve(observations, condition))
    return curves, absent


def _observations(used: _Used, condition: PathCondition, uncongested_bps: float) -> Observations:
    """Return the intervals in which a condition and the rate one interval later are known."""
    columns: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for number, (capture, intervals) in enumerate(used):
        state = _condition(capture, intervals, condition)[:-1]
        rate = intervals.rate_bps[1:]
        known = np.isfinite(state) & (rate > 0)
        log_rate = np.log(rate[known] / uncongested_bps)
        columns.append((state[known], log_rate, np.full(log_rate.size, float(number))))
    state, log_rate, number_of = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return Observations(state, log_rate, number_of.astype(np.int64), increasing=condition in _RATES)


def _condition(
    capture: SourceCapture, intervals: PathIntervals, condition: PathCondition
) -> FloatArray:
    if condition == "loss_rate":
        return intervals.path_loss()
    if condition == "queueing_delay_s":
        return intervals.queueing_delay_s
    if condition == "throughput_bps":
        return intervals.throughput_bps
    rate_bps = capture.link_rate_bps
    return np.full(len(intervals), np.nan if rate_bps is None else rate_bps)


def _classify(used: _Used, curves: Sequence[ResponseCurve]) -> tuple[ResponseKind, list[str]]:
    """Return the class of the response and its evidence."""
    if not curves:
        total = sum(len(intervals) for _, intervals in used)
        if total < _LIMITS.fewest_intervals:
            return "unknown", [f"the captures have {total} intervals: too short"]
        return "unknown", ["no known condition of the paths varies within or between the captures"]
    evidence = [_in_words(curve) for curve in curves]
    if not any(_high(curve) < 1 and curve.end_to_end.value < _LIMITS.less for curve in curves):
        least = _LIMITS.hardly_less
        certain = any(_low(curve) > least for curve in curves)
        if certain and all(curve.end_to_end.value > least for curve in curves):
            text = f"the rate keeps more than {least:.0%} whatever the path does"
            return "unresponsive", [*evidence, text]
        text = "the intervals include both no answer and a fall of the rate: give more captures"
        return "unknown", [*evidence, text]
    thins, by_frames = _find_thinning(used)
    if thins:
        return "thinning", [*evidence, by_frames]
    switches, by_levels = _find_levels(used)
    kind: ResponseKind = "level_switching" if switches else "rate_following"
    return kind, [*evidence, by_frames, by_levels]


def _low(curve: ResponseCurve) -> float:
    return curve.end_to_end.low if curve.end_to_end.low is not None else 0.0


def _high(curve: ResponseCurve) -> float:
    return curve.end_to_end.high if curve.end_to_end.high is not None else np.inf


def _in_words(curve: ResponseCurve) -> str:
    calm, worst = curve.points[0].condition, curve.points[-1].condition
    if curve.condition in _RATES:
        calm, worst = worst, calm
    return (
        f"{_WORDS[curve.condition]} from {calm:.4g} to {worst:.4g}: the rate becomes"
        f" {curve.end_to_end.value:.2f} [{_low(curve):.2f}, {_high(curve):.2f}] times as high"
    )


def _find_thinning(used: _Used) -> tuple[bool, str]:
    """Return whether fewer frames make the rate fall, by the slope of log frames on log rate."""
    log_rate, log_frames = [], []
    for _, intervals in used:
        known = np.isfinite(intervals.frames_hz) & (intervals.rate_bps > 0)
        log_rate.append(np.log(intervals.rate_bps[known]))
        log_frames.append(np.log(intervals.frames_hz[known]))
    rate, frames = np.concatenate(log_rate), np.concatenate(log_frames)
    if rate.size < _LIMITS.fewest_intervals or np.ptp(rate) == 0:
        return False, "frames are not seen (no RTP timestamps)"
    share = float(np.polyfit(rate, frames, 1)[0])
    text = f"fewer frames make up {share:.0%} of the changes of the rate"
    return share >= _LIMITS.share_by_frames, text


def _find_levels(used: _Used) -> tuple[bool, str]:
    """Return whether the rates lie on a few levels that captures share or move between.

    A steady path has one rate: that it differs from the next capture's makes no ladder.
    """
    with_levels = sum(capture.has_levels for capture, _ in used)
    if 2 * with_levels > len(used):
        return True, f"the fits of {with_levels} of {len(used)} captures find levels of the rate"
    rates = np.concatenate([intervals.rate_bps for _, intervals in used])
    capture = np.repeat(np.arange(len(used)), [len(intervals) for _, intervals in used])[rates > 0]
    rates = rates[rates > 0]
    order = np.argsort(rates, kind="stable")
    edges = np.flatnonzero(np.diff(np.log(rates[order])) > np.log(_LIMITS.level_distance)) + 1
    narrow = [
        rows
        for rows in np.split(order, edges)
        if rows.size >= 2 and np.ptp(np.log(rates[rows])) <= np.log(_LIMITS.level_ratio)
    ]
    share = sum(rows.size for rows in narrow) / max(rates.size, 1)
    visits = sum(np.unique(capture[rows]).size for rows in narrow)
    shared = visits > min(len(narrow), np.unique(capture).size)
    found = 2 <= len(narrow) <= _LIMITS.most_levels and share >= _LIMITS.share_in_levels and shared
    where = ", which captures share or move between" if shared else ""
    return found, f"{share:.0%} of the intervals' rates lie on {len(narrow)} separate levels{where}"
