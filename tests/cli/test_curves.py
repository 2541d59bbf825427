"""Sparklines: what each character stands for, and the scale beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trafficgen.cli._tables import (
    ASCII_BLOCKS,
    BLOCKS,
    Curve,
    Marks,
    curve_bins,
    letters_of,
    print_curves,
    sparkline,
)
from trafficgen.formatting import format_duration

_values = st.lists(st.one_of(st.just(math.nan), st.just(0.0), st.floats(1e-6, 1e12)), max_size=200)


@given(values=_values, blocks=st.sampled_from([BLOCKS, ASCII_BLOCKS]))
def test_every_value_has_one_character_and_the_extremes_have_theirs(
    values: list[float], blocks: str
) -> None:
    line = sparkline(np.array(values), blocks=blocks)
    assert len(line) == len(values)
    largest = max((value for value in values if not math.isnan(value)), default=0.0)
    for value, character in zip(values, line, strict=True):
        assert (character == " ") == math.isnan(value)
        assert (character == blocks[0]) == (value == 0), "nothing but nothing is shown as nothing"
        if value == largest > 0:
            assert character == blocks[-1]


@given(values=st.lists(st.floats(0, 1e9), min_size=1, max_size=100))
def test_higher_values_have_no_lower_characters(values: list[float]) -> None:
    line = sparkline(np.sort(values))
    assert list(line) == sorted(line, key=BLOCKS.index)


def test_curves_of_one_scale_are_comparable() -> None:
    low, high = np.array([1.0, 2.0]), np.array([4.0, 8.0])
    assert sparkline(low, top=8.0) == "▂▃"
    assert sparkline(high, top=8.0) == "▅█"
    assert sparkline(np.array([16.0]), top=8.0) == "█"


def test_letters_are_those_of_the_interval_that_holds_the_middle_of_a_part() -> None:
    intervals = [(2.0, math.inf, "p"), (0.0, 4.4, "b"), (6.0, 7.0, "s")]
    assert letters_of(intervals, bins=10, start_s=0.0, end_s=10.0) == "bbbbppsppp"
    assert letters_of([(2.0, 4.0, "p")], bins=5, start_s=-5.0, end_s=5.0) == "...p."


def test_a_short_interval_is_not_lost_between_parts() -> None:
    letters = letters_of([(0.0, math.inf, "p"), (5.1, 5.2, "s")], bins=10, start_s=0.0, end_s=10.0)
    assert letters == "pppppspppp"


def test_curves_are_printed_with_unit_span_and_scale(capsys: pytest.CaptureFixture[str]) -> None:
    curves: list[Curve | Marks] = [
        Curve("received", np.array([0.0, 5.0, 10.0, math.nan])),
        Curve("buffer", np.full(4, math.nan), format_duration),
        Marks("phases", "bbp.", "b buffering, p playout"),
    ]
    print_curves("rate", curves, start_s=-1.0, end_s=3.0)
    assert capsys.readouterr().out.splitlines() == [
        "rate, -1 s to 3 s, 1 s a character, each from 0 to its highest:",
        "received  ▁▅█   0 .. 10 kbit/s",
        "buffer          no value",
        "phases    bbp.  b buffering, p playout",
    ]
    print_curves("rate", [Curve("a", np.array([1.0, 4000.0]), top=8000.0)], start_s=0.0, end_s=2.0)
    assert capsys.readouterr().out.splitlines() == [
        "rate, 0 s to 2 s, 1 s a character, all from 0 to 8 Mbit/s:",
        "a  ▂▅  1 kbit/s .. 4 Mbit/s",
    ]


def test_curves_in_a_log_do_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for width in ("40", "200"):
        monkeypatch.setenv("COLUMNS", width)
        assert curve_bins(["received"]) == 60
