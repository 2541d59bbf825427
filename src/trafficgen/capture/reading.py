"""Read whole inputs: `trafficgen inspect`, all packets in memory or piece by piece, exchanges."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path

import pyarrow as pa

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
from trafficgen.capture.packets import PacketsBeyondLimitError, read_capture, stream_capture
from trafficgen.capture.scan import CaptureScan, scan_capture
from trafficgen.capture.table_files import cast_packets, check_table, has_packet_columns
from trafficgen.capture.table_streams import packets_in
from trafficgen.errors import CaptureWarning, ExportError, PacketTableError, warn
from trafficgen.flows import Inspection, inspect_stream, inspect_table
from trafficgen.flows.exchanges import Exchanges
from trafficgen.options import DataFrame, checks_arguments, takes
from trafficgen.outputs import whole_files
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.counts import head_of_columns, with_counts
from trafficgen.tables.stream import PacketStream

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
