"""What a sending tool sends of a packet table: when each flow sends how many bytes, one way.

A tool that sends through sockets makes its own headers, acknowledgements and retransmissions. It
takes the payload alone: datagrams of UDP, or the application's writes for the data segments of TCP.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.formatting import format_count
from trafficgen.packet_files.report import ProjectionReport, TimingError
from trafficgen.tables import MEDIA, PacketTable
from trafficgen.units import US_PER_S, BoolArray, FloatArray, IntArray, s_from_ns, us_from_ns

Direction = Literal["to_client", "to_server"]
#: Socket protocols: what a sending tool can open.
SOCKET_PROTOCOLS = ("udp", "tcp")


@dataclass(frozen=True)
class FlowSchedule:
    """Datagrams, or writes of an application, of one flow in one direction.

    Attributes:
        media: What it carries, as in the flow table.
        time_ns: When each is sent, ns from the first packet that is exported of any flow,
            ascending, shape (n,).
        payload_bytes: Transport payload of each, shape (n,).
        ip_bytes: IP total length of each in the table, shape (n,).
    """

    flow: int
    protocol: str
    media: str
    source: str
    time_ns: IntArray
    payload_bytes: IntArray
    ip_bytes: IntArray

    def __len__(self) -> int:
        return int(self.time_ns.size)

    @property
    def time_s(self) -> FloatArray:
        """When each is sent, s, shape (n,)."""
        return s_from_ns(self.time_ns)


@dataclass(frozen=True)
class Schedules:
    """All flows that are exported.

    Attributes:
        flows: Their schedules, in order of flow numbers; none is empty.
        left_out: What of the table is not among them, a sentence each.
        start_ns: Time in the table of the first packet that is exported, ns: the origin of the
            schedules' times.
    """

    flows: tuple[FlowSchedule, ...]
    left_out: tuple[str, ...] = ()
    start_ns: int = 0

    @property
    def packets(self) -> int:
        """Packets of all flows."""
        return sum(len(flow) for flow in self.flows)

    @property
    def ip_bytes(self) -> int:
        """IP bytes of all flows, as the table has them."""
        return sum(int(flow.ip_bytes.sum()) for flow in self.flows)

    @property
    def duration_s(self) -> float:
        """Time of the last packet, s from the first."""
        return max(s_from_ns(int(flow.time_ns[-1])) for flow in self.flows)


def schedules_of(
    table: PacketTable,
    *,
    target: str,
    protocols: Sequence[str] = SOCKET_PROTOCOLS,
    direction: Direction = "to_client",
    remedy: str = "",
    other_way: str = "",
) -> Schedules:
    """Return what a table sends in one direction through sockets.

    TCP segments without payload and known retransmissions are left out: the tool's own TCP makes
    them. ``protocols`` are those of :data:`SOCKET_PROTOCOLS` that the target can send,
    ``remedy`` is what helps where all packets are of others, and ``other_way`` where all that can
    be sent goes the other way; without it that is the setting ``direction``.

    Raises:
        ExportError: If nothing is left; the message says why.
    """
    is_chosen = table.to_client == (direction == "to_client")
    protocol = np.array(table.flows.column("protocol").to_pylist(), dtype=object)[table.flow]
    is_known = np.isin(protocol, list(protocols))
    is_tcp = is_known & (protocol == "tcp")
    is_repeated = is_tcp & np.asarray(table.values("retransmission"), dtype=np.bool_)
    is_bare = is_tcp & (table.payload_bytes == 0)
    is_able = is_known & ~is_repeated & ~is_bare
    is_exported = is_chosen & is_able
    if not is_exported.any():
        there = sorted({name.upper() for name in protocol[is_chosen]})
        another = "choose another flow"
        if is_able.any():
            another += f", or {other_way or turn_round(direction)}"
        why = _why_nothing(
            table, there, protocols, target=target, way=direction, remedy=remedy, another=another
        )
        raise ExportError(why)
    wanted = " and ".join(name.upper() for name in protocols)
    others = is_chosen & ~is_known
    left_out = [
        *(
            text
            for name in sorted(set(protocol[others]))
            for text in _counted(
                table,
                others & (protocol == name),
                f"packets of {name} ({wanted} alone can be sent)",
            )
        ),
        *_counted(table, ~is_chosen, "packets of the other direction"),
        *_counted(table, is_chosen & is_bare, "TCP segments without payload"),
        *_counted(table, is_chosen & is_repeated, "retransmitted TCP segments"),
    ]
    start_ns = int(table.time_ns[is_exported].min())
    flows = tuple(_flows(table, is_exported, direction=direction, start_ns=start_ns))
    return Schedules(flows, tuple(left_out), start_ns)


def turn_round(direction: str) -> str:
    """Return the remedy where all that could be sent goes the other way than ``direction``."""
    other = "to_client" if direction == "to_server" else "to_server"
    return f"add [--set direction={other}]"


def rows_of(table: PacketTable, flow: int, *, direction: Direction) -> IntArray:
    """Return the rows of a flow's packets in one direction, in order of time."""
    rows = np.flatnonzero((table.flow == flow) & (table.to_client == (direction == "to_client")))
    return rows[np.argsort(table.time_ns[rows], kind="stable")]


