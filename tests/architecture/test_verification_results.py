"""The records behind "How sure are we" belong to the code as it is: entries, findings and tests
that they name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

import verification_pages
import verification_results
from trafficgen.export.targets import TARGETS
from trafficgen.models.published import entry_digest, entry_names, load_entry
from trafficgen.reproduction.reproduce import experiments

ROOT = Path(__file__).resolve().parents[2]
KEPT = [
    part
    for part in verification_results.CHECKS
    if (verification_pages.RESULTS / f"{part}.json").exists()
]


def results_of(part: str) -> dict[str, Any]:
    path = verification_pages.RESULTS / f"{part}.json"
    return cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))


def test_reproduced_findings_are_those_of_the_entries_as_they_are() -> None:
    rows = results_of("reproduce")["findings"]
    known = {(one.id, one.quantity) for experiment in experiments() for one in experiment.findings}
    assert {(row["id"], row["quantity"]) for row in rows} == known, (
        "run `make verification-results PARTS=reproduce`"
    )
    digests = {row["entry"]: row["entry_digest"] for row in rows}
    assert {name: entry_digest(load_entry(name)) for name in digests} == digests, (
        "run `make verification-results PARTS=reproduce`"
    )


def test_every_target_has_a_record() -> None:
    rows = results_of("exports")["exports"]
    assert {row["target"] for row in rows} == set(TARGETS), (
        "run `make verification-results PARTS=exports`"
    )


def test_every_model_of_a_standard_has_figures_next_to_its_document() -> None:
    rows = results_of("standards")["checks"] + results_of("ns3-models")["checks"]
    noted = {row["what"].split("`")[1] for row in rows}
    standards = {name for name in entry_names() if load_entry(name).mechanism.kind == "streams"}
    assert noted == standards, "run `make verification-results PARTS='standards ns3-models'`"


@pytest.mark.parametrize("part", KEPT)
def test_tests_that_a_record_names_are_there(part: str) -> None:
    checks = results_of(part)["checks"]
    assert checks
    for name in {check["test"] for check in checks}:
        file, _, function = name.partition("::")
        assert re.search(
            rf"^def {function}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE
        ), name


def test_a_failed_check_is_shown_as_failed_and_no_record_holds_one() -> None:
    check = {
        "test": "a.py::b",
        "what": "w",
        "expected": 1,
        "measured": 2,
        "unit": "",
        "accepted": "",
        "result": "failed",
    }
    assert "| failed |" in "".join(verification_pages.checks_table({"checks": [check]}))
    assert [
        one for part in KEPT for one in results_of(part)["checks"] if one["result"] == "failed"
    ] == []
