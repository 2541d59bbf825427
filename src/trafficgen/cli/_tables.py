"""Tables and sparklines on stdout: fitted to a terminal by rich; elsewhere whole lines."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trafficgen.cli._output import columns, is_styled, say_line, shows_blocks
from trafficgen.formatting import format_duration, printable, rate_text

if TYPE_CHECKING:
    from rich.console import Console

    from trafficgen.units import FloatArray

_GAP = "  "
#: Between the columns of a table on a terminal: what rich puts around its light rule.
_RULE_WIDTH = 3


def print_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    styles: Mapping[int, str] | None = None,
    marks: Mapping[str, str] | None = None,
) -> None:
    """Print columns under a header.

    On a terminal cells are folded between words to its width; one that is too narrow for that gets
    a block for each row, a line for each cell. Elsewhere nothing is folded or cut, whatever the
    width. Columns named by ``right`` are aligned to the right. On a terminal ``styles`` colour
    columns, such as ``{0: "cyan"}``, and ``marks`` cells with these very texts, such as ``{"MISS":
    "red"}``.
    """
    shown = [[printable(cell) for cell in row] for row in rows]
    if not is_styled():
        _print_plain(header, shown, right)
        return
    widths = _fitted_widths(header, shown)
    if widths is not None:
        _print_rich(header, shown, widths, right=right, styles=styles or {}, marks=marks or {})
    else:
        _print_blocks(header, shown, styles=styles or {}, marks=marks or {})


def _print_plain(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]
) -> None:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(_GAP.join(cells).rstrip())


def _fitted_widths(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int] | None:
    """Return widths that fit the terminal; None if a column would have to break a word.

    Columns keep the width of their longest cell as far as there is room; the widest give way first.
    """
    table = [header, *rows]
    places = range(len(header))
    widths = [max(len(row[column]) for row in table) for column in places]
    fewest = [
        max(len(word) for row in table for word in row[column].split() or [""]) for column in places
    ]
    room = columns() - _RULE_WIDTH * (len(header) - 1)
    while sum(widths) > room:
        spare = [column for column in places if widths[column] > fewest[column]]
        if not spare:
            return None
        widths[max(spare, key=lambda column: widths[column])] -= 1
    return widths


def _console() -> Console:
    from rich.console import Console  # noqa: PLC0415 - what is not printed on a terminal needs none of it

    return Console(width=columns(), highlight=False, markup=False, emoji=False)


def _print_rich(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    *,
    right: Sequence[int],
    styles: Mapping[int, str],
    marks: Mapping[str, str],
) -> None:
    from rich import box  # noqa: PLC0415 - as above
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column, name in enumerate(header):
        table.add_column(
            Text(name),
            justify="right" if column in right else "left",
            style=styles.get(column, ""),
            overflow="fold",
            width=widths[column],
        )
    for row in rows:
        table.add_row(*(Text(cell, style=marks.get(cell, "")) for cell in row))
    _console().print(table)


def _print_blocks(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    styles: Mapping[int, str],
    marks: Mapping[str, str],
) -> None:
    """Print each row as a line of its first cell, and its other cells with their names under it."""
    from rich.padding import Padding  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415

    console = _console()
    for row in rows:
        console.print(Text(f"{header[0]} {row[0]}".strip(), style="bold"), overflow="fold")
        rest = Text()
        for column, (name, cell) in enumerate(zip(header[1:], row[1:], strict=True), start=1):
            if cell.strip():
                rest.append("; " if rest.plain else "")
                rest.append(f"{name} ".lstrip(), style="dim")
                rest.append(cell, style=marks.get(cell, styles.get(column, "")) or None)
        console.print(Padding(rest, (0, 0, 0, 2)), overflow="fold")


BLOCKS = "▁▂▃▄▅▆▇█"
#: For encodings without block elements, from low to high.
ASCII_BLOCKS = "_.-:=+*#"

_WIDTH = 60
_WIDEST = 120
_FEWEST = 12
#: Narrower terminals have the scale under the curve.
_NARROW = 60
#: Letters of the phases of a session in a line under its curves.
_PHASES = {"b": "buffering", "p": "playout", "s": "stall", "e": "end"}


@dataclass(frozen=True)
class Curve:
    """One curve.

    Attributes:
        values: Its values, one a character, NaN where unknown; shape (n,).
        text: Writes one of them with its unit.
        top: Value of a full block; None for the largest value.
    """

    name: str
    values: FloatArray
    text: Callable[[float], str] = rate_text
    top: float | None = None
    style: ClassVar[int] = 36  #: cyan

    @property
    def cells(self) -> str:
        """Return a character for each value."""
        blocks = BLOCKS if shows_blocks() else ASCII_BLOCKS
        return sparkline(self.values, top=self.top, blocks=blocks)

    @property
    def meaning(self) -> str:
        """Return the lowest and the highest value."""
        known = [value for value in self.values.tolist() if math.isfinite(value)]
        if not known:
            return "no value"
        return f"{self.text(min(known)) if min(known) else '0'} .. {self.text(max(known))}"


@dataclass(frozen=True)
class Marks:
    """A line of letters under curves.

    Attributes:
        cells: Letters, one a character of the curves.
        meaning: What each letter means.
    """

    name: str
    cells: str
    meaning: str
    style: ClassVar[int] = 2  #: dim


def sparkline(values: FloatArray, *, top: float | None = None, blocks: str = BLOCKS) -> str:
    """Return a character for each value: lowest for 0, highest for ``top``, space for NaN.

    A value above 0 is never shown as 0, so that a trickle and silence look different. ``top`` is
    the value of the highest character, and of all above it (None: the largest value); ``blocks``
    are characters from low to high.
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


