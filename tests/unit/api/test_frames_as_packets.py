"""Data frames as packets: of other columns, and our own, which lose nothing on the way."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import trafficgen

CAPTURE = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
FLOW_FACTS = ("server", "server_port", "client", "client_port", "protocol", "session", "media")
LIST = pd.DataFrame(
    {"time_s": np.arange(400) / 50, "ip_bytes": [1200, 600] * 200, "direction": "down"}
)


def _captured() -> trafficgen.PacketTable:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it was captured in part
        return trafficgen.read_packets(CAPTURE)


@pytest.mark.parametrize("make", [lambda frame: frame, pa.table], ids=["pandas", "arrow"])
def test_every_function_that_takes_packets_takes_a_data_frame(
    make: Callable[[pd.DataFrame], Any], tmp_path: Path
) -> None:
    LIST.to_csv(tmp_path / "list.csv", index=False)
    of_file, frame = str(tmp_path / "list.csv"), make(LIST)
    flows = trafficgen.inspect(of_file).describe_flows()
    assert trafficgen.read_packets(frame).packets.equals(trafficgen.read_packets(of_file).packets)
    assert trafficgen.inspect(frame).describe_flows() == flows
    assert trafficgen.fit(frame).model.streams == trafficgen.fit(of_file).model.streams
    assert trafficgen.compare(frame, of_file).flat()["gap_s.ks"] == 0
    report = trafficgen.export(frame, to="csv", directory=tmp_path / "out")
    assert report.packets == len(LIST)


def test_a_frame_without_a_size_says_what_columns_it_needs() -> None:
    with pytest.raises(trafficgen.PacketTableError, match="time and a size among time_s, x"):
        trafficgen.inspect(pd.DataFrame({"time_s": [0.0], "x": [1]}))


def test_times_may_be_dates_and_the_index() -> None:
    times = pd.date_range("2026-01-02", periods=3, freq="20ms", tz="UTC", name="time")
    table = trafficgen.read_packets(pd.DataFrame({"ip_bytes": [100, 200, 300]}, index=times))
    assert table.time_s.tolist() == [0.0, 0.02, 0.04]
    assert pd.Timestamp(table.origin_ns, tz="UTC") == times[0]


@pytest.mark.parametrize("name", ["time", "time_s", "time_ms"])
def test_a_column_of_durations_or_dates_has_the_unit_of_its_type(name: str, tmp_path: Path) -> None:
    since = pd.to_timedelta([0.0, 0.02, 0.04], unit="s")
    for times in (since, since + pd.Timestamp("2026-01-02")):
        frame = pd.DataFrame({name: times, "ip_bytes": [100, 200, 300]})
        frame.to_parquet(tmp_path / "list.parquet")
        for one in (frame, tmp_path / "list.parquet"):
            assert trafficgen.read_packets(one).time_s.tolist() == [0.0, 0.02, 0.04]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (LIST.assign(ip_bytes=99.5), "sizes whole numbers from 0 to 262,144 bytes"),
        (LIST.assign(ip_bytes=-5), "sizes whole numbers from 0 to 262,144 bytes"),
        (LIST.assign(ip_bytes=10**12), "sizes whole numbers from 0 to 262,144 bytes"),
        (LIST[["time_s"]], "give columns of a time"),
        (LIST["time_s"], "is one column, a Series; give a frame"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said_in_words_of_frames(given: Any, text: str) -> None:
    with pytest.raises(trafficgen.PacketTableError, match=text) as caught:
        trafficgen.read_packets(given)
    assert "header line" not in str(caught.value)
    assert "from_format" not in str(caught.value)


def test_a_size_that_does_not_say_of_what_is_to_be_renamed() -> None:
    frame = LIST.rename(columns={"ip_bytes": "Length"})
    with pytest.warns(trafficgen.CaptureWarning, match="name it frame_bytes or payload_bytes"):
        trafficgen.read_packets(frame)


def test_exchanges_are_measured_in_a_frame_as_in_its_table() -> None:
    table = _captured()
    found = trafficgen.measure_exchanges(table.to_pandas())
    assert found.to_json() == trafficgen.measure_exchanges(table).to_json()


def test_a_csv_that_pandas_compressed_is_read_or_says_how(tmp_path: Path) -> None:
    LIST.to_csv(tmp_path / "list.csv.gz", index=False)
    assert len(trafficgen.read_packets(tmp_path / "list.csv.gz")) == len(LIST)
    LIST.to_csv(tmp_path / "list.csv.bz2", index=False)
    with pytest.raises(trafficgen.PacketTableError, match="compress it with gzip, zstd or xz"):
        trafficgen.read_packets(tmp_path / "list.csv.bz2")


def test_columns_that_are_not_used_are_one_warning() -> None:
    table = _captured()
    for frame in (LIST, table.to_pandas()):
        with pytest.warns(trafficgen.CaptureWarning, match="not used: mos, site") as caught:
            trafficgen.inspect(frame.assign(mos=4.1, site="a"))
        assert len([one for one in caught if "not used" in str(one.message)]) == 1


@pytest.mark.parametrize("form", ["frame", "parquet", "csv", "long.parquet", "long.csv"])
def test_our_own_frame_comes_back_as_it_was(form: str, tmp_path: Path) -> None:
    table = _captured()
    frame, source = table.to_pandas(), tmp_path / f"r.{form}"
    if form.endswith("parquet"):
        frame.to_parquet(source)
    elif form.endswith("csv"):
        frame.to_csv(source, index=form.startswith("long"))
    options: dict[str, Any] = {"memory_bytes": 100_000} if form.startswith("long") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = trafficgen.inspect(frame if form == "frame" else source, **options)
    for name in FLOW_FACTS:
        assert found.flows.column(name).to_pylist() == table.flows.column(name).to_pylist(), name
    assert found.origin_ns == (0 if form.endswith("csv") else table.origin_ns)
    if not options:
        back = trafficgen.read_packets(frame if form == "frame" else source)
        assert back.packets.equals(table.packets)


def test_the_rtp_of_a_flow_comes_back_from_our_frame(tmp_path: Path) -> None:
    table = trafficgen.generate(trafficgen.fit(_captured()), duration_s=4)
    assert table.flows.column("clock_hz").null_count == 0
    table.to_pandas().to_parquet(tmp_path / "rtp.parquet")
    for source in (table.to_pandas(), tmp_path / "rtp.parquet"):
        back = trafficgen.read_packets(source)
        for name in ("ssrc", "payload_type", "clock_hz"):
            assert back.flows.column(name).equals(table.flows.column(name)), name
        assert trafficgen.fit(source).model.streams == trafficgen.fit(table).model.streams


def test_a_part_of_our_frame_keeps_ends_and_directions() -> None:
    table = _captured()
    names = ["time_ns", "ip_bytes", "server", "server_port", "client", "client_port"]
    back = trafficgen.read_packets(table.to_pandas()[[*names, "protocol", "direction"]])
    assert back.to_client.tolist() == table.to_client.tolist()
    ends = ["server", "server_port", "client", "client_port", "protocol"]
    assert {*map(str, back.flows.select(ends).to_pylist())} == {
        *map(str, table.flows.select(ends).to_pylist())
    }


def test_a_server_that_is_no_address_is_named_as_not_used() -> None:
    frame = _captured().to_pandas()
    frame["server"] = "web"
    with pytest.warns(trafficgen.CaptureWarning, match="not used: server"):
        flows = trafficgen.inspect(frame).flows
    assert set(flows.column("server").to_pylist()) == {"192.0.2.1"}


def test_the_frame_has_protocol_and_start() -> None:
    table = _captured()
    frame = table.to_pandas()
    assert set(frame["protocol"]) == {"udp", "tcp"}
    assert frame.attrs == {"origin_ns": table.origin_ns}


def test_what_is_refused_is_named_by_its_type() -> None:
    with pytest.raises(TypeError, match=r"a data frame, not ndarray$"):
        trafficgen.fit(np.zeros(100_000))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not PacketTable; give a packet table alone"):
        trafficgen.inspect([_captured()])  # type: ignore[list-item]
