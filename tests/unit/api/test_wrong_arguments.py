"""Wrong arguments of public functions: one plain line that names the option and what is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.options import _hints_of, checks_arguments

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"
WORKLOAD = "examples/workloads/evening.yaml"
PATH = "rate=1Mbps,delay=10ms"
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: thing
    for name in trafficgen.__all__
    if inspect.isfunction(thing := getattr(trafficgen, name))
}
#: Words of libraries and of Python that say nothing to a user.
NOT_PLAIN = (
    "pydantic",
    "WorkloadDescription",
    "validation error",
    "type=",
    "input_value",
    "NoneType",
    "object is not",
)
WRONG: list[tuple[str, tuple[object, ...], dict[str, object], str]] = [
    ("inspect", (3,), {}, "a list, a PacketTable or a data frame, not 3"),
    ("inspect", (CAPTURE,), {"flows": 3}, "inspect has no option 'flows'; it takes paths, decap"),
    ("inspect", (CAPTURE,), {"idle_timeout_s": -1}, "idle_timeout_s: Invalid time '-1'"),
    ("read_packets", (None,), {}, "paths must be a text, a path, a list or a data frame, not None"),
    ("fit", (CAPTURE,), {"sed": 1}, "fit has no option 'sed' (did you mean seed?)"),
    ("fit", (CAPTURE,), {"seed": "a"}, "seed must be a whole number, not 'a'"),
    ("fit", (CAPTURE,), {"seed": -1}, "seed"),
    ("fit", (CAPTURE,), {"from_s": "soon"}, "from_s: Invalid time 'soon'. Use 90s, 20min or 1h."),
    ("fit", (CAPTURE,), {"upload": 1}, "upload must be True or False, not 1"),
    ("register_source", ("a", 5), {}, "register_source: too many positional arguments; it takes n"),
    ("register_metric", (5,), {}, "register_metric: name must be a text, not 5"),
    ("register_arrivals", (), {}, "register_arrivals: missing a required argument: 'name'"),
    ("fit_population", ([CAPTURE],), {"workers": 0}, "workers must be at least 1"),
    ("fit_population", ([],), {}, "no captures were given"),
    ("fit_same_source", ([],), {}, "no captures were given"),
    ("generate", (), {}, "missing a required argument: 'model'"),
    ("generate", (3,), {}, "model must be a Model, a PublishedModel, a text or a path, not 3"),
    ("generate", ("cbr",), {"duration_s": -1}, "duration_s: Invalid time '-1'. Use one above 0"),
    ("generate", ("cbr",), {"sessions": 1.5}, "sessions must be a whole number or None, not 1.5"),
    ("generate", ("cbr",), {"at": "middle"}, "Unknown view 'middle'. Use sender or receiver."),
    ("generate", ("cbr",), {"settings": [1]}, "settings must be a dictionary or None, not [1]"),
    ("generate", ("cbr",), {"settings": {"rate": 1}}, "no 'rate' to set (did you mean rate_kbps?)"),
    ("generate", ("cbr",), {"settings": {"rate_kbps": None}}, "null is not a number"),
    ("generate", ("cbr",), {"settings": {"rate_kbps": {}}}, "rate_kbps={}: {} is not a number"),
    ("generate", ("cbr",), {"scale_rate": -1}, "scale_rate: Invalid number '-1'"),
    ("generate", ("cbr",), {"path": 3}, "path must be a Path, a Preset, a text, a path or a"),
    ("simulate", ("cbr",), {"path": None}, "path must be a Path, a Preset, a text, a path or a"),
    ("simulate", ("cbr",), {"path": [("rate", "1Mbps")]}, "or a dictionary, not [('rate', '1M"),
    ("simulate", ("cbr",), {"path": {1: 2}}, "a key of path must be a text, not 1"),
    ("simulate", ("cbr",), {"path": PATH, "compete": ["tcp@-1s", 5]}, "each of compete must be"),
    ("simulate", ("cbr",), {"path": PATH, "seed": -1}, "seed must not be negative, not -1"),
    ("reproduce", ([5],), {}, "each of ids must be a text, not 5"),
    ("reproduce", ("XYZ",), {}, "docs/reference/findings.md lists them"),
    ("fit", (CAPTURE,), {"memory_bytes": 0}, "fit: memory_bytes must be at least 1, not 0"),
    ("generate", ("cbr",), {"workers": 0}, "generate: workers must be at least 1, not 0"),
    ("register_distribution", ("b2", 5), {"bounds": [(0, 1)]}, "bounds must be a dictionary, not"),
    ("generate", ("cbr",), {"path": {"rte": 3}}, "unknown key 'rte' (did you mean rate?)"),
    ("generate", ("cbr",), {"path": {"loss": 3}}, "loss=3: it must be less than"),
    ("generate", ("cbr",), {"path": {"links": [{"rate": "1Mbps", "x": 1}]}}, "unknown key 'x'"),
    ("generate", ("cbr",), {"path": PATH, "compete": 3}, "compete must be a text or a list, not 3"),
    ("generate_workload", ("cbr", "x.csv"), {"arrivals": "poison:3/s"}, "did you mean poisson?"),
    ("generate_workload", ("cbr", "x.csv"), {"arrivals": "poisson:3"}, "'3' is not understood"),
    ("generate_workload", ("cbr", "x.csv"), {"popularity": "zip:1"}, "did you mean zipf?"),
    ("estimate_workload", (3, "x.csv"), {}, "model must be a Model"),
    ("simulate", ("cbr",), {}, "missing a required argument: 'path'"),
    ("simulate", ("cbr",), {"path": PATH, "seed": "x"}, "seed must be a whole number"),
    ("compare", (CAPTURE, 3), {}, "a list, a PacketTable or a data frame"),
    ("convert", (CAPTURE,), {"size_unit": "x"}, "sizes count bytes or bits"),
    ("export", (3,), {"to": "mgen", "directory": "out"}, "must be a PacketTable, a data frame"),
    (
        "export",
        ("cbr",),
        {"to": "mgen", "directory": "x"},
        "packets of it and export those: table =",
    ),
    ("export", ("cbr",), {"to": 3, "directory": "out"}, "to must be a text, not 3"),
    ("reproduce", (3,), {}, "must be"),
    ("reproduce", ("BMW-T1.1",), {"runs": 0}, "runs"),
    ("load_model", (3,), {}, "name must be a text or a path, not 3"),
    ("fit", ("",), {}, "'': is not the name of a file; name a capture"),
    ("fit", (CAPTURE,), {"session": 3}, "there is no session 3; there is only session 0"),
    ("measure_exchanges", (CAPTURE,), {"session": 3}, "no session 3; there is only session 0"),
    ("save_exchanges", (3, "x.csv"), {}, "exchanges must be Exchanges, not 3"),
    ("generate", (WORKLOAD,), {}, "is a workload, not a model; use generate_workload(workload, "),
    (
        "generate",
        (trafficgen.load_workload(WORKLOAD),),
        {},
        "or a path, not PlannedWorkload; use generate_workload(workload, out)",
    ),
    ("save_report", (trafficgen.models_show("cbr"), "x.html"), {}, "or a WorkloadResult, not"),
    ("fit_population", ([trafficgen.generate("cbr")],), {}, "one of several as a file: export("),
    ("load_workload", (3,), {}, "path must be a text or a path, not 3"),
    ("models_diff", ("cbr", 3), {}, "second must be a Model, a text or a path, not 3"),
    ("models_show", (3,), {}, "name must be a text or a path, not 3"),
    ("save_model", (3, "x.json"), {}, "model must be a Model or a PublishedModel, not 3"),
    ("save_report", (3, "x.html"), {}, "result must be a Comparison"),
    ("save_plots", (3, "plots"), {}, "result must be a Comparison"),
    ("exceeded_limits", (3, []), {}, "comparison must be a Comparison, not 3"),
    ("explore", ("cbr",), {"port": "x"}, "port must be a whole number or None, not 'x'"),
    ("demo", (3,), {}, "folder must be a text or a path, not 3"),
    ("register_exporter", (3,), {}, "target must be a Target, not 3"),
    ("Path", (), {"links": []}, "Path: links: it must have at least 1 item, not 0"),
    ("generate", ("cbr",), {"duration_s": float("nan")}, "duration_s: Invalid time 'nan'"),
    ("generate", ("cbr",), {"duration_s": float("inf")}, "duration_s: Invalid time 'inf'"),
    ("generate", ("cbr",), {"to_format": "pcpa"}, "Unknown format 'pcpa' (did you mean pcap?)"),
    ("generate", ("cbr",), {"to_format": "pcap"}, "no file to write; name one, such as out="),
    ("simulate", ("cbr",), {"path": PATH, "to_format": "csv"}, "there is no file to write"),
    ("simulate", ("cbr",), {"path": PATH, "compete": "tpc"}, "did you mean tcp?"),
    (
        "compare",
        (CAPTURE, CAPTURE),
        {"every": True, "session": 0},
        "one of flow, session and every",
    ),
    ("fit", (CAPTURE,), {"population": True}, "use fit_population(captures)"),
    ("fit", (CAPTURE,), {"same_source": True}, "use fit_same_source(captures)"),
    ("fit", (CAPTURE,), {"report": "x.html"}, "use save_report(result, 'report.html')"),
    ("compare", (CAPTURE, CAPTURE), {"plots": "x"}, "use save_plots(result, 'plots')"),
    ("fit", (CAPTURE,), {"memory": "1kB"}, "fit: memory: 1kB of memory is too little"),
    (
        "generate_workload",
        ("cbr", "x.csv"),
        {"sessions": -1, "arrivals": "poisson:1/s"},
        "sessions",
    ),
    ("Path", (), {"rate": 3}, "Path: rate: unknown key; missing: links"),
    ("Model", (), {"a": 1}, "Model: a: unknown key; missing: name, provenance, startup"),
    ("PacketTable", (1, 2), {}, "a packet table is made of Arrow tables, not of 1"),
    ("Model", (), {"name": "x"}, "Model: provenance: it is missing"),
    ("fit", (CAPTURE,), {"player_log_offset": "3s"}, "add player_log=..., or leave it out"),
    ("convert", (CAPTURE,), {"frame_rate": 25}, "frame_rate=... is for text traces"),
    (
        "export",
        (trafficgen.generate("cbr", duration_s=1),),
        {"to": "csv", "directory": "out", "sessions": 3, "seed": 5},
        "seed=... and sessions=...: only for workloads",
    ),
    ("generate", ("cbr",), {"jitter": -1}, "Use one above 0, such as 5ms, or leave it out."),
    ("following", (3,), {}, "following: listener must be a function, not 3"),
]


@pytest.mark.parametrize(
    ("name", "given", "options", "words"), WRONG, ids=[f"{one[0]}{one[1:3]}" for one in WRONG]
)
def test_a_wrong_argument_is_one_plain_line(
    name: str, given: tuple[object, ...], options: dict[str, object], words: str
) -> None:
    with pytest.raises((trafficgen.TrafficgenError, ValueError, TypeError)) as caught:
        getattr(trafficgen, name)(*given, **options)
    message = str(caught.value)
    assert words in message
    assert "\n" not in message
    assert not [word for word in NOT_PLAIN if word in message]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_of_every_function_have_types_that_can_be_checked(name: str) -> None:
    function = FUNCTIONS[name]
    if inspect.signature(function).parameters and not name.startswith("register_"):
        assert hasattr(function, "__wrapped__"), "decorate it with takes or checks_arguments"
        assert _hints_of(inspect.unwrap(function))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_unknown_option_is_refused_by_name(name: str) -> None:
    with pytest.raises(TypeError, match="no_such_option"):
        FUNCTIONS[name](no_such_option=1)


def test_times_and_numbers_are_taken_as_texts_of_the_command_line() -> None:
    one = trafficgen.generate("cbr", duration_s="2s")  # type: ignore[arg-type]
    assert one.packets.equals(trafficgen.generate("cbr", duration_s=2).packets)


def test_arguments_without_types_that_are_known_are_not_checked() -> None:
    @checks_arguments
    def take(value: Unknown) -> object:  # type: ignore[name-defined]  # noqa: F821
        return value

    assert take(3) == 3


def test_a_number_of_a_model_cannot_be_set_and_the_error_says_how_to_copy() -> None:
    model: Any = trafficgen.load_model("cbr")
    with pytest.raises(AttributeError, match=r"name cannot be set.*model_copy\(update=") as caught:
        model.name = "mine"
    assert "\n" not in str(caught.value)
    assert model.model_copy(update={"name": "mine"}).name == "mine"


def test_rows_and_flows_of_a_table_that_do_not_exist_are_refused() -> None:
    table = trafficgen.generate("cbr", duration_s=2)
    with pytest.raises(ValueError, match="rows must be 85 truth values"):
        table.select([1, 2])  # type: ignore[arg-type]
    with pytest.raises(trafficgen.SelectionError, match="no flow 7; there are flows 0"):
        table.select_flows([7])
    assert len(table.select_flows([0])) == len(table)


def test_a_limit_may_be_one_text_and_others_are_refused() -> None:
    table = trafficgen.generate("cbr", duration_s=5)
    comparison = trafficgen.compare(table, table)
    assert trafficgen.exceeded_limits(comparison, "gap_s.ks=1") == []
    with pytest.raises(TypeError, match=r"limits must be texts such as 'gap_s.ks=0.1', not 3"):
        trafficgen.exceeded_limits(comparison, [3])  # type: ignore[list-item]
    assert len(repr(comparison.verdict())) < 300


def test_a_name_of_a_report_is_checked_before_it_is_drawn(tmp_path: Path) -> None:
    fitted = trafficgen.fit(trafficgen.generate("cbr", duration_s=10))
    with pytest.raises(trafficgen.OutputFileError, match=r"x.pdf: .*end its name in .html"):
        trafficgen.save_report(fitted, tmp_path / "x.pdf")
    with pytest.raises(trafficgen.OutputFileError, match=r"there is no folder .*gone"):
        trafficgen.save_report(fitted, tmp_path / "gone" / "x.html")


def test_a_name_that_resembles_registered_arrivals_is_suggested() -> None:
    trafficgen.register_arrivals("regular")(lambda generator, sessions, window_s: [0.0])
    with pytest.raises(trafficgen.GenerationError, match=r"did you mean regular\?"):
        trafficgen.generate_workload("cbr", "x.csv", arrivals="regualr:every_s=2", sessions=3)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("parse", (5,), "Path.parse: text must be a text, not 5"),
        ("load", (5,), "Path.load: file must be a text or a path, not 5"),
        ("from_settings", (5,), "Path.from_settings: settings must be a dictionary, not 5"),
        ("parse", (), "Path.parse: missing a required argument: 'text'; it takes text"),
    ],
)
def test_wrong_arguments_of_a_method_are_refused_by_name(
    name: str, given: tuple[object, ...], words: str
) -> None:
    with pytest.raises(TypeError) as caught:
        getattr(trafficgen.Path, name)(*given)
    assert str(caught.value) == words


def test_a_preset_is_a_path() -> None:
    preset = trafficgen.Path.presets()[7]
    by_name = trafficgen.simulate("cbr", path=f"preset:{preset.name}", duration_s=1).packets()
    assert (
        trafficgen.simulate("cbr", path=preset, duration_s=1)
        .packets()
        .packets.equals(by_name.packets)
    )


@pytest.mark.parametrize("wrong", [{"sessions": "2"}, {"seed": None}, {"sessions": 2.5}])
def test_a_table_of_sessions_reads_options_as_their_workload_does(wrong: dict[str, Any]) -> None:
    workload = trafficgen.load_workload("examples/workloads/evening.yaml")
    with pytest.raises(TypeError, match=f"to_pandas: {next(iter(wrong))} must be a whole number"):
        workload.to_pandas(**wrong)
    with pytest.raises(ValueError, match="to_pandas: sessions must be at least 1, not 0"):
        workload.to_pandas(sessions=0)
    by_text: Any = "10min"
    assert workload.to_pandas(window_s=by_text).equals(workload.to_pandas(window_s=600))


def test_a_workload_is_changed_with_texts_and_numbers_of_the_options() -> None:
    workload: Any = trafficgen.load_workload("examples/workloads/evening.yaml")
    assert {one.variation.rate for one in workload.with_variation("rate=5%").groups} == {0.05}
    assert {one.variation.duration for one in workload.with_variation(0.1).groups} == {0.1}
    for text, words in (("rte=5%", "vary.rte: unknown key"), ("rate=x", "invalid spread 'x'")):
        with pytest.raises(trafficgen.GenerationError, match=words):
            workload.with_variation(text)
    assert workload.with_duration("3s").groups[0].duration.values == (3.0,)
    for wrong in (-3, "-3s", 0):
        with pytest.raises(ValueError, match="with_duration: duration_s: Invalid time"):
            workload.with_duration(wrong)


@pytest.mark.parametrize("upload", [False, True])
def test_an_empty_input_is_said_to_be_empty_and_nothing_else(upload: bool) -> None:
    table = trafficgen.generate("cbr", duration_s=1)
    empty = table.select(table.time_s < 0)
    for work in (
        lambda: trafficgen.fit(empty, upload=upload),
        lambda: trafficgen.compare(table, empty, candidate_upload=upload),
    ):
        with pytest.raises(trafficgen.SelectionError, match="no packet; the input is empty") as no:
            work()
        assert "upload" not in str(no.value)


def test_a_direction_is_named_by_the_option_of_that_side() -> None:
    table = trafficgen.generate("cbr", duration_s=10)
    with pytest.raises(trafficgen.SelectionError, match=r"leave candidate_upload=True out$"):
        trafficgen.compare(table, table, candidate_upload=True)
    with pytest.raises(trafficgen.SelectionError, match=r"leave upload=True out$"):
        trafficgen.fit(table, upload=True)


def test_captures_with_the_same_contents_are_named(tmp_path: Path) -> None:
    for name, rate in (("a", 300), ("b", 300), ("c", 400)):
        settings = {"rate_kbps": rate}
        trafficgen.generate("cbr", tmp_path / f"{name}.pcap", duration_s=20, settings=settings)
    names = [str(tmp_path / f"{name}.pcap") for name in "abc"]
    (text,) = trafficgen.fit_population(names, workers=1).warnings
    assert text == f"{names[0]}, {names[1]} have the same contents and count 2 times: give one"
    of_source = "a.pcap, b.pcap have the same contents and count 2 times: give one"
    assert of_source in trafficgen.fit_same_source(names).warnings


def test_charts_are_drawn_in_axes_alone(tmp_path: Path) -> None:
    figure = pytest.importorskip("matplotlib.figure").Figure()
    fitted: Any = trafficgen.fit(trafficgen.generate("cbr", duration_s=10))
    for axes in ("x", figure, figure.subplots(2)):
        with pytest.raises(TypeError, match="ax must be Axes, not"):
            fitted.plot(ax=axes)
    with pytest.raises(TypeError, match="chart must be a text or None, not 5"):
        fitted.plot(5)
    with pytest.raises(trafficgen.OutputFileError, match="no plots are made as 'pgn'"):
        trafficgen.save_plots(fitted, tmp_path, formats="pgn")


@pytest.mark.parametrize("name", ["register_source", "register_arrivals", "register_metric"])
def test_what_cannot_be_called_is_not_registered(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} registers a function, not 5$"):
        getattr(trafficgen, name)("nothing-to-call")(5)


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("", r"name the captures in it, such as sorted\(pathlib.Path\('.*'\).glob\('\*.pcap'\)\)"),
        ("*.pcap.gz", r"is a pattern, not a file; give sorted\(pathlib.Path\('.*'\).glob\("),
    ],
)
def test_files_of_a_folder_are_named_as_python_lists_them(
    name: str, remedy: str, tmp_path: Path
) -> None:
    for read in (trafficgen.fit, trafficgen.inspect, trafficgen.fit_population):
        with pytest.raises(trafficgen.TrafficgenError, match=remedy):
            read(str(tmp_path / name))


@pytest.mark.parametrize("part", [trafficgen.Model, trafficgen.Path])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "it must be JSON, but the text ends too early, at line 1 column 1"),
        ("{]", "it must be JSON, but line 1 column 2 is not"),
    ],
)
def test_a_text_that_is_no_json_says_where(part: Any, text: str, words: str) -> None:
    with pytest.raises((trafficgen.TrafficgenError, ValueError), match=words):
        part.model_validate_json(text)
