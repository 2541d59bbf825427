"""The leak check finds what there is to find: a check that looks for nothing would never fail."""

from __future__ import annotations

import gzip
from pathlib import Path

from tests.privacy import telling
from tests.privacy.conftest import CAPTURES
from tests.privacy.telling import Secrets

import trafficgen


def test_secrets_are_addresses_uris_sessions_and_sources(secrets: Secrets) -> None:
    expected = {"10.77.1.1", "10.77.2.1", "21.0.0.12", "22.0.0.10", "561975924", "1d6a4c741d6a4cb8"}
    assert expected < secrets.texts
    assert "rtsp://22.0.0.10/cawsample_250k_60s_va.mov" in secrets.texts
    assert bytes([21, 0, 0, 12]) in secrets.octets
    assert len(secrets.payloads) > 1000


def test_captures_themselves_are_full_of_them(secrets: Secrets, telling_capture: Path) -> None:
    plain = gzip.decompress((CAPTURES / "rtsp_rtp_two_streams.pcap.gz").read_bytes())
    found = secrets.found_in(plain, binary=True)
    assert {"rtsp://22.0.0.10/cawsample_250k_60s_va.mov", "1500000c"} & set(found)
    found = secrets.found_in(telling_capture.read_bytes(), binary=True)
    assert {*telling.PLANTED, telling.CARD_ADDRESS.hex()} <= set(found)


def test_the_telling_capture_is_read_as_the_one_it_was_made_of(telling_capture: Path) -> None:
    shipped = trafficgen.inspect(CAPTURES / "rtsp_rtp_two_streams.pcap.gz")
    made = trafficgen.inspect(telling_capture)
    assert 400 < made.packets < shipped.packets
    assert made.flows.column("server").to_pylist() == shipped.flows.column("server").to_pylist()
