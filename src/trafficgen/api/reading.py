"""Inputs of the commands: captures, packet tables and standard input, as flows or as the packets of one session."""

from __future__ import annotations

import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture import (
    CaptureScan,
    Progress,
    holds_packet_table,
    read_capture,
    read_csv_table,
    read_dataset,
    read_parquet_table,
    scan_capture,
)
from trafficgen.capture.traces import PARQUET_ENDING, is_parquet_list, read_trace, recognised_format, refuse_json
from trafficgen.errors import CaptureError, CaptureWarning, PacketTableError, SelectionError
from trafficgen.flows import (
    Inspection,
    SessionView,
    all_sessions,
    choose_session,
    group_sessions,
    heaviest_session,
    inspect_table,
    turned_round,
)
from trafficgen.flows.selection import NO_MEDIA_REMEDY
from trafficgen.tables import PacketTable

_TABLE_READERS = {".parquet": read_parquet_table, ".csv": read_csv_table}
STANDARD_INPUT = "-"

Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class OpenedSession:
    """The session of an input that is to be measured.

    Attributes:
        inspection: What is in the whole input.
        view: The session's packets.
    """

    inspection: Inspection
    view: SessionView


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
    progress: Progress | None = None,
) -> Inspection:
    """Return what is in captures (read as one) or in a packet table: flows, RTP streams, sessions, oddities.

    Captures are read in bounded memory: it grows with the number of flows, not of packets.

    Args:
        paths: One or several capture files, one packet table, or one trace of another tool that is recognised by its
            content (see :func:`~trafficgen.convert`); ``-`` is standard input, for a capture.
        decapsulate: Whether tunnels are looked into; otherwise their packets count for the outer flow.
        idle_timeout_s: Silence after which a 5-tuple's packets are a new flow, s; None never splits.
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
    _read_once(names)
    table = read_table_file(names)
    if table is not None:
        return inspect_table(table, files=tuple(names), idle_timeout_s=idle_timeout_s)[0]
    scan = scan_capture(names, decapsulate=decapsulate, idle_timeout_s=idle_timeout_s, progress=progress)
    return _inspection(scan)


def read_packets(
    paths: Paths,
    *,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    progress: Progress | None = None,
) -> PacketTable:
    """Return all packets of captures (read as one) or of a packet table, in memory: about 50 bytes a packet.

    Arguments and errors are those of :func:`inspect`.

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
    _read_once(names)
    table = read_table_file(names)
    if table is not None:
        return inspect_table(table, files=tuple(names), idle_timeout_s=idle_timeout_s)[1]
    read = read_capture(names, decapsulate=decapsulate, idle_timeout_s=idle_timeout_s, progress=progress)
    for text in read.scan.warnings:
        warnings.warn(text, CaptureWarning, stacklevel=2)
    return replace(read.table, flows=_grouped(read.scan))


def open_session(
    paths: Paths,
    *,
    flow: int | None = None,
    session: int | None = None,
    every: bool = False,
    upload: bool | None = False,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    progress: Progress | None = None,
) -> OpenedSession:
    """Return the packets of one session (or flow) of an input, and what is in the whole.

    Captures are read twice: once to find the flows, once to keep the packets of the session alone.

    Args:
        paths: As for :func:`inspect`.
        flow: Number of a flow that is to be taken alone.
        session: Number of a session; without a choice, the one that carries most bytes to a client.
        every: Take all sessions as one.
        upload: Turn all flows round: what goes to a server is taken for what goes to a client. None turns them where
            more payload goes to the servers than to the clients, of what is chosen.
        decapsulate: As for :func:`inspect`.
        idle_timeout_s: As for :func:`inspect`.
        progress: As for :func:`inspect`.

    Raises:
        InputFileError: If an input cannot be read at all.
        SelectionError: If there is no such flow or session, or nothing that carries payload to a client.
    """
    names = as_paths(paths)
    _read_once(names)
    try:
        return _opened_session(
            names,
            flow=flow,
            session=session,
            every=every,
            upload=upload,
            decapsulate=decapsulate,
            idle_timeout_s=idle_timeout_s,
            progress=progress,
        )
    except SelectionError as error:
        raise error.at(", ".join(names)) from None


def _opened_session(
    names: list[str],
    *,
    flow: int | None,
    session: int | None,
    every: bool,
    upload: bool | None,
    decapsulate: bool,
    idle_timeout_s: float | None,
    progress: Progress | None,
) -> OpenedSession:
    table = read_table_file(names)
    if table is not None:
        inspection, measured = inspect_table(table, files=tuple(names), idle_timeout_s=idle_timeout_s)
        if upload or (upload is None and _is_upload(inspection.flows, flow=flow, session=session)):
            inspection, measured = inspect_table(turned_round(table), files=tuple(names), idle_timeout_s=idle_timeout_s)
        table = measured
        return OpenedSession(inspection, _view(table, flow=flow, session=session, every=every))
    with _rereadable(names) as real_names:
        scan = scan_capture(real_names, decapsulate=decapsulate, idle_timeout_s=idle_timeout_s, progress=progress)
        inspection = _renamed(_inspection(scan), names, real_names)
        if upload is None:
            upload = _is_upload(inspection.flows, flow=flow, session=session)
        if upload:
            inspection = inspection.turned_round()
        wanted = _wanted_flows(inspection, flow=flow, session=session, every=every)
        read = read_capture(
            real_names,
            decapsulate=decapsulate,
            idle_timeout_s=idle_timeout_s,
            flows=wanted,
            scan=scan,
            progress=progress,
        )
    packets = turned_round(read.table) if upload else read.table
    table = replace(packets, flows=inspection.flows)
    if not every and flow is None and session is None:
        session = heaviest_session(inspection.flows)
    return OpenedSession(inspection, _view(table, flow=flow, session=session, every=every))


