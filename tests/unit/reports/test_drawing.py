"""Plots for papers: every kind of layer, in every kind of file, the same bytes each time."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from trafficgen.errors import OutputFileError
from trafficgen.reports.drawing import draw_figure, draw_svg, save_charts
from trafficgen.reports.page import TIME, Axis, Band, Cells, Chart, Curve, Rule, Span

RATE = Chart(
    name="rate",
    title="Rate over time",
    x=Axis(label="time", unit="s"),
    y=Axis(label="rate", unit="kbit/s", low=0),
    layers=(
        Span(name="buffering", start=0, end=2),
        Band(name="95%", x=[0, 1, 2], low=[1, 1, 1], high=[3, 3, 3], role="law"),
        Curve(name="steps", x=[0, 1, 2], y=[1, 2, 3], role="measured", shape="steps"),
        Curve(
            name="points", x=[0, 1], y=[1, 2], low=[0, 1], high=[2, 4], role="other", shape="points"
        ),
        Rule(name="link", at=2.5),
    ),
)
SHARES = Chart(
    name="shares",
    title="Transitions",
    x=Axis(label="to", categories=("a", "b")),
    y=Axis(label="from", categories=("a", "b")),
    layers=(Cells(name="share", values=np.array([[np.nan, 1.0], [0.4, 0.6]])),),
)


def test_a_legend_of_long_names_is_not_wider_than_its_chart() -> None:
    names = ("measured", "played", "smoothed empirical law", "rejected: lognorm mixture")
    layers = tuple(Curve(name=name, x=[0, 1], y=[0, 1], role="measured") for name in names)
    for repeats in (1, 2, 3):
        long = [replace(layer, name=f"{layer.name} {'x' * 9 * repeats}") for layer in layers]
        figure = draw_figure(replace(RATE, layers=tuple(long)))
        figure.draw_without_rendering()
        (legend,) = figure.legends
        assert legend.get_window_extent().x1 <= figure.bbox.width


def test_every_chart_becomes_a_file_of_every_kind(tmp_path: Path) -> None:
    names = save_charts([RATE, SHARES], tmp_path / "plots")
    assert names == ["rate.pdf", "rate.svg", "rate.png", "shares.pdf", "shares.svg", "shares.png"]
    beginnings = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}
    for name in names:
        assert (tmp_path / "plots" / name).read_bytes().startswith(beginnings[name[-3:]])


def test_the_same_chart_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        save_charts([RATE], tmp_path / folder)
    for name in ("rate.pdf", "rate.svg", "rate.png"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_axes_carry_their_units_and_the_legend_names_each_layer_once() -> None:
    figure = draw_figure(RATE)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "time, s"
    assert axes.get_ylabel() == "rate, kbit/s"
    (legend,) = figure.legends  # below the axes
    assert {text.get_text() for text in legend.get_texts()} == {
        "buffering",
        "95%",
        "steps",
        "points",
        "link",
    }


@pytest.mark.parametrize(
    ("highest_kbps", "unit", "last"), [(9_000, "kbit/s", "8000"), (34_000, "Mbit/s", "30")]
)
def test_high_rates_are_read_in_mbit_per_s_on_either_axis(
    highest_kbps: float, unit: str, last: str
) -> None:
    axis = Axis(label="rate", unit="kbit/s", low=0)
    curve = Curve(name="c", x=[0, highest_kbps], y=[0, highest_kbps], role="measured")
    figure = draw_figure(replace(RATE, x=axis, y=axis, layers=(curve,)))
    figure.draw_without_rendering()
    for drawn in (figure.axes[0].xaxis, figure.axes[0].yaxis):
        assert drawn.get_label_text() == f"rate, {unit}"
        assert last in [text.get_text() for text in drawn.get_ticklabels()]


def test_a_kind_of_file_that_is_not_made_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    with pytest.raises(OutputFileError, match="choose pdf, svg, png"):
        save_charts([RATE], tmp_path / "plots", formats=["pdf", "gif"])
    assert list(tmp_path.iterdir()) == []


def test_a_chart_in_a_page_takes_the_colours_of_its_theme() -> None:
    for chart in (RATE, SHARES):
        svg = draw_svg(chart)
        assert svg.startswith("<svg")
        assert "var(--role-measured)" in svg
        assert not re.search("#(000000|b0b0b0|0072b2)", svg)


def test_a_chart_over_time_names_the_edges_and_ends_of_its_axis_to_be_zoomed() -> None:
    line = Curve(name="line", x=[0, 10], y=[1, 2], role="measured")
    chart = replace(RATE, x=replace(TIME, low=0, high=10), layers=(line,))
    found = re.search(r'data-zoom="([^"]+)"', draw_svg(chart, zoomable=True))
    assert found is not None
    left, top, right, bottom, low, high = map(float, found[1].split())
    assert 0 < left < right <= 374.4
    assert 0 < top < bottom < 230.4
    assert (low, high) == (0, 10)
    for other in (RATE, replace(chart, layers=RATE.layers)):  # not over time; with points
        assert "data-zoom" not in draw_svg(other, zoomable=True)
    assert "data-zoom" not in draw_svg(chart)


def test_ids_of_charts_in_a_page_differ() -> None:
    ids = [set(re.findall(r'\bid="([^"]+)"', draw_svg(chart))) for chart in (RATE, SHARES)]
    assert not ids[0] & ids[1]


def test_a_name_with_formulas_or_markup_is_shown_as_it_is() -> None:
    name = "<b>$x$</b> \x1b[31m"
    svg = draw_svg(replace(RATE, y=Axis(label=name)))
    assert "&lt;b&gt;$x$&lt;/b&gt;" in svg
    assert "\x1b" not in svg


@pytest.mark.parametrize("value", [np.nan, 0.0, -1.0])
@pytest.mark.parametrize("letter", ["x", "y"])
def test_a_logarithmic_axis_without_a_value_above_0_is_drawn(letter: str, value: float) -> None:
    values = {"x": [1.0, 2.0], "y": [1.0, 2.0]} | {letter: [value, value]}
    axis = Axis(label="variance", log=True)
    curve = Curve(name="lacking", role="measured", x=values["x"], y=values["y"])
    chart = Chart(name="lacking", title="Lacking", x=axis, y=axis, layers=(curve,))
    assert draw_svg(chart).startswith("<svg")
    draw_figure(chart).draw_without_rendering()
