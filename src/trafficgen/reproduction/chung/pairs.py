"""Pairs of a UDP and a TCP player that streamed the same clip at the same time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.flows import rate_differences
from trafficgen.models.published import PlaylistClip
from trafficgen.reproduction.chung.playout import Pings, Playout, Series
from trafficgen.units import FloatArray

#: Token rates of CCZ-S1, kbit/s; below the first the two streams no longer fit side by side.
RATES_KBPS = (600, 300, 150, 75)
CONSTRAINED_KBPS = RATES_KBPS[1:]


@dataclass(frozen=True)
class Pair:
    """One run of a clip: both playouts and the pings."""

    clip: PlaylistClip
    rate_kbps: int
    udp: Playout
    tcp: Playout
    pings: Pings

    @property
    def streams(self) -> tuple[Playout, Playout]:
        """Both playouts."""
        return self.udp, self.tcp


@dataclass(frozen=True)
class Pool:
    """Series of one transport at one rate, pooled over all playouts."""

    udp: Series
    tcp: Series


PairsByRate = Mapping[int, Sequence[Pair]]


def udp_kbps(pairs: Sequence[Pair]) -> FloatArray:
    """Return the mean rates of the UDP streams, shape (n,)."""
    return np.array([pair.udp.mean_kbps for pair in pairs], dtype=np.float64)


def tcp_kbps(pairs: Sequence[Pair]) -> FloatArray:
    """Return the mean rates of the TCP streams, shape (n,)."""
    return np.array([pair.tcp.mean_kbps for pair in pairs], dtype=np.float64)


def differences(pairs: Sequence[Pair], *, bottleneck_kbps: float) -> FloatArray:
    """Return the normalised differences of CCZ-H1, shape (n,)."""
    return rate_differences(tcp_kbps(pairs), udp_kbps(pairs), bottleneck_kbps=bottleneck_kbps)


def share_of(pairs: Sequence[Pair], holds: Callable[[Pair], bool]) -> float:
    """Return the share of pairs for which something holds, NaN without pairs."""
    return sum(map(holds, pairs)) / len(pairs) if pairs else float("nan")
