"""Write packets, from memory or as they come, in any format, and report what the file holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from trafficgen.packet_files.destinations import format_of
from trafficgen.packet_files.formats import FileFormat, View, check_options, parse_view
from trafficgen.packet_files.pcap import CaptureLosses, capture_report, write_capture_stream
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.packet_files.table_files import (
    csv_files,
    csv_losses,
    write_csv_stream,
    write_dataset_stream,
    write_parquet_stream,
)
from trafficgen.tables import PacketTable
from trafficgen.tables.counts import as_captured
from trafficgen.tables.stream import PacketStream, stream_of
from trafficgen.units import WHOLE_FRAME_BYTES


def write_packets(
    table: PacketTable,
    path: str | Path,
    *,
    file_format: FileFormat | None = None,
    at: View | None = None,
    snaplen_bytes: int | None = None,
) -> ProjectionReport:
    """Write a packet table to a file, or to a folder of Parquet files.

    Packets too small for their headers, such as later IP fragments that a capture counts for the
    flow of the first, are made just large enough in captures; the report counts them. The file or
    folder appears whole or not at all. Without ``file_format`` its ending names it. ``at`` is whose
    view a capture or CSV shows, see :func:`select_view`; None: the table as it is. Of a frame
    ``snaplen_bytes`` are kept in a capture, None keeps all.

    Raises:
        ExportError: If the format does not take an option, or cannot hold a packet.
        OutputFileError: If the file cannot be written.
        ValueError: If an option is out of range.
    """
    path = Path(path)
    known = file_format or format_of(path)
    check_options(known, at=at, snaplen_bytes=snaplen_bytes)
    stream = stream_of(table if at is None or not known.has_views else select_view(table, at))
    return write_stream(stream, path, format_name=known.name, snaplen_bytes=snaplen_bytes)[1]


def select_view(table: PacketTable, view: View) -> PacketTable:
    """Return the packets as a capture at the sender, or at the receiver, would show them.

    The machine of the view sends at the times of sending and sees what arrives, at its arrival;
    counts of flows match. ``"sender"`` is the server. Arrivals are known of simulated traffic; a
    table without them (a capture, generated packets) is returned as it is.

    Raises:
        ValueError: If ``view`` is neither.
    """
    at_client = parse_view(view) == "receiver"
    # A simulated table has its path in the notes, even if nothing arrived.
    is_simulated = table.is_known("arrival_ns").any() or "path" in table.notes
    return as_captured(table, at_client=at_client) if is_simulated else table


@dataclass
class StreamCounts:
    """What was counted of packets as they passed by.

    Attributes:
        arrived: Packets whose arrival is known.
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


def count_stream(stream: PacketStream) -> StreamCounts:
    """Count packets as they come, without writing them."""
    counts = StreamCounts()
    for piece in stream.pieces:
        counts.add(PacketTable(packets=piece, flows=stream.head.flows))
    return counts


def write_stream(
    stream: PacketStream, path: Path, *, format_name: str, snaplen_bytes: int | None = None
) -> tuple[StreamCounts, ProjectionReport]:
    """Write packets as they come, and count and report them as :func:`write_packets` does.

    ``format_name`` is that of a file format, or ``dataset``.

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
    written = write_pieces(passing, path, format_name=format_name, snaplen_bytes=snaplen_bytes)
    if written is not None:
        lost = tuple(losses.texts(written, snaplen_bytes=snaplen_bytes or WHOLE_FRAME_BYTES))
        return counts, capture_report(format_name, path, written, counts.ip_bytes, lost)
    is_csv = format_name == "csv"
    return counts, ProjectionReport(
        target=format_name,
        files=tuple(file.name for file in csv_files(path)) if is_csv else (path.name,),
        packets=counts.packets,
        packets_changed=0,
        bytes_before=counts.ip_bytes,
        bytes_after=counts.ip_bytes,
        cannot_express=tuple(csv_losses(stream.head)) if is_csv else (),
    )


def write_pieces(
    stream: PacketStream, path: Path, *, format_name: str, snaplen_bytes: int | None = None
) -> Mapping[str, int] | None:
    """Write packets as they come, as :func:`write_stream` does, without a report.

    The result is what the writer of a capture has counted; None for other formats.
    """
    match format_name:
        case "csv":
            write_csv_stream(stream, path)
        case "parquet":
            write_parquet_stream(stream, path)
        case "dataset":
            write_dataset_stream(stream, path)
        case _:
            kept_bytes = WHOLE_FRAME_BYTES if snaplen_bytes is None else snaplen_bytes
            return write_capture_stream(
                stream, path, container=format_name, snaplen_bytes=kept_bytes
            )
    return None
