"""The description of a chart: axes with units and what lies on them, drawn alike in a page, a
file or a notebook.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

#: What a thing stands for; each role has one colour everywhere, told apart by the colour-blind too.
Role = Literal["measured", "synthetic", "law", "published", "extra", "other", "more", "baseline"]
_DIGITS = 6

Numbers = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis.

    Attributes:
        label: What is drawn along it.
        unit: Its unit; empty for what has none (a share, a ratio, a correlation).
        log: Whether it is logarithmic.
        low: Where it begins; None leaves that to the data.
        high: Where it ends; None leaves that to the data.
        categories: Names of places 0, 1, ... along it; empty for a quantity.
    """

    label: str
    unit: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    categories: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Label and unit, as they stand at the axis."""
        return f"{self.label}, {self.unit}" if self.unit else self.label


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Points in order: a line, steps (each value holds until the next), points or bars.

    Attributes:
        name: What it is, for the legend.
        x: Places, shape (n,).
        y: Values, shape (n,); NaN interrupts a line.
        role: What it stands for.
        shape: How it is drawn.
        dashed: Whether a line is dashed.
        low: Lower ends of intervals around ``y``, shape (n,); None: there are none.
        high: Upper ends of intervals around ``y``, shape (n,).
        notes: What is said of each point when it is pointed at, n texts; empty: only its values.
    """

    name: str
    x: Numbers
    y: Numbers
    role: Role
    shape: Literal["line", "steps", "points", "bars"] = "line"
    dashed: bool = False
    low: Numbers | None = None
    high: Numbers | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Band:
    """The area between two curves.

    Attributes:
        name: What it is, for the legend.
        x: Places, shape (n,).
        low: Lower edge, shape (n,).
        high: Upper edge, shape (n,).
        role: What it stands for.
    """

    name: str
    x: Numbers
    low: Numbers
    high: Numbers
    role: Role


@dataclass(frozen=True, kw_only=True)
class Span:
    """A part of the x axis, shaded over the whole height.

    Attributes:
        name: What it is, for the legend; spans of one name are one entry.
        start: Where it begins.
        end: Where it ends.
        role: What it stands for.
    """

    name: str
    start: float
    end: float
    role: Role = "extra"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A straight line across the chart.

    Attributes:
        name: What it is, for the legend.
        at: Where it is.
        axis: The axis on which that is.
        role: What it stands for.
    """

    name: str
    at: float
    axis: Literal["x", "y"] = "y"
    role: Role = "baseline"


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A table of shaded cells, each with its number; the categories of the axes name rows and
    columns.

    Attributes:
        name: What the numbers are.
        values: Numbers from 0 to 1, rows from the bottom, shape (rows, columns); NaN where there is
            none.
    """

    name: str
    values: npt.NDArray[np.float64]


Layer = Curve | Band | Span | Rule | Cells


@dataclass(frozen=True, kw_only=True)
class Chart:
    """One chart.

    Attributes:
        name: Short name in lower case, unique in a report: the name of its files.
        title: Title.
        x: Horizontal axis.
        y: Vertical axis.
        layers: What is drawn, from back to front.
        caption: How to read it and what was done to the data, in a sentence or two.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    caption: str = ""

    def to_json(self) -> dict[str, object]:
        """Return it as JSON-compatible values, numbers rounded to six digits, None for what is not
        finite.
        """
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "x": _axis_json(self.x),
            "y": _axis_json(self.y),
            "layers": [_layer_json(layer) for layer in self.layers],
        }


def _axis_json(axis: Axis) -> dict[str, object]:
    return {
        "text": axis.text,
        "unit": axis.unit,
        "log": axis.log,
        "low": axis.low,
        "high": axis.high,
        "categories": list(axis.categories),
    }


@dataclass(frozen=True)
class _Kind:
    """Which fields of a layer are rows of numbers and which are taken as they are."""

    name: str
    plain: tuple[str, ...]
    rows: tuple[str, ...] = field(default=())


_KINDS: dict[type, _Kind] = {
    Curve: _Kind("curve", ("name", "role", "shape", "dashed"), ("x", "y", "low", "high")),
    Band: _Kind("band", ("name", "role"), ("x", "low", "high")),
    Span: _Kind("span", ("name", "role", "start", "end")),
    Rule: _Kind("rule", ("name", "role", "at", "axis")),
}


def _layer_json(layer: Layer) -> dict[str, object]:
    if isinstance(layer, Cells):
        return {
            "kind": "cells",
            "name": layer.name,
            "values": [_rounded(row) for row in layer.values],
        }
    kind = _KINDS[type(layer)]
    parts: dict[str, object] = {
        "kind": kind.name,
        **{key: getattr(layer, key) for key in kind.plain},
    }
    for key in kind.rows:
        row = getattr(layer, key)
        if row is not None:
            parts[key] = _rounded(row)
    if isinstance(layer, Curve) and layer.notes:
        parts["notes"] = list(layer.notes)
    return parts


def _rounded(values: Numbers) -> list[float | None]:
    numbers = np.asarray(values, dtype=np.float64).tolist()
    return [float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None for value in numbers]
