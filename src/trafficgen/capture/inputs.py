"""Inputs of the commands: captures, packet tables and standard input, as flows or as the packets of
one session.
"""

from __future__ import annotations

import codecs
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from trafficgen.capture import (
    CaptureScan,
    PacketsBeyondLimitError,
    Progress,
    TableFile,
    holds_packet_table,
    open_table_file,
    packets_in,
    read_capture,
    read_csv_table,
    read_dataset,
    read_parquet_table,
    scan_capture,
)
from trafficgen.capture.memory import TABLE_PACKET_BYTES, Budget, most_flows_in
from trafficgen.capture.options import DEFAULT_MEMORY_BYTES
from trafficgen.errors import CaptureError, CaptureWarning, PacketTableError
from trafficgen.flows import Inspection, group_sessions, inspect_stream, inspect_table
from trafficgen.redaction import redact_addresses
from trafficgen.tables import PacketTable

TABLE_READERS = {".parquet": read_parquet_table, ".csv": read_csv_table}
STANDARD_INPUT = "-"
_SNIFFED_BYTES = 1 << 16
_OTHER_REMEDY = "or cut the input (editcap does that for captures)"

Paths = str | Path | Sequence[str | Path]


def as_paths(paths: Paths) -> list[str]:
    """Return one or several paths as a list of names."""
    if isinstance(paths, str | Path):
        return [str(paths)]
    return [str(path) for path in paths]


