"""Show results in notebooks: a heading and tables of a result's own data.

Every text is escaped, because file names, addresses and warnings come from captures. A view has no
script, style sheet or id, loads nothing, and takes its colours from the page around it.
"""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from trafficgen.formatting import number, one_line
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Rows shown of a table or list; the rest are counted.
SHOWN_ROWS = 12
_SHOWN_COLUMNS = 10
_SHOWN_VALUES = 8
_LONGEST_TEXT = 300
#: Mappings nested deeper than this are left out.
_DEEPEST = 2
#: Ends of keys that name a unit, with the unit for people and the factor to it.
_UNITS = {"_kbps": ("kbit/s", 1.0), "_bps": ("kbit/s", kbps_from_bps(1.0)), "_s": ("s", 1.0)}

# MathJax, which notebooks run, must leave dollar signs in file names alone.
_VIEW = (
    '<div class="tex2jax_ignore mathjax_ignore"'
    ' style="color:inherit;max-width:60em;overflow-x:auto">'
)
_TABLE = '<table style="border-collapse:collapse;color:inherit;margin:0.3em 0">'
_CELL = (
    "padding:0.1em 0.7em 0.1em 0;border:none;text-align:left;"
    "border-bottom:1px solid rgba(128,128,128,0.4)"
)


@dataclasses.dataclass(frozen=True)
class FirstRows:
    """The first records of a longer list.

    Attributes:
        rows: Records, one a row.
        total: Length of the whole list.
    """

    rows: Sequence[Mapping[str, object]]
    total: int


class NotebookView:
    """Mixin that shows a result in a notebook; the heading is its ``repr``."""

    def to_pandas(self) -> pd.DataFrame:
        """Return one row with the result's numbers and texts; nested ones are named ``a.b``."""
        return frame_facts([self._notebook_data()])

    def to_json(self) -> dict[str, Any]:
        """Return the result as values of JSON: its attributes by their names, tables as rows."""
        from pydantic_core import to_jsonable_python  # noqa: PLC0415 - not of reading packets

        return dict(to_jsonable_python(self, bytes_mode="base64", fallback=_list_values))

    def plot(self, chart: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw a chart of the result with matplotlib: the first of its report, or of what it holds.

        Args:
            chart: Name of another chart, as :func:`~trafficgen.save_plots` names its files.
            ax: Axes to draw in; None makes a figure.

        Returns:
            The axes.

        Raises:
            SettingError: If the result has no such chart; the message lists those it has.
            TrafficgenError: If the extra ``report`` is not installed.
        """
        # Reports are made of results and lie above them: they are found by name.
        drawn: Axes = import_module("trafficgen.reports.writing").plot_result(self, chart, ax)
        return drawn

    def _repr_html_(self) -> str:
        heading = f"<strong>{escape(repr(self).strip('<>'), longest=_LONGEST_TEXT)}</strong>"
        return f"{_VIEW}{heading}{''.join(_render(self._notebook_data()))}</div>"

    def _notebook_data(self) -> Mapping[str, object]:
        """Return the data to show, as nested mappings; keys end in units as in JSON."""
        return self.to_json()


def frame_facts(records: Iterable[Mapping[str, object]]) -> pd.DataFrame:
    """Return the plain values of records as a data frame; nested ones are named ``a.b``."""
    from trafficgen.data_frames import frame_rows  # noqa: PLC0415 - few need pyarrow and pandas

    rows = [dict(_list_facts(record)) for record in records]
    columns = {name: type(value) for row in rows for name, value in row.items()}
    return frame_rows(rows, columns)


def escape(text: object, *, longest: int = 90) -> str:
    """Return a text as one line that HTML shows as it is."""
    return html.escape(one_line(text, longest=longest))


def _list_values(table: Any) -> list[Any]:
    rows: list[Any] = table.to_pylist() if hasattr(table, "to_pylist") else table.tolist()
    return rows


def _list_facts(data: Mapping[str, object], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield names and values of plain values, nested ones too; lists are left out."""
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield from _list_facts(value, f"{before}{key}.")
        elif isinstance(value, bool | int):
            yield f"{before}{key}", value
        elif isinstance(value, float):
            yield f"{before}{key}", float(value)  # without numpy's type
        elif isinstance(value, str | PurePath):
            yield f"{before}{key}", str(value)


def _render(data: Mapping[str, object], *, title: str = "", depth: int = 0) -> Iterator[str]:
    """Yield facts, then lists and tables, then nested mappings; empty values are left out."""
    facts = [(_label(key), _cell(key, value)) for key, value in data.items()]
    facts = [(name, text) for name, text in facts if text]
    if facts:
        yield _paragraph(title) + _table((), facts)
    for key, value in data.items():
        heading = ": ".join(filter(None, (title, _label(key))))
        if isinstance(value, FirstRows):
            yield _records(heading, value.rows, value.total)
        elif (items := _items(value)) and isinstance(items[0], Mapping):
            yield _records(heading, items, len(items))
        elif items and isinstance(items[0], str):
            yield _texts(heading, items)
        elif isinstance(value, Mapping) and "value" not in value and depth < _DEEPEST:
            yield from _render(value, title=heading, depth=depth + 1)


def _records(title: str, rows: Sequence[Mapping[str, object]], total: int) -> str:
    shown = rows[:SHOWN_ROWS]
    keys = list(dict.fromkeys(key for row in shown for key in row))
    cells = {key: [_cell(key, row.get(key)) for row in shown] for key in keys}
    kept = [key for key in keys if any(cells[key])][:_SHOWN_COLUMNS]
    if not kept:
        return ""
    body = list(zip(*(cells[key] for key in kept), strict=True))
    return _paragraph(title) + _table([_label(key) for key in kept], body, total=total, what=title)


def _table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, total: int = 0, what: str = "rows"
) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        long = _LONGEST_TEXT
        parts = (f'<{tag} style="{_CELL}">{escape(one, longest=long)}</{tag}>' for one in cells)
        return f"<tr>{''.join(parts)}</tr>"

    head = f"<thead>{row('th', header)}</thead>" if header else ""
    body = "".join(row("td", cells) for cells in rows[:SHOWN_ROWS])
    more = max(total, len(rows)) - min(len(rows), SHOWN_ROWS)
    rest = _paragraph(f"… and {more:,d} more {what}") if more else ""
    return f"{_TABLE}{head}<tbody>{body}</tbody></table>{rest}"


