"""Traces of other tools into packet tables and captures: `trafficgen convert`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from trafficgen.capture.inputs import is_table_file, is_trace
from trafficgen.capture.options import ConvertOptions, ReadOptions
from trafficgen.capture.reading import read_or_stream
from trafficgen.capture.table_files import holds_packet_table
from trafficgen.capture.traces.options import OPTION_FLAGS, SIZE_KINDS, SIZE_UNITS, TRANSPORTS
from trafficgen.capture.traces.reading import find_format, read_trace
from trafficgen.capture.traces.text import is_text
from trafficgen.capture.traces.trace_format import ReadTrace
from trafficgen.errors import ExportError, SettingError
from trafficgen.formatting import format_count, number, one_line
from trafficgen.notebook import NotebookView
from trafficgen.options import takes
from trafficgen.packet_files.destinations import format_of
from trafficgen.packet_files.formats import FileFormat
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.packet_files.writing import (
    StreamCounts,
    count_stream,
    select_view,
    write_packets,
    write_stream,
)
from trafficgen.standard_streams import STANDARD_INPUT, input_file, restore_name
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

if TYPE_CHECKING:
    import pandas as pd

_DEFAULTS = ConvertOptions()


@dataclass(frozen=True, eq=False)
class Conversion(NotebookView):
    r"""What :func:`trafficgen.convert` read from a trace, and wrote.

    Attributes:
        file: Name of the trace as given.
        format: Name of its format; ``capture`` or ``packet-table`` if it is one of these.
        table: Its packets; without packets if they did not fit into memory.
        records: Number of lines or rows that were understood.
        unread: Number of lines or rows that were not.
        first_unread: Number of the first of these, from 1; None if all were understood.
        doubts: What a reader of results should know, a sentence each.
        assumptions: What was assumed where the trace says nothing, a sentence each.
        written: Number of packets that the output has: all, or those that the receiver saw.
        report: What the output holds of the table; None if nothing was written.
        counts: Packets and bytes that went from file to file; None if ``table`` has them.

    Example:
        >>> import pathlib, trafficgen
        >>> packets = "time_s,ip_bytes\n0.00,1200\n0.02,1200\n0.05,400\n"
        >>> _ = pathlib.Path("list.csv").write_text(packets)
        >>> done = trafficgen.convert("list.csv")
        >>> done.format, done.records, f"{done.duration_s:.2f} s"
        ('packet-list', 3, '0.05 s')
        >>> done.assumptions
        ('the list has no protocol: UDP', 'the list has no addresses or directions: all packets go
        to the client')
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
    counts: StreamCounts | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        parts = [
            format_count(self.records, "record"),
            format_count(len(self.table), "packet"),
            f"{number(self.duration_s)} s",
            *([f"{self.unread:,d} unread"] if self.unread else []),
            *([format_count(len(self.doubts), "doubt")] if self.doubts else []),
        ]
        return f"<Conversion of {one_line(self.file)} ({self.format}): {', '.join(parts)}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return the packets, as :meth:`PacketTable.to_pandas` does."""
        return self.table.to_pandas()

    @cached_property
    def _counts(self) -> StreamCounts:
        if self.counts is not None:
            return self.counts
        counts = StreamCounts()
        counts.add(self.table)
        return counts

    @property
    def packets(self) -> int:
        """Number of packets."""
        return self._counts.packets

    @property
    def duration_s(self) -> float:
        """From the first packet to the last, s."""
        return s_from_ns(self._counts.last_ns - self._counts.first_ns)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object that ``trafficgen convert --json`` prints."""
        counts = self._counts
        return {
            "file": self.file,
            "format": self.format,
            "records": self.records,
            "unread": self.unread,
            "first_unread": self.first_unread,
            "packets": counts.packets,
            "lost": counts.packets - counts.arrived if counts.arrived else None,
            "written": self.written,
            "flows": self.table.flows.num_rows,
            "ip_bytes": counts.ip_bytes,
            "start_time_ns": self.table.origin_ns + counts.first_ns if counts.packets else None,
            "duration_s": self.duration_s,
            "doubts": list(self.doubts),
            "assumptions": list(self.assumptions),
            "report": None if self.report is None else self.report.to_json(),
        }


@takes(ConvertOptions)
def convert(
    trace: str | Path, out: str | Path | None = None, options: ConvertOptions = _DEFAULTS
) -> Conversion:
    r"""Read a trace of another tool as packets and write them as a packet table or a capture.

    Captures and packet tables that do not fit into the memory go from file to file piece by piece.

    Args:
        trace: Packet list, frame-size trace, input of a simulator or log of a load tester; a
            capture or packet table too. ``-`` is standard input.
        out: File to write, by its ending: ``.parquet``, ``.csv``, ``.pcap`` or ``.pcapng``; None
            writes nothing.
        options: See :class:`~trafficgen.capture.traces.options.ConvertOptions`.

    Raises:
        PacketTableError: If the trace cannot be read, is in no format that is known, or nothing in
            it is readable.
        CaptureError: If it is a capture that cannot be read.
        SettingError: If an option does not suit the format, or is out of range.
        ExportError: If the ending of ``out`` names no format, or a receiver's view is
            wanted of more packets than the memory holds.
        OutputFileError: If ``out`` cannot be written.

    Warns:
        CaptureWarning: For each doubt, such as lines that could not be read.

    Example:
        >>> import pathlib, trafficgen
        >>> frames = "".join(f"{size}\n" for size in [9000, 1200, 1500] * 20)
        >>> _ = pathlib.Path("frames.txt").write_text(frames)
        >>> done = trafficgen.convert("frames.txt", "video.parquet", frame_rate_fps=25)
        >>> done
        <Conversion of frames.txt (frame-sizes): 60 records, 200 packets, 2.36 s>
        >>> trafficgen.read_packets("video.parquet")
        <PacketTable: 200 packets, 1 flow, 2.36 s, 242,000 IP bytes>
    """
    file_format = None if out is None else format_of(out, options.to_format)
    check_convert_options(options)
    name = input_file(str(trace), stream_captures=True)
    read = _read(name, options)
    if read is None:
        return _convert_packets(name, out, file_format, options)
    written, report = _write(read.table, out, file_format, options)
    return Conversion(file=restore_name(name), written=written, report=report, **vars(read))


def _write(
    table: PacketTable,
    out: str | Path | None,
    file_format: FileFormat | None,
    options: ConvertOptions,
) -> tuple[int, ProjectionReport | None]:
    """Write packets; return how many the output has of them, and its report."""
    if file_format is None or out is None:
        return 0, None
    written = select_view(table, options.at) if file_format.has_views else table
    return len(written), write_packets(table, out, file_format=file_format, at=options.at)


def _convert_packets(
    name: str, out: str | Path | None, file_format: FileFormat | None, options: ConvertOptions
) -> Conversion:
    """Write the packets of a capture or packet table."""
    source = read_or_stream(name, ReadOptions(memory_bytes=options.memory_bytes))
    kind = "packet-table" if is_table_file(name) else "capture"
    if source.stream is None:
        written, report = _write(source.table, out, file_format, options)
        return Conversion(
            restore_name(name),
            kind,
            source.table,
            len(source.table),
            written=written,
            report=report,
        )
    has_views = file_format is not None and file_format.has_views
    if has_views and "arrival_ns" in source.stream.columns:
        problem = (
            f"the {options.at}'s view is in another order, for which all packets have to be in"
            " memory"
        )
        raise ExportError(f"{name}: {problem}; give more [--memory], or write Parquet")
    if out is None or file_format is None:
        counts, report = count_stream(source.stream), None
    else:
        counts, report = write_stream(source.stream, Path(out), format_name=file_format.name)
    packets = counts.packets
    return Conversion(
        restore_name(name),
        kind,
        source.stream.head,
        packets,
        written=packets,
        report=report,
        counts=counts,
    )


def _read(name: str, options: ConvertOptions) -> ReadTrace | None:
    """Return what a trace of another tool holds; None for a capture or a packet table."""
    given = [flag for field, flag in OPTION_FLAGS.items() if getattr(options, field) is not None]
    table_file = is_table_file(name)
    is_binary = Path(name).is_file() and not table_file and not is_text(name)
    if given and is_binary and options.from_format is None:
        problem = f"[{given[0]}] is for text traces of other tools, not for {name}"
        raise SettingError(f"{problem}; leave it out, or give the format ([--from|from_format])")
    if options.from_format is not None or given:
        return read_trace(name, format_name=options.from_format, options=options)
    if name != STANDARD_INPUT and is_trace(name) and not (table_file and holds_packet_table(name)):
        return read_trace(name)
    if not table_file and is_text(name):
        return read_trace(name)  # its error names the formats, that of a capture would not
    return None


def check_convert_options(options: ConvertOptions) -> None:
    """Raise SettingError for names and numbers that no trace has."""
    if options.from_format is not None:
        find_format(options.from_format)
    if options.sizes is not None and options.sizes not in SIZE_KINDS:
        raise SettingError(f"[--sizes {options.sizes}]: sizes are of {', '.join(SIZE_KINDS)}")
    if options.size_unit is not None and options.size_unit not in SIZE_UNITS:
        raise SettingError(
            f"[--size-unit {options.size_unit}]: sizes count {' or '.join(SIZE_UNITS)}"
        )
    if options.protocol is not None and options.protocol not in TRANSPORTS:
        raise SettingError(
            f"[--protocol {options.protocol}]: packets travel over {' or '.join(TRANSPORTS)}"
        )
    if options.line_rate_bps is not None and not 1 <= options.line_rate_bps < math.inf:
        raise SettingError(
            f"[--line-rate|line_rate_bps] {options.line_rate_bps:g} bit/s: give a rate such as"
            " 10Mbps"
        )
