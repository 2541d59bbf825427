"""Uploads: flows turned round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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
    with pytest.raises(trafficgen.CalibrationError, match="upload=True fits that direction"):
        trafficgen.fit(path)
    assert not any("upload=True" in text for text in fitted.warnings)


@pytest.mark.parametrize(
    ("options", "advises"),
    [({}, True), ({"session": 0}, False), ({"session": 1}, True), ({"upload": True}, False)],
    ids=["no choice", "a session without upload", "the session that uploads", "the upload"],
)
def test_an_upload_is_advised_where_it_is_not_fitted_and_no_other_session_was_chosen(
    make_table: Callable[..., PacketTable], options: dict[str, Any], *, advises: bool
) -> None:
    ways = np.tile([True, True, True, False, False], 400)
    table = make_table(
        np.arange(2000) * 0.005,
        ip_bytes=np.tile([1000, 1000, 200, 1400, 1400], 400),
        flow=np.tile([0, 0, 1, 1, 1], 400),
        to_client=ways,
        flows=[{"flow": number, "session": number} for number in range(2)],
    )
    fitted = trafficgen.fit(table, **options)
    assert any("upload=True" in text for text in fitted.warnings) is advises


def test_too_few_packets_beside_an_upload_are_one_warning_that_advises_it(
    make_table: Callable[..., PacketTable],
) -> None:
    to_client = np.arange(1000) % 100 == 0
    fitted = trafficgen.fit(make_table(np.arange(1000) * 0.005, to_client=to_client))
    (warning,) = fitted.warnings
    assert warning.startswith("too little media traffic for a model: 10 media packets")
    assert "do not rely on this model; flow 0 carries 962 kB" in warning
    assert warning.endswith("upload=True fits that direction")
