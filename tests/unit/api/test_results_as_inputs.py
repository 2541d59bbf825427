"""Results go in where files do: packets of a table, and the model of a fit."""

from __future__ import annotations

from pathlib import Path

import pytest

import trafficgen
from trafficgen.models import Model
from trafficgen.packet_files.writing import write_packets

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"
PATH = "rate=1Mbps,delay=10ms"


@pytest.fixture(scope="module")
def table() -> trafficgen.PacketTable:
    settings = {"rate_kbps": 500}
    return trafficgen.generate("cbr", duration_s=10, settings=settings)


@pytest.fixture(scope="module")
def fitted(table: trafficgen.PacketTable) -> trafficgen.Fit:
    return trafficgen.fit(table)


def test_a_table_in_memory_is_read_like_its_file(
    table: trafficgen.PacketTable, fitted: trafficgen.Fit, tmp_path: Path
) -> None:
    file = tmp_path / "table.parquet"
    write_packets(table, file)
    of_file = trafficgen.fit(file).model
    assert fitted.model.playout == of_file.playout
    assert fitted.model.streams == of_file.streams
    assert fitted.model.name == "table"
    assert fitted.model.provenance.digests == ()  # type: ignore[union-attr]
    found = trafficgen.inspect(table)
    assert found.describe_flows() == trafficgen.inspect(file).describe_flows()
    with_table = trafficgen.compare(file, table)
    assert with_table.names == ("table.parquet", "table")
    assert with_table.flat() == pytest.approx(trafficgen.compare(file, file).flat(), nan_ok=True)
    assert trafficgen.compare(table, file, flow=0).flat()["gap_s.ks"] == 0.0


@pytest.mark.filterwarnings("ignore::trafficgen.CaptureWarning")
def test_packets_of_a_capture_keep_its_name() -> None:
    read = trafficgen.read_packets(CAPTURE)
    assert trafficgen.fit(read).model.name == "http_burst_then_paced"
    assert trafficgen.compare(read, CAPTURE).names == (Path(CAPTURE).name,) * 2


def test_a_table_in_a_list_of_files_is_refused(table: trafficgen.PacketTable) -> None:
    with pytest.raises(TypeError, match=r"must hold texts or paths.*give a packet table alone"):
        trafficgen.inspect([table])  # type: ignore[list-item]


@pytest.mark.filterwarnings("ignore::trafficgen.SimulationWarning")
def test_a_fit_is_taken_for_its_model(fitted: trafficgen.Fit, tmp_path: Path) -> None:
    model = fitted.model
    played = trafficgen.generate(fitted, duration_s=5, seed=1)
    assert played.packets.equals(trafficgen.generate(model, duration_s=5, seed=1).packets)
    over = trafficgen.simulate(fitted, path=PATH, duration_s=5)
    assert (
        over.series_time_s.size
        == trafficgen.simulate(model, path=PATH, duration_s=5).series_time_s.size
    )
    assert not trafficgen.models_diff(fitted, model).differences
    trafficgen.save_model(fitted, tmp_path / "model.json")
    loaded = trafficgen.load_model(tmp_path / "model.json")
    assert isinstance(loaded, Model)
    assert loaded == model
    # Its frames depend on each other, which ns-3's application has no means for.
    exported = trafficgen.export(
        fitted, to="ns3", directory=tmp_path / "ns3", settings={"approximate": "on"}
    )
    assert exported.kind == "model"
    fleet = trafficgen.generate_workload(fitted, tmp_path / "fleet.parquet", sessions=2)
    assert fleet.sessions == 2
    assert trafficgen.estimate_workload(fitted, "fleet.parquet", sessions=2).sessions == 2


def test_an_entry_of_the_list_is_taken_for_its_model() -> None:
    entry = next(one for one in trafficgen.models_list() if one.name == "cbr")
    one, other = (trafficgen.generate(what, duration_s=2) for what in (entry, "cbr"))
    assert one.packets.equals(other.packets)
