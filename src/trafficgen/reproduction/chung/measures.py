"""What pairs of players and players alone showed, finding by finding (CCZ-W2 to V1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from scipy import stats

from trafficgen.calibration.response.congestion_response import tcp_friendly_kbps
from trafficgen.flows.measures import rate_differences, spread
from trafficgen.reproduction.chung.testbed import Pair, Playout
from trafficgen.reproduction.finding import Measures
from trafficgen.units import FloatArray, IntArray

#: Token rates of CCZ-S1, kbit/s; below the first the two streams no longer fit side by side.
RATES_KBPS = (600, 300, 150, 75)
_CONSTRAINED_KBPS = RATES_KBPS[1:]
#: Rate of CCZ-S2, kbit/s.
LIMIT_KBPS = 35
_LOW_KBPS = 150
_FULL_BYTES = 1500
#: "Equal" has no tolerance in the paper: a hundredth of the bottleneck, as wide as a line is in a
#: figure of a column whose axis spans two of them (CCZ-H1).
_EQUAL_WITHIN = 0.01
_STARVED, _STARVING_KBPS = -0.8, (150, 75)
#: "The same" round-trip time at several rates has no tolerance in the paper either (CCZ-W8), s.
_SAME_DELAY_S = 0.02
_QUARTILES = (0.25, 0.5, 0.75)
_NEARLY_EQUAL, _MUCH_HIGHER = 0.10, 1.25
_STEPPING_CLIP, _LEAPING_CLIP = 65, 78
#: TCP must be later than UDP at every quantile from here on (CCZ-M2).
_FROM_QUANTILE, _QUANTILE_STEP = 0.45, 0.01
#: The steps up of the sample pair come within this time after there is room (CCZ-M6), s.
_FOLLOWS_WITHIN_S = 45.0

PairsByRate = Mapping[int, Sequence[Pair]]


def rates_kbps(pairs: Sequence[Pair]) -> FloatArray:
    """Return the mean rates of the UDP and of the TCP streams, shape (2, n)."""
    rates = [(pair.udp.mean_kbps, pair.tcp.mean_kbps) for pair in pairs]
    return np.array(rates, dtype=np.float64).reshape(-1, 2).T


def _split(pairs: Sequence[Pair]) -> tuple[list[Playout], list[Playout]]:
    """Return the UDP and the TCP streams."""
    return [pair.udp for pair in pairs], [pair.tcp for pair in pairs]


def _answered(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs whose servers answer pings (CCZ-S4)."""
    return [pair for pair in pairs if not math.isnan(pair.pings.rtt_s)]


def measure_traffic(pairs: PairsByRate) -> Measures:
    """Measure rates, ping losses and packet sizes (CCZ-W2 to W4)."""
    loss = {
        rate: np.array([pair.pings.loss for pair in _answered(pairs[rate])]) for rate in RATES_KBPS
    }
    streams = _split([pair for of_rate in pairs.values() for pair in of_rate])
    udp, tcp = (np.sum([playout.sizes for playout in some], axis=0) for some in streams)
    return {
        "w2": _low_share(pairs),
        "w3_75": np.mean(loss[75] == 0),
        "w3_600": np.mean(loss[600] == 0),
        "w3_median": np.diff([100 * np.median(loss[rate]) for rate in RATES_KBPS]).min(),
        "w4_udp": _median_bytes(udp),
        "w4_tcp": _median_bytes(tcp),
        "w4_full": tcp[_FULL_BYTES] / tcp.sum(),
        "w4_packets": (tcp.sum() / _bytes(tcp)) / (udp.sum() / _bytes(udp)),
    }


