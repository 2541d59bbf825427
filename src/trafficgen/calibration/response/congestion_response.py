"""Classify a source by how its rate follows loss and delay of its path, and compare it with TCP."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.path.loss_measures import estimate_share
from trafficgen.calibration.path.path_records import PathRecords, PathSeries, sum_intervals
from trafficgen.critical_values import NORMAL_95
from trafficgen.models import (
    CongestionResponse,
    Estimate,
    Friendliness,
    ResponseKind,
    ResponsePoint,
)
from trafficgen.units import BITS_PER_BYTE, BoolArray, FloatArray, kbps_from_bps, s_from_ns

#: Interval of the comparison, s: several round trips, so that a TCP connection settles in it.
INTERVAL_S = 5.0
#: Size of a packet of the bound CCZ-F1, bytes.
BOUND_PACKET_BYTES = 1500
#: Least retransmission timeout, s (RFC 6298, 2.4), and its multiple of the round-trip time while no
#: variance is known.
_LEAST_TIMEOUT_S, _TIMEOUT_ROUND_TRIPS = 1.0, 4.0
#: Packets that one acknowledgement of TCP covers.
_PACKETS_PER_ACK = 2.0


def compare_with_tcp(records: PathRecords, *, rtt_s: float) -> Friendliness | None:
    """Compare the rate that arrived with the bounds; None if no interval has loss.

    In each interval of 5 s with loss the round-trip time is that of the empty path plus the mean
    queueing delay, if known. Both bounds are of 1500-byte packets. Overall, loss is lost / sent
    packets of all intervals (CCZ-F1 leaves playouts without loss out).
    """
    series = sum_intervals(records, interval_s=INTERVAL_S)
    lossy = series.loss > 0
    if not lossy.any():
        return None
    rtt, intervals = rtt_s + np.nan_to_num(series.delay_s), int(np.count_nonzero(lossy))
    bound = tcp_friendly_bps(rtt[lossy], series.loss[lossy])
    padhye = padhye_bps(rtt[lossy], series.loss[lossy])
    rate, method = series.goodput_bps[lossy], f"share of {intervals} intervals; Wilson interval"
    overall_loss = np.array((series.loss * series.packets).sum() / series.packets.sum())
    overall_rtt = np.array(np.average(rtt, weights=series.packets))
    return Friendliness(
        interval_s=series.interval_s,
        intervals=intervals,
        above_bound=estimate_share(float((rate > bound).mean()), intervals, method),
        above_padhye=estimate_share(float((rate > padhye).mean()), intervals, method),
        median_ratio=float(np.median(rate / np.maximum(padhye, 1.0))),
        overall_bound_bps=float(tcp_friendly_bps(overall_rtt, overall_loss)),
        overall_padhye_bps=float(padhye_bps(overall_rtt, overall_loss)),
    )


def tcp_friendly_bps(rtt_s: FloatArray, loss_rate: FloatArray) -> FloatArray:
    """Return the bound 1.5 sqrt(2/3) s / (R sqrt(p)) of 1500-byte packets, bit/s (finding CCZ-F1).

    ``rtt_s`` is R, ``loss_rate`` is p, from 0 to 1, both of any one shape; without loss the bound
    is infinite.
    """
    with np.errstate(divide="ignore"):
        bound_bytes_per_s = (
            1.5 * np.sqrt(2 / 3) * BOUND_PACKET_BYTES / (np.asarray(rtt_s) * np.sqrt(loss_rate))
        )
    return np.asarray(bound_bytes_per_s * BITS_PER_BYTE, dtype=np.float64)


def tcp_friendly_kbps(*, rtt_s: float | None, loss_rate: float | None) -> float | None:
    """Return the bound of :func:`tcp_friendly_bps`, kbit/s; None without loss or round trip."""
    if not rtt_s or not loss_rate:
        return None
    return kbps_from_bps(float(tcp_friendly_bps(np.array(rtt_s), np.array(loss_rate))))


def padhye_bps(
    rtt_s: FloatArray, loss_rate: FloatArray, *, timeout_s: float | None = None
) -> FloatArray:
    """Return the rate of a long TCP Reno connection of 1500-byte packets by the full model, bit/s.

    Padhye, Firoiu, Towsley, Kurose (1998), "Modeling TCP throughput: a simple model and its
    empirical validation", equation 32 with a window that no receiver limits: with probability of a
    loss indication p, packets b = 2 that an acknowledgement covers, expected window E[W] =
    (2+b)/(3b) + sqrt(8(1-p)/(3bp) + ((2+b)/(3b))^2), probability that a loss is a timeout Q(w), and
    f(p) = 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6.

    Args:
        rtt_s: Round-trip time, s, any shape.
        loss_rate: Loss p, 0 to 1, same shape.
        timeout_s: First retransmission timeout T0, s; default four round trips, at least 1 s.

    Returns:
        Rates; infinite without loss, 0 if everything is lost.
    """
    rtt = np.asarray(rtt_s, dtype=np.float64)
    p = np.clip(np.asarray(loss_rate, dtype=np.float64), 1e-12, 1 - 1e-12)
    timeout = np.maximum(_LEAST_TIMEOUT_S, _TIMEOUT_ROUND_TRIPS * rtt)
    if timeout_s is not None:
        timeout = np.full_like(rtt, timeout_s)
    b = _PACKETS_PER_ACK
    c = (2 + b) / (3 * b)
    window = c + np.sqrt(8 * (1 - p) / (3 * b * p) + c**2)
    backoff = timeout * _backoff(p) / (1 - p)
    by_timeout = _timeout_share(p, window)
    rate = ((1 - p) / p + window + by_timeout / (1 - p)) / (
        rtt * (b / 2 * window + 1) + by_timeout * backoff
    )
    rate = np.where(np.asarray(loss_rate) <= 0, np.inf, rate)
    rate = np.where(np.asarray(loss_rate) >= 1, 0.0, rate)
    return np.asarray(rate * BOUND_PACKET_BYTES * BITS_PER_BYTE, dtype=np.float64)


def _backoff(p: FloatArray) -> FloatArray:
    """Return f(p), the growth of the timeout by backing off up to 64 times (equation 29)."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6


