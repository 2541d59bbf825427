"""What a report says: sections of text, tables and charts, apart from how they are rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trafficgen.reports.charts import Chart


@dataclass(frozen=True, kw_only=True)
class Text:
    """Paragraphs or a list.

    Attributes:
        lines: A paragraph or an item each.
        kind: ``lead`` is what is read first, ``warnings`` are things to be careful about.
    """

    lines: tuple[str, ...]
    kind: Literal["text", "lead", "list", "warnings"] = "text"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        title: What it shows.
        header: Names of the columns, with units.
        rows: Cells as texts, each row as long as the header.
        numbers: Places of the columns that hold numbers, aligned to the right.
        marks: Rows by their place that stand out: ``good`` or ``bad``.
        folded: Whether it is shown only when it is opened; on paper it always is.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: tuple[int, ...] = ()
    marks: tuple[tuple[int, Literal["good", "bad"]], ...] = ()
    folded: bool = False

    def mark(self, row: int) -> str:
        """Return how a row stands out; empty where it does not."""
        return dict(self.marks).get(row, "")


Block = Text | Table | Chart


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report under a heading of its own.

    Attributes:
        title: Heading.
        blocks: What stands in it, in order; charts that follow each other stand side by side
            where there is room.
    """

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, kw_only=True)
class Report:
    """A report.

    Attributes:
        title: What it is about.
        subtitle: What was looked at, such as the names of the files.
        sections: Its parts.
        made_by: How it can be made again: software, seed.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    made_by: str

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, in order."""
        return tuple(
            block for part in self.sections for block in part.blocks if isinstance(block, Chart)
        )
