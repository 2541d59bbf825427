"""The end of a session: packets that come astray long after the media."""

from __future__ import annotations

import numpy as np

from trafficgen.units import IntArray, s_from_ns

#: Packets after the last pause are astray when the pause is this long, and this many times the next
#: longest,
_SHORTEST_PAUSE_S = 10.0
_PAUSE_RATIO = 3.0
#: and they are at most this share of the packets, or this many.
_LARGEST_SHARE = 0.005
_FEW_PACKETS = 3


def regular_packets(time_ns: IntArray) -> int:
    """Return how many packets come before a late stray: a few that follow a pause far longer than
    any other.

    A connection that is kept alive or closed minutes after the media would otherwise stretch the
    playout.

    Args:
        time_ns: Times of the media packets, ns, ascending, shape (n,).
    """
    kept = int(time_ns.size)
    while kept > _FEW_PACKETS + 1:
        gap_s = s_from_ns(np.diff(time_ns[:kept]))
        longest = int(np.argmax(gap_s))
        after = kept - longest - 1
        others_s = np.delete(gap_s, longest)
        if gap_s[longest] < max(_SHORTEST_PAUSE_S, _PAUSE_RATIO * float(others_s.max())):
            break
        if after > max(_FEW_PACKETS, _LARGEST_SHARE * kept):
            break
        kept = longest + 1
    return kept
