"""Open the session of an input that is to be measured: all of its packets, or a window of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture import (
    Progress,
    TableFile,
    packets_in,
    read_capture,
    scan_capture,
    stream_capture,
)
from trafficgen.capture.inputs import (
    Paths,
    as_paths,
    inspection_of,
    long_table,
    named_once,
    read_table_file,
    renamed,
    rereadable,
)
from trafficgen.capture.memory import Budget, most_flows_in, weight_of
from trafficgen.errors import SelectionError
from trafficgen.flows import (
    Inspection,
    SessionView,
    all_sessions,
    choose_session,
    heaviest_session,
    inspect_stream,
    inspect_table,
    turned_round,
)
from trafficgen.flows.selection import NO_MEDIA_REMEDY
from trafficgen.tables import PacketTable
from trafficgen.units import ns_from_s


@dataclass(frozen=True)
class OpenedSession:
    """The session of an input that is to be measured.

    Attributes:
        inspection: What is in the whole input.
        view: The session's packets.
    """

    inspection: Inspection
    view: SessionView


@dataclass(frozen=True)
class TimeWindow:
    """A part of an input by time, s after its first packet.

    Attributes:
        from_s: Packets from this time on.
        to_s: Packets before this time; infinite for all to the end.

    Raises:
        ValueError: If the window is empty or begins before the input.
    """

    from_s: float = 0.0
    to_s: float = math.inf

    def __post_init__(self) -> None:
        if not 0 <= self.from_s < self.to_s:
            raise ValueError(
                f"a window needs 0 <= from_s < to_s, got from {self.from_s:g} to {self.to_s:g} s"
            )

    @property
    def is_whole(self) -> bool:
        """Whether nothing is cut."""
        return self.from_s == 0 and self.to_s == math.inf

    def __str__(self) -> str:
        end = "the end" if self.to_s == math.inf else f"{self.to_s:g} s"
        return f"{self.from_s:g} s to {end}"


def open_session(
    paths: Paths,
    *,
    flow: int | None = None,
    session: int | None = None,
    every: bool = False,
    together: Collection[int] | None = None,
    upload: bool | None = False,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    budget: Budget | None = None,
    window: TimeWindow | None = None,
    progress: Progress | None = None,
) -> OpenedSession:
    """Return the packets of one session (or flow) of an input, and what is in the whole.

    Captures are read twice: once to find the flows, once to keep the packets of the session alone.

    Args:
        paths: As for :func:`inspect`.
        flow: Number of a flow that is to be taken alone.
        session: Number of a session; without a choice, the one that carries most bytes to a client.
        every: Take all sessions as one.
        together: Sessions that are taken as one, of a capture; of a packet table all are.
        upload: Turn all flows round: what goes to a server is taken for what goes to a client. None
            turns them where more payload goes to the servers than to the clients, of what is
            chosen.
        decapsulate: As for :func:`inspect`.
        idle_timeout_s: As for :func:`inspect`.
        budget: Memory for the packets; None takes what they need.
        window: Packets of the session outside of it are left out; flows and sessions stay those of
            the whole input. None where the caller has no window to offer.
        progress: As for :func:`inspect`.

    Raises:
        InputFileError: If an input cannot be read at all, or has more packets than the memory
            holds.
        SelectionError: If there is no such flow or session, or nothing that carries payload to a
            client.
    """
    names = as_paths(paths)
    named_once(names)
    choice = _Choice(flow, session, every or together is not None, upload, together)
    how = _How(decapsulate, idle_timeout_s, budget, window, progress)
    try:
        if budget is not None and (long := long_table(names, budget)) is not None:
            return _openedlong_table(long, choice, how)
        table = read_table_file(names)
        return (
            _opened_captures(names, choice, how)
            if table is None
            else _opened_table(table, names, choice, how)
        )
    except SelectionError as error:
        raise error.at(", ".join(names)) from None


@dataclass(frozen=True)
class _Choice:
    """Which packets of an input are looked at."""

    flow: int | None
    session: int | None
    every: bool
    upload: bool | None
    together: Collection[int] | None

    def is_upload(self, flows: pa.Table) -> bool:
        return (
            _is_upload(flows, flow=self.flow, session=self.session)
            if self.upload is None
            else self.upload
        )

    def view(self, table: PacketTable) -> SessionView:
        return (
            all_sessions(table)
            if self.every
            else choose_session(table, flow=self.flow, session=self.session)
        )

    def settled(self, flows: pa.Table) -> _Choice:
        """Return the choice with the session that is taken without one."""
        if self.every or self.flow is not None or self.session is not None:
            return self
        return replace(self, session=heaviest_session(flows))


@dataclass(frozen=True)
class _How:
    """How an input is read."""

    decapsulate: bool
    idle_timeout_s: float | None
    budget: Budget | None
    window: TimeWindow | None
    progress: Progress | None


def _opened_table(
    table: PacketTable, names: list[str], choice: _Choice, how: _How
) -> OpenedSession:
    inspection, measured = inspect_table(
        table, files=tuple(names), idle_timeout_s=how.idle_timeout_s
    )
    if choice.is_upload(inspection.flows):
        inspection, measured = inspect_table(
            turned_round(table), files=tuple(names), idle_timeout_s=how.idle_timeout_s
        )
    return OpenedSession(inspection, choice.view(_cut(measured, None, inspection, how)))


def _opened_captures(names: list[str], choice: _Choice, how: _How) -> OpenedSession:
    with rereadable(names) as real_names:
        scan = scan_capture(
            real_names,
            decapsulate=how.decapsulate,
            idle_timeout_s=how.idle_timeout_s,
            most_flows=None if how.budget is None else most_flows_in(how.budget.memory_bytes),
            progress=how.progress,
        )
        inspection = renamed(inspection_of(scan), names, real_names)
        upload = choice.is_upload(inspection.flows)
        if upload:
            inspection = inspection.turned_round()
        wanted = _wanted_flows(inspection, choice)
        _refuse_too_many(inspection, wanted, how)
        if how.window is None or how.window.is_whole:
            table = read_capture(
                real_names,
                decapsulate=how.decapsulate,
                idle_timeout_s=how.idle_timeout_s,
                flows=wanted,
                scan=scan,
                progress=how.progress,
            ).table
        else:
            stream = stream_capture(
                real_names,
                scan,
                decapsulate=how.decapsulate,
                idle_timeout_s=how.idle_timeout_s,
                flows=wanted,
                progress=how.progress,
            )
            table = _cut(stream.head, stream.pieces, inspection, how)
    table = replace(turned_round(table) if upload else table, flows=inspection.flows)
    return OpenedSession(inspection, choice.settled(inspection.flows).view(table))


def _openedlong_table(table: TableFile, choice: _Choice, how: _How) -> OpenedSession:
    """Return a session of a packet table of which not all fits into the memory."""
    assert how.budget is not None
    name = str(table.path)
    if how.idle_timeout_s is not None:
        remedy = "or leave --idle-timeout out"
        raise how.budget.refusal(name, packets_in(table.path), remedy=remedy, of_table=True)
    inspection = inspect_stream(table.stream(), files=(name,))
    upload = choice.is_upload(inspection.flows)
    if upload:
        inspection = inspection.turned_round()
    wanted = _wanted_flows(inspection, choice)
    _refuse_too_many(inspection, wanted, how)
    stream = table.stream(wanted)
    packets = _cut(stream.head, stream.pieces, inspection, how)
    packets = replace(turned_round(packets) if upload else packets, flows=inspection.flows)
    return OpenedSession(inspection, choice.settled(inspection.flows).view(packets))


def _refuse_too_many(inspection: Inspection, wanted: list[int], how: _How) -> None:
    """Raise where the flows that are wanted, all of them, do not fit into the memory."""
    if how.window is None or how.window.is_whole:
        _refuse_beyond(weight_of(inspection.flows, wanted), inspection, how)


def _refuse_beyond(packets: int, inspection: Inspection, how: _How, *, more: bool = False) -> None:
    """Raise where so many packets, or ``more`` than so many, do not fit into the memory."""
    if how.budget is None or packets <= how.budget.most_packets:
        return
    remedy = (
        "choose a shorter --flow or --session, or cut the input (editcap does that for captures)"
        if how.window is None
        else "or fit a window of the session (--from 5min --to 25min)"
    )
    raise how.budget.refusal(", ".join(inspection.files), packets, remedy=remedy, at_least=more)


def _cut(
    table: PacketTable, pieces: Iterable[pa.Table] | None, inspection: Inspection, how: _How
) -> PacketTable:
    """Return a table with packets of a session, those outside of the window left out.

    Reports of RTCP before the window stay: their counts are what later ones go on from.

    Args:
        table: All but the packets.
        pieces: The packets in order of time; None where the table has them.
        inspection: What is in the input.
        how: The window and the memory.

    Raises:
        InputFileError: If more packets are in the window than the memory holds.
        SelectionError: If no packet is in the window.
    """
    pieces = [table.packets] if pieces is None else pieces
    if how.window is None or how.window.is_whole:
        return replace(table, packets=pa.concat_tables(list(pieces)))
    zero_ns = inspection.start_time_ns - inspection.origin_ns
    from_ns = zero_ns + ns_from_s(how.window.from_s)
    to_ns = zero_ns + ns_from_s(min(how.window.to_s, inspection.duration_s + 1))
    kept: list[pa.Table] = []
    packets = 0
    for piece in pieces:
        inside = (pc.field("time_ns") >= from_ns) & (pc.field("time_ns") < to_ns)
        kept.append(piece.filter(inside))
        packets += kept[-1].num_rows
        _refuse_beyond(packets, inspection, how, more=True)
    if not packets:
        raise SelectionError(
            what=f"packet of the session from {how.window}",
            available=f"the input lasts {inspection.duration_s:.6g} s",
        )
    rtcp = table.rtcp.filter(pc.field("time_ns") < to_ns)
    return replace(table, packets=pa.concat_tables(kept), rtcp=rtcp)


def _is_upload(flows: pa.Table, *, flow: int | None, session: int | None) -> bool:
    """Return whether more payload goes to the servers than to the clients, of a flow, a session or
    all flows.
    """
    for name, wanted in (("flow", flow), ("session", session)):
        if wanted is not None:
            flows = flows.filter(pc.equal(flows.column(name), wanted))
    to_server, to_client = (
        pc.sum(flows.column(f"payload_bytes_to_{end}")).as_py() or 0 for end in ("server", "client")
    )
    return bool(to_server > to_client)


def _wanted_flows(inspection: Inspection, choice: _Choice) -> list[int]:
    """Return the flows whose packets are needed; an unknown choice is left for ``choose_session``
    to refuse.
    """
    columns = inspection.flows.select(["flow", "session"]).to_pydict()
    if choice.together is not None:
        chosen = set(choice.together)
        return [
            number
            for number, its in zip(columns["flow"], columns["session"], strict=True)
            if its in chosen
        ]
    if choice.every:
        return list(columns["flow"])
    if choice.flow is not None:
        return [number for number in columns["flow"] if number == choice.flow]
    session = choice.settled(inspection.flows).session
    if session is None:
        raise SelectionError(
            what="media packet",
            available=(
                f"none of the {inspection.ip_packets} IP packets carries payload to a client; "
            )
            + NO_MEDIA_REMEDY,
        )
    return [
        number
        for number, its in zip(columns["flow"], columns["session"], strict=True)
        if its == session
    ]
