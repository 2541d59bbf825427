"""Description of a chart: axes with units and layers, apart from how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

#: What a layer shows, which decides on its colour.
Role = Literal["measured", "synthetic", "law", "extra", "other", "more", "baseline"]
#: One colour a role, that of Okabe and Ito (2008), which the colour-blind can distinguish.
LIGHT: dict[Role, str] = {
    "measured": "#0072b2",
    "synthetic": "#c14e00",
    "law": "#007a59",
    "extra": "#b8860b",
    "other": "#a8447f",
    "more": "#2b83ba",
    "baseline": "#6b7280",
}
#: The same hues lighter, with a contrast of at least 3 : 1 to a dark page.
DARK: dict[Role, str] = {
    "measured": "#56b4e9",
    "synthetic": "#ff9d5c",
    "law": "#3ddbaa",
    "extra": "#f0e442",
    "other": "#e39ac5",
    "more": "#9ad0f5",
    "baseline": "#9ca3af",
}

Numbers = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis.

    Attributes:
        unit: Its unit; empty for shares, ratios and correlations.
        log: Whether it is logarithmic.
        low: Where it begins; None leaves that to the data, as it does for ``high``.
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
        """Label and unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label


#: Axes that several reports share.
SIZE = Axis(label="IP packet", unit="bytes")
GAP = Axis(label="gap between packets of a flow", unit="s", log=True)
BURST = Axis(label="burst", unit="packets", log=True)
SPACING = Axis(label="start of a burst to the start of the next", unit="s", log=True)
TIME = Axis(label="time after the first media packet", unit="s")


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Something on a chart; layers of one name are one entry of the legend."""

    name: str
    role: Role = "measured"


@dataclass(frozen=True, kw_only=True)
class Curve(Layer):
    """Points in order: a line, steps (each value holds until the next) or points.

    Attributes:
        x: Places, shape (n,).
        y: Values, shape (n,); NaN interrupts a line.
        dashed: Whether a line is dashed, or points are hollow.
        low: Lower ends of intervals around ``y``, as ``high`` has the upper ones, shape (n,).
    """

    x: Numbers
    y: Numbers
    shape: Literal["line", "steps", "points"] = "line"
    dashed: bool = False
    low: Numbers | None = None
    high: Numbers | None = None


@dataclass(frozen=True, kw_only=True)
class Band(Layer):
    """The area between two curves: places and both edges, each of shape (n,)."""

    x: Numbers
    low: Numbers
    high: Numbers


@dataclass(frozen=True, kw_only=True)
class Span(Layer):
    """A part of the x axis, shaded over the whole height."""

    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Rule(Layer):
    """A straight line across the chart at a place of an axis."""

    at: float
    axis: Literal["x", "y"] = "y"
    role: Role = "baseline"


@dataclass(frozen=True, kw_only=True)
class Cells(Layer):
    """Shaded cells with their numbers; the categories of the axes name rows and columns.

    Values are from 0 to 1, rows from the bottom, shape (rows, columns); a cell of NaN is empty.
    """

    values: npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart.

    Attributes:
        name: Name of its files, unique in a report.
        layers: What is drawn, from back to front.
        caption: How to read it, and what was done to the data.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    caption: str = ""
