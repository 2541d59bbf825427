"""Write packets that come piece by piece in any format, with the report of a whole table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from trafficgen.packet_files.csv import csv_report, write_csv_stream
from trafficgen.packet_files.parquet import write_dataset_stream, write_parquet_stream
from trafficgen.packet_files.pcap import CaptureLosses, capture_report, write_capture_stream
from trafficgen.packet_files.report import ProjectionReport, report_unchanged
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.units import WHOLE_FRAME_BYTES


@dataclass
class StreamCounts:
    """What was counted of packets as they passed by.

    Attributes:
        packets: Packets.
        ip_bytes: Their IP lengths, summed.
        arrived: Packets whose arrival is known.
        first_ns: Time of the first, ns from the origin.
        last_ns: Time of the last.
    """

    packets: int = 0
    ip_bytes: int = 0
    arrived: int = 0
    first_ns: int = 0
    last_ns: int = 0

    def add(self, piece: PacketTable) -> None:
        """Count packets in order of time."""
        if len(piece):
            self.first_ns = self.first_ns if self.packets else int(piece.time_ns[0])
            self.last_ns = int(piece.time_ns[-1])
        self.packets += len(piece)
        self.ip_bytes += int(piece.ip_bytes.sum())
        self.arrived += int(np.count_nonzero(piece.is_known("arrival_ns")))


def write_stream(
    stream: PacketStream, path: Path | None, *, format_name: str
) -> tuple[StreamCounts, ProjectionReport | None]:
    """Write packets as they come, in the view of the sender.

    Args:
        stream: The packets.
        path: File to write; None only counts.
        format_name: Name of a file format, or ``dataset``.

    Raises:
        ExportError: If a packet cannot be written so.
        OutputFileError: If the file cannot be written.
    """
    counts, losses = StreamCounts(), CaptureLosses(stream.head)

    def counted() -> Iterator[pa.Table]:
        for piece in stream.pieces:
            table = PacketTable(packets=piece, flows=stream.head.flows)
            counts.add(table)
            losses.add(table)
            yield piece

    passing = replace(stream, pieces=counted())
    if path is None:
        for _ in passing.pieces:
            pass
        return counts, None
    if format_name in ("pcap", "pcapng"):
        written = write_capture_stream(passing, path, container=format_name, raise_small=True)
        lost = tuple(losses.texts(written, snaplen_bytes=WHOLE_FRAME_BYTES))
        return counts, capture_report(format_name, path, written, counts.ip_bytes, lost)
    if format_name == "csv":
        write_csv_stream(passing, path)
        return counts, csv_report(stream.head, path, counts.packets, counts.ip_bytes)
    (write_parquet_stream if format_name == "parquet" else write_dataset_stream)(passing, path)
    report = report_unchanged(format_name, (path.name,), counts.packets, counts.ip_bytes)
    return counts, report
