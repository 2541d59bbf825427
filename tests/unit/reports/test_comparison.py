"""The report of a comparison draws what was measured, and says of it what the metrics say."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.unit.reports.conftest import bursts, texts_cut_on_a_phone

from trafficgen.reports.comparison import metric_name, report_comparison
from trafficgen.reports.page import Chart, Curve, Table
from trafficgen.validation.compare import compare_sessions
from trafficgen.validation.comparison import Comparison


def chart_of(comparison: Comparison, name: str) -> Chart:
    return next(one for one in report_comparison(comparison).charts if one.name == name)


def curve_of(chart: Chart, name: str) -> Curve:
    return next(layer for layer in chart.layers if isinstance(layer, Curve) and layer.name == name)


def metrics_table(comparison: Comparison) -> Table:
    blocks = [block for part in report_comparison(comparison).sections for block in part.blocks]
    return next(
        block
        for block in blocks
        if isinstance(block, Table) and block.title.startswith("All metrics")
    )


def test_both_sides_and_all_baselines_are_drawn(comparison: Comparison) -> None:
    charts = report_comparison(comparison).charts
    assert {one.name for one in charts} == {
        "distances",
        "rate",
        "cumulative-bytes",
        "autocorrelation",
        "variance-time",
        "rate-distribution",
        "smoothness",
        "packet-sizes",
        "gaps",
        "gap-tail",
        "gap-quantiles",
        "burst-packets",
        "burst-spacing",
    }
    names = {
        layer.name for layer in chart_of(comparison, "gaps").layers if isinstance(layer, Curve)
    }
    assert names == {"reference", "candidate", "cbr", "poisson", "renewal"}


def test_the_largest_distance_of_the_drawn_distributions_is_the_metric(
    comparison: Comparison,
) -> None:
    chart = chart_of(comparison, "packet-sizes")
    one, other = curve_of(chart, "reference"), curve_of(chart, "candidate")
    places = np.union1d(one.x, other.x)

    def at(curve: Curve) -> np.ndarray:
        return np.asarray(curve.y)[np.searchsorted(np.asarray(curve.x), places, side="right") - 1]

    drawn = np.max(np.abs(at(one) - at(other)))
    assert drawn == pytest.approx(comparison.flat()["packet_bytes.ks"], abs=0.005)


def test_rates_of_both_sides_lie_on_one_chart_with_the_bytes_next_to_it(
    comparison: Comparison,
) -> None:
    first, second = report_comparison(comparison).charts[:2]
    assert (first.name, second.name) == ("rate", "cumulative-bytes")
    assert first.x == second.x
    assert [curve_of(first, name).filled for name in comparison.names] == [True, False]
    assert first.y.high is not None
    for name, totals in zip(comparison.names, comparison.totals, strict=True):
        assert first.y.high > np.max(np.asarray(curve_of(first, name).y))
        assert np.asarray(curve_of(second, name).y)[-1] == pytest.approx(totals.ip_bytes / 1e6)


def test_the_verdict_comes_first_with_its_figures(comparison: Comparison) -> None:
    headline = report_comparison(comparison).headline
    assert headline is not None
    assert headline.sentence == comparison.verdict().summary
    assert (
        headline.figures[f"KS of packet gaps (chance {comparison.noise['gap_s.ks']:.2g})"]
        == f"{comparison.flat()['gap_s.ks']:.2g}"
    )
    assert list(headline.figures)[:2] == ["mean rate, reference", "mean rate, candidate"]


def test_another_amount_of_bytes_is_no_good_outcome() -> None:
    equal = compare_sessions(bursts(1), bursts(1))
    one, other = equal.totals
    half = replace(equal, totals=(one, replace(other, ip_bytes=other.ip_bytes // 2)))
    headlines = [report_comparison(each).headline for each in (equal, half)]
    assert [one.mark for one in headlines if one] == ["good", "warn"]


def test_distances_are_those_of_the_comparison(comparison: Comparison) -> None:
    chart = chart_of(comparison, "distances")
    shown = dict(zip(chart.y.categories, np.asarray(curve_of(chart, "candidate").x), strict=True))
    assert shown[metric_name("gap_s.ks")] == comparison.flat()["gap_s.ks"]


def test_a_row_is_marked_bad_only_where_a_baseline_is_closer(comparison: Comparison) -> None:
    table = metrics_table(comparison)
    marks = dict(table.marks)
    rows = [name for name, value in comparison.flat().items() if math.isfinite(value)]
    assert len(rows) == len(table.rows)
    assert marks[rows.index("burst_packets.ks")] == "good"
    assert "phases.buffering_end_s" not in rows
    assert rows.index("bytes.relative_difference") not in marks
    worse = replace(
        comparison,
        wins={**comparison.wins, "gap_s.ks": []},
        ties={**comparison.ties, "gap_s.ks": []},
    )
    assert dict(metrics_table(worse).marks)[rows.index("gap_s.ks")] == "bad"


def test_a_comparison_without_its_sides_still_has_its_distances(comparison: Comparison) -> None:
    report = report_comparison(replace(comparison, sides=None))
    assert [chart.name for chart in report.charts] == ["distances"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rate.0.5.ks", "rate in 0.5 s: KS"),
        ("gap_s.wasserstein", "gaps: Wasserstein"),
        ("rate_acf.max_abs_difference", "autocorrelation: largest difference"),
        ("hurst", "Hurst parameter, difference"),
        ("something.new", "something.new"),
    ],
)
def test_metrics_have_names_in_words(name: str, words: str) -> None:
    assert metric_name(name) == words


def test_totals_stand_beside_each_other_with_their_difference(comparison: Comparison) -> None:
    blocks = [block for part in report_comparison(comparison).sections for block in part.blocks]
    totals = next(
        block for block in blocks if isinstance(block, Table) and block.title == "What was compared"
    )
    reference, candidate = comparison.totals
    difference = f"{(candidate.packets - reference.packets) / reference.packets:+.2%}"
    assert totals.rows[0] == (
        "media packets",
        f"{reference.packets:,}",
        f"{candidate.packets:,}",
        difference,
    )


def test_a_phone_cuts_no_label(comparison: Comparison) -> None:
    cut = {one.name: texts_cut_on_a_phone(one) for one in report_comparison(comparison).charts}
    assert not any(cut.values()), cut


def test_a_tiny_difference_is_not_less_than_nothing(comparison: Comparison) -> None:
    reference, _ = comparison.totals
    shorter = replace(reference, duration_s=reference.duration_s * (1 - 1e-9))
    report = report_comparison(replace(comparison, totals=(reference, shorter)))
    cells = [
        cell
        for part in report.sections
        for block in part.blocks
        if isinstance(block, Table) and block.title == "What was compared"
        for row in block.rows
        for cell in row
    ]
    assert cells.count("+0.00%") == 5
