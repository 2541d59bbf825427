"""What was counted of one RTP stream (RFC 3550, appendix A)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class RtpStreamCount:
    """One synchronisation source in one direction of a flow.

    Attributes:
        flow: Number of the flow.
        to_client: Direction.
        ssrc: Synchronisation source.
        payload_type: RTP payload type of its first packet; None where the table does not say.
        clock_hz: Timestamp clock, Hz; None where neither the signalling, the payload type nor the
            timestamps tell.
        packets: Packets seen.
        expected: Packets that the sequence numbers span (RFC 3550 A.3).
        lost: Expected packets that never came; duplicates do not make up for them.
        reordered: Packets below the highest sequence number seen before them.
        duplicates: Packets whose sequence number had been seen.
        jitter_s: Mean over packets of the interarrival jitter estimate (RFC 3550 A.8), s; None
            without a clock.
        channel: Channel of an RTSP connection that carries it; None for RTP in UDP.
    """

    flow: int
    to_client: bool
    ssrc: int
    payload_type: int | None
    clock_hz: int | None
    packets: int
    expected: int
    lost: int
    reordered: int
    duplicates: int
    jitter_s: float | None
    channel: int | None = None