def measure_delays(pairs: PairsByRate) -> Measures:
    """Compare the round-trip times of pings over the rates (CCZ-W8).

    Those of one clip are compared by what the queue adds, since its path is not the same in all
    runs.
    """
    answered = {rate: _answered(pairs[rate]) for rate in RATES_KBPS}
    median_s = {
        rate: np.median([pair.pings.rtt_s for pair in some]) for rate, some in answered.items()
    }
    values: Measures = {
        f"w8_{rate}": median_s[rate] - median_s[wider] for wider, rate in pairwise(RATES_KBPS)
    }
    queued_s: dict[int, dict[int, list[float]]] = {}
    for rate in (rate for rate in RATES_KBPS if rate >= _LOW_KBPS):
        for pair in answered[rate]:
            of_clip = queued_s.setdefault(pair.clip.number, {})
            of_clip.setdefault(rate, []).append(pair.pings.rtt_s - pair.clip.base_rtt_s)
    means_s = [[np.mean(some) for some in of_clip.values()] for of_clip in queued_s.values()]
    return {**values, "w8_same": np.mean([np.ptp(one) <= _SAME_DELAY_S for one in means_s])}


def _low_share(pairs: PairsByRate) -> float:
    """Return the share of clips that stream below 150 kbit/s over UDP at bottlenecks from 150."""
    largest: dict[int, float] = {}
    for pair in (pair for rate in RATES_KBPS if rate >= _LOW_KBPS for pair in pairs[rate]):
        clip = pair.clip.number
        largest[clip] = max(largest.get(clip, 0.0), pair.udp.mean_kbps)
    return sum(rate_kbps < _LOW_KBPS for rate_kbps in largest.values()) / len(largest)


def _median_bytes(sizes: IntArray) -> float:
    """Return the median of packet sizes counted by size."""
    return float(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2))


def _bytes(sizes: IntArray) -> float:
    return float(np.dot(np.arange(sizes.size), sizes))


def compare_bandwidth(pairs: PairsByRate) -> Measures:
    """Compare the bandwidth of both transports (CCZ-H1 to H3, H6, H7)."""
    kbps = {rate: rates_kbps(pairs[rate]) for rate in RATES_KBPS}
    # Normalised differences of CCZ-H1.
    d = {
        rate: rate_differences(tcp, udp, bottleneck_kbps=rate) for rate, (udp, tcp) in kbps.items()
    }
    distance = {rate: stats.ks_2samp(udp, tcp).statistic for rate, (udp, tcp) in kbps.items()}
    equal = {rate: np.mean(np.abs(of_rate) <= _EQUAL_WITHIN) for rate, of_rate in d.items()}
    values: Measures = {
        "h1_equal": equal[600],
        "h1_tcp": np.mean(d[600] > _EQUAL_WITHIN),
        "h1_udp": np.mean(d[600] < -_EQUAL_WITHIN),
        "h1_largest": np.abs(d[600]).max(),
        "h6_ks_600": distance[600],
        "h7_rank": stats.spearmanr(np.abs(d[600]), kbps[600].mean(axis=0)).statistic,
        **{f"h3_starved_{rate}": np.mean(d[rate] < _STARVED) for rate in _STARVING_KBPS},
    }
    for wider, rate in pairwise(RATES_KBPS):
        udp, tcp = kbps[rate]
        quartiles = np.quantile(udp, _QUARTILES) - np.quantile(tcp, _QUARTILES)
        values[f"h2_{rate}"] = np.mean(d[rate] < -_EQUAL_WITHIN)
        values[f"h3_twice_{rate}"] = np.mean(udp >= 2 * tcp)
        values[f"h3_tcp_{rate}"] = np.count_nonzero(d[rate] > _EQUAL_WITHIN)
        values[f"h7_{rate}"] = equal[wider] - equal[rate]
        values[f"h6_growth_{rate}"] = distance[rate] - distance[wider]
        values[f"h6_quartiles_{rate}"] = quartiles.min()
    return values


def correlate_with_pings(pairs: PairsByRate) -> Measures:
    """Correlate the difference of rates with round-trip time and loss (CCZ-H4, H5).

    Servers that answer no ping are left out (CCZ-S4).
    """
    groups: dict[int | str, list[Pair]] = {rate: _answered(some) for rate, some in pairs.items()}
    groups["all"] = [pair for some in groups.values() for pair in some]
    values: Measures = {}
    for key in ("rtt", "loss"):
        for name, some in groups.items():
            values[f"{key}_{name}"] = _correlation(some, key)
        largest = max(values[f"{key}_{rate}"] for rate in _CONSTRAINED_KBPS)
        values[f"{key}_order"] = largest - values[f"{key}_600"]
    return values


def _correlation(pairs: Sequence[Pair], by: str) -> float:
    """Return Pearson's correlation of the difference of rates, kbit/s, with a ping measure."""
    other = [pair.pings.rtt_s if by == "rtt" else pair.pings.loss for pair in pairs]
    if len(pairs) < 3 or np.ptp(other) == 0:
        return math.nan
    udp, tcp = rates_kbps(pairs)
    return float(np.corrcoef(tcp - udp, other)[0, 1])


def is_unfriendly(playout: Playout, pair: Pair) -> bool:
    """Check whether a flow exceeds the bound of CCZ-F1 for its run's pings; never without loss."""
    bound_kbps = tcp_friendly_kbps(rtt_s=pair.pings.rtt_s, loss_rate=pair.pings.loss)
    return bound_kbps is not None and playout.mean_kbps > bound_kbps


def measure_friendliness(pairs: PairsByRate) -> Measures:
    """Count flows above the TCP-friendly rate (CCZ-F2, F3)."""
    values: Measures = {}
    answered = {rate: _answered(pairs[rate]) for rate in RATES_KBPS}
    for rate, some in answered.items():
        shares = _unfriendly_shares([pair for pair in some if pair.pings.loss > 0])
        values[f"f2_udp_{rate}"], values[f"f2_tcp_{rate}"] = shares
    values["f2_udp_600"] -= np.mean([values[f"f2_udp_{rate}"] for rate in _CONSTRAINED_KBPS])
    before, after = [], []
    for rate in _CONSTRAINED_KBPS:
        scalable = [pair for pair in answered[rate] if _can_scale(pair, rate / 2)]
        values[f"f3_before_{rate}"], _ = _unfriendly_shares(answered[rate])
        values[f"f3_after_{rate}"], _ = _unfriendly_shares(scalable)
        before += answered[rate]
        after += scalable
    growth = _unfriendly_shares(after)[0] - _unfriendly_shares(before)[0]
    return {**values, "f3_growth": growth}


def _unfriendly_shares(pairs: Sequence[Pair]) -> FloatArray:
    """Return the shares of UDP and of TCP streams that are unfriendly; NaN without pairs."""
    if not pairs:
        return np.full(2, math.nan)
    flags = [(is_unfriendly(pair.udp, pair), is_unfriendly(pair.tcp, pair)) for pair in pairs]
    return np.asarray(np.mean(flags, axis=0), dtype=np.float64)


def _can_scale(pair: Pair, fair_kbps: float) -> bool:
    """Return whether a clip has levels on both sides of the fair share (CCZ-F3)."""
    return pair.clip.ladder_kbps[0] <= fair_kbps <= pair.clip.ladder_kbps[-1]


def measure_smoothness(pairs: PairsByRate) -> Measures:
    """Measure the spread of ratios of successive 0.5 s rates (CCZ-V1)."""
    spreads = {
        rate: [spread(np.concatenate([one.ratios for one in some])) for some in _split(pairs[rate])]
        for rate in RATES_KBPS
    }
    values: Measures = {f"v1_{rate}": tcp / udp for rate, (udp, tcp) in spreads.items()}
    for rate in _CONSTRAINED_KBPS:
        values[f"v1_udp_{rate}"] = spreads[rate][0] / spreads[600][0]
        values[f"v1_tcp_{rate}"] = spreads[rate][1] / spreads[600][1]
    return values


