"""Round-trip time of a session: from TCP handshakes, RTCP reports or RTSP requests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.path.rtcp_measures import RtcpMeasures
from trafficgen.flows import SessionView
from trafficgen.models import Estimate
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

_SYN, _ACK = 0x02, 0x10


@dataclass(frozen=True)
class NearHostLimits:
    """When a capture was taken next to the host that answers."""

    #: Answers faster than this crossed no network, s; a larger one would drop those of a LAN.
    shortest_answer_s: float = 0.0002
    #: A server that answers a SYN within this share of the handshake is next to the capture.
    share_of_handshake: float = 0.1


_LIMITS = NearHostLimits()


def measure_round_trip(view: SessionView, rtcp: RtcpMeasures) -> Estimate | None:
    """Measure the round-trip time of a session, s; None if nothing shows it.

    TCP handshakes are valid wherever the capture was taken. RTCP (RFC 3550 A.8) and RTSP see the
    part of the path beyond the capture; RTSP's answers also wait for the server, so the least of
    them is an upper bound.
    """
    times = handshake_times_s(view.table)
    if times:
        several = len(times) > 1
        return Estimate(
            value=float(np.median(times)),
            low=min(times) if several else None,
            high=max(times) if several else None,
            method=f"median of {len(times)} TCP handshakes, SYN to first ACK",
        )
    if rtcp.rtt_s is not None:
        return rtcp.rtt_s
    answers = _rtsp_answers_s(view)
    if not answers:
        return None
    method = f"least of {len(answers)} RTSP request to response times; an upper bound"
    return Estimate(value=min(answers), high=min(answers), method=method)


def handshake_rtt_s(table: PacketTable) -> float | None:
    """Return the median round-trip time of the TCP handshakes, s; None if there is none."""
    times = handshake_times_s(table)
    return float(np.median(times)) if times else None


def handshake_times_s(table: PacketTable) -> list[float]:
    """Return the round-trip times of the TCP handshakes, s.

    From the client's SYN to its first ACK after the SYN/ACK is one round trip wherever the capture
    was taken. Handshakes with a repeated SYN are left out (Karn's rule).
    """
    return [whole_s for _, whole_s in _find_handshakes(table)]


def is_beside_server(table: PacketTable) -> bool:
    """Return whether the server answers every SYN at once: the capture was taken next to it."""
    handshakes = _find_handshakes(table)
    return bool(handshakes) and all(
        answer_s < _LIMITS.share_of_handshake * whole_s for answer_s, whole_s in handshakes
    )


def _find_handshakes(table: PacketTable) -> list[tuple[float, float]]:
    """Return the times from SYN to SYN/ACK and to the client's ACK of each handshake, s."""
    if "tcp_flags" not in table.packets.column_names:
        return []
    flags = np.where(table.is_known("tcp_flags"), table.values("tcp_flags"), 0).astype(np.uint8)
    both = flags & (_SYN | _ACK)
    opening = ((both == _SYN) & ~table.to_client) | ((both == (_SYN | _ACK)) & table.to_client)
    found = []
    for flow in np.unique(table.flow[opening]):
        mine = np.flatnonzero(opening & (table.flow == flow))
        # One SYN and one answer to it, in this order.
        if mine.size != 2 or both[mine[0]] != _SYN or both[mine[1]] != (_SYN | _ACK):
            continue
        rest = slice(mine[1], None)
        acks = (table.flow[rest] == flow) & ~table.to_client[rest] & (both[rest] == _ACK)
        if acks.any():
            syn, answer, ack = table.time_ns[[*mine, mine[1] + int(acks.argmax())]].tolist()
            found.append((s_from_ns(answer - syn), s_from_ns(ack - syn)))
    return found


def _rtsp_answers_s(view: SessionView) -> list[float]:
    """Return the times from RTSP requests of the client to their responses, s."""
    requests: dict[tuple[int, int], int] = {}
    times = []
    names = ["time_ns", "flow", "to_client", "method", "status", "sequence"]
    for message in view.table.signalling.select(names).to_pylist():
        if message["flow"] not in view.flows or message["sequence"] is None:
            continue
        key = (message["flow"], message["sequence"])
        if message["method"] is not None and not message["to_client"]:
            requests[key] = message["time_ns"]
        elif message["status"] is not None and message["to_client"] and key in requests:
            times.append(s_from_ns(message["time_ns"] - requests.pop(key)))
    return [time_s for time_s in times if time_s > _LIMITS.shortest_answer_s]
