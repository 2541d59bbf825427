"""Traces of other tools into packet tables and captures: `trafficgen convert`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from trafficgen.api.conversion_view import line_of_conversion, view_of_conversion
from trafficgen.api.reading import STANDARD_INPUT, is_trace, read_packets
from trafficgen.api.writing import format_of
from trafficgen.capture import holds_packet_table
from trafficgen.capture.traces import (
    OPTIONS,
    PARQUET_ENDING,
    SIZE_KINDS,
    SIZE_UNITS,
    TRANSPORTS,
    ReadTrace,
    SizeKind,
    SizeUnit,
    TraceOptions,
    TransportName,
    is_text,
    read_trace,
)
from trafficgen.errors import SettingError
from trafficgen.export import ProjectionReport, View, seen_by, write_as
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns


@dataclass(frozen=True)
class Conversion:
    r"""What :func:`trafficgen.convert` read from a trace, and wrote.

    Attributes:
        file: Name of the trace as given.
        format: Name of its format; ``capture`` or ``packet-table`` where it is one of these.
        table: Its packets.
        records: Lines or rows that were understood.
        unread: Lines or rows that were not.
        first_unread: Number of the first of these, from 1; None where there is none.
        doubts: What a reader of results should know, a sentence each.
        assumptions: What was assumed where the trace says nothing, a sentence each.
        written: Packets of the table that the output has: all of them, or those that arrived in a receiver's view.
        report: What the output holds of the table; None where nothing was written.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = pathlib.Path("list.csv").write_text("time_s,ip_bytes\n0.00,1200\n0.02,1200\n0.05,400\n")
        >>> done = trafficgen.convert("list.csv")
        >>> done.format, done.records, f"{done.duration_s:.2f} s"
        ('packet-list', 3, '0.05 s')
        >>> done.assumptions
        ('the list has no protocol: UDP', 'the list has no addresses or directions: all packets go to the client')
    """

    file: str
    format: str
    table: PacketTable
    records: int
    unread: int = 0
    first_unread: int | None = None
    doubts: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    written: int = 0
    report: ProjectionReport | None = None

    def __repr__(self) -> str:
        return line_of_conversion(self)

    def _repr_html_(self) -> str:
        return view_of_conversion(self)

    @property
    def duration_s(self) -> float:
        """From the first packet to the last, s."""
        return s_from_ns(int(self.table.time_ns[-1] - self.table.time_ns[0])) if len(self.table) else 0.0

    def to_json(self) -> dict[str, object]:
        """Return the JSON object that ``trafficgen convert --json`` prints."""
        arrived = self.table.known("arrival_ns")
        return {
            "file": self.file,
            "format": self.format,
            "records": self.records,
            "unread": self.unread,
            "first_unread": self.first_unread,
            "packets": len(self.table),
            "lost": int((~arrived).sum()) if arrived.any() else None,
            "written": self.written,
            "flows": self.table.flows.num_rows,
            "ip_bytes": int(self.table.ip_bytes.sum()),
            "start_time_ns": self.table.origin_ns + int(self.table.time_ns[0]) if len(self.table) else None,
            "duration_s": self.duration_s,
            "doubts": list(self.doubts),
            "assumptions": list(self.assumptions),
            "report": None if self.report is None else self.report.to_dict(),
        }


def convert(
    trace: str | Path,
    out: str | Path | None = None,
    *,
    from_format: str | None = None,
    frame_rate_fps: float | None = None,
    payload_bytes: int | None = None,
    sizes: SizeKind | None = None,
    size_unit: SizeUnit | None = None,
    line_rate_bps: float | None = None,
    rtp: bool | None = None,
    protocol: TransportName | None = None,
    at: View = "sender",
) -> Conversion:
    r"""Read a trace of another tool as packets and write them as a packet table or a capture.

    Args:
        trace: Packet list, frame-size trace, input of a simulator or log of a load tester; a capture or packet table
            too. ``-`` is standard input.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; None writes nothing.
        from_format: Name of the trace's format; None recognises it by its content.
        frame_rate_fps: Frames in a second, for traces without times.
        payload_bytes: Largest part of a frame that a packet carries, bytes; None fills IP packets of 1500 bytes.
        sizes: What the sizes of a packet list are of, where its columns do not say; None takes IP packets.
        size_unit: What the sizes of a frame trace count; None: what is usual for the format.
        line_rate_bps: Rate at which packets of a frame follow one another, bit/s of IP bytes; None: all at its time.
        rtp: Whether frames travel in RTP packets; None: those of video traces do.
        protocol: Transport protocol of a list or log that names none; None takes UDP.
        at: Whose view a pcap or CSV shows.

    Raises:
        PacketTableError: If the trace cannot be read, is in no format that is known, or nothing in it is readable.
        CaptureError: If it is a capture that cannot be read.
        SettingError: If an option does not suit the format, or is out of range.
        ExportError: If the ending of ``out`` is none that is written.
        OutputFileError: If ``out`` cannot be written.

    Warns:
        CaptureWarning: For each doubt, such as lines that could not be read.

    Example:
        >>> import pathlib, trafficgen
        >>> _ = pathlib.Path("frames.txt").write_text("".join(f"{size}\n" for size in [9000, 1200, 1500] * 20))
        >>> done = trafficgen.convert("frames.txt", "video.parquet", frame_rate_fps=25)
        >>> done
        <Conversion of frames.txt (frame-sizes): 60 records, 200 packets, 2.36 s>
        >>> trafficgen.read_packets("video.parquet")
        <PacketTable: 200 packets, 1 flow, 2.36 s, 242,000 IP bytes>
    """
    file_format = None if out is None else format_of(out)
    options = TraceOptions(frame_rate_fps, payload_bytes, sizes, size_unit, line_rate_bps, rtp, protocol)
    _check(options)
    name = str(trace)
    read = _read(name, from_format, options)
    report, written = None, 0
    if file_format is not None and out is not None:
        written = len(
            read.table if file_format.name == "parquet" else seen_by(read.table, at)
        )  # Parquet holds both views
        report = write_as(file_format, read.table, Path(out), at=at, snaplen_bytes=None)
    return Conversion(
        file=name,
        format=read.format,
        table=read.table,
        records=read.records,
        unread=read.unread,
        first_unread=read.first_unread,
        doubts=read.doubts,
        assumptions=read.assumptions,
        written=written,
        report=report,
    )


def _read(name: str, from_format: str | None, options: TraceOptions) -> ReadTrace:
    given = [option for field, option in OPTIONS.items() if getattr(options, field) is not None]
    if from_format is not None or given:
        return read_trace(name, format_name=from_format, options=options)
    table_file = Path(name).suffix.lower() in (PARQUET_ENDING, ".csv")
    if name != STANDARD_INPUT and is_trace(name) and not (table_file and holds_packet_table(name)):
        return read_trace(name)
    if not table_file and is_text(name):
        return read_trace(name)  # its error names the formats, that of a capture would not
    table = read_packets(name)
    return ReadTrace(table=table, format="packet-table" if table_file else "capture", records=len(table))


def _check(options: TraceOptions) -> None:
    if options.sizes is not None and options.sizes not in SIZE_KINDS:
        raise SettingError(f"--sizes {options.sizes}: sizes are of {', '.join(SIZE_KINDS)}")
    if options.size_unit is not None and options.size_unit not in SIZE_UNITS:
        raise SettingError(f"--size-unit {options.size_unit}: sizes count {' or '.join(SIZE_UNITS)}")
    if options.protocol is not None and options.protocol not in TRANSPORTS:
        raise SettingError(f"--protocol {options.protocol}: packets travel over {' or '.join(TRANSPORTS)}")
    if options.line_rate_bps is not None and not 1 <= options.line_rate_bps < math.inf:
        raise SettingError(f"--line-rate {options.line_rate_bps:g} bit/s: give a rate such as 10Mbps")
