"""Both ends of a path: two captures of one session matched packet by packet, or one table with
arrival times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from trafficgen.calibration.path.clock_skew import least_line
from trafficgen.calibration.path.packet_matching import match_numbers, match_sizes
from trafficgen.errors import CalibrationError
from trafficgen.flows import SessionView, extend_sequence
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, FloatArray, IntArray, s_from_ns

PairSource = Literal["two captures", "arrival times"]

_FEWEST_MATCHES = 10
_TCP_BITS, _RTP_BITS = 32, 16
#: Delays fitted for the clocks at most this many.
_MOST_DELAYS = 200_000


@dataclass(frozen=True)
class Pairing:
    """Packets of a session at both ends of a path.

    Attributes:
        sender: The session at the sender, of which the packets below are media packets in order of
            time.
        rows: Rows of the sender's table, shape (n,).
        sent_ns: Times of sending, ns from the sender's origin, shape (n,).
        arrival_ns: Times of arrival by the receiver's clock, ns from the sender's origin, shape
            (n,); -1 where lost.
        ip_bytes: IP total lengths, bytes, shape (n,).
        flow: Flows in the sender's table, shape (n,).
        delay_s: One-way delay above the least, clock offset and skew removed, s; NaN where a packet
            was lost or cannot be told from others of its size, shape (n,).
        is_lost: Whether it never arrived, shape (n,).
        lost: Packets that never arrived; known also where it is not known which.
        are_told_apart: Whether ``is_lost`` and ``delay_s`` are known packet by packet.
        reordered: Packets that arrived after one sent later.
        least_delay_s: The least delay between the two clocks, s: offset plus propagation; NaN where
            nothing came.
        skew: Clock of the receiver runs this much faster, 1.
        swapped: Whether the second capture turned out to be the sender's.
        source: What tells when packets arrived.
    """

    sender: SessionView
    rows: IntArray
    sent_ns: IntArray
    arrival_ns: IntArray
    ip_bytes: IntArray
    flow: IntArray
    delay_s: FloatArray
    is_lost: BoolArray
    lost: int
    are_told_apart: bool
    reordered: int
    least_delay_s: float
    skew: float
    swapped: bool
    source: PairSource = "two captures"


def pair_sessions(view: SessionView, other: PacketTable) -> Pairing:
    """Match the media packets of a session with those of a capture at the path's other end.

    Flows are matched by their addresses and ports, else by RTP source, by TCP sequence numbers or
    as the heaviest of their transport (addresses may have been translated). Packets are matched by
    RTP source and number, by TCP sequence number and payload, else by the order of their sizes.
    Which capture is the sender's is told by the packets that only one of them has, else by the sign
    of the delay. Offset and skew of the two clocks go with the line below all delays (Moon, Skelly,
    Towsley 1999); what is left is queueing.

    Args:
        view: The session in the first capture.
        other: All packets of the second capture, with its flow table, in order of time.

    Raises:
        CalibrationError: If no flow of the session has packets in the second capture.
    """
    parts = []
    for flow in view.media_flows:
        rows = np.flatnonzero(view.media & (view.table.flow == flow))
        its_flow = _same_flow(view.table, flow, other)
        if its_flow is None:
            continue
        its_rows = np.flatnonzero(
            (other.flow == its_flow) & other.to_client & (other.payload_bytes > 0)
        )
        parts.append((flow, rows, its_rows, _match(view.table, rows, other, its_rows)))
    matched = sum(int(np.count_nonzero(places >= 0)) for *_, places in parts)
    if matched < _FEWEST_MATCHES:
        raise CalibrationError(
            f"the two captures share {matched} media packets; give the same session at the sender"
            " and at the receiver"
        )
    if _is_receiver(view, other, parts):
        return _turned(view, other, parts)
    return _matched(view, other, parts, swapped=False)


def pair_arrivals(view: SessionView) -> Pairing | None:
    """Return what the path did to a session whose table knows it: the tables of simulations, logs
    of both ends.

    Packets without an arrival were lost where any of the table has one (see ``arrival_ns`` of the
    packet table). Where all have one, that says nothing, unless the table comes from a simulation,
    which keeps the path in its notes: the log of a receiver has the same look, and so have packets
    as the receiver saw them, at their arrival.

    Returns:
        None where the table does not tell.
    """
    arrived = view.table.known("arrival_ns")[view.media]
    arrival_ns = view.table.values("arrival_ns").astype(np.int64)[view.media]
    simulated = "path" in view.table.notes
    if arrived.all():
        tells = simulated and not np.array_equal(arrival_ns, view.media_time_ns)
    else:
        tells = simulated or bool(arrived.any())
    if not tells:
        return None
    return _measured(
        view,
        np.flatnonzero(view.media),
        arrival_ns,
        arrived,
        apart=True,
        swapped=False,
        source="arrival times",
    )


_Part = tuple[int, IntArray, IntArray, IntArray]


def _match(table: PacketTable, rows: IntArray, other: PacketTable, its_rows: IntArray) -> IntArray:
    """Return for each packet its place among the other side's, -1 where it has none, shape (n,)."""
    if table.known("rtp_sequence")[rows].all():
        its = its_rows[other.known("rtp_sequence")[its_rows]]
        places = np.full(rows.size, -1, dtype=np.int64)
        ssrc, its_ssrc = table.values("rtp_ssrc")[rows], other.values("rtp_ssrc")[its]
        for source in np.unique(ssrc):
            mine, theirs = np.flatnonzero(ssrc == source), np.flatnonzero(its_ssrc == source)
            one, two = (
                extend_sequence(side.values("rtp_sequence")[at].astype(np.int64))
                for side, at in ((table, rows[mine]), (other, its[theirs]))
            )
            found = match_numbers(one, _aligned(one, two, bits=_RTP_BITS))
            places[mine] = (
                np.where(found >= 0, np.searchsorted(its_rows, its[theirs[found]]), -1)
                if two.size
                else -1
            )
        return places
    if table.known("tcp_sequence")[rows].all():
        one, two = (
            extend_sequence(side.values("tcp_sequence")[at].astype(np.int64), bits=_TCP_BITS)
            for side, at in ((table, rows), (other, its_rows))
        )
        return match_numbers(one, _aligned(one, two, bits=_TCP_BITS))
    return match_sizes(table.ip_bytes[rows], other.ip_bytes[its_rows])


