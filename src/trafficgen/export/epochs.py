"""Piecewise constant projection of flows, for tools that know a rate and a size alone.

In each epoch a flow has a number of packets of one size, evenly spaced (iperf, MGEN's
PERIODIC).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from trafficgen.distributions.two_samples import ks_distance
from trafficgen.errors import ExportError
from trafficgen.export.flow_schedule import (
    Direction,
    FlowSchedule,
    Schedules,
    cut_payloads,
    join_flows,
    note_raised,
    number_pieces,
    rows_of,
    schedule_report,
    schedules_of,
)
from trafficgen.export.sending_ends import direction_of
from trafficgen.export.settings import Setting, Settings
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, IntArray, bps_from_bytes, ns_from_s, s_from_ns


@dataclass(frozen=True)
class Epochs:
    """Successive epochs of a flow that have packets; shape (e,) each.

    Attributes:
        start_ns: Start of each, ns on the schedule's clock.
        length_ns: Length of each.
        packets: Packets in each, at least 1.
        payload_bytes: Their payload in all.
    """

    start_ns: IntArray
    length_ns: IntArray
    packets: IntArray
    payload_bytes: IntArray

    def __len__(self) -> int:
        return int(self.start_ns.size)

    @property
    def start_s(self) -> FloatArray:
        """Start of each, s."""
        return s_from_ns(self.start_ns)

    @property
    def length_s(self) -> FloatArray:
        """Length of each, s."""
        return s_from_ns(self.length_ns)

    @property
    def packet_rate_per_s(self) -> FloatArray:
        """Packets a second in each."""
        return np.asarray(self.packets / self.length_s)


def epochs_of(flow: FlowSchedule, *, epoch_s: float) -> Epochs:
    """Return epochs of equal length of a flow, from the schedule's origin, without empty ones."""
    length_ns = max(1, ns_from_s(epoch_s))
    numbers, index = np.unique(flow.time_ns // length_ns, return_inverse=True)
    lengths_ns = np.full(numbers.size, length_ns, dtype=np.int64)
    return _count_packets(flow, index, start_ns=numbers * length_ns, length_ns=lengths_ns)


def _epochs_between(flow: FlowSchedule, edges_ns: IntArray) -> Epochs:
    """Return the epochs of a flow from edge to edge, without empty ones."""
    place = np.searchsorted(edges_ns, flow.time_ns, side="right") - 1
    numbers, index = np.unique(place, return_inverse=True)
    lengths_ns = np.diff(edges_ns)[numbers]
    return _count_packets(flow, index, start_ns=edges_ns[numbers], length_ns=lengths_ns)


def _count_packets(
    flow: FlowSchedule, index: IntArray, *, start_ns: IntArray, length_ns: IntArray
) -> Epochs:
    packets = np.bincount(index, minlength=start_ns.size).astype(np.int64)
    payload = np.bincount(index, weights=flow.payload_bytes, minlength=start_ns.size)
    return Epochs(start_ns, length_ns, packets, np.rint(payload).astype(np.int64))


#: Gaps closer than this are the same to a tool that sends through sockets.
_GAP_TICK_NS = 1000


def gaps_s(times_ns: Sequence[IntArray]) -> FloatArray:
    """Return gaps between packets of the same flow in whole microseconds, pooled over flows, s.

    Times of each flow ascend.
    """
    ticks = np.concatenate([np.diff(times // _GAP_TICK_NS) for times in times_ns])
    return s_from_ns(ticks * _GAP_TICK_NS)


EPOCH_S = Setting(
    "epoch_s",
    1.0,
    "Length of an epoch, in which rate and size are constant, s; with epochs=levels the shortest.",
    low=0.1,
    high=1e6,
)
EPOCHS = Setting(
    "epochs",
    "equal",
    "equal: every epoch_s a new one; levels: a new one where the table's phase or scale_level"
    " changes.",
    ("equal", "levels"),
)


@dataclass(frozen=True)
class Limits:
    """What datagrams a tool can send.

    Attributes:
        least_packets: Fewest datagrams that a run can send.
        bunched: Whether its second and third datagram leave together.
    """

    low_bytes: int
    high_bytes: int
    least_packets: int = 1
    bunched: bool = False


@dataclass(frozen=True)
class Plan:
    """One flow in epochs.

    Attributes:
        flow: What the table sends, cut into pieces where the tool needs more datagrams than there
            are packets.
        size_bytes: Payload of each datagram of an epoch, shape (e,).
        packets_raised: Datagrams that had to be enlarged for it.
        guard_s: End of each epoch in which nothing is sent, s.
    """

    flow: FlowSchedule
    epochs: Epochs
    size_bytes: IntArray
    limits: Limits
    packets_raised: int
    guard_s: float

    @property
    def rate_bps(self) -> IntArray:
        """Payload rate while datagrams are sent, bit/s, rounded up, shape (e,)."""
        sizes, lengths_s = self.size_bytes * self._gaps, s_from_ns(self._sending_ns)
        rates = [
            bps_from_bytes(int(size), length_s)
            for size, length_s in zip(sizes, lengths_s, strict=True)
        ]
        return np.maximum(1, np.ceil(rates)).astype(np.int64)

    @property
    def sent(self) -> FlowSchedule:
        """What the tool sends: the k-th of n packets, from 0, leaves after k / n of its epoch."""
        row, place = number_pieces(self.epochs.packets)
        if self.limits.bunched:
            place -= place >= 2
        return replace(
            self.flow,
            time_ns=self.epochs.start_ns[row] + place * self._sending_ns[row] // self._gaps[row],
            payload_bytes=self.size_bytes[row],
        )

    @property
    def _sending_ns(self) -> IntArray:
        return self.epochs.length_ns - ns_from_s(self.guard_s)

    @property
    def _gaps(self) -> IntArray:
        """Gaps that an epoch is shared into, shape (e,)."""
        packets = self.epochs.packets
        return np.maximum(packets - 1, 2) if self.limits.bunched else packets


@dataclass(frozen=True)
class Plans:
    """All flows of a table in epochs."""

    schedules: Schedules
    flows: tuple[Plan, ...]


def plans_of(
    table: PacketTable,
    settings: Settings,
    *,
    target: str,
    limits: Mapping[str, Limits],
    guard_s: float = 0.0,
) -> Plans:
    """Return the epochs of all flows that a target can send.

    ``settings`` have :data:`DIRECTION`, :data:`EPOCH_S` and :data:`EPOCHS`, ``limits`` the
    datagrams of each protocol that it can send. Nothing is sent in the last ``guard_s`` of an
    epoch.

    Raises:
        ExportError: If nothing can be sent, or the table lacks levels that the epochs need.
    """
    direction, epoch_s = direction_of(settings), settings.number("epoch_s")
    schedules = schedules_of(table, target=target, protocols=list(limits), direction=direction)
    by_level = settings.text("epochs") == "levels"
    if by_level and not (table.is_known("phase").any() or table.is_known("scale_level").any()):
        raise ExportError(
            f"{target}: the table has neither phases nor scale levels; leave [--set epochs=levels]"
            " out, or export a table that trafficgen generated"
        )
    plans = []
    for flow in schedules.flows:
        edges_ns = None
        if by_level:
            edges_ns = _level_edges_ns(
                table, flow, direction, start_ns=schedules.start_ns, shortest_s=epoch_s
            )
        known = limits[flow.protocol]
        plans.append(plan_flow(flow, known, epoch_s=epoch_s, edges_ns=edges_ns, guard_s=guard_s))
    return Plans(schedules, tuple(plans))


def plan_flow(
    flow: FlowSchedule,
    limits: Limits,
    *,
    epoch_s: float,
    edges_ns: IntArray | None = None,
    guard_s: float = 0.0,
) -> Plan:
    """Return a flow in epochs, with datagrams that a tool can send.

    Epochs lie between ``edges_ns``, ascending, around all packets, shape (e + 1,); without them all
    are ``epoch_s`` long. Nothing is sent in the last ``guard_s`` of an epoch.
    """

    def cut(pieces: FlowSchedule) -> Epochs:
        if edges_ns is None:
            return epochs_of(pieces, epoch_s=epoch_s)
        return _epochs_between(pieces, edges_ns)

    epochs = cut(flow)
    lacking = np.repeat(epochs.packets < limits.least_packets, epochs.packets)
    needed = -(-flow.payload_bytes // limits.high_bytes)
    fewest = np.where(lacking, limits.least_packets, 1)
    flow = cut_payloads(flow, np.maximum(needed, fewest))
    epochs = cut(flow)
    mean_bytes = np.maximum(1, np.rint(epochs.payload_bytes / epochs.packets).astype(np.int64))
    return Plan(
        flow,
        epochs,
        np.maximum(mean_bytes, limits.low_bytes),
        limits,
        packets_raised=int(epochs.packets[mean_bytes < limits.low_bytes].sum()),
        guard_s=guard_s,
    )


def _level_edges_ns(
    table: PacketTable,
    flow: FlowSchedule,
    direction: Direction,
    *,
    start_ns: int,
    shortest_s: float,
) -> IntArray:
    """Return the edges of epochs: changes of phase or scale level, not sooner than allowed."""
    rows = rows_of(table, flow.flow, direction=direction)
    time_ns = table.time_ns[rows] - start_ns
    phases = table.column("phase").unify_dictionaries().combine_chunks()
    phase = np.asarray(phases.indices.fill_null(-1))[rows]
    level = np.where(
        table.is_known("scale_level"), table.values("scale_level").astype(np.int64), -1
    )[rows]
    changes = np.flatnonzero((phase[1:] != phase[:-1]) | (level[1:] != level[:-1])) + 1
    shortest_ns = ns_from_s(shortest_s)
    edges = [int(flow.time_ns[0])]
    for edge_ns in time_ns[changes].tolist():
        if edge_ns - edges[-1] >= shortest_ns:
            edges.append(edge_ns)
    span_ns = int(flow.time_ns[-1] - flow.time_ns[0])
    mean_gap_ns = span_ns // max(1, len(flow) - 1)
    edges.append(max(int(flow.time_ns[-1]) + max(1, mean_gap_ns), edges[-1] + shortest_ns))
    return np.array(edges, dtype=np.int64)


def plans_report(
    plans: Plans, *, target: str, files: Sequence[str], cannot_express: Sequence[str] = ()
) -> ProjectionReport:
    """Report an export in epochs; its distances are those of packet sizes and of gaps in a flow.

    ``cannot_express`` is what the output lacks, apart from what the plans say.
    """
    after = [plan.sent for plan in plans.flows]
    report = schedule_report(
        plans.schedules,
        after,
        target=target,
        files=files,
        cannot_express=(*_changes(plans), *cannot_express),
        cut=[plan.flow for plan in plans.flows],
    )
    return replace(report, distances=_distances(plans.schedules.flows, after))


def _changes(plans: Plans) -> list[str]:
    texts = []
    pieces = sum(len(plan.flow) for plan in plans.flows) - plans.schedules.packets
    if pieces:
        texts.append(
            f"packets that the tool cannot send in one were cut: {pieces} more datagrams than"
            " packets"
        )
    raised: Counter[int] = Counter()
    for plan in plans.flows:
        raised[plan.limits.low_bytes] += plan.packets_raised
    for low_bytes, packets in sorted(raised.items()):
        texts += note_raised(packets, low_bytes)
    return texts


def _distances(before: Sequence[FlowSchedule], after: Sequence[FlowSchedule]) -> dict[str, float]:
    sizes, new_sizes = (join_flows(flows, "payload_bytes") for flows in (before, after))
    gaps, new_gaps = (gaps_s([flow.time_ns for flow in flows]) for flows in (before, after))
    distances = {"packet_bytes.ks": ks_distance(sizes, new_sizes)}
    if gaps.size and new_gaps.size:
        distances["gap_s.ks"] = ks_distance(gaps, new_gaps)
    return distances
