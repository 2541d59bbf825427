"""Notes on flows in the report of an export."""

from __future__ import annotations

from trafficgen.export.exporting import join_flow_notes


def test_flows_with_the_same_limit_have_one_line() -> None:
    notes = [f"flow {number}: {7 * number + 5} segments are 3 writes" for number in range(56)]
    assert join_flow_notes(["payload is lost", *notes, "flow 7: no answer"]) == (
        "payload is lost",
        "56 flows: 5 to 390 segments are 3 writes",
        "flow 7: no answer",
    )


def test_other_notes_stay_as_they_are() -> None:
    notes = ("flow 1: 3 writes", "9 packets", "8 packets", "flow 2: ends")
    assert join_flow_notes(notes) == notes
