"""Streams: what a source sends on one transport, phase by phase."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from trafficgen.model_parts.estimate import Estimate, ModelPart
from trafficgen.processes.kinds import PacketProcess
from trafficgen.processes.process import ProcessChoice
from trafficgen.quantity_bounds import LONGEST_S
from trafficgen.tables.protocols import smallest_header_bytes
from trafficgen.units import bps_from_bytes

PhaseName = Literal["buffering", "playout", "rebuffering", "end"]


class RtpFormat(ModelPart):
    """RTP header fields of a stream (RFC 3550)."""

    payload_type: int = Field(ge=0, le=127)
    """Payload type."""
    clock_hz: int = Field(gt=0, lt=1 << 32)
    """RTP timestamp clock, Hz."""
    timestamp_step: Estimate | None = None
    """Mode of the timestamp step between frames, clock ticks."""
    frame_per_burst: bool
    """Whether packets of one burst share a timestamp, the last one marked (video)."""


_HTTP3_PORT = 443
#: Segments that one acknowledgement can cover; receive offload joins at most 64 KiB, 44 of them.
MOST_ACKNOWLEDGED = 64
#: A lone segment is acknowledged after this time, s; RFC 1122 section 4.2.3.2 allows up to 0.5 s.
DELAYED_ACK_S = 0.2
_SHARES_TOLERANCE = 1e-6


def _without_null(written: dict[str, object], name: str) -> dict[str, object]:
    if written.get(name, 0) is None:
        del written[name]
    return written


class NumbersAcknowledged(ModelPart):
    """How many packets of media are acknowledged at a time.

    Successive numbers are those of a DAR(1) chain (Jacobs and Lewis 1978): the one before again, or
    one that is drawn by its share.
    """

    packet_shares: tuple[Annotated[float, Field(ge=0, le=1)], ...] = Field(
        min_length=1, max_length=MOST_ACKNOWLEDGED
    )
    """Share of the acknowledgements that are for one packet, for two and so on; their sum is 1."""
    repeat_probability: float = Field(ge=0, lt=1)
    """Probability that an acknowledgement is for as many packets as the one before, undrawn."""

    @model_validator(mode="after")
    def _shares_sum_to_one(self) -> Self:
        if not math.isclose(math.fsum(self.packet_shares), 1.0, abs_tol=_SHARES_TOLERANCE):
            raise ValueError("packet_shares must sum to 1")
        return self

    @property
    def mean_packets(self) -> float:
        """Mean packets that an acknowledgement is for."""
        weighted = (count * share for count, share in enumerate(self.packet_shares, start=1))
        return math.fsum(weighted)


class AcknowledgementsAtPace(NumbersAcknowledged):
    """How many packets are acknowledged at a time while media packets come at about one pace."""

    up_to_gap_s: float | None = Field(gt=0)
    """Largest mean gap around a packet at this pace, s; null for the slowest one."""


class Acknowledgements(NumbersAcknowledged):
    """How many packets of media a receiver over TCP or QUIC acknowledges at a time.

    A receiver acknowledges packet by packet for a while, then every second one, or as many as its
    network card joins, or as come until its timer ends: fewer where they come slowly.
    """

    ip_bytes: int | None = Field(default=None, ge=28, le=65_535)
    """IP total length of the client's packets over QUIC, their median, bytes; left out with TCP,
    where it is that of the headers."""
    singly_at_start: int = Field(default=0, ge=0, le=1 << 24)
    """Packets at the start that are acknowledged one by one, before those that have shares."""
    singly_after_pause: int = Field(default=0, ge=0, le=1 << 24)
    """The same after each pause that is longer than an acknowledgement is delayed."""
    at_paces: tuple[AcknowledgementsAtPace, ...] = Field(default=(), max_length=8)
    """The numbers at each pace of the media, the fastest first; left out where they do not depend
    on it."""

    @model_serializer(mode="wrap")
    def _leave_out_unknown(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        written = _without_null(write(self), "ip_bytes")
        for name in ("singly_at_start", "singly_after_pause", "at_paces"):
            if not getattr(self, name):
                written.pop(name, None)
        return written

    @model_validator(mode="after")
    def _paces_ascend(self) -> Self:
        ends = [math.inf if one.up_to_gap_s is None else one.up_to_gap_s for one in self.at_paces]
        if ends and (ends != sorted(set(ends)) or math.isfinite(ends[-1])):
            raise ValueError(
                "up_to_gap_s must ascend from pace to pace and be null in the last one alone"
            )
        return self


class Transport(ModelPart):
    """Headers in which a stream travels."""

    protocol: Literal["udp", "tcp"]
    """Transport protocol."""
    ip_version: Literal[4, 6] = 4
    """IP version."""
    server_port: int = Field(ge=0, le=65535)
    """Port of the server."""
    client_port: int = Field(ge=0, le=65535)
    """Port of the client."""
    header_bytes: int = Field(ge=28, lt=65_535)
    """IP and transport header of a media packet, bytes: its payload is ip_bytes less these."""
    rtp: RtpFormat | None = None
    """RTP fields; null where the stream is not RTP."""
    acknowledgements: Acknowledgements | None = None
    """Packets acknowledged at a time, TCP and QUIC; left out where unknown: over TCP every second
    one is, over UDP none."""

    @model_serializer(mode="wrap")
    def _leave_out_unknown(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        return _without_null(write(self), "acknowledgements")

    @property
    def is_quic(self) -> bool:
        """Whether a fitted stream came over QUIC: datagrams without RTP on HTTP/3's port."""
        return self.protocol == "udp" and self.rtp is None and self.server_port == _HTTP3_PORT

    @property
    def packets_per_media_packet(self) -> float:
        """Packets of a flow per media packet, acknowledgements included."""
        if self.acknowledgements is not None:
            return 1 + 1 / self.acknowledgements.mean_packets
        return 1.5 if self.protocol == "tcp" else 1.0

    @model_validator(mode="after")
    def _headers_fit(self) -> Self:
        smallest = smallest_header_bytes(self.protocol, ip_version=self.ip_version)
        if self.header_bytes < smallest:
            raise ValueError(
                f"header_bytes is {self.header_bytes}, {self.protocol} over IPv{self.ip_version}"
                f" needs {smallest}"
            )
        return self