def curve_bins(names: Sequence[str], *, scale_width: int = 28) -> int:
    """Return how many characters curves have: what a terminal has room for, elsewhere 60.

    ``scale_width`` characters are kept for what stands behind them.
    """
    if not is_styled():
        return _WIDTH
    name_width = max(map(len, names), default=0) + 2
    room = columns() - name_width - (0 if columns() < _NARROW else scale_width)
    return max(_FEWEST, min(_WIDEST, room))


def letters_of(
    intervals: Iterable[tuple[float, float, str]], *, bins: int, start_s: float, end_s: float
) -> str:
    """Return a letter for each part of a span: of the last interval at its middle, or a dot.

    An interval that is too short to hold any gets the part that it lies in. Intervals are start,
    end (s) and letter.
    """
    letters = ["."] * bins
    part_s = (end_s - start_s) / bins
    for interval_start_s, interval_end_s, letter in intervals:
        from_s, to_s = max(interval_start_s, start_s), min(interval_end_s, end_s)
        if from_s < to_s:
            first = min(bins - 1, math.ceil((from_s - start_s) / part_s - 0.5))
            last = max(first + 1, math.ceil((to_s - start_s) / part_s - 0.5))
            letters[first:last] = letter * (min(last, bins) - first)
    return "".join(letters)


def mark_phases(
    intervals: Iterable[tuple[float, float, str]], *, bins: int, start_s: float, end_s: float
) -> Marks:
    """Return a line of the phases of a session: intervals with the letter of each."""
    letters = letters_of(intervals, bins=bins, start_s=start_s, end_s=end_s)
    meaning = [f"{letter} {name}" for letter, name in _PHASES.items() if letter in letters]
    return Marks("phases", letters, ", ".join(meaning))


def print_curves(
    title: str, curves: Sequence[Curve | Marks], *, start_s: float, end_s: float
) -> None:
    """Print curves that share a span of time, each from 0 to its own or a shared highest value.

    Lines of marks may stand under them; all have the same length.
    """
    bins = max(len(curve.cells) for curve in curves)
    width = max(len(curve.name) for curve in curves)
    tops = {curve.text(curve.top) for curve in curves if isinstance(curve, Curve) and curve.top}
    scale = f"all from 0 to {tops.pop()}" if tops else "each from 0 to its highest"
    span, step = f"{format_duration(start_s)} to {format_duration(end_s)}", (end_s - start_s) / bins
    say_line(f"{title}, {span}, {format_duration(step)} a character, {scale}:")
    for curve in curves:
        cells, label, meaning = curve.cells, f"{curve.name:{width}}  ", curve.meaning
        shown = f"\x1b[{curve.style}m{cells}\x1b[0m" if is_styled() else cells
        if is_styled() and len(label) + len(cells) + 2 + len(meaning) > columns():
            print(label + shown)
            say_line(" " * len(label) + meaning, indent=len(label))
        else:
            print(f"{label}{shown}  {meaning}")
