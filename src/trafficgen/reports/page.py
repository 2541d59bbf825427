"""Content of a report, apart from how it is drawn: sections of text, tables and charts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

import numpy as np
import numpy.typing as npt

from trafficgen.formatting import number

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


#: A cell that is aligned like a number: a sign, digits, at most a unit such as %.
_UNIT = r" ([kMG]?(bit/s|B)|m?s|(min|h)( \d+ (s|min))?)"
_NUMERIC = re.compile(rf"(-|< ?)?[+-]?\d\S*({_UNIT})?|-")
_ABOUT_FILE = re.compile(r"(?P<path>[^:]*/[^:]*?)(?P<rest>(, session \d+)?: .*)$", re.DOTALL)

#: Cells without a value.
_NOTHING = ("", "-")

Mark = Literal["good", "warn", "bad"]


@dataclass(frozen=True, kw_only=True)
class Headline:
    """The verdict: what is read first.

    Attributes:
        mark: The outcome, shown as a colour, a sign and a word.
        sentence: The outcome in one sentence.
        figures: Names of the four or five figures that decide on it, and their values with units.
    """

    mark: Mark
    sentence: str
    figures: Mapping[str, str]


@dataclass(frozen=True)
class Text:
    """Paragraphs or a list, a line each; ``lead`` stands out, many ``warnings`` are folded."""

    lines: tuple[str, ...]
    kind: Literal["text", "lead", "list", "warnings"] = "text"
    title: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of texts.

    Attributes:
        header: Names of the columns, with units.
        numbers: Places of the columns that hold numbers, aligned to the right.
        marks: Place and colour of each row that stands out.
        folded: Whether it is shown only when it is opened; on paper it always is.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    marks: tuple[tuple[int, Mark], ...] = ()
    folded: bool = False

    def mark(self, row: int) -> str:
        """Return how a row stands out; empty where it does not."""
        return dict(self.marks).get(row, "")


def chart_rows(
    name: str, title: str, axis: Axis, values: Mapping[str, float], *behind: Layer
) -> Chart:
    """Return a chart of a point for each row, the first on top."""
    rows = list(values)[::-1]
    points = Curve(
        name=axis.label,
        role="synthetic",
        x=[values[row] for row in rows],
        y=np.arange(len(rows), dtype=np.float64),
        shape="points",
    )
    y = Axis(label="", categories=tuple(rows))
    return Chart(name=name, title=title, x=axis, y=y, layers=(*behind, points))


def tabulate(
    title: str,
    records: Iterable[Mapping[str, object]],
    *,
    folded: bool = False,
    marks: Mapping[int, Mark] | None = None,
) -> Table | None:
    """Make a table of records with equal keys, which are the header; None without records.

    Numbers are formatted, and None is shown as "-". Rows that know nothing but their name, and
    columns that know nothing, are left out. ``marks`` has the records that stand out.
    """
    header: tuple[str, ...] = ()
    known: dict[int, tuple[str, ...]] = {}
    for place, record in enumerate(records):
        header = tuple(record)
        cells = tuple(one if isinstance(one, str) else number(one) for one in record.values())
        if any(cell not in _NOTHING for cell in cells[1:]):
            known[place] = cells
    kept = [
        at for at in range(len(header)) if any(row[at] not in _NOTHING for row in known.values())
    ]
    if not known:
        return None
    rows = [tuple(row[at] for at in kept) for row in known.values()]
    columns = list(zip(*rows, strict=True))
    return Table(
        title=title,
        header=tuple(header[at] for at in kept),
        rows=tuple(rows),
        numbers=tuple(
            place
            for place, cells in enumerate(columns)
            if place and all(map(_NUMERIC.fullmatch, cells))
        ),
        marks=tuple((row, marks[at]) for row, at in enumerate(known) if marks and at in marks),
        folded=folded,
    )


Block = Text | Table | Chart


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading; charts in a row are side by side where there is room."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report.

    Attributes:
        subtitle: What was looked at, such as the names of the files.
        made_by: How it can be made again: software, seed.
        headline: The verdict, above all sections.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    made_by: str
    headline: Headline | None = None

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, in order."""
        return tuple(
            block for part in self.sections for block in part.blocks if isinstance(block, Chart)
        )


def build_report(
    title: str,
    subtitle: str,
    headline: Headline,
    sections: Mapping[str, Iterable[Block | None]],
    *,
    made_by: str,
) -> Report:
    """Build a report of blocks by heading; leave out missing blocks and empty sections."""
    known = {
        heading: tuple(block for block in blocks if block is not None)
        for heading, blocks in sections.items()
    }
    parts = tuple(Section(heading, blocks) for heading, blocks in known.items() if blocks)
    return Report(
        title=title, subtitle=subtitle, sections=parts, made_by=made_by, headline=headline
    )


def warn(warnings: Iterable[str]) -> Iterator[Block]:
    """Yield warnings, without the folders of files, since reports are passed on."""
    if lines := tuple(map(drop_folder, warnings)):
        yield Text(lines, kind="warnings", title="To be careful about")


def drop_folder(text: str) -> str:
    """Shorten the path with which a warning begins to the name of the file."""
    found = _ABOUT_FILE.match(text)
    return text if found is None else f"{PurePath(found['path']).name}{found['rest']}"