def _flows(
    table: PacketTable, chosen: BoolArray, *, direction: Direction, start_ns: int
) -> Iterator[FlowSchedule]:
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(table.flow[rows], kind="stable")]
    numbers, starts = np.unique(table.flow[rows], return_index=True)
    source = "server" if direction == "to_client" else "client"
    flows = table.flows.to_pylist()
    for number, part in zip(numbers.tolist(), np.split(rows, starts[1:]), strict=True):
        about = flows[number]
        ordered = part[np.argsort(table.time_ns[part], kind="stable")]
        yield FlowSchedule(
            flow=int(about["flow"]),
            protocol=about["protocol"],
            media=about["media"] if about["media"] in MEDIA else "unknown",  # it gets into scripts
            source=about[source],
            time_ns=table.time_ns[ordered] - start_ns,
            payload_bytes=np.asarray(table.payload_bytes[ordered], dtype=np.int64),
            ip_bytes=np.asarray(table.ip_bytes[ordered], dtype=np.int64),
        )


def _why_nothing(
    table: PacketTable,
    there: Sequence[str],
    protocols: Sequence[str],
    *,
    target: str,
    way: Direction,
    remedy: str,
    another: str,
) -> str:
    """Say why nothing is left to send, given the protocols of what goes that way."""
    words = {"to_client": "the client", "to_server": "the server"}[way]
    if not len(table):
        return f"{target}: there are no packets to send; choose another flow or a longer duration"
    if not there:
        return f"{target}: no packet goes to {words}; {another}"
    able = [name.upper() for name in protocols]
    if not set(able) & set(there):
        wanted, found = " or ".join(able), ", ".join(there)
        remedy = remedy or f"choose a flow of {wanted} or a target that sends {found}"
        return f"{target} sends {wanted} and the packets to {words} are {found}; {remedy}"
    return f"{target}: no packet to {words} carries payload; {another}"


def _counted(table: PacketTable, rows: BoolArray, what: str) -> Iterator[str]:
    count = int(np.count_nonzero(rows))
    if count:
        size_bytes = int(table.ip_bytes[rows].sum(dtype=np.int64))
        yield f"{what} were left out ({format_count(count, 'packet')}, {size_bytes} IP bytes)"


def raise_payloads(flow: FlowSchedule, *, low_bytes: int) -> tuple[FlowSchedule, int]:
    """Return a flow whose payloads are at least ``low_bytes`` long, and how many had to be raised.

    ``ip_bytes`` stay those of the table: they are what the report compares with.
    """
    small = flow.payload_bytes < low_bytes
    count = int(np.count_nonzero(small))
    if not count:
        return flow, 0
    return replace(flow, payload_bytes=np.maximum(flow.payload_bytes, low_bytes)), count


def raise_all(flows: Sequence[FlowSchedule], *, low_bytes: int) -> tuple[list[FlowSchedule], int]:
    """Return the flows with payloads of at least ``low_bytes``, and how many were raised in all."""
    pairs = [raise_payloads(flow, low_bytes=low_bytes) for flow in flows]
    return [flow for flow, _ in pairs], sum(count for _, count in pairs)


def note_raised(packets: int, low_bytes: int) -> list[str]:
    """Return the sentence on payloads that were raised, if there were any."""
    raised = format_count(packets, "packet")
    text = f"sizes below {low_bytes} bytes were raised to {low_bytes} ({raised})"
    return [text] if packets else []


def refuse_large(flow: FlowSchedule, *, high_bytes: int, target: str, remedy: str) -> None:
    """Raise ExportError, with flow, packet and remedy, for a payload above ``high_bytes``."""
    large = np.flatnonzero(flow.payload_bytes > high_bytes)
    if large.size:
        row = int(large[0])
        raise ExportError(
            f"flow {flow.flow}, packet {row} at {flow.time_s[row]:.6f} s: {target} sends at most"
            f" {high_bytes} payload bytes, not {flow.payload_bytes[row]} ({large.size} such"
            f" packets); {remedy}"
        )


