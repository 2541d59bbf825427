"""Uploads: flows turned round."""

from __future__ import annotations

from pathlib import Path

import pytest

import trafficgen
from trafficgen.flows import heaviest_upload, swap_ends
from trafficgen.tables import FLOW_SCHEMA, PacketTable

EXAMPLE = (
    Path(__file__).resolve().parents[3] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
)


@pytest.fixture(scope="module")
def download() -> PacketTable:
    with pytest.warns(trafficgen.CaptureWarning, match="captured in part"):
        return trafficgen.read_packets(EXAMPLE)


def test_turning_round_twice_gives_the_table_back(download: PacketTable) -> None:
    there = swap_ends(download)
    back = swap_ends(there)
    assert back.packets.equals(download.packets)
    assert back.flows.equals(download.flows)
    assert (there.to_client != download.to_client).all()


def test_what_was_sent_to_the_client_is_the_upload_of_the_table_turned_round(
    download: PacketTable,
) -> None:
    sent = download.flows.column("payload_bytes_to_client")[0].as_py()
    assert heaviest_upload(swap_ends(download).flows) == (0, sent)
    assert heaviest_upload(FLOW_SCHEMA.empty_table()) == (-1, 0)


def test_an_upload_is_fitted_like_the_download_it_was_made_from(
    download: PacketTable, tmp_path: Path
) -> None:
    path = tmp_path / "upload.parquet"
    trafficgen.export(swap_ends(download), to="parquet", directory=tmp_path)
    (tmp_path / "packets.parquet").rename(path)
    fitted, expected = trafficgen.fit(path, upload=True), trafficgen.fit(EXAMPLE)
    assert fitted.model.streams == expected.model.streams
    with pytest.raises(trafficgen.CalibrationError, match="--upload fits that direction"):
        trafficgen.fit(path)
    assert not any("--upload" in text for text in fitted.warnings)
