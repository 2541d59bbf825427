"""Columns of one flow on their way into the packet table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.tables import PACKET_SCHEMA, PHASES
from trafficgen.units import BoolArray, IntArray

#: Ethernet II header without the frame check sequence, as captures hold it.
ETHERNET_HEADER_BYTES = 14

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
        headers: Optional columns of the packet table that are known for these packets, each shape (n,).
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

    def to_arrow(self, *, flow: int, start_ns: int) -> pa.Table:
        """Return the packets of flow number ``flow`` as a table, without copying what need not change.

        Args:
            flow: Row of the flow table.
            start_ns: Start of the session, ns from the table's origin; added to the times.
        """
        count = len(self)
        one_direction = isinstance(self.to_client, bool)
        columns = {
            "time_ns": self.time_ns + start_ns if start_ns else self.time_ns,
            "flow": pa.repeat(pa.scalar(flow, pa.uint32()), count),
            "to_client": pa.repeat(pa.scalar(self.to_client), count) if one_direction else pa.array(self.to_client),
            "frame_bytes": self.ip_bytes + np.uint32(ETHERNET_HEADER_BYTES),
            "ip_bytes": self.ip_bytes,
            "payload_bytes": self.payload_bytes,
            **self.headers,
            "phase": pa.DictionaryArray.from_arrays(pa.array(self.phase), _PHASE_NAMES),
        }
        schema = pa.schema([PACKET_SCHEMA.field(name) for name in PACKET_SCHEMA.names if name in columns])
        return pa.table([pa.array(columns[name]) for name in schema.names], schema=schema)


def joined(parts: list[FlowColumns]) -> FlowColumns:
    """Return parts that all have the same headers as one, in order of time; equal times keep their order."""
    time_ns = np.concatenate([part.time_ns for part in parts])
    order = np.argsort(time_ns, kind="stable")
    names = parts[0].headers
    return FlowColumns(
        time_ns=time_ns[order],
        to_client=np.concatenate([part.directions() for part in parts])[order],
        ip_bytes=np.concatenate([part.ip_bytes for part in parts])[order],
        payload_bytes=np.concatenate([part.payload_bytes for part in parts])[order],
        phase=np.concatenate([part.phase for part in parts])[order],
        headers={name: np.concatenate([part.headers[name] for part in parts])[order] for name in names},
    )
