"""What a chart hands to the page: plain numbers, nothing that JSON does not know."""

from __future__ import annotations

import json
import math

import numpy as np

from trafficgen.reports.charts import Axis, Band, Cells, Chart, Curve, Rule, Span


def test_a_chart_of_every_kind_of_layer_is_json() -> None:
    chart = Chart(
        name="all",
        title="All",
        x=Axis(label="time", unit="s", low=0),
        y=Axis(label="rate", unit="kbit/s", log=True),
        layers=(
            Span(name="buffering", start=0, end=2),
            Rule(name="link", at=725),
            Band(name="95%", x=[0, 1], low=[1, 2], high=[3, 4], role="law"),
            Curve(
                name="rate",
                x=[0, 1],
                y=np.array([1.23456789, math.nan]),
                role="measured",
                notes=("a", "b"),
            ),
            Curve(
                name="mean", x=[0], y=[1], low=[0.5], high=[1.5], role="synthetic", shape="points"
            ),
            Cells(name="share", values=np.array([[math.nan, 1.0]])),
        ),
    )
    value = json.loads(json.dumps(chart.to_json(), allow_nan=False))
    assert value["x"]["text"] == "time, s"
    assert [layer["kind"] for layer in value["layers"]] == [
        "span",
        "rule",
        "band",
        "curve",
        "curve",
        "cells",
    ]
    curve, mean, cells = value["layers"][3:]
    assert curve["y"] == [1.23457, None]
    assert curve["notes"] == ["a", "b"]
    assert mean["low"] == [0.5]
    assert "low" not in curve
    assert cells["values"] == [[None, 1.0]]


def test_an_axis_without_a_unit_is_its_label_alone() -> None:
    assert Axis(label="share").text == "share"
