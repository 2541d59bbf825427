"""All packets of an input: in memory where they fit, else as a stream from the file."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace

from trafficgen.capture import PacketsBeyondLimitError, scan_capture, stream_capture
from trafficgen.capture.inputs import (
    captured_packets,
    inspection_of,
    is_stream,
    is_table_file,
    long_table,
    read_packets,
)
from trafficgen.capture.memory import TABLE_PACKET_BYTES, Budget, most_flows_in
from trafficgen.errors import CaptureWarning
from trafficgen.flows import inspect_stream
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.stream import PacketStream


@dataclass(frozen=True)
class Packets:
    """Packets of an input.

    Attributes:
        table: The packets; none where they are in ``stream``.
        stream: The packets, read once; None where they are in ``table``.
    """

    table: PacketTable = field(default_factory=lambda: PacketTable(PACKET_SCHEMA.empty_table()))
    stream: PacketStream | None = None


def packets_or_stream(name: str, *, memory_bytes: int | None) -> Packets:
    """Return all packets of a capture or packet table.

    Args:
        name: The file, or ``-`` for standard input.
        memory_bytes: Memory that packets may take with the program, bytes; None takes what they
            need.

    Raises:
        InputFileError: If it cannot be read at all, or can be read only once and does not fit.

    Warns:
        CaptureWarning: For each oddity of the input.
    """
    budget = None if memory_bytes is None else Budget(memory_bytes, TABLE_PACKET_BYTES)
    if budget is not None and (long := long_table([name], budget)) is not None:
        stream = long.stream()
        flows = inspect_stream(long.stream(), files=(name,)).flows
        return Packets(stream=replace(stream, head=replace(stream.head, flows=flows)))
    if budget is None or is_stream(name) or is_table_file(name):
        return Packets(read_packets(name, memory_bytes=memory_bytes))
    most_flows = most_flows_in(memory_bytes)
    try:
        return Packets(
            captured_packets([name], most_flows=most_flows, most_packets=budget.most_packets)
        )
    except PacketsBeyondLimitError:
        scan = scan_capture([name], most_flows=most_flows)
    for text in scan.warnings:
        warnings.warn(text, CaptureWarning, stacklevel=3)
    stream = stream_capture([name], scan)
    return Packets(
        stream=replace(stream, head=replace(stream.head, flows=inspection_of(scan).flows))
    )
