"""Read whole inputs: `trafficgen inspect`, all packets in memory or piece by piece, exchanges."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core import CaptureReader
from trafficgen.capture.inputs import (
    Paths,
    as_paths,
    find_long_table,
    input_names,
    is_stream,
    is_table_file,
    read_table_file,
)
from trafficgen.capture.memory import TABLE_PACKET_BYTES, Budget
from trafficgen.capture.options import (
    EXCHANGE_ENDINGS,
    ExchangeOptions,
    ReadOptions,
    UnlimitedReadOptions,
)
from trafficgen.capture.scan import CaptureScan, ReaderSetup, collect_scan, read_steps, scan_capture
from trafficgen.capture.table_files import cast_packets, check_table, has_packet_columns
from trafficgen.capture.table_streams import packets_in
from trafficgen.errors import CaptureError, CaptureWarning, ExportError, PacketTableError, warn
from trafficgen.flows import Inspection, inspect_stream, inspect_table
from trafficgen.flows.exchanges import Exchanges
from trafficgen.flows.selection import select_flow_rows
from trafficgen.formatting import format_count
from trafficgen.options import DataFrame, checks_arguments, takes
from trafficgen.outputs import whole_files
from trafficgen.tables import OPTIONAL_FIELDS, PACKET_SCHEMA, REQUIRED_FIELDS, PacketTable
from trafficgen.tables.counts import head_of_columns, with_counts
from trafficgen.tables.stream import PacketStream, sort_pieces

_RTP_FIELDS = ("rtp_ssrc", "rtp_sequence", "rtp_timestamp", "rtp_marker")
_TCP_FIELDS = ("tcp_sequence", "tcp_acknowledgement", "tcp_flags", "tcp_window")
#: Columns of packets that were captured.
CAPTURE_SCHEMA = pa.schema(
    [
        *REQUIRED_FIELDS,
        *(field for field in OPTIONAL_FIELDS if field.name in _RTP_FIELDS + _TCP_FIELDS),
    ]
)
#: Columns of the core that have another name; no packet is both RTP and TCP, so some serve two.
_SOURCES = {
    "to_client": "to_client_bits",
    "rtp_marker": "rtp_marker_bits",
    "rtp_ssrc": "ssrc_or_sequence",
    "tcp_sequence": "ssrc_or_sequence",
    "rtp_timestamp": "timestamp_or_acknowledgement",
    "tcp_acknowledgement": "timestamp_or_acknowledgement",
}


class PacketsBeyondLimitError(Exception):
    """More packets than were allowed.

    Attributes:
        packets: How many had come.
    """

    def __init__(self, packets: int) -> None:
        self.packets = packets
        super().__init__(format_count(packets, "packet"))


@dataclass(frozen=True)
class CapturePackets:
    """Packets of a capture with what was counted while they were read."""

    table: PacketTable
    scan: CaptureScan


def read_capture(
    paths: Sequence[str | Path],
    options: ReadOptions | None = None,
    *,
    most_packets: int | None = None,
) -> CapturePackets:
    """Read all packets of captures into memory, about 50 bytes each.

    The files, pcap or pcapng, plain or compressed, are read as one; ``-`` is standard input.

    Raises:
        PacketsBeyondLimitError: If there are more than ``most_packets``.
        CaptureError: If a file cannot be read at all.
    """
    setup = ReaderSetup.from_options(paths, options)
    reader = setup.open(keep_packets=True)
    for _ in read_steps(reader):
        if most_packets is not None and reader.counts()["packets"] > most_packets:
            raise PacketsBeyondLimitError(reader.counts()["packets"])
    scan = collect_scan(reader, setup)
    return CapturePackets(_table(reader, scan), scan)


def read_flows(scan: CaptureScan, flows: Collection[int]) -> PacketTable:
    """Read captures again for some flows by their numbers; raise CaptureError if that fails."""
    reader = scan.setup.open(keep_packets=True, keep_flows=np.isin(scan.numbers, list(flows)))
    table = select_flow_rows(scan.inspection.flows, flows)
    counts = (table.column(f"packets_to_{end}") for end in ("client", "server"))
    columns = _LongColumns(sum(pc.sum(one).as_py() or 0 for one in counts))
    for _ in read_steps(reader):
        for batch in _take_batches(reader, scan):
            columns.add(batch, name=scan.setup.name)
    found = _with_packets(collect_scan(reader, scan.setup), columns.table())
    return found.sort_by_time() if scan.out_of_order else found


class _LongColumns:
    """Columns that are filled while a capture is read, so that a long session is there once.

    Each is one piece, whose memory arrays of numpy share. Those that are null throughout are left
    out.
    """

    def __init__(self, count: int) -> None:
        self._count, self._rows = count, 0
        self._columns: dict[str, tuple[npt.NDArray[np.generic], npt.NDArray[np.bool_] | None]] = {}

    def add(self, batch: pa.RecordBatch, *, name: str) -> None:
        """Append packets; raise CaptureError for more than there were."""
        rows = slice(self._rows, self._rows + len(batch))
        if rows.stop > self._count:
            raise _has_changed(name, "packets")
        for column, part in zip(batch.schema, batch.columns, strict=True):
            if part.null_count == len(batch) > 0:
                continue
            if column.name not in self._columns:
                values = np.zeros(self._count, column.type.to_pandas_dtype())
                known = np.zeros(self._count, np.bool_) if column.nullable else None
                self._columns[column.name] = values, known
            values, known = self._columns[column.name]
            if known is not None:
                known[rows] = part.is_valid().to_numpy(zero_copy_only=False)
            zero = pa.scalar(0).cast(column.type)
            found = np.asarray(part.fill_null(zero).to_numpy(zero_copy_only=False))
            if found.any():  # pages of zeros, such as the number of the first flow, take no memory
                values[rows] = found
        self._rows = rows.stop

    def table(self) -> pa.Table:
        """Return the packets, shape (rows that were added,)."""
        known = [one for one in CAPTURE_SCHEMA if one.name in self._columns or not one.nullable]
        return pa.Table.from_arrays(list(map(self._array, known)), schema=pa.schema(known))

    def _array(self, column: pa.Field) -> pa.Array:
        empty = np.zeros(0, column.type.to_pandas_dtype()), None
        values, known = self._columns.pop(column.name, empty)
        values = values[: self._rows]
        if pa.types.is_boolean(column.type):
            values = np.packbits(values.view(np.uint8), bitorder="little")
        validity = None
        if known is not None and not known[: self._rows].all():
            validity = pa.py_buffer(np.packbits(known[: self._rows], bitorder="little"))
        return pa.Array.from_buffers(column.type, self._rows, [validity, pa.py_buffer(values)])


def _table(reader: CaptureReader, scan: CaptureScan) -> PacketTable:
    batches = list(_take_batches(reader, scan))
    table = _with_packets(scan, pa.Table.from_batches(batches, schema=CAPTURE_SCHEMA))
    return table.sort_by_time() if scan.out_of_order else table


def _with_packets(scan: CaptureScan, packets: pa.Table) -> PacketTable:
    """Return a table of packets with the flows and messages that a scan found."""
    found = scan.inspection
    return PacketTable(
        packets=packets,
        flows=found.flows,
        origin_ns=found.origin_ns,
        signalling=found.signalling,
        rtcp=scan.rtcp,
        notes={"files": list(found.files)},
    )


def stream_capture(scan: CaptureScan, flows: Collection[int] | None = None) -> PacketStream:
    """Read scanned captures once more, their packets piece by piece in order of time.

    ``flows`` are the numbers of those that are wanted; None wants all.

    Returns:
        A stream whose head has the scan's flow table; its pieces raise ``CaptureError`` if the
        files have changed since, or are too far out of order, see
        :func:`~trafficgen.tables.stream.sort_pieces`.

    Raises:
        CaptureError: If a file cannot be read at all.
    """
    keep = None if flows is None else np.isin(scan.numbers, list(flows))
    reader, name = scan.setup.open(keep_packets=True, keep_flows=keep), scan.setup.name

    def pieces() -> Iterator[pa.Table]:
        for _ in read_steps(reader):
            if batches := list(_take_batches(reader, scan)):
                yield pa.Table.from_batches(batches, schema=CAPTURE_SCHEMA)

    ordered = sort_pieces(pieces(), name=name) if scan.out_of_order else pieces()
    return PacketStream(
        head=_with_packets(scan, PACKET_SCHEMA.empty_table()),
        pieces=ordered,
        columns=_columns(scan.inspection),
        rows=scan.inspection.ip_packets if keep is None else None,
    )


def _columns(found: Inspection) -> frozenset[str]:
    """Return the columns that have values in any packet of a capture."""
    names = {field.name for field in CAPTURE_SCHEMA if not field.nullable}
    if any(stream.channel is None for stream in found.rtp_streams):
        names |= {name for name in CAPTURE_SCHEMA.names if name.startswith("rtp_")}
    if "tcp" in found.flows.column("protocol").unique().to_pylist():
        names |= {name for name in CAPTURE_SCHEMA.names if name.startswith("tcp_")}
    return frozenset(names)


def _take_batches(reader: CaptureReader, scan: CaptureScan) -> Iterator[pa.RecordBatch]:
    """Yield the packets kept so far, named as a scan did; raise CaptureError for other flows."""
    while True:
        try:
            columns = reader.take_columns(scan.plan, scan.inspection.origin_ns)
        except ValueError as error:
            raise _has_changed(scan.setup.name, "flows") from error
        if columns is None:
            return
        yield _wrap_columns(columns)


def _has_changed(name: str, more: str) -> CaptureError:
    problem = f"has changed while it was read: it has more {more} than before"
    return CaptureError(file=name, problem=problem, remedy="copy it, and give the copy")


def _wrap_columns(columns: dict[str, npt.NDArray[np.generic]]) -> pa.RecordBatch:
    """Wrap the core's columns without copying; bits are packed as Arrow wants them."""
    count = len(columns["time_ns"])
    arrays = []
    for column in CAPTURE_SCHEMA:
        validity = None
        if column.name in _RTP_FIELDS:
            validity = pa.py_buffer(columns["rtp_known_bits"])
        elif column.name in _TCP_FIELDS:
            validity = pa.py_buffer(columns["tcp_known_bits"])
        values = pa.py_buffer(columns[_SOURCES.get(column.name, column.name)])
        arrays.append(pa.Array.from_buffers(column.type, count, [validity, values]))
    return pa.RecordBatch.from_arrays(arrays, schema=CAPTURE_SCHEMA)


