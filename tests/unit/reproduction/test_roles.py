"""Roles of published quantities follow from what the catalogue entries rest on."""

from __future__ import annotations

import pytest

from trafficgen.reproduction.finding import Quantity, find_role, list_ids, papers

ROWS = [row for paper in papers() for _, row in paper.rows()]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("CCZ-W2, CCZ-W5..W7", {"CCZ-W2", "CCZ-W5", "CCZ-W6", "CCZ-W7"}),
        ("CCZ-M1 to M3.", {"CCZ-M1", "CCZ-M2", "CCZ-M3"}),
        ("CCZ-W5 to CCZ-W7, which", {"CCZ-W5", "CCZ-W6", "CCZ-W7"}),
        ("BMW-S2, BMW-T1.1..3", {"BMW-S2", "BMW-T1.1", "BMW-T1.2", "BMW-T1.3"}),
        ("BMW-B10", {"BMW-B10"}),
        ("from 4 to 8 in RFC 5681", set()),
    ],
)
def test_ids_in_a_text_are_found_with_their_ranges(text: str, ids: set[str]) -> None:
    assert list_ids(text) == ids


def test_a_figure_that_stands_in_the_entry_is_an_input() -> None:
    assert find_role("realvideo10_boyden2005", "BMW-T1.1", 6.02) == "input"


def test_a_finding_that_chose_an_open_value_is_calibrated() -> None:
    assert find_role("realvideo10_boyden2005", "BMW-B8", 1200) == "calibrated"


def test_a_finding_that_no_value_names_is_predicted() -> None:
    assert find_role("realvideo10_boyden2005", "BMW-B11", 1) == "predicted"


@pytest.mark.parametrize("role", ["predicted", "calibrated"])
def test_data_files_cannot_claim_more_than_an_input(role: str) -> None:
    row = {"key": "a", "quantity": "b", "published": 1.0, "accept": [0.5, 2.0]}
    assert Quantity.model_validate({**row, "role": "input"}).role == "input"
    with pytest.raises(ValueError, match=f"it must be 'input', not {role!r}"):
        Quantity.model_validate({**row, "role": role})


def test_a_set_up_that_was_chosen_with_a_row_in_view_makes_it_calibrated() -> None:
    roles = {row.key: row.role for row in ROWS if row.id == "CCZ-S3"}
    assert roles == {"s3_lan": "predicted", "s3_dsl": "calibrated"}


def test_rows_of_all_roles_are_left() -> None:
    assert {row.role for row in ROWS} == {"input", "calibrated", "predicted"}
