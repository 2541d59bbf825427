"""Match the packets of a session at both ends of a path, by their numbers or sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from trafficgen.calibration.path.clock_skew import least_line
from trafficgen.errors import CalibrationError
from trafficgen.flows import SessionView, extend_sequence
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, FloatArray, IntArray, s_from_ns

PairSource = Literal["two captures", "arrival times"]

#: Bits of the columns with sequence numbers.
_BITS = {"rtp_sequence": 16, "tcp_sequence": 32}


class PairingLimits:
    """When two captures are of one session, and how their packets and clocks are compared."""

    #: Fewer shared packets do not show that both captures are of one session.
    fewest_matches: int = 10
    #: The line below the delays is fitted to this many: more change neither offset nor skew.
    most_delays: int = 200_000
    #: With more packets of one size, the order of sizes does not show which of them is missing.
    largest_same_size: float = 0.5
    #: A longer run of lost packets breaks the order of sizes; a longer search finds chance matches.
    longest_skip: int = 256
    #: Sizes that must agree after a skip, the first choice first; fewer if another loss is near.
    confirmed: tuple[int, ...] = (6, 3, 2)


_LIMITS = PairingLimits()


@dataclass(frozen=True)
class Pairing:
    """Packets of a session at both ends of a path.

    Attributes:
        sender: The session at the sender; the packets are its media packets in order of time.
        rows: Rows of the sender's table, shape (n,).
        sent_ns: Times of sending, ns from the sender's origin, shape (n,).
        arrival_ns: Times of arrival by the receiver's clock, ns from the sender's origin, -1 if
            lost, shape (n,).
        ip_bytes: IP total lengths, bytes, shape (n,).
        delay_s: One-way delay above the least, without clock offset and skew, s; NaN if lost or not
            distinguishable from others of its size, shape (n,).
        is_lost: Whether a packet never arrived, shape (n,).
        are_distinguishable: Whether ``is_lost`` and ``delay_s`` are known packet by packet.
        reordered: Packets that arrived after one sent later.
        least_delay_s: Least delay between the two clocks, s: offset plus propagation; NaN if
            nothing arrived.
        skew: How much faster the receiver's clock runs, s per s.
        has_emptied: Whether delays show an empty queue; else the least one may hold a wait.
        swapped: Whether the second capture is the sender's.
        source: What shows when packets arrived.
    """

    sender: SessionView
    rows: IntArray
    sent_ns: IntArray
    arrival_ns: IntArray
    ip_bytes: IntArray
    delay_s: FloatArray
    is_lost: BoolArray
    are_distinguishable: bool
    reordered: int
    least_delay_s: float
    skew: float
    has_emptied: bool
    swapped: bool
    source: PairSource

    @property
    def lost(self) -> int:
        """Packets that never arrived; known even if not which."""
        return int(np.count_nonzero(self.is_lost))


#: A flow of both captures: its rows in each, and the place among the second capture's rows of each
#: of the first's, -1 where a packet has none.
_Matches = tuple[IntArray, IntArray, IntArray]


def pair_sessions(view: SessionView, other: PacketTable) -> Pairing:
    """Match the media packets of a session with those of a capture at the path's other end.

    Flows are matched by their addresses and ports, else by RTP source, by ports or as the heaviest
    of their transport (addresses may have been translated). Packets are matched by RTP source and
    number, by TCP sequence number, else by the order of their sizes. The sender's capture has
    packets that the other lacks, else the sign of the delay decides. Offset and skew of the two
    clocks are removed with the line below all delays (Moon, Skelly, Towsley 1999); the rest is
    queueing. ``other`` has all packets of the second capture, in order of time, with its flow
    table.

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
        parts.append((rows, its_rows, _match(view.table, rows, other, its_rows)))
    matched = sum(int(np.count_nonzero(places >= 0)) for *_, places in parts)
    if matched < _LIMITS.fewest_matches:
        raise CalibrationError(
            f"the two captures share {matched} media packets; give the same session at the sender"
            " and at the receiver"
        )
    if _is_receiver(view, other, parts):
        sender, turned = _swap(other, parts)
        return _pair_matches(sender, view.table, turned, swapped=True)
    return _pair_matches(view, other, parts, swapped=False)


def pair_arrivals(view: SessionView) -> Pairing | None:
    """Pair a session with the arrival times in its own table; None if the table lacks them.

    Simulations and logs of both ends have them. A packet without an arrival was lost if any other
    packet has one. If all have one, only a simulation, which keeps the path in its notes, shows
    that none was lost: the log of a receiver looks the same.
    """
    simulated = "path" in view.table.notes
    if not simulated and "arrival_ns" not in view.table.packets.column_names:
        return None
    rows = np.flatnonzero(view.media)
    arrived = view.table.is_known("arrival_ns")[rows]
    arrival_ns = view.table.values("arrival_ns").astype(np.int64)[rows]
    if arrived.all():
        has_both_ends = simulated and not np.array_equal(arrival_ns, view.media_time_ns)
    else:
        has_both_ends = simulated or bool(arrived.any())
    if not has_both_ends:
        return None
    return _measure_pair(view, rows, arrival_ns, arrived, apart=True, source="arrival times")