#: What errors call a data frame.
_FRAME_NAME = "data frame"
_OTHER_REMEDY = "or cut the input (editcap does that for captures)"


@takes(ReadOptions)
def inspect(paths: Paths | PacketTable | DataFrame, options: ReadOptions) -> Inspection:
    """Summarise captures (read as one) or a packet table: flows, RTP streams, sessions, problems.

    Captures, and packet tables that do not fit into memory, are read piece by piece: memory grows
    with the number of flows, not of packets. If a capture has more flows than fit, the first ones
    are distinguished, and a warning counts the packets of the others.

    Args:
        paths: One or several capture files, one packet table, or one trace of another tool that is
            recognised by its content (see :func:`~trafficgen.convert`); ``-`` is standard input,
            for a capture; or a packet table or data frame in memory.
        options: See :class:`~trafficgen.capture.options.ReadOptions`.

    Raises:
        InputFileError: If an input cannot be read at all.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.inspect("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> for flow in found.describe_flows():
        ...     print(flow["media"], flow["packets"], "packets in", f"{flow['duration_s']:.1f} s")
        video 1920 packets in 61.1 s
        audio 126 packets in 58.6 s
        control 23 packets in 61.2 s
    """
    if isinstance(paths, DataFrame):
        paths = read_frame(paths)
    names = input_names(paths)
    files, timeout_s = tuple(names), options.idle_timeout_s
    if isinstance(paths, PacketTable):
        checked = check_table(paths, ", ".join(names))
        return inspect_table(checked, files=files, idle_timeout_s=timeout_s)[0]
    if (long := find_long_table(names, _budget(options))) is not None:
        return inspect_stream(long.stream(), files=files, idle_timeout_s=timeout_s)
    if (table := read_table_file(names)) is not None:
        return inspect_table(table, files=files, idle_timeout_s=timeout_s)[0]
    return scan_capture(names, options).inspection


