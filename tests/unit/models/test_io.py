"""The text of a model file."""

from __future__ import annotations

import json

from trafficgen.models import io


def test_short_parts_stand_on_one_line_and_long_ones_are_indented() -> None:
    points = [{"p": number / 1000, "value": 1.5} for number in range(12)]
    value = {"name": "a", "law": {"family": "quantiles", "quantiles": points, "atoms": []}, "text": "x" * 200}
    text = io._text(value, indent=0, before=0)
    assert json.loads(text) == value
    lines = text.splitlines()
    assert lines[0] == "{"
    assert lines[1] == ' "name": "a",'
    assert max(len(line) for line in lines if "xxx" not in line) <= 120
    assert sum('"p"' in line for line in lines) < 6
