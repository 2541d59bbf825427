"""Columns of packets on their way into the packet table, and sessions merged in order of time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen._core import time_order
from trafficgen.tables import PACKET_SCHEMA, PHASES
from trafficgen.tables.columns import rows_taken
from trafficgen.units import ETHERNET_HEADER_BYTES, BoolArray, IntArray

#: Packets from which on a part gets a table of its own.
_LARGE = 1 << 16

T = TypeVar("T", bound=np.generic)

_PHASE_NAMES = pa.array(PHASES, type=pa.string())


@dataclass(frozen=True)
class FlowColumns:
    """Packets of one flow, or of one part of it.

    Attributes:
        to_client: Direction, shape (n,), or one value for all.
        ip_bytes: IP total length, bytes, shape (n,).
        payload_bytes: Transport payload, bytes, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        headers: Optional columns of the packet table, each shape (n,).
    """

    time_ns: IntArray
    to_client: BoolArray | bool
    ip_bytes: npt.NDArray[np.uint32]
    payload_bytes: npt.NDArray[np.uint32]
    phase: npt.NDArray[np.int8]
    headers: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.time_ns.size)

    def first(self, count: int) -> FlowColumns:
        """Return the first packets."""
        return FlowColumns(
            time_ns=self.time_ns[:count],
            to_client=self.directions()[:count],
            ip_bytes=self.ip_bytes[:count],
            payload_bytes=self.payload_bytes[:count],
            phase=self.phase[:count],
            headers={name: values[:count] for name, values in self.headers.items()},
        )

    def directions(self) -> BoolArray:
        """Return the direction of each packet, shape (n,)."""
        if isinstance(self.to_client, bool):
            return np.full(len(self), self.to_client)
        return self.to_client


@dataclass(frozen=True)
class PlacedColumns:
    """Packets with their place in the table.

    Attributes:
        columns: The packets; times count from the start of their session.
        start_ns: Start of the session, ns from the table's origin.
    """

    columns: FlowColumns
    flow: int
    start_ns: int


def to_tables(parts: list[PlacedColumns]) -> list[pa.Table]:
    """Convert parts to packet tables: a large one alone, small ones with equal headers in one."""
    tables = []
    small: dict[tuple[str, ...], list[PlacedColumns]] = {}
    for part in parts:
        if len(part.columns) >= _LARGE:
            tables.append(_table([part]))
        else:
            small.setdefault(tuple(part.columns.headers), []).append(part)
    return tables + [_table(group) for group in small.values()]


def _table(parts: list[PlacedColumns]) -> pa.Table:
    """Return parts with equal headers as one table, one after the other."""
    columns = [part.columns for part in parts]
    counts = np.array([len(part) for part in columns])
    ip_bytes = _concatenate([part.ip_bytes for part in columns])
    values = {
        "time_ns": _concatenate([part.columns.time_ns + part.start_ns for part in parts]),
        "flow": np.repeat(np.array([part.flow for part in parts], dtype=np.uint32), counts),
        "to_client": _concatenate([part.directions() for part in columns]),
        "frame_bytes": ip_bytes + np.uint32(ETHERNET_HEADER_BYTES),
        "ip_bytes": ip_bytes,
        "payload_bytes": _concatenate([part.payload_bytes for part in columns]),
        **{
            name: _concatenate([part.headers[name] for part in columns])
            for name in columns[0].headers
        },
    }
    arrays = {name: pa.array(array) for name, array in values.items()}
    phase = pa.array(_concatenate([part.phase for part in columns]))
    arrays["phase"] = pa.DictionaryArray.from_arrays(phase, _PHASE_NAMES)
    schema = pa.schema(
        [PACKET_SCHEMA.field(name) for name in PACKET_SCHEMA.names if name in arrays]
    )
    return pa.table([arrays[name] for name in schema.names], schema=schema)


def _concatenate(arrays: list[npt.NDArray[T]]) -> npt.NDArray[T]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def join_parts(parts: list[FlowColumns]) -> FlowColumns:
    """Join parts with equal headers in order of time; equal times keep their order."""
    time_ns = np.concatenate([part.time_ns for part in parts])
    order = np.argsort(time_ns, kind="stable")
    names = parts[0].headers
    return FlowColumns(
        time_ns=time_ns[order],
        to_client=np.concatenate([part.directions() for part in parts])[order],
        ip_bytes=np.concatenate([part.ip_bytes for part in parts])[order],
        payload_bytes=np.concatenate([part.payload_bytes for part in parts])[order],
        phase=np.concatenate([part.phase for part in parts])[order],
        headers={
            name: np.concatenate([part.headers[name] for part in parts])[order] for name in names
        },
    )


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


def order_windows(windows: Iterable[tuple[list[pa.Table], int | None]]) -> Iterator[pa.Table]:
    """Yield the packets of windows of time in order, as :func:`superpose` orders them all.

    Each window has its packets and the time, ns, before which no later one has any; None for the
    last. Packets of a window that come after that time wait for the next. All tables have the same
    columns.
    """
    waiting: list[pa.Table] = []
    for tables, until_ns in windows:
        known = order_columns(superpose([*waiting, *tables]))
        count = known.num_rows
        if until_ns is not None:
            count = int(np.searchsorted(known.column("time_ns").to_numpy(), until_ns))
        yield known.slice(0, count)
        waiting = [known.slice(count)]


def order_columns(packets: pa.Table) -> pa.Table:
    """Return packets with their columns in the order of the packet table."""
    return packets.select([name for name in PACKET_SCHEMA.names if name in packets.column_names])


def _first_ns(part: pa.Table) -> int:
    return int(part.column("time_ns")[0].as_py())
