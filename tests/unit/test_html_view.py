"""The parts of views for notebooks: what they show, and what they never let through."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from trafficgen import html_view as html
from trafficgen.units import ns_array_from_s

HOSTILE = "<script>alert('1')</script>&\x1b[31m\u202e\n\ud800"


def test_texts_of_strangers_are_shown_as_they_are_on_one_line() -> None:
    shown = html.escaped(HOSTILE)
    assert shown == "&lt;script&gt;alert(&#x27;1&#x27;)&lt;/script&gt;&amp;�[31m� �"


def test_long_texts_are_cut() -> None:
    assert html.escaped("x" * 500, longest=10) == "x" * 9 + "…"


def test_parts_make_a_whole_that_is_well_formed() -> None:
    parts = (
        html.facts([(HOSTILE, HOSTILE), ("left out", None)]),
        html.table((HOSTILE, "b"), [(HOSTILE, 1)], right=(1,)),
        html.texts(HOSTILE, [HOSTILE]),
        html.curve([(HOSTILE, np.array([1.0, 2.0]))], start_s=0.0, step_s=1.0),
    )
    root = ElementTree.fromstring(html.view(HOSTILE, *parts))
    assert {"script", "style", "img", "a"} & {element.tag for element in root.iter()} == set()
    assert "left out" not in "".join(root.itertext())


def test_view_takes_its_colours_from_the_page_and_has_no_ids() -> None:
    text = html.view(
        "heading", html.curve([("rate", np.array([1.0, 2.0]))], start_s=0.0, step_s=1.0)
    )
    root = ElementTree.fromstring(text)
    colours = {
        value
        for element in root.iter()
        for key in ("stroke", "fill")
        if (value := element.get(key))
    }
    assert colours == {"currentColor", "none"}
    assert not any(
        element.get("id") or element.get("href") or element.get("src") for element in root.iter()
    )


def test_rows_that_are_not_shown_are_counted() -> None:
    text = html.table(
        ("n",), [(row,) for row in range(html.SHOWN_ROWS)], total=1_000_000, what="flows"
    )
    assert text.count("<tr>") == html.SHOWN_ROWS + 1
    assert "… and 999,988 more flows" in text


def test_texts_that_are_not_shown_are_counted() -> None:
    text = html.texts("Warnings", [f"warning {number}" for number in range(100)])
    assert text.count("<li>") == html.SHOWN_TEXTS + 1
    assert "… and 92 more" in text


def test_rate_curve_shows_the_rate_of_packets() -> None:
    time_s = np.arange(0, 10, 0.01)
    text = html.rate_curves(("packets", ns_array_from_s(time_s), np.full(time_s.size, 1250)))
    svg = ElementTree.fromstring(text[: text.index("</svg>") + len("</svg>")])
    assert svg.get("role") == "img"
    title = svg.findtext("title")
    assert title is not None
    assert title.startswith("packets, kbps, over time, s; means over 0.05 s: 0 to 1000 kbps, 0 to ")
    labels = [element.text for element in svg.iter("text")]
    assert labels == ["1000 kbps", "0", "0 s", "10 s"]


def test_points_of_a_curve_are_the_means_of_many() -> None:
    values = np.tile([0.0, 100.0], 24_000)
    text = html.curve([("rate", values)], start_s=0.0, step_s=0.5)
    assert "50 kbps" in text
    assert len(text) < 8_000
    assert text.count("L") < html.MOST_POINTS


def test_curve_is_broken_where_there_is_no_value() -> None:
    text = html.curve([("rate", np.array([1.0, math.nan, 2.0, 2.0]))], start_s=0.0, step_s=1.0)
    path = ElementTree.fromstring(text[: text.index("</svg>") + 6]).findall("path")[1].get("d")
    assert path is not None
    assert path.count("M") == 2


@pytest.mark.parametrize("values", [[], [1.0], [math.nan, math.nan], [0.0, 0.0]])
def test_nothing_is_drawn_of_what_has_no_course(values: list[float]) -> None:
    assert html.curve([("rate", np.array(values))], start_s=0.0, step_s=1.0) == ""


@pytest.mark.parametrize("time_s", [[], [1.0], [1.0, 1.0]])
def test_no_rate_is_drawn_of_packets_that_do_not_last(time_s: list[float]) -> None:
    assert (
        html.rate_curves(("packets", ns_array_from_s(np.array(time_s)), np.full(len(time_s), 100)))
        == ""
    )


def test_lines_are_told_apart_without_colour() -> None:
    lines = [("sent", np.array([2.0, 2.0])), ("received", np.array([1.0, 1.0]))]
    text = html.curve(lines, start_s=0.0, step_s=1.0)
    assert "sent (solid), received (dashed), kbps" in text
    assert text.count("stroke-dasharray") == 1
