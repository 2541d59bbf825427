"""What a format of traces declares, and the steps that all of its readers share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.tables import Columns, packet_table
from trafficgen.capture.traces.text import IGNORED, Matches, TextFile, find_lines, matches
from trafficgen.errors import PacketTableError
from trafficgen.formatting import format_count
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray

#: Longest packet that is believed, bytes: what capture tools take as a whole frame.
LARGEST_PACKET_BYTES = 262_144
#: Share of the first lines that must look like a format.
_ENOUGH = 0.6
#: Characters of a line that are looked at for that: these patterns may take the square of a line's
#: length.
_LOOKED_AT = 1000


@dataclass(frozen=True)
class ReadTrace:
    """A trace that was read.

    Attributes:
        records: Number of lines or rows that were understood.
        unread: Number of lines or rows that were not.
        first_unread: Number of the first of these, from 1; None if all were understood.
        doubts: What a reader of results should know, a sentence each.
        assumptions: What was assumed where the trace says nothing, a sentence each.
    """

    table: PacketTable
    format: str
    records: int
    unread: int = 0
    first_unread: int | None = None
    doubts: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class TraceFormat:
    """One format of traces.

    Attributes:
        name: Name on the command line: that of its module, with hyphens.
        description: What is in such a file, for people.
        looks_like: Whether a file is in this format, from its first lines that are neither empty
            nor comments.
        read: The reader: the packets of a trace.
        place: Files are tried in ascending order of places: formats whose lines could be those of
            another come later.
        line: What a line of it is, for errors.
        remedy: What lines of it have, for errors.
        takes: Fields of :class:`TraceOptions` that it takes.
    """

    name: str
    description: str
    looks_like: Callable[[Sequence[str]], bool]
    read: Callable[[Reading], Columns]
    place: int
    line: str
    remedy: str
    takes: tuple[str, ...] = ()


@dataclass
class Reading:
    """A trace while it is read, with what is noted on the way.

    Attributes:
        options: What the user says about it, such as its frame rate and what its sizes count.
        noun: What its records are: lines or rows.
        doubts: What a reader of results should know, a sentence each.
        assumptions: What is assumed where the trace says nothing, a sentence each.
        unread: Which lines could not be used, shape (all lines,).
        records: Number of lines that were understood.
        of_day: Whether its times are times of day without a date.
    """

    file: TextFile
    format: TraceFormat
    options: TraceOptions
    noun: str = "line"
    doubts: list[str] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    unread: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    records: int = 0
    of_day: bool = False

    def match(self, pattern: str, *, ignored: str = IGNORED) -> Matches:
        """Return lines that match a pattern, others are unread; raise PacketTableError for none."""
        found = find_lines(self.file.lines, pattern)
        self.unread = ~matches(self.file.lines, ignored)
        self.unread[found.rows] = False
        return self.keep(found, np.ones(len(found), dtype=np.bool_))

    def keep(self, found: Matches, usable: BoolArray) -> Matches:
        """Return usable matched lines; others are unread; raise PacketTableError for none."""
        if not usable.any():
            raise self.refuse_content()
        self.unread[found.rows[~usable]] = True
        self.records = int(np.count_nonzero(usable))
        return found if usable.all() else found.select(usable)

    def refuse_content(self) -> PacketTableError:
        """Return the error of a file without a usable line, which shows the first line there is."""
        number, line = self.file.first_content()
        found = f"line {number}: {line[:40]!r}"
        shown = f"{found} is not a {self.format.line}" if number else "is empty"
        return self.error(shown, self.format.remedy)

    def error(self, problem: str, remedy: str) -> PacketTableError:
        """Return an error of this trace."""
        return PacketTableError(file=self.file.name, problem=problem, remedy=remedy)

    def finish(self, columns: Columns) -> ReadTrace:
        """Return the packets that were read, with a doubt about the lines that could not be."""
        unread = int(np.count_nonzero(self.unread))
        first = int(np.argmax(self.unread)) + 1 if unread else None
        if unread:
            lines = f"{format_count(unread, self.noun)} {'was' if unread == 1 else 'were'}"
            self.doubts.insert(
                0,
                f"{lines} not understood (the first is {self.noun} {first}); {self.records:,} were"
                " read",
            )
        name = self.format.name
        return ReadTrace(
            table=packet_table(self.file.name, columns, format_name=name, of_day=self.of_day),
            format=name,
            records=self.records,
            unread=unread,
            first_unread=first,
            doubts=tuple(self.doubts),
            assumptions=tuple(self.assumptions),
        )


#: A line of names between commas or semicolons: no format but packet lists begins with one.
_HEADER = re.compile(r"[\s\"]*[A-Za-z_][^,;]{0,60}(?:[,;][\s\"]*[A-Za-z_][^,;]{0,60})+")


def most_lines(pattern: str, *, fewest: int = 1) -> Callable[[Sequence[str]], bool]:
    """Return a test whether at least three fifths of some lines match, under no header line.

    With less than ``fewest`` lines none do.
    """
    compiled = re.compile(pattern)

    def looks_like(lines: Sequence[str]) -> bool:
        if lines and _HEADER.fullmatch(lines[0][:_LOOKED_AT]) and not compiled.search(lines[0]):
            return False
        found = sum(bool(compiled.search(line[:_LOOKED_AT])) for line in lines)
        return len(lines) >= fewest and found >= _ENOUGH * len(lines)

    return looks_like


def any_line(pattern: str) -> Callable[[Sequence[str]], bool]:
    """Return a test whether one of some lines matches a pattern."""
    compiled = re.compile(pattern)
    return lambda lines: any(compiled.search(line[:_LOOKED_AT]) for line in lines)
