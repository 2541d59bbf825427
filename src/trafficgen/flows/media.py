"""Which packets are media: those to the client that carry the stream rather than control it."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray

#: Phases whose packets are no media: capacity probes and control messages.
_NOT_MEDIA = ("probe", "signalling")


def media_packets(table: PacketTable, *, rtp_flows: Collection[int] | None = None) -> BoolArray:
    """Return where a packet is a media packet, shape (n,).

    A media packet goes to the client, carries payload, belongs to a flow that is not control, and
    is neither RTCP nor a capacity probe. In a flow that has RTP, only packets with an RTP sequence
    number count: what else travels there is RTCP, STUN or the like.

    Args:
        table: The packets.
        rtp_flows: Flows that have RTP to the client, where the table is a piece of a longer one;
            None looks for them.
    """
    media = table.to_client & (table.payload_bytes > 0)
    media &= ~np.isin(table.flow, _control_flows(table))
    media &= ~_without_rtp_in_an_rtp_flow(table, rtp_flows)
    if "phase" in table.packets.column_names:
        media &= ~_of_phases(table, _NOT_MEDIA)
    return media


def _control_flows(table: PacketTable) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Return the numbers of the flows that carry control messages only."""
    control = table.flows.filter(pc.equal(table.flows.column("media"), "control"))
    return np.asarray(control.column("flow").to_numpy(), dtype=np.uint32)


def _without_rtp_in_an_rtp_flow(table: PacketTable, rtp_flows: Collection[int] | None) -> BoolArray:
    """Return where a packet without an RTP number is of a flow with RTP to the client."""
    known = table.is_known("rtp_sequence")
    if rtp_flows is not None:
        return np.isin(table.flow, np.asarray(list(rtp_flows), dtype=np.uint32)) & ~known
    if not known.any():
        return np.zeros(len(table), dtype=np.bool_)
    return np.isin(table.flow, np.unique(table.flow[known & table.to_client])) & ~known


def _of_phases(table: PacketTable, phases: tuple[str, ...]) -> BoolArray:
    """Return where a packet's phase is one of ``phases``; an unknown phase is not."""
    found = pc.is_in(table.column("phase").cast(pa.string()), value_set=pa.array(phases))
    return np.asarray(found.to_numpy(), dtype=np.bool_)
