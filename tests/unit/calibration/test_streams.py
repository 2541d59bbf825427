from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trafficgen.calibration.streams import describe_transport
from trafficgen.errors import CalibrationError
from trafficgen.models import Transport
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]


def transport_of(
    make_table: TableMaker, time_s: Any, flow: dict[str, Any], **columns: Any
) -> Transport:
    table = make_table(time_s, flows=[{"flow": 0, **flow}], **columns)
    return describe_transport(table, np.ones(len(table), dtype=np.bool_), flow=0)


def test_video_frames_share_a_timestamp_and_end_marked(make_table: TableMaker) -> None:
    frames, packets = 50, 4
    transport = transport_of(
        make_table,
        np.repeat(np.arange(frames) / 25, packets) + np.tile(np.arange(packets) * 1e-4, frames),
        {"payload_type": 96},
        rtp_timestamp=(np.repeat(np.arange(frames) * 3600, packets) + 4_294_960_000) % (1 << 32),
        rtp_marker=np.tile([False] * (packets - 1) + [True], frames),
        rtp_ssrc=7,
    )
    assert transport.rtp is not None
    assert (transport.rtp.clock_hz, transport.rtp.payload_type, transport.rtp.frame_per_burst) == (
        90000,
        96,
        True,
    )
    assert transport.rtp.timestamp_step is not None
    assert transport.rtp.timestamp_step.value == 3600


def test_voice_is_not_framed(make_table: TableMaker) -> None:
    n = 100
    transport = transport_of(
        make_table,
        np.arange(n) * 0.02,
        {"payload_type": 8, "clock_hz": 8000},
        rtp_timestamp=np.arange(n) * 160,
        rtp_marker=np.arange(n) == 0,
        rtp_ssrc=7,
    )
    assert transport.rtp is not None
    assert (transport.rtp.clock_hz, transport.rtp.frame_per_burst) == (8000, False)


def test_headers_and_addresses_are_those_of_the_flow(make_table: TableMaker) -> None:
    transport = transport_of(
        make_table,
        [0.0, 1.0],
        {"protocol": "tcp", "server": "2001:db8::1", "server_port": 443},
        header_bytes=72,
    )
    assert (transport.protocol, transport.ip_version, transport.server_port) == ("tcp", 6, 443)
    assert (transport.header_bytes, transport.rtp) == (72, None)


def test_other_protocols_are_refused(make_table: TableMaker) -> None:
    with pytest.raises(CalibrationError, match="flow 0 is sctp"):
        transport_of(make_table, [0.0, 1.0], {"protocol": "sctp"})