def _aligned(one: IntArray, two: IntArray, *, bits: int) -> IntArray:
    """Return extended numbers of the second side moved by whole cycles next to those of the
    first.
    """
    if not two.size or not one.size:
        return two
    space = 1 << bits
    return two + round((int(np.median(one)) - int(np.median(two))) / space) * space


def _same_flow(table: PacketTable, flow: int, other: PacketTable) -> int | None:
    """Return the flow of the second capture that is a flow of the first, or None."""
    (mine,) = table.flows.filter(pc.equal(table.flows.column("flow"), flow)).to_pylist()
    candidates = [
        row
        for row in other.flows.to_pylist()
        if row["protocol"] == mine["protocol"] and row["payload_bytes_to_client"] > 0
    ]
    ends = ("server", "server_port", "client", "client_port")
    for names in (ends, ("ssrc",), ("server_port", "client_port"), ("server_port",)):
        same = [
            row
            for row in candidates
            if all(row[name] == mine[name] and row[name] for name in names)
        ]
        if same:
            return int(max(same, key=lambda row: row["payload_bytes_to_client"])["flow"])
    return (
        int(max(candidates, key=lambda row: row["payload_bytes_to_client"])["flow"])
        if candidates
        else None
    )


def _is_receiver(view: SessionView, other: PacketTable, parts: list[_Part]) -> bool:
    """Return whether the first capture is the receiver's."""
    only_here = sum(int(np.count_nonzero(places < 0)) for *_, places in parts)
    only_there = sum(
        its_rows.size - int(np.count_nonzero(places >= 0)) for *_, its_rows, places in parts
    )
    if only_here != only_there:
        return only_there > only_here
    return float(np.median(_raw_delays_s(view.table, other, parts))) < 0


def _raw_delays_s(table: PacketTable, other: PacketTable, parts: list[_Part]) -> FloatArray:
    offset_ns = other.origin_ns - table.origin_ns
    return np.concatenate(
        [
            s_from_ns(
                other.time_ns[its_rows[places[places >= 0]]]
                + offset_ns
                - table.time_ns[rows[places >= 0]]
            )
            for _, rows, its_rows, places in parts
        ]
    )


