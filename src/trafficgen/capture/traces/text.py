"""Text of traces: lines as Arrow strings, patterns over all of them, decimals read exactly."""

from __future__ import annotations

import codecs
import re
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.errors import CaptureError, PacketTableError
from trafficgen.formatting import size_text
from trafficgen.input_files import open_expanded
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.standard_streams import LARGEST_TEXT_BYTES, STANDARD_INPUT
from trafficgen.units import NS_PER_S, BoolArray, IntArray

#: What a text takes until it is a table, bytes, measured: of the program, for each of its bytes,
#: and for each line.
_PROGRAM_BYTES, _BYTE_BYTES, _LINE_BYTES = 90_000_000, 6, 220
#: What formats leave out: empty lines, and those that begin with a sign of comments.
IGNORED = r"^\s*([#%;].*)?$"
_IGNORED_LINE = re.compile(IGNORED)
_SNIFFED_LINES = 50
_SNIFFED_BYTES = 1 << 16
_LINE_ENDS = re.compile(r"\r\n?")
_DECIMAL = (
    r"^\s*(?P<sign>[+-]?)(?P<whole>[0-9]{0,19})(?:\.(?P<part>[0-9]*))?"
    r"(?P<exponent>[eE][+-]?[0-9]{1,3})?\s*$"
)
_LARGEST_EXACT = 9.2e18
#: Decimals are read in steps: the parts of each take ten times what the number does.
_ROWS_PER_STEP = 1 << 17
_CLOCK = (
    r"^(?:(?P<hours>[0-9]{1,2}):(?P<minutes>[0-9]{1,2}):)?(?P<seconds>[0-9]{1,10}(?:\.[0-9]*)?)$"
)
_DAY_S = 86_400
_HALF_DAY_NS = _DAY_S // 2 * NS_PER_S


