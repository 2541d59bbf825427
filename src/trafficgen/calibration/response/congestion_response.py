"""What a source does when its path is congested: classified by how its rate follows loss and
delay.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.path.path_records import PathRecords, PathSeries, path_series
from trafficgen.calibration.response import friendliness as bounds
from trafficgen.critical_values import NORMAL_95
from trafficgen.models import CongestionResponse, Estimate, ResponsePoint
from trafficgen.units import BoolArray, FloatArray, s_from_ns

#: Interval of the series, s: some round trips, and as long as a server takes to act on a report.
INTERVAL_S = 1.0
#: Intervals over which a source may act on congestion.
_LAGS = 3
#: An interval is congested from this loss or this queueing delay on.
_CONGESTED_LOSS, _CONGESTED_DELAY_S = 0.01, 0.05
_FEWEST = 5
#: A capture whose clock jumps by years must not fill the memory with empty intervals.
_LONGEST_S = 864_000.0
#: A source answers where its rate is certainly below this share of what it was, and does not where
#: it is certainly above.
_ANSWERED = 0.9
#: With fewer calm intervals than this share there is nothing to compare with; then a rate that
#: stands decides.
_CALM_SHARE = 0.1
_LOSS_BINS = (0.0, 1e-9, 0.01, 0.05, 0.2, 1.0)
_DELAY_BINS_S = (0.0, 0.02, 0.1, 0.3, float("inf"))
_LARGEST_DELAY_S = 1e3
_MOST_LEVELS, _LEVELS_EXPLAIN, _SHORTEST_DWELL = 6, 0.9, 4.0


@dataclass(frozen=True)
class FoundResponse:
    """A classified response, and why parts of it are absent: name of the part -> reason."""

    response: CongestionResponse
    absent: dict[str, str]


def find_response(records: PathRecords | None, *, rtt_s: float | None) -> FoundResponse:
    """Return how a source answers to congestion, with the evidence.

    In intervals of 1 s the logarithm of the rate sent is regressed on whether one of the three
    intervals before was congested (1% loss or 50 ms of queueing), by least squares with
    heteroskedasticity- and autocorrelation-consistent errors (Newey and West 1987). A source whose
    rate afterwards is certainly above 0.9 of what it is otherwise is unresponsive; one certainly
    below 1, by a tenth or more, answers: by thinning if it sends fewer frames of the same size, by
    level switching if few plateaus explain its rate, else by following. Where nearly all intervals
    are congested there is nothing to compare with; then a rate that certainly does not fall by a
    tenth from the session's start to its end is unresponsive. TCP sets the rate of what it carries,
    and brings about the loss that it answers
    to, so there the regression says nothing: such a source is rate following wherever it met
    congestion.

    Args:
        records: Media packets; None where the capture does not tell what the path did to them.
        rtt_s: Round-trip time of the empty path, s; None where it is not known.
    """
    if records is None:
        why = "plain UDP has no numbers: neither loss nor delay is known"
        return _unknown(why)
    if s_from_ns(int(np.ptp(records.sent_ns))) > _LONGEST_S:
        return _unknown("the capture spans over ten days, which no session does")
    series = path_series(records, interval_s=INTERVAL_S)
    congested = _is_congested(series)
    if series.offered_bps.size < 2 * _FEWEST or np.count_nonzero(congested) < _FEWEST:
        return _unknown(
            f"the capture shows no congestion ({int(congested.sum())} of {congested.size} s)"
        )
    kind, effect, evidence = (
        _follows_tcp() if records.is_tcp else _classified(series, _lagged(congested))
    )
    curve = _curve(series)
    friendly = None
    if rtt_s:
        friendly = bounds.friendliness(
            path_series(records, interval_s=bounds.INTERVAL_S), rtt_s=rtt_s
        )
    absent = {} if curve else {"response.curve": "the path was in one state only"}
    if friendly is None:
        absent["response.friendliness"] = (
            "no loss in an interval" if rtt_s else "the round-trip time is not known"
        )
    response = CongestionResponse.model_validate(
        {
            "kind": kind,
            "evidence": (
                f"{int(congested.sum())} of {congested.size} s were congested, by {records.source}",
                *evidence,
            ),
            "interval_s": INTERVAL_S,
            "effect": effect,
            "curve": curve,
            "friendliness": friendly,
        }
    )
    return FoundResponse(response, absent)


def _unknown(why: str) -> FoundResponse:
    response = CongestionResponse(kind="unknown", evidence=(why,), interval_s=INTERVAL_S)
    return FoundResponse(
        response, {"response.effect": why, "response.curve": why, "response.friendliness": why}
    )


def _lagged(congested: BoolArray) -> BoolArray:
    """Return whether one of the intervals before was congested, shape (n,)."""
    before = np.zeros(congested.size, dtype=np.bool_)
    for lag in range(1, _LAGS + 1):
        before[lag:] |= congested[:-lag]
    return before


def _follows_tcp() -> tuple[str, Estimate | None, list[str]]:
    return "rate_following", None, ["TCP carries the media: its congestion control sets the rate"]


def _answered(
    series: PathSeries, effect: Estimate, told: str
) -> tuple[str, Estimate | None, list[str]]:
    """Return the class of a source that sends less after congestion."""
    levels = _levels(series.offered_bps)
    if not series.frames.any():
        return (
            ("level_switching" if levels else "rate_following"),
            effect,
            [told, "frames are not known"],
        )
    frames, size = (
        _effect(values, _lagged(_is_congested(series)))
        for values in (series.frames, _bytes_per_frame(series))
    )
    if (frames.high or 1.0) < 1 and frames.value <= _ANSWERED <= size.value:
        return (
            "thinning",
            effect,
            [told, f"{_in_words(frames)} of the frames, of {_in_words(size)} of the size"],
        )
    if levels is not None:
        return (
            "level_switching",
            effect,
            [told, f"{levels} plateaus explain {_LEVELS_EXPLAIN:.0%} of its variance"],
        )
    return "rate_following", effect, [told]


def _is_congested(series: PathSeries) -> BoolArray:
    return (series.loss >= _CONGESTED_LOSS) | (np.nan_to_num(series.delay_s) >= _CONGESTED_DELAY_S)


def _classified(series: PathSeries, before: BoolArray) -> tuple[str, Estimate | None, list[str]]:
    """Return class, effect and evidence."""
    calm = int(np.count_nonzero(~before))
    if calm < max(_FEWEST, _CALM_SHARE * before.size):
        return _always_congested(series)
    effect = _effect(series.offered_bps, before)
    told = f"after congestion it sends {_in_words(effect)} of the rate it sends otherwise"
    if effect.low is None or effect.high is None:
        return "unknown", effect, [told]
    if effect.low >= _ANSWERED:
        return "unresponsive", effect, [told]
    if effect.value > _ANSWERED or effect.high >= 1:
        return "unknown", effect, [f"{told}: too uncertain to tell"]
    return _answered(series, effect, told)


def _always_congested(series: PathSeries) -> tuple[str, Estimate | None, list[str]]:
    """Return the class of a source that was congested all the time, by whether its rate stands."""
    time = np.linspace(-0.5, 0.5, series.offered_bps.size)
    change = _effect(series.offered_bps, time)
    told = (
        f"congested throughout, {series.loss.mean():.1%} lost: at the end it sends"
        f" {_in_words(change)} of the rate at the start"
    )
    if change.low is not None and change.low >= _ANSWERED:
        return "unresponsive", None, [told]
    return "unknown", None, [told]


def _bytes_per_frame(series: PathSeries) -> FloatArray:
    return np.divide(
        series.offered_bps, series.frames, out=np.zeros(series.frames.size), where=series.frames > 0
    )


def _effect(values: FloatArray, cause: BoolArray | FloatArray) -> Estimate:
    """Return by what factor a positive series changes with a cause, with its interval."""
    from statsmodels.regression.linear_model import OLS  # noqa: PLC0415 - takes a second, and few captures need it

    positive = values > 0
    y = np.log(values[positive] / np.median(values[positive]))
    x = np.column_stack((np.ones(y.size), np.asarray(cause, dtype=np.float64)[positive]))
    lags = max(_LAGS, int(np.ceil(4 * (y.size / 100) ** (2 / 9))))
    fitted = OLS(y, x).fit(cov_type="HAC", cov_kwds={"maxlags": lags, "use_correction": True})
    slope, error = float(fitted.params[1]), float(fitted.bse[1])
    method = f"regression of the log rate, Newey-West errors, {lags} lags"
    low, high = slope - NORMAL_95 * error, slope + NORMAL_95 * error
    if not np.isfinite(error):
        return Estimate(value=float(np.exp(slope)), method=method)
    return Estimate(
        value=float(np.exp(slope)), low=float(np.exp(low)), high=float(np.exp(high)), method=method
    )


def _in_words(effect: Estimate) -> str:
    if effect.low is None or effect.high is None:
        return f"{effect.value:.2f}"
    return f"{effect.value:.2f} [{effect.low:.2f}, {effect.high:.2f}]"


def _curve(series: PathSeries) -> tuple[ResponsePoint, ...]:
    """Return the relative rate by loss, else by queueing delay, of the interval before."""
    by_loss = _points(series.offered_bps, series.loss, _LOSS_BINS, what="loss")
    if len(by_loss) > 1 or np.all(np.isnan(series.delay_s)):
        return by_loss if len(by_loss) > 1 else ()
    by_delay = _points(series.offered_bps, series.delay_s, _DELAY_BINS_S, what="queueing delay, s,")
    return by_delay if len(by_delay) > 1 else ()


def _points(
    rate: FloatArray, signal: FloatArray, bins: tuple[float, ...], *, what: str
) -> tuple[ResponsePoint, ...]:
    relative, before = rate[1:] / np.median(rate[rate > 0]), signal[:-1]
    points = []
    for low, high in itertools.pairwise(bins):
        inside = (before >= low) & ((before < high) | (high == bins[-1]))
        if np.count_nonzero(inside) < _FEWEST:
            continue
        mean, error = _mean(relative, inside)
        ends = f"from {low:g}" + (f" to {high:g}" if np.isfinite(high) else "")
        points.append(
            ResponsePoint(
                state="no loss" if high <= _LOSS_BINS[1] else f"{what} {ends}",
                low=low,
                high=min(high, _LARGEST_DELAY_S),
                relative_rate=Estimate(
                    value=mean,
                    low=mean - NORMAL_95 * error,
                    high=mean + NORMAL_95 * error,
                    method="mean; errors allow for runs of intervals",
                ),
                intervals=int(np.count_nonzero(inside)),
            )
        )
    return tuple(points)


def _mean(values: FloatArray, inside: BoolArray) -> tuple[float, float]:
    """Return the mean of some intervals and its standard error, neighbours counted together (Newey
    and West 1987).
    """
    mean = float(values[inside].mean())
    off = np.where(inside, values - mean, 0.0)
    variance = float(off @ off)
    for lag in range(1, _LAGS + 1):
        variance += 2 * (1 - lag / (_LAGS + 1)) * float(off[lag:] @ off[:-lag])
    return mean, float(np.sqrt(max(variance, 0.0))) / int(np.count_nonzero(inside))


def _levels(rate: FloatArray) -> int | None:
    """Return the fewest levels, up to six, that explain nine tenths of a rate's variance and last;
    else None.

    Levels are the classes that part the sorted values at their largest gaps.
    """
    ordered = np.sort(np.log(np.maximum(rate, 1.0)))
    total = float(((ordered - ordered.mean()) ** 2).sum())
    for levels in range(2, _MOST_LEVELS + 1):
        cuts = np.sort(np.argsort(np.diff(ordered))[-(levels - 1) :]) + 1
        parts = np.split(ordered, cuts)
        within = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
        if total > 0 and within <= (1 - _LEVELS_EXPLAIN) * total:
            edges = ordered[cuts]
            switches = int(
                np.count_nonzero(
                    np.diff(np.searchsorted(edges, np.log(np.maximum(rate, 1.0)), side="right"))
                )
            )
            return levels if rate.size / (switches + 1) >= _SHORTEST_DWELL else None
    return None
