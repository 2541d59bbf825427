"""Describe windows of time, or whole sessions, by features of their packets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from trafficgen.flows import SessionView, sessions_of_packets
from trafficgen.processes.autocorrelated_series import dot_product
from trafficgen.tables import compact_ip_bytes
from trafficgen.units import BITS_PER_BYTE, BoolArray, FloatArray, IntArray, WholeArray, s_from_ns

#: Name of a feature -> what it is, for people. Logarithms are decimal; gaps are within flows.
FEATURES: Mapping[str, str] = {
    "log10_packets": "log of the number of packets",
    "log10_rate_bps": "log of the rate",
    "packet_bytes_mean": "mean packet size",
    "packet_bytes_sd": "standard deviation of packet sizes",
    **{f"packet_bytes_q{q}": f"{q}% quantile of packet sizes" for q in (10, 25, 50, 75, 90)},
    "packet_bytes_modes": "share of packets of the most frequent size",
    "log10_gap_s_mean": "mean log gap",
    "log10_gap_s_sd": "standard deviation of log gaps",
    **{f"log10_gap_s_q{q}": f"{q}% quantile of log gaps" for q in (10, 25, 50, 75, 90)},
    "gap_acf_1": "autocorrelation of log gaps at lag 1",
    "gap_acf_2": "autocorrelation of log gaps at lag 2",
    "packet_bytes_acf_1": "autocorrelation of packet sizes at lag 1",
    "gap_to_packet_bytes": "correlation of a log gap with the size of the packet after it",
    "packet_bytes_to_gap": "correlation of a packet's size with the log gap after it",
    "bursts_per_s": "bursts per second",
    "log10_burst_packets_mean": "mean log of the packets in a burst",
    "log10_burst_packets_sd": "standard deviation of the log of the packets in a burst",
    "log10_pause_s_mean": "mean log of the pauses between bursts",
    "idle_share": "share of empty bins of 0.1 s",
    "rate_cv": "coefficient of variation of the rate in bins of 0.1 s",
    "rate_acf_1": "autocorrelation of the rate in bins of 0.1 s at lag 1",
    "rate_acf_5": "autocorrelation of the rate in bins of 0.1 s at lag 5",
    "rate_peak": "largest rate in 0.1 s over the mean",
    "to_server_packets": "packets to the server for each media packet",
}
#: Further features of whole sessions.
SESSION_FEATURES: Mapping[str, str] = {
    "log10_duration_s": "log of the duration",
    "start_rate_ratio": "rate of the first 10 s over that of the rest",
}
_START_S = 10.0
_BIN_S = 0.1
#: Captures count at most microseconds: a shorter gap is one of 0 s in most of them.
_SHORTEST_GAP_S = 1e-6
#: At most this many windows, or sessions, of a side are described, spread evenly over it.
MOST_ROWS = 400
_FEWEST_PAIRS = 5


@dataclass(frozen=True)
class Described:
    """Windows or sessions of one side, in order of time.

    Attributes:
        values: Features, NaN where undefined, shape (n, f), columns as in ``names``.
        names: Names of the features.
        session: Number of the session that each is of, counted from 0, shape (n,).
    """

    values: FloatArray
    names: tuple[str, ...]
    session: IntArray


@dataclass(frozen=True)
class SessionRows:
    """Media packets of one session, or of a window of it, in order of time.

    Attributes:
        time_s: Times after the session's first media packet, or the window's start, s, shape (n,).
        ip_bytes: Their IP total lengths, bytes, shape (n,).
        flow: Numbers of their flows, shape (n,).
        to_server_s: Times of the packets to the server, s, shape (m,).
    """

    time_s: FloatArray
    ip_bytes: FloatArray
    flow: WholeArray
    to_server_s: FloatArray

    @property
    def length_s(self) -> float:
        """First to last media packet, s."""
        return float(self.time_s[-1])


def split_sessions(view: SessionView) -> list[SessionRows]:
    """Split what is compared into its sessions, by their first media packets."""
    table = view.table
    session_of = sessions_of_packets(table)
    order = np.argsort(session_of, kind="stable")
    found = []
    for its in np.split(order, np.flatnonzero(np.diff(session_of[order])) + 1):
        media = its[view.media[its]]
        if not media.size:
            continue
        time_ns = table.time_ns[media]
        from_server = its[~table.to_client[its]]
        found.append(
            SessionRows(
                time_s=s_from_ns(time_ns - time_ns[0]),
                ip_bytes=compact_ip_bytes(table)[media].astype(np.float64),
                flow=table.flow[media],
                to_server_s=s_from_ns(table.time_ns[from_server] - time_ns[0]),
            )
        )
    return found


def describe_windows(
    sessions: list[SessionRows], *, window_s: float, threshold_s: float | None
) -> Described:
    """Describe the whole windows of sessions, each from its first media packet.

    ``threshold_s`` is the largest gap within a burst, None where there are no bursts.
    """
    counts = [int(rows.length_s / window_s) for rows in sessions]
    # Of damaged times there are billions of windows: only those that are chosen have room.
    ends = np.cumsum(counts, dtype=np.int64)
    chosen = _spread(sum(counts))
    session = np.searchsorted(ends, chosen, side="right")
    place = chosen - (ends - counts)[session]
    values = [
        _describe(_cut(sessions[of], at * window_s, window_s), window_s, threshold_s)
        for of, at in zip(session.tolist(), place.tolist(), strict=True)
    ]
    names = tuple(FEATURES)
    return Described(np.array(values).reshape(-1, len(names)), names, session)


def describe_sessions(sessions: list[SessionRows], *, threshold_s: float | None) -> Described:
    """Describe whole sessions, each longer than a moment."""
    chosen = _spread(len(sessions))
    values = [
        [*_describe(rows, rows.length_s, threshold_s), math.log10(rows.length_s), _start(rows)]
        for rows in (sessions[at] for at in chosen)
    ]
    names = (*FEATURES, *SESSION_FEATURES)
    return Described(np.array(values).reshape(-1, len(names)), names, np.arange(len(chosen)))


def _spread(count: int) -> IntArray:
    if count <= MOST_ROWS:
        return np.arange(count)
    return np.linspace(0, count - 1, MOST_ROWS).astype(np.int64)


def _start(rows: SessionRows) -> float:
    """Return the rate of the first 10 s over that of the rest; NaN for a short session."""
    if rows.length_s < 2 * _START_S:
        return math.nan
    first = float(rows.ip_bytes[rows.time_s < _START_S].sum())
    rest = float(rows.ip_bytes.sum()) - first
    return _ratio(first / _START_S, rest / (rows.length_s - _START_S))


def _cut(rows: SessionRows, start_s: float, window_s: float) -> SessionRows:
    first, end = np.searchsorted(rows.time_s, (start_s, start_s + window_s))
    to_server = np.searchsorted(rows.to_server_s, (start_s, start_s + window_s))
    return SessionRows(
        time_s=rows.time_s[first:end] - start_s,
        ip_bytes=rows.ip_bytes[first:end],
        flow=rows.flow[first:end],
        to_server_s=rows.to_server_s[to_server[0] : to_server[1]],
    )


def _describe(rows: SessionRows, window_s: float, threshold_s: float | None) -> list[float]:
    """Return the features of :data:`FEATURES` in their order."""
    count = rows.time_s.size
    order = np.argsort(rows.flow, kind="stable")
    size, flow = rows.ip_bytes[order], rows.flow[order]
    same = flow[1:] == flow[:-1]
    gap_s = np.diff(rows.time_s[order])
    log_gap = np.log10(np.maximum(gap_s, _SHORTEST_GAP_S))
    own = log_gap[same]
    twice, thrice = same[1:] & same[:-1], same[2:] & same[1:-1] & same[:-2]
    bins = max(1, round(window_s / _BIN_S))
    place = np.minimum((rows.time_s * (bins / window_s)).astype(np.int64), bins - 1)
    rate = np.bincount(place, weights=rows.ip_bytes, minlength=bins).astype(np.float64)
    return [
        math.log10(1 + count),
        math.log10(1 + BITS_PER_BYTE * float(size.sum()) / window_s),
        *_moments(size),
        *_quantiles(size),
        float(np.unique(size, return_counts=True)[1].max()) / count if count else math.nan,
        *_moments(own),
        *_quantiles(own),
        _correlation(log_gap[:-1][twice], log_gap[1:][twice]),
        _correlation(log_gap[:-2][thrice], log_gap[2:][thrice]),
        _correlation(size[:-1][same], size[1:][same]),
        _correlation(own, size[1:][same]),
        _correlation(own, size[:-1][same]),
        *_describe_bursts(gap_s, same, window_s, threshold_s),
        float(np.mean(rate == 0)),
        _ratio(float(rate.std()), float(rate.mean())),
        _correlation(rate[:-1], rate[1:]),
        _correlation(rate[:-5], rate[5:]),
        _ratio(float(rate.max()), float(rate.mean())),
        rows.to_server_s.size / count if rows.to_server_s.size and count else math.nan,
    ]


def _describe_bursts(
    gap_s: FloatArray, same: BoolArray, window_s: float, threshold_s: float | None
) -> tuple[float, float, float, float]:
    if threshold_s is None:
        return (math.nan,) * 4
    ends = np.flatnonzero(~same | (gap_s > threshold_s))
    packets = np.log10(np.diff(np.concatenate(([-1], ends, [gap_s.size]))))
    pauses = gap_s[same & (gap_s > threshold_s)]
    mean, deviation = _moments(packets)
    return packets.size / window_s, mean, deviation, _moments(np.log10(pauses))[0]


def _moments(values: FloatArray) -> tuple[float, float]:
    if not values.size:
        return math.nan, math.nan
    return float(values.mean()), float(values.std())


def _quantiles(values: FloatArray) -> list[float]:
    if not values.size:
        return [math.nan] * 5
    ranks = (np.array((0.1, 0.25, 0.5, 0.75, 0.9)) * (values.size - 1)).astype(np.int64)
    found: list[float] = np.partition(values, ranks)[ranks].tolist()
    return found


def _correlation(one: FloatArray, other: FloatArray) -> float:
    """Return Pearson's correlation; NaN for few pairs or a constant side."""
    if one.size < _FEWEST_PAIRS:
        return math.nan
    a, b = one - one.mean(), other - other.mean()
    power = dot_product(a, a) * dot_product(b, b)
    scale = dot_product(one, one) * dot_product(other, other)
    if power <= np.finfo(np.float64).eps * scale:
        return math.nan
    return dot_product(a, b) / math.sqrt(power)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan
