"""How fast the players fill their buffers, and how long they stall (CCZ-B2 to B5)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from trafficgen.reproduction.chung.pairs import Pair, PairsByRate
from trafficgen.reproduction.chung.playout import Playout

_NEARLY_EQUAL, _MUCH_HIGHER = 0.10, 1.25


def measure_competing(pairs: PairsByRate) -> dict[str, float]:
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


def measure_unconstrained(pairs: Sequence[Pair]) -> dict[str, float]:
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