@takes(UnlimitedReadOptions)
def read_packets(paths: Paths | DataFrame, options: ReadOptions) -> PacketTable:
    """Return all packets of captures (read as one), a packet table or a data frame.

    A packet takes about 50 bytes, and up to 220 while it is read. More packets than fit into
    ``memory_bytes`` are refused; None (the default) takes what they need.

    Args:
        paths: As for :func:`inspect`. A data frame has the columns of a packet table or a packet
            list, as a CSV or Parquet file has: a time such as ``time_s`` and a size such as
            ``ip_bytes``, maybe more.
        options: See :class:`~trafficgen.capture.options.ReadOptions`.

    Raises:
        InputFileError: If an input cannot be read at all, or does not fit into memory.

    Warns:
        CaptureWarning: For each problem of the input.

    Example:
        >>> import trafficgen
        >>> table = trafficgen.read_packets("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> table
        <PacketTable: 2,069 packets, 3 flows, 61.38 s, 1,892,864 IP bytes>
        >>> sizes = table.ip_bytes[table.to_client]
        >>> print(f"{sizes.mean():.0f} IP bytes in a packet to the client")
        920 IP bytes in a packet to the client
        >>> import pandas
        >>> trafficgen.read_packets(pandas.DataFrame({"time_s": [0.0, 0.5], "ip_bytes": [700, 90]}))
        <PacketTable: 2 packets, 1 flow, 0.5 s, 790 IP bytes>
    """
    if isinstance(paths, DataFrame):
        return inspect_table(read_frame(paths), files=(), idle_timeout_s=options.idle_timeout_s)[1]
    names, budget = as_paths(paths), _budget(options)
    if (long := find_long_table(names, budget)) is not None:
        raise budget.refusal(names[0], packets_in(long.path), remedy=_OTHER_REMEDY, of_table=True)
    if (table := read_table_file(names)) is not None:
        return inspect_table(table, files=tuple(names), idle_timeout_s=options.idle_timeout_s)[1]
    try:
        return _captured_packets(names, options)
    except PacketsBeyondLimitError as error:
        name = ", ".join(names)
        raise budget.refusal(name, error.packets, remedy=_OTHER_REMEDY, at_least=True) from None


