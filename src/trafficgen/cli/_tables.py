"""Tables on stdout: by rich on a terminal, to its width; elsewhere a line for each row, whole, to be searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trafficgen.cli._terminal import columns, is_styled, printable

if TYPE_CHECKING:
    from rich.console import Console

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

    On a terminal cells are folded between words to its width; one that is too narrow for that gets a block for each
    row, a line for each cell. Elsewhere nothing is folded or cut, whatever the width.

    Args:
        header: Names of the columns.
        rows: Cells, as many a row as there are columns.
        right: Columns that are aligned to the right.
        styles: Styles of columns on a terminal, such as ``{0: "cyan"}``.
        marks: Styles of cells with these very texts, such as ``{"MISS": "red"}``.
    """
    shown = [[printable(cell) for cell in row] for row in rows]
    if not is_styled():
        _print_plain(header, shown, right)
    elif _words_fit(header, shown):
        _print_rich(header, shown, right=right, styles=styles or {}, marks=marks or {})
    else:
        _print_blocks(header, shown, styles=styles or {}, marks=marks or {})


def _print_plain(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(_GAP.join(cells).rstrip())


def _words_fit(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the terminal is as wide as the longest words of all columns."""
    longest = [
        max(len(word) for row in [header, *rows] for word in row[column].split() or [""])
        for column in range(len(header))
    ]
    return sum(longest) + _RULE_WIDTH * (len(longest) - 1) <= columns()


def _console() -> Console:
    from rich.console import Console  # noqa: PLC0415 - what is not printed on a terminal needs none of it

    return Console(width=columns(), highlight=False, markup=False, emoji=False)


def _print_rich(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
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
        )
    for row in rows:
        table.add_row(*(Text(cell, style=marks.get(cell, "")) for cell in row))
    _console().print(table)


def _print_blocks(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, styles: Mapping[int, str], marks: Mapping[str, str]
) -> None:
    from rich.text import Text  # noqa: PLC0415 - as above

    console = _console()
    for row in rows:
        for column, (name, cell) in enumerate(zip(header, row, strict=True)):
            label = f"{name.strip()}: " if name.strip() else ""
            if cell.strip() or column == 0:
                text = Text(label if column == 0 else f"  {label}", style="bold" if column == 0 else "dim")
                text.append(cell.strip(), style=marks.get(cell, styles.get(column, "")) or "none")
                console.print(text, overflow="fold")
