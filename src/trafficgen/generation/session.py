"""One session of a model: packets and flow rows of its streams, or what they send on a path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.generation.addresses import AddressPlan, Endpoints, session_endpoints
from trafficgen.generation.columns import FlowColumns, PlacedColumns, join_parts
from trafficgen.generation.media import (
    MediaPackets,
    RtpHeaders,
    delay_packets,
    media_packets,
    scale_payloads,
)
from trafficgen.generation.tcp import TcpFlow, draw_acknowledged
from trafficgen.generation.timeline import PlayedStream, Timeline, Window
from trafficgen.models import Stream, Transport
from trafficgen.randomness import random_stream
from trafficgen.tables import PHASES
from trafficgen.units import ETHERNET_HEADER_BYTES, BoolArray, IntArray, ns_from_s

FlowRow = dict[str, object]
#: Payload of the first packet of a player over UDP, bytes.
_OPENING_PAYLOAD_BYTES = 4
#: Longest wait before an acknowledgement over QUIC (max_ack_delay of RFC 9000, section 18.2).
_ACK_DELAY_NS = 25_000_000


def session_packets(
    timeline: Timeline,
    *,
    session: int,
    seed: int,
    start_ns: int,
    first_flow: int,
    addresses: AddressPlan | None = None,
    size_factor: float = 1.0,
    jitter_s: float = 0.0,
) -> SessionPackets:
    """Return the packets of one session, window by window, flow by flow in order of time.

    ``start_ns`` counts from the table's origin. Without ``addresses`` it has some of those that are
    reserved for documentation. ``size_factor`` is the payload of datagrams / that of the model;
    none gets larger than an Ethernet frame, or than the largest of the model. ``jitter_s`` is the
    longest delay of a media packet, drawn from a uniform law; packets of a flow keep their order.
    """
    endpoints = session_endpoints(
        tuple(one.stream for one in timeline.streams), session=session, addresses=addresses
    )
    flows = [
        _FlowPlayer(
            played,
            timeline,
            session=session,
            seed=seed,
            start_ns=start_ns,
            size_factor=size_factor,
            jitter_s=jitter_s,
        )
        for played in timeline.streams
    ]
    return SessionPackets(timeline, flows, endpoints, session, start_ns, first_flow)


@dataclass(frozen=True)
class SessionPackets:
    """Packets of one session and the rows of its flows, which are known when all are made."""

    timeline: Timeline
    _flows: list[_FlowPlayer]
    _endpoints: tuple[Endpoints, ...]
    _session: int
    _start_ns: int
    _first_flow: int

    def windows(self) -> Iterator[tuple[list[PlacedColumns], int | None]]:
        """Make the packets of each window, once.

        Yields:
            The packets, and the time before which later windows have none, ns from the origin; None
            for the last.
        """
        for window in self.timeline.windows:
            packets = [
                PlacedColumns(part, self._first_flow + place, self._start_ns)
                for place, flow in enumerate(self._flows)
                for part in flow.parts(window)
            ]
            yield packets, self._known_until_ns(window)

    def packets(self) -> list[PlacedColumns]:
        """Make the packets of all windows, once."""
        return [part for parts, _ in self.windows() for part in parts]

    def rows(self) -> list[FlowRow]:
        """Return the rows of the flows; all packets are made."""
        return [
            {"flow": self._first_flow + place, "session": self._session, **flow.row(endpoints)}
            for place, (flow, endpoints) in enumerate(
                zip(self._flows, self._endpoints, strict=True)
            )
        ]

    def _known_until_ns(self, window: Window) -> int | None:
        if math.isinf(window.end_s):
            return None
        until_ns = ns_from_s(self.timeline.first_media_s + window.end_s)
        # Clients open later streams a little before their first media packet.
        openings = [
            self.timeline.opening_ns(played)
            for played in self.timeline.streams
            if played.phases[0].start_s >= window.end_s
        ]
        return self._start_ns + min([until_ns, *(ns for ns in openings if ns is not None)])


class _FlowPlayer:
    """Makes the packets of one flow, window by window, and counts them."""

    def __init__(
        self,
        played: PlayedStream,
        timeline: Timeline,
        *,
        session: int,
        seed: int,
        start_ns: int,
        size_factor: float,
        jitter_s: float,
    ) -> None:
        self._played, self._timeline = played, timeline
        self._session, self._seed, self._start_ns = session, seed, start_ns
        stream = played.stream
        self._size_factor = size_factor if stream.transport.protocol == "udp" else 1.0
        generator = _header_draws(stream, session=session, seed=seed)
        self._tcp: TcpFlow | None = None
        self._rtp: RtpHeaders | None = None
        if stream.transport.protocol == "tcp":
            self._tcp = TcpFlow(stream.transport, rtt_s=timeline.rtt_s, generator=generator)
        elif stream.transport.rtp is not None:
            self._rtp = RtpHeaders(stream.transport.rtp, generator)
        self._feedback: np.random.Generator | None = None
        if self._tcp is None and stream.transport.acknowledgements is not None:
            purpose = f"{stream.name}/acknowledgements"
            self._feedback = random_stream(seed, session=session, purpose=purpose)
        self._jitter_ns = ns_from_s(jitter_s)
        self._delays: np.random.Generator | None = None
        if self._jitter_ns:
            self._delays = random_stream(seed, session=session, purpose=f"{stream.name}/jitter")
        self._totals = {"to_client": (0, 0, 0), "to_server": (0, 0, 0)}
        self._first_ns: int | None = None
        self._last_ns = 0

    def parts(self, window: Window) -> list[FlowColumns]:
        """Return the packets of a window; RTP timestamps know no delays."""
        played, transport = self._played, self._played.stream.transport
        begins = window.begins(played.phases[0].start_s)
        opening_ns = self._timeline.opening_ns(played) if begins else None
        media = media_packets(
            played,
            window,
            zero_s=self._timeline.first_media_s,
            seed=self._seed,
            session=self._session,
        )
        if self._size_factor != 1:
            media = scale_payloads(media, self._size_factor, header_bytes=transport.header_bytes)
        if self._tcp is not None:
            is_last = window.ends(played.phases[-1].end_s)
            if begins and opening_ns is None:
                opening_ns = 0
            media = self._delayed(media)
            parts = [self._tcp.segments(media, opening_ns=opening_ns, is_last=is_last)]
        else:
            headers = {} if self._rtp is None else self._rtp.columns(media)
            parts = [] if opening_ns is None else [_udp_opening(transport, time_ns=opening_ns)]
            media = self._delayed(media)
            sent = _udp_media(transport, media, headers=headers)
            parts.append(
                sent if self._feedback is None else self._acknowledged(media, sent, begins=begins)
            )
        self._count(parts)
        return parts

    def _acknowledged(self, media: MediaPackets, sent: FlowColumns, *, begins: bool) -> FlowColumns:
        """Return datagrams of media with the client's acknowledgements of them, as QUIC sends.

        They follow at once, as at the client: elsewhere no numbers show what they acknowledge.
        """
        transport = self._played.stream.transport
        assert self._feedback is not None
        generator = self._feedback
        found = draw_acknowledged(transport, media.time_ns, generator=generator, begins=begins)
        time_ns = media.time_ns[found.rows] + found.late * _ACK_DELAY_NS
        return join_parts(
            [sent, _udp_acknowledgements(transport, time_ns, media.phase[found.rows])]
        )

    def _delayed(self, media: MediaPackets) -> MediaPackets:
        if self._delays is None:
            return media
        delay_ns = self._delays.integers(0, self._jitter_ns, len(media), endpoint=True)
        return delay_packets(media, delay_ns, after_ns=self._last_ns)

    def _count(self, parts: list[FlowColumns]) -> None:
        # A session may end before a stream's first media packet.
        for part in (part for part in parts if len(part)):
            if self._first_ns is None:
                self._first_ns = int(part.time_ns[0])
            self._last_ns = int(part.time_ns[-1])
            for direction, found in _totals_by_direction(part).items():
                before = self._totals[direction]
                self._totals[direction] = (
                    before[0] + found[0],
                    before[1] + found[1],
                    before[2] + found[2],
                )

    def row(self, endpoints: Endpoints) -> FlowRow:
        """Return what the flow table says of it."""
        stream = self._played.stream
        rtp = stream.transport.rtp
        row: FlowRow = {
            "protocol": stream.transport.protocol,
            **vars(endpoints),
            "media": stream.media,
            "payload_type": None if rtp is None else rtp.payload_type,
            "clock_hz": None if rtp is None else rtp.clock_hz,
            "first_time_ns": (self._first_ns or 0) + self._start_ns,
            "last_time_ns": self._last_ns + self._start_ns,
        }
        for direction, (packets, ip_total, payload_total) in self._totals.items():
            row[f"packets_{direction}"] = packets
            row[f"frame_bytes_{direction}"] = ip_total + packets * ETHERNET_HEADER_BYTES
            row[f"payload_bytes_{direction}"] = payload_total
        row["ssrc"] = None if self._rtp is None else self._rtp.ssrc
        return row


def _udp_opening(transport: Transport, *, time_ns: int) -> FlowColumns:
    """Return the small packet of the client that opens address translators for the media."""
    return FlowColumns(
        time_ns=np.array([time_ns], dtype=np.int64),
        to_client=False,
        ip_bytes=np.array([transport.header_bytes + _OPENING_PAYLOAD_BYTES], dtype=np.uint32),
        payload_bytes=np.array([_OPENING_PAYLOAD_BYTES], dtype=np.uint32),
        phase=np.array([PHASES.index("signalling")], dtype=np.int8),
    )


def _udp_acknowledgements(
    transport: Transport, time_ns: IntArray, phase: npt.NDArray[np.int8]
) -> FlowColumns:
    """Return datagrams of the client, each of the typical size."""
    assert transport.acknowledgements is not None
    smallest = transport.header_bytes + 1
    each = np.uint32(max(transport.acknowledgements.ip_bytes or smallest, smallest))
    return FlowColumns(
        time_ns=time_ns,
        to_client=False,
        ip_bytes=np.full(time_ns.size, each),
        payload_bytes=np.full(time_ns.size, each - np.uint32(transport.header_bytes)),
        phase=phase,
    )


def _udp_media(
    transport: Transport, media: MediaPackets, *, headers: dict[str, npt.NDArray[np.generic]]
) -> FlowColumns:
    """Return the media packets with the RTP columns in ``headers``, if any."""
    return FlowColumns(
        time_ns=media.time_ns,
        to_client=True,
        ip_bytes=media.ip_bytes,
        payload_bytes=media.ip_bytes - np.uint32(transport.header_bytes),
        phase=media.phase,
        headers=headers,
    )


def _totals_by_direction(part: FlowColumns) -> dict[str, tuple[int, int, int]]:
    """Return packets, IP bytes and payload bytes of each direction that the packets have."""
    whole = (
        len(part),
        int(part.ip_bytes.sum(dtype=np.int64)),
        int(part.payload_bytes.sum(dtype=np.int64)),
    )
    if isinstance(part.to_client, bool):
        return {"to_client" if part.to_client else "to_server": whole}
    to_client = (
        int(np.count_nonzero(part.to_client)),
        int(part.ip_bytes.sum(dtype=np.int64, where=part.to_client)),
        int(part.payload_bytes.sum(dtype=np.int64, where=part.to_client)),
    )
    return {
        "to_client": to_client,
        "to_server": (whole[0] - to_client[0], whole[1] - to_client[1], whole[2] - to_client[2]),
    }


@dataclass(frozen=True)
class StreamSchedule:
    """What one stream of a session sends open loop.

    Attributes:
        opening_ns: When the client opens it, ns from the start of the session; None: no opening.
        time_ns: Time of each packet from the start of the session, ns, shape (n,).
        phase: Index into :data:`~trafficgen.tables.PHASES`, shape (n,).
        ends_frame: Whether it is the last packet of its frame or burst, shape (n,).
        rtp_timestamp: RTP timestamp, shape (n,); zeros where it is not RTP.
        ssrc: RTP source; None where it is not RTP.
        first_sequence: RTP sequence number of the first packet.
    """

    stream: Stream
    opening_ns: int | None
    time_ns: IntArray
    ip_bytes: npt.NDArray[np.uint32]
    phase: npt.NDArray[np.uint8]
    ends_frame: BoolArray
    rtp_timestamp: npt.NDArray[np.uint32]
    ssrc: int | None
    first_sequence: int


def stream_schedules(timeline: Timeline, *, session: int, seed: int) -> tuple[StreamSchedule, ...]:
    """Return what the streams of a session send open loop."""
    return tuple(_schedule(played, timeline, session, seed) for played in timeline.streams)


def _schedule(played: PlayedStream, timeline: Timeline, session: int, seed: int) -> StreamSchedule:
    stream = played.stream
    rtp = None
    if stream.transport.rtp is not None:
        generator = _header_draws(stream, session=session, seed=seed)
        rtp = RtpHeaders(stream.transport.rtp, generator)
    parts, timestamps = [], []
    for window in timeline.windows:
        media = media_packets(
            played, window, zero_s=timeline.first_media_s, seed=seed, session=session
        )
        parts.append(media)
        if rtp is not None:
            timestamps.append(rtp.columns(media)["rtp_timestamp"].astype(np.uint32))
    time_ns = np.concatenate([media.time_ns for media in parts])
    return StreamSchedule(
        stream=stream,
        opening_ns=timeline.opening_ns(played),
        time_ns=time_ns,
        ip_bytes=np.concatenate([media.ip_bytes for media in parts]),
        phase=np.concatenate([media.phase for media in parts]).astype(np.uint8),
        ends_frame=np.concatenate([media.ends_burst() for media in parts]),
        rtp_timestamp=(
            np.concatenate(timestamps) if timestamps else np.zeros(time_ns.size, dtype=np.uint32)
        ),
        ssrc=None if rtp is None else rtp.ssrc,
        first_sequence=0 if rtp is None else rtp.first_sequence,
    )


def _header_draws(stream: Stream, *, session: int, seed: int) -> np.random.Generator:
    return random_stream(seed, session=session, purpose=f"{stream.name}/headers")
