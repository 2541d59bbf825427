"""Steps that readers of lines share: which lines are understood, and the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.capture.traces.tables import Columns, packet_table
from trafficgen.capture.traces.text import IGNORED, Matches, TextFile, find_lines, matches
from trafficgen.capture.traces.trace_format import Notes, ReadTrace, nothing_readable
from trafficgen.units import BoolArray

#: Share of the first lines that must look like a format.
_ENOUGH = 0.6
#: Characters of a line that are looked at for that: these patterns may take the square of a line's
#: length.
_LOOKED_AT = 1000


@dataclass
class Unread:
    """Lines that a reader could not use: ``bad`` marks them, shape (all lines,)."""

    bad: BoolArray

    def add(self, rows: BoolArray) -> None:
        """Mark more lines."""
        self.bad |= rows

    @property
    def count(self) -> int:
        """How many there are."""
        return int(np.count_nonzero(self.bad))

    @property
    def first(self) -> int | None:
        """Number of the first, from 1."""
        return int(np.argmax(self.bad)) + 1 if self.count else None


def most_lines(pattern: str) -> Callable[[Sequence[str]], bool]:
    """Return a test whether at least three fifths of some lines match a pattern."""
    compiled = re.compile(pattern)

    def looks_like(lines: Sequence[str]) -> bool:
        return bool(lines) and sum(
            bool(compiled.search(line[:_LOOKED_AT])) for line in lines
        ) >= _ENOUGH * len(lines)

    return looks_like


def any_line(pattern: str) -> Callable[[Sequence[str]], bool]:
    """Return a test whether one of some lines matches a pattern."""
    compiled = re.compile(pattern)
    return lambda lines: any(compiled.search(line[:_LOOKED_AT]) for line in lines)


def match_lines(file: TextFile, pattern: str, *, what: str, remedy: str) -> tuple[Matches, Unread]:
    """Return the lines that match a pattern, and those that neither match nor are comments.

    Raises:
        PacketTableError: If no line matches.
    """
    found = find_lines(file.lines, pattern)
    if not len(found):
        raise nothing_readable(file, what, remedy)
    bad = ~matches(file.lines, IGNORED)
    bad[found.rows] = False
    return found, Unread(bad)


def drop_lines(
    found: Matches, unread: Unread, bad: BoolArray, file: TextFile, *, what: str, remedy: str
) -> Matches:
    """Drop understood lines where ``bad``, shape (n,), says that they are not usable.

    Raises:
        PacketTableError: If none is left.
    """
    if not bad.any():
        return found
    if bad.all():
        raise nothing_readable(file, what, remedy)
    unread.bad[found.rows[bad]] = True
    return found.select(~bad)


def read_result(
    file: TextFile,
    columns: Columns,
    *,
    format_name: str,
    records: int,
    unread: Unread,
    notes: Notes,
    of_day: bool = False,
    noun: str = "line",
) -> ReadTrace:
    """Return what was read from a trace's lines, with a doubt about the lines that could not be."""
    if unread.count:
        lines = f"1 {noun} was" if unread.count == 1 else f"{unread.count:,} {noun}s were"
        notes.doubts.insert(
            0, f"{lines} not understood (the first is {noun} {unread.first}); {records:,} were read"
        )
    return ReadTrace(
        table=packet_table(file, columns, format_name=format_name, of_day=of_day),
        format=format_name,
        records=records,
        unread=unread.count,
        first_unread=unread.first,
        doubts=tuple(notes.doubts),
        assumptions=tuple(notes.assumptions),
    )