def _timeout_share(p: FloatArray, window: FloatArray) -> FloatArray:
    """Return Q(w), the probability that a loss in a window is found by a timeout (equation 24)."""
    q = 1 - p
    w = np.maximum(window, 3.0)  # below three packets every loss is a timeout
    share: FloatArray = np.minimum(1.0, (1 - q**3) * (1 + q**3 * (1 - q ** (w - 3))) / (1 - q**w))
    return share


class ResponseLimits:
    """When a path is congested, and when a source answers to it."""

    #: Interval of the series, s: some round trips, and as long as a server takes to act on a
    #: report; longer ones hide quick answers.
    interval_s: float = 1.0
    #: Intervals over which a source may act on congestion.
    lags: int = 3
    #: An interval is congested from this loss
    congested_loss: float = 0.01
    #: or this queueing delay on, s: lower ones are noise of the host.
    congested_delay_s: float = 0.05
    #: Fewer congested or calm intervals show no response.
    fewest_intervals: int = 5
    #: Ten days: a capture whose clock jumps by years must not fill memory with empty intervals.
    longest_s: float = 864_000.0
    #: A source answers if its rate is certainly below this share of what it was, and does not if it
    #: is certainly above.
    answered: float = 0.9
    #: With a smaller share of calm intervals there is nothing to compare with; then a rate that
    #: keeps its level decides.
    calm_share: float = 0.1
    #: Largest delay that a point of the curve names, s.
    largest_delay_s: float = 1e3
    #: A source switches levels if this many levels at most
    most_levels: int = 6
    #: explain this share of the variance of its rate
    explained: float = 0.9
    #: and last this many intervals on average.
    shortest_dwell: float = 4.0


_LIMITS = ResponseLimits()
_LOSS_BINS = (0.0, 1e-9, 0.01, 0.05, 0.2, 1.0)
_DELAY_BINS_S = (0.0, 0.02, 0.1, 0.3, float("inf"))
#: Class, effect and evidence.
_Verdict = tuple[ResponseKind, Estimate | None, list[str]]


@dataclass(frozen=True)
class FoundResponse:
    """A classified response, and name of an absent part -> reason."""

    response: CongestionResponse
    absent: dict[str, str]


