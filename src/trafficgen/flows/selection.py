"""Choose the packets that are looked at: one session or flow, its direction, and its media."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import SelectionError
from trafficgen.formatting import list_first
from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.units import BLOCK, BoolArray, IntArray

_Number = TypeVar("_Number", bound=np.generic)
#: Phases whose packets are not media: capacity probes and control messages.
_NOT_MEDIA = ("probe", "signalling")
_PAIRS = (
    ("server", "client"),
    ("server_port", "client_port"),
    ("packets_to_client", "packets_to_server"),
    ("frame_bytes_to_client", "frame_bytes_to_server"),
    ("payload_bytes_to_client", "payload_bytes_to_server"),
)
#: As many numbers as an error message lists before it breaks off.
_LISTED = 12
_NO_MEDIA_REMEDY = "give a capture of what a server sends to a client, or take the other direction"


@dataclass(frozen=True)
class SessionView:
    """The packets of one session, in order of time, and which of its flows carry media.

    Attributes:
        session: Number of the session in the flow table.
        flows: Numbers of the session's flows that are looked at, ascending.
        media_flows: Those of them that carry media packets, heaviest (most IP bytes of media)
            first.
        table: The packets of ``flows``; the flow table is whole.
        alone: Whether one flow was chosen by its number.
    """

    session: int
    flows: tuple[int, ...]
    media_flows: tuple[int, ...]
    table: PacketTable
    alone: bool = False

    @property
    def heaviest_flow(self) -> int:
        """Number of the flow that carries most IP bytes of media."""
        return self.media_flows[0]

    def clock_hz(self, flow: int) -> int | None:
        """Return the RTP timestamp clock of a flow, Hz; None where it is not known."""
        (place,) = np.flatnonzero(self.table.flows.column("flow").to_numpy() == flow)
        clock_hz: int | None = self.table.flows.column("clock_hz")[int(place)].as_py()
        return clock_hz

    @cached_property
    def media(self) -> BoolArray:
        """Where a packet of ``table`` is a media packet, shape (n,)."""
        return media_packets(self.table)

    @cached_property
    def media_time_ns(self) -> IntArray:
        """Times of the media packets, ns from the table's origin, ascending, shape (m,)."""
        return select_rows(self.table.time_ns, self.media)

    @cached_property
    def media_ip_bytes(self) -> IntArray:
        """IP total lengths of the media packets, bytes, in 32 bits where they fit, shape (m,)."""
        return select_rows(compact_ip_bytes(self.table), self.media)

    @property
    def first_media_ns(self) -> int:
        """Time of the first media packet, ns from the table's origin: the zero of a fit's times."""
        return int(self.media_time_ns[0])


def choose_session(
    table: PacketTable, *, flow: int | None = None, session: int | None = None
) -> SessionView:
    """Return the session to be measured.

    Without a choice it is the one that carries most IP bytes to a client; a flow is taken alone.

    Raises:
        SelectionError: If there is no such flow or session, or nothing in it that carries payload
            to a client.
        ValueError: If both a flow and a session are given.
    """
    if flow is not None and session is not None:
        raise ValueError("give a flow or a session, not both")
    table = table.sort_by_time()
    columns = table.flows.select(["flow", "session"]).to_pydict()
    session_of = dict(zip(columns["flow"], columns["session"], strict=True))
    media_bytes = _weigh_flows(table, media_packets(table))
    if flow is not None:
        require_number(flow, sorted(session_of), what="flow")
        flows, session = [flow], session_of[flow]
    else:
        if session is None:
            session = _find_heaviest(table, session_of, media_bytes)
        require_number(session, sorted(set(session_of.values())), what="session")
        flows = [number for number, its_session in session_of.items() if its_session == session]
    weights = {number: media_bytes[number] for number in flows if number in media_bytes}
    if not weights:
        subject = f"session {session}" if flow is None else f"flow {flow}"
        raise SelectionError(
            what=f"media packet in {subject}",
            available="no packet of it carries payload to a client; choose another",
        )
    inside = find_flows(table, flows)
    return SessionView(
        session=session,
        flows=tuple(sorted(flows)),
        media_flows=_order_by_weight(weights),
        table=table if inside.all() else table.select(inside),
        alone=flow is not None,
    )


def choose_sessions(table: PacketTable, sessions: Sequence[int]) -> list[SessionView]:
    """Return several sessions, in the order given: what :func:`choose_session` returns for each.

    Packets are ordered once, whatever the number of sessions. A session without media packets is
    left out.
    """
    table = table.sort_by_time()
    media = media_packets(table)
    media_bytes = _weigh_flows(table, media)
    flows_of: dict[int, list[int]] = {}
    for flow, session in zip(*_sessions_of_flows(table), strict=True):
        flows_of.setdefault(int(session), []).append(int(flow))
    order, places = order_by_group(sessions_of_packets(table), sessions)
    packets = table.packets.take(pa.array(order)).combine_chunks()
    views = []
    for number, place in zip(sessions, places, strict=True):
        flows = flows_of.get(number, [])
        weights = {flow: media_bytes[flow] for flow in flows if flow in media_bytes}
        if not weights:
            continue
        view = SessionView(
            session=number,
            flows=tuple(sorted(flows)),
            media_flows=_order_by_weight(weights),
            table=replace(table, packets=packets.slice(place.start, place.stop - place.start)),
        )
        # Its cache is filled: to look for media, each session would go through all flows.
        vars(view)["media"] = media[order[place]]
        views.append(view)
    return views