def inspect(
    paths: Paths,
    *,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    memory_bytes: int | None = DEFAULT_MEMORY_BYTES,
    progress: Progress | None = None,
) -> Inspection:
    """Return what is in captures (read as one) or in a packet table: flows, RTP streams, sessions,
    oddities.

    Captures, and packet tables that do not fit into the memory, are read piece by piece: what is
    kept grows with the number of flows, not of packets. Of a capture with more flows than fit, the
    first are told apart, and a warning counts the packets of the others.

    Args:
        paths: One or several capture files, one packet table, or one trace of another tool that is
            recognised by its content (see :func:`~trafficgen.convert`); ``-`` is standard input,
            for a capture.
        decapsulate: Whether tunnels are looked into; otherwise their packets count for the outer
            flow.
        idle_timeout_s: Silence after which a 5-tuple's packets are a new flow, s; None never
            splits.
        memory_bytes: Memory that it may take, bytes; None takes what it needs.
        progress: Called with bytes read so far and in all.

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
    names = as_paths(paths)
    named_once(names)
    if (
        memory_bytes is not None
        and (long := long_table(names, Budget(memory_bytes, TABLE_PACKET_BYTES))) is not None
    ):
        return inspect_stream(long.stream(), files=tuple(names), idle_timeout_s=idle_timeout_s)
    table = read_table_file(names)
    if table is not None:
        return inspect_table(table, files=tuple(names), idle_timeout_s=idle_timeout_s)[0]
    scan = scan_capture(
        names,
        decapsulate=decapsulate,
        idle_timeout_s=idle_timeout_s,
        most_flows=most_flows_in(memory_bytes),
        progress=progress,
    )
    return inspection_of(scan)


def read_packets(
    paths: Paths,
    *,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    memory_bytes: int | None = None,
    progress: Progress | None = None,
) -> PacketTable:
    """Return all packets of captures (read as one) or of a packet table, in memory: about 50 bytes
    a packet.

    Arguments and errors are those of :func:`inspect`, but that packets which do not fit into
    ``memory_bytes`` are refused; None takes what they need.

    Warns:
        CaptureWarning: For each oddity of the input.

    Example:
        >>> import trafficgen
        >>> table = trafficgen.read_packets("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> table
        <PacketTable: 2,069 packets, 3 flows, 61.38 s, 1,892,864 IP bytes>
        >>> print(f"{table.ip_bytes[table.to_client].mean():.0f} IP bytes in a packet to the client")
        920 IP bytes in a packet to the client
    """
    names = as_paths(paths)
    named_once(names)
    budget = None if memory_bytes is None else Budget(memory_bytes, TABLE_PACKET_BYTES)
    if budget is not None and (long := long_table(names, budget)) is not None:
        raise budget.refusal(names[0], packets_in(long.path), remedy=_OTHER_REMEDY, of_table=True)
    table = read_table_file(names)
    if table is not None:
        return inspect_table(table, files=tuple(names), idle_timeout_s=idle_timeout_s)[1]
    try:
        return captured_packets(
            names,
            decapsulate=decapsulate,
            idle_timeout_s=idle_timeout_s,
            most_flows=most_flows_in(memory_bytes),
            most_packets=None if budget is None else budget.most_packets,
            progress=progress,
        )
    except PacketsBeyondLimitError as error:
        assert budget is not None
        raise budget.refusal(
            ", ".join(names), error.packets, remedy=_OTHER_REMEDY, at_least=True
        ) from None


def captured_packets(
    names: list[str],
    *,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    most_flows: int | None = None,
    most_packets: int | None = None,
    progress: Progress | None = None,
) -> PacketTable:
    """Return all packets of captures; arguments are those of
    :func:`trafficgen.capture.read_capture`.

    Raises:
        CaptureError: If a file cannot be read at all.
        PacketsBeyondLimitError: If there are more than ``most_packets``.

    Warns:
        CaptureWarning: For each oddity of the captures.
    """
    read = read_capture(
        names,
        decapsulate=decapsulate,
        idle_timeout_s=idle_timeout_s,
        most_flows=most_flows,
        most_packets=most_packets,
        progress=progress,
    )
    for text in read.scan.warnings:
        warnings.warn(text, CaptureWarning, stacklevel=3)
    return replace(read.table, flows=_grouped(read.scan))


def read_table_file(names: list[str]) -> PacketTable | None:
    """Return the packet table when the input is one, or a trace of another tool that is recognised;
    None for captures.

    Raises:
        PacketTableError: If it cannot be read, or several inputs are given of which one is no
            capture.
    """
    readers = [_table_reader(name) for name in names]
    tables = [name for name, reader in zip(names, readers, strict=True) if reader is not None]
    if not tables:
        return None
    if len(names) > 1:
        raise PacketTableError(
            file=tables[0],
            problem="packet tables are read one at a time",
            remedy="give it alone, or give captures only",
        )
    reader = readers[0]
    return None if reader is None else reader(names[0])


def _table_reader(name: str) -> Callable[[str], PacketTable] | None:
    """Return what reads a packet table, by its ending, or a trace of another tool, by its content;
    None: a capture.
    """
    if Path(name).is_dir():
        return read_dataset
    own = TABLE_READERS.get(Path(name).suffix.lower())
    if own is not None and holds_packet_table(name):
        return own
    if own is None and not _may_be_text(name):
        return None
    from trafficgen.capture.traces import read_trace, refuse_json  # noqa: PLC0415 - captures need no readers of traces

    if is_trace(name):
        return lambda trace: read_trace(trace).table
    if own is read_csv_table:
        return lambda trace: (
            read_trace(trace, format_name="packet-list").table
        )  # says what a list needs
    if own is None:
        refuse_json(name)
    return own


def is_table_file(name: str) -> bool:
    """Return whether a name is that of a packet table: by its ending, or a folder."""
    return Path(name).suffix.lower() in TABLE_READERS or Path(name).is_dir()


def long_table(names: list[str], budget: Budget) -> TableFile | None:
    """Return the packet table among some inputs, opened to be read piece by piece, where it exceeds
    the memory.
    """
    if len(names) != 1 or not is_table_file(names[0]) or is_stream(names[0]):
        return None
    if (
        not (Path(names[0]).is_dir() or holds_packet_table(names[0]))
        or packets_in(names[0]) <= budget.most_packets
    ):
        return None
    return open_table_file(names[0])


def is_trace(name: str) -> bool:
    """Return whether a file is a trace of another tool that is recognised without being told its
    format.
    """
    from trafficgen.capture.traces import PARQUET_ENDING, is_parquet_list, recognised_format  # noqa: PLC0415 - as above

    if Path(name).suffix.lower() == PARQUET_ENDING:
        return is_parquet_list(name)
    return recognised_format(name) is not None


def _may_be_text(name: str) -> bool:
    """Return whether a file may be text by its beginning; a stream, which is read once, is a
    capture.
    """
    if is_stream(name):
        return False
    try:
        with Path(name).open("rb") as stream:
            beginning = stream.read(_SNIFFED_BYTES)
    except (OSError, ValueError):
        return True  # what is tried next says what is wrong with it
    return b"\0" not in beginning or beginning.startswith(
        (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    )


def inspection_of(scan: CaptureScan) -> Inspection:
    """Return what a scan found, its flows grouped to sessions."""
    return Inspection(
        files=scan.files,
        packets=scan.packets,
        ip_packets=scan.ip_packets,
        frame_bytes=scan.frame_bytes,
        start_time_ns=scan.start_time_ns,
        origin_ns=scan.start_time_ns,
        duration_s=scan.duration_s,
        flows=_grouped(scan),
        rtp_streams=scan.rtp_streams,
        signalling=scan.signalling,
        warnings=scan.warnings,
        rates=scan.rates,
    )


def _grouped(scan: CaptureScan) -> pa.Table:
    return group_sessions(
        scan.flows, scan.signalling, rtp_streams=scan.rtp_streams, rtcp_flows=scan.rtcp_flows
    )


def is_stream(name: str) -> bool:
    """Return whether an input can be read only once: standard input, a named pipe, a shell's
    ``<(...)``.
    """
    return name == STANDARD_INPUT or (
        Path(name).exists() and not (Path(name).is_file() or Path(name).is_dir())
    )


@contextmanager
def rereadable(names: list[str]) -> Iterator[list[str]]:
    """Give names that can be read twice: what can be read only once is kept in a temporary file
    meanwhile.
    """
    with ExitStack() as stack:
        real_names = [_spooled(name, stack) if is_stream(name) else name for name in names]
        try:
            yield real_names
        except CaptureError as error:
            given = dict(zip(real_names, names, strict=True)).get(error.file, error.file)
            if given == error.file:
                raise
            raise CaptureError(file=given, problem=error.problem, remedy=error.remedy) from error


def _spooled(name: str, stack: ExitStack) -> str:
    spool_file = tempfile.NamedTemporaryFile(prefix="trafficgen-", suffix=".capture")  # noqa: SIM115
    spool = stack.enter_context(spool_file)
    try:
        with (
            nullcontext(sys.stdin.buffer) if name == STANDARD_INPUT else Path(name).open("rb")
        ) as source:
            shutil.copyfileobj(source, spool)
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise CaptureError(
            file=name, problem=problem, remedy="check the name and the permissions"
        ) from error
    spool.flush()
    return spool.name


def named_once(names: list[str]) -> None:
    """Raise where standard input is named more than once."""
    if names.count(STANDARD_INPUT) > 1:
        problem = "standard input is named more than once"
        raise CaptureError(file=STANDARD_INPUT, problem=problem, remedy="name it once")


def renamed(inspection: Inspection, names: list[str], real_names: list[str]) -> Inspection:
    """Put the names as given back where standard input was read from a temporary file."""
    texts = list(inspection.warnings)
    for name, real in zip(names, real_names, strict=True):
        texts = [text.replace(real, name) for text in texts]
    return replace(inspection, files=tuple(names), warnings=tuple(texts))


def file_text(name: str) -> str:
    """Return a file's name without folders as text: JSON has no place for bytes that are not
    UTF-8.
    """
    return Path(name).name.encode(errors="replace").decode()


def name_in_model(name: str) -> str:
    """Return a file's name without folders as a model keeps it: addresses in it are masked."""
    return redact_addresses(file_text(name))
