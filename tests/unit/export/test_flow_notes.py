"""Notes on flows in the report of an export."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import trafficgen
from trafficgen.errors import ExportError
from trafficgen.export.exporting import join_notes
from trafficgen.export.targets import TARGETS
from trafficgen.tables import PacketTable


def test_flows_with_the_same_limit_have_one_line() -> None:
    notes = [f"flow {number}: {7 * number + 5} segments are 3 writes" for number in range(56)]
    assert join_notes(["payload is lost", *notes, "flow 7: no answer"]) == (
        "payload is lost",
        "flows 0, 1, 2 and 53 more: 5 to 390 segments are 3 writes",
        "flow 7: no answer",
    )


def test_other_notes_stay_as_they_are() -> None:
    notes = ("flow 1: 3 writes", "9 packets", "8 packets", "flow 2: ends")
    assert join_notes(notes) == notes


def test_many_parts_of_a_model_have_one_line_and_few_one_each() -> None:
    notes = [f"part{number}-playout: correlation of kind frames" for number in range(5)]
    assert join_notes(notes) == (
        "part0-playout, part1-playout, part2-playout and 2 more: correlation of kind frames",
    )
    assert join_notes(notes[:3]) == tuple(notes[:3])


@pytest.fixture(scope="module")
def table() -> PacketTable:
    return trafficgen.generate("wmedia9_nichols2004", sessions=5, duration_s=10, seed=1)


@pytest.mark.parametrize("target", TARGETS)
def test_no_two_lines_of_a_report_have_the_same_cause(
    table: PacketTable, tmp_path: Path, target: str
) -> None:
    settings = {"mode": "epochs"} if target == "mgen" else {}
    try:
        report = trafficgen.export(table, to=target, directory=tmp_path / "out", settings=settings)
    except ExportError:
        pytest.skip("does not take these packets")
    causes = [re.sub(r"\d+", "0", re.sub(r"flow \d+", "", text)) for text in report.cannot_express]
    assert len(set(causes)) == len(causes)
