"""Content of a report: sections of text, tables and charts, apart from how they are rendered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from trafficgen.formatting import number
from trafficgen.reports.charts import Chart

#: A cell that is aligned like a number: a sign, digits, at most a unit such as %.
_NUMERIC = re.compile(r"(-|< ?)?[+-]?\d\S*|-")
_ABOUT_FILE = re.compile(r"(?P<path>[^:]*/[^:]*?)(?P<rest>(, session \d+)?: .*)$", re.DOTALL)

Mark = Literal["good", "bad"]


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
    marks: tuple[tuple[int, Mark], ...] = ()
    folded: bool = False

    def mark(self, row: int) -> str:
        """Return how a row stands out; empty where it does not."""
        return dict(self.marks).get(row, "")


def tabulate(
    title: str,
    records: Iterable[Mapping[str, object]],
    *,
    folded: bool = False,
    marks: Mapping[int, Mark] | None = None,
) -> Table | None:
    """Make a table of records with equal keys, which are the header; numbers are formatted.

    Args:
        title: What it shows.
        records: A row each; None is shown as "-".
        folded: Whether it is shown only when it is opened.
        marks: Rows by their place that stand out.

    Returns:
        The table; None without records.
    """
    known = list(records)
    rows = [
        tuple(value if isinstance(value, str) else number(value) for value in record.values())
        for record in known
    ]
    if not rows:
        return None
    columns = list(zip(*rows, strict=True))
    return Table(
        title=title,
        header=tuple(known[0]),
        rows=tuple(rows),
        numbers=tuple(
            place
            for place, cells in enumerate(columns)
            if place and all(map(_NUMERIC.fullmatch, cells))
        ),
        marks=tuple((marks or {}).items()),
        folded=folded,
    )


Block = Text | Table | Chart


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of a report under a heading of its own.

    Attributes:
        title: Heading.
        blocks: Its contents, in order; charts that follow each other are side by side
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


def warn(warnings: Iterable[str]) -> Iterator[Block]:
    """Yield warnings, without the folders of files, since reports are passed on."""
    if lines := tuple(map(drop_folder, warnings)):
        yield Text(lines=("To be careful about:",))
        yield Text(lines=lines, kind="warnings")


def drop_folder(text: str) -> str:
    """Shorten the path with which a warning begins to the name of the file."""
    found = _ABOUT_FILE.match(text)
    return text if found is None else f"{PurePath(found['path']).name}{found['rest']}"


def keep(*blocks: Block | None) -> Iterator[Block]:
    """Yield the blocks that there are."""
    yield from (block for block in blocks if block is not None)
