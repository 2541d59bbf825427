"""What the path did to each media packet of a session, and its sums over intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from trafficgen.calibration.path.clock_skew import least_line
from trafficgen.calibration.path.pairing import Pairing
from trafficgen.calibration.path.source_reconstruction import (
    mark_retransmissions,
    restore_rtp_sources,
)
from trafficgen.calibration.rtp_restoration import SentPackets
from trafficgen.flows import SessionView, select_rows
from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.units import BoolArray, FloatArray, IntArray, bps_from_bytes, ns_from_s, s_from_ns

_Value = TypeVar("_Value", bound=np.generic)


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
        has_emptied: Whether delays show an empty queue; else the least one may hold a wait.
    """

    sent_ns: IntArray
    ip_bytes: IntArray
    is_lost: BoolArray
    delay_s: FloatArray
    frame_starts: BoolArray
    source: str
    is_tcp: bool = False
    has_emptied: bool = True


@dataclass(frozen=True)
class PathSeries:
    """Successive intervals, without the first and the last, which are cut; shape (n,) each.

    Attributes:
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

    A pair shows everything. RTP shows losses, and delays as far as timestamps show when frames were
    sent (see :func:`~trafficgen.calibration.rtp_restoration.restore_rtp`). TCP shows
    retransmissions, but no delays. Numbers on less than half of the media bytes say nothing about
    the session.
    """
    if pairing is not None:
        tcp = view.media & view.table.is_known("tcp_sequence")
        return PathRecords(
            sent_ns=pairing.sent_ns,
            ip_bytes=pairing.ip_bytes,
            is_lost=pairing.is_lost,
            delay_s=pairing.delay_s,
            frame_starts=_find_frame_starts(pairing),
            source=pairing.source,
            has_emptied=pairing.has_emptied,
            is_tcp=2 * int(compact_ip_bytes(view.table)[tcp].sum())
            > int(view.media_ip_bytes.sum()),
        )
    if carries_half(view, "rtp_sequence"):
        return _trace_rtp(view)
    if carries_half(view, "tcp_sequence"):
        return _trace_tcp(view)
    return None


def carries_half(view: SessionView, column: str) -> bool:
    """Return whether packets with a known number carry half of the media bytes or more."""
    numbered = view.media & view.table.is_known(column)
    return 2 * int(compact_ip_bytes(view.table)[numbered].sum()) >= int(view.media_ip_bytes.sum())


def _find_frame_starts(pairing: Pairing) -> BoolArray:
    """Return which packets have another RTP timestamp than the one before of their flow."""
    table, rows = pairing.sender.table, pairing.rows
    starts = np.zeros(rows.size, dtype=np.bool_)
    known, flow = table.is_known("rtp_timestamp")[rows], table.flow[rows]
    timestamp = table.values("rtp_timestamp")[rows]
    for each in np.unique(flow[known]):
        mine = np.flatnonzero(known & (flow == each))
        starts[mine] = np.concatenate(([True], timestamp[mine][1:] != timestamp[mine][:-1]))
    return starts


def _trace_tcp(view: SessionView) -> PathRecords:
    is_lost = np.zeros(len(view.table), dtype=np.bool_)
    for rows, is_repeated in mark_retransmissions(view):
        is_lost[rows] = is_repeated
    time_ns = view.media_time_ns
    return PathRecords(
        sent_ns=time_ns,
        ip_bytes=view.media_ip_bytes,
        is_lost=is_lost[view.media],
        delay_s=np.full(time_ns.size, np.nan),
        frame_starts=np.zeros(time_ns.size, dtype=np.bool_),
        source="TCP sequence numbers",
        is_tcp=True,
    )


def _trace_rtp(view: SessionView) -> PathRecords | None:
    sources = [sent for _, sent in restore_rtp_sources(view, undo_queueing=True)]
    if not sources:
        return None
    starts = [np.concatenate(([True], np.diff(sent.packets.timestamp) != 0)) for sent in sources]
    delays = [_rtp_delays_s(view.table, *each) for each in zip(sources, starts, strict=True)]
    sent_ns, order = _join([sent.time_ns for sent in sources], None), None
    if np.any(sent_ns[1:] < sent_ns[:-1]):
        order = np.argsort(sent_ns, kind="stable")
    return PathRecords(
        sent_ns=_join([sent_ns], order),
        ip_bytes=_join([sent.packets.ip_bytes for sent in sources], order),
        is_lost=_join([sent.packets.is_lost for sent in sources], order),
        delay_s=_join([delay_s for delay_s, _ in delays], order),
        frame_starts=_join(starts, order),
        source="RTP sequence numbers and lateness against RTP timestamps (path or sender)",
        has_emptied=all(has_emptied for _, has_emptied in delays),
    )


def _join(parts: list[npt.NDArray[_Value]], order: IntArray | None) -> npt.NDArray[_Value]:
    """Return what belongs to sources in an order, None for that of the sources, without copies."""
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return joined if order is None else joined[order]


def _rtp_delays_s(
    table: PacketTable, sent: SentPackets, frame_starts: BoolArray
) -> tuple[FloatArray, bool]:
    """Return the delay of each packet above the least, s, NaN if unknown; has the queue emptied?"""
    delay_s: FloatArray = np.full(sent.time_ns.size, np.nan)
    if not sent.is_retimed:
        return delay_s, True
    arrived = ~sent.packets.is_lost
    arrival_ns = table.time_ns[sent.packets.like[arrived]]
    delay_s[arrived] = s_from_ns(arrival_ns - sent.time_ns[arrived])
    sent_s = s_from_ns(sent.time_ns - sent.time_ns[0])
    line = least_line(select_rows(sent_s, arrived), select_rows(delay_s, arrived))
    intercept_s, skew, has_emptied = line
    delay_s -= intercept_s
    sent_s *= skew
    delay_s -= sent_s
    np.maximum(delay_s, 0.0, out=delay_s)
    # The rest of a frame waits for its first packet, which is the source's doing.
    delay_s[~frame_starts] = np.nan
    return delay_s, has_emptied
