"""Find what flows carry: audio, video, both, or control, as RTCP is by its ports."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.tables import RtpStreamCount

_VIDEO_CLOCK_HZ = 90_000
#: Static payload types whose clock is not evidence (RFC 3551): MPEG audio and transport streams.
_STATIC_MEDIA = {14: "audio", 33: "mixed"}
_DYNAMIC_TYPES_FROM = 35
#: Frames are in several packets each if this many packets have the timestamp of the one before, and
#: are of this many bytes: digits dialled (RFC 4733) share timestamps as well, in small packets.
_SPLIT_SHARE = 0.1
_SPLIT_BYTES = 300
_FEWEST_FRAMES_PER_S = 2
#: Encoded audio stays below: MP3 and AAC go to 320 kbit/s, and RTP headers come on top.
_MOST_AUDIO_BPS = 350_000


def list_media(
    flows: pa.Table,
    signalling: pa.Table,
    rtp_streams: Iterable[RtpStreamCount],
    rtcp_flows: Collection[int],
) -> list[str]:
    """Return what each flow of a flow table carries.

    Flows with RTSP messages, and those of RTCP, are control; ``rtp_streams`` has those within RTSP
    connections too.
    """
    inside: dict[int, set[str]] = defaultdict(set)
    main: dict[int, RtpStreamCount] = {}
    for stream in rtp_streams:
        if stream.channel is not None:
            inside[stream.flow].add(_medium(stream))
        else:
            main[stream.flow] = max(
                main.get(stream.flow, stream), stream, key=lambda one: (one.to_client, one.packets)
            )
    control = set(signalling.column("flow").to_pylist()) | set(rtcp_flows)
    known: dict[int, str] = dict.fromkeys(control, "control")
    known |= {
        number: kinds.pop() if len(kinds) == 1 else "mixed" for number, kinds in inside.items()
    }
    for number, stream in main.items():
        known.setdefault(number, _medium(stream))
    media: list[str] = flows.column("media").to_pylist()
    places = pc.index_in(
        pa.array(list(known), flows.schema.field("flow").type),
        flows.column("flow").combine_chunks(),
    ).to_pylist()
    for place, medium in zip(places, known.values(), strict=True):
        media[place] = medium
    return media


def _medium(stream: RtpStreamCount) -> str:
    """Return what an RTP stream carries: by its session description, static payload type, frames.

    A dynamic payload type is video if its clock is video's, and audio if its clock is audio's and
    its rate is one that encoded audio has. Frames in several packets each are video's, unless the
    clock and rate are audio's or the frames are seldom, as blocks of interleaved audio are. What
    these contradict is ``unknown``, as is raw audio.
    """
    if stream.declared_media in {"audio", "video"}:
        return stream.declared_media
    payload_type, clock_hz = stream.payload_type, stream.clock_hz
    if payload_type in _STATIC_MEDIA:
        return _STATIC_MEDIA[payload_type]
    if clock_hz == _VIDEO_CLOCK_HZ:
        return "video"
    is_dynamic = payload_type is None or payload_type >= _DYNAMIC_TYPES_FROM
    is_heavy = stream.payload_bytes * 8 > _MOST_AUDIO_BPS * stream.span_s
    may_be_audio = clock_hz is not None and not (is_dynamic and is_heavy)
    if is_dynamic and _has_split_frames(stream):
        return "unknown" if may_be_audio else "video"
    return "audio" if may_be_audio else "unknown"


def _has_split_frames(stream: RtpStreamCount) -> bool:
    """Return whether frames take several packets each, at a rate that a video's frames have."""
    packets = max(stream.packets, 1)
    return (
        stream.same_timestamp >= _SPLIT_SHARE * packets
        and stream.payload_bytes >= _SPLIT_BYTES * packets
        and packets - stream.same_timestamp >= _FEWEST_FRAMES_PER_S * stream.span_s
    )


#: Media have ports from here on: those below are services (RFC 6335).
FIRST_MEDIA_PORT = 1024
#: RTCP has at most this share of its media's bytes: it is to take a twentieth (RFC 3550, 6.2).
_RTCP_SHARE = 0.25
#: From the ports of RTP to those of its RTCP, one above at either end, in a key of a flow's ends.
_NEXT_PORTS = 0x1_0001


def find_rtcp_by_ports(flows: pa.Table) -> list[tuple[int, int]]:
    """Return the numbers of UDP flows and of their RTCP, by the ports of RFC 3550, section 11.

    RTP has an even port at both ends, its RTCP the port above at both, at the same time and with
    far fewer bytes.
    """
    udp = flows.filter(pc.equal(flows.column("protocol"), "udp"))
    if udp.num_rows == 0:
        return []
    chunks = [udp.column(end).combine_chunks() for end in ("server", "client")]
    hosts = pa.concat_arrays(chunks).dictionary_encode().indices.to_numpy().astype(np.int64)
    ports = np.concatenate([udp.column(f"{end}_port").to_numpy() for end in ("server", "client")])
    # RTCP may go the other way: the ends of a flow in an order that both flows share.
    ends = np.sort((hosts << 16 | ports).reshape(2, -1), axis=0)
    (one, other), ports = ends >> 16, ends & 0xFFFF
    pair = np.unique(one * (hosts.max() + 1) + other, return_inverse=True)[1]
    key = pair << 32 | ports[0] << 16 | ports[1]
    is_media = ((ports % 2 == 0) & (ports >= FIRST_MEDIA_PORT)).all(axis=0)
    is_media &= np.isin(key + _NEXT_PORTS, key)
    below: dict[int, list[int]] = defaultdict(list)
    for place in np.flatnonzero(is_media).tolist():
        below[int(key[place])].append(place)
    first_ns, last_ns = (udp.column(f"{which}_time_ns").to_numpy() for which in ("first", "last"))
    to_server, to_client = (
        udp.column(f"frame_bytes_to_{end}").to_numpy() for end in ("server", "client")
    )
    sizes, numbers = to_server + to_client, udp.column("flow").to_numpy()
    return [
        (int(numbers[media]), int(numbers[place]))
        for place in np.flatnonzero(np.isin(key, key[is_media] + _NEXT_PORTS)).tolist()
        for media in below[int(key[place]) - _NEXT_PORTS]
        if first_ns[media] <= last_ns[place] and first_ns[place] <= last_ns[media]
        if sizes[place] <= _RTCP_SHARE * sizes[media]
    ]
