"""CCZ-M5 and M6: levels go down in congestion and up when it clears, and what one stream leaves the
other takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.pairs import CONSTRAINED_KBPS, Pair, PairsByRate
from trafficgen.reproduction.chung.playlist import TCP_ENTRY
from trafficgen.reproduction.chung.playout import Playout
from trafficgen.reproduction.chung.rows import number, share
from trafficgen.units import FloatArray

#: The steps up of the sample pair come within this time after there is room (CCZ-M6), s.
_FOLLOWS_WITHIN_S = 45.0

HEAD_TO_HEAD: tuple[Finding, ...] = (
    number(
        "CCZ-M6",
        "m6_both",
        "pairs in which both streams change down and up, 300 to 75 kbps",
        "",
        "a sample pair",
        (1, None),
    ),
    share(
        "CCZ-M6",
        "m6_follows",
        "UDP's steps up within 45 s after a step down of TCP, less what chance gives",
        "UDP steps up into the room that TCP leaves",
        (0, None),
    ),
)

CLEARING: tuple[Finding, ...] = (
    share(
        "CCZ-M5",
        "m5_udp",
        "UDP streams that step down while 600 kbps are 75 for 2 min and up after",
        "switches down and back up",
        (0.8, None),
    ),
    share(
        "CCZ-M5",
        "m5_tcp",
        "TCP streams that step down while 600 kbps are 75 for 2 min and up after",
        "switches down and back up",
        (0.8, None),
        entry=TCP_ENTRY,
    ),
)


def head_to_head(pairs: PairsByRate) -> dict[str, float]:
    """Return the values of :data:`HEAD_TO_HEAD` for one run of the experiment."""
    constrained = [pair for rate in CONSTRAINED_KBPS for pair in pairs[rate]]
    both = sum(all(map(changes_both_ways, pair.streams)) for pair in constrained)
    return {"m6_both": float(both), "m6_follows": _follows_beyond_chance(constrained)}


def changes_both_ways(playout: Playout) -> bool:
    """Return whether a stream goes to a lower and to a higher level."""
    return bool(playout.ups_s.size and playout.downs_s.size)


def clearing(
    udp: Sequence[Playout], tcp: Sequence[Playout], *, from_s: float, until_s: float
) -> dict[str, float]:
    """Return the values of :data:`CLEARING`: streams alone on a link that is narrow for a while."""
    return {
        f"m5_{name}": float(np.mean([_goes_down_and_up(each, from_s, until_s) for each in some]))
        for name, some in (("udp", udp), ("tcp", tcp))
    }


def _goes_down_and_up(playout: Playout, from_s: float, until_s: float) -> bool:
    downs_s, ups_s = playout.downs_s, playout.ups_s
    return bool(((downs_s >= from_s) & (downs_s < until_s)).any() and (ups_s >= until_s).any())


def _follows_beyond_chance(pairs: Sequence[Pair]) -> float:
    """Return how much more often a step up follows one down than moments of the same playouts do;
    NaN without steps.
    """
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
    """Return 1 where an event lies within :data:`_FOLLOWS_WITHIN_S` before a moment, else 0, shape
    (n,).
    """
    since_s = moments_s[:, None] - events_s[None, :]
    return np.asarray(
        ((since_s > 0) & (since_s <= _FOLLOWS_WITHIN_S)).any(axis=1), dtype=np.float64
    )