def _same_flow(table: PacketTable, flow: int, other: PacketTable) -> int | None:
    """Return the flow of the second capture that is a flow of the first, or None."""
    (mine,) = table.flows.filter(pc.equal(table.flows.column("flow"), flow)).to_pylist()
    candidates = [
        row
        for row in other.flows.to_pylist()
        if row["protocol"] == mine["protocol"] and row["payload_bytes_to_client"] > 0
    ]
    ends = ("server", "server_port", "client", "client_port")
    for names in (ends, ("ssrc",), ("server_port", "client_port"), ("server_port",), ()):
        same = [
            row
            for row in candidates
            if all(row[name] == mine[name] and row[name] for name in names)
        ]
        if same:
            return int(max(same, key=lambda row: row["payload_bytes_to_client"])["flow"])
    return None


def _match(table: PacketTable, rows: IntArray, other: PacketTable, its_rows: IntArray) -> IntArray:
    """Return for each packet its place among the other side's, -1 where it has none, shape (n,)."""
    if table.is_known("rtp_sequence")[rows].all():
        places = np.full(rows.size, -1, dtype=np.int64)
        ssrc, its_ssrc = table.values("rtp_ssrc")[rows], other.values("rtp_ssrc")[its_rows]
        is_rtp = other.is_known("rtp_sequence")[its_rows]
        for source in np.unique(ssrc):
            mine, theirs = ssrc == source, np.flatnonzero(is_rtp & (its_ssrc == source))
            if theirs.size:
                found = _match_column("rtp_sequence", table, rows[mine], other, its_rows[theirs])
                places[mine] = np.where(found >= 0, theirs[found], -1)
        return places
    if table.is_known("tcp_sequence")[rows].all():
        return _match_column("tcp_sequence", table, rows, other, its_rows)
    return match_sizes(table.ip_bytes[rows], other.ip_bytes[its_rows])


def _match_column(
    column: str, table: PacketTable, rows: IntArray, other: PacketTable, its_rows: IntArray
) -> IntArray:
    """Match packets by a column of sequence numbers, as :func:`match_numbers` does."""
    bits = _BITS[column]
    one = extend_sequence(table.values(column)[rows].astype(np.int64), bits=bits)
    two = extend_sequence(other.values(column)[its_rows].astype(np.int64), bits=bits)
    if one.size and two.size:  # the captures may have begun in different cycles
        cycle = 1 << bits
        two = two + round((int(np.median(one)) - int(np.median(two))) / cycle) * cycle
    return match_numbers(one, two)


def match_numbers(one: IntArray, two: IntArray) -> IntArray:
    """Return the place in ``two`` of each number of ``one``, -1 if it is missing, shape (n,).

    A number that was retransmitted and arrived fewer times is matched from its last sending on: an
    earlier one was lost, or it would not have been retransmitted. ``one`` is in order of sending,
    shape (n,), ``two`` in order of arrival, shape (m,).
    """
    if not one.size or not two.size:
        return np.full(one.size, -1, dtype=np.int64)
    # The k-th last sending of a number is the k-th last arrival of it.
    from_last_one, from_last_two = _from_last(one), _from_last(two)
    repeats = int(max(from_last_one.max(), from_last_two.max())) + 1
    key_one, key_two = one * repeats + from_last_one, two * repeats + from_last_two
    order = np.argsort(key_two, kind="stable")
    place = np.minimum(np.searchsorted(key_two, key_one, sorter=order), two.size - 1)
    result: IntArray = np.where(key_two[order[place]] == key_one, order[place], -1)
    return result


def _from_last(numbers: IntArray) -> IntArray:
    """Return how many equal numbers come after each one, shape (n,)."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    result = np.empty(numbers.size, dtype=np.int64)
    result[order] = np.searchsorted(ordered, ordered, side="right") - 1 - np.arange(numbers.size)
    return result


def match_sizes(one: IntArray, two: IntArray) -> IntArray:
    """Return the place in ``two`` of each packet of ``one`` by the order of sizes, -1 if missing.

    Both are walked in step; where the sizes differ, the fewest packets of ``one`` that make the
    next six agree count as lost (three or two if another loss is near). If no such skip exists, the
    arrival is passed over. Sizes, bytes, are in order of sending in ``one``, shape (n,), and in
    order of arrival in ``two``, shape (m,), m <= n but for strays.
    """
    result = np.full(one.size, -1, dtype=np.int64)
    at, place = 0, 0
    while at < one.size and place < two.size:
        agree = min(one.size - at, two.size - place)
        differs = np.flatnonzero(one[at : at + agree] != two[place : place + agree])
        run = int(differs[0]) if differs.size else agree
        result[at : at + run] = np.arange(place, place + run)
        at, place = at + run, place + run
        if run == agree:
            break
        skip = _skip(one, two, at, place)
        if skip is None:
            place += 1
        else:
            at += skip
    return result


def _skip(one: IntArray, two: IntArray, at: int, place: int) -> int | None:
    """Return how many packets of ``one`` to skip for the next sizes to agree; None if none do."""
    for confirmed in _LIMITS.confirmed:
        wanted = two[place : place + confirmed]
        stretch = one[at : at + _LIMITS.longest_skip + wanted.size]
        if stretch.size < wanted.size:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(stretch, wanted.size)
        found = np.flatnonzero((windows == wanted).all(axis=1))
        if found.size:
            return int(found[0])
    return None


def _is_receiver(view: SessionView, other: PacketTable, parts: list[_Matches]) -> bool:
    """Return whether the first capture is the receiver's."""
    only_here = sum(int(np.count_nonzero(places < 0)) for *_, places in parts)
    only_there = sum(
        its_rows.size - int(np.count_nonzero(places >= 0)) for _, its_rows, places in parts
    )
    if only_here != only_there:
        return only_there > only_here
    here_ns = np.concatenate([view.table.time_ns[rows[at >= 0]] for rows, _, at in parts])
    there_ns = np.concatenate([other.time_ns[its[at[at >= 0]]] for _, its, at in parts])
    offset_ns = other.origin_ns - view.table.origin_ns
    return float(np.median(there_ns + offset_ns - here_ns)) < 0


