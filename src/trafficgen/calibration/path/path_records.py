"""What the path did to each media packet of a session, and its sums over intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.path.clock_skew import least_line
from trafficgen.calibration.path.pairing import Pairing
from trafficgen.calibration.processes.rtp_schedule import restore_rtp
from trafficgen.calibration.streams.source_reconstruction import mark_retransmissions
from trafficgen.flows import SessionView
from trafficgen.units import BoolArray, FloatArray, IntArray, bps_from_bytes, ns_from_s, s_from_ns


@dataclass(frozen=True)
class PathRecords:
    """Media packets in order of sending, shape (n,) each.

    Attributes:
        sent_ns: Times of sending, ns from the origin of their table.
        ip_bytes: IP total lengths, bytes.
        is_lost: Whether the path lost a packet; for TCP, whether it was retransmitted.
        delay_s: One-way delay above the least, s; NaN if unknown.
        frame_starts: Whether a packet begins an RTP frame; false everywhere if unknown.
        source: Where this is known from.
        is_tcp: Whether TCP sets the rate of most bytes.
    """

    sent_ns: IntArray
    ip_bytes: IntArray
    is_lost: BoolArray
    delay_s: FloatArray
    frame_starts: BoolArray
    source: str
    is_tcp: bool = False


@dataclass(frozen=True)
class PathSeries:
    """Successive intervals, without the first and the last, which are cut; shape (n,) each.

    Attributes:
        interval_s: Length of an interval, s.
        offered_bps: Rate sent, bit/s of IP bytes.
        goodput_bps: Rate that arrived, bit/s of IP bytes.
        packets: Packets sent.
        loss: Lost / sent packets, 0 if none was sent.
        delay_s: Mean one-way delay above the least, s; NaN if unknown.
        frames: RTP frames begun; 0 everywhere if unknown.
    """

    interval_s: float
    offered_bps: FloatArray
    goodput_bps: FloatArray
    packets: FloatArray
    loss: FloatArray
    delay_s: FloatArray
    frames: FloatArray


def sum_intervals(records: PathRecords, *, interval_s: float) -> PathSeries:
    """Sum the records of a session over intervals of equal length, s."""
    index = (records.sent_ns - records.sent_ns.min()) // ns_from_s(interval_s)
    count = int(index.max()) + 1 if index.size else 0

    def total(weights: FloatArray | IntArray | BoolArray) -> FloatArray:
        sums = np.bincount(index, weights=weights.astype(np.float64), minlength=count)
        return np.asarray(sums[1:-1], dtype=np.float64)

    to_bps = bps_from_bytes(1.0, interval_s)
    is_timed = ~np.isnan(records.delay_s)
    packets, timed = total(np.ones(index.size)), total(is_timed)
    delay_s, lost = total(np.where(is_timed, records.delay_s, 0.0)), total(records.is_lost)
    return PathSeries(
        interval_s=interval_s,
        offered_bps=total(records.ip_bytes) * to_bps,
        goodput_bps=total(np.where(records.is_lost, 0, records.ip_bytes)) * to_bps,
        packets=packets,
        loss=np.divide(lost, packets, out=np.zeros(packets.size), where=packets > 0),
        delay_s=np.divide(delay_s, timed, out=np.full(packets.size, np.nan), where=timed > 0),
        frames=total(records.frame_starts),
    )


def trace_packets(view: SessionView, pairing: Pairing | None) -> PathRecords | None:
    """Trace the media packets of a session; None if neither a pair, RTP nor TCP shows their fate.

    A pair shows everything. RTP shows losses, and delays as far as timestamps say when frames were
    sent (see :func:`~trafficgen.calibration.processes.rtp_schedule.restore_rtp`). TCP shows
    retransmissions, but no delays.
    """
    if pairing is not None:
        tcp = view.media & view.table.is_known("tcp_sequence")
        return PathRecords(
            sent_ns=pairing.sent_ns,
            ip_bytes=pairing.ip_bytes,
            is_lost=pairing.is_lost,
            delay_s=pairing.delay_s,
            frame_starts=_frame_starts(pairing),
            source=pairing.source,
            is_tcp=2 * int(view.table.ip_bytes[tcp].sum()) > int(view.media_ip_bytes.sum()),
        )
    if np.any(view.media & view.table.is_known("rtp_sequence")):
        return _records_of_rtp(view)
    if np.any(view.media & view.table.is_known("tcp_sequence")):
        return _records_of_tcp(view)
    return None


def _frame_starts(pairing: Pairing) -> BoolArray:
    """Return which packets have another RTP timestamp than the one before of their flow."""
    table, rows = pairing.sender.table, pairing.rows
    starts = np.zeros(rows.size, dtype=np.bool_)
    known = table.is_known("rtp_timestamp")[rows]
    timestamp = table.values("rtp_timestamp")[rows]
    for flow in np.unique(pairing.flow[known]):
        mine = np.flatnonzero(known & (pairing.flow == flow))
        starts[mine] = np.concatenate(([True], timestamp[mine][1:] != timestamp[mine][:-1]))
    return starts


def _records_of_tcp(view: SessionView) -> PathRecords:
    count = view.media_time_ns.size
    is_lost = np.zeros(len(view.table), dtype=np.bool_)
    data = view.media & view.table.is_known("tcp_sequence")
    flows = [flow for flow in view.media_flows if np.any(data & (view.table.flow == flow))]
    for flow, repeated in zip(flows, mark_retransmissions(view), strict=True):
        is_lost[data & (view.table.flow == flow)] = repeated
    return PathRecords(
        sent_ns=view.media_time_ns,
        ip_bytes=view.media_ip_bytes,
        is_lost=is_lost[view.media],
        delay_s=np.full(count, np.nan),
        frame_starts=np.zeros(count, dtype=np.bool_),
        source="TCP sequence numbers",
        is_tcp=True,
    )


def _records_of_rtp(view: SessionView) -> PathRecords | None:
    table = view.table
    parts: list[PathRecords] = []
    for flow in view.media_flows:
        rows = np.flatnonzero(view.media & (table.flow == flow) & table.is_known("rtp_sequence"))
        ssrc = table.values("rtp_ssrc")[rows]
        for source in np.unique(ssrc):
            part = _records_of_source(view, rows[ssrc == source], clock_hz=view.clock_hz(flow))
            parts += [part] if part is not None else []
    if not parts:
        return None
    order = np.argsort(np.concatenate([part.sent_ns for part in parts]), kind="stable")
    return PathRecords(
        sent_ns=np.concatenate([part.sent_ns for part in parts])[order],
        ip_bytes=np.concatenate([part.ip_bytes for part in parts])[order],
        is_lost=np.concatenate([part.is_lost for part in parts])[order],
        delay_s=np.concatenate([part.delay_s for part in parts])[order],
        frame_starts=np.concatenate([part.frame_starts for part in parts])[order],
        source="RTP sequence numbers and timestamps",
    )


def _records_of_source(
    view: SessionView, rows: IntArray, *, clock_hz: int | None
) -> PathRecords | None:
    sent = restore_rtp(view.table, rows, clock_hz=clock_hz, undo_queueing=True)
    if sent is None:
        return None
    packets = sent.packets
    frame_starts = np.concatenate(([True], np.diff(packets.timestamp) != 0))
    delay_s = np.full(sent.time_ns.size, np.nan)
    if sent.is_retimed:
        arrived = ~packets.is_lost
        arrival_ns = view.table.time_ns[packets.like[arrived]]
        delay_s[arrived] = s_from_ns(arrival_ns - sent.time_ns[arrived])
        sent_s = s_from_ns(sent.time_ns - sent.time_ns[0])
        intercept_s, skew = least_line(sent_s[arrived], delay_s[arrived])
        delay_s = np.maximum(delay_s - intercept_s - skew * sent_s, 0.0)
        # The rest of a frame waits for its first packet, which is the source's doing.
        delay_s[~frame_starts] = np.nan
    return PathRecords(sent.time_ns, packets.ip_bytes, packets.is_lost, delay_s, frame_starts, "")
