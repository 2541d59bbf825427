"""How far the law of an output is from that of its input: the two-sample Kolmogorov-Smirnov distance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trafficgen.units import FloatArray, IntArray, s_from_ns

#: Gaps closer than this are the same to a tool that sends through sockets.
_GAP_TICK_NS = 1000


def ks_distance(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> float:
    """Return the largest difference of two samples' distribution functions; any sizes above 0.

    Source: Smirnov, "Table for estimating the goodness of fit of empirical distributions", Ann. Math. Stat. 1948.
    """
    values = np.union1d(one, other)
    first = np.searchsorted(np.sort(one), values, side="right") / one.size
    second = np.searchsorted(np.sort(other), values, side="right") / other.size
    return float(np.abs(first - second).max())


def gaps_s(times_ns: Sequence[IntArray]) -> FloatArray:
    """Return gaps between successive packets of the same flow, in whole microseconds, pooled over flows, s.

    Args:
        times_ns: Times of each flow, ascending.
    """
    ticks = np.concatenate([np.diff(times // _GAP_TICK_NS) for times in times_ns])
    return s_from_ns(ticks * _GAP_TICK_NS)