def _texts(title: str, texts: Sequence[object]) -> str:
    shown = [escape(text, longest=_LONGEST_TEXT) for text in texts[:SHOWN_ROWS]]
    shown += [f"… and {len(texts) - SHOWN_ROWS:,d} more"] if len(texts) > SHOWN_ROWS else []
    items = "".join(f"<li>{text}</li>" for text in shown)
    return f'{_paragraph(title)}<ul style="margin:0.2em 0;padding-left:1.5em">{items}</ul>'


def _paragraph(text: str) -> str:
    return f'<p style="margin:0.3em 0">{escape(text, longest=_LONGEST_TEXT)}</p>' if text else ""


def _items(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


def _label(key: str) -> str:
    end = next((end for end in _UNITS if key.endswith(end)), "")
    unit = f", {_UNITS[end][0]}" if end else ""
    return f"{key.removesuffix(end).replace('_', ' ')}{unit}"


def _cell(key: str, value: object) -> str:
    """Return a value as a text; an empty one for None, empty values and nested data."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        factor = next((factor for end, (_, factor) in _UNITS.items() if key.endswith(end)), 1.0)
        return number(value if factor == 1.0 else value * factor)
    if isinstance(value, Mapping) and {"value", "low"} <= value.keys():
        low, high = (_cell(key, value.get(end)) for end in ("low", "high"))
        return f"{_cell(key, value['value'])}{f' [{low}, {high}]' if low and high else ''}"
    items = _items(value)
    if items and all(isinstance(one, int | float) for one in items):
        return ", ".join(_cell(key, one) for one in items[:_SHOWN_VALUES])
    return value if isinstance(value, str) else ""
