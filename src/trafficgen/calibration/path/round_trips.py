"""Round-trip time of a session: from TCP handshakes, RTCP reports or RTSP requests, in this
order.
"""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.path.rtcp_measures import RtcpMeasures
from trafficgen.flows import SessionView
from trafficgen.models import Estimate
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

_SYN, _ACK = 0x02, 0x10
#: Answers faster than this come from beside the capture, s.
_BESIDE_S = 0.0002
#: So does one that takes less than this share of a handshake.
_BESIDE_SHARE = 0.1


def round_trip(view: SessionView, rtcp: RtcpMeasures) -> Estimate | None:
    """Return the round-trip time of a session, s, with how it was measured; None where nothing
    tells.

    Handshakes of TCP hold wherever the capture was taken. RTCP (RFC 3550 A.8) and RTSP see the part
    of the path beyond the place of the capture; RTSP's answers also wait for the server, so the
    least of them is an upper bound.
    """
    times = handshake_times_s(view.table)
    if times:
        return Estimate(
            value=float(np.median(times)),
            low=min(times) if len(times) > 1 else None,
            high=max(times) if len(times) > 1 else None,
            method=f"median of {len(times)} TCP handshakes, SYN to first ACK",
        )
    if rtcp.rtt_s is not None:
        return rtcp.rtt_s
    answers = _rtsp_answers_s(view)
    if not answers:
        return None
    return Estimate(
        value=min(answers),
        high=min(answers),
        method=f"least of {len(answers)} RTSP request to response times; an upper bound",
    )


def handshake_rtt_s(table: PacketTable) -> float | None:
    """Return the median round-trip time of the TCP handshakes, s, or None where there is none."""
    times = handshake_times_s(table)
    return float(np.median(times)) if times else None


def handshake_times_s(table: PacketTable) -> list[float]:
    """Return the round-trip times of the TCP handshakes, s.

    From the client's SYN to its first ACK after the SYN/ACK is one round trip wherever the capture
    was taken. Handshakes with a repeated SYN are left out (Karn's rule).
    """
    return [whole_s for _, whole_s in _handshakes(table)]


def is_beside_server(table: PacketTable) -> bool:
    """Return whether handshakes say that the capture was taken beside the server: it answers a SYN
    in no time.
    """
    handshakes = _handshakes(table)
    return bool(handshakes) and all(
        answer_s < _BESIDE_SHARE * whole_s for answer_s, whole_s in handshakes
    )


def _handshakes(table: PacketTable) -> list[tuple[float, float]]:
    """Return, for each TCP handshake, the times from SYN to SYN/ACK and from SYN to the client's
    ACK, s.
    """
    if "tcp_flags" not in table.packets.column_names:
        return []
    flags = np.where(table.known("tcp_flags"), table.values("tcp_flags"), 0).astype(np.uint8)
    both = flags & (_SYN | _ACK)
    opening = ((both == _SYN) & ~table.to_client) | ((both == (_SYN | _ACK)) & table.to_client)
    found = []
    for flow in np.unique(table.flow[opening]):
        mine = np.flatnonzero(opening & (table.flow == flow))
        # One SYN and one answer to it, in this order.
        if mine.size != 2 or both[mine[0]] != _SYN or both[mine[1]] != (_SYN | _ACK):
            continue
        after = (
            (table.flow[mine[1] :] == flow)
            & ~table.to_client[mine[1] :]
            & (both[mine[1] :] == _ACK)
        )
        if after.any():
            times_ns = table.time_ns[[mine[0], mine[1], mine[1] + int(after.argmax())]]
            found.append(
                (
                    s_from_ns(int(times_ns[1] - times_ns[0])),
                    s_from_ns(int(times_ns[2] - times_ns[0])),
                )
            )
    return found


def _rtsp_answers_s(view: SessionView) -> list[float]:
    """Return the times from RTSP requests of the client to their responses, s."""
    asked: dict[tuple[int, int], int] = {}
    times = []
    names = ["time_ns", "flow", "to_client", "method", "status", "sequence"]
    for message in view.table.signalling.select(names).to_pylist():
        if message["flow"] not in view.flows or message["sequence"] is None:
            continue
        key = (message["flow"], message["sequence"])
        if message["method"] is not None and not message["to_client"]:
            asked[key] = message["time_ns"]
        elif message["status"] is not None and message["to_client"] and key in asked:
            times.append(s_from_ns(message["time_ns"] - asked.pop(key)))
    return [time_s for time_s in times if time_s > _BESIDE_S]
