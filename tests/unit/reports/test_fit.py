"""The report of a fit draws what the capture has, at the values that were estimated, and nothing
else.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from tests.conftest import build_table

import trafficgen
from trafficgen.calibration.path.loss_measures import LossSource
from trafficgen.calibration.phases.phase_rows import playout_gaps_s
from trafficgen.calibration.session_fit import Calibration, SessionInputs, fit_session
from trafficgen.distributions.fitting.fit_law import FittedLaw
from trafficgen.errors import GenerationError
from trafficgen.flows import SessionView, choose_session, rate_curve
from trafficgen.generation import OpenLoopSessions
from trafficgen.models import (
    Estimate,
    FrameProcess,
    Law,
    PooledPoint,
    PooledResponse,
    ResponseCurve,
    describe_failed_checks,
)
from trafficgen.models.response import CapacityStep
from trafficgen.packet_files.writing import write_packets
from trafficgen.reports.drawing import draw_svg
from trafficgen.reports.fit import subject
from trafficgen.reports.fit.path import LOSS_SOURCES
from trafficgen.reports.fit.report import report_fit
from trafficgen.reports.fit.tables import tabulate_capacity
from trafficgen.reports.laws import PlottedLaw, chart_law, chart_law_quantiles, chart_law_tail
from trafficgen.reports.many_captures import report_same_source
from trafficgen.reports.page import (
    Axis,
    Band,
    Cells,
    Chart,
    Curve,
    Report,
    Rule,
    Span,
    Table,
    Text,
    drop_folder,
)
from trafficgen.reports.samples import Sample
from trafficgen.reports.writing import render_html, report_of
from trafficgen.units import kbps_from_bps, s_from_ns

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "captures"
FLOW: dict[str, object] = {
    "flow": 0,
    "protocol": "udp",
    "server": "192.0.2.1",
    "server_port": 5004,
    "client": "198.51.100.2",
    "client_port": 40000,
}
#: A page opens fast and fits in a mail.
LARGEST_PAGE = 500_000
#: What every fit shows.
ALWAYS = {"rate", "cumulative-bytes", "packet-sizes", "gaps", "gap-tail", "gap-quantiles"}


def at_random(seed: int = 1, *, seconds: float = 60.0) -> SessionView:
    """Return packets at random times: no bursts, no buffering, no numbers."""
    generator = np.random.default_rng(seed)
    time_s = np.cumsum(generator.exponential(0.02, int(seconds / 0.02)))
    return choose_session(build_table(time_s, ip_bytes=generator.integers(200, 1400, time_s.size)))


def two_rates() -> SessionView:
    """Return a source that goes back and forth between two rates, 12 s at each."""
    generator = np.random.default_rng(5)
    gap_s = np.concatenate(
        [
            mean_s * generator.uniform(0.9, 1.1, int(12 / mean_s))
            for _ in range(5)
            for mean_s in (0.05, 0.01)
        ]
    )
    return choose_session(build_table(np.cumsum(gap_s), ip_bytes=1000))


#: Runs of five packets that are lost, one every five seconds.
LOST = 5 * 5


def rtp_with_loss() -> SessionView:
    """Return 30 s of 100 RTP packets a second, of which runs of five are missing."""
    sent = np.arange(3000)
    came = ~np.isin(sent % 500, np.arange(250, 255)) | (sent < 500)
    generator = np.random.default_rng(4)
    return choose_session(
        build_table(
            (0.01 * sent + generator.uniform(0, 0.002, sent.size))[came],
            ip_bytes=generator.integers(600, 1200, 3000)[came],
            rtp_sequence=(sent % 65536)[came],
            rtp_ssrc=7,
            rtp_timestamp=(900 * sent)[came],
            rtp_marker=True,
            flows=[{"flow": 0, "media": "video", "ssrc": 7, "payload_type": 96, "clock_hz": 90000}],
        )
    )


def fitted(view: SessionView, *, name: str = "a.pcap") -> Calibration:
    return fit_session(view, SessionInputs(files=(name,)))


def fit_of(calibration: Calibration, *, warnings: tuple[str, ...] = ()) -> trafficgen.Fit:
    view = calibration.views.captured
    rate = rate_curve(view.media_time_ns, view.media_ip_bytes)
    return trafficgen.Fit(calibration, FLOW, warnings, rate)


def report(calibration: Calibration, *, warnings: tuple[str, ...] = ()) -> Report:
    return report_fit(fit_of(calibration, warnings=warnings))


@pytest.fixture(scope="module")
def plain() -> Calibration:
    return fitted(at_random())


@pytest.fixture(scope="module")
def switching() -> Calibration:
    return fitted(two_rates())


@pytest.fixture(scope="module")
def paced() -> trafficgen.Fit:
    """A download over TCP: a fast start, then bursts."""
    return trafficgen.fit(EXAMPLES / "http_burst_then_paced.pcap.gz")


@pytest.fixture(scope="module")
def framed() -> trafficgen.Fit:
    """Audio and video over RTP."""
    return trafficgen.fit(EXAMPLES / "rtsp_rtp_two_streams.pcap.gz")


def names(report: Report) -> set[str]:
    return {chart.name for chart in report.charts}


def chart_of(report: Report, name: str) -> Chart:
    return next(one for one in report.charts if one.name == name)


def curve_of(chart: Chart, name: str) -> Curve:
    return next(layer for layer in chart.layers if isinstance(layer, Curve) and layer.name == name)


def table_of(report: Report, title: str) -> Table:
    blocks = [block for part in report.sections for block in part.blocks]
    return next(
        block for block in blocks if isinstance(block, Table) and block.title.startswith(title)
    )


def texts(report: Report) -> str:
    blocks = [block for part in report.sections for block in part.blocks]
    return "\n".join(line for block in blocks if isinstance(block, Text) for line in block.lines)


def test_packets_at_random_have_neither_bursts_nor_frames_nor_loss_nor_levels(
    plain: Calibration,
) -> None:
    shown = names(report(plain))
    assert shown >= ALWAYS | {
        "rate-distribution",
        "rate-autocorrelation",
        "gap-autocorrelation",
        "variance-time",
    }
    for part in (
        "burst",
        "frame",
        "loss",
        "queueing",
        "level",
        "player",
        "response",
        "tcp",
        "buffering",
    ):
        assert not [name for name in shown if part in name], part
    assert not [
        layer for layer in chart_of(report(plain), "rate").layers if isinstance(layer, Span | Rule)
    ]


def test_a_fast_start_and_bursts_are_drawn_with_their_laws(paced: trafficgen.Fit) -> None:
    made = report_of(paced)
    assert names(made) >= ALWAYS | {
        "packet-sizes-buffering",
        "gaps-buffering",
        "burst-packets",
        "burst-spacing",
        "burst-packets-law",
        "burst-spacing-law",
        "burst-gaps-law",
    }
    phases = paced.calibration.session.phases
    (span,) = (layer for layer in chart_of(made, "rate").layers if isinstance(layer, Span))
    assert (span.name, span.start, span.end) == ("buffering", 0.0, phases.buffering_end_s)
    by_phase = paced.calibration.session.bursts_by_phase
    assert by_phase is not None
    playout = curve_of(chart_of(made, "burst-packets"), "playout")
    assert np.max(np.asarray(playout.x)[:-1]) == by_phase["playout"].packets.max()


def test_frames_of_rtp_are_drawn_by_their_sizes(framed: trafficgen.Fit) -> None:
    made = report_of(framed)
    shown = names(made)
    assert {"frames", "frame-spacing"} <= shown
    assert [name for name in shown if name.startswith("frame-sizes-")]
    process = framed.model.streams[0].phases[0].process
    assert isinstance(process, FrameProcess)
    assert f"{process.frame_rate_hz.value:.4g} frames a second" in chart_of(made, "frames").caption


def test_levels_are_drawn_over_the_rate_with_their_transitions_and_stays(
    switching: Calibration,
) -> None:
    levels = switching.session.levels
    assert levels is not None
    made = report(switching)
    path = curve_of(chart_of(made, "rate"), "level")
    np.testing.assert_allclose(np.asarray(path.y)[:-1], levels.kbps[levels.level])
    np.testing.assert_allclose(
        np.asarray(path.x), s_from_ns(levels.edge_ns - switching.views.captured.first_media_ns)
    )
    (cells,) = chart_of(made, "level-transitions").layers
    assert isinstance(cells, Cells)
    for row, chain in zip(cells.values, levels.transition_rows(), strict=True):
        if chain is not None:
            assert np.nansum(row) == pytest.approx(1.0)
    stays = table_of(made, "Time at each level")
    assert len(stays.rows) == len(levels)


def test_loss_is_drawn_over_time_and_by_its_runs() -> None:
    lossy = fitted(rtp_with_loss())
    loss = lossy.session.path.loss
    assert loss is not None
    assert loss.model is not None
    made = report(lossy)
    (mean,) = (layer for layer in chart_of(made, "loss").layers if isinstance(layer, Rule))
    assert mean.at == loss.rate == pytest.approx(LOST / 3000, rel=1e-9)
    over_time = curve_of(chart_of(made, "loss"), "loss")
    assert np.max(over_time.y) == pytest.approx(0.05)  # five of a hundred packets in a second
    runs = curve_of(chart_of(made, "loss-runs"), "measured")
    np.testing.assert_allclose(runs.x, [1, 2, 3, 4, 5])
    np.testing.assert_allclose(runs.y, [1, 1, 1, 1, 1])
    back = loss.model.bad_to_good.value
    law = curve_of(chart_of(made, "loss-runs"), "Gilbert's chain")
    np.testing.assert_allclose(law.y, (1 - back) ** (np.asarray(law.x) - 1))


def test_the_law_of_the_gaps_is_drawn_over_the_sample_that_it_was_fitted_to(
    plain: Calibration,
) -> None:
    session, views = plain.session, plain.views
    law = session.gap_s.parametric
    sample = np.sort(
        playout_gaps_s(views.captured, subject.FitSubject(fit_of(plain)).captured_rows)
    )
    assert law.observations == sample.size
    drawn = curve_of(chart_of(report(plain), "gaps"), law.family)
    np.testing.assert_allclose(drawn.y, law.distribution().cdf(drawn.x))
    measured = curve_of(chart_of(report(plain), "gaps"), "measured")
    for x, y in list(zip(measured.x, measured.y, strict=True))[2:-1:25]:
        assert y == pytest.approx(np.mean(sample <= x), abs=1e-12)


def test_a_rejected_law_is_dashed_behind_the_one_that_is_played(plain: Calibration) -> None:
    best = plain.session.gap_s.parametric
    points = ({"p": 0.0, "value": 0.001}, {"p": 0.5, "value": 0.01}, {"p": 1.0, "value": 0.1})
    played = Law.model_validate(
        {"unit": "s", "family": "quantiles", "quantiles": points, "observations": 2999}
    )
    session = replace(plain.session, gap_s=FittedLaw(best, played, "no family fits"))
    made = report(replace(plain, session=session))
    tail = chart_of(made, "gap-tail")
    assert curve_of(tail, f"rejected: {best.family}").dashed
    assert not curve_of(tail, "smoothed empirical law").dashed
    assert not any(isinstance(one, Band) and best.family in one.name for one in tail.layers)
    kinds = [(row[0], row[2]) for row in table_of(made, "Laws").rows]
    assert ("gaps of the playout", "quantiles") in kinds
    assert ("gaps of the playout, rejected", best.family) in kinds


def test_an_exponential_law_has_the_band_of_the_ends_of_its_interval() -> None:
    law = Law(
        unit="s",
        family="expon",
        params={"loc": 0.0, "scale": 2.0},
        low={"scale": 1.9},
        high={"scale": 2.1},
        observations=400,
    )
    sample = Sample(
        name="measured", role="measured", values=np.random.default_rng(1).exponential(2.0, 400)
    )
    axis = Axis(label="gap", unit="s", log=True)
    chart = chart_law("d", "D", [sample], [PlottedLaw(name="expon", law=law)], axis=axis)
    assert chart is not None
    (band,) = (layer for layer in chart.layers if isinstance(layer, Band))
    np.testing.assert_allclose(band.low, 1 - np.exp(-np.asarray(band.x) / 2.1))
    np.testing.assert_allclose(band.high, 1 - np.exp(-np.asarray(band.x) / 1.9))
    tail = chart_law_tail("t", "T", [sample], [PlottedLaw(name="expon", law=law)], axis=axis)
    assert tail is not None
    curve = curve_of(tail, "expon")
    below = np.isfinite(np.asarray(curve.y, dtype=float))
    np.testing.assert_allclose(
        np.asarray(curve.y)[below], np.exp(-np.asarray(curve.x)[below] / 2.0), rtol=1e-9
    )
    # The law is followed to where one of 400 values is expected beyond with probability a half.
    assert np.asarray(curve.x)[below].max() == pytest.approx(2 * np.log(800), rel=0.1)


def test_flows_that_are_one_stream_together_are_drawn_together(tmp_path: Path) -> None:
    packets, count = 3000, 300
    flows = [{"flow": flow, "session": 0, "client_port": 1 + flow} for flow in range(count)]
    table = build_table(np.arange(packets) * 0.01, flow=np.arange(packets) % count, flows=flows)
    fitted = trafficgen.fit(table)
    assert len(fitted.model.streams) == 1
    (part,) = subject.FitSubject(fitted).parts
    assert len(part.packets.time_ns) == packets
    trafficgen.save_report(fitted, tmp_path / "fit.html")


def test_a_band_holds_its_law_where_the_spread_may_be_zero() -> None:
    law = Law(
        unit="s",
        family="lognorm",
        params={"loc": 0.0, "scale": 2.7, "s": 0.44},
        low={"scale": 0.7, "s": 0.0},
        high={"scale": 11.3, "s": 2.6},
        observations=3,
    )
    sample = Sample(name="sessions", role="measured", values=np.array([1.8, 2.7, 4.5]))
    axis = Axis(label="ratio", log=True)
    chart = chart_law("d", "D", [sample], [PlottedLaw(name="lognorm", law=law)], axis=axis)
    assert chart is not None
    (band,) = (layer for layer in chart.layers if isinstance(layer, Band))
    drawn = np.asarray(curve_of(chart, "lognorm").y)
    assert np.all(np.asarray(band.low) <= drawn)
    assert np.all(drawn <= np.asarray(band.high))


def test_quantiles_of_draws_of_the_law_itself_stay_in_its_envelope() -> None:
    law = Law(
        unit="s", family="lognorm", params={"s": 0.7, "loc": 0.0, "scale": 0.01}, observations=2000
    )
    generator = np.random.default_rng(3)
    axis = Axis(label="gap", unit="s", log=True)
    inside = []
    for _ in range(40):
        values = np.exp(np.log(0.01) + 0.7 * generator.standard_normal(2000))
        chart = chart_law_quantiles("q", "Q", values, law, axis=axis, of=axis)
        assert chart is not None
        (band,) = (layer for layer in chart.layers if isinstance(layer, Band))
        y = np.asarray(curve_of(chart, "measured").y)
        inside.append(np.mean((y >= band.low) & (y <= band.high)))
    # Neighbouring quantiles go together, so whole samples are counted: a mean of 40 shares of about
    # 0.95 each.
    assert np.mean(inside) == pytest.approx(0.95, abs=3 * np.std(inside) / np.sqrt(40))


def test_measured_facts_are_drawn_beside_those_of_played_sessions(plain: Calibration) -> None:
    made, facts = report(plain), plain.model.facts
    assert facts is not None
    np.testing.assert_allclose(
        np.asarray(curve_of(chart_of(made, "rate-autocorrelation"), "measured").y),
        facts.rate_autocorrelation,
    )
    measured = curve_of(chart_of(made, "variance-time"), "measured")
    np.testing.assert_allclose(
        np.asarray(measured.y), [scale.relative_variance for scale in facts.scales]
    )
    chart = chart_of(made, "variance-time")
    band = next(
        one for one in chart.layers if isinstance(one, Band) and one.name == "played by the model"
    )
    # Independent packets: played sessions vary about the slope -1 as the capture does.
    y = np.asarray(measured.y)
    assert np.mean((y >= np.asarray(band.low)) & (y <= np.asarray(band.high))) > 0.5


def test_a_model_that_cannot_be_played_leaves_the_capture_to_be_looked_at(
    plain: Calibration, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise GenerationError("nothing to play")

    monkeypatch.setattr(OpenLoopSessions, "make_table", refuse)
    made = report(plain)
    assert "played by the model" not in {one.name for one in chart_of(made, "rate").layers}
    assert names(made) >= ALWAYS | {"variance-time"}
    assert "cannot be played" in texts(made)
    assert made.headline is not None
    assert made.headline.mark == "bad"
    assert "nothing to play" in made.headline.sentence


def test_measured_and_played_lie_on_one_chart_with_their_bytes_next_to_it(
    paced: trafficgen.Fit,
) -> None:
    rate, total = report_of(paced).charts[:2]
    assert (rate.name, total.name) == ("rate", "cumulative-bytes")
    assert rate.x == total.x
    for chart in (rate, total):
        assert {"measured", "played by the model"} <= {one.name for one in chart.layers}
    assert curve_of(rate, "measured").filled
    assert not curve_of(rate, "played by the model").filled
    media = paced.calibration.views.captured.media_ip_bytes
    assert np.asarray(curve_of(total, "measured").y)[-1] == pytest.approx(media.sum() / 1e6)


def test_the_verdict_is_that_of_the_self_check(plain: Calibration) -> None:
    passed = report(plain).headline
    assert passed is not None
    assert (passed.mark, passed.sentence[:18]) == ("good", "Self-check passed:")
    assert 4 <= len(passed.figures) <= 5
    (stream,) = plain.model.streams
    (phase,) = stream.phases
    assert phase.choice is not None
    tried = tuple(one.model_copy(update={"passed": False}) for one in phase.choice.tried)
    choice = phase.choice.model_copy(update={"tried": tried})
    phases = (phase.model_copy(update={"choice": choice}),)
    streams = (stream.model_copy(update={"phases": phases}),)
    model = plain.model.model_copy(update={"streams": streams})
    failed = report(replace(plain, model=model)).headline
    assert failed is not None
    assert failed.mark == "bad"
    assert failed.sentence == f"Self-check failed: {describe_failed_checks(model)}."


def test_estimates_stand_in_the_table_as_in_the_model(paced: trafficgen.Fit) -> None:
    buffering = paced.model.buffering
    assert buffering is not None
    rows = {row[0]: row for row in table_of(report_of(paced), "Estimates").rows}
    assert float(rows["buffering, duration"][1].replace(",", "")) == pytest.approx(
        buffering.duration_s.value, rel=1e-3
    )
    assert rows["buffering, rate"][4] == "kbit/s"
    assert float(rows["buffering, rate"][1].replace(",", "")) == pytest.approx(
        kbps_from_bps(buffering.rate_bps.value), rel=1e-3
    )
    assert rows["buffering, rate"][5] == buffering.rate_bps.method


def test_every_law_of_the_model_stands_in_the_table_with_its_goodness_of_fit(
    plain: Calibration,
) -> None:
    table = table_of(report(plain), "Laws")
    rows = table.rows
    assert [row[0] for row in rows[:2]] == ["packet sizes of the playout", "gaps of the playout"]
    law = plain.session.gap_s.parametric
    assert rows[1][2] == law.family.replace("_", " ")
    assert law.fit is not None
    distance = rows[1][table.header.index("KS")]
    assert float(distance) == pytest.approx(law.fit.ks, rel=0.01)
    lost = table_of(report(plain), "Other families that were tried")
    row = next(row for row in lost.rows if row[0] == "gaps of the playout")
    best, *others = law.alternatives
    assert row[2] == best.family.replace("_", " ")
    assert float(row[3].replace(",", "")) == pytest.approx(best.delta_bic, rel=1e-3)
    assert row[5].count(", ") + 1 == len(others)


def test_each_chart_has_a_name_of_its_own_a_caption_and_units(
    paced: trafficgen.Fit, framed: trafficgen.Fit, switching: Calibration
) -> None:
    for made in (report_of(paced), report_of(framed), report(switching)):
        assert len(names(made)) == len(made.charts)
        for chart in made.charts:
            assert chart.title
            assert chart.caption.endswith("."), chart.name
            assert chart.x.label
            assert chart.y.label


def test_names_and_warnings_of_a_capture_cannot_become_markup(plain: Calibration) -> None:
    hostile = "<img src=x onerror=alert(1)>&.pcap"
    provenance = plain.model.provenance.model_copy(update={"files": (hostile,)})
    made = report(
        replace(plain, model=plain.model.model_copy(update={"provenance": provenance})),
        warnings=(f"/some/where/{hostile}: <b>cut off</b>",),
    )
    assert hostile in made.subtitle
    assert "/some/where" not in texts(made)
    page = render_html(made)
    assert "<img src=x" not in page
    assert "<b>cut off" not in page


def test_the_same_fit_gives_the_same_bytes(plain: Calibration) -> None:
    again = fitted(at_random())
    assert render_html(report(plain)) == render_html(report(again))


@pytest.mark.long
def test_a_session_of_many_packets_has_no_more_points_than_one_of_few() -> None:
    generator = np.random.default_rng(2)
    time_s = np.cumsum(generator.exponential(0.001, 200_000))
    many = choose_session(build_table(time_s, ip_bytes=generator.integers(200, 1400, time_s.size)))
    made = report(fitted(many))
    for chart in made.charts:
        assert len(draw_svg(chart)) < 100_000, chart.name
    assert len(render_html(made)) < LARGEST_PAGE


@pytest.mark.long
def test_save_report_and_plots_take_a_fit(framed: trafficgen.Fit, tmp_path: Path) -> None:
    trafficgen.save_report(framed, tmp_path / "fit.html")
    page = (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "rtsp_rtp_two_streams" in page
    assert (tmp_path / "fit.html").stat().st_size < LARGEST_PAGE
    files = trafficgen.save_plots(framed, tmp_path / "plots", formats=["svg"])
    assert {Path(name).stem for name in files} == names(report_of(framed))


def test_a_population_draws_its_laws_over_the_values_of_its_sessions(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        view = at_random(seed, seconds=20.0 + 5 * seed)
        write_packets(view.table, tmp_path / f"s{seed}.parquet")
    found = trafficgen.fit_population(
        [tmp_path / f"s{seed}.parquet" for seed in (1, 2, 3)], workers=1
    )
    made = report_of(found)
    lengths = [each.observed["media_duration_s"].value for each in found.sessions]
    drawn = curve_of(chart_of(made, "media-duration"), "sessions")
    np.testing.assert_allclose(np.unique(np.asarray(drawn.x)[1:-1]), np.sort(lengths))
    rates = [kbps_from_bps(each.observed["playout_rate_bps"].value) for each in found.sessions]
    drawn = curve_of(chart_of(made, "playout-rate"), "sessions")
    np.testing.assert_allclose(np.unique(np.asarray(drawn.x)[1:-1]), np.sort(rates))
    rows = table_of(made, "Each session").rows
    assert [row[0] for row in rows] == [f"s{seed}.parquet, session 0" for seed in (1, 2, 3)]
    assert str(tmp_path) not in render_html(made)


def test_an_answer_to_congestion_is_drawn_with_its_intervals() -> None:
    point = PooledPoint(
        condition=0.05,
        low=0.01,
        high=0.1,
        relative_rate=Estimate(value=0.6, low=0.5, high=0.7, method="mean"),
        intervals=12,
        captures=2,
    )
    calm = point.model_copy(
        update={"condition": 0.0, "relative_rate": Estimate(value=1.0, method="mean")}
    )
    curve = ResponseCurve(
        condition="loss_rate",
        points=(calm, point),
        end_to_end=Estimate(value=0.6, low=0.5, high=0.7, method="regression"),
        capture_log_deviation=0.1,
        method="regression",
    )
    answer = PooledResponse(
        kind="rate_following",
        evidence=("it follows",),
        interval_s=1.0,
        uncongested_rate_bps=1e6,
        source="a.pcap",
        captures=("a.pcap", "b.pcap"),
        curves=(curve,),
    )
    model = fitted(at_random()).model.model_copy(update={"same_source": answer})
    (chart,) = report_same_source(trafficgen.SameSourceFit(model, {}, {}, ())).charts
    drawn = curve_of(chart, "mean with 95% interval")
    assert (list(drawn.x), list(drawn.y)) == ([0.0, 0.05], [1.0, 0.6])
    assert drawn.low is not None
    assert list(drawn.low) == [1.0, 0.5]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/a/b c/d.pcap: cut off: at byte 3", "d.pcap: cut off: at byte 3"),
        ("x/d.pcap, session 2: no family", "d.pcap, session 2: no family"),
        ("video, playout: off by 3/4", "video, playout: off by 3/4"),
    ],
)
def test_warnings_name_files_without_their_folders(text: str, shown: str) -> None:
    assert drop_folder(text) == shown


def test_every_source_of_a_loss_has_words() -> None:
    assert set(LOSS_SOURCES) == set(get_args(LossSource))


def test_loss_of_a_table_that_knows_arrivals_is_drawn() -> None:
    table = trafficgen.generate(
        "cbr", path="rate=2Mbps,delay=20ms,loss=0.05", settings={"duration_s": 40.0}, seed=2
    )
    made = report(fitted(choose_session(table)))
    assert "arrival times" in chart_of(made, "loss").caption
    assert "arrival times" in texts(made)


def test_times_of_one_rate_of_the_narrow_link_are_one_row() -> None:
    slow, fast = (
        Estimate(value=kbps, low=0.9 * kbps, high=1.1 * kbps, method="trains")
        for kbps in (920.0, 3700.0)
    )
    found = [(0, None), (42.25, fast), (53, slow), (60.5, None), (134.2, slow), (134.6, None)]
    found += [(150, slow), (151, None), (160, slow), (161, None), (170, fast)]
    steps = [CapacityStep(start_s=start_s, kbps=kbps) for start_s, kbps in found]
    table = tabulate_capacity(steps)
    assert table is not None
    assert [row[:2] for row in table.rows] == [
        ("42.25 to 53.00, 170.00 on", "3700"),
        ("53.00 to 60.50, 134.20 to 134.60, 150.00 to 151.00 and 1 more", "920"),
    ]
    assert tabulate_capacity(()) is None
