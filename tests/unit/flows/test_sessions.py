"""Grouping of flows into sessions."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import trafficgen
from trafficgen.flows import group_sessions, list_sessions
from trafficgen.models.published import entry_names, load_entry
from trafficgen.tables import FLOW_SCHEMA, SIGNALLING_SCHEMA, RtpStreamCount

NONE = SIGNALLING_SCHEMA.empty_table()


def test_a_capture_without_any_flow_has_no_session() -> None:
    grouped = group_sessions(FLOW_SCHEMA.empty_table(), NONE)
    assert grouped.num_rows == 0
    assert grouped.schema == FLOW_SCHEMA


def _flow(number: int, *, media_port: int, protocol: str, ssrc: int | None) -> dict[str, object]:
    row: dict[str, object] = dict.fromkeys(FLOW_SCHEMA.names, 0)
    row.update(
        flow=number, session=number, protocol=protocol, server="192.0.2.1", client="198.51.100.1"
    )
    row.update(
        server_port=media_port,
        client_port=media_port + 10,
        media="unknown",
        ssrc=ssrc,
        last_time_ns=10**9,
    )
    return row


@pytest.mark.parametrize("second_s", [10, 33])
def test_rtsp_without_names_joins_the_media_that_it_began(second_s: int) -> None:
    """Two sessions between the same hosts, at one time or one soon after the other."""
    rows = []
    for number, start_s in enumerate((0, second_s)):
        media = _flow(number, media_port=5000 + 100 * number, protocol="udp", ssrc=7 + number)
        control = _flow(2 + number, media_port=554, protocol="tcp", ssrc=None)
        media.update(first_time_ns=(start_s + 1) * 10**9, last_time_ns=(start_s + 29) * 10**9)
        control.update(first_time_ns=start_s * 10**9, last_time_ns=(start_s + 30) * 10**9)
        rows += [media, control]
    rows.sort(key=lambda row: str(row["flow"]))
    flows = pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
    play = {"time_ns": 9, "method": "PLAY", "client_ports": [], "server_ports": []}
    message = {"to_client": False, "interleaved_channels": [], "media_clocks": []}
    signalling = pa.Table.from_pylist(
        [message | play | {"flow": flow} for flow in (2, 3)], schema=SIGNALLING_SCHEMA
    )
    sessions = list_sessions(group_sessions(flows, signalling), signalling)
    assert [(one.kind, one.flows) for one in sessions] == [("rtsp", (0, 2)), ("rtsp", (1, 3))]


def test_rtsp_joins_the_media_its_transport_names_and_tells_when_play_was_asked() -> None:
    rows = [
        _flow(0, media_port=5000, protocol="udp", ssrc=7),
        _flow(1, media_port=6000, protocol="udp", ssrc=8),
    ]
    rows.append(_flow(2, media_port=554, protocol="tcp", ssrc=None))
    # The other medium begins when the first has ended: only the Transport header joins the first
    # one.
    rows[1].update(first_time_ns=20 * 10**9, last_time_ns=21 * 10**9)
    flows = pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)
    message = {"flow": 2, "to_client": False, "interleaved_channels": [], "media_clocks": []}
    setup = {"time_ns": 5, "method": "SETUP", "client_ports": [5010, 5011], "server_ports": []}
    play = {"time_ns": 9, "method": "PLAY", "client_ports": [], "server_ports": []}
    signalling = pa.Table.from_pylist([message | setup, message | play], schema=SIGNALLING_SCHEMA)
    grouped = group_sessions(flows, signalling)
    sessions = list_sessions(grouped, signalling)
    assert [(s.kind, s.flows, s.play_time_ns) for s in sessions] == [
        ("rtsp", (0, 2), 9),
        ("rtp", (1,), None),
    ]
    assert grouped.column("media").to_pylist()[2] == "control"


@pytest.mark.parametrize(
    ("payload_type", "clock_hz", "sent", "split", "medium"),
    [
        (96, 90_000, (577, 1326), 0.5, "video"),
        (96, 44_100, (577, 1326), 0.5, "video"),  # timestamps at half speed
        (96, None, (577, 1326), 0.5, "video"),
        (96, 44_100, (577, 1368), 0.6, "video"),
        (96, 44_100, (577, 1326), 0.0, "unknown"),
        (96, 44_100, (22, 1275), 0.83, "audio"),  # six packets every three seconds: interleaved
        (96, None, (22, 1275), 0.83, "unknown"),
        (96, 44_100, (577, 1326), 0.99, "unknown"),  # too heavy for audio, too seldom for video
        (96, 48_000, (200, 900), 0.5, "unknown"),  # audio's clock and rate, video's frames
        (96, None, (64, 172), 0.0, "unknown"),
        (97, 48_000, (64, 172), 0.0, "audio"),
        (97, 8000, (64, 172), 0.2, "audio"),  # dialled digits share timestamps
        (97, 44_100, (320, 1000), 0.0, "audio"),
        (10, 44_100, (1411, 1292), 0.0, "audio"),  # raw audio, by its static type
        (14, 90_000, (128, 430), 0.0, "audio"),
        (33, 90_000, (4000, 1328), 0.0, "mixed"),
        (34, 90_000, (300, 900), 0.0, "video"),
    ],
)
def test_what_rtp_carries_is_told_by_type_clock_frames_and_rate(
    payload_type: int, clock_hz: int | None, sent: tuple[int, int], split: float, medium: str
) -> None:
    """`sent`: kbit/s, and payload of a packet; `split`: share of packets that continue a frame."""
    rate_kbps, payload_bytes = sent
    packets, span_s = 1000, 8 * payload_bytes / rate_kbps
    stream = RtpStreamCount(
        flow=0,
        to_client=True,
        ssrc=7,
        payload_type=payload_type,
        clock_hz=clock_hz,
        packets=packets,
        expected=packets,
        lost=0,
        reordered=0,
        duplicates=0,
        jitter_s=None,
        payload_bytes=packets * payload_bytes,
        same_timestamp=int(split * packets),
        span_s=span_s,
    )
    flows = pa.Table.from_pylist([_flow(0, media_port=5000, protocol="udp", ssrc=7)], FLOW_SCHEMA)
    grouped = group_sessions(flows, SIGNALLING_SCHEMA.empty_table(), rtp_streams=[stream])
    assert grouped.column("media").to_pylist() == [medium]


#: Models of standards have flows of their own for each direction or transfer, and no signalling.
SIGNALLED = [one for one in entry_names() if load_entry(one).mechanism.kind != "streams"]


@pytest.mark.filterwarnings("ignore::trafficgen.SimulationWarning")
@pytest.mark.parametrize("model", SIGNALLED)
def test_a_capture_without_payloads_has_the_sessions_that_were_generated(
    model: str, tmp_path: Path
) -> None:
    """Of RTCP and RTSP only the ports show what they belong to."""
    out = tmp_path / "sessions.pcap"
    trafficgen.generate_workload(model, out, sessions=3, duration_s=20, seed=1)
    found = trafficgen.inspect(out)
    clients = found.flows.to_pandas().groupby("session")[["client", "server"]].agg(set)
    assert len(found.sessions) == 3
    packets = found.flows.to_pandas().set_index("flow")
    has_udp = packets[packets.protocol == "udp"].session
    rtsp = packets[(packets.server_port == 554) & packets.session.isin(has_udp)]
    assert set(rtsp.media) <= {"control"}
    assert len({frozenset(row.client | row.server) for row in clients.itertuples()}) == 3


@pytest.mark.parametrize(
    ("change", "joined"),
    [
        ({}, True),
        ({"server": "198.51.100.1", "client": "192.0.2.1", "swap": True}, True),  # it speaks first
        ({"server_port": 5003}, False),
        ({"client": "198.51.100.2"}, False),
        ({"frame_bytes_to_server": 500}, False),  # too much for RTCP
        ({"first_time_ns": 10**10, "last_time_ns": 10**10}, False),
        ({"protocol": "tcp"}, False),
    ],
)
def test_rtcp_without_payloads_is_known_by_its_ports(
    change: dict[str, object], joined: bool
) -> None:
    media = _flow(0, media_port=5000, protocol="udp", ssrc=None) | {"frame_bytes_to_client": 1000}
    rtcp = _flow(1, media_port=5001, protocol="udp", ssrc=None) | {"frame_bytes_to_server": 50}
    if change.pop("swap", False):
        rtcp |= {"server_port": rtcp["client_port"], "client_port": rtcp["server_port"]}
    flows = pa.Table.from_pylist([media, rtcp | change], FLOW_SCHEMA)
    grouped = group_sessions(flows, NONE)
    assert len(list_sessions(grouped, NONE)) == (1 if joined else 2)
    assert grouped.column("media").to_pylist() == ["unknown", "control" if joined else "unknown"]


def _group_two(change: dict[str, object]) -> list[int]:
    """Group two flows of UDP between the same hosts, of which the second differs."""
    rows = [_flow(at, media_port=5000 + 7 * at, protocol="udp", ssrc=None) for at in (0, 1)]
    for row in rows:
        row.update(last_time_ns=60 * 10**9)
    rows[1].update(change)
    grouped = group_sessions(pa.Table.from_pylist(rows, schema=FLOW_SCHEMA), NONE)
    sessions: list[int] = grouped.column("session").to_pylist()
    return sessions


TURNED = {"server": "198.51.100.1", "client": "192.0.2.1"}


@pytest.mark.parametrize(
    "change",
    [{}, TURNED, {"first_time_ns": 5 * 10**9, "last_time_ns": 58 * 10**9}],
    ids=["same-way", "two-ways", "starts-later"],
)
def test_udp_between_two_hosts_at_the_same_time_is_one_session(change: dict[str, object]) -> None:
    assert _group_two(change) == [0, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"client": "198.51.100.2"},
        {"server_port": 53},
        {"server_port": 443},
        {"server_port": 5060},
        {"client_port": 2427},
        {"server_port": 51820},
        {"protocol": "tcp"},
        {"first_time_ns": 40 * 10**9},
        {"first_time_ns": 61 * 10**9, "last_time_ns": 121 * 10**9},
        {"last_time_ns": 10**8},
    ],
    ids=[
        "other-host",
        "dns",
        "quic",
        "sip",
        "mgcp",
        "wireguard",
        "tcp",
        "a-part",
        "afterwards",
        "short",
    ],
)
def test_other_udp_of_two_hosts_stays_apart(change: dict[str, object]) -> None:
    assert _group_two(change) == [0, 1]


@pytest.mark.parametrize("name", ["xr_3gpp38838_ar_session", "voip_ngmn2008", "game_ngmn2008"])
def test_both_directions_of_a_user_are_one_session_in_a_capture(name: str, tmp_path: Path) -> None:
    trafficgen.generate(name, tmp_path / "user.pcap", duration_s=5, seed=1)
    assert len(trafficgen.inspect(tmp_path / "user.pcap").sessions) == 1
