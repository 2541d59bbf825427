"""Flow tables counted from the packets, as they were sent or as they arrived."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa

from trafficgen.tables.packet import PacketTable
from trafficgen.units import BoolArray, IntArray


def with_counts(table: PacketTable) -> pa.Table:
    """Return the flow table with times, packets and bytes counted from the packets.

    A flow without packets gets times of 0.
    """
    flows, count = table.flows, table.flows.num_rows
    first_time_ns, last_time_ns = _first_and_last(table, count)
    columns: dict[str, IntArray] = {"first_time_ns": first_time_ns, "last_time_ns": last_time_ns}
    for direction, rows in (("to_client", table.to_client), ("to_server", ~table.to_client)):
        columns[f"packets_{direction}"] = np.bincount(table.flow[rows], minlength=count)
        columns[f"frame_bytes_{direction}"] = _sums(table, table.frame_bytes, rows, count)
        columns[f"payload_bytes_{direction}"] = _sums(table, table.payload_bytes, rows, count)
    for name, values in columns.items():
        field = flows.schema.field(name)
        flows = flows.set_column(
            flows.schema.get_field_index(name), field, pa.array(values, type=field.type)
        )
    return flows


def _first_and_last(table: PacketTable, count: int) -> tuple[IntArray, IntArray]:
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, table.flow, table.time_ns)
    np.maximum.at(last, table.flow, table.time_ns)
    is_empty = first > last
    first[is_empty] = last[is_empty] = 0
    return first, last


def _sums(table: PacketTable, size_bytes: IntArray, rows: BoolArray, count: int) -> IntArray:
    # Sums stay below 2^53, where float64 is exact: nine petabytes in one flow.
    return np.rint(np.bincount(table.flow[rows], weights=size_bytes[rows], minlength=count)).astype(
        np.int64
    )


def as_received(table: PacketTable) -> PacketTable:
    """Return the packets that arrived, in order of arrival, with a flow table counted anew."""
    received = table.select(table.is_known("arrival_ns"))
    place = received.packets.schema.get_field_index("time_ns")
    field = received.packets.schema.field(place)
    arrival_ns = received.column("arrival_ns").cast(pa.int64())
    received = replace(
        received, packets=received.packets.set_column(place, field, arrival_ns)
    ).sort_by_time()
    return replace(received, flows=with_counts(received))
