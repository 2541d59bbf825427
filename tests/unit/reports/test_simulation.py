"""The report of a simulated session shows the series and figures of its result."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.cli.app import run
from trafficgen.reports.drawing import draw_figure
from trafficgen.reports.page import Chart, Curve, Report, Span, Table, Text
from trafficgen.reports.writing import report_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "captures" / "http_burst_then_paced.pcap.gz"
PATH = "rate=250kbps,delay=45ms,queue=80p"


@pytest.fixture(scope="module")
def result() -> trafficgen.SimulationResult:
    return trafficgen.simulate(
        "wmedia9_nichols2004",
        path=PATH,
        settings={"encoding_rate_kbps": 548},
        compete=["tcp@-10s"],
        seed=2,
    )


@pytest.fixture(scope="module")
def report(result: trafficgen.SimulationResult) -> Report:
    return report_of(result)


def chart_of(report: Report, name: str) -> Chart:
    return next(one for one in report.charts if one.name == name)


def tables_of(report: Report) -> dict[str, Table]:
    blocks = [block for part in report.sections for block in part.blocks]
    return {block.title: block for block in blocks if isinstance(block, Table)}


def test_all_flows_level_buffer_frames_and_loss_are_drawn(report: Report) -> None:
    names = {one.name for one in report.charts}
    assert names == {"rates", "offered", "streams", "level", "buffer", "frames", "loss"}
    shown = {layer.name for layer in chart_of(report, "rates").layers}
    assert shown == {"buffering", "tcp-1", "media"}


def test_curves_are_the_series_of_the_result(
    result: trafficgen.SimulationResult, report: Report
) -> None:
    series = result.series
    for chart, name, key in (
        ("rates", "media", "media_kbps"),
        ("offered", "offered", "media_offered_kbps"),
    ):
        curve = next(one for one in chart_of(report, chart).layers if one.name == name)
        assert isinstance(curve, Curve)
        np.testing.assert_array_equal(np.asarray(curve.y), series[key])
        assert np.asarray(curve.x)[0] == series["start_s"]
        assert np.diff(np.asarray(curve.x)) == pytest.approx(series["interval_s"])


@pytest.mark.parametrize("duration_s", [0.2, 0.85])
def test_a_short_session_is_one_step_or_said_to_be_too_short(duration_s: float) -> None:
    settings = {"duration_s": duration_s}
    short = trafficgen.simulate("cbr", path="rate=2Mbps,delay=10ms", settings=settings)
    made = report_of(short)
    curves = [one for each in made.charts for one in each.layers if isinstance(one, Curve)]
    lines = [
        line
        for part in made.sections
        for one in part.blocks
        if isinstance(one, Text)
        for line in one.lines
    ]
    assert any("no curve is drawn" in line for line in lines) == (duration_s < 0.5)
    assert len(curves) == (0 if duration_s < 0.5 else 3)
    for curve in curves:
        assert curve.x[1] - curve.x[0] == short.series["interval_s"]
        assert curve.y[0] == curve.y[1]


def test_what_is_offered_and_what_is_received_differ_in_colour_not_in_shade(report: Report) -> None:
    for name in ("rates", "offered", "streams"):
        roles = [one.role for one in chart_of(report, name).layers if isinstance(one, Curve)]
        assert len(set(roles)) == len(roles)
        assert not {"synthetic", "extra"} <= set(roles), name  # orange and brown


def test_loss_fills_the_height_of_its_chart(report: Report) -> None:
    chart = chart_of(report, "loss")
    axes, curve = draw_figure(chart).axes[0], chart.layers[-1]
    assert isinstance(curve, Curve)
    most = np.nanmax(np.asarray(curve.y))
    assert 0 < most < axes.get_ylim()[1] <= 1.5 * most


def test_the_phase_of_buffering_is_shaded(
    result: trafficgen.SimulationResult, report: Report
) -> None:
    span = next(one for one in chart_of(report, "rates").layers if isinstance(one, Span))
    phase = result.events.buffering()
    assert phase is not None
    assert (span.start, span.end) == phase


def test_halts_of_the_playback_are_shaded() -> None:
    stalled = trafficgen.simulate("cbr", path="rate=300kbps,delay=20ms", duration_s=5, seed=0)
    assert not any(
        isinstance(one, Span) and one.name == "stall" for one in _layers(report_of(stalled))
    )
    starved = trafficgen.simulate(
        "chunked",
        path="rate=250kbps,delay=40ms,queue=30p",
        compete=["tcp:reno@0s"],
        settings={"duration_s": 60},
        seed=1,
    )
    halts = [
        one for one in _layers(report_of(starved)) if isinstance(one, Span) and one.name == "stall"
    ]
    assert {(one.start, one.end) for one in halts} == {
        (stall.start_s, stall.start_s + stall.duration_s) for stall in starved.events.stalls
    }
    assert starved.events.stalls


def _layers(report: Report) -> list[object]:
    return list(chart_of(report, "rates").layers)


def test_formatting_and_tables_tell_the_figures(
    result: trafficgen.SimulationResult, report: Report
) -> None:
    lead = next(one for one in report.sections[0].blocks if isinstance(one, Text))
    assert result.buffering is not None
    assert f"{result.buffering.offered_kbps:.3g} kbit/s offered" in lead.lines[0]
    flows = tables_of(report)["Flows, from the first to the last media packet"]
    assert [cells[0] for cells in flows.rows] == ["media", "audio", "video", "tcp-1"]
    assert flows.rows[0][1] == f"{result.flows[0].measure.rate_kbps:.4g}"
    links = tables_of(report)["Links"]  # a column a link: 14 counters side by side leave the paper
    assert links.header == ("counter", *(link["name"] for link in result.links))
    assert len(links.rows) == len(result.links[0]) - 1
    conditions = {cells[0]: cells[1] for cells in tables_of(report)["How it was made"].rows}
    assert conditions["settings: encoding rate kbps"] == "548"
    assert conditions["path: links: rate bps"] == "250000"


def test_the_verdict_names_stalls_and_loss(
    result: trafficgen.SimulationResult, report: Report
) -> None:
    headline = report.headline
    assert headline is not None
    assert headline.mark in ("warn", "bad")
    assert headline.figures["packets lost"] == f"{result.flows[0].measure.loss:.1%}"
    calm = report_of(
        trafficgen.simulate("cbr", path="rate=3Mbps,delay=20ms", duration_s=5)
    ).headline
    assert calm is not None
    assert calm.mark == "good"
    assert calm.figures["stalls"] == "no player simulated"


def test_a_trace_is_named_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "cellular.csv").write_text("time_s,rate_kbps\n0,400\n5,200\n")
    (tmp_path / "lab.yaml").write_text("trace: cellular.csv\ndelay: 10ms\n")
    found = trafficgen.simulate("cbr", path=tmp_path / "lab.yaml", duration_s=3)
    text = json.dumps([list(table.rows) for table in tables_of(report_of(found)).values()])
    assert "cellular.csv" in text
    assert str(tmp_path) not in text


def test_the_report_names_the_command_that_makes_it_again(report: Report) -> None:
    command = "trafficgen simulate wmedia9_nichols2004 --path rate=250000bps,delay=0.045s,queue=80p"
    assert report.made_by.endswith(
        f"{command} --set encoding_rate_kbps=548 --compete tcp@-10s --seed 2"
    )


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("dashjs", {"compete": ["tcp@20s"], "duration_s": 45.5, "tcp": "bbr", "seed": 3}),
        ("dashjs", {"quic": "cubic(zero_rtt=true)", "duration_s": 20}),
        ("cbr", {"settings": {"rate_kbps": 500}, "duration_s": 20}),
        ("cbr", {"runs": 3, "duration_s": 5}),
    ],
)
def test_the_named_command_gives_the_same_result(
    model: str, options: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    found = trafficgen.simulate(model, **options, path="rate=3Mbps,delay=40ms,queue=60p")
    words = shlex.split(report_of(found).made_by.partition(": trafficgen ")[2])
    assert run([*words, "--json", "-q"]) == 0
    shown, own = json.loads(capsys.readouterr().out), found.to_json()
    assert [shown[part] for part in ("session", "flows")] == [own["session"], own["flows"]]
    assert shown.get("answers") == own.get("answers")


def test_rows_of_frames_are_those_of_sources_that_count_them(report: Report) -> None:
    path = "rate=3Mbps,delay=40ms,queue=60p"
    player = report_of(trafficgen.simulate("dashjs", path=path, duration_s=20))
    for one, has_frames in ((report, True), (player, False)):
        rows = str([table.rows for table in tables_of(one).values()])
        assert ("frames sent" in rows) == has_frames


@pytest.fixture(scope="module")
def fitted() -> trafficgen.Fit:
    return trafficgen.fit(EXAMPLE, seed=1)


@pytest.mark.filterwarnings("ignore:.*they all come, but later")
@pytest.mark.parametrize(("rate", "marks"), [("300kbps", ["warn", "bad"]), ("50Mbps", ["good"])])
def test_a_model_without_player_is_not_said_to_play_without_stalls(
    fitted: trafficgen.Fit, rate: str, marks: list[str]
) -> None:
    result = trafficgen.simulate(fitted, path=f"rate={rate},delay=30ms,queue=50p")

    report = report_of(result)

    assert report.headline is not None
    assert not result.has_player
    assert report.headline.mark in marks
    assert report.headline.figures["stalls"] == "no player simulated"
    assert "stall" not in report.headline.sentence
    assert "stalls" not in repr(result)
    [moments] = [one for title, one in tables_of(report).items() if title.startswith("The session")]
    assert not {"encoding rate", "frames sent"} & {row[0] for row in moments.rows}


def test_playback_that_never_starts_is_said() -> None:
    result = trafficgen.simulate(
        "wmedia9_nichols2004", path="rate=20kbps,delay=45ms", duration_s=20
    )

    headline = report_of(result).headline

    assert headline is not None
    assert result.has_player
    assert headline.mark == "bad"
    assert headline.figures["playback starts after"] == "never"
