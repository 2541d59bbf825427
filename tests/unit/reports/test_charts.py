"""A chart names its axes with their units."""

from __future__ import annotations

from trafficgen.reports.charts import Axis


def test_an_axis_without_a_unit_is_its_label_alone() -> None:
    assert Axis(label="share").text == "share"
    assert Axis(label="time", unit="s").text == "time, s"
