"""Tables on stdout: fitted to a terminal by rich; elsewhere one whole line for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from trafficgen.cli._output import columns, is_styled
from trafficgen.formatting import printable

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
