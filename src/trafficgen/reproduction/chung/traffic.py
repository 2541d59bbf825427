"""CCZ-W2, W3 and W4: rates, ping losses and packet sizes of the playouts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.pairs import RATES_KBPS, Pair, PairsByRate, Pool
from trafficgen.reproduction.chung.playlist import TCP_ENTRY
from trafficgen.reproduction.chung.rows import number, share
from trafficgen.units import IntArray

_LOW_KBPS = 150
_FULL_BYTES = 1500

FINDINGS: tuple[Finding, ...] = (
    share(
        "CCZ-W2",
        "w2",
        "clips that stream below 150 kbps at bottlenecks of 150, 300 and 600 kbps (UDP)",
        0.33,
        (0.25, 0.41),
    ),
    share("CCZ-W3", "w3_75", "playouts without ping loss at 75 kbps", 0.37, (0.29, 0.45)),
    share("CCZ-W3", "w3_600", "playouts without ping loss at 600 kbps", 0.5, (0.42, 0.58)),
    number(
        "CCZ-W3",
        "w3_median",
        "least rise of the median ping loss each time the bottleneck halves",
        "percentage points",
        "about 0.1",
        (0, None),
    ),
    number("CCZ-W4", "w4_udp", "median size of an IP packet over UDP", "bytes", 640.0),
    number(
        "CCZ-W4", "w4_tcp", "median size of an IP packet over TCP", "bytes", 1100.0, entry=TCP_ENTRY
    ),
    share(
        "CCZ-W4",
        "w4_full",
        "packets of 1500 bytes over TCP",
        "more than 0.3",
        (0.3, None),
        entry=TCP_ENTRY,
    ),
    number(
        "CCZ-W4",
        "w4_packets",
        "packets for the same bytes, TCP's over UDP's",
        "",
        "fewer",
        (None, 1),
    ),
)


def quantities(pairs: PairsByRate, pools: Mapping[int, Pool]) -> dict[str, float]:
    """Return the values of :data:`FINDINGS` for one run of the experiment."""
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
    """Return the share of clips whose UDP stream has a mean rate below 150 kbps at every bottleneck
    from 150 on.
    """
    largest: dict[int, float] = {}
    for rate in RATES_KBPS:
        for pair in pairs[rate] if rate >= _LOW_KBPS else ():
            number_ = pair.clip.number
            largest[number_] = max(largest.get(number_, 0.0), pair.udp.mean_kbps)
    return sum(rate_kbps < _LOW_KBPS for rate_kbps in largest.values()) / len(largest)


def _ping_losses(pairs: Sequence[Pair]) -> list[float]:
    return [pair.pings.loss for pair in pairs if not math.isnan(pair.pings.loss)]


def _median_bytes(sizes: IntArray) -> float:
    """Return the median of packet sizes counted by size."""
    return float(np.searchsorted(np.cumsum(sizes), sizes.sum() / 2))


def _bytes(sizes: IntArray) -> float:
    return float(np.dot(np.arange(sizes.size), sizes))
