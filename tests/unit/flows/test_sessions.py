"""Grouping of flows into sessions."""

from __future__ import annotations

import pyarrow as pa

from trafficgen.flows import group_sessions, list_sessions
from trafficgen.tables import FLOW_SCHEMA, SIGNALLING_SCHEMA


def test_a_capture_without_any_flow_has_no_session() -> None:
    grouped = group_sessions(FLOW_SCHEMA.empty_table(), SIGNALLING_SCHEMA.empty_table())
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
