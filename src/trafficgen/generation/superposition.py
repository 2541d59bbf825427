"""Many sessions on one time axis: their packets in order of time."""

from __future__ import annotations

import pyarrow as pa

from trafficgen._core import time_order
from trafficgen.tables import PACKET_SCHEMA
from trafficgen.tables.buffers import rows_taken


def superpose(parts: list[pa.Table]) -> pa.Table:
    """Return the packets of all parts in order of time, at equal times in order of their flows.

    Within a flow packets keep their order. The result does not depend on how sessions were cut into
    parts, nor on the order of the parts, as long as a flow's packets are in one of them or in
    several in order.
    """
    # Parts that follow one another in time are often in order as they are.
    parts = sorted((part for part in parts if part.num_rows), key=_first_ns) or parts[:1]
    table = pa.concat_tables(parts, promote_options="default")
    order = time_order(table.column("time_ns").to_numpy(), table.column("flow").to_numpy())
    return table if order is None else rows_taken(table, order)


def order_columns(packets: pa.Table) -> pa.Table:
    """Return packets with their columns in the order of the packet table."""
    return packets.select([name for name in PACKET_SCHEMA.names if name in packets.column_names])


def _first_ns(part: pa.Table) -> int:
    return int(part.column("time_ns")[0].as_py())
