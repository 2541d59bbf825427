"""Description of a chart: axes with units and layers, apart from how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

#: What a layer shows, which decides on its colour.
Role = Literal["measured", "synthetic", "law", "extra", "other", "more", "baseline"]
#: One colour a role. Full colour vision and simulated dichromats (Machado et al. 2009) distinguish
#: every pair; what lies on each other differs in its line as well.
LIGHT: dict[Role, str] = {
    "measured": "#2878fa",
    "synthetic": "#c9741a",
    "law": "#168064",
    "extra": "#785d02",
    "other": "#64074a",
    "more": "#7d6bac",
    "baseline": "#495766",
}
#: The same for a dark page, with a contrast of at least 3 : 1 to it.
DARK: dict[Role, str] = {
    "measured": "#14b1fe",
    "synthetic": "#f18427",
    "law": "#90efc0",
    "extra": "#fcca17",
    "other": "#ae58a0",
    "more": "#755ff1",
    "baseline": "#a1a1a1",
}

Numbers = Sequence[float] | npt.NDArray[np.float64] | npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis.

    Attributes:
        unit: Its unit; empty for shares, ratios and correlations.
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
        filled: Whether the area under steps is shaded.
        low: Lower ends of intervals around ``y``, as ``high`` has the upper ones, shape (n,).
    """

    x: Numbers
    y: Numbers
    shape: Literal["line", "steps", "points"] = "line"
    dashed: bool = False
    filled: bool = False
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
        caption: How to read it, and what was done to the data.
    """

    name: str
    title: str
    x: Axis
    y: Axis
    layers: tuple[Layer, ...]
    caption: str = ""