@dataclass(frozen=True)
class Packets:
    """Packets of an input.

    Attributes:
        table: The packets; empty if they are in ``stream``.
        stream: The packets, read once; None if they are in ``table``.
    """

    table: PacketTable = field(default_factory=lambda: PacketTable(PACKET_SCHEMA.empty_table()))
    stream: PacketStream | None = None


def read_or_stream(name: str, options: ReadOptions, *, remedy: str | None = None) -> Packets:
    """Return all packets of a capture or packet table; as a stream if they do not fit into memory.

    ``remedy`` says what to do, besides giving more memory, if they do not fit: they are refused
    then; None streams them.

    Raises:
        InputFileError: If it cannot be read at all, or does not fit and is refused or can be read
            only once.

    Warns:
        CaptureWarning: For each problem of the input.
    """
    budget = _budget(options)
    if (long := find_long_table([name], budget)) is not None:
        if remedy is not None:
            raise budget.refusal(name, packets_in(long.path), remedy=remedy, of_table=True)
        stream = long.stream()
        flows = inspect_stream(long.stream(), files=(name,)).flows
        return Packets(stream=replace(stream, head=replace(stream.head, flows=flows)))
    if budget.memory_bytes is None or is_stream(name) or is_table_file(name):
        return Packets(read_packets(name, memory_bytes=budget.memory_bytes))
    try:
        return Packets(_captured_packets([name], options))
    except PacketsBeyondLimitError as error:
        if remedy is not None:
            raise budget.refusal(name, error.packets, remedy=remedy, at_least=True) from None
        scan = scan_capture([name], options)
    _warn(scan)
    return Packets(stream=stream_capture(scan))


def _budget(options: ReadOptions) -> Budget:
    return Budget(options.memory_bytes, TABLE_PACKET_BYTES)


def _captured_packets(names: list[str], options: ReadOptions) -> PacketTable:
    """Return all packets of captures; raise PacketsBeyondLimitError if they do not fit."""
    read = read_capture(names, options, most_packets=_budget(options).most_packets)
    _warn(read.scan)
    return read.table


