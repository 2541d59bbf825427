from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trafficgen.flows import media_packets
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]


def test_media_goes_to_the_client_and_carries_payload(make_table: TableMaker) -> None:
    table = make_table(
        [0, 1, 2], to_client=np.array([True, False, True]), ip_bytes=np.array([500, 500, 28])
    )
    np.testing.assert_array_equal(media_packets(table), [True, False, False])


def test_control_flows_are_no_media(make_table: TableMaker) -> None:
    flows = [{"flow": 0, "media": "control"}, {"flow": 1, "media": "audio"}]
    table = make_table([0, 1], flow=np.array([0, 1]), flows=flows)
    np.testing.assert_array_equal(media_packets(table), [False, True])


def test_packets_without_rtp_in_an_rtp_flow_are_no_media(make_table: TableMaker) -> None:
    table = make_table([0, 1, 2, 3], flow=np.array([0, 0, 0, 1]), rtp_sequence=[1, None, 2, None])
    np.testing.assert_array_equal(media_packets(table), [True, False, True, True])


def test_probes_and_signalling_are_no_media(make_table: TableMaker) -> None:
    table = make_table([0, 1, 2, 3], phase=["probe", "signalling", "buffering", None])
    np.testing.assert_array_equal(media_packets(table), [False, False, True, True])
