"""Columns of one flow on their way into the packet table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.tables import PACKET_SCHEMA, PHASES
from trafficgen.units import ETHERNET_HEADER_BYTES, BoolArray, IntArray

#: From this many packets on, a part is worth a table of its own.
_LARGE = 1 << 16

T = TypeVar("T", bound=np.generic)

_PHASE_NAMES = pa.array(PHASES, type=pa.string())


@dataclass(frozen=True)
class FlowColumns:
    """Packets of one flow, or of one part of it.

    Attributes:
        time_ns: Time, ns, shape (n,).
        to_client: Direction, shape (n,), or one value for all.
        ip_bytes: IP total length, bytes, shape (n,).
        payload_bytes: Transport payload, bytes, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        headers: Optional columns of the packet table that are known for these packets, each shape
            (n,).
    """

    time_ns: IntArray
    to_client: BoolArray | bool
    ip_bytes: npt.NDArray[np.uint32]
    payload_bytes: npt.NDArray[np.uint32]
    phase: npt.NDArray[np.int8]
    headers: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.time_ns.size)

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
        flow: Row of the flow table.
        start_ns: Start of the session, ns from the table's origin.
    """

    columns: FlowColumns
    flow: int
    start_ns: int


def tables_of(parts: list[PlacedColumns]) -> list[pa.Table]:
    """Return parts as packet tables: large ones alone and without copying, small ones with the same
    headers in one.
    """
    tables = []
    small: dict[tuple[str, ...], list[PlacedColumns]] = {}
    for part in parts:
        if len(part.columns) >= _LARGE:
            tables.append(_table([part]))
        else:
            small.setdefault(tuple(part.columns.headers), []).append(part)
    return tables + [_table(group) for group in small.values()]


def _table(parts: list[PlacedColumns]) -> pa.Table:
    """Return parts that have the same headers as one table, one after the other."""
    columns = [part.columns for part in parts]
    counts = np.array([len(part) for part in columns])
    ip_bytes = _concatenated([part.ip_bytes for part in columns])
    values = {
        "time_ns": _concatenated([part.columns.time_ns + part.start_ns for part in parts]),
        "flow": np.repeat(np.array([part.flow for part in parts], dtype=np.uint32), counts),
        "to_client": _concatenated([part.directions() for part in columns]),
        "frame_bytes": ip_bytes + np.uint32(ETHERNET_HEADER_BYTES),
        "ip_bytes": ip_bytes,
        "payload_bytes": _concatenated([part.payload_bytes for part in columns]),
        **{
            name: _concatenated([part.headers[name] for part in columns])
            for name in columns[0].headers
        },
    }
    arrays = {name: pa.array(array) for name, array in values.items()}
    phase = pa.array(_concatenated([part.phase for part in columns]))
    arrays["phase"] = pa.DictionaryArray.from_arrays(phase, _PHASE_NAMES)
    schema = pa.schema(
        [PACKET_SCHEMA.field(name) for name in PACKET_SCHEMA.names if name in arrays]
    )
    return pa.table([arrays[name] for name in schema.names], schema=schema)


def _concatenated(arrays: list[npt.NDArray[T]]) -> npt.NDArray[T]:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def joined(parts: list[FlowColumns]) -> FlowColumns:
    """Return parts that all have the same headers as one, in order of time; equal times keep their
    order.
    """
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