def find_response(records: PathRecords | None, *, rtt_s: float | None) -> FoundResponse:
    """Classify how a source answers to congestion, with the evidence.

    In intervals of 1 s the logarithm of the rate sent is regressed on whether one of the three
    intervals before was congested (1% loss or 50 ms of queueing), by least squares with
    heteroskedasticity- and autocorrelation-consistent errors (Newey and West 1987). A source whose
    rate afterwards is certainly above 0.9 of what it is otherwise is unresponsive; one certainly
    below 1, by a tenth or more, answers: by thinning if it sends fewer frames of the same size, by
    level switching if few plateaus explain its rate, else by following. If nearly all intervals are
    congested, a rate that certainly does not fall by a tenth from start to end is unresponsive. TCP
    sets the rate of what it carries, and causes the loss that it answers to, so such a source is
    rate following wherever it met congestion. Records and ``rtt_s``, that of the empty path, are
    None where they are unknown.
    """
    if records is None:
        return _unknown("not measurable: UDP without sequence numbers shows neither loss nor delay")
    if s_from_ns(int(np.ptp(records.sent_ns))) > _LIMITS.longest_s:
        return _unknown("the capture spans over ten days, which no session does")
    series = sum_intervals(records, interval_s=_LIMITS.interval_s)
    congested = _is_congested(series)
    count, fewest = int(np.count_nonzero(congested)), _LIMITS.fewest_intervals
    if congested.size < 2 * fewest or count < fewest:
        return _unknown(f"the capture shows no congestion ({count} of {congested.size} s)")
    if records.is_tcp:
        evidence = ["TCP carries the media: its congestion control sets the rate"]
        kind: ResponseKind = "rate_following"
        effect = None
    else:
        kind, effect, evidence = _classify(series, _follows_congestion(congested))
    curve = _find_curve(series)
    friendly = compare_with_tcp(records, rtt_s=rtt_s) if rtt_s else None
    absent = {} if curve else {"response.curve": "the path was in one state only"}
    if friendly is None:
        absent["response.friendliness"] = (
            "no loss in an interval" if rtt_s else "the round-trip time is not known"
        )
    first = f"{count} of {congested.size} s were congested, by {records.source}"
    response = CongestionResponse(
        kind=kind,
        evidence=(first, *evidence),
        interval_s=_LIMITS.interval_s,
        effect=effect,
        curve=curve,
        friendliness=friendly,
    )
    return FoundResponse(response, absent)


def _unknown(why: str) -> FoundResponse:
    response = CongestionResponse(kind="unknown", evidence=(why,), interval_s=_LIMITS.interval_s)
    parts = ("effect", "curve", "friendliness")
    return FoundResponse(response, {f"response.{part}": why for part in parts})


def _is_congested(series: PathSeries) -> BoolArray:
    delayed = np.nan_to_num(series.delay_s) >= _LIMITS.congested_delay_s
    return (series.loss >= _LIMITS.congested_loss) | delayed


def _follows_congestion(congested: BoolArray) -> BoolArray:
    """Return whether one of the intervals before was congested, shape (n,)."""
    before = np.zeros(congested.size, dtype=np.bool_)
    for lag in range(1, _LIMITS.lags + 1):
        before[lag:] |= congested[:-lag]
    return before


def _classify(series: PathSeries, before: BoolArray) -> _Verdict:
    calm = int(np.count_nonzero(~before))
    if calm < max(_LIMITS.fewest_intervals, _LIMITS.calm_share * before.size):
        return _classify_always_congested(series)
    effect = _measure_effect(series.offered_bps, before)
    text = f"after congestion it sends {_in_words(effect)} of the rate it sends otherwise"
    if effect.low is None or effect.high is None:
        return "unknown", effect, [text]
    if effect.low >= _LIMITS.answered:
        return "unresponsive", effect, [text]
    if effect.value > _LIMITS.answered or effect.high >= 1:
        return "unknown", effect, [f"{text}: too uncertain to decide"]
    return _classify_answer(series, before, effect, text)


def _classify_answer(
    series: PathSeries, before: BoolArray, effect: Estimate, text: str
) -> _Verdict:
    """Classify a source that sends less after congestion."""
    levels = _count_levels(series.offered_bps)
    if not series.frames.any():
        kind: ResponseKind = "level_switching" if levels else "rate_following"
        return kind, effect, [text, "frames are not known"]
    sizes = np.zeros(series.frames.size)
    np.divide(series.offered_bps, series.frames, out=sizes, where=series.frames > 0)
    frames, size = (_measure_effect(values, before) for values in (series.frames, sizes))
    if (frames.high or 1.0) < 1 and frames.value <= _LIMITS.answered <= size.value:
        parts = f"{_in_words(frames)} of the frames, of {_in_words(size)} of the size"
        return "thinning", effect, [text, parts]
    if levels is not None:
        explained = f"{levels} plateaus explain {_LIMITS.explained:.0%} of its variance"
        return "level_switching", effect, [text, explained]
    return "rate_following", effect, [text]


def _classify_always_congested(series: PathSeries) -> _Verdict:
    """Classify a source that was congested all the time, by whether its rate keeps its level."""
    time = np.linspace(-0.5, 0.5, series.offered_bps.size)
    change = _measure_effect(series.offered_bps, time)
    text = (
        f"congested throughout, {series.loss.mean():.1%} lost: at the end it sends"
        f" {_in_words(change)} of the rate at the start"
    )
    stays = change.low is not None and change.low >= _LIMITS.answered
    return ("unresponsive" if stays else "unknown"), None, [text]


