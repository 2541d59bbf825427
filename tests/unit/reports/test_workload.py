"""The report of sessions that share a path: its figures are those of the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.reports.conftest import texts_cut_on_a_phone
from tests.unit.reports.test_simulation import chart_of, tables_of

import trafficgen
from trafficgen.reports.page import Curve, Report
from trafficgen.reports.writing import report_of

WORKLOAD = """
name: evening
sessions: 6
for: 5s
duration: 20s
groups:
  - {name: films, model: dashjs, share: 50%}
  - {name: radio, model: cbr(rate_kbps=200), share: 50%}
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> trafficgen.WorkloadResult:
    file = tmp_path_factory.mktemp("workload") / "evening.yaml"
    file.write_text(WORKLOAD, encoding="utf-8")
    return trafficgen.simulate_workload(
        file, path="rate=6Mbps,delay=20ms,queue=60p", compete="cbr:300kbps", seed=1
    )


@pytest.fixture(scope="module")
def report(result: trafficgen.WorkloadResult) -> Report:
    return report_of(result)


def test_the_verdict_comes_first_with_the_line_of_the_command(report: Report) -> None:
    headline = report.headline
    assert headline is not None
    assert headline.sentence.startswith("6 sessions in ")
    assert list(headline.figures)[:2] == ["sessions", "together, on average"]
    assert headline.figures["sessions"] == "6"


def test_rates_over_time_add_up_to_what_was_received(
    result: trafficgen.WorkloadResult, report: Report
) -> None:
    step_s = result.series["interval_s"]
    for name, members in (
        ("films", [one for one in result.sessions if one.group == "films"]),
        ("radio", [one for one in result.sessions if one.group == "radio"]),
        ("cbr-1", result.flows),
    ):
        received = result.series[f"{name}_kbps"].sum() * step_s * 1000 / 8
        assert received == pytest.approx(sum(one.received_bytes for one in members), abs=1)
    curves = {
        one.name: np.asarray(one.y)
        for one in chart_of(report, "rates").layers
        if isinstance(one, Curve)
    }
    assert list(curves) == ["films", "radio", "cbr-1", "all"]
    assert curves["all"] == pytest.approx(curves["films"] + curves["radio"] + curves["cbr-1"])
    assert curves["all"].max() <= 6000 * 1.01


def test_kinds_of_sessions_have_a_row_each(
    result: trafficgen.WorkloadResult, report: Report
) -> None:
    table = tables_of(report)["Kinds of sessions, and competing flows"]
    assert [row[:3] for row in table.rows] == [
        ("films", "dashjs", f"{result.groups[0].sessions}"),
        ("radio", "cbr", f"{result.groups[1].sessions}"),
        ("cbr-1", "competing flow", "-"),
    ]


def test_stalls_and_loss_decide_on_the_verdict() -> None:
    wide, narrow = (
        report_of(
            trafficgen.simulate_workload(
                "cbr", path=f"rate={rate},delay=5ms,queue=9p", sessions=3, duration_s=3
            )
        ).headline
        for rate in ("9Mbps", "300kbps")
    )
    assert wide is not None
    assert narrow is not None
    assert (wide.mark, narrow.mark) == ("good", "bad")


def test_packets_that_are_kept_leave_the_rates_over_time_as_they_are(tmp_path: Path) -> None:
    asked: Any = {"path": "rate=2Mbps,delay=5ms", "sessions": 2, "duration_s": 3}
    lean = trafficgen.simulate_workload("cbr", **asked)
    kept = trafficgen.simulate_workload("cbr", **asked, out=tmp_path / "packets.parquet")
    assert lean.series["cbr_kbps"].tolist() == kept.series["cbr_kbps"].tolist()


def test_a_phone_cuts_no_label(report: Report) -> None:
    cut = {one.name: texts_cut_on_a_phone(one) for one in report.charts}
    assert not any(cut.values()), cut