@dataclass(frozen=True)
class TextFile:
    """A text file that is held whole.

    Attributes:
        text: Its text, with line feeds between lines.
        more: Whether only its beginning is here.
    """

    name: str
    text: str
    more: bool = False

    @cached_property
    def lines(self) -> pa.Array:
        """All lines, shape (n,)."""
        return split_lines(self.text.removesuffix("\n"))

    def sample(self) -> list[str]:
        """Return the first lines that are neither empty nor comments."""
        lines = self.text[:_SNIFFED_BYTES].split("\n")
        if self.more or len(self.text) > _SNIFFED_BYTES:
            lines = lines[:-1]  # it may have been cut
        return [line for line in lines if not _IGNORED_LINE.match(line)][:_SNIFFED_LINES]

    def first_content(self) -> tuple[int, str]:
        """Return number and text of the first line that is not empty; number 0 if all are."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip():
                return number, line.strip()
        return 0, ""

    def comments(self) -> str:
        """Return the comments at the beginning."""
        return "\n".join(
            line
            for line in self.text[:_SNIFFED_BYTES].split("\n")
            if line.lstrip()[:1] in ("#", "%")
        )


def split_lines(text: str) -> pa.Array:
    """Return the lines of a text, shape (n,): without a Python string for each, far smaller."""
    return pc.split_pattern(pa.array([text], pa.string()), "\n").flatten()


def read_text(name: str) -> TextFile:
    """Return a text file, or standard input (``-``); UTF-8, or UTF-16 with its mark.

    Raises:
        PacketTableError: If it cannot be read, is not text, longer than 1 GB, or too long for the
            memory.
    """
    limit_bytes = memory_limit_bytes()
    if limit_bytes is None:
        return _decoded(name, _content(name, LARGEST_TEXT_BYTES + 1))
    content = _content(name, min(LARGEST_TEXT_BYTES, limit_bytes // _BYTE_BYTES) + 1)
    need_bytes = _PROGRAM_BYTES + _BYTE_BYTES * len(content) + _LINE_BYTES * content.count(b"\n")
    if need_bytes > limit_bytes:
        problem = f"needs more than {size_text(limit_bytes)} of memory, which is allowed"
        remedy = "give more [--memory|memory_bytes], cut it into parts, or make it Parquet"
        raise PacketTableError(file=name, problem=problem, remedy=remedy)
    return _decoded(name, content)


def text_beginning(name: str) -> TextFile | None:
    """Return the beginning of a file; None if it is not text or cannot be read."""
    try:
        content = _content(name, _SNIFFED_BYTES)
        beginning = _decoded(name, content)
    except (CaptureError, PacketTableError):
        return None
    return TextFile(name, beginning.text, more=len(content) == _SNIFFED_BYTES)


def is_text(name: str) -> bool:
    """Return whether a regular file begins as text does."""
    if name == STANDARD_INPUT or not Path(name).is_file():
        return False
    beginning = text_beginning(name)
    return beginning is not None and "\ufffd" not in beginning.text[:-1]


def _content(name: str, most_bytes: int) -> bytes:
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.buffer.read(most_bytes)
        with open_expanded(name) as stream:
            return stream.read(most_bytes)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        problem = f"cannot be read ({reason})"
        raise PacketTableError(
            file=name, problem=problem, remedy="check the name and the permissions"
        ) from error


def _decoded(name: str, content: bytes) -> TextFile:
    if len(content) > LARGEST_TEXT_BYTES:
        problem = f"is longer than {LARGEST_TEXT_BYTES:,} bytes"
        raise PacketTableError(
            file=name, problem=problem, remedy="cut it into parts, or make it Parquet"
        )
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        text = content.decode("utf-16", errors="replace")
    elif b"\0" in content:
        raise PacketTableError(
            file=name,
            problem="is not text",
            remedy="give a text trace, or a capture with its ending",
        )
    else:
        text = content.decode("utf-8-sig", errors="replace")
    return TextFile(name, _LINE_ENDS.sub("\n", text))


@dataclass(frozen=True)
class Matches:
    """Lines that match a pattern.

    Attributes:
        rows: Their places among all lines, from 0, shape (n,).
        groups: Text of each named group, shape (n,); empty where the group took no part.
    """

    rows: IntArray
    groups: dict[str, pa.Array]

    def __len__(self) -> int:
        return len(self.rows)

    def integers(self, name: str) -> IntArray:
        """Return a group of digits (at most 18) as numbers, shape (n,); an empty one as 0."""
        values = self.groups[name]
        return parse_integers(pc.if_else(pc.equal(values, ""), "0", values))

    def select(self, wanted: BoolArray) -> Matches:
        """Return those where ``wanted``, shape (n,), is true."""
        mask = pa.array(wanted)
        return Matches(
            self.rows[wanted], {name: values.filter(mask) for name, values in self.groups.items()}
        )


def parse_integers(values: pa.Array) -> IntArray:
    """Return texts of digits as numbers, shape (n,)."""
    return np.asarray(pc.cast(values, pa.int64()).to_numpy(zero_copy_only=False)).astype(
        np.int64
    )  # copied: Arrow's is read-only


def find_lines(lines: pa.Array, pattern: str) -> Matches:
    """Return the lines that match a pattern with named groups (RE2)."""
    found = pc.extract_regex(lines, pattern)
    valid = mask_of(pc.is_valid(found))
    kept = found.filter(pa.array(valid))
    return Matches(
        np.flatnonzero(valid), {field.name: kept.field(field.name) for field in kept.type}
    )


def matches(lines: pa.Array, pattern: str) -> BoolArray:
    """Return which lines match a pattern, shape (n,)."""
    return mask_of(pc.match_substring_regex(lines, pattern))


def parse_decimals(values: pa.Array, digits: int) -> tuple[IntArray, BoolArray]:
    """Return decimals times ten to the power ``digits``, rounded, and which were in range.

    Without an exponent the digits themselves are read, so that nanoseconds since 1970 keep their
    last digit; shapes (n,) and (n,). What is not a number is 0.
    """
    result, known = np.zeros(len(values), dtype=np.int64), np.zeros(len(values), dtype=np.bool_)
    for start in range(0, len(values), _ROWS_PER_STEP):
        rows = slice(start, start + _ROWS_PER_STEP)
        result[rows], known[rows] = _decimals_of(values[rows], digits)
    return result, known


def _decimals_of(values: pa.Array, digits: int) -> tuple[IntArray, BoolArray]:
    found = pc.extract_regex(values, _DECIMAL)
    whole, part = (pc.fill_null(pc.struct_field(found, name), "") for name in ("whole", "part"))
    known = mask_of(
        pc.and_(
            pc.is_valid(found),
            pc.greater(pc.binary_length(pc.binary_join_element_wise(whole, part, "")), 0),
        )
    )
    exact = known & mask_of(pc.equal(pc.fill_null(pc.struct_field(found, "exponent"), ""), ""))
    with np.errstate(over="ignore"):  # what overflows is out of range
        approximate = _floats(values, known) * 10.0**digits
    known &= np.abs(approximate) < _LARGEST_EXACT
    exact &= known
    result = np.zeros(len(values), dtype=np.int64)
    rows = pa.array(exact)
    whole, part = whole.filter(rows), part.filter(rows)
    sign = pc.struct_field(found, "sign").filter(rows)
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(part, digits + 1, "0"), 0, digits + 1)
    scaled = parse_integers(
        pc.binary_join_element_wise("0", whole, pc.utf8_slice_codeunits(padded, 0, digits), "")
    )
    scaled += mask_of(pc.greater_equal(pc.utf8_slice_codeunits(padded, digits, digits + 1), "5"))
    result[exact] = np.where(mask_of(pc.equal(sign, "-")), -scaled, scaled)
    rounded = known & ~exact
    result[rounded] = np.rint(approximate[rounded]).astype(np.int64)
    return result, known


def _floats(values: pa.Array, known: BoolArray) -> npt.NDArray[np.float64]:
    texts = pc.utf8_trim_whitespace(pc.if_else(pa.array(known), values, "0"))
    # Arrow reads no plus sign before a number.
    texts = pc.replace_substring_regex(texts, r"^\+", "")
    return np.asarray(pc.cast(texts, pa.float64()).to_numpy(zero_copy_only=False))


def mask_of(values: pa.Array) -> BoolArray:
    """Return truth values, shape (n,); nulls are false."""
    return np.asarray(pc.fill_null(values, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def parse_clock(values: pa.Array) -> tuple[IntArray, BoolArray, bool]:
    """Return times such as ``17:18:56.68`` in ns, which are valid, and whether all have hours.

    Times of day go on over midnight: a step of more than half a day back is the next day. Shapes
    (n,) and (n,).
    """
    found = pc.extract_regex(values, _CLOCK)
    parts = {
        name: pc.fill_null(pc.struct_field(found, name), "")
        for name in ("hours", "minutes", "seconds")
    }
    seconds_ns, known = parse_decimals(parts["seconds"], 9)
    with_hours = mask_of(pc.not_equal(parts["hours"], ""))
    minutes = sum(
        parse_integers(pc.if_else(pc.equal(parts[name], ""), "0", parts[name])) * size
        for name, size in (("hours", 60), ("minutes", 1))
    )
    time_ns = seconds_ns + np.asarray(minutes, dtype=np.int64) * (60 * NS_PER_S)
    of_day = bool(len(values)) and bool(with_hours[known].all()) and bool(known.any())
    return time_ns, known, of_day


def add_days(time_ns: IntArray, *, near_ns: IntArray | None = None) -> IntArray:
    """Return times of day with the days that passed, shape (n,).

    ``time_ns`` are in the order of the log. Each lies within half a day of its ``near_ns``, else of
    the line before; both have shape (n,).
    """
    day_ns = _DAY_S * NS_PER_S
    if near_ns is not None:
        away = time_ns - near_ns
        return time_ns - day_ns * np.rint(away / day_ns).astype(np.int64)
    steps = np.diff(time_ns, prepend=time_ns[:1])
    days = np.cumsum(
        (steps < -_HALF_DAY_NS).astype(np.int64) - (steps > _HALF_DAY_NS).astype(np.int64)
    )
    return time_ns + day_ns * days
