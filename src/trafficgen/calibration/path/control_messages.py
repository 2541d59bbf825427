"""What TCP handshakes, RTCP reports and RTSP responses show of a path: mostly round trips."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from trafficgen.calibration.path.loss_measures import Loss
from trafficgen.flows import SessionView
from trafficgen.formatting import format_count
from trafficgen.models import Estimate
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

_SYN, TCP_ACK = 0x02, 0x10
#: Units of LSR and DLSR, 1/s; LSR is the middle 32 of the 64 bits of an NTP time.
_SHORT_NTP_HZ = 1 << 16
_SHORT_NTP_SHIFT, _SHORT_NTP_MASK = 16, (1 << 32) - 1
#: A report block of an RTCP report, by column.
_Block = dict[str, Any]


class RoundTripLimits:
    """Which answers crossed a network."""

    #: Faster ones did not, s: the capture was taken next to the host that answers. A larger limit
    #: would drop those of a LAN.
    shortest_s: float = 0.0002
    #: Beyond this an RTCP report answers another one than it seems to, s.
    longest_s: float = 60.0
    #: A server that answers a SYN within this share of the handshake is next to the capture.
    share_of_handshake: float = 0.1


_LIMITS = RoundTripLimits()


@dataclass(frozen=True)
class RtcpMeasures:
    """What RTCP reports show (RFC 3550, 6.4 and A.8); None for what they do not.

    Attributes:
        jitter_s: Interarrival jitter, median of the reports.
        rtt_s: Round-trip time between the place of the capture and the receiver.
    """

    loss: Loss | None = None
    jitter_s: Estimate | None = None
    rtt_s: Estimate | None = None


def measure_round_trip(view: SessionView, rtcp: RtcpMeasures) -> Estimate | None:
    """Measure the round-trip time of a session, s; None if nothing shows it.

    TCP handshakes are valid wherever the capture was taken. RTCP and RTSP see the part of the path
    beyond the capture; RTSP's answers also wait for the server, so the least of them is an upper
    bound.
    """
    times_s = [whole_s for _, whole_s in find_handshakes(view.table)]
    if times_s:
        several = len(times_s) > 1
        handshakes = format_count(len(times_s), "TCP handshake")
        return Estimate(
            value=float(np.median(times_s)),
            low=min(times_s) if several else None,
            high=max(times_s) if several else None,
            method=f"median of {handshakes} of the session, SYN to first ACK",
        )
    if rtcp.rtt_s is not None:
        return rtcp.rtt_s
    answers_s = _rtsp_answers_s(view)
    if not answers_s:
        return None
    method = f"least of {len(answers_s)} RTSP request to response times; an upper bound"
    return Estimate(value=min(answers_s), high=min(answers_s), method=method)


def is_capture_at_server(table: PacketTable) -> bool:
    """Return whether the server answers every SYN at once: the capture was taken next to it."""
    handshakes = find_handshakes(table)
    return bool(handshakes) and all(
        answer_s < _LIMITS.share_of_handshake * whole_s for answer_s, whole_s in handshakes
    )


def find_handshakes(table: PacketTable) -> list[tuple[float, float]]:
    """Return the times from SYN to SYN/ACK and to the client's ACK of each TCP handshake, s.

    From the client's SYN to its first ACK after the SYN/ACK is one round trip wherever the capture
    was taken. Handshakes with a repeated SYN are left out (Karn's rule).
    """
    if "tcp_flags" not in table.packets.column_names:
        return []
    flags = np.where(table.is_known("tcp_flags"), table.values("tcp_flags"), 0).astype(np.uint8)
    both = flags & (_SYN | TCP_ACK)
    opening = ((both == _SYN) & ~table.to_client) | ((both == (_SYN | TCP_ACK)) & table.to_client)
    found = []
    for flow in np.unique(table.flow[opening]):
        mine = np.flatnonzero(opening & (table.flow == flow))
        # One SYN and one answer to it, in this order.
        if mine.size != 2 or both[mine[0]] != _SYN or both[mine[1]] != (_SYN | TCP_ACK):
            continue
        rest = slice(mine[1], None)
        acks = (table.flow[rest] == flow) & ~table.to_client[rest] & (both[rest] == TCP_ACK)
        if acks.any():
            syn, answer, ack = table.time_ns[[*mine, mine[1] + int(acks.argmax())]].tolist()
            found.append((s_from_ns(answer - syn), s_from_ns(ack - syn)))
    return found


def _rtsp_answers_s(view: SessionView) -> list[float]:
    """Return the times from RTSP requests of the client to their responses, s."""
    requests: dict[tuple[int, int], int] = {}
    times_s = []
    names = ["time_ns", "flow", "to_client", "method", "status", "sequence"]
    for message in view.table.signalling.select(names).to_pylist():
        if message["flow"] not in view.flows or message["sequence"] is None:
            continue
        key = (message["flow"], message["sequence"])
        if message["method"] is not None and not message["to_client"]:
            requests[key] = message["time_ns"]
        elif message["status"] is not None and message["to_client"] and key in requests:
            times_s.append(s_from_ns(message["time_ns"] - requests.pop(key)))
    return [time_s for time_s in times_s if time_s > _LIMITS.shortest_s]


def measure_rtcp(view: SessionView) -> RtcpMeasures:
    """Measure the path from the RTCP reports about a session's media flows.

    Reports about sources that sent no RTP here are left out: those of SRTP look like them.
    """
    table, rtcp = view.table, view.table.rtcp
    if not rtcp.num_rows:
        return RtcpMeasures()
    rows = np.flatnonzero(view.media & table.is_known("rtp_sequence"))
    ssrc, first = np.unique(table.values("rtp_ssrc")[rows], return_index=True)
    numbers = table.values("rtp_sequence")[rows[first]]
    first_numbers = dict(zip(ssrc.tolist(), numbers.tolist(), strict=True))
    flows = pc.cast(list(view.flows), rtcp.schema.field("flow").type)
    reports = rtcp.filter(pc.is_in(rtcp.column("flow"), flows)).to_pylist()
    blocks = [row for row in reports if row["ssrc"] in first_numbers and not row["to_client"]]
    # Before a window of a longer capture, reports are what later counts go on from.
    start_ns = int(table.time_ns[0])
    earlier = {block["ssrc"]: block for block in blocks if block["time_ns"] < start_ns}
    blocks = [block for block in blocks if block["time_ns"] >= start_ns]
    loss = _measure_loss(blocks, first_numbers, earlier)
    return RtcpMeasures(loss, _measure_jitter(blocks, table), _measure_rtt(reports, blocks))


def _measure_loss(
    blocks: list[_Block], first_numbers: dict[int, int], earlier: dict[int, _Block]
) -> Loss | None:
    """Return cumulative loss from the first captured number, or the report before it, on."""
    lost = expected = 0
    for ssrc, first_number in first_numbers.items():
        mine = [block for block in blocks if block["ssrc"] == ssrc]
        if not mine:
            continue
        # The receiver counts cycles from its own first packet on, so that is in cycle 0.
        start = {"highest_sequence": first_number - 1, "cumulative_lost": 0}
        last, before = mine[-1], earlier.get(ssrc, start)
        its_expected = last["highest_sequence"] - before["highest_sequence"]
        its_lost = last["cumulative_lost"] - before["cumulative_lost"]
        if its_expected > 0 and its_lost <= its_expected:
            expected += its_expected
            lost += max(0, its_lost)
    return Loss.from_share(lost, expected, "rtcp") if expected else None


def _measure_jitter(blocks: list[_Block], table: PacketTable) -> Estimate | None:
    clocks = {row["ssrc"]: row["clock_hz"] for row in table.flows.to_pylist() if row["clock_hz"]}
    values_s = [
        block["jitter"] / clocks[block["ssrc"]] for block in blocks if block["ssrc"] in clocks
    ]
    if not values_s:
        return None
    low, high = np.quantile(values_s, [0.025, 0.975]).tolist()
    method = f"median of {len(values_s)} RTCP receiver reports; range of 95% of them"
    return Estimate(value=float(np.median(values_s)), low=low, high=high, method=method)


def _measure_rtt(reports: list[_Block], blocks: list[_Block]) -> Estimate | None:
    """Return the median time from a sender report to the report that answers it, less DLSR."""
    sent = {
        (row["reporter_ssrc"], (row["ntp"] >> _SHORT_NTP_SHIFT) & _SHORT_NTP_MASK): row["time_ns"]
        for row in reports
        if row["ntp"] is not None and row["to_client"]
    }
    times_s = []
    for block in blocks:
        sent_ns = sent.get((block["ssrc"], block["last_sender_report"]))
        if sent_ns is None or not block["last_sender_report"]:
            continue
        rtt_s = s_from_ns(block["time_ns"] - sent_ns) - block["delay_since_last"] / _SHORT_NTP_HZ
        if _LIMITS.shortest_s < rtt_s < _LIMITS.longest_s:
            times_s.append(rtt_s)
    if not times_s:
        return None
    method = f"median of {len(times_s)} RTCP reports (LSR, DLSR), capture to receiver and back"
    return Estimate(
        value=float(np.median(times_s)),
        low=min(times_s),
        high=max(times_s),
        method=f"{method}; their range",
    )
