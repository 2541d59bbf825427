"""What pairs of players showed: traffic, bandwidth, correlations, friendliness and smoothness."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy import stats

from trafficgen.calibration.response.friendliness import tcp_friendly_bps
from trafficgen.flows.measures import spread
from trafficgen.reproduction.chung.playout import (
    CONSTRAINED_KBPS,
    RATES_KBPS,
    Pair,
    PairsByRate,
    Playout,
    Pool,
    differences,
    share_of,
    tcp_kbps,
    udp_kbps,
)
from trafficgen.reproduction.experiment import Measures
from trafficgen.units import IntArray, kbps_from_bps

_LOW_KBPS = 150
_FULL_BYTES = 1500
#: "Equal" has no tolerance in the paper: a fiftieth of the bottleneck (CCZ-H1).
_EQUAL_WITHIN = 0.02
_STARVED, _STARVING_KBPS = -0.8, (150, 75)
_QUARTILES = (0.25, 0.5, 0.75)


def measure_traffic(pairs: PairsByRate, pools: Mapping[int, Pool]) -> Measures:
    """Measure rates, ping losses and packet sizes (CCZ-W2 to W4)."""
    lossless = {rate: _ping_losses(pairs[rate]) for rate in RATES_KBPS}
    medians = [100 * float(np.median(lossless[rate])) for rate in RATES_KBPS]
    udp = np.sum([pools[rate].udp.sizes for rate in RATES_KBPS], axis=0)
    tcp = np.sum([pools[rate].tcp.sizes for rate in RATES_KBPS], axis=0)
    return {
        "w2": _low_share(pairs),
        "w3_75": float(np.mean(np.array(lossless[75]) == 0)),
        "w3_600": float(np.mean(np.array(lossless[600]) == 0)),
        "w3_median": float(np.diff(medians).min()),
        "w4_udp": _median_bytes(udp),
        "w4_tcp": _median_bytes(tcp),
        "w4_full": float(tcp[_FULL_BYTES] / tcp.sum()),
        "w4_packets": float((tcp.sum() / _bytes(tcp)) / (udp.sum() / _bytes(udp))),
    }


def _low_share(pairs: PairsByRate) -> float:
    """Return the share of clips that stream below 150 kbit/s over UDP at bottlenecks from 150."""
    largest: dict[int, float] = {}
    for rate in RATES_KBPS:
        for pair in pairs[rate] if rate >= _LOW_KBPS else ():
            clip = pair.clip.number
            largest[clip] = max(largest.get(clip, 0.0), pair.udp.mean_kbps)
    return sum(rate_kbps < _LOW_KBPS for rate_kbps in largest.values()) / len(largest)


def _ping_losses(pairs: Sequence[Pair]) -> list[float]:
    return [pair.pings.loss for pair in pairs if not math.isnan(pair.pings.loss)]


def _median_bytes(sizes: IntArray) -> float:
    """Return the median of packet sizes counted by size."""
    return float(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2))


def _bytes(sizes: IntArray) -> float:
    return float(np.dot(np.arange(sizes.size), sizes))


def compare_bandwidth(pairs: PairsByRate) -> Measures:
    """Compare the bandwidth of both transports (CCZ-H1 to H3, H6)."""
    d = {rate: differences(pairs[rate], bottleneck_kbps=rate) for rate in RATES_KBPS}
    values = {
        "h1_equal": float(np.mean(np.abs(d[600]) <= _EQUAL_WITHIN)),
        "h1_tcp": float(np.mean(d[600] > _EQUAL_WITHIN)),
        "h1_udp": float(np.mean(d[600] < -_EQUAL_WITHIN)),
        "h1_largest": float(np.abs(d[600]).max()),
    }
    distance = {
        rate: float(stats.ks_2samp(udp_kbps(pairs[rate]), tcp_kbps(pairs[rate])).statistic)
        for rate in d
    }
    for wider, rate in zip(RATES_KBPS, CONSTRAINED_KBPS, strict=False):
        udp, tcp = udp_kbps(pairs[rate]), tcp_kbps(pairs[rate])
        values[f"h2_{rate}"] = np.mean(d[rate] < -_EQUAL_WITHIN)
        values[f"h3_twice_{rate}"] = np.mean(udp >= 2 * tcp)
        values[f"h3_tcp_{rate}"] = np.count_nonzero(d[rate] > _EQUAL_WITHIN)
        values[f"h6_growth_{rate}"] = distance[rate] - distance[wider]
        values[f"h6_quartiles_{rate}"] = (
            np.quantile(udp, _QUARTILES) - np.quantile(tcp, _QUARTILES)
        ).min()
    values.update(
        {f"h3_starved_{rate}": float(np.mean(d[rate] < _STARVED)) for rate in _STARVING_KBPS}
    )
    values["h6_ks_600"] = distance[600]
    return values


def correlate_with_pings(pairs: PairsByRate) -> Measures:
    """Correlate the difference of rates with round-trip time and loss (CCZ-H4, H5).

    Servers that answer no ping are left out (CCZ-S4).
    """
    answered = {
        rate: [pair for pair in of_rate if not math.isnan(pair.pings.rtt_s)]
        for rate, of_rate in pairs.items()
    }
    values = {}
    for key in ("rtt", "loss"):
        of_rate = {rate: _correlation(some, key) for rate, some in answered.items()}
        values[f"{key}_all"] = _correlation(
            [pair for some in answered.values() for pair in some], key
        )
        values.update({f"{key}_{rate}": value for rate, value in of_rate.items()})
        values[f"{key}_order"] = max(of_rate[rate] for rate in CONSTRAINED_KBPS) - of_rate[600]
    return values


def _correlation(pairs: Sequence[Pair], by: str) -> float:
    """Return Pearson's correlation of the difference of rates, kbit/s, with a ping measure."""
    other = [pair.pings.rtt_s if by == "rtt" else pair.pings.loss for pair in pairs]
    if len(pairs) < 3 or np.ptp(other) == 0:
        return math.nan
    return float(
        np.corrcoef([pair.tcp.mean_kbps - pair.udp.mean_kbps for pair in pairs], other)[0, 1]
    )