def read_table_file(names: list[str]) -> PacketTable | None:
    """Return the packet table when the input is one, or a trace of another tool that is recognised; None for captures.

    Raises:
        PacketTableError: If it cannot be read, or several inputs are given of which one is no capture.
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
    """Return what reads a packet table, by its ending, or a trace of another tool, by its content; None: a capture."""
    if Path(name).is_dir():
        return read_dataset
    own = _TABLE_READERS.get(Path(name).suffix.lower())
    if own is not None and holds_packet_table(name):
        return own
    if is_trace(name):
        return lambda trace: read_trace(trace).table
    if own is read_csv_table:
        return lambda trace: read_trace(trace, format_name="packet-list").table  # says what a list needs
    if own is None:
        refuse_json(name)
    return own


def is_trace(name: str) -> bool:
    """Return whether a file is a trace of another tool that is recognised without being told its format."""
    if Path(name).suffix.lower() == PARQUET_ENDING:
        return is_parquet_list(name)
    return recognised_format(name) is not None


def _inspection(scan: CaptureScan) -> Inspection:
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
    return group_sessions(scan.flows, scan.signalling, rtp_streams=scan.rtp_streams, rtcp_flows=scan.rtcp_flows)


def _view(table: PacketTable, *, flow: int | None, session: int | None, every: bool) -> SessionView:
    return all_sessions(table) if every else choose_session(table, flow=flow, session=session)


def _is_upload(flows: pa.Table, *, flow: int | None, session: int | None) -> bool:
    """Return whether more payload goes to the servers than to the clients, of a flow, a session or all flows."""
    for name, wanted in (("flow", flow), ("session", session)):
        if wanted is not None:
            flows = flows.filter(pc.equal(flows.column(name), wanted))
    to_server, to_client = (
        pc.sum(flows.column(f"payload_bytes_to_{end}")).as_py() or 0 for end in ("server", "client")
    )
    return bool(to_server > to_client)


def _wanted_flows(inspection: Inspection, *, flow: int | None, session: int | None, every: bool) -> list[int]:
    """Return the flows whose packets are needed; an unknown choice is left for ``choose_session`` to refuse."""
    columns = inspection.flows.select(["flow", "session"]).to_pydict()
    if every:
        return list(columns["flow"])
    if flow is not None:
        return [number for number in columns["flow"] if number == flow]
    if session is None:
        session = heaviest_session(inspection.flows)
        if session is None:
            raise SelectionError(
                what="media packet",
                available=f"none of the {inspection.ip_packets} IP packets carries payload to a client; "
                + NO_MEDIA_REMEDY,
            )
    return [number for number, its in zip(columns["flow"], columns["session"], strict=True) if its == session]


def is_stream(name: str) -> bool:
    """Return whether an input can be read only once: standard input, a named pipe, a shell's ``<(...)``."""
    return name == STANDARD_INPUT or (Path(name).exists() and not (Path(name).is_file() or Path(name).is_dir()))


@contextmanager
def _rereadable(names: list[str]) -> Iterator[list[str]]:
    """Give names that can be read twice: what can be read only once is kept in a temporary file meanwhile."""
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
    spool = stack.enter_context(tempfile.NamedTemporaryFile(prefix="trafficgen-", suffix=".capture"))  # noqa: SIM115
    try:
        with nullcontext(sys.stdin.buffer) if name == STANDARD_INPUT else Path(name).open("rb") as source:
            shutil.copyfileobj(source, spool)
    except OSError as error:
        problem = f"cannot be read ({error.strerror or error})"
        raise CaptureError(file=name, problem=problem, remedy="check the name and the permissions") from error
    spool.flush()
    return spool.name


def _read_once(names: list[str]) -> None:
    if names.count(STANDARD_INPUT) > 1:
        problem = "standard input is named more than once"
        raise CaptureError(file=STANDARD_INPUT, problem=problem, remedy="name it once")


def _renamed(inspection: Inspection, names: list[str], real_names: list[str]) -> Inspection:
    """Put the names as given back where standard input was read from a temporary file."""
    texts = list(inspection.warnings)
    for name, real in zip(names, real_names, strict=True):
        texts = [text.replace(real, name) for text in texts]
    return replace(inspection, files=tuple(names), warnings=tuple(texts))


def file_text(name: str) -> str:
    """Return a file's name without folders as text: JSON has no place for bytes that are not UTF-8."""
    return Path(name).name.encode(errors="replace").decode()
