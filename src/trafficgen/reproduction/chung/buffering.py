"""CCZ-B2 to B5: how fast the players fill their buffers, and what happens when they run empty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.pairs import Pair, PairsByRate
from trafficgen.reproduction.chung.playlist import TCP_ENTRY
from trafficgen.reproduction.chung.playout import Playout
from trafficgen.reproduction.chung.rows import number, share

#: A bucket of 1600 bytes adds 1.7% to 10 s at 75 kbit/s.
_BURST_SLACK = 1.02
_NEARLY_EQUAL, _MUCH_HIGHER = 0.10, 1.25

HEAD_TO_HEAD: tuple[Finding, ...] = (
    number(
        "CCZ-B2",
        "b2_largest",
        "largest ratio of buffering to steady rate, all rates",
        "",
        6.0,
        (4.5, 6.6),
    ),
    number(
        "CCZ-B2",
        "b2_bound",
        "largest buffering rate over the bottleneck",
        "",
        "ratio <= bottleneck / steady rate",
        (None, _BURST_SLACK),
    ),
    number(
        "CCZ-B2",
        "b2_rank",
        "rank correlation of the ratio with the steady rate",
        "",
        "falls towards 1",
        (None, -0.3),
    ),
    number(
        "CCZ-B5", "b5_longest", "longest halt of the playback", "s", 20.0, (None, 20), role="input"
    ),
    number("CCZ-B5", "b5_75", "longest halt of the playback at 75 kbps", "s", "up to 20", (5, 20)),
)

UNCONSTRAINED: tuple[Finding, ...] = (
    number(
        "CCZ-B3",
        "b3_tcp",
        "median ratio of buffering to steady rate over TCP on the LAN",
        "",
        2.0,
        (1.7, 2.3),
        entry=TCP_ENTRY,
    ),
    share(
        "CCZ-B3",
        "b3_equal",
        "clips whose ratio over UDP is within 10% of that over TCP",
        0.4,
        (0.3, 0.5),
    ),
    share(
        "CCZ-B3",
        "b3_higher",
        "clips whose ratio over UDP is above 1.25 times that over TCP",
        0.6,
        (0.5, 0.7),
    ),
    number(
        "CCZ-B4",
        "b4_longest",
        "longest phase at the higher rate",
        "s",
        40.0,
        (30, 42),
        role="input",
    ),
    number(
        "CCZ-B4",
        "b4_rise",
        "median time by which UDP reaches 90% of its largest 0.5 s rate before TCP",
        "s",
        "UDP first",
        (0, None),
    ),
)


def head_to_head(pairs: PairsByRate) -> dict[str, float]:
    """Return the values of :data:`HEAD_TO_HEAD` for one run of the experiment."""
    streams = [
        (rate, stream)
        for rate, of_rate in pairs.items()
        for pair in of_rate
        for stream in pair.streams
    ]
    played = [
        (rate, each) for rate, each in streams if not each.has_left
    ]  # who leaves has no steady playout
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


def unconstrained(pairs: Sequence[Pair]) -> dict[str, float]:
    """Return the values of :data:`UNCONSTRAINED` for one run of the experiment."""
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
    """Return the longest halt after playback had begun, s; 0 without any."""
    return max((stall_s for stream in streams for stall_s in stream.stalls_s), default=0.0)
