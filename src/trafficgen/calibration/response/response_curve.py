"""A response curve from intervals of several captures: mixed regression and monotone points."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.flows import SessionView, extend_sequence
from trafficgen.imports import special
from trafficgen.models import Estimate, PathCondition, PooledPoint, ResponseCurve
from trafficgen.units import FloatArray, IntArray, bps_from_bytes, ns_from_s, s_from_ns


class CurveLimits:
    """How many points a curve has, and bounds that keep its regression defined."""

    #: Probability of the intervals.
    level: float = 0.95
    #: More points than this have intervals too wide to show a shape,
    most_points: int = 6
    #: and so have points of fewer intervals.
    fewest_intervals: int = 5
    #: Variances below this are rounding.
    smallest_variance: float = 1e-8
    #: A larger autocorrelation would leave no independent interval.
    largest_autocorrelation: float = 0.95


_LIMITS = CurveLimits()
_METHOD = (
    "log rate against the condition with a random effect of each capture (restricted maximum"
    " likelihood), errors widened for lag-one autocorrelation; points by weighted means with both"
    " errors, made monotone (isotonic regression); 95% intervals"
)


@dataclass(frozen=True)
class Observations:
    """Intervals of all captures in which rate and condition are known.

    Attributes:
        log_rate: Log of the rate an interval later over that without congestion, shape (n,).
        capture: Number of the capture, shape (n,), in order of captures and time.
        increasing: Whether the rate may only grow with the condition; else it may only fall.
    """

    condition: FloatArray
    log_rate: FloatArray
    capture: IntArray
    increasing: bool


@dataclass(frozen=True)
class _Regression:
    """A slope with its error, the quantile for intervals, and both variances of the log rate."""

    slope: float
    slope_error: float
    quantile: float
    between: float
    within: float


def fit_response_curve(observations: Observations, condition: PathCondition) -> ResponseCurve:
    """Fit the curve of the rate against a condition that varies.

    The slope uses differences between captures and within them; a condition that differs between
    captures alone leaves few degrees of freedom (Laird and Ware 1982; Satterthwaite's rule with the
    share of the condition's variance between captures).
    """
    scale = np.log if observations.increasing else np.asarray
    x = np.asarray(scale(observations.condition), dtype=np.float64)
    found = _regress(x, observations.log_rate, observations.capture)
    groups = _ranges(observations.condition)
    points = _points(observations, groups, found)
    ends = [float(x[groups == group].mean()) for group in (0, int(groups.max()))]
    step = (ends[0] - ends[1]) if observations.increasing else (ends[1] - ends[0])
    return ResponseCurve(
        condition=condition,
        points=points,
        end_to_end=_estimate(found.slope * step, found.quantile * found.slope_error * abs(step)),
        capture_log_deviation=float(np.sqrt(found.between)),
        method=_METHOD,
    )


def _regress(x: FloatArray, y: FloatArray, capture: IntArray) -> _Regression:
    """Return the slope of y against x with a random effect of each capture."""
    captures = np.unique(capture).size
    spread = float(x.std())
    standard = (x - x.mean()) / spread
    design = np.column_stack([np.ones(x.size), standard])
    residual = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    between, scale = 0.0, float(residual @ residual) / max(y.size - 2, 1)
    if captures > 1:
        # Takes a second, and few commands need it.
        from statsmodels.regression.mixed_linear_model import MixedLM  # noqa: PLC0415

        # A variance of zero, between captures or about the line, is a result, not a failure.
        with warnings.catch_warnings(), suppress(np.linalg.LinAlgError):
            warnings.simplefilter("ignore")
            fitted = MixedLM(y, design, groups=capture).fit(reml=True, method=["lbfgs", "powell"])
            between, scale = float(np.asarray(fitted.cov_re)[0, 0]), float(fitted.scale)
    between, within = max(0.0, between), max(scale, _LIMITS.smallest_variance)
    slope, variance, factor = _weighted_slope(design, y, capture, between=between, within=within)
    # Share of the condition's variance that lies between captures.
    means = np.bincount(capture, weights=standard) / np.maximum(np.bincount(capture), 1)
    share = float(np.average((means[capture] - standard.mean()) ** 2)) / max(
        float(standard.var()), _LIMITS.smallest_variance
    )
    effective = max(y.size / factor - captures - 1, 1.0)
    degrees = 1 / (share**2 / max(captures - 2, 1) + (1 - share) ** 2 / effective)
    quantile = float(special.stdtrit(degrees, (1 + _LIMITS.level) / 2))
    error = float(np.sqrt(variance)) / spread
    return _Regression(slope / spread, error, quantile, between, within * factor)


def _weighted_slope(
    design: FloatArray, y: FloatArray, capture: IntArray, *, between: float, within: float
) -> tuple[float, float, float]:
    """Return slope and variance by generalised least squares, and the widening of the errors."""
    factor = 1.0
    for _ in range(2):
        information, moment = np.zeros((2, 2)), np.zeros(2)
        for number in np.unique(capture):
            rows = capture == number
            part, noise = design[rows], within * factor
            # Inverse of noise x identity + between x ones (Sherman and Morrison).
            pull = between / (noise + between * int(rows.sum()))
            weighted = (part - pull * part.sum(axis=0)) / noise
            information += part.T @ weighted
            moment += weighted.T @ y[rows]
        covariance = np.linalg.pinv(information)
        beta = covariance @ moment
        factor = _widening(y - design @ beta, capture)
    return float(beta[1]), float(covariance[1, 1]), factor


def _widening(residual: FloatArray, capture: IntArray) -> float:
    """Return (1 + r) / (1 - r), at least 1, r the lag-one autocorrelation within captures."""
    means = np.bincount(capture, weights=residual) / np.maximum(np.bincount(capture), 1)
    centred = residual - means[capture]
    pairs = capture[1:] == capture[:-1]
    power = float(centred @ centred)
    if power <= 0:
        return 1.0
    lagged = float(centred[1:][pairs] @ centred[:-1][pairs]) / power
    r = float(np.clip(lagged, 0.0, _LIMITS.largest_autocorrelation))
    return (1 + r) / (1 - r)


def _ranges(condition: FloatArray) -> IntArray:
    """Return the range of each interval: equal shares of the intervals, equal values together."""
    ranks = np.searchsorted(np.sort(condition), condition)
    count = int(np.clip(condition.size // _LIMITS.fewest_intervals, 1, _LIMITS.most_points))
    group = (ranks * count // condition.size).astype(np.int64)
    return np.unique(group, return_inverse=True)[1].astype(np.int64)


def _points(
    observations: Observations, groups: IntArray, found: _Regression
) -> tuple[PooledPoint, ...]:
    """Return the points of the curve, monotone."""
    from scipy import optimize  # noqa: PLC0415 - takes long, and few commands need it

    ranges = [groups == group for group in range(int(groups.max()) + 1)]
    means, errors = [], []
    for rows in ranges:
        number, counts = np.unique(observations.capture[rows], return_counts=True)
        by_capture = [
            observations.log_rate[rows & (observations.capture == each)].mean() for each in number
        ]
        weight = 1 / (found.between + found.within / counts)
        means.append(float(np.dot(weight, by_capture) / weight.sum()))
        errors.append(float(1 / np.sqrt(weight.sum())))
    weights = 1 / np.maximum(np.array(errors), np.sqrt(_LIMITS.smallest_variance)) ** 2
    level = optimize.isotonic_regression(
        np.array(means), weights=weights, increasing=observations.increasing
    ).x
    points = []
    for rows, value, error in zip(ranges, level.tolist(), errors, strict=True):
        inside = observations.condition[rows]
        points.append(
            PooledPoint(
                condition=float(inside.mean()),
                low=float(inside.min()),
                high=float(inside.max()),
                relative_rate=_estimate(value, found.quantile * error),
                intervals=int(rows.sum()),
                captures=int(np.unique(observations.capture[rows]).size),
            )
        )
    return tuple(points)


def _estimate(log_value: float, half: float) -> Estimate:
    logs = np.clip([log_value - half, log_value, log_value + half], -20, 20)  # no larger factors
    low, value, high = np.exp(logs).tolist()
    return Estimate(value=value, low=low, high=high, method=_METHOD)


#: Bits of RTP timestamps and of TCP's numbers.
_BITS = 32


class ThroughputLimits:
    """How the throughput that a path gives TCP is measured."""

    #: The fastest window of this length in an interval is what the path gives, s: several round
    #: trips, and short compared with an interval.
    window_s: float = 0.25
    #: This share of the bytes counts as all of them: windows cut some off at the edges.
    all_of_bytes: float = 0.95


_INTERVAL_LIMITS = ThroughputLimits()


@dataclass(frozen=True)
class PathIntervals:
    """Successive intervals of one capture, shape (n,) each; NaN for what it does not show.

    Attributes:
        rate_bps: Rate that the source sent, bit/s of IP bytes: with lost packets of RTP, without
            retransmissions of TCP.
        loss_rate: Lost / expected RTP packets, or retransmitted / all TCP data packets.
        packets: Packets that the loss refers to.
        queueing_delay_s: Median delay above the least of the capture, s.
        throughput_bps: Largest rate of TCP over 0.25 s, bit/s: it sends as fast as the path allows.
            NaN if not all media use TCP.
        frames_hz: RTP frames in a second.
    """

    rate_bps: FloatArray
    loss_rate: FloatArray
    packets: FloatArray
    queueing_delay_s: FloatArray
    throughput_bps: FloatArray
    frames_hz: FloatArray

    def __len__(self) -> int:
        return int(self.rate_bps.size)

    def path_loss(self) -> FloatArray:
        """Return the path's loss in each interval without the chance of its few packets, (n,).

        Variance beyond that of independent losses (twice that, as the mean run of losses is
        unknown) is kept, the rest shrinks to the mean: the empirical Bayes estimate of Efron and
        Morris (1975). As counted, chance would hide an answer to the loss, as errors in a regressor
        do.
        """
        known = self.packets > 0
        if np.count_nonzero(known) < 2:
            return self.loss_rate
        mean = float(np.average(self.loss_rate[known], weights=self.packets[known]))
        chance = 2 * mean * (1 - mean) * float(np.mean(1 / self.packets[known]))
        variance = float(np.var(self.loss_rate[known], ddof=1))
        kept = 0.0 if variance <= chance else 1 - chance / variance
        return mean + kept * (self.loss_rate - mean)


def measure_intervals(view: SessionView, *, start_s: float, interval_s: float) -> PathIntervals:
    """Measure the intervals of a session from ``start_s`` on, without the last, partial one.

    RTP: loss by extended sequence numbers (RFC 3550 A.3), delay by arrival less timestamp of a
    frame's first packet; lost packets have the mean size of those that arrived. TCP: segments
    without new data are retransmissions; delay from data to acknowledgement without retransmitted
    data (Karn), which is meaningful at the sender only. ``start_s`` counts from the first media
    packet.
    """
    start_ns = view.first_media_ns + ns_from_s(start_s)
    count = max(0, int((int(view.media_time_ns[-1]) - start_ns) // ns_from_s(interval_s)))
    bins = _Bins(start_ns, ns_from_s(interval_s), count)
    total = _Totals(count)
    for flow in view.media_flows:
        rows = np.flatnonzero(view.media & (view.table.flow == flow))
        if view.table.is_known("rtp_sequence")[rows].all():
            _add_rtp(view, rows, bins, total, clock_hz=view.clock_hz(flow))
        elif view.table.is_known("tcp_sequence")[rows].all():
            _add_tcp(view, flow, rows, bins, total)
        else:
            total.size_bytes += bins.sums(view.table.time_ns[rows], view.table.ip_bytes[rows])
    return PathIntervals(
        rate_bps=total.size_bytes * bps_from_bytes(1.0, interval_s),
        loss_rate=np.divide(
            total.lost, total.expected, out=np.full(count, np.nan), where=total.expected > 0
        ),
        packets=total.expected,
        queueing_delay_s=_medians(total.delays, count),
        throughput_bps=_throughput(total, bins),
        frames_hz=np.where(total.frames > 0, total.frames / interval_s, np.nan),
    )


@dataclass(frozen=True)
class _Bins:
    start_ns: int
    width_ns: int
    count: int

    def index(self, time_ns: IntArray) -> IntArray:
        """Return the interval of each time; -1 or the count where it is outside."""
        return np.clip((time_ns - self.start_ns) // self.width_ns, -1, self.count)

    def sums(self, time_ns: IntArray, weights: npt.NDArray[np.generic] | None = None) -> FloatArray:
        """Return the sum of the weights (default: 1 each) in each interval, shape (count,)."""
        binned = np.bincount(self.index(time_ns) + 1, weights=weights, minlength=self.count + 2)
        return np.asarray(binned[1 : self.count + 1], dtype=np.float64)


class _Totals:
    """Sums over the flows of a session."""

    def __init__(self, count: int) -> None:
        self.size_bytes, self.lost, self.expected, self.frames = (np.zeros(count) for _ in range(4))
        self.delays: list[tuple[IntArray, FloatArray]] = []
        self.by_tcp: list[tuple[IntArray, IntArray]] = []


def _add_rtp(
    view: SessionView, rows: IntArray, bins: _Bins, total: _Totals, *, clock_hz: int | None
) -> None:
    table = view.table
    ssrc = table.values("rtp_ssrc")[rows]
    for source in np.unique(ssrc):
        mine = rows[ssrc == source]
        time_ns, size_bytes = table.time_ns[mine], table.ip_bytes[mine]
        sequence = extend_sequence(table.values("rtp_sequence")[mine].astype(np.int64))
        received, sums = bins.sums(time_ns), bins.sums(time_ns, size_bytes)
        expected = _highest_at_ends(sequence, time_ns, bins)
        lost = np.maximum(expected - received, 0.0)
        total.lost += lost
        total.expected += received + lost
        mean_bytes = float(size_bytes.mean())
        its_bytes = np.where(received > 0, sums / np.maximum(received, 1), mean_bytes)
        total.size_bytes += sums + lost * its_bytes
        stamp = table.values("rtp_timestamp")[mine].astype(np.int64)
        stamp = extend_sequence(stamp, bits=_BITS)
        first = np.concatenate(([True], np.diff(stamp) != 0))
        total.frames += bins.sums(time_ns[first])
        if clock_hz:
            delay_s = s_from_ns(time_ns[first] - time_ns[0]) - (stamp[first] - stamp[0]) / clock_hz
            total.delays.append((bins.index(time_ns[first]), delay_s - delay_s.min()))


def _highest_at_ends(sequence: IntArray, time_ns: IntArray, bins: _Bins) -> FloatArray:
    """Return by how much the highest number grew within each interval, shape (count,)."""
    highest = np.concatenate((sequence[:1] - 1, np.maximum.accumulate(sequence)))
    edges = bins.start_ns + np.arange(bins.count + 1) * bins.width_ns
    return np.diff(highest[np.searchsorted(time_ns, edges, side="left")]).astype(np.float64)


def _add_tcp(view: SessionView, flow: int, rows: IntArray, bins: _Bins, total: _Totals) -> None:
    table = view.table
    time_ns, payload = table.time_ns[rows], table.payload_bytes[rows]
    sequence = table.values("tcp_sequence")[rows].astype(np.int64)
    end = extend_sequence(sequence, bits=_BITS) + payload
    before = np.concatenate((end[:1] - payload[:1], np.maximum.accumulate(end)[:-1]))
    resent = end <= before
    total.lost += bins.sums(time_ns[resent])
    total.expected += bins.sums(time_ns)
    total.size_bytes += bins.sums(time_ns[~resent], table.ip_bytes[rows][~resent])
    total.by_tcp.append((time_ns[~resent], table.ip_bytes[rows][~resent]))
    back = np.flatnonzero(
        (table.flow == flow) & ~table.to_client & table.is_known("tcp_acknowledgement")
    )
    if back.size == 0:
        return
    modulus = np.int64(1) << _BITS
    new_end, sent_ns = end[~resent], time_ns[~resent]
    first_of, place = np.unique(new_end % modulus, return_index=True)
    acknowledged = table.values("tcp_acknowledgement")[back].astype(np.int64)
    at = np.minimum(np.searchsorted(first_of, acknowledged), first_of.size - 1)
    rtt_ns = table.time_ns[back] - sent_ns[place[at]]
    doubtful = np.isin(new_end[place[at]], end[resent])
    fits = (first_of[at] == acknowledged) & (rtt_ns > 0) & ~doubtful
    if fits.any():
        rtt_s = s_from_ns(rtt_ns[fits])
        total.delays.append((bins.index(sent_ns[place[at]][fits]), rtt_s - rtt_s.min()))


def _throughput(total: _Totals, bins: _Bins) -> FloatArray:
    """Return the largest rate over short windows in each interval, shape (count,)."""
    windows = max(1, round(s_from_ns(bins.width_ns) / _INTERVAL_LIMITS.window_s))
    fine = _Bins(bins.start_ns, bins.width_ns // windows, bins.count * windows)
    size_bytes = np.zeros(fine.count)
    for time_ns, each_bytes in total.by_tcp:
        size_bytes += fine.sums(time_ns, each_bytes)
    not_all = size_bytes.sum() < _INTERVAL_LIMITS.all_of_bytes * total.size_bytes.sum()
    if not_all or not total.by_tcp or bins.count == 0:
        return np.full(bins.count, np.nan)
    largest = size_bytes.reshape(bins.count, windows).max(axis=1)
    return np.where(largest > 0, largest * bps_from_bytes(1.0, s_from_ns(fine.width_ns)), np.nan)


def _medians(delays: list[tuple[IntArray, FloatArray]], count: int) -> FloatArray:
    """Return the median of all delays in each interval, shape (count,)."""
    if not delays:
        return np.full(count, np.nan)
    index, delay_s = (np.concatenate(column) for column in zip(*delays, strict=True))
    order = np.argsort(index, kind="stable")
    parts = np.split(delay_s[order], np.searchsorted(index[order], np.arange(count + 1)))
    return np.array([np.median(part) if part.size else np.nan for part in parts[1:-1]])
