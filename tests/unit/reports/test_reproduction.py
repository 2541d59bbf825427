"""The report of a reproduction says what is within range and what is not, and why."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from trafficgen.models.published import entry_digest, load_entry
from trafficgen.reports.page import Chart, Curve, Report, Table, Text
from trafficgen.reports.writing import report_of
from trafficgen.reproduction import Finding, FindingResult, Reproduction


def row(identifier: str, *values: float, **parts: Any) -> FindingResult:
    given = {
        "quantity": f"what {identifier} is about",
        "unit": "kbps",
        "published": 100,
        "low": 90.0,
        "high": 110.0,
    }
    entry = {"role": "predicted", "entry": "realvideo10_boyden2005", "key": "value"}
    finding = Finding(**{"id": identifier, **given, **entry, **parts})
    return FindingResult(
        finding=finding, values=values, entry_digest=entry_digest(load_entry(finding.entry))
    )


ROWS = (
    row("BMW-T1.1", 99.0, 101.0, 103.0),
    row("BMW-T1.1", 100.0, 100.0, 100.0, role="input"),
    row("BMW-B1", 120.0, 130.0, 125.0, gap="the queue is not told"),
    row("BMW-B2", 5.0, 6.0, 7.0, low=10.0, high=None, published="more", unit="packets"),
    row(
        "NIC-B1",
        0.5,
        0.5,
        0.5,
        low=0.4,
        high=0.6,
        published="half",
        unit="share",
        entry="wmedia9_nichols2004",
    ),
    row("NIC-B2", math.nan, math.nan, 1.0, entry="wmedia9_nichols2004"),
)


@pytest.fixture
def report() -> Report:
    return report_of(Reproduction(rows=ROWS, seed=4, runs=3))


def texts_of(report: Report) -> str:
    blocks = [block for part in report.sections for block in part.blocks]
    return "\n".join(line for block in blocks if isinstance(block, Text) for line in block.lines)


def table_of(report: Report, section: str) -> Table:
    blocks = next(part.blocks for part in report.sections if part.title == section)
    return next(block for block in blocks if isinstance(block, Table))


def chart_of(report: Report, name: str) -> Chart:
    return next(one for one in report.charts if one.name == name)


def curve_of(chart: Chart, name: str) -> Curve:
    return next(layer for layer in chart.layers if isinstance(layer, Curve) and layer.name == name)


def test_the_verdict_counts_what_is_within_range(report: Report) -> None:
    assert report.headline is not None
    assert report.headline.mark == "bad"
    assert report.headline.sentence == (
        "2 of 5 predicted quantities lie within the accepted range (40%)."
    )
    assert report.headline.figures["inputs, within range"] == "1 of 1"


def test_every_miss_is_told_with_its_reason_or_that_there_is_none(report: Report) -> None:
    words = texts_of(report)
    assert (
        "BMW-B1: what BMW-B1 is about, kbit/s: 125, accepted 90 to 110. Why: the queue is not told."
        in words
    )
    assert (
        "BMW-B2: what BMW-B2 is about, packets: 6, accepted at least 10. Why is not known." in words
    )
    assert (
        "NIC-B2: what NIC-B2 is about, kbit/s: not measured in most runs, accepted 90 to 110. Why"
        " is not known." in words
    )
    assert "NIC-B1" not in words


def test_a_paper_has_a_section_with_all_its_rows_in_order(report: Report) -> None:
    table = table_of(report, "RealVideo 10 and TurboPlay")
    assert [cells[0].partition(":")[0] for cells in table.rows] == [
        "BMW-T1.1",
        "BMW-T1.1",
        "BMW-B1",
        "BMW-B2",
    ]
    assert table.rows[0][1:4] == ("100", "90 to 110", "101")
    assert dict(table.marks) == {0: "good", 1: "good", 2: "bad", 3: "bad"}
    assert table.rows[2][6] == "MISS: the queue is not told"
    assert ROWS[0].entry_digest.endswith(table.rows[0][7][12:])


def test_means_are_drawn_where_they_lie_in_their_ranges(report: Report) -> None:
    closed = curve_of(chart_of(report, "bmw-ranges"), "mean and 95% interval")
    assert np.asarray(closed.y) == pytest.approx([0.1, 0.0, 2.5])
    missed = curve_of(chart_of(report, "bmw-ranges"), "range with one end, or one value")
    assert list(missed.y) == [-1.5]


def test_numbers_are_drawn_against_those_published_with_their_intervals(report: Report) -> None:
    predicted = curve_of(chart_of(report, "bmw-published"), "predicted, mean and 95% interval")
    assert list(predicted.x) == [100, 100]
    assert list(predicted.y) == [101, 125]
    assert predicted.low is not None
    assert predicted.low[0] == pytest.approx(ROWS[0].interval[0])


def test_findings_of_other_papers_are_not_lost() -> None:
    rows = (row("DICE-1", 100.0, entry="cbr"),)
    report = report_of(Reproduction(rows=rows, seed=0, runs=1))
    assert table_of(report, "Others").rows[0][0].startswith("DICE-1: ")


def test_the_report_names_the_command_that_makes_it_again(report: Report) -> None:
    assert report.made_by.endswith(
        "trafficgen reproduce BMW-T1.1 BMW-B1 BMW-B2 NIC-B1 NIC-B2 --runs 3 --seed 4"
    )


def test_a_quantity_that_was_not_measured_has_no_place_beside_its_published_number() -> None:
    rows = (row("NIC-B2", math.nan, 1.0, math.nan), row("NIC-B3", 99.0, 100.0, 101.0))
    report = report_of(Reproduction(rows=rows, seed=0, runs=3))
    points = curve_of(chart_of(report, "nic-published"), "predicted, mean and 95% interval")
    assert list(points.y) == [100]
