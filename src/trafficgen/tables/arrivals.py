"""The receiver's side of a table that knows when its packets arrived."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from trafficgen.tables.counts import with_counts
from trafficgen.tables.packet import PacketTable


def as_received(table: PacketTable) -> PacketTable:
    """Return the packets that arrived, in order of arrival, with a flow table counted anew."""
    received = table.select(table.known("arrival_ns"))
    place = received.packets.schema.get_field_index("time_ns")
    field = received.packets.schema.field(place)
    arrival_ns = received.column("arrival_ns").cast(pa.int64())
    received = replace(
        received, packets=received.packets.set_column(place, field, arrival_ns)
    ).sorted_by_time()
    return replace(received, flows=with_counts(received))
