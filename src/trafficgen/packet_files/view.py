"""Whose capture an output shows: the sender's, or the receiver's behind the path."""

from __future__ import annotations

from trafficgen.packet_files.report import View
from trafficgen.tables import PacketTable
from trafficgen.tables.counts import as_received


def select_view(table: PacketTable, view: View) -> PacketTable:
    """Return the packets at the times at which one end saw them.

    ``"sender"`` is the table as it is. ``"receiver"`` has the packets that arrived, at their
    arrival, in that order, and a flow table counted anew; where arrivals are not known (a capture,
    open-loop traffic) it is the table too. Of a simulation they are known, even if nothing arrived:
    its notes have the path.

    Raises:
        ValueError: If ``view`` is neither.
    """
    if view not in ("sender", "receiver"):
        raise ValueError(f"view must be 'sender' or 'receiver', not {view!r}")
    arrived = table.is_known("arrival_ns")
    if view == "sender" or not (arrived.any() or "path" in table.notes):
        return table
    return as_received(table)
