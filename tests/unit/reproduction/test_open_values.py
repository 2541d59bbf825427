"""Open values of catalogue entries: found, moved, and what follows from moving them."""

from __future__ import annotations

import inspect

import pytest
from pydantic import JsonValue

import trafficgen
from trafficgen.cli.reproduce import reproduce as command
from trafficgen.errors import SelectionError
from trafficgen.models.published import load_entry
from trafficgen.reproduction.testbed import entry_of, list_open_values, move_values, with_moves

ENTRY = "realvideo10_boyden2005"


def value_of(model: trafficgen.PublishedModel, parameter: str) -> JsonValue:
    return model.mechanism.parameters[parameter].value


def test_open_values_leave_out_figures_and_join_columns() -> None:
    found = list_open_values([ENTRY])
    assert "clear_s" in found
    assert "clips.*.audio_kbps" in found
    assert "lasting_reports.*" in found
    assert not {"surestream_buffering_s", "clips.*.true_kbps", "turboplay"} & set(found)


def test_a_move_changes_the_open_value_alone() -> None:
    before = load_entry(ENTRY)
    after = move_values(before, {"clear_s": 0.8, "clips.*.audio_kbps": 1.2, "train_packets": 1.01})
    assert value_of(after, "clear_s") == pytest.approx(8.0)
    assert value_of(after, "train_packets") == 31
    rows, old = value_of(after, "clips"), value_of(before, "clips")
    assert isinstance(rows, list)
    assert isinstance(old, list)
    for row, one in zip(rows, old, strict=True):
        assert isinstance(row, dict)
        assert isinstance(one, dict)
        moved, rate = 1.2 * float(str(one["audio_kbps"])), one["audio_kbps"]
        assert row["audio_kbps"] == (round(moved) if isinstance(rate, int) else moved)
        assert {**row, "audio_kbps": 0} == {**one, "audio_kbps": 0}
    assert value_of(after, "clear_most_s") == value_of(before, "clear_most_s")


def test_a_share_is_never_moved_beyond_1() -> None:
    assert (
        value_of(
            move_values(load_entry(ENTRY), {"parts_goodput_share": 1.2}), "parts_goodput_share"
        )
        == 1
    )


def test_moves_hold_within_their_block_only() -> None:
    with with_moves([ENTRY], {"clear_s": 0.5}):
        assert value_of(entry_of(ENTRY), "clear_s") == 5
    assert entry_of(ENTRY) is load_entry(ENTRY)


@pytest.mark.long
def test_a_move_that_matters_flips_a_row() -> None:
    found = trafficgen.measure_sensitivity("LJM-E6", runs=1, workers=1)
    assert found.flips
    assert {flip.value for flip in found.flips} <= set(found.values)
    assert all(
        flip.row.ok != row.ok
        for flip in found.flips
        for row in found.rows
        if row.finding is flip.row.finding
    )
    assert list(found.to_pandas()["value"]) == [flip.value for flip in found.flips]


@pytest.mark.long
def test_a_section_is_judged_by_a_draw_that_others_chose() -> None:
    found = trafficgen.leave_one_out(["LJM-C", "LJM-D"], draws=3, runs=1, workers=1)
    assert [one.section for one in found.sections] == ["LJM-D", "LJM-C"]
    assert found.quantities == sum(len(one.rows) for one in found.sections) > 0
    assert all(row.finding.role != "input" for one in found.sections for row in one.rows)
    again = trafficgen.leave_one_out(["LJM-C", "LJM-D"], draws=3, runs=1, workers=1)
    assert again.to_json() == found.to_json()


def test_unknown_ids_are_named() -> None:
    with pytest.raises(SelectionError, match="finding 'ABC'"):
        trafficgen.measure_sensitivity("ABC")


@pytest.mark.parametrize(
    "work", [trafficgen.reproduce, trafficgen.measure_sensitivity, trafficgen.leave_one_out]
)
def test_python_makes_as_many_runs_by_default_as_the_command(work: object) -> None:
    assert callable(work)
    default = inspect.signature(work).parameters["runs"].default
    assert default == inspect.signature(command).parameters["runs"].default