def measure_competing(pairs: PairsByRate) -> Measures:
    """Measure buffering and stalls of pairs behind a bottleneck (CCZ-B2, B5)."""
    streams = [
        (rate, stream)
        for rate, of_rate in pairs.items()
        for pair in of_rate
        for stream in (pair.udp, pair.tcp)
    ]
    # A player that leaves has no steady playout.
    measured = [
        (rate, each.ratio, each.rates)
        for rate, each in streams
        if not each.has_left and each.rates and each.rates.steady_kbps > 0
    ]
    ratios = np.array([ratio for _, ratio, _ in measured])
    steady_kbps = np.array([rates.steady_kbps for _, _, rates in measured])
    return {
        "b2_largest": ratios.max(),
        "b2_bound": max(rates.buffering_kbps / rate for rate, _, rates in measured),
        "b2_rank": stats.spearmanr(ratios, steady_kbps).statistic,
        "b5_longest": _longest_stall_s(each for _, each in streams),
        "b5_75": _longest_stall_s(each for rate, each in streams if rate == 75),
    }


def _longest_stall_s(streams: Iterable[Playout]) -> float:
    return max((stall_s for stream in streams for stall_s in stream.stalls_s), default=0.0)


def measure_unconstrained(pairs: Sequence[Pair]) -> Measures:
    """Compare the buffering of both transports without a bottleneck (CCZ-B3, B4)."""
    both = np.array([(pair.udp.ratio, pair.tcp.ratio) for pair in pairs])
    udp, tcp = both[np.isfinite(both).all(axis=1)].T
    return {
        "b3_tcp": np.median(tcp),
        "b3_equal": np.mean(np.abs(udp / tcp - 1) <= _NEARLY_EQUAL),
        "b3_higher": np.mean(udp / tcp > _MUCH_HIGHER),
        "b4_longest": np.nanmax(
            [(pair.udp.accelerated_s, pair.tcp.accelerated_s) for pair in pairs]
        ),
        "b4_rise": np.nanmedian([pair.tcp.rise_s - pair.udp.rise_s for pair in pairs]),
    }


def measure_scaling(udp: Sequence[Playout], tcp: Sequence[Playout]) -> Measures:
    """Measure how streams find a level (CCZ-M1 to M4, B6); both in the order of the playlist."""
    udp_changes, tcp_changes = (np.array([each.changes for each in some]) for some in (udp, tcp))
    udp_s, tcp_s = (
        np.array([each.find_adaptation_s(LIMIT_KBPS) for each in some]) for some in (udp, tcp)
    )
    stepping_udp, stepping_tcp = (_of(_STEPPING_CLIP, some) for some in (udp, tcp))
    step_s = stepping_udp.find_adaptation_s(LIMIT_KBPS)
    leaping_udp, leaping_tcp = (_of(_LEAPING_CLIP, some) for some in (udp, tcp))
    return {
        "m1_udp": np.mean(udp_changes == 0),
        "m1_tcp": np.mean(tcp_changes == 0),
        "m1_only": np.mean((udp_changes > 0) & (tcp_changes == 0)),
        "m1_more": np.mean(udp_changes) - np.mean(tcp_changes),
        "m2_always": np.mean([each.clip.ladder_kbps[-1] <= LIMIT_KBPS for each in udp]),
        "m2_udp_2": np.mean(udp_s <= 2),
        "m2_tcp_2": np.mean(tcp_s <= 2),
        "m2_udp_10": np.mean(udp_s <= 10),
        "m2_behind": np.mean(udp_s <= 10) - np.mean(tcp_s <= 25),
        "m2_later": _least_delay_s(udp_s, tcp_s),
        "m4_lag": _median_lag_s(tcp) / _median_lag_s(udp),
        "b6_udp": stepping_udp.span_s,
        "b6_tcp": stepping_tcp.span_s,
        "m3_udp_steps": _steps_until_below(stepping_udp),
        "m3_tcp_steps": _steps_until_below(stepping_tcp),
        "m3_udp_s": step_s,
        "m3_times": stepping_tcp.find_adaptation_s(LIMIT_KBPS) / step_s if step_s > 0 else math.nan,
        "m3_levels": len({kbps for time_s, kbps in leaping_udp.encodings if time_s <= 10}),
        "m3_leaps": _steps_until_below(leaping_tcp),
        "m3_leap_s": leaping_tcp.find_adaptation_s(LIMIT_KBPS),
    }


