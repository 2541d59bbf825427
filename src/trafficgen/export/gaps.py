"""Gaps between packets as a tool that sends through sockets tells them apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trafficgen.units import FloatArray, IntArray, s_from_ns

#: Gaps closer than this are the same to a tool that sends through sockets.
_GAP_TICK_NS = 1000


def gaps_s(times_ns: Sequence[IntArray]) -> FloatArray:
    """Return gaps between successive packets of the same flow, in whole microseconds, pooled over
    flows, s.

    Args:
        times_ns: Times of each flow, ascending.
    """
    ticks = np.concatenate([np.diff(times // _GAP_TICK_NS) for times in times_ns])
    return s_from_ns(ticks * _GAP_TICK_NS)
