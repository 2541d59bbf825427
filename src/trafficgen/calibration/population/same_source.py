"""Captures of one source over several paths: one model of the source, one answer to congestion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.response.path_intervals import PathIntervals, path_intervals
from trafficgen.calibration.response.response_curve import Observations, response_curve
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

#: Intervals are at least this long, and a capture has at least this many where it is long enough.
_SHORTEST_INTERVAL_S = 2.0
_INTERVALS_OF_CAPTURE = 20
FEWEST_INTERVALS = 8
#: A condition varies where its 5% and 95% points are this far apart: loss as a share, s, or as a
#: ratio of link rates.
_VARIES: dict[PathCondition, float] = {
    "loss_rate": 0.01,
    "queueing_delay_s": 0.02,
    "throughput_bps": 1.3,
    "link_rate_bps": 1.2,
}
#: Conditions that are rates: more of them is less congestion.
_RATES: tuple[PathCondition, ...] = ("throughput_bps", "link_rate_bps")
#: A source does not answer when the worst of the interval leaves this share of its rate; it does
#: below the second.
_HARDLY_LESS, _LESS = 0.8, 0.9
#: Thinning: at least this share of the fall of the rate (on the logarithmic scale) is fewer frames.
_SHARE_BY_FRAMES = 0.5
#: Levels: rates in at most this many clusters, no wider than a ratio of 1.2, parted by at least
#: 1.15.
_MOST_LEVELS, _LEVEL_WIDTH, _LEVEL_DISTANCE = 6, float(np.log(1.2)), 1.15
_IN_LEVELS = 0.9
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
        provenance = self.model.provenance
        estimate = (
            provenance.conditions.link_rate_bps
            if isinstance(provenance, FittedProvenance)
            else None
        )
        return None if estimate is None else estimate.value


def combine_captures(captures: Sequence[SourceCapture]) -> Model:
    """Return one model of the source with its answer to congestion from all captures.

    The processes are those of the least congested capture (least loss, then least queueing, then
    most throughput): they are nearest to what the source sends by itself. The rate in each interval
    of the playouts is looked at against the state of the path one interval before: loss, queueing
    delay, throughput and link rate, where seen and varying.

    Args:
        captures: Captures of the source, at least one.

    Raises:
        TooFewObservationsError: If there is no capture.
    """
    if not captures:
        raise TooFewObservationsError(what="captures of the source", required=1, available=0)
    lengths_s = [each.model.playout.duration_s.value for each in captures]
    interval_s = max(_SHORTEST_INTERVAL_S, float(np.median(lengths_s)) / _INTERVALS_OF_CAPTURE)
    interval_s = max(_SHORTEST_INTERVAL_S, min(interval_s, min(lengths_s) / FEWEST_INTERVALS))
    used = [
        (each, path_intervals(each.view, start_s=each.playout_start_s, interval_s=interval_s))
        for each in captures
    ]
    calmest = min(range(len(used)), key=lambda row: _congestion(*used[row]))
    calm, intervals = used[calmest]
    uncongested_bps = (
        float(intervals.rate_bps.mean()) if len(intervals) else calm.model.playout.rate_bps.value
    )
    curves, absent = _curves(used, uncongested_bps)
    kind, evidence = _classified(used, curves)
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
    """Return by what captures are ordered from calm to congested."""
    # Losses below one in a thousand do not set paths apart; the queue then does.
    loss = float(np.nanmean(intervals.loss_rate)) if np.isfinite(intervals.loss_rate).any() else 0.0
    delay = intervals.queueing_delay_s
    queued_s = float(np.nanmedian(delay)) if np.isfinite(delay).any() else 0.0
    given_bps = intervals.throughput_bps
    fastest_bps = (
        float(np.nanmedian(given_bps)) if np.isfinite(given_bps).any() else capture.link_rate_bps
    )
    return round(loss, 3), queued_s, -(fastest_bps or 0.0)


def _curves(
    used: Sequence[tuple[SourceCapture, PathIntervals]], uncongested_bps: float
) -> tuple[list[ResponseCurve], dict[str, str]]:
    """Return the curve of each condition that varies, and why others have none."""
    curves: list[ResponseCurve] = []
    absent: dict[str, str] = {}
    for condition, least in _VARIES.items():
        observations = _observations(used, condition, uncongested_bps)
        known = observations.condition.size
        if known < FEWEST_INTERVALS:
            absent[condition] = f"{known} intervals show it, {FEWEST_INTERVALS} are needed"
            continue
        low, high = np.quantile(observations.condition, [0.05, 0.95]).tolist()
        varies = high >= least * max(low, 1e-12) if condition in _RATES else high - low >= least
        if not varies:
            absent[condition] = (
                f"it hardly varies: 90% of {known} intervals lie between {low:.4g} and {high:.4g}"
            )
            continue
        curves.append(response_curve(observations, condition))
    return curves, absent


def _observations(
    used: Sequence[tuple[SourceCapture, PathIntervals]],
    condition: PathCondition,
    uncongested_bps: float,
) -> Observations:
    """Return the intervals in which a condition and the rate one interval later are known."""
    columns: list[tuple[FloatArray, FloatArray, FloatArray]] = []
    for number, (capture, intervals) in enumerate(used):
        state = _condition(capture, intervals, condition)[:-1]
        rate = intervals.rate_bps[1:]
        known = np.isfinite(state) & (rate > 0)
        columns.append(
            (
                state[known],
                np.log(rate[known] / uncongested_bps),
                np.full(int(known.sum()), float(number)),
            )
        )
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


def _classified(
    used: Sequence[tuple[SourceCapture, PathIntervals]], curves: Sequence[ResponseCurve]
) -> tuple[ResponseKind, list[str]]:
    """Return the class of the answer and what it rests on."""
    if not curves:
        total = sum(len(intervals) for _, intervals in used)
        why = "nothing that is seen of the paths varies within or between the captures"
        return "unknown", [
            why if total >= FEWEST_INTERVALS else f"the captures have {total} intervals: too short"
        ]
    evidence = [_in_words(curve) for curve in curves]
    falls = [curve for curve in curves if _high(curve) < 1 and curve.end_to_end.value < _LESS]
    if not falls:
        told = [curve for curve in curves if _low(curve) > _HARDLY_LESS]
        if told and all(curve.end_to_end.value > _HARDLY_LESS for curve in curves):
            return "unresponsive", [
                *evidence,
                f"the rate keeps more than {_HARDLY_LESS:.0%} whatever the path does",
            ]
        return "unknown", [
            *evidence,
            "the intervals hold both no answer and a fall of the rate: give more captures",
        ]
    for name, found in (("thinning", _thins(used)), ("level_switching", _levels(used))):
        evidence.append(found[1])
        if found[0]:
            return ("thinning" if name == "thinning" else "level_switching"), evidence
    return "rate_following", evidence


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


def _thins(used: Sequence[tuple[SourceCapture, PathIntervals]]) -> tuple[bool, str]:
    """Return whether the rate falls because there are fewer frames, by the slope of log frames on
    log rate.
    """
    log_rate, log_frames = [], []
    for _, intervals in used:
        known = np.isfinite(intervals.frames_hz) & (intervals.rate_bps > 0)
        log_rate.append(np.log(intervals.rate_bps[known]))
        log_frames.append(np.log(intervals.frames_hz[known]))
    rate, frames = np.concatenate(log_rate), np.concatenate(log_frames)
    if rate.size < FEWEST_INTERVALS or np.ptp(rate) == 0:
        return False, "frames are not seen (no RTP timestamps)"
    share = float(np.polyfit(rate, frames, 1)[0])
    return share >= _SHARE_BY_FRAMES, f"fewer frames make up {share:.0%} of the changes of the rate"


def _levels(used: Sequence[tuple[SourceCapture, PathIntervals]]) -> tuple[bool, str]:
    """Return whether the rates lie on a few levels that captures share or move between.

    A capture of a steady path has one rate; that its rate differs from that of the next capture
    makes no ladder.
    """
    with_levels = sum(capture.has_levels for capture, _ in used)
    if 2 * with_levels > len(used):
        return True, f"the fits of {with_levels} of {len(used)} captures find levels of the rate"
    rates = np.concatenate([intervals.rate_bps for _, intervals in used])
    capture = np.repeat(np.arange(len(used)), [len(intervals) for _, intervals in used])[rates > 0]
    rates = rates[rates > 0]
    order = np.argsort(rates, kind="stable")
    edges = np.flatnonzero(np.diff(np.log(rates[order])) > np.log(_LEVEL_DISTANCE)) + 1
    narrow = [
        rows
        for rows in np.split(order, edges)
        if rows.size >= 2 and np.ptp(np.log(rates[rows])) <= _LEVEL_WIDTH
    ]
    share = sum(rows.size for rows in narrow) / max(rates.size, 1)
    visits = sum(np.unique(capture[rows]).size for rows in narrow)
    shared = visits > min(len(narrow), np.unique(capture).size)
    found = 2 <= len(narrow) <= _MOST_LEVELS and share >= _IN_LEVELS and shared
    return (
        found,
        (
            f"{share:.0%} of the intervals' rates lie on {len(narrow)} separate levels"
            f"{', which captures share or move between' if shared else ''}"
        ),
    )
