"""Captures that can be shared hold nothing of the frames, and nothing of what stood beside them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.privacy.telling import Secrets

import trafficgen

pytestmark = pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
KEY = bytes(range(32))


@pytest.mark.parametrize(
    "name", ["shared.pcap", "shared.pcapng", "shared.parquet", "shared.csv", "dataset"]
)
def test_nothing_of_a_capture_is_in_its_anonymised_form(
    name: str, telling_capture: Path, tmp_path: Path, secrets: Secrets
) -> None:
    trafficgen.anonymise(telling_capture, tmp_path / name, key=KEY, ports="map")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert secrets.found_in(path.read_bytes(), binary=True) == [], path.name
    assert (
        len(trafficgen.read_packets(tmp_path / name))
        == trafficgen.inspect(telling_capture).ip_packets
    )