def is_unfriendly(playout: Playout, pair: Pair) -> bool:
    """Check whether a flow exceeds the bound of CCZ-F1 for its run's pings; never without loss."""
    if not pair.pings.loss > 0:
        return False
    bound_bps = float(tcp_friendly_bps(np.array(pair.pings.rtt_s), np.array(pair.pings.loss)))
    return playout.mean_kbps > kbps_from_bps(bound_bps)


def measure_friendliness(pairs: PairsByRate) -> Measures:
    """Count flows above the TCP-friendly rate (CCZ-F2, F3)."""
    values = {}
    answered = {
        rate: [pair for pair in pairs[rate] if not math.isnan(pair.pings.rtt_s)]
        for rate in RATES_KBPS
    }
    for rate, some in answered.items():
        lossy = [pair for pair in some if pair.pings.loss > 0]
        values[f"f2_udp_{rate}"] = share_of(lossy, _udp_is_unfriendly)
        values[f"f2_tcp_{rate}"] = share_of(lossy, lambda pair: is_unfriendly(pair.tcp, pair))
    values["f2_udp_600"] -= float(np.mean([values[f"f2_udp_{rate}"] for rate in CONSTRAINED_KBPS]))
    scalable = {rate: _can_scale(answered[rate], rate / 2) for rate in CONSTRAINED_KBPS}
    for rate in CONSTRAINED_KBPS:
        values[f"f3_before_{rate}"] = share_of(answered[rate], _udp_is_unfriendly)
        values[f"f3_after_{rate}"] = share_of(scalable[rate], _udp_is_unfriendly)
    before = share_of(
        [pair for rate in CONSTRAINED_KBPS for pair in answered[rate]], _udp_is_unfriendly
    )
    after = share_of(
        [pair for rate in CONSTRAINED_KBPS for pair in scalable[rate]], _udp_is_unfriendly
    )
    values["f3_growth"] = after - before
    return values


def _udp_is_unfriendly(pair: Pair) -> bool:
    return is_unfriendly(pair.udp, pair)


def _can_scale(pairs: Sequence[Pair], fair_kbps: float) -> list[Pair]:
    """Return the pairs whose clip has levels on both sides of the fair share (CCZ-F3)."""
    return [
        pair for pair in pairs if pair.clip.ladder_kbps[0] <= fair_kbps <= pair.clip.ladder_kbps[-1]
    ]


def measure_smoothness(pools: Mapping[int, Pool]) -> Measures:
    """Measure the spread of ratios of successive 0.5 s rates (CCZ-V1)."""
    udp = {rate: spread(pools[rate].udp.ratios) for rate in RATES_KBPS}
    tcp = {rate: spread(pools[rate].tcp.ratios) for rate in RATES_KBPS}
    values = {f"v1_{rate}": tcp[rate] / udp[rate] for rate in RATES_KBPS}
    for rate in CONSTRAINED_KBPS:
        values[f"v1_udp_{rate}"] = udp[rate] / udp[600]
        values[f"v1_tcp_{rate}"] = tcp[rate] / tcp[600]
    return values


_NEARLY_EQUAL, _MUCH_HIGHER = 0.10, 1.25


def measure_competing(pairs: PairsByRate) -> Measures:
    """Measure buffering and stalls of pairs behind a bottleneck (CCZ-B2, B5)."""
    streams = [
        (rate, stream)
        for rate, of_rate in pairs.items()
        for pair in of_rate
        for stream in pair.streams
    ]
    # A player that leaves has no steady playout.
    played = [(rate, each) for rate, each in streams if not each.has_left]
    measured = [
        (rate, each, each.rates)
        for rate, each in played
        if each.rates and each.rates.steady_kbps > 0
    ]
    ratios = np.array([each.ratio for _, each, _ in measured])
    steady_kbps = np.array([rates.steady_kbps for _, _, rates in measured])
    return {
        "b2_largest": float(ratios.max()),
        "b2_bound": max(rates.buffering_kbps / rate for rate, _, rates in measured),
        "b2_rank": float(stats.spearmanr(ratios, steady_kbps).statistic),
        "b5_longest": _longest_stall(each for _, each in streams),
        "b5_75": _longest_stall(each for rate, each in streams if rate == 75),
    }


def measure_unconstrained(pairs: Sequence[Pair]) -> Measures:
    """Compare the buffering of both transports without a bottleneck (CCZ-B3, B4)."""
    both = np.array([(pair.udp.ratio, pair.tcp.ratio) for pair in pairs])
    udp, tcp = both[np.isfinite(both).all(axis=1)].T
    accelerated_s = np.array([each.accelerated_s for pair in pairs for each in pair.streams])
    rise_s = np.array([pair.tcp.rise_s - pair.udp.rise_s for pair in pairs])
    return {
        "b3_tcp": float(np.median(tcp)),
        "b3_equal": float(np.mean(np.abs(udp / tcp - 1) <= _NEARLY_EQUAL)),
        "b3_higher": float(np.mean(udp / tcp > _MUCH_HIGHER)),
        "b4_longest": float(np.nanmax(accelerated_s)),
        "b4_rise": float(np.nanmedian(rise_s)),
    }


def _longest_stall(streams: Iterable[Playout]) -> float:
    """Return the longest stall, s; 0 without any."""
    return max((stall_s for stream in streams for stall_s in stream.stalls_s), default=0.0)
