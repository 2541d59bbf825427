"""Many sessions on one time axis: their packets in order of time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.units import IntArray


def superposed(parts: list[pa.Table]) -> pa.Table:
    """Return the packets of all parts in order of time, at equal times in order of their flows.

    Within a flow packets keep their order. The result does not depend on how sessions were cut into parts, nor on the
    order of the parts, as long as a flow's packets are in one of them or in several in order.
    """
    table = pa.concat_tables(parts, promote_options="default")
    time_ns, flow = table.column("time_ns").to_numpy(), table.column("flow").to_numpy()
    order = time_order(time_ns, flow)
    return table if order is None else table.combine_chunks().take(pa.array(order))


def time_order(time_ns: IntArray, flow: npt.NDArray[np.uint32]) -> IntArray | None:
    """Return the places of packets in order of time, then of flow, then as they stand; None where they are in order.

    Args:
        time_ns: Times, ns, shape (n,).
        flow: Numbers of their flows, shape (n,).
    """
    later = time_ns[1:] > time_ns[:-1]
    if np.all(later | ((time_ns[1:] == time_ns[:-1]) & (flow[1:] >= flow[:-1]))):
        return None
    order = np.argsort(time_ns, kind="stable")
    sorted_ns = time_ns[order]
    same = sorted_ns[1:] == sorted_ns[:-1]
    tied = np.concatenate([[False], same]) | np.concatenate([same, [False]])
    if tied.any():  # few packets share a nanosecond: only they are sorted by a second key
        places = order[tied]
        order[tied] = places[np.lexsort((flow[places], sorted_ns[tied]))]
    return order