def _of(number: int, playouts: Sequence[Playout]) -> Playout:
    return next(each for each in playouts if each.clip.number == number)


def _steps_until_below(playout: Playout) -> float:
    """Count scale changes until the first level below the limit; NaN where none is reached."""
    return float(next(iter(np.flatnonzero(playout.encoding_kbps <= LIMIT_KBPS)), math.nan))


def _least_delay_s(udp_s: FloatArray, tcp_s: FloatArray) -> float:
    """Return the least difference of both quantile functions from 45% on, s."""
    reached = min(float(np.mean(np.isfinite(each_s))) for each_s in (udp_s, tcp_s))
    shares = np.arange(_FROM_QUANTILE, reached, _QUANTILE_STEP)
    if shares.size == 0:
        return math.nan
    ranks = np.ceil(shares * udp_s.size).astype(int) - 1  # inverse of the distribution function
    return float((np.sort(tcp_s)[ranks] - np.sort(udp_s)[ranks]).min())


def _median_lag_s(playouts: Sequence[Playout]) -> float:
    """Return the median time from a switch down to the first packet of that level, s."""
    lags_s = []
    for each in playouts:
        for (_, before), (switched_s, rate) in pairwise(each.written):
            came_s = [at for at, got in each.encodings if got == rate and at >= switched_s]
            if rate < before and came_s:
                lags_s.append(came_s[0] - switched_s)
    return float(np.median(lags_s)) if lags_s else math.nan


def measure_switching(pairs: PairsByRate) -> Measures:
    """Count pairs that change both ways, and steps up into room that TCP leaves (CCZ-M6)."""
    constrained = [pair for rate in _CONSTRAINED_KBPS for pair in pairs[rate]]
    both = sum(
        all(each.ups_s.size and each.downs_s.size for each in (pair.udp, pair.tcp))
        for pair in constrained
    )
    return {"m6_both": both, "m6_follows": _follows_beyond_chance(constrained)}


def _follows_beyond_chance(pairs: Sequence[Pair]) -> float:
    """Return how much more often a step up follows one down than chance; NaN without steps."""
    followed: list[float] = []
    expected: list[float] = []
    for pair in pairs:
        ups_s, downs_s = pair.udp.ups_s, pair.tcp.downs_s
        if not ups_s.size:
            continue
        moments_s = np.arange(0.0, max(pair.udp.span_s, 1.0), 1.0)
        followed.extend(_is_after(ups_s, downs_s))
        expected.extend(np.full(ups_s.size, np.mean(_is_after(moments_s, downs_s))))
    return float(np.mean(followed) - np.mean(expected)) if followed else math.nan


def _is_after(moments_s: FloatArray, events_s: FloatArray) -> FloatArray:
    """Return 1 where an event lies shortly before a moment, else 0, shape (n,)."""
    since_s = moments_s[:, None] - events_s[None, :]
    is_after = (since_s > 0) & (since_s <= _FOLLOWS_WITHIN_S)
    return np.asarray(is_after.any(axis=1), dtype=np.float64)


def measure_clearing(
    udp: Sequence[Playout], tcp: Sequence[Playout], *, from_s: float, until_s: float
) -> Measures:
    """Count streams that go down while the link is narrow and up afterwards (CCZ-M5)."""
    return {
        f"m5_{name}": np.mean([_goes_down_and_up(each, from_s, until_s) for each in some])
        for name, some in (("udp", udp), ("tcp", tcp))
    }


def _goes_down_and_up(playout: Playout, from_s: float, until_s: float) -> bool:
    downs_s, ups_s = playout.downs_s, playout.ups_s
    return bool(((downs_s >= from_s) & (downs_s < until_s)).any() and (ups_s >= until_s).any())
