"""What the path did to each media packet of a session, as far as one capture or a pair of them
tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.path.clock_skew import least_line
from trafficgen.calibration.path.pairing import Pairing
from trafficgen.calibration.processes.rtp_schedule import restore_rtp
from trafficgen.calibration.streams.source_reconstruction import repeated_packets
from trafficgen.flows import SessionView
from trafficgen.units import BoolArray, FloatArray, IntArray, s_from_ns


@dataclass(frozen=True)
class PathRecords:
    """Media packets in order of sending, shape (n,) each.

    Attributes:
        sent_ns: Times of sending, ns from the origin of the table they come from.
        ip_bytes: IP total lengths, bytes.
        is_lost: Whether a packet was lost on the path; for TCP, whether it is sent again.
        delay_s: One-way delay above the least, s; NaN where it is not known.
        frame_starts: Whether a packet begins an RTP frame; nowhere true where frames are not known.
        source: Where it is known from.
        is_tcp: Whether TCP sets the rate of most bytes.
    """

    sent_ns: IntArray
    ip_bytes: IntArray
    is_lost: BoolArray
    delay_s: FloatArray
    frame_starts: BoolArray
    source: str
    is_tcp: bool = False


def path_records(view: SessionView, pairing: Pairing | None) -> PathRecords | None:
    """Return the records of a session's media packets; None where neither a pair, RTP nor TCP tells
    anything.

    A pair tells all. RTP tells what was lost, and delays as far as timestamps say when frames were
    sent (see :func:`trafficgen.calibration.processes.rtp_schedule.restore_rtp`). TCP tells what was sent
    again, but no delays.
    """
    if pairing is not None:
        return PathRecords(
            sent_ns=pairing.sent_ns,
            ip_bytes=pairing.ip_bytes,
            is_lost=pairing.is_lost,
            delay_s=pairing.delay_s,
            frame_starts=_frame_starts(pairing),
            source=pairing.source,
            is_tcp=_is_tcp(view),
        )
    if np.any(view.media & view.table.known("rtp_sequence")):
        return _of_rtp(view)
    if np.any(view.media & view.table.known("tcp_sequence")):
        return _of_tcp(view)
    return None


def _frame_starts(pairing: Pairing) -> BoolArray:
    """Return which of the packets sent have another RTP timestamp than the one before of the same
    flow.
    """
    table, rows = pairing.sender.table, pairing.rows
    starts = np.zeros(rows.size, dtype=np.bool_)
    known = table.known("rtp_timestamp")[rows]
    timestamp = table.values("rtp_timestamp")[rows]
    for flow in np.unique(pairing.flow[known]):
        mine = np.flatnonzero(known & (pairing.flow == flow))
        starts[mine] = np.concatenate(([True], timestamp[mine][1:] != timestamp[mine][:-1]))
    return starts


def _is_tcp(view: SessionView) -> bool:
    tcp = view.media & view.table.known("tcp_sequence")
    return 2 * int(view.table.ip_bytes[tcp].sum()) > int(view.media_ip_bytes.sum())


def _of_tcp(view: SessionView) -> PathRecords | None:
    time_ns = view.media_time_ns
    is_lost = np.zeros(len(view.table), dtype=np.bool_)
    data = view.media & view.table.known("tcp_sequence")
    flows = [flow for flow in view.media_flows if np.any(data & (view.table.flow == flow))]
    for flow, repeated in zip(flows, repeated_packets(view), strict=True):
        is_lost[data & (view.table.flow == flow)] = repeated
    return PathRecords(
        sent_ns=time_ns,
        ip_bytes=view.media_ip_bytes,
        is_lost=is_lost[view.media],
        delay_s=np.full(time_ns.size, np.nan),
        frame_starts=np.zeros(time_ns.size, dtype=np.bool_),
        source="TCP sequence numbers",
        is_tcp=True,
    )


def _of_rtp(view: SessionView) -> PathRecords | None:
    table = view.table
    parts: list[PathRecords] = []
    for flow in view.media_flows:
        rows = np.flatnonzero(view.media & (table.flow == flow) & table.known("rtp_sequence"))
        ssrc = table.values("rtp_ssrc")[rows]
        for source in np.unique(ssrc):
            part = _of_source(view, rows[ssrc == source], clock_hz=view.clock_hz(flow))
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


def _of_source(view: SessionView, rows: IntArray, *, clock_hz: int | None) -> PathRecords | None:
    sent = restore_rtp(view.table, rows, clock_hz=clock_hz, undo_queueing=True)
    if sent is None:
        return None
    frame_starts = np.concatenate(([True], np.diff(sent.timestamp) != 0))
    delay_s = np.full(sent.time_ns.size, np.nan)
    if sent.is_retimed:
        come = ~sent.is_lost
        delay_s[come] = s_from_ns(view.table.time_ns[sent.like[come]] - sent.time_ns[come])
        sent_s = s_from_ns(sent.time_ns - sent.time_ns[0])
        intercept_s, skew = least_line(sent_s[come], delay_s[come])
        delay_s = np.maximum(delay_s - intercept_s - skew * sent_s, 0.0)
        # The rest of a frame waits for its first packet, which is the source's doing.
        delay_s[~frame_starts] = np.nan
    return PathRecords(sent.time_ns, sent.ip_bytes, sent.is_lost, delay_s, frame_starts, "")
