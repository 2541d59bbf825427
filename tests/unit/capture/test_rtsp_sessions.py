"""RTSP control and the media that it announces: one session, with the PLAY time in the signalling
table.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from trafficgen import Inspection

Inspect = Callable[..., Inspection]

_SETUP = (
    b"SETUP rtsp://host/clip/1 RTSP/1.0\r\nCSeq: 2\r\nTransport:"
    b" RTP/AVP;unicast;client_port=6000-6001\r\n\r\n"
)
_SET_UP = (
    b"RTSP/1.0 200 OK\r\nCSeq: 2\r\nTransport:"
    b" RTP/AVP;unicast;client_port=6000-6001;server_port=7000-7001\r\n\r\n"
)
_PLAY = b"PLAY rtsp://host/clip RTSP/1.0\r\nCSeq: 3\r\nRange: npt=0-\r\n\r\n"
_SDP = (
    b"v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\nm=audio 0 RTP/AVP 97\r\na=rtpmap:97"
    b" L16/44100\r\n"
)
_DESCRIBED = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: %d\r\n\r\n%s" % (len(_SDP), _SDP)


class _Control:
    """Both directions of the control connection, with growing sequence numbers."""

    def __init__(self, made: SimpleNamespace) -> None:
        self._made = made
        self._next = {True: 1000, False: 2000}

    def frame(self, text: bytes, *, from_client: bool = True) -> bytes:
        made, sequence = self._made, self._next[from_client]
        self._next[from_client] += len(text)
        ports = (40_000, 554) if from_client else (554, 40_000)
        ends = (made.CLIENT, made.SERVER) if from_client else (made.SERVER, made.CLIENT)
        return bytes(
            made.ethernet(
                made.ipv4(made.tcp(text, ports=ports, sequence=sequence), protocol=6, ends=ends)
            )
        )


def _media(
    made: SimpleNamespace, *, ports: tuple[int, int] = (7000, 6000), count: int = 50
) -> list[bytes]:
    return [
        made.ethernet(made.ipv4(made.udp(made.rtp(i, i * 3000), ports=ports))) for i in range(count)
    ]


def test_media_on_the_ports_of_the_transport_header_join_the_control_connection(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    control = _Control(made)
    head = [
        control.frame(_DESCRIBED, from_client=False),
        control.frame(_SETUP),
        control.frame(_SET_UP, from_client=False),
        control.frame(_PLAY),
    ]
    stranger = [
        made.ethernet(
            made.ipv4(made.udp(b"\x00" * 900, ports=(9000, 9001)), ends=("10.0.0.1", "10.0.0.2"))
        )
    ]
    found = inspect_bytes(
        made.pcap(made.packets([*head, *_media(made), *stranger], every_ns=20_000_000))
    )
    assert [(session.kind, len(session.flows)) for session in found.sessions] == [
        ("rtsp", 2),
        ("udp", 1),
    ]
    assert found.describe_flows()[0]["media"] == "video"
    rows = found.signalling.to_pylist()
    assert [row["method"] or row["status"] for row in rows] == [200, "SETUP", 200, "PLAY"]
    assert [row["to_client"] for row in rows] == [True, False, True, False]
    assert rows[3]["time_ns"] == 3 * 20_000_000
    assert (rows[2]["client_ports"], rows[2]["server_ports"]) == ([6000, 6001], [7000, 7001])


def test_without_transport_headers_media_between_the_same_hosts_join(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    frames = [_Control(made).frame(_PLAY), *_media(made)]
    found = inspect_bytes(made.pcap(made.packets(frames, every_ns=20_000_000)))
    assert [(session.kind, len(session.flows)) for session in found.sessions] == [("rtsp", 2)]


@pytest.mark.parametrize("kept", [60, 80, 100])
def test_the_play_time_is_known_though_the_snapshot_length_cut_the_message(
    made: SimpleNamespace, inspect_bytes: Inspect, kept: int
) -> None:
    control = _Control(made)
    frames = [
        control.frame(b"OPTIONS rtsp://host/ RTSP/1.0\r\nCSeq: 1\r\n\r\n"),
        control.frame(_PLAY),
    ]
    cut = [
        made.Packet(made.START_NS + index * 1000, frame[:kept], len(frame))
        for index, frame in enumerate(frames)
    ]
    found = inspect_bytes(made.pcap(cut))
    methods = found.signalling.column("method").to_pylist()
    # 54 bytes of headers come first: "PLAY r" is not enough to know RTSP by, its URI is.
    assert methods == ([] if kept == 60 else ["OPTIONS", "PLAY"])


def test_rtp_interleaved_with_the_control_connection_is_counted_by_channel(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    control = _Control(made)
    stream = b"".join(
        b"$" + bytes([channel]) + len(packet).to_bytes(2, "big") + packet
        for index in range(40)
        for channel, packet in (
            (0, made.rtp(index, index * 3000)),
            (2, made.rtp(index + index // 20, 0, ssrc=8)),
        )
    )
    segments = [stream[at : at + 333] for at in range(0, len(stream), 333)]
    frames = [
        control.frame(_PLAY),
        *(control.frame(segment, from_client=False) for segment in segments),
    ]
    found = inspect_bytes(made.pcap(made.packets(frames)))
    counted = {stream.channel: (stream.expected, stream.lost) for stream in found.rtp_streams}
    assert counted == {0: (40, 0), 2: (41, 1)}
    assert [session.kind for session in found.sessions] == ["rtsp"]


def test_rtp_that_no_setup_named_is_not_part_of_the_session(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    control = _Control(made)
    head = [
        control.frame(_DESCRIBED, from_client=False),
        control.frame(_SETUP),
        control.frame(_SET_UP, from_client=False),
        control.frame(_PLAY),
    ]
    # A competing flow between the same hosts, video with the payload type of the session's audio.
    beside = [
        made.ethernet(
            made.ipv4(made.udp(made.rtp(i, i * 1800, ssrc=9, payload_type=97), ports=(7100, 6100)))
        )
        for i in range(50)
    ]
    both = [frame for pair in zip(_media(made), beside, strict=True) for frame in pair]
    found = inspect_bytes(made.pcap(made.packets([*head, *both], every_ns=10_000_000)))
    assert [(session.kind, len(session.flows)) for session in found.sessions] == [
        ("rtsp", 2),
        ("rtp", 1),
    ]
    by_port = {flow["server_port"]: flow for flow in found.describe_flows()}
    assert (by_port[7000]["media"], by_port[7100]["media"]) == ("video", "video")


def test_two_media_with_one_payload_type_are_told_apart_by_their_clocks(
    made: SimpleNamespace, inspect_bytes: Inspect
) -> None:
    sdp = _SDP.replace(b"97", b"96").replace(b"44100", b"8000")
    described = b"RTSP/1.0 200 OK\r\nCSeq: 1\r\nContent-Length: %d\r\n\r\n%s" % (len(sdp), sdp)
    control = _Control(made)
    head = [
        control.frame(described, from_client=False),
        control.frame(_SETUP),
        control.frame(_SETUP.replace(b"6000-6001", b"6002-6003")),
    ]
    audio = [
        made.ethernet(made.ipv4(made.udp(made.rtp(i, i * 160, ssrc=9), ports=(7002, 6002))))
        for i in range(50)
    ]
    video = [
        made.ethernet(made.ipv4(made.udp(made.rtp(i, i * 1800), ports=(7000, 6000))))
        for i in range(50)
    ]
    both = [frame for pair in zip(audio, video, strict=True) for frame in pair]
    found = inspect_bytes(made.pcap(made.packets([*head, *both], every_ns=10_000_000)))
    by_port = {flow["server_port"]: flow["media"] for flow in found.describe_flows()}
    assert (by_port[7000], by_port[7002]) == ("video", "audio")
