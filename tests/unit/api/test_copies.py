"""Every result can be pickled and copied, as pools and caches do, and written as JSON."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.models import Model, PublishedModel
from trafficgen.notebook import NotebookView

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"
SHORT: Any = {"duration_s": 20}
#: Functions that are not work with a result: they register, follow, serve or write.
_WITHOUT_RESULT = {
    "demo",
    "explore",
    "following",
    "save_exchanges",
    "save_model",
    "save_plots",
    "save_report",
}
#: Results that hold what they say and nothing else: they compare by it.
_VALUES = (Model, PublishedModel, trafficgen.PacketTable, trafficgen.Path)
#: Public classes that are not results of work.
_NOT_WRITTEN = {"LocalPage", "Step"}


def _make_results(folder: Path) -> dict[str, Any]:
    """Return a result of each public function by its name."""
    files = [folder / f"{number}.parquet" for number in range(3)]
    for number, file in enumerate(files):
        settings = {"rate_kbps": 300 + 100 * number}
        trafficgen.generate("cbr", file, settings=settings, **SHORT)
    table = trafficgen.generate("cbr", **SHORT)
    fitted = trafficgen.fit(CAPTURE)
    comparison = trafficgen.compare(CAPTURE, files[0])
    workload = folder / "workload.yaml"
    workload.write_text("sessions: 2\ngroups: [{model: cbr}]\n")
    return {
        "compare": comparison,
        "convert": trafficgen.convert(files[0], folder / "packets.csv"),
        "estimate_workload": trafficgen.estimate_workload(
            "cbr", folder / "out", sessions=2, **SHORT
        ),
        "exceeded_limits": trafficgen.exceeded_limits(comparison, ["gap_s.ks=0"]),
        "export": trafficgen.export(table, to="mgen", directory=folder / "mgen"),
        "fit": fitted,
        "fit_population": trafficgen.fit_population(files, workers=1),
        "fit_same_source": trafficgen.fit_same_source(files[:2]),
        "generate": table,
        "generate_workload": trafficgen.generate_workload(
            "cbr", folder / "fleet", sessions=2, **SHORT
        ),
        "inspect": trafficgen.inspect(CAPTURE),
        "leave_one_out": trafficgen.leave_one_out(["LJM-D4", "LJM-E7"], draws=1, runs=1, workers=1),
        "load_model": trafficgen.load_model("cbr"),
        "load_workload": trafficgen.load_workload(workload),
        "model_json_schema": trafficgen.model_json_schema(),
        "measure_exchanges": trafficgen.measure_exchanges(CAPTURE),
        "measure_sensitivity": trafficgen.measure_sensitivity("LJM-E7", runs=1, workers=1),
        "models_diff": trafficgen.models_diff(fitted, fitted),
        "models_list": trafficgen.models_list(),
        "models_schema": trafficgen.models_schema(),
        "models_show": trafficgen.models_show("cbr"),
        "rank_catalogue": trafficgen.rank_catalogue(table),
        "read_packets": trafficgen.read_packets(CAPTURE),
        "reproduce": trafficgen.reproduce("BMW-T1.1", runs=1, workers=1),
        "simulate": trafficgen.simulate("cbr", path="rate=1Mbps,delay=20ms", **SHORT),
        "simulate_workload": trafficgen.simulate_workload(
            "cbr", path="rate=1Mbps,delay=20ms", sessions=2, **SHORT
        ),
    }


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trafficgen.TrafficgenWarning)
        return _make_results(tmp_path_factory.mktemp("results"))


def test_results_of_all_functions_are_tried(results: dict[str, Any]) -> None:
    functions = {
        name
        for name in trafficgen.__all__
        if inspect.isfunction(getattr(trafficgen, name)) and not name.startswith("register_")
    }
    assert results.keys() == functions - _WITHOUT_RESULT


@pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
@pytest.mark.parametrize(
    "duplicate",
    [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
def test_copies_are_what_they_were_made_of(
    results: dict[str, Any], duplicate: Callable[[Any], Any]
) -> None:
    for name, result in results.items():
        again = duplicate(result)
        assert repr(again) == repr(result), name
        if hasattr(result, "to_json"):
            assert repr(again.to_json()) == repr(result.to_json()), name
        if isinstance(result, Model | PublishedModel):
            assert again == result, name


def test_results_compare_by_identity_and_values_by_what_they_hold(results: dict[str, Any]) -> None:
    made = [
        (name, one)
        for name, result in results.items()
        for one in (result if isinstance(result, list | tuple) else [result])
    ]
    for name, result in made:
        again = pickle.loads(pickle.dumps(result))
        is_value = not isinstance(result, NotebookView) or isinstance(result, _VALUES)
        assert (result == again) is is_value, name
        assert result in [again, result], name
        if not is_value:
            assert len({result, again}) == 2, name


def test_results_are_values_of_json(results: dict[str, Any]) -> None:
    row = results["reproduce"].rows[0]
    path = trafficgen.Path.parse("rate=1Mbps,delay=20ms")
    found = [*results.values(), results["fit"].model, row, row.finding, path]
    found += results["models_list"]
    written = {type(one).__name__: one for one in found if isinstance(one, NotebookView)}
    for name, result in written.items():
        assert json.dumps(result.to_json()), name
    classes = [getattr(trafficgen, name) for name in trafficgen.__all__]
    public = {one.__name__ for one in classes if isinstance(one, type)}
    problems = {name for name in public if name.endswith(("Error", "Warning"))}
    assert public - problems - written.keys() == _NOT_WRITTEN


def test_json_of_models_and_workloads_is_what_their_files_hold(
    results: dict[str, Any], tmp_path: Path
) -> None:
    for model in (results["load_model"], results["fit"].model):
        assert model.to_json() == model.model_dump(mode="json")
        file = tmp_path / "model.json"
        file.write_text(json.dumps(model.to_json()))
        assert trafficgen.load_model(file) == model
    file = tmp_path / "workload.yaml"
    file.write_text(json.dumps(results["load_workload"].to_json()))
    assert trafficgen.load_workload(file).description == results["load_workload"].description
    exchanges = results["measure_exchanges"].to_json()
    assert exchanges["table"][0]["request_bytes"] == 402
