"""Conditions of the capture, apart from the source: round-trip time and loss; and the bound they set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.flows import SessionView, extend_sequence, rtp_loss
from trafficgen.tables import PacketTable
from trafficgen.units import BITS_PER_BYTE, BoolArray, IntArray, kbps_from_bps, s_from_ns

_SYN, _ACK = 0x02, 0x10
#: CCZ-F1: size of a packet of the bound.
_BOUND_PACKET_BYTES = 1500
_SEQUENCE_SPACE_BITS = 32


@dataclass(frozen=True)
class Loss:
    """Loss seen in a capture.

    Attributes:
        rate: Lost / expected packets, or retransmitted / all data packets.
        mean_burst_packets: Mean run of consecutive ones, or None where there are none.
        source: ``"rtp"`` or ``"tcp"``.
        packets: What the rate is relative to.
    """

    rate: float
    mean_burst_packets: float | None
    source: str
    packets: int


def handshake_rtt_s(table: PacketTable) -> float | None:
    """Return the median round-trip time of the TCP handshakes, s, or None where there is none.

    From the client's SYN to its first ACK after the SYN/ACK is one round trip wherever the capture was taken.
    Handshakes with a repeated SYN are left out (Karn's rule).
    """
    if "tcp_flags" not in table.packets.column_names:
        return None
    flags = np.where(table.known("tcp_flags"), table.values("tcp_flags"), 0).astype(np.uint8)
    syn = (flags & (_SYN | _ACK)) == _SYN
    answer = ((flags & (_SYN | _ACK)) == (_SYN | _ACK)) & table.to_client
    times = []
    for flow in np.unique(table.flow[syn & ~table.to_client]):
        mine = table.flow == flow
        rtt_s = _one_handshake_s(table, syn & mine & ~table.to_client, answer & mine, mine & ~table.to_client, flags)
        if rtt_s is not None:
            times.append(rtt_s)
    return float(np.median(times)) if times else None


def _one_handshake_s(
    table: PacketTable, syn: BoolArray, answer: BoolArray, to_server: BoolArray, flags: npt.NDArray[np.uint8]
) -> float | None:
    asked, answered = np.flatnonzero(syn), np.flatnonzero(answer)
    if asked.size != 1 or answered.size != 1 or answered[0] < asked[0]:
        return None
    after = np.flatnonzero(to_server[answered[0] :] & ((flags[answered[0] :] & (_SYN | _ACK)) == _ACK))
    if after.size == 0:
        return None
    return s_from_ns(int(table.time_ns[answered[0] + after[0]] - table.time_ns[asked[0]]))


def find_loss(view: SessionView) -> Loss | None:
    """Return the loss of the media flows: from RTP sequence numbers, else from TCP retransmissions, else None.

    Numbers on less than half of the media bytes say nothing about the session.
    """
    if not _carries_half(view, "rtp_sequence"):
        return _tcp_loss(view) if _carries_half(view, "tcp_sequence") else None
    counted = [found for found in rtp_loss(view.table, view.media) if found.expected > 1]
    if counted:
        expected = sum(found.expected for found in counted)
        runs = np.concatenate([found.lost_runs for found in counted])
        mean_run = float(runs.mean()) if runs.size else None
        return Loss(sum(found.lost for found in counted) / expected, mean_run, "rtp", expected)
    return _tcp_loss(view)


def _carries_half(view: SessionView, column: str) -> bool:
    """Return whether packets with a known number carry half of the media bytes or more."""
    numbered = view.media & view.table.known(column)
    return 2 * int(view.table.ip_bytes[numbered].sum()) >= int(view.media_ip_bytes.sum())


def _tcp_loss(view: SessionView) -> Loss | None:
    """Return the share of data packets to the client that repeat data, and their mean run."""
    data = view.media & view.table.known("tcp_sequence")
    if not data.any():
        return None
    sequence = view.table.values("tcp_sequence").astype(np.int64)
    again_parts = []
    for flow in view.media_flows:
        rows = np.flatnonzero(data & (view.table.flow == flow))
        if rows.size:
            again_parts.append(_repeats(sequence[rows], view.table.payload_bytes[rows]))
    again = np.concatenate(again_parts)
    edges = np.diff(np.concatenate(([False], again, [False])).astype(np.int8))
    runs = np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1)
    mean_run = float(runs.mean()) if runs.size else None
    return Loss(float(again.mean()), mean_run, "tcp", int(again.size))


def _repeats(sequence: IntArray, payload_bytes: IntArray) -> BoolArray:
    """Return which packets of one flow end at or below the highest sequence number seen before."""
    end = extend_sequence(sequence, bits=_SEQUENCE_SPACE_BITS) + payload_bytes
    highest_before = np.concatenate(([np.iinfo(np.int64).min], np.maximum.accumulate(end)[:-1]))
    repeats: BoolArray = end <= highest_before
    return repeats


def tcp_friendly_kbps(*, rtt_s: float | None, loss_rate: float | None) -> float | None:
    """Return the TCP-friendly bound 1.5 sqrt(2/3) s / (R sqrt(p)) of 1500-byte packets, kbit/s (CCZ-F1).

    Args:
        rtt_s: Round-trip time R, s.
        loss_rate: Loss p; without loss there is no bound.
    """
    if not rtt_s or not loss_rate:
        return None
    bound_bytes_per_s = 1.5 * np.sqrt(2 / 3) * _BOUND_PACKET_BYTES / (rtt_s * np.sqrt(loss_rate))
    return kbps_from_bps(float(bound_bytes_per_s) * BITS_PER_BYTE)
