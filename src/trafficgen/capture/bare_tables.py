"""Packet tables without our metadata: what their own columns say of flows and of the origin."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import CaptureWarning, PacketTableError, warn
from trafficgen.formatting import list_first
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.counts import infer_flows, tcp_flows
from trafficgen.tables.flow import FLOW_COLUMNS_OF_PACKETS, set_flow_columns

#: What `PacketTable.to_pandas` adds to the columns, and names of an index of pandas in files.
_REDUNDANT_NAMES = ("direction", "", "Unnamed: 0", "__index_level_0__")


def head_of_columns(
    packets: pa.Table,
    name: str,
    names: Iterable[str],
    origin_ns: int = 0,
    flows: pa.Table | None = None,
) -> PacketTable:
    """Return all but the packets of a packet table without our metadata.

    ``packets`` are its packets, or the first ones of each flow, ``names`` all of its columns,
    ``origin_ns`` the time of ``time_ns == 0`` since 1970, and ``flows`` what is assumed of the
    flows (None infers it from the packets).

    Raises:
        PacketTableError: If the ids of flows are too high.

    Warns:
        CaptureWarning: If columns are not used.
    """
    if flows is None:
        highest = pc.max(packets.column("flow")).as_py() if packets.num_rows else -1
        try:
            flows = infer_flows(highest, packets.num_rows, tcp_flows(packets))
        except ValueError as error:
            remedy = "number the flows from 0"
            raise PacketTableError(file=name, problem=str(error), remedy=remedy) from error
    flows, unused = set_flow_columns(flows, packets)
    known = {*PACKET_SCHEMA.names, *FLOW_COLUMNS_OF_PACKETS, *_REDUNDANT_NAMES}
    if unused := unused + [other for other in names if other not in known]:
        warn(f"{name}: columns that are not used: {list_first(unused, most=20)}", CaptureWarning)
    return PacketTable(PACKET_SCHEMA.empty_table(), flows, origin_ns=origin_ns)
