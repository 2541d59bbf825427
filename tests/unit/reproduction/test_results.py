"""Means, intervals and verdicts of the rows, worked by hand."""

from __future__ import annotations

import math
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from trafficgen.reproduction import FindingResult, Reproduction


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the dice."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    return import_module("dice_experiment")


def _row(dice: Any, *values: float, **parts: Any) -> FindingResult:
    return FindingResult(finding=dice.dice_finding(**parts), values=values, entry_digest="sha256:0")


def test_interval_is_students_of_the_mean_over_runs(dice: Any) -> None:
    row = _row(dice, 1.0, 2.0, 3.0)
    assert row.simulated == 2.0
    # t(0.975, 2) = 4.302653, standard error 1 / sqrt(3)
    assert row.interval == pytest.approx(
        (2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)), rel=1e-6
    )


def test_one_run_has_no_interval(dice: Any) -> None:
    assert all(math.isnan(end) for end in _row(dice, 1.0).interval)


@pytest.mark.parametrize(
    ("low", "high", "value", "ok"),
    [
        (1.0, 2.0, 1.0, True),
        (1.0, 2.0, 2.0, True),
        (0.1 + 0.2, 1.0, 0.3, True),  # 0.1 + 0.2 is a rounding above 0.3
        (None, 2.0, -1e9, True),
        (1.0, None, 0.999, False),
        (1.0, 2.0, 2.001, False),
        (None, None, math.nan, False),
    ],
)
def test_accepted_range_includes_its_ends(
    dice: Any, low: float, high: float, value: float, ok: bool
) -> None:
    assert _row(dice, value, low=low, high=high).ok is ok


def test_what_half_of_the_runs_cannot_measure_is_not_reproduced(dice: Any) -> None:
    assert _row(dice, 3.0, math.nan, 4.0).simulated == 3.5
    half = _row(dice, 3.0, math.nan)
    assert math.isnan(half.simulated)
    assert not half.ok
    assert half.to_json()["runs"] == 1


def test_the_reason_of_a_gap_is_shown_on_a_miss_only(dice: Any) -> None:
    gap = "the paper does not tell the queue"
    assert _row(dice, 9.0, gap=gap).to_json()["gap"] == gap
    assert "gap" not in _row(dice, 3.0, gap=gap).to_json()
    assert "gap" not in _row(dice, 9.0).to_json()


def test_summary_counts_roles_apart_and_a_finding_only_with_all_its_quantities(dice: Any) -> None:
    rows = (
        _row(dice, 3.0),
        _row(dice, 9.0, quantity="other"),
        _row(dice, 3.0, id="DICE-2", role="input"),
        _row(dice, 3.0, id="DICE-2", role="calibrated"),
    )
    found = Reproduction(rows=rows, seed=0, runs=1)
    assert found.summary() == {
        "predicted": 2,
        "predicted_ok": 1,
        "calibrated": 1,
        "calibrated_ok": 1,
        "inputs": 1,
        "inputs_ok": 1,
        "findings": 2,
        "findings_ok": 1,
    }
    assert not found.ok
    assert found.missed == (rows[1],)


def test_a_row_passes_in_the_share_of_seeds_whose_mean_is_in_range(dice: Any) -> None:
    row = FindingResult(
        finding=_row(dice, 3.0).finding,
        values=(3.0, 3.2, 3.4, 9.0, 3.0, 3.0, 9.0, 9.0),
        entry_digest="sha256:0",
        runs=2,
    )
    assert row.passing is not None
    value, low, high = row.passing
    assert value == 0.5
    assert 0 < low < 0.5 < high < 1
    assert row.to_json()["passes"] == {"value": value, "low": low, "high": high}
    assert "passes" not in _row(dice, 3.0).to_json()