def split_large(flow: FlowSchedule, *, high_bytes: int) -> tuple[FlowSchedule, int]:
    """Cut payloads above ``high_bytes`` into equal pieces at one time; return how many were cut."""
    pieces = np.maximum(1, -(-flow.payload_bytes // high_bytes))
    return cut_payloads(flow, pieces), int(np.count_nonzero(pieces > 1))


def cut_payloads(flow: FlowSchedule, pieces: IntArray) -> FlowSchedule:
    """Cut each payload into its number of pieces; each piece repeats the packet's headers."""
    if int(pieces.max()) == 1:
        return flow
    row, _, payload_bytes = share_evenly(flow.payload_bytes, pieces)
    ip_bytes = payload_bytes + (flow.ip_bytes - flow.payload_bytes)[row]
    return replace(flow, time_ns=flow.time_ns[row], payload_bytes=payload_bytes, ip_bytes=ip_bytes)


def share_evenly(total: IntArray, pieces: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Share whole numbers out among pieces that differ by one at most, larger pieces first.

    ``total`` and ``pieces``, >= 0, have shape (n,).

    Returns:
        Row of each piece, its place in the row from 0, and its share; shape (sum of pieces,) each.
    """
    row, place = number_pieces(pieces)
    return row, place, total[row] // pieces[row] + (place < total[row] % pieces[row])


def number_pieces(pieces: IntArray) -> tuple[IntArray, IntArray]:
    """Return the row of each piece and its place in the row from 0, given their number by row."""
    row = np.repeat(np.arange(pieces.size), pieces)
    return row, np.arange(row.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)


def timing_error(before_ns: IntArray, after_ns: IntArray) -> TimingError:
    """Return how far the times of an output are from those of the table, packet by packet.

    Times have shape (n,).
    """
    if before_ns.size == 0:
        return TimingError()
    error_ns = np.abs(after_ns - before_ns)
    return TimingError(max=s_from_ns(int(error_ns.max())), mean=float(s_from_ns(error_ns).mean()))


def schedule_report(
    schedules: Schedules,
    sent: Sequence[FlowSchedule],
    *,
    target: str,
    files: Sequence[str],
    cannot_express: Sequence[str] = (),
    cut: Sequence[FlowSchedule] | None = None,
) -> ProjectionReport:
    """Return the report of an export that sends packet for packet.

    ``sent`` are the same flows with the same number of packets, in the same order; where packets
    had to be cut into several, it is compared with ``cut``. ``cannot_express`` is what the output
    lacks, apart from what ``schedules`` left out.
    """
    before = schedules.flows if cut is None else cut
    before_bytes = join_flows(before, "payload_bytes")
    after_bytes = join_flows(sent, "payload_bytes")
    ip_bytes = sum(int(flow.ip_bytes.sum()) for flow in before)
    return ProjectionReport(
        target=target,
        files=tuple(files),
        packets=int(after_bytes.size),
        packets_changed=int(np.count_nonzero(before_bytes != after_bytes)),
        bytes_before=schedules.ip_bytes,
        bytes_after=ip_bytes + int((after_bytes - before_bytes).sum()),
        timing_error_s=timing_error(join_flows(before, "time_ns"), join_flows(sent, "time_ns")),
        cannot_express=(*schedules.left_out, *cannot_express),
    )


def join_flows(
    flows: Sequence[FlowSchedule], column: Literal["time_ns", "payload_bytes"]
) -> IntArray:
    """Return a column of all flows, one flow after the other."""
    return np.concatenate([getattr(flow, column) for flow in flows])


def rising_us(time_ns: IntArray) -> IntArray:
    """Return absolute times rounded to microseconds, each later than the one before, shape (n,).

    Packets within one microsecond are put one microsecond apart, in their order: tools that are
    given the same time twice change the order, or do not send at all. Times ascend.
    """
    whole_us = us_from_ns(time_ns)
    place = np.arange(whole_us.size)
    return np.asarray(np.maximum.accumulate(whole_us - place) + place, dtype=np.int64)


def seconds_text(time_us: int) -> str:
    """Return microseconds as seconds with six decimals, exactly."""
    seconds, rest = divmod(time_us, US_PER_S)
    return f"{seconds}.{rest:06d}"
