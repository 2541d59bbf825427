"""Gaps between packets (inter-arrival times), within flows or over a session."""

from __future__ import annotations

import numpy as np

from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, FloatArray, IntArray, s_from_ns

_COARSEST_TICK_NS = 1_000_000


def gaps_s(time_ns: IntArray) -> FloatArray:
    """Return the gaps between packets, s, shape (n - 1,), of times in ns, shape (n,)."""
    return s_from_ns(np.diff(time_ns))


def gaps_within_flows_s(table: PacketTable, rows: BoolArray) -> tuple[FloatArray, IntArray]:
    """Return the gaps between successive packets of the same flow, pooled over flows.

    Args:
        table: Packets in order of time.
        rows: Which packets count (the media packets), shape (n,).

    Returns:
        The gaps, s, and the row of ``table`` of the packet that ends each gap; both of shape (k,),
        ordered by flow and then by time.
    """
    index = np.flatnonzero(rows)
    order = index[np.argsort(table.flow[index], kind="stable")]
    flow, time_ns = table.flow[order], table.time_ns[order]
    same_flow = flow[1:] == flow[:-1]
    return s_from_ns(np.diff(time_ns)[same_flow]), order[1:][same_flow]


def clock_tick_ns(time_ns: IntArray) -> int:
    """Return the tick of a clock: the largest power of ten ns, at most 1 ms, that divides all gaps.

    A clock that counts in other steps (1/90000 s, 4 ms) is seen at the decimal digit to which it
    was written.
    """
    if time_ns.size < 2:
        return 1
    common = int(np.gcd.reduce(np.diff(time_ns)))
    tick = 1
    while tick < _COARSEST_TICK_NS and common and common % (tick * 10) == 0:
        tick *= 10
    return tick
