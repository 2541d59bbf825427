"""One session of a model: packets and flow rows of its streams, or what they send on a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.generation.addresses import AddressPlan, Endpoints, session_endpoints
from trafficgen.generation.columns import FlowColumns, PlacedColumns
from trafficgen.generation.media import (
    MediaPackets,
    delay_packets,
    media_packets,
    rtp_headers,
    scale_payloads,
)
from trafficgen.generation.tcp import TcpConnection, draw_acknowledged, tcp_flow
from trafficgen.generation.timeline import Timeline
from trafficgen.models import Stream, Transport
from trafficgen.randomness import random_stream
from trafficgen.tables import PHASES
from trafficgen.units import ETHERNET_HEADER_BYTES, BoolArray, IntArray, ns_from_s

FlowRow = dict[str, object]
#: Payload of the first packet of a player over UDP, bytes.
_OPENING_PAYLOAD_BYTES = 4


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
) -> tuple[list[PlacedColumns], list[FlowRow]]:
    """Return the packets of one session, flow by flow in order of time, and the rows of its flows.

    ``start_ns`` counts from the table's origin. Without ``addresses`` it has some of those that are
    reserved for documentation. ``size_factor`` is the payload of datagrams / that of the model;
    none gets larger than an Ethernet frame, or than the largest of the model. ``jitter_s`` is the
    longest delay of a media packet, drawn from a uniform law; packets of a flow keep their order.
    """
    played = timeline.streams
    endpoints = session_endpoints(
        tuple(one.stream for one in played), session=session, addresses=addresses
    )
    packets: list[PlacedColumns] = []
    flows: list[FlowRow] = []
    for place, one in enumerate(played):
        stream, flow = one.stream, first_flow + place
        media = media_packets(one, zero_s=timeline.first_media_s, seed=seed, session=session)
        if size_factor != 1 and stream.transport.protocol == "udp":
            media = scale_payloads(media, size_factor, header_bytes=stream.transport.header_bytes)
        ssrc, parts = _flow_parts(
            stream,
            media,
            timeline=timeline,
            opening_ns=timeline.opening_ns(one),
            generator=_header_draws(stream, session=session, seed=seed),
            delay_ns=_delays_ns(stream, media, jitter_s=jitter_s, session=session, seed=seed),
        )
        packets += [PlacedColumns(part, flow, start_ns) for part in parts]
        row = _flow_row(stream, endpoints[place], parts, start_ns=start_ns)
        flows.append({"flow": flow, "session": session, **row, "ssrc": ssrc})
    return packets, flows


def _flow_parts(
    stream: Stream,
    media: MediaPackets,
    *,
    timeline: Timeline,
    opening_ns: int | None,
    generator: np.random.Generator,
    delay_ns: IntArray | None,
) -> tuple[int | None, list[FlowColumns]]:
    """Return the SSRC, if any, and the packets of a flow; RTP timestamps know no delays."""
    transport = stream.transport
    if transport.protocol == "tcp":
        media = delay_packets(media, delay_ns)
        connection = TcpConnection.open(transport, rtt_s=timeline.rtt_s, generator=generator)
        acknowledged = draw_acknowledged(transport, media.time_ns, generator=generator)
        return None, [
            tcp_flow(connection, media, acknowledged=acknowledged, opening_ns=opening_ns or 0)
        ]
    ssrc: int | None = None
    headers: dict[str, npt.NDArray[np.generic]] = {}
    if transport.rtp is not None:
        ssrc, headers = rtp_headers(media, transport.rtp, generator=generator)
    parts = [] if opening_ns is None else [_udp_opening(transport, time_ns=opening_ns)]
    return ssrc, [*parts, _udp_media(transport, delay_packets(media, delay_ns), headers=headers)]


def _udp_opening(transport: Transport, *, time_ns: int) -> FlowColumns:
    """Return the small packet of the client that opens address translators for the media."""
    return FlowColumns(
        time_ns=np.array([time_ns], dtype=np.int64),
        to_client=False,
        ip_bytes=np.array([transport.header_bytes + _OPENING_PAYLOAD_BYTES], dtype=np.uint32),
        payload_bytes=np.array([_OPENING_PAYLOAD_BYTES], dtype=np.uint32),
        phase=np.array([PHASES.index("signalling")], dtype=np.int8),
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


def _flow_row(
    stream: Stream, endpoints: Endpoints, parts: list[FlowColumns], *, start_ns: int
) -> FlowRow:
    rtp = stream.transport.rtp
    totals = {"to_client": (0, 0, 0), "to_server": (0, 0, 0)}
    # A session may end before a stream's first media packet.
    parts = [part for part in parts if len(part)]
    for part in parts:
        for direction, (packets, ip_total, payload_total) in _totals_by_direction(part).items():
            before = totals[direction]
            totals[direction] = before[0] + packets, before[1] + ip_total, before[2] + payload_total
    row: FlowRow = {
        "protocol": stream.transport.protocol,
        **vars(endpoints),
        "media": stream.media,
        "payload_type": None if rtp is None else rtp.payload_type,
        "clock_hz": None if rtp is None else rtp.clock_hz,
        "first_time_ns": (int(parts[0].time_ns[0]) if parts else 0) + start_ns,
        "last_time_ns": (int(parts[-1].time_ns[-1]) if parts else 0) + start_ns,
    }
    for direction, (packets, ip_total, payload_total) in totals.items():
        row[f"packets_{direction}"] = packets
        row[f"frame_bytes_{direction}"] = ip_total + packets * ETHERNET_HEADER_BYTES
        row[f"payload_bytes_{direction}"] = payload_total
    return row


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
    schedules = []
    for played in timeline.streams:
        stream = played.stream
        media = media_packets(played, zero_s=timeline.first_media_s, seed=seed, session=session)
        generator = _header_draws(stream, session=session, seed=seed)
        ssrc, first_sequence, timestamp = None, 0, np.zeros(len(media), dtype=np.uint32)
        if stream.transport.rtp is not None:
            ssrc, headers = rtp_headers(media, stream.transport.rtp, generator=generator)
            first_sequence = int(headers["rtp_sequence"][0])
            timestamp = headers["rtp_timestamp"].astype(np.uint32)
        schedules.append(
            StreamSchedule(
                stream=stream,
                opening_ns=timeline.opening_ns(played),
                time_ns=media.time_ns,
                ip_bytes=media.ip_bytes,
                phase=media.phase.astype(np.uint8),
                ends_frame=media.ends_burst(),
                rtp_timestamp=timestamp,
                ssrc=ssrc,
                first_sequence=first_sequence,
            )
        )
    return tuple(schedules)


def _delays_ns(
    stream: Stream, media: MediaPackets, *, jitter_s: float, session: int, seed: int
) -> IntArray | None:
    if jitter_s == 0:
        return None
    generator = random_stream(seed, session=session, purpose=f"{stream.name}/jitter")
    return generator.integers(0, ns_from_s(jitter_s), len(media), endpoint=True)


def _header_draws(stream: Stream, *, session: int, seed: int) -> np.random.Generator:
    return random_stream(seed, session=session, purpose=f"{stream.name}/headers")
