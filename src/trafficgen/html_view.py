"""Views of objects for notebooks: HTML with a heading, small tables and a curve, safe to show and
small.

Every text is escaped here, since names of files, addresses and warnings come from strangers. A view
has no script, no style sheet, no ids and nothing that is fetched; its colours are those of the page
around it, light or dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from trafficgen.formatting import number, one_line
from trafficgen.units import FloatArray, IntArray, kbps_from_bytes, ns_from_s, s_from_ns

#: Rows of a table that are shown, and texts of a list.
SHOWN_ROWS = 12
SHOWN_TEXTS = 8
#: Points of a curve at most; more would not be seen.
MOST_POINTS = 240

_LONGEST_CELL = 90
_LONGEST_TEXT = 300
_FIRST_STEPS = (1.0, 2.0, 5.0)

# MathJax, which notebooks run over what is shown, must leave dollar signs in names of files alone.
_VIEW = (
    '<div class="tex2jax_ignore mathjax_ignore"'
    ' style="color:inherit;max-width:60em;overflow-x:auto">'
)
_TABLE = '<table style="border-collapse:collapse;color:inherit;margin:0.3em 0">'
_CELL = "padding:0.1em 0.7em 0.1em 0;border:none;border-bottom:1px solid rgba(128,128,128,0.4)"
_WIDTH, _HEIGHT = 560, 120
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 550, 12, 96
#: How lines are told apart, and what draws them so.
_STROKES = (
    ("solid", ""),
    ("dashed", ' stroke-dasharray="5 3"'),
    ("dotted", ' stroke-dasharray="0.5 3"'),
)


def escaped(text: object, *, longest: int = _LONGEST_CELL) -> str:
    """Return a text as one line that HTML shows as it is."""
    return html.escape(one_line(text, longest=longest))


def view(heading: object, *parts: str) -> str:
    """Return a view: its heading and the parts that have something to show, made by the functions
    below.
    """
    return f"{_VIEW}<strong>{escaped(heading)}</strong>{''.join(parts)}</div>"


def paragraph(text: object) -> str:
    """Return a paragraph; nothing where the text is empty."""
    return f'<p style="margin:0.3em 0">{escaped(text, longest=_LONGEST_TEXT)}</p>' if text else ""


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """Return names with their values, one a row; what is None or empty is left out."""
    cells = [(name, value) for name, value in rows if value is not None and value != ""]
    body = "".join(
        f'<tr><th scope="row" style="{_CELL};text-align:left">{escaped(name)}</th>'
        f'<td style="{_CELL};text-align:left">{escaped(value, longest=_LONGEST_TEXT)}</td></tr>'
        for name, value in cells
    )
    return f"{_TABLE}<tbody>{body}</tbody></table>" if cells else ""


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    right: Sequence[int] = (),
    total: int | None = None,
    what: str = "rows",
    shown: int = SHOWN_ROWS,
) -> str:
    """Return rows under a header.

    Args:
        header: Names of the columns, with units.
        rows: Texts of the cells; those beyond ``shown`` are counted only.
        right: Columns that are aligned to the right.
        total: How many rows there are where ``rows`` holds but the first of them.
        what: What the rows are, for the count.
        shown: How many rows are shown.
    """
    if not rows:
        return ""
    align = ["right" if column in right else "left" for column in range(len(header))]
    head = "".join(
        f'<th scope="col" style="{_CELL};text-align:{way}">{escaped(name)}</th>'
        for name, way in zip(header, align, strict=True)
    )
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL};text-align:{way}">{escaped(cell)}</td>'
            for cell, way in zip(row, align, strict=True)
        )
        + "</tr>"
        for row in rows[:shown]
    )
    more = (len(rows) if total is None else total) - min(len(rows), shown)
    rest = paragraph(f"… and {more:,d} more {what}") if more > 0 else ""
    return f"{_TABLE}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def texts(heading: str, lines: Sequence[object]) -> str:
    """Return sentences under a heading, such as warnings; nothing where there are none."""
    if not lines:
        return ""
    items = "".join(
        f"<li>{escaped(line, longest=_LONGEST_TEXT)}</li>" for line in lines[:SHOWN_TEXTS]
    )
    more = len(lines) - SHOWN_TEXTS
    rest = f"<li>… and {more:,d} more</li>" if more > 0 else ""
    return f'{paragraph(heading)}<ul style="margin:0.2em 0;padding-left:1.5em">{items}{rest}</ul>'


def rate_curves(*packets: tuple[str, IntArray, IntArray]) -> str:
    """Return rates of packets over time, each from its first packet on, aggregated; nothing where
    none lasts.

    Args:
        packets: What they are, such as ``IP packets to clients``, their times in ns, in any order,
            and their sizes in bytes, both of shape (n,).
    """
    known = [(what, times - times.min(), sizes) for what, times, sizes in packets if times.size]
    bin_ns = ns_from_s(
        _bin_s(s_from_ns(max((int(times.max()) for _, times, _ in known), default=0)))
    )
    if bin_ns <= 0:
        return ""
    bin_s = s_from_ns(bin_ns)
    lines = [
        (what, np.bincount(times // bin_ns, weights=sizes) * kbps_from_bytes(1.0, bin_s))
        for what, times, sizes in known
    ]
    return curve(lines, start_s=0.0, step_s=bin_s)


def _bin_s(duration_s: float) -> float:
    """Return a width of bins that people can name, 1, 2 or 5 times a power of ten, for at most
    MOST_POINTS of them.
    """
    if duration_s <= 0:
        return 0.0
    least_s = duration_s / (MOST_POINTS - 1)
    power = 10.0 ** np.floor(np.log10(least_s))
    return float(next(step * power for step in (*_FIRST_STEPS, 10.0) if step * power >= least_s))


def curve(
    lines: Sequence[tuple[str, npt.NDArray[np.floating]]],
    *,
    start_s: float,
    step_s: float,
    unit: str = "kbps",
    mean: bool = True,
) -> str:
    """Return quantities over time as a small picture; the axes begin at 0 and ``start_s``.

    Args:
        lines: What each line shows, and its values at equal distances in time, NaN where there is
            none; shape (n,). Drawn solid, dashed and dotted, so that no colour is needed.
        start_s: Time of the first value, s.
        step_s: Distance of two values, s.
        unit: Unit of the values.
        mean: Whether each value is the mean over its step; otherwise it holds for the whole of it.
    """
    length = max((values.size for _, values in lines), default=0)
    group = max(1, -(-length // MOST_POINTS))
    drawn = [
        (label, _aggregated(values, group)) for label, values in lines if np.isfinite(values).any()
    ]
    most = max((float(np.nanmax(values)) for _, values in drawn), default=0.0)
    if most <= 0 or length < 2:
        return ""
    end_s = start_s + length * step_s
    caption = f"{_legend([label for label, _ in drawn])}, {unit}, over time, s"
    caption += f"; means over {number(group * step_s)} s" if mean else ""
    spoken = f"{caption}: 0 to {number(most)} {unit}, {number(start_s)} to {number(end_s)} s"
    paths = "".join(
        f'<path d="{_outline(values, most=most, points=length / group)}" fill="none"'
        f' stroke="currentColor" stroke-width="1.2" stroke-linecap="round"{dash}/>'
        for (_, values), (_, dash) in zip(drawn, _STROKES, strict=False)
    )
    return (
        f'<svg role="img" aria-label="{escaped(spoken, longest=_LONGEST_TEXT)}" viewBox="0 0'
        f' {_WIDTH} {_HEIGHT}" width="{_WIDTH}" style="display:block;max-width:100%;height:auto"'
        ' font-size="11"'
        f' font-family="sans-serif"><title>{escaped(spoken, longest=_LONGEST_TEXT)}</title><path'
        f' d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" fill="none" stroke="currentColor"'
        ' stroke-opacity="0.5"/>'
        + paths
        + _label(_LEFT - 6, _TOP + 4, f"{number(most)} {unit}", anchor="end")
        + _label(_LEFT - 6, _BOTTOM, "0", anchor="end")
        + _label(_LEFT, _BOTTOM + 15, f"{number(start_s)} s", anchor="start")
        + _label(_RIGHT, _BOTTOM + 15, f"{number(end_s)} s", anchor="end")
        + f"</svg>{paragraph(caption)}"
    )


def _legend(labels: Sequence[str]) -> str:
    if len(labels) == 1:
        return labels[0]
    return ", ".join(
        f"{label} ({stroke})" for label, (stroke, _) in zip(labels, _STROKES, strict=False)
    )


def _aggregated(values: npt.NDArray[np.floating], group: int) -> FloatArray:
    """Return the means of groups of successive values, those of NaN alone being NaN; shape (n /
    group,).
    """
    if group <= 1:
        return np.asarray(values, dtype=np.float64)
    padded = np.full(-(-values.size // group) * group, np.nan)
    padded[: values.size] = values
    known = np.isfinite(padded).reshape(-1, group)
    sums = np.where(known, padded.reshape(-1, group), 0.0).sum(axis=1)
    counts = known.sum(axis=1)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _outline(values: FloatArray, *, most: float, points: float) -> str:
    """Return the path of a line, broken where there is no value; each value stands in the middle of
    its step.
    """
    across = _LEFT + (np.arange(values.size) + 0.5) / points * (_RIGHT - _LEFT)
    down = _BOTTOM - values / most * (_BOTTOM - _TOP)
    steps, pen_down = [], False
    for x, y in zip(across.tolist(), down.tolist(), strict=True):
        known = math.isfinite(y)
        if known:
            steps.append(
                f"L{x:.1f} {y:.1f}" if pen_down else f"M{x:.1f} {y:.1f}h0"
            )  # h0 makes a dot of a lone value
        pen_down = known
    return "".join(steps)


def _label(x: int, y: int, text: str, *, anchor: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{escaped(text)}</text>'
    )
