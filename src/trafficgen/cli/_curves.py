"""Sparklines: curves over time in one line of characters each, with unit, span and scale beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trafficgen.cli._output import number
from trafficgen.cli._terminal import columns, is_styled, shows_blocks
from trafficgen.units import FloatArray

BLOCKS = "▁▂▃▄▅▆▇█"
#: For encodings without block elements, from low to high.
ASCII_BLOCKS = "_.-:=+*#"

_WIDTH = 60
_WIDEST = 120
_FEWEST = 12
#: Narrower terminals have the scale under the curve.
_NARROW = 60


@dataclass(frozen=True)
class Curve:
    """One curve.

    Attributes:
        name: What it is of.
        values: Its values, one a character, NaN where there is none; shape (n,).
        unit: Their unit.
        top: Value of a full block; None for the largest value.
    """

    name: str
    values: FloatArray
    unit: str
    top: float | None = None


@dataclass(frozen=True)
class Marks:
    """A line of letters under curves.

    Attributes:
        name: What they tell.
        letters: One a character of the curves.
        meaning: What each letter stands for.
    """

    name: str
    letters: str
    meaning: str


def sparkline(values: FloatArray, *, top: float | None = None, blocks: str = BLOCKS) -> str:
    """Return a character for each value: the lowest for 0 and below, the highest for ``top``, a space for NaN.

    A value above 0 is never shown as 0, so that a trickle and silence look different.

    Args:
        values: Values, shape (n,).
        top: Value of the highest character, and of all above it; None for the largest value.
        blocks: Characters from low to high.
    """
    known = [value for value in values.tolist() if math.isfinite(value)]
    top = max(known, default=0.0) if top is None else top
    highest = len(blocks) - 1
    shown = []
    for value in values.tolist():
        if math.isnan(value):
            shown.append(" ")
        elif value <= 0 or top <= 0:
            shown.append(blocks[0])
        else:
            shown.append(blocks[min(highest, math.ceil(min(value / top, 1.0) * highest))])
    return "".join(shown)


def curve_bins(names: Sequence[str], *, scale_width: int = 24) -> int:
    """Return how many characters curves with these names have: as many as a terminal has room for, else always 60.

    Args:
        names: Names of the curves.
        scale_width: Characters that are kept for what stands behind them.
    """
    if not is_styled():
        return _WIDTH
    name_width = max(map(len, names), default=0) + 2
    room = columns() - name_width - (0 if columns() < _NARROW else scale_width)
    return max(_FEWEST, min(_WIDEST, room))


def print_curves(title: str, curves: Sequence[Curve | Marks], *, start_s: float, end_s: float) -> None:
    """Print curves that share a span of time.

    Args:
        title: What they are of.
        curves: Curves, and lines of marks under them, all of the same length.
        start_s: Where the span starts, s.
        end_s: Where it ends, s.
    """
    bins = max((len(_cells(curve)) for curve in curves), default=1)
    width = max(len(curve.name) for curve in curves)
    print(
        f"{title}, {number(start_s)} to {number(end_s)} s, {number((end_s - start_s) / bins, digits=3)} s a character:"
    )
    for curve in curves:
        cells, scale = _cells(curve), _scale(curve)
        if is_styled() and width + 2 + len(cells) + 2 + len(scale) > columns():
            print(_coloured(f"{curve.name:{width}}  ", cells, curve))
            print(f"{'':{width}}  {scale}")
        else:
            print(_coloured(f"{curve.name:{width}}  ", f"{cells:{bins}}", curve) + f"  {scale}")


def _cells(curve: Curve | Marks) -> str:
    if isinstance(curve, Marks):
        return curve.letters
    return sparkline(curve.values, top=curve.top, blocks=BLOCKS if shows_blocks() else ASCII_BLOCKS)


def _scale(curve: Curve | Marks) -> str:
    if isinstance(curve, Marks):
        return curve.meaning
    known = [value for value in curve.values.tolist() if math.isfinite(value)]
    if not known:
        return f"no value ({curve.unit})"
    of = "" if curve.top is None else f", full: {number(curve.top)}"
    return f"{number(min(known))} .. {number(max(known))} {curve.unit}{of}"


def _coloured(label: str, cells: str, curve: Curve | Marks) -> str:
    if not is_styled():
        return label + cells
    colour = "2" if isinstance(curve, Marks) else "36"
    return f"{label}\x1b[{colour}m{cells}\x1b[0m"