def _swap(other: PacketTable, parts: list[_Matches]) -> tuple[SessionView, list[_Matches]]:
    """Return the session in the second capture, and the matches seen from there."""
    media_flows = [int(other.flow[its_rows[0]]) for _, its_rows, _ in parts]
    columns = other.flows.select(["flow", "session"]).to_pydict()
    session_of = dict(zip(columns["flow"], columns["session"], strict=True))
    session = session_of[media_flows[0]]
    flows = {flow for flow, its in session_of.items() if its == session} | set(media_flows)
    inside = np.isin(other.flow, sorted(flows))
    kept = np.cumsum(inside) - 1
    turned: list[_Matches] = []
    for rows, its_rows, places in parts:
        back = np.full(its_rows.size, -1, dtype=np.int64)
        back[places[places >= 0]] = np.flatnonzero(places >= 0)
        turned.append((kept[its_rows], rows, back))
    sender = SessionView(
        session=session,
        flows=tuple(sorted(flows)),
        media_flows=tuple(media_flows),
        table=other.select(inside),
    )
    return sender, turned


def _pair_matches(
    sender: SessionView, receiver: PacketTable, parts: list[_Matches], *, swapped: bool
) -> Pairing:
    """Return what the path did to the matched packets."""
    rows = np.concatenate([part[0] for part in parts])
    at_ns = receiver.time_ns + (receiver.origin_ns - sender.table.origin_ns)
    arrival_ns = np.concatenate(
        [np.where(places >= 0, at_ns[its_rows[places]], -1) for _, its_rows, places in parts]
    )
    has_come = np.concatenate([places >= 0 for *_, places in parts])
    apart = all(_are_distinguishable(sender.table, part[0]) for part in parts)
    order = np.argsort(rows, kind="stable")
    return _measure_pair(
        sender, rows[order], arrival_ns[order], has_come[order], apart=apart, swapped=swapped
    )


def _measure_pair(
    sender: SessionView,
    rows: IntArray,
    arrival_ns: IntArray,
    has_come: BoolArray,
    *,
    apart: bool,
    swapped: bool = False,
    source: PairSource = "two captures",
) -> Pairing:
    """Measure the path by packets whose arrival, ns from the sender's origin, may be known."""
    table = sender.table
    sent_ns = table.time_ns[rows]
    delay_s = np.full(rows.size, np.nan)
    delay_s[has_come] = s_from_ns(arrival_ns[has_come] - sent_ns[has_come])
    sent_s = s_from_ns(sent_ns - sent_ns[0])
    thin = np.flatnonzero(has_come)[:: max(1, int(has_come.sum()) // _LIMITS.most_delays)]
    least_s, skew, has_emptied = np.nan, 0.0, True
    if thin.size:
        least_s, skew, has_emptied = least_line(sent_s[thin], delay_s[thin])
    delay_s = np.maximum(delay_s - (least_s + skew * sent_s), 0.0)
    arrived = arrival_ns[has_come]
    late = int(np.count_nonzero(arrived[1:] < np.maximum.accumulate(arrived)[:-1])) if apart else 0
    return Pairing(
        sender=sender,
        rows=rows,
        sent_ns=sent_ns,
        arrival_ns=np.where(has_come, arrival_ns, -1),
        ip_bytes=table.ip_bytes[rows],
        delay_s=delay_s if apart else np.full(rows.size, np.nan),
        is_lost=~has_come,
        are_distinguishable=apart,
        reordered=late,
        least_delay_s=least_s,
        skew=skew,
        has_emptied=has_emptied,
        swapped=swapped,
        source=source,
    )


def _are_distinguishable(table: PacketTable, rows: IntArray) -> bool:
    """Return whether each packet can be found at the other end: by number or varying sizes."""
    if table.is_known("rtp_sequence")[rows].all() or table.is_known("tcp_sequence")[rows].all():
        return True
    most = float(np.bincount(table.ip_bytes[rows]).max())
    return most < _LIMITS.largest_same_size * rows.size