def _warn(scan: CaptureScan) -> None:
    for text in scan.inspection.warnings:
        warn(text, CaptureWarning)


@takes(ExchangeOptions)
def measure_exchanges(
    paths: Paths | PacketTable | DataFrame, options: ExchangeOptions
) -> Exchanges:
    """Measure the requests of a session's client and the responses to them.

    TCP is measured by its sequence numbers: what the capture missed counts, what was sent twice
    counts once. Over QUIC and other datagrams requests are the client's larger packets, apart from
    acknowledgements by the connection's own sizes. Input is read piece by piece.

    Args:
        paths: As for :func:`~trafficgen.inspect`.
        options: See :class:`~trafficgen.capture.options.ExchangeOptions`; given as keywords.

    Returns:
        The exchanges, on all connections of the session, in order of time.

    Raises:
        InputFileError: If an input cannot be read at all.
        SelectionError: If there is no such session.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.measure_exchanges("examples/captures/http_burst_then_paced.pcap.gz")
        >>> print(found.to_pandas()["response_bytes"].sum(), "bytes in responses")
        6144276 bytes in responses
    """
    reading = {one.name: getattr(options, one.name) for one in fields(ReadOptions)}
    return inspect(paths, **reading).session_exchanges(options.session)


@checks_arguments
def save_exchanges(exchanges: Exchanges, path: str | Path) -> None:
    """Write exchanges to a file ``.parquet`` or ``.csv``; of the latter a null is an empty field.

    Raises:
        ExportError: If the name has another ending.
        OutputFileError: If the file cannot be written.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.measure_exchanges("examples/captures/http_burst_then_paced.pcap.gz")
        >>> trafficgen.save_exchanges(found, "exchanges.csv")
        >>> import pandas as pd
        >>> len(pd.read_csv("exchanges.csv")) == len(found)
        True
    """
    path = Path(path)
    if path.suffix.lower() not in EXCHANGE_ENDINGS:
        raise ExportError(
            f"{path}: unknown ending {path.suffix!r}; use one of {', '.join(EXCHANGE_ENDINGS)}"
        )
    with whole_files([path]) as [part], part.open("wb") as file:  # Arrow opens UTF-8 names alone
        if path.suffix.lower() == ".csv":
            from pyarrow import csv  # noqa: PLC0415 - few write it

            csv.write_csv(exchanges.table, file)
        else:
            from pyarrow import parquet  # noqa: PLC0415 - few write it

            parquet.write_table(exchanges.table, file, compression="zstd")


def read_frame(frame: DataFrame) -> PacketTable:
    """Return the packets of a data frame.

    Its columns are those of a packet table or of a packet list.

    Raises:
        PacketTableError: If it has no time or no size, or holds impossible values.

    Warns:
        CaptureWarning: For each doubt, such as rows that could not be read or columns that are not
            used.
    """
    try:
        table = pa.table(frame)
    except (TypeError, ValueError) as error:  # pyarrow's errors of values are kinds of it
        problem = f"cannot be read ({str(error).splitlines()[0]})"
        remedy = "give columns of numbers and texts"
        if not hasattr(frame, "columns") and hasattr(frame, "to_frame"):
            problem = f"is one column, a {type(frame).__name__}"
            remedy = "give a frame with a time and a size, such as time_s and ip_bytes"
        raise PacketTableError(file=_FRAME_NAME, problem=problem, remedy=remedy) from error
    if not has_packet_columns(table.column_names):
        return _read_list(table)
    packets = cast_packets(table, _FRAME_NAME)
    origin_ns = getattr(frame, "attrs", {}).get("origin_ns", 0)
    head = head_of_columns(table, _FRAME_NAME, table.column_names, origin_ns)
    found = replace(head, packets=packets, notes={"files": [_FRAME_NAME]})
    return check_table(replace(found, flows=with_counts(found)), _FRAME_NAME)


def _read_list(table: pa.Table) -> PacketTable:
    from trafficgen.capture.traces.formats.packet_list import read_columns  # noqa: PLC0415 - captures need no readers of traces

    read = read_columns(table, _FRAME_NAME)
    for text in read.doubts:
        warn(f"{_FRAME_NAME}: {text}", CaptureWarning)
    return read.table