def _measure_effect(values: FloatArray, cause: BoolArray | FloatArray) -> Estimate:
    """Return by what factor a positive series changes with a cause, with its interval."""
    positive = values > 0
    y = np.log(values[positive] / np.median(values[positive]))
    x = np.column_stack((np.ones(y.size), np.asarray(cause, dtype=np.float64)[positive]))
    lags = max(_LIMITS.lags, int(np.ceil(4 * (y.size / 100) ** (2 / 9))))
    slope, error = _regress(y, x, lags)
    method = f"regression of the log rate, Newey-West errors, {lags} lags"
    if not np.isfinite(error):
        return Estimate(value=float(np.exp(slope)), method=method)
    half = NORMAL_95 * error
    low, value, high = (float(np.exp(log)) for log in (slope - half, slope, slope + half))
    return Estimate(value=value, low=low, high=high, method=method)


@np.errstate(all="ignore")  # as many values as causes have no error
def _regress(y: FloatArray, x: FloatArray, lags: int) -> tuple[float, float]:
    """Return the second slope of y, shape (n,), against x, shape (n, 2), and its error.

    Ours: loading statsmodels takes longer than the fit. Its errors of Newey and West (1987), with
    the correction for the two degrees of freedom, are the same to rounding.
    """
    inverse = np.linalg.pinv(x)
    slopes = inverse @ y
    variance = _sum_variance(inverse[1] * (y - x @ slopes), lags)
    return float(slopes[1]), float(np.sqrt(np.float64(variance) * y.size / (y.size - 2)))


def _sum_variance(terms: FloatArray, lags: int) -> float:
    """Return the variance of the sum of terms of mean 0, shape (n,), dependent over some lags.

    Method: Newey and West, Econometrica 55 (1987) 703.
    """
    variance = float(terms @ terms)
    for lag in range(1, min(lags, terms.size - 1) + 1):
        variance += 2 * (1 - lag / (lags + 1)) * float(terms[lag:] @ terms[:-lag])
    return variance


def _in_words(effect: Estimate) -> str:
    if effect.low is None or effect.high is None:
        return f"{effect.value:.2f}"
    return f"{effect.value:.2f} [{effect.low:.2f}, {effect.high:.2f}]"


def _find_curve(series: PathSeries) -> tuple[ResponsePoint, ...]:
    """Return the relative rate by loss, else by queueing delay, of the interval before."""
    points = _points(series.offered_bps, series.loss, _LOSS_BINS, what="loss")
    if len(points) < 2:
        delay_s, what = series.delay_s, "queueing delay, s,"
        points = _points(series.offered_bps, delay_s, _DELAY_BINS_S, what=what)
    return points if len(points) > 1 else ()


def _points(
    rate: FloatArray, signal: FloatArray, bins: tuple[float, ...], *, what: str
) -> tuple[ResponsePoint, ...]:
    relative, before = rate[1:] / np.median(rate[rate > 0]), signal[:-1]
    points = []
    for low, high in itertools.pairwise(bins):
        inside = (before >= low) & ((before < high) | (high == bins[-1]))
        count = int(np.count_nonzero(inside))
        if count < _LIMITS.fewest_intervals:
            continue
        mean, half = _mean(relative, inside)
        ends = f"from {low:g}" + (f" to {high:g}" if np.isfinite(high) else "")
        points.append(
            ResponsePoint(
                state="no loss" if high <= _LOSS_BINS[1] else f"{what} {ends}",
                low=low,
                high=min(high, _LIMITS.largest_delay_s),
                relative_rate=Estimate(
                    value=mean,
                    low=mean - half,
                    high=mean + half,
                    method="mean; errors allow for runs of intervals",
                ),
                intervals=count,
            )
        )
    return tuple(points)


def _mean(values: FloatArray, inside: BoolArray) -> tuple[float, float]:
    """Return the mean of some intervals and half of its interval."""
    mean = float(values[inside].mean())
    variance = _sum_variance(np.where(inside, values - mean, 0.0), _LIMITS.lags)
    error = float(np.sqrt(max(variance, 0.0))) / int(np.count_nonzero(inside))
    return mean, NORMAL_95 * error


def _count_levels(rate: FloatArray) -> int | None:
    """Return the fewest levels that explain a rate's variance and last; None if it has none.

    Levels are the classes between the largest gaps of the sorted values.
    """
    log_rate = np.log(np.maximum(rate, 1.0))
    ordered = np.sort(log_rate)
    total = float(((ordered - ordered.mean()) ** 2).sum())
    for levels in range(2, _LIMITS.most_levels + 1):
        cuts = np.sort(np.argsort(np.diff(ordered))[-(levels - 1) :]) + 1
        parts = np.split(ordered, cuts)
        within = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
        if total > 0 and within <= (1 - _LIMITS.explained) * total:
            level = np.searchsorted(ordered[cuts], log_rate, side="right")
            switches = int(np.count_nonzero(np.diff(level)))
            return levels if rate.size / (switches + 1) >= _LIMITS.shortest_dwell else None
    return None
