"""Results as data frames: a row each, units in the names, types that allow missing values."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import trafficgen
from trafficgen.models import BurstProcess, FrameProcess


def test_a_simulation_gives_a_row_an_interval() -> None:
    path = "rate=725kbps,delay=45ms"
    result = trafficgen.simulate("wmedia9_nichols2004", path=path, duration_s=20, compete="tcp@-5s")
    frame = result.to_pandas()
    assert np.array_equal(frame.index.to_numpy(float), result.series_time_s)
    assert set(frame.columns) == set(result.series) - {"interval_s", "start_s"}
    assert frame["media_kbps"].tolist() == list(result.series["media_kbps"])
    assert set(map(str, frame.dtypes)) == {"Float64"}
    assert frame["buffer_s"].isna().any()


def test_a_reproduction_gives_a_row_a_quantity() -> None:
    found = trafficgen.reproduce("BMW-T1.1", runs=1, workers=1)
    frame = found.to_pandas()
    assert frame["simulated"].tolist() == [row.simulated for row in found.rows]
    assert frame["accept_low"].tolist() == [row.finding.low for row in found.rows]
    assert frame["ok"].dtype == "boolean"
    assert frame["high"].isna().all()


def test_what_a_paper_says_in_words_has_a_column_of_its_own() -> None:
    found = trafficgen.reproduce("BMW-T1.1", runs=1, workers=1)
    first = found.rows[0]
    spoken = replace(first, finding=replace(first.finding, published="long", low=None))
    frame = replace(found, rows=(spoken, *found.rows[1:])).to_pandas()
    assert frame["published_words"].tolist()[0] == "long"
    assert frame["published"].isna().tolist() == [True, *[False] * (len(found.rows) - 1)]
    assert str(frame["published"].dtype) == str(frame["accept_low"].dtype) == "Float64"


def test_a_fit_gives_a_row_a_parameter_with_its_interval() -> None:
    fitted = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz")
    model, frame = fitted.model, fitted.to_pandas()
    assert frame.equals(model.to_pandas())
    whole = frame[frame["stream"].isna()].set_index("parameter")
    rate = whole.loc["playout.rate_bps"]
    estimate = model.playout.rate_bps
    assert list(rate[["estimate", "lower", "upper"]]) == [
        estimate.value,
        estimate.low,
        estimate.high,
    ]
    assert rate["unit"] == "bit/s"
    (stream,) = model.streams
    for phase in stream.phases:
        own = frame[(frame["stream"] == stream.name) & (frame["phase"] == phase.name)]
        inner = own[own["process"].notna()]
        assert set(inner["process"]) == {phase.process.kind}
        assert own.set_index("parameter").loc["rate_bps", "estimate"] == phase.rate_bps
        packet_bytes = phase.process.packet_bytes  # type: ignore[attr-defined]
        law = inner[inner["parameter"].str.startswith("packet_bytes.")].set_index("parameter")
        median = packet_bytes.distribution().ppf(0.5)
        assert law.loc["packet_bytes.median", "estimate"] == median
        assert law.loc["packet_bytes.median", "unit"] == "bytes"
        assert set(law.index) == {
            f"packet_bytes.{name}" for name in ("median", *packet_bytes.params)
        }


def test_a_published_model_gives_a_row_an_option_and_a_value() -> None:
    model = trafficgen.load_model("wmedia9_nichols2004")
    assert isinstance(model, trafficgen.PublishedModel)
    frame = model.to_pandas().set_index("parameter")
    assert set(frame[frame["basis"] == "option"].index) == set(model.options)
    assert frame.loc["encodings.0.rate_kbps", "unit"] == "kbit/s"
    clip = model.mechanism.parameters["clip_s"]
    assert frame.loc["clip_s", "estimate"] == clip.value
    assert frame.loc["clip_s", "source"] == clip.source


def test_a_comparison_names_the_baselines_that_the_candidate_beats() -> None:
    capture = "examples/captures/http_burst_then_paced.pcap.gz"
    table = trafficgen.generate(trafficgen.fit(capture), seed=1)
    comparison = trafficgen.compare(capture, table)
    beats = comparison.to_pandas()["beats"]
    assert {name: text.split(", ") for name, text in beats.items() if text} == {
        name: baselines for name, baselines in comparison.wins.items() if baselines
    }


def test_a_workload_gives_a_row_a_session_as_it_is_played() -> None:
    workload = trafficgen.load_workload("examples/workloads/evening.yaml")
    frame = workload.to_pandas(seed=3)
    assert frame.equals(workload.to_pandas(seed=3))
    assert "seed" not in frame
    assert not frame["start_s"].equals(workload.to_pandas(seed=4)["start_s"])
    assert frame["start_s"].is_monotonic_increasing
    assert set(frame["group"]) <= {group.name for group in workload.groups}
    assert (frame["duration_s"].dropna() > 0).all()


@pytest.mark.parametrize(
    ("model", "media_s"),
    [("wmedia9_nichols2004", 60), ("wmedia9_nichols2004(clip_s=30)", 30), ("cbr(duration_s=5)", 5)],
)
def test_rows_have_the_length_of_the_media(tmp_path: Path, model: str, media_s: float) -> None:
    file = tmp_path / "evening.yaml"
    file.write_text(f"sessions: 3\narrivals: {{poisson: 0.5/s}}\ngroups: [{{model: {model}}}]\n")
    frame = trafficgen.load_workload(file).to_pandas()
    assert frame["media_s"].tolist() == [media_s] * 3
    assert frame["duration_s"].isna().all()


def test_sessions_of_a_fitted_model_last_as_long_as_their_rows_say(tmp_path: Path) -> None:
    model = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz").model
    trafficgen.save_model(model, tmp_path / "model.json")
    file = tmp_path / "fleet.yaml"
    file.write_text(
        "name: fleet\nsessions: 3\narrivals: {poisson: 0.5/s}\nduration: 20s\n"
        "groups: [{model: model.json}]\n"
    )
    frame = trafficgen.load_workload(file).to_pandas(seed=1)
    table = trafficgen.generate_workload(file, tmp_path / "fleet.parquet", seed=1)
    assert len(frame) == table.sessions
    assert frame["duration_s"].tolist() == [20.0] * 3
    assert frame["media_s"].isna().all()
    packets = trafficgen.read_packets(tmp_path / "fleet.parquet").to_pandas()
    first_s = packets.groupby("flow")["time_ns"].min() / 1e9
    assert np.allclose(first_s.to_numpy(float), frame["start_s"].to_numpy(float))


def test_rows_of_the_self_check_can_be_told_apart() -> None:
    fitted = trafficgen.fit("examples/captures/rtsp_rtp_two_streams.pcap.gz")
    place = ["stream", "phase", "candidate", "statistic"]
    assert not fitted.to_pandas("self_check").duplicated(place).any()


def test_a_row_of_a_population_has_the_loss_that_the_fit_estimates() -> None:
    capture = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
    loss = trafficgen.fit(capture).model.provenance.conditions.loss_rate  # type: ignore[union-attr]
    assert loss is not None
    frame = trafficgen.fit_population([capture], workers=1).to_pandas()
    assert frame["loss_rate"].tolist() == [loss.value]


@pytest.mark.parametrize("name", ["time_ns", "time_s", "flow", "to_client", "ip_bytes"])
def test_arrays_of_a_table_cannot_be_written(name: str) -> None:
    table = trafficgen.generate("cbr", duration_s=1)
    with pytest.raises(ValueError, match="read-only"):
        getattr(table, name)[0] = 0


def test_a_missing_pandas_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(trafficgen.TrafficgenError, match="pip install pandas"):
        trafficgen.Path.parse("rate=1Mbps").to_pandas()


def test_a_fit_tells_what_was_rejected_and_how_it_was_checked() -> None:
    model = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz").model
    checks, others = model.to_pandas("self_check"), model.to_pandas("alternatives")
    for phase in model.streams[0].phases:
        assert phase.choice is not None
        own = checks[checks["phase"] == phase.name]
        assert len(own) == sum(len(tried.distances) for tried in phase.choice.tried)
        assert set(own[own["chosen"]]["process"]) == {phase.process.kind}
        chosen = phase.choice.tried[phase.choice.chosen]
        distances = own[own["chosen"]].set_index("statistic")["distance"]
        assert distances.to_dict() == chosen.distances
    assert set(others.columns) >= {"parameter", "chosen", "family", "delta_bic", "held_out"}
    process = model.streams[0].phases[1].process
    assert isinstance(process, BurstProcess | FrameProcess)
    spacing = process.spacing_s
    families = others[others["parameter"] == "spacing_s"]["family"]
    assert list(families) == [other.family for other in spacing.alternatives]
    with pytest.raises(ValueError, match=r"of: .*'selfcheck'|no table of 'selfcheck'; choose"):
        model.to_pandas("selfcheck")  # type: ignore[arg-type]
