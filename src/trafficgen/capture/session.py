"""Open the session of an input that is to be measured: all of its packets, or a window of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.capture.inputs import (
    Paths,
    find_long_table,
    input_names,
    keep_streams,
    read_table_file,
)
from trafficgen.capture.memory import FIT_PACKET_BYTES, Budget, count_pieces, weight_of
from trafficgen.capture.options import ReadOptions, SessionChoice, TimeWindow
from trafficgen.capture.reading import read_flows, stream_capture
from trafficgen.capture.scan import scan_capture
from trafficgen.capture.table_files import check_table
from trafficgen.capture.table_streams import TableFile, packets_in
from trafficgen.errors import CaptureWarning, SelectionError, warn
from trafficgen.flows import (
    Inspection,
    SessionView,
    all_sessions,
    choose_session,
    heaviest_session,
    inspect_stream,
    inspect_table,
    swap_ends,
)
from trafficgen.flows.selection import no_media_error
from trafficgen.formatting import format_duration
from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.units import ns_from_s, s_from_ns

_NO_UPLOAD = "nothing carries payload to a server; leave [{}] out"


@dataclass(frozen=True)
class OpenedSession:
    """The session of an input that is to be measured.

    Attributes:
        inspection: What is in the whole input.
        view: The session's packets.
    """

    inspection: Inspection
    view: SessionView


def open_session(
    paths: Paths | PacketTable,
    choice: SessionChoice | None = None,
    options: ReadOptions | None = None,
    *,
    packet_bytes: int = FIT_PACKET_BYTES,
    window: TimeWindow | None = None,
    upload_flag: str = "--upload",
) -> OpenedSession:
    """Return the packets of one session (or flow) of an input, and a summary of the whole.

    Captures are read twice: once to find the flows, once to keep the packets of the session alone.
    Without a choice it is the session that carries most bytes to a client. Its packets take
    ``packet_bytes`` of memory each. Those outside of ``window`` are left out; flows and sessions
    stay those of the whole input. Without a window all packets stay. ``upload_flag`` is the option
    that chooses the other direction, for messages.

    Raises:
        InputFileError: If an input cannot be read at all, or has more packets than memory holds.
        SelectionError: If there is no such flow or session, or nothing that carries payload to a
            client.
    """
    names, options = input_names(paths), options or ReadOptions()
    opening = _Opening(
        tuple(names),
        choice or SessionChoice(),
        options,
        Budget(options.memory_bytes, packet_bytes),
        window,
    )
    try:
        if isinstance(paths, PacketTable):
            return opening.open_table(check_table(paths, ", ".join(names)))
        if (long := find_long_table(names, opening.budget)) is not None:
            return opening.open_long_table(long)
        table = read_table_file(names)
        return opening.open_captures() if table is None else opening.open_table(table)
    except SelectionError as error:
        if error.what.startswith("media packet"):
            what, available = error.what, f"{error.available} ([{upload_flag}])"
            if opening.choice.upload:
                what, available = what.replace("media", "uploaded"), _NO_UPLOAD.format(upload_flag)
            error = SelectionError(what=what, available=available)
        raise error.prepend_place(", ".join(names)) from None


@dataclass(frozen=True)
class _Opening:
    """One input that is opened, and which packets of it are wanted."""

    names: tuple[str, ...]
    choice: SessionChoice
    options: ReadOptions
    budget: Budget
    window: TimeWindow | None

    def open_table(self, table: PacketTable) -> OpenedSession:
        timeout_s = self.options.idle_timeout_s
        inspection, measured = inspect_table(table, files=self.names, idle_timeout_s=timeout_s)
        if self._is_upload(inspection.flows):
            inspection, measured = inspect_table(
                swap_ends(table), files=self.names, idle_timeout_s=timeout_s
            )
        cut = self._cut(measured, [measured.packets], inspection)
        view = _choose(cut, self.choice)
        if (pieces := count_pieces(compact_ip_bytes(view.table))) > len(view.table):
            self._refuse_beyond(pieces, inspection)
        return OpenedSession(inspection, view)

    def open_captures(self) -> OpenedSession:
        with keep_streams(list(self.names)) as real_names:
            scan = scan_capture(real_names, self.options)
            found = _name_as_given(scan.inspection, self.names, real_names)
            wanted = self._choose_flows(found)
            if self.is_whole:
                table = read_flows(scan, wanted.flows)
            else:
                stream = stream_capture(scan, wanted.flows)
                table = self._cut(stream.head, stream.pieces, wanted.inspection)
        return self._view(table, wanted)

    def open_long_table(self, table: TableFile) -> OpenedSession:
        """Open a session of a packet table that does not fit into memory."""
        name = str(table.path)
        if self.options.idle_timeout_s is not None:
            remedy = "or leave [--idle-timeout] out"
            raise self.budget.refusal(name, packets_in(table.path), remedy=remedy, of_table=True)
        wanted = self._choose_flows(inspect_stream(table.stream(), files=(name,)))
        stream = table.stream(wanted.flows)
        return self._view(self._cut(stream.head, stream.pieces, wanted.inspection), wanted)

    @property
    def is_whole(self) -> bool:
        return self.window is None or self.window.is_whole

    def _choose_flows(self, found: Inspection) -> _WantedFlows:
        """Return the flows whose packets are needed; raise if they do not fit into memory."""
        upload = self._is_upload(found.flows)
        inspection = found.swap_ends() if upload else found
        flows = _wanted_flows(inspection, self.choice)
        if self.is_whole:
            self._refuse_beyond(weight_of(inspection.flows, flows), inspection)
        return _WantedFlows(inspection, flows, upload)

    def _view(self, table: PacketTable, wanted: _WantedFlows) -> OpenedSession:
        """Return the session among the packets of the flows that were wanted."""
        flows = wanted.inspection.flows
        table = replace(swap_ends(table) if wanted.upload else table, flows=flows)
        return OpenedSession(wanted.inspection, _choose(table, _settle(self.choice, flows)))

    def _is_upload(self, flows: pa.Table) -> bool:
        """Return whether servers and clients are exchanged."""
        if self.choice.upload is not None:
            return self.choice.upload
        for name in ("flow", "session"):
            if (number := getattr(self.choice, name)) is not None:
                flows = flows.filter(pc.equal(flows.column(name), number))
        to_server, to_client = (
            pc.sum(flows.column(f"payload_bytes_to_{end}")).as_py() or 0
            for end in ("server", "client")
        )
        return bool(to_server > to_client)

    def _refuse_beyond(self, packets: int, inspection: Inspection, *, more: bool = False) -> None:
        """Raise if this many packets, or ``more`` than this many, do not fit into memory."""
        if self.budget.holds(packets):
            return
        remedy = (
            "choose a shorter [--flow|flow] or [--session|session], or cut the input (editcap does"
            " that for captures)"
            if self.window is None
            else "or take a window of the session ([--from 5min] [--to 25min|to_s='25min'])"
        )
        raise self.budget.refusal(
            ", ".join(inspection.files), packets, remedy=remedy, at_least=more
        )

    def _cut(
        self, table: PacketTable, pieces: Iterable[pa.Table], inspection: Inspection
    ) -> PacketTable:
        """Return a session's table with the packets that lie in the window.

        Reports of RTCP before the window stay: later reports go on from their counts.

        Raises:
            InputFileError: If more packets are in the window than memory holds.
            SelectionError: If no packet is in the window.

        Warns:
            CaptureWarning: If the window ends after the input.
        """
        if self.window is None or self.window.is_whole:
            return replace(table, packets=pa.concat_tables(list(pieces)))
        zero_ns = inspection.start_time_ns - inspection.origin_ns
        from_ns = zero_ns + ns_from_s(self.window.from_s)
        to_ns = zero_ns + ns_from_s(min(self.window.to_s, inspection.duration_s + 1))
        kept: list[pa.Table] = []
        times_ns: list[int] = []  # of the first and last packet of each piece
        weight = 0
        for piece in pieces:
            if len(piece):
                times_ns += pc.min_max(piece.column("time_ns")).as_py().values()
            inside = (pc.field("time_ns") >= from_ns) & (pc.field("time_ns") < to_ns)
            kept.append(piece.filter(inside))
            weight += count_pieces(kept[-1].column("ip_bytes").to_numpy())
            self._refuse_beyond(weight, inspection, more=True)
        if not weight:
            begin, end = (
                format_duration(s_from_ns(one(times_ns, default=zero_ns) - zero_ns))
                for one in (min, max)
            )
            raise SelectionError(
                what=f"packet of the session from {self.window}",
                available=f"it lasts from {begin} to {end}",
            )
        if inspection.duration_s < self.window.to_s < math.inf:
            lasts = f"the input lasts {format_duration(inspection.duration_s)}"
            text = f"the window {self.window} ends after the input; {lasts}"
            warn(f"{', '.join(self.names)}: {text}", CaptureWarning)
        rtcp = table.rtcp.filter(pc.field("time_ns") < to_ns)
        return replace(table, packets=pa.concat_tables(kept), rtcp=rtcp)


@dataclass(frozen=True)
class _WantedFlows:
    """What is in an input, which flows are wanted, and whether these are an upload."""

    inspection: Inspection
    flows: list[int]
    upload: bool


def _name_as_given(found: Inspection, names: Sequence[str], real_names: list[str]) -> Inspection:
    """Put the given names in place of those of temporary files."""
    texts = list(found.warnings)
    for name, real in zip(names, real_names, strict=True):
        texts = [text.replace(real, name) for text in texts]
    return replace(found, files=tuple(names), warnings=tuple(texts))


def _takes_every(choice: SessionChoice) -> bool:
    return choice.every or choice.together is not None


def _choose(table: PacketTable, choice: SessionChoice) -> SessionView:
    if _takes_every(choice):
        return all_sessions(table)
    return choose_session(table, flow=choice.flow, session=choice.session)


def _settle(choice: SessionChoice, flows: pa.Table) -> SessionChoice:
    """Return the choice with the heaviest session where none was chosen."""
    if _takes_every(choice) or choice.flow is not None or choice.session is not None:
        return choice
    return replace(choice, session=heaviest_session(flows))


def _wanted_flows(inspection: Inspection, choice: SessionChoice) -> list[int]:
    """Return the flows whose packets are needed; ``choose_session`` refuses unknown choices."""
    columns = inspection.flows.select(["flow", "session"]).to_pydict()
    flows: list[int] = columns["flow"]
    if choice.together is None and choice.every:
        return flows
    if choice.together is None and choice.flow is not None:
        return [number for number in flows if number == choice.flow]
    sessions = choice.together
    if sessions is None:
        session = _settle(choice, inspection.flows).session
        if session is None:
            raise no_media_error(
                inspection.ip_packets,
                noun="IP packets",
                is_empty=not inspection.packets,
                problems=inspection.warnings,
            )
        sessions = [session]
    chosen = set(sessions)
    return [flow for flow, its in zip(flows, columns["session"], strict=True) if its in chosen]