def order_by_group(
    keys: npt.NDArray[np.integer], wanted: Sequence[int]
) -> tuple[IntArray, list[slice]]:
    """Return the rows by their keys, shape (n,), and where in them the rows of each group are."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    ends = np.searchsorted(ordered, wanted, "right").tolist()
    return order, list(map(slice, np.searchsorted(ordered, wanted).tolist(), ends))


def sessions_of_packets(table: PacketTable) -> IntArray:
    """Return the session of each packet, shape (n,); -1 where its flow is not in the flow table."""
    flows, sessions = _sessions_of_flows(table)
    if not flows.size:
        return np.full(len(table), -1, dtype=np.int64)
    order = np.argsort(flows, kind="stable")
    place = order[np.minimum(np.searchsorted(flows[order], table.flow), flows.size - 1)]
    return np.where(flows[place] == table.flow, sessions[place], -1)


def _sessions_of_flows(table: PacketTable) -> tuple[IntArray, IntArray]:
    """Return the numbers of the flows of a table, and those of their sessions."""
    flows, sessions = (
        table.flows.column(name).to_numpy().astype(np.int64) for name in ("flow", "session")
    )
    return flows, sessions


def all_sessions(table: PacketTable) -> SessionView:
    """Return all flows of a table as if they were one session, for `compare --all`.

    Gaps and bursts are measured within flows, so they mean the same as for one session; rates are
    those of all flows together.

    Raises:
        SelectionError: If no packet carries payload to a client.
    """
    table = table.sort_by_time()
    weights = _weigh_flows(table, media_packets(table))
    if not weights:
        raise no_media_error(len(table), noun="packets", is_empty=not len(table))
    return SessionView(
        session=0,
        flows=tuple(np.unique(table.flow).tolist()),
        media_flows=_order_by_weight(weights),
        table=table,
    )


def heaviest_session(flows: pa.Table) -> int | None:
    """Return the session that carries most bytes to a client, by a flow table; None if none does.

    Flows of control and flows without payload to the client carry no media and do not make a
    session a candidate. One over UDP or TCP comes before others, which no model describes.
    """
    columns = flows.to_pydict()
    weight: dict[int, int] = {}
    candidates, known = set(), _sessions_over_known(flows)
    for index, session in enumerate(columns["session"]):
        weight[session] = weight.get(session, 0) + columns["frame_bytes_to_client"][index]
        if columns["payload_bytes_to_client"][index] and columns["media"][index] != "control":
            candidates.add(session)
    return min(
        candidates,
        key=lambda session: (session not in known, -weight[session], session),
        default=None,
    )


def _sessions_over_known(flows: pa.Table) -> set[int]:
    """Return the sessions that have a flow over UDP or TCP."""
    pairs = zip(*flows.select(["session", "protocol"]).to_pydict().values(), strict=True)
    return {session for session, protocol in pairs if protocol in ("udp", "tcp")}


def _weigh_flows(table: PacketTable, rows: BoolArray) -> dict[int, float]:
    """Return the IP bytes of the packets where ``rows``, by number of the flow; none is 0."""
    weight = np.zeros(int(table.flow.max(initial=0)) + 1)
    ip_bytes = compact_ip_bytes(table)
    for row in range(0, rows.size, BLOCK):
        part = slice(row, row + BLOCK)
        found = np.bincount(table.flow[part][rows[part]], ip_bytes[part][rows[part]])
        weight[: found.size] += found
    return {int(number): float(weight[number]) for number in np.flatnonzero(weight)}


def _order_by_weight(weights: dict[int, float]) -> tuple[int, ...]:
    """Return flows by their bytes, heaviest first."""
    return tuple(sorted(weights, key=lambda number: (-weights[number], number)))


def _find_heaviest(
    table: PacketTable, session_of: dict[int, int], media_bytes: dict[int, float]
) -> int:
    """Return the session with most IP bytes to a client among those that have media packets."""
    weight = {session_of[number]: 0.0 for number in media_bytes if number in session_of}
    if not weight:
        raise no_media_error(len(table), noun="packets", is_empty=not len(table))
    for number, to_client in _weigh_flows(table, table.to_client).items():
        if (session := session_of.get(number)) in weight:
            weight[session] += to_client
    known = _sessions_over_known(table.flows)
    return min(weight, key=lambda number: (number not in known, -weight[number], number))


def no_media_error(
    packets: int, *, noun: str, is_empty: bool, problems: Sequence[str] = ()
) -> SelectionError:
    """Return the error of an input none of whose packets is one of media.

    ``problems`` is what was odd about the input, after the name of its file.
    """
    if is_empty:
        return SelectionError(what="packet", available="the input is empty; give one with packets")
    problem = f"none of the {packets} {noun} carries payload to a client"
    if not packets and problems:
        problem = "; ".join(text.partition(": ")[2] for text in problems)
    return SelectionError(what="media packet", available=f"{problem}; {_NO_MEDIA_REMEDY}")


def require_number(number: int, available: list[int], *, what: str) -> None:
    """Refuse the number of a flow or session that is not there.

    Raises:
        SelectionError: If it is not; the message lists the first ones that are.
    """
    if number in available:
        return
    shown = list_first([str(known) for known in available], most=_LISTED)
    there_are = f"there are {what}s {shown}" if available else f"there are no {what}s at all"
    if len(available) == 1:
        there_are = f"there is only {what} {shown}"
    raise SelectionError(what=f"{what} {number}", available=there_are)


def media_packets(table: PacketTable, *, rtp_flows: Collection[int] | None = None) -> BoolArray:
    """Return where a packet is a media packet, shape (n,).

    A media packet goes to the client, carries payload, belongs to a flow that is not control, and
    is neither RTCP nor a capacity probe. In a flow that has RTP, only packets with an RTP sequence
    number count: what else travels there is RTCP, STUN or the like. ``rtp_flows`` are those that
    have RTP to the client, where the table is a piece of a longer one; None looks for them.
    """
    payload_bytes = table.values("payload_bytes").astype(np.uint32, copy=False)
    media = table.to_client & (payload_bytes > 0)
    media &= ~find_flows(table, _control_flows(table))
    media &= ~_without_rtp_in_an_rtp_flow(table, rtp_flows)
    if "phase" in table.packets.column_names:
        media &= ~_of_phases(table, _NOT_MEDIA)
    return media


def select_rows(values: npt.NDArray[_Number], rows: BoolArray) -> npt.NDArray[_Number]:
    """Return the values where ``rows``, shape (n,), is true: the same array where all are."""
    return values if rows.all() else values[rows]


def find_flows(table: PacketTable, flows: Collection[int]) -> BoolArray:
    """Return where a packet is of one of some flows, shape (n,)."""
    wanted, inside = np.asarray(list(flows), dtype=np.uint32), np.empty(len(table), dtype=np.bool_)
    for row in range(0, inside.size, BLOCK):
        inside[row : row + BLOCK] = np.isin(table.flow[row : row + BLOCK], wanted)
    return inside


def _control_flows(table: PacketTable) -> list[int]:
    """Return the numbers of the flows that carry control messages only."""
    control = table.flows.filter(pc.equal(table.flows.column("media"), "control"))
    numbers: list[int] = control.column("flow").to_pylist()
    return numbers


def _without_rtp_in_an_rtp_flow(table: PacketTable, rtp_flows: Collection[int] | None) -> BoolArray:
    """Return where a packet without an RTP number is of a flow with RTP to the client."""
    known = table.is_known("rtp_sequence")
    if rtp_flows is not None:
        return find_flows(table, rtp_flows) & ~known
    if not known.any():
        return np.zeros(len(table), dtype=np.bool_)
    return find_flows(table, np.unique(table.flow[known & table.to_client]).tolist()) & ~known


def _of_phases(table: PacketTable, phases: tuple[str, ...]) -> BoolArray:
    """Return where a packet's phase is one of ``phases``; an unknown phase is not."""
    found = pc.is_in(table.column("phase").cast(pa.string()), value_set=pa.array(phases))
    return np.asarray(found.to_numpy(), dtype=np.bool_)


