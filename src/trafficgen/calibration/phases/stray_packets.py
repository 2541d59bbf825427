"""Stray packets long after the media, such as those that close a connection."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import IntArray, s_from_ns


@dataclass(frozen=True)
class StrayLimits:
    """When packets after the last long pause are stray."""

    #: The pause is this long, s: shorter ones occur in playouts,
    shortest_pause_s: float = 10.0
    #: and this many times the next longest.
    pause_ratio: float = 3.0
    #: At most this share of the packets follows it,
    largest_share: float = 0.005
    #: or this many: a connection closes with a few.
    few_packets: int = 3


_LIMITS = StrayLimits()


def count_regular_packets(time_ns: IntArray) -> int:
    """Return how many packets come before a few that follow a pause far longer than any other.

    A connection kept alive or closed minutes after the media would otherwise stretch the playout.

    Args:
        time_ns: Times of the media packets, ns, ascending, shape (n,).
    """
    kept = int(time_ns.size)
    while kept > _LIMITS.few_packets + 1:
        gap_s = s_from_ns(np.diff(time_ns[:kept]))
        longest = int(np.argmax(gap_s))
        after = kept - longest - 1
        others_s = np.delete(gap_s, longest)
        least_s = max(_LIMITS.shortest_pause_s, _LIMITS.pause_ratio * float(others_s.max()))
        most = max(_LIMITS.few_packets, _LIMITS.largest_share * kept)
        if gap_s[longest] < least_s or after > most:
            break
        kept = longest + 1
    return kept
