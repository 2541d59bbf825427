"""What of a table is compared when everything is: all sessions as one."""

from __future__ import annotations

import numpy as np

from trafficgen.errors import SelectionError
from trafficgen.flows import SessionView, media_packets
from trafficgen.tables import PacketTable


def all_sessions(table: PacketTable) -> SessionView:
    """Return all flows of a table as if they were one session, for `compare --all`.

    Gaps and bursts are measured within flows, so they mean the same as for one session; rates are those of all flows
    together.

    Raises:
        SelectionError: If no packet carries payload to a client.
    """
    table = table.sorted_by_time()
    media = media_packets(table)
    weight = np.bincount(table.flow[media], weights=table.ip_bytes[media])
    media_flows = np.flatnonzero(weight)
    if media_flows.size == 0:
        raise SelectionError(
            what="media packet", available=f"none of the {len(table)} packets carries payload to a client"
        )
    heaviest_first = media_flows[np.argsort(-weight[media_flows], kind="stable")]
    return SessionView(
        session=0,
        flows=tuple(np.unique(table.flow).tolist()),
        media_flows=tuple(heaviest_first.tolist()),
        table=table,
    )
