"""JSON of many flows, printed as it is made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.cli.test_memory_limits import write_capture

import trafficgen
from trafficgen.cli._output import print_json, print_json_lists
from trafficgen.json_text import iterate_rows

EXAMPLE = (
    Path(__file__).resolve().parents[2] / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz"
)


@pytest.mark.parametrize("flows", [3, 10_001])  # in one piece, and in two
def test_lists_printed_piece_by_piece_are_those_of_the_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flows: int
) -> None:
    if flows > 3:
        write_capture(tmp_path / "flows.pcap", packets=flows, flows=flows)
    found = trafficgen.inspect(EXAMPLE if flows == 3 else tmp_path / "flows.pcap")
    assert found.flows.num_rows == flows
    print_json(found.to_json())
    whole = capsys.readouterr().out
    print_json_lists(found.json_head(), found.json_columns())
    assert capsys.readouterr().out == whole


def test_empty_lists_and_odd_texts_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    head: dict[str, object] = {"name": "a\nb}"}
    odd = ["x\n}", "%s é \u2028 \\", "\udcff"]
    columns: dict[str, Any] = {
        "text": odd,
        "value": [float("nan"), -0.0, 1e300],
        "known": [None, True, 1],
        "within": {"100%": pa.array([1, None, 3]), "names": pa.array(["a", "b\t", "é"])},
        "list": [[], [1, {"b": []}], {}],
        "slice": pa.array([[9], [1, 2], [3], [4]]).slice(1),
        "empty": pa.array([[1], [], None]),
        "large": pa.array([0, None, 2**64 - 1], pa.uint64()),
        "plain": pa.array(["~!#[]", None, ""]),
        "escaped": pa.array(['"', "\\", "\x7f"]),
        "null": pa.nulls(3),
    }
    lists = {"none": [], "some": list(iterate_rows(columns))}
    print_json_lists(head, {"none": [], "some": [columns]})
    pieces = capsys.readouterr().out
    print_json({**head, **lists})
    assert pieces == capsys.readouterr().out
    assert json.loads(pieces)["some"][0]["value"] is None


def test_describing_flows_tells_how_far_it_is() -> None:
    found = trafficgen.inspect(EXAMPLE)
    steps: list[trafficgen.Step] = []
    with trafficgen.following(steps.append):
        described = list(found.json_lists()["flows"])
    assert [step.done for step in steps] == list(range(len(described) + 1))
    assert {(step.what, step.total, step.unit) for step in steps} == {
        ("describing", len(described), "flows")
    }
