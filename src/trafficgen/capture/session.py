"""The session of an input that is measured: all of its packets, or, where they do not fit into the
memory, a part.
"""

from __future__ import annotations

from collections.abc import Collection
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
from trafficgen.capture.memory import Budget, condensed_session, most_flows_in, weight_of
from trafficgen.errors import CaptureError, SelectionError
from trafficgen.flows import (
    CondensedSession,
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
from trafficgen.tables.stream import PacketStream


@dataclass(frozen=True)
class OpenedSession:
    """The session of an input that is to be measured.

    Attributes:
        inspection: What is in the whole input.
        view: The session's packets.
        condensed: What part of the session the packets are, where it has more than the memory
            holds; else None.
    """

    inspection: Inspection
    view: SessionView
    condensed: CondensedSession | None = None


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
    condense_seed: int | None = None,
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
        condense_seed: Seed by which a session that does not fit is condensed; None refuses it.
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
    how = _How(decapsulate, idle_timeout_s, budget, condense_seed, progress)
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
    condense_seed: int | None
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
    return OpenedSession(inspection, choice.view(measured))


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
        if _does_not_fit(inspection, wanted, how):
            stream = stream_capture(
                real_names,
                scan,
                decapsulate=how.decapsulate,
                idle_timeout_s=how.idle_timeout_s,
                flows=wanted,
                progress=how.progress,
            )
            return _opened_part(stream, inspection, wanted, choice, how, upload=upload)
        read = read_capture(
            real_names,
            decapsulate=how.decapsulate,
            idle_timeout_s=how.idle_timeout_s,
            flows=wanted,
            scan=scan,
            progress=how.progress,
        )
    packets = turned_round(read.table) if upload else read.table
    table = replace(packets, flows=inspection.flows)
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
    stream = table.stream(wanted)
    if _does_not_fit(inspection, wanted, how):
        return _opened_part(stream, inspection, wanted, choice, how, upload=upload)
    packets = replace(stream.head, packets=pa.concat_tables(list(stream.pieces)))
    packets = replace(turned_round(packets) if upload else packets, flows=inspection.flows)
    return OpenedSession(inspection, choice.settled(inspection.flows).view(packets))


def _does_not_fit(inspection: Inspection, wanted: list[int], how: _How) -> bool:
    return how.budget is not None and weight_of(inspection.flows, wanted) > how.budget.most_packets


def _opened_part(
    stream: PacketStream,
    inspection: Inspection,
    wanted: list[int],
    choice: _Choice,
    how: _How,
    *,
    upload: bool,
) -> OpenedSession:
    """Return as much of a session as fits into the memory.

    Raises:
        InputFileError: If it is not to be condensed.
    """
    assert how.budget is not None
    name = ", ".join(inspection.files)
    if how.condense_seed is None or choice.every:
        remedy = (
            "choose a shorter --flow or --session, or cut the input (editcap does that for"
            " captures)"
        )
        raise how.budget.refusal(name, weight_of(inspection.flows, wanted), remedy=remedy)
    settled = choice.settled(inspection.flows)
    try:
        view, condensed = condensed_session(
            stream,
            inspection,
            wanted,
            budget=how.budget,
            seed=how.condense_seed,
            upload=upload,
            flow=settled.flow,
            session=settled.session,
        )
    except ValueError as error:
        problem = f"has changed while it was read ({error})"
        raise CaptureError(
            file=name, problem=problem, remedy="copy it, and give the copy"
        ) from error
    return OpenedSession(inspection, view, condensed)


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
