"""A source's rate against that of TCP on the same path (CCZ-F1, Padhye 1998)."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.path.loss_measures import estimate_share
from trafficgen.calibration.path.path_records import PathRecords, sum_intervals
from trafficgen.models import Friendliness
from trafficgen.units import BITS_PER_BYTE, FloatArray, kbps_from_bps

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