def _turned(view: SessionView, other: PacketTable, parts: list[_Part]) -> Pairing:
    """Return the pairing with the second capture as the sender's."""
    turned: list[_Part] = []
    flows = []
    for _, rows, its_rows, places in parts:
        back = np.full(its_rows.size, -1, dtype=np.int64)
        back[places[places >= 0]] = np.flatnonzero(places >= 0)
        flow = int(other.flow[its_rows[0]])
        flows.append(flow)
        turned.append((flow, its_rows, rows, back))
    columns = other.flows.select(["flow", "session"]).to_pydict()
    session_of = dict(zip(columns["flow"], columns["session"], strict=True))
    members = {
        flow for flow, session in session_of.items() if session == session_of[flows[0]]
    } | set(flows)
    inside = np.isin(other.flow, sorted(members))
    sender = SessionView(
        session=session_of[flows[0]],
        flows=tuple(sorted(members)),
        media_flows=tuple(flows),
        table=other.select(inside),
    )
    kept = np.cumsum(inside) - 1
    turned = [(flow, kept[rows], its_rows, places) for flow, rows, its_rows, places in turned]
    return _matched(sender, view.table, turned, swapped=True)


def _matched(
    sender: SessionView, receiver: PacketTable, parts: list[_Part], *, swapped: bool
) -> Pairing:
    """Return what the path did to the matched packets."""
    rows = np.concatenate([part[1] for part in parts])
    at_ns = receiver.time_ns + (receiver.origin_ns - sender.table.origin_ns)
    arrival_ns = np.concatenate(
        [np.where(places >= 0, at_ns[its_rows[places]], -1) for *_, its_rows, places in parts]
    )
    has_come = np.concatenate([places >= 0 for *_, places in parts])
    apart = all(_tells_apart(sender.table, part[1]) for part in parts)
    order = np.argsort(rows, kind="stable")
    return _measured(
        sender, rows[order], arrival_ns[order], has_come[order], apart=apart, swapped=swapped
    )


def _measured(
    sender: SessionView,
    rows: IntArray,
    arrival_ns: IntArray,
    has_come: BoolArray,
    *,
    apart: bool,
    swapped: bool,
    source: PairSource = "two captures",
) -> Pairing:
    """Return what the path did to packets whose arrival, ns from the sender's origin, is known
    where ``has_come``.
    """
    table = sender.table
    sent_ns = table.time_ns[rows]
    delay_s = np.full(rows.size, np.nan)
    delay_s[has_come] = s_from_ns(arrival_ns[has_come] - sent_ns[has_come])
    sent_s = s_from_ns(sent_ns - sent_ns[0])
    thin = np.flatnonzero(has_come)[:: max(1, int(has_come.sum()) // _MOST_DELAYS)]
    least_s, skew = least_line(sent_s[thin], delay_s[thin]) if thin.size else (np.nan, 0.0)
    delay_s = np.maximum(delay_s - (least_s + skew * sent_s), 0.0)
    arrived = arrival_ns[has_come]
    late = int(np.count_nonzero(arrived[1:] < np.maximum.accumulate(arrived)[:-1])) if apart else 0
    return Pairing(
        sender=sender,
        rows=rows,
        sent_ns=sent_ns,
        arrival_ns=np.where(has_come, arrival_ns, -1),
        ip_bytes=table.ip_bytes[rows],
        flow=table.flow[rows].astype(np.int64),
        delay_s=delay_s if apart else np.full(rows.size, np.nan),
        is_lost=~has_come,
        lost=int(np.count_nonzero(~has_come)),
        are_told_apart=apart,
        reordered=late,
        least_delay_s=least_s,
        skew=skew,
        swapped=swapped,
        source=source,
    )


def _tells_apart(table: PacketTable, rows: IntArray) -> bool:
    """Return whether each packet of a flow can be found at the other end: by number, or by sizes
    that vary.
    """
    if table.known("rtp_sequence")[rows].all() or table.known("tcp_sequence")[rows].all():
        return True
    return float(np.bincount(table.ip_bytes[rows]).max()) < _LARGEST_SAME_SIZE * rows.size


#: With more packets of one size than this share, their order does not tell which of them is
#: missing.
_LARGEST_SAME_SIZE = 0.5