def select_flow_rows(flows: pa.Table, numbers: Collection[int]) -> pa.Table:
    """Return the rows of a flow table that are of some flows, in the order of the table."""
    wanted = pa.array(list(numbers), flows.schema.field("flow").type)
    return flows.filter(pc.is_in(flows.column("flow"), wanted))


def swap_flow_ends(flows: pa.Table) -> pa.Table:
    """Return a flow table with server and client exchanged."""
    other = dict([*_PAIRS, *(pair[::-1] for pair in _PAIRS)])
    columns = [flows.column(other.get(name, name)) for name in flows.schema.names]
    return pa.Table.from_arrays(columns, schema=flows.schema)


def swap_ends(table: PacketTable) -> PacketTable:
    """Return a packet table with server and client exchanged in every flow, packet and message."""
    return replace(
        table,
        packets=invert_directions(table.packets),
        flows=swap_flow_ends(table.flows),
        signalling=invert_directions(table.signalling),
        rtcp=invert_directions(table.rtcp),
    )


def invert_directions(rows: pa.Table) -> pa.Table:
    """Return packets, messages or reports with their directions exchanged."""
    place = rows.schema.get_field_index("to_client")
    return rows.set_column(place, rows.schema.field(place), pc.invert(rows.column("to_client")))


def heaviest_upload(flows: pa.Table) -> tuple[int, int]:
    """Return the flow with most payload to its server, and the bytes; (-1, 0) without flows."""
    if not flows.num_rows:
        return -1, 0
    sent = flows.column("payload_bytes_to_server")
    row = int(pc.index(sent, pc.max(sent)).as_py())
    return int(flows.column("flow")[row].as_py()), int(sent[row].as_py())
