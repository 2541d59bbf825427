"""Objects in a notebook: a line that says what they hold, and a view that is small and safe."""

from __future__ import annotations

import io
import json
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from matplotlib import pyplot
from tests.conftest import build_table

import trafficgen
from trafficgen.data_frames import data_frame
from trafficgen.flows import inspect_table
from trafficgen.formatting import one_line
from trafficgen.models import Estimate
from trafficgen.models.application import Application, RungSwitch
from trafficgen.notebook import SHOWN_ROWS, FirstRows, NotebookView

#: A file that somebody else named: markup, a formula, quotes, a colour of the terminal, writing
#: from right to left.
HOSTILE = "<img src=x onerror=alert(1)> $x$ \"'& \x1b[31m\u202e"
#: Handles, not results: a page that is served, and how far work is.
WITHOUT_VIEW = {"LocalPage", "Step"}
CLASSES = [
    name
    for name in trafficgen.__all__
    if name not in WITHOUT_VIEW
    and isinstance(thing := getattr(trafficgen, name), type)
    and not issubclass(thing, Exception)
]
#: Types of columns of data frames.
NULLABLE = {"string", "boolean", "category", "Float32", "Float64"} | {
    f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)
}
LARGEST_VIEW_BYTES = 50_000
EXAMPLE = "examples/captures/http_burst_then_paced.pcap.gz"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return an object of each public class, made from files with hostile names."""
    folder = tmp_path_factory.mktemp("files")
    captures = [folder / f"{number} {HOSTILE}.parquet" for number in (1, 2)]
    for rate, capture in zip((300, 500), captures, strict=True):
        trafficgen.generate("cbr", capture, duration_s=20, settings={"rate_kbps": rate})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", trafficgen.CaptureWarning)  # it was captured in part
        exchanges = trafficgen.measure_exchanges(EXAMPLE)
    fitted = trafficgen.fit(captures[0])
    table = trafficgen.generate(fitted.model)
    workload = folder / f"workload {HOSTILE}.yaml"
    workload.write_text(
        f"name: {json.dumps(HOSTILE)}\nsessions: 2\ngroups: [{{model: cbr}}]", encoding="utf-8"
    )
    reproduction = trafficgen.reproduce("BMW-T1.1", runs=2, workers=1)
    with pytest.warns(trafficgen.CaptureWarning, match="it is left out"):
        population = trafficgen.fit_population([*captures, HOSTILE], workers=1)
    return {
        "CatalogueModel": trafficgen.models_list()[0],
        "Comparison": trafficgen.compare(*captures),
        "Conversion": trafficgen.convert(captures[0]),
        "Exchanges": exchanges,
        "Finding": reproduction.rows[0].finding,
        "FindingResult": reproduction.rows[0],
        "Fit": fitted,
        "Inspection": trafficgen.inspect(captures[0]),
        "LeaveOneOut": trafficgen.leave_one_out(["LJM-D4", "LJM-E7"], draws=1, runs=1, workers=1),
        "Model": fitted.model,
        "ModelDifferences": trafficgen.models_diff(fitted.model, trafficgen.fit(captures[1]).model),
        "PacketTable": table,
        "Path": trafficgen.Path.from_settings(
            {"links": [{"name": HOSTILE, "rate": "1Mbps"}, {"delay": "10ms"}]}
        ),
        "PlannedWorkload": trafficgen.load_workload(workload),
        "PopulationFit": population,
        "ProjectionReport": trafficgen.export(table, to="mgen", directory=folder / "for-mgen"),
        "PublishedModel": trafficgen.load_model("chunked"),
        "Ranking": trafficgen.rank_catalogue(captures[0]),
        "Reproduction": reproduction,
        "SameSourceFit": trafficgen.fit_same_source(captures),
        "Sensitivity": trafficgen.measure_sensitivity("LJM-E6", runs=1, workers=1),
        "SimulationResult": trafficgen.simulate(
            "cbr", path="rate=400kbps,delay=40ms", compete="tcp@2s", duration_s=20
        ),
        "WorkloadEstimate": trafficgen.estimate_workload(
            workload, folder / f"workload {HOSTILE}.pcap", sessions=2
        ),
        "WorkloadResult": trafficgen.simulate_workload(
            workload, path="rate=400kbps,delay=40ms", compete="tcp@2s", duration_s=20
        ),
        "WrittenWorkload": trafficgen.generate_workload(
            fitted.model, folder / f"workload {HOSTILE}.parquet"
        ),
    }


@pytest.mark.parametrize("name", CLASSES)
def test_object_says_on_one_line_what_it_holds(name: str, objects: dict[str, Any]) -> None:
    line = repr(objects[name])
    assert line.isprintable()
    assert len(line) < 400
    assert line == f"<{name}{line[len(name) + 1 :]}"
    assert str(objects[name]) == line


@pytest.mark.parametrize("name", CLASSES)
def test_view_of_an_object_is_small_and_lets_nothing_through(
    name: str, objects: dict[str, Any]
) -> None:
    view = objects[name]._repr_html_()
    assert len(view.encode()) < LARGEST_VIEW_BYTES
    root = ElementTree.fromstring(view)
    shown = {element.tag for element in root.iter()}
    assert shown <= {"div", "strong", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}
    assert not any(
        key in element.attrib for element in root.iter() for key in ("href", "src", "id", "onerror")
    )
    assert "mathjax_ignore" in root.attrib["class"]
    assert root.findtext("strong")


@pytest.mark.parametrize("name", CLASSES)
def test_object_becomes_a_data_frame_with_types_that_allow_missing_values(
    name: str, objects: dict[str, Any]
) -> None:
    frame = objects[name].to_pandas()
    assert len(frame)
    assert {str(kind) for kind in frame.dtypes} <= NULLABLE
    assert all(isinstance(column, str) for column in frame.columns)


#: Results whose first chart has no units: shares, and values relative to others.
UNITLESS = {
    "PopulationFit",
    "Ranking",
    "ModelDifferences",
    "LeaveOneOut",
    "Sensitivity",
    "ProjectionReport",
}


@pytest.mark.parametrize("name", CLASSES)
def test_every_result_draws_its_first_chart_in_a_figure_of_its_own_or_in_given_axes(
    name: str, objects: dict[str, Any]
) -> None:
    own = objects[name].plot()
    figure, given = pyplot.subplots()
    assert own.figure is not figure
    assert objects[name].plot(ax=given) is given
    for axes in (own, given):
        assert axes.get_title(loc="left")
        assert axes.get_children()
        assert "," in axes.get_xlabel() + axes.get_ylabel() or name in UNITLESS
        figure = axes.figure
        figure.savefig(io.BytesIO())
        pyplot.close(figure)


def test_a_chart_of_the_report_is_drawn_by_its_name(objects: dict[str, Any]) -> None:
    axes = objects["Fit"].plot("packet-sizes")
    assert axes.get_xlabel() == "IP packet, bytes"
    pyplot.close(axes.figure)
    with pytest.raises(trafficgen.SettingError, match=r"no chart 'rates' \(did you mean rate\?\)"):
        objects["Fit"].plot("rates")


def test_long_names_of_rows_leave_a_chart_its_width(objects: dict[str, Any]) -> None:
    axes = objects["Comparison"].plot("distances")
    axes.figure.canvas.draw()
    inches = axes.figure.dpi_scale_trans.inverted()
    assert axes.get_window_extent().transformed(inches).width > 4
    assert axes.get_tightbbox().x0 >= 0
    pyplot.close(axes.figure)


def test_rates_of_sessions_are_drawn_for_every_group_however_many(tmp_path: Path) -> None:
    groups = [f"{{name: g{place}, model: cbr, share: {1 / 8}}}" for place in range(8)]
    workload = tmp_path / "many.yaml"
    workload.write_text(f"sessions: 40\ngroups: [{', '.join(groups)}]", encoding="utf-8")
    result = trafficgen.simulate_workload(workload, path="rate=9Mbps", duration_s=2)
    axes = result.plot("sessions")
    drawn = {str(line.get_label()): np.asarray(line.get_ydata()) for line in axes.get_lines()}
    assert list(drawn) == [*(f"g{place}" for place in range(5)), "other groups"]
    rates = np.concatenate(list(drawn.values()))
    expected = [session.rate_kbps for session in result.sessions]
    assert sorted(rates[np.isfinite(rates)]) == sorted(expected * 2)
    pyplot.close("all")


def test_what_a_player_did_is_a_line_a_frame_and_a_chart_of_its_rungs() -> None:
    bulk = Application(kind="bulk", connections=1, exchanges=2)
    assert repr(bulk) == "<Application: bulk: 2 requests over 1 connection>"
    assert {str(kind) for kind in bulk.to_pandas().dtypes} <= NULLABLE
    with pytest.raises(trafficgen.SettingError, match="has no chart"):
        bulk.plot()
    switch = {"from_kbps": 300, "to_kbps": 700}
    player = bulk.model_copy(update={"switches": (RungSwitch(time_s=8, **switch),)})
    axes = player.plot()
    (line,) = axes.get_lines()
    assert np.asarray(line.get_data()).tolist() == [[0, 8], [300, 700]]
    pyplot.close("all")


@pytest.mark.parametrize("time_s", [[], [1.0], [1.0, 1.0]])
def test_packets_at_one_moment_have_no_chart(time_s: list[float]) -> None:
    with pytest.raises(trafficgen.SettingError, match="has no chart"):
        build_table(time_s).plot()


def test_rates_of_packets_are_drawn() -> None:
    axes = build_table(np.arange(0, 10, 0.01), ip_bytes=1250).plot()
    (steps,) = axes.get_lines()
    assert set(np.asarray(steps.get_ydata()).tolist()) == {1000.0}
    assert axes.get_ylabel() == "rate, kbit/s"
    pyplot.close("all")


@pytest.mark.parametrize(
    "name",
    ["Conversion", "Fit", "Inspection", "Model", "PlannedWorkload", "PopulationFit", "Comparison"],
)
def test_hostile_names_are_shown_and_not_obeyed(name: str, objects: dict[str, Any]) -> None:
    assert "&lt;img src=x onerror=alert(1)&gt; $x$" in objects[name]._repr_html_()


def test_path_of_one_link_says_how_it_is_made() -> None:
    path = trafficgen.Path.parse("rate=725kbps,delay=45ms,queue=80p")
    assert eval(repr(path), {"Path": trafficgen.Path}) == path


def test_view_of_a_million_packets_and_flows_is_small() -> None:
    count = 1_000_000
    flows = [{"flow": number, "server": f"<b>{number}</b>"} for number in range(2_000)]
    table = build_table(
        np.linspace(0, 600, count),
        flow=np.arange(count) % 2_000,
        to_client=np.arange(count) % 3 > 0,
        flows=flows,
    )
    view = table._repr_html_()
    assert len(view) < LARGEST_VIEW_BYTES
    assert "… and 1,988 more flows" in view
    inspection, _ = inspect_table(table, files=("many.parquet",))
    assert len(inspection._repr_html_()) < LARGEST_VIEW_BYTES
    assert "… and 1,988 more flows" in inspection._repr_html_()


def test_an_empty_table_says_so() -> None:
    assert repr(build_table([])) == "<PacketTable: 0 packets, 1 flow, 0 s, 0 IP bytes>"


def test_views_do_not_change_what_a_model_is(objects: dict[str, Any]) -> None:
    model = objects["Model"]
    again = trafficgen.Model.model_validate_json(model.model_dump_json())
    assert again == model
    assert "repr" not in model.model_dump_json()


def test_schema_of_the_model_file_has_no_python_in_it() -> None:
    assert ">>>" not in str(trafficgen.model_json_schema())


def test_estimate_shows_value_and_interval() -> None:
    assert (
        repr(Estimate(value=12345.6, low=1.0, high=20000.0, method=""))
        == "<Estimate 12,346, 95% [1, 20,000]>"
    )
    assert repr(Estimate(value=0.5, method="")) == "<Estimate 0.5>"


def test_packets_become_a_data_frame() -> None:
    frame = build_table([0.0, 0.5], ip_bytes=1200).to_pandas()
    assert list(frame["time_ns"]) == [0, 500_000_000]
    assert list(frame["ip_bytes"]) == [1200, 1200]


def test_a_frame_of_packets_has_the_ends_and_the_direction() -> None:
    table = build_table([0.0, 0.5, 0.6], flow=[0, 0, 1], to_client=[True, False, True])
    frame = table.to_pandas()
    assert list(frame["direction"]) == ["to client", "to server", "to client"]
    for end in ("server", "client"):
        addresses = table.flows.column(end).to_pylist()
        assert list(frame[end]) == [addresses[flow] for flow in (0, 0, 1)]


def test_whole_numbers_stay_whole_where_some_are_missing() -> None:
    frame = data_frame(pa.table({"a": [1, None], "b": [True, None], "c": ["x", None]}))
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "boolean", "string"]
    assert frame["a"].sum() == 1
    assert frame.isna().iloc[1].all()


@pytest.mark.parametrize(
    ("name", "column"), [("Inspection", "frame_bytes_to_client"), ("Comparison", "candidate")]
)
def test_a_result_that_is_a_table_becomes_a_data_frame(
    objects: dict[str, Any], name: str, column: str
) -> None:
    frame = objects[name].to_pandas()
    assert column in frame.columns
    assert str(frame[column].dtype) in {"UInt64", "Float64"}
    expected = objects[name].flows.num_rows if name == "Inspection" else len(objects[name].flat())
    assert len(frame) == expected


def test_series_of_a_simulation_have_their_times(objects: dict[str, Any], tmp_path: Path) -> None:
    result = objects["SimulationResult"]
    assert result.series_time_s.shape == result.series["media_kbps"].shape
    np.testing.assert_allclose(np.diff(result.series_time_s), result.series["interval_s"])
    assert result.series_time_s[0] == result.series["start_s"]


class _Result(NotebookView):
    def __init__(self, **data: object) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<Result {one_line(HOSTILE)}>"

    def to_json(self) -> dict[str, object]:
        return self.data


def test_names_and_values_are_escaped_and_shown_on_one_line() -> None:
    view = _Result(**{HOSTILE: HOSTILE}, rows=[{HOSTILE: HOSTILE}], texts=[HOSTILE])._repr_html_()
    root = ElementTree.fromstring(view)
    assert {"script", "img"} & {element.tag for element in root.iter()} == set()
    assert "\x1b" not in view
    assert "\u202e" not in view


def test_rows_that_are_not_shown_are_counted() -> None:
    text = _Result(flows=FirstRows([{"flow": 1}] * SHOWN_ROWS, 1_000_000))._repr_html_()
    assert text.count("<tr>") == SHOWN_ROWS + 1
    assert "… and 999,988 more flows" in text
    text = _Result(warnings=["w"] * 100)._repr_html_()
    assert text.count("<li>") == SHOWN_ROWS + 1
    assert "… and 88 more" in text


def test_values_have_the_units_of_their_keys() -> None:
    text = _Result(rate_bps={"value": 1500.0, "low": 1000.0, "high": 2e6}, ok=True)._repr_html_()
    assert "rate, kbit/s</td>" in text
    assert ">1.5 [1, 2000]<" in text
    assert ">yes<" in text