class Phase(ModelPart):
    """One phase of a stream."""

    name: PhaseName
    """buffering: faster than it plays; playout: as it plays; rebuffering: the refill after a
    stall; end: where it runs out."""
    start_s: float = Field(ge=0, le=LONGEST_S)
    """Start after the session's first media packet, s."""
    duration_s: float = Field(gt=0, le=LONGEST_S)
    """Length, s."""
    rate_bps: float = Field(ge=0)
    """Mean IP rate of the capture in the phase, bit/s; what is played is the process."""
    process: PacketProcess
    """How packets are placed and sized."""
    choice: ProcessChoice | None = None
    """What else was tried; null where there was no choice or too few packets to judge."""

    @property
    def end_s(self) -> float:
        """End after the session's first media packet, s."""
        return self.start_s + self.duration_s

    @property
    def packet_spacing_s(self) -> float | None:
        """Mean time from packet to packet at the rate of the phase, s.

        None where the process has no law of packet sizes, or the phase no rate.
        """
        sizes = getattr(self.process, "packet_bytes", None)
        if sizes is None or not self.rate_bps:
            return None
        return bps_from_bytes(float(sizes.distribution().mean), self.rate_bps)


class Stream(ModelPart):
    """One media stream of the source: a flow with its phases."""

    name: str = Field(min_length=1)
    """Name, unique in the model."""
    media: Literal["audio", "video", "mixed", "bulk", "unknown"]
    """What it carries."""
    transport: Transport
    """Headers."""
    phases: tuple[Phase, ...] = Field(min_length=1)
    """Phases in order of time, without overlap."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for before, after in zip(self.phases, self.phases[1:], strict=False):
            if after.start_s < before.end_s - 1e-9:
                raise ValueError(
                    f"phase {after.name!r} starts at {after.start_s} s, before {before.name!r} ends"
                    f" at {before.end_s} s"
                )
        return self
