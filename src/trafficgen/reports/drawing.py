"""Charts as files for papers: PDF, SVG and PNG by matplotlib, the same bytes each time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trafficgen.errors import OutputFileError
from trafficgen.outputs import whole_folder
from trafficgen.reports.charts import Axis, Band, Cells, Chart, Curve, Rule, Span
from trafficgen.reports.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Kinds of files by their ending, with what must be said not to have a date written into them.
FORMATS: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": "trafficgen"},
    "svg": {"Date": None, "Creator": "trafficgen"},
    "png": {"Software": "trafficgen"},
}
#: Width of a figure that fills a text column of most papers, and a height in the golden section to
#: it, inches.
_SIZE_INCHES = (5.2, 3.2)
_PIXELS_PER_INCH = 200
#: Text stays text in SVG and PDF, so that a paper's fonts and searches find it; no name of an
#: element is drawn.
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "trafficgen",
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_MOST_CELLS_WITH_TEXT = 144
#: Names of categories side by side: so many characters have room; so short ones may stand upright.
_MOST_CHARACTERS, _SHORT_NAME = 48, 5
_MOST_VECTOR_POINTS = 2000
#: Letters that fit side by side below the axes.
_LEGEND_LETTERS = 96
_LEGEND: dict[str, Any] = {"fontsize": 8, "frameon": False, "columnspacing": 1.5}
#: A logarithmic axis whose ends differ by less than this factor has numbers written out, from this
#: one to its inverse.
_SHORT_LOG_AXIS, _LEAST_WRITTEN_OUT = 30.0, 1e-3


def save_charts(
    charts: Sequence[Chart],
    folder: str | Path,
    *,
    formats: Sequence[str] = ("pdf", "svg", "png"),
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write each chart as files ``NAME.pdf`` and so on into a folder, all or none; those that are
    there are replaced.

    Args:
        charts: What is drawn.
        folder: Folder; it is made where it is missing.
        formats: Endings of the files.
        progress: Called with the charts done so far and in all.

    Returns:
        Names of the files, in order.

    Raises:
        OutputFileError: If a file cannot be written, or an ending is none of ``pdf``, ``svg`` and
            ``png``.
    """
    check_formats(formats, folder=folder)
    names = []
    replaced = [f"{chart.name}.{ending}" for chart in charts for ending in formats]
    with whole_folder(Path(folder), earlier=replaced) as staging:
        for done, chart in enumerate(charts, start=1):
            names += _save(chart, staging, formats)
            if progress is not None:
                progress(done, len(charts))
    return names


def check_formats(formats: Iterable[str], *, folder: str | Path) -> None:
    """Check the endings of files before anything is drawn.

    Raises:
        OutputFileError: If one is none of ``pdf``, ``svg`` and ``png``.
    """
    for ending in formats:
        if ending not in FORMATS:
            remedy = f"choose {', '.join(FORMATS)}"
            raise OutputFileError(
                file=str(folder), problem=f"no plots are made as {ending!r}", remedy=remedy
            )


def _save(chart: Chart, folder: Path, formats: Sequence[str]) -> list[str]:
    import matplotlib as mpl  # noqa: PLC0415 - slow to load, and needed here alone

    names = [f"{chart.name}.{ending}" for ending in formats]
    settings: Any = _SETTINGS
    with mpl.rc_context(settings):
        figure = figure_of(chart)
        for name, ending in zip(names, formats, strict=True):
            drawn = io.BytesIO()  # matplotlib leaves a file open that the disk has no room for
            figure.savefig(drawn, format=ending, metadata=FORMATS[ending], dpi=_PIXELS_PER_INCH)
            (folder / name).write_bytes(drawn.getvalue())
    return names


def figure_of(chart: Chart) -> Figure:
    """Return a chart as a matplotlib figure that no window or global state knows of."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415

    figure = NewFigure(figsize=_SIZE_INCHES, layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    for layer in chart.layers:
        _DRAW[type(layer)](axes, layer)
    _set_axis(axes, "x", chart.x)
    _set_axis(axes, "y", chart.y)
    axes.set_title(chart.title, loc="left", fontsize=10)
    if not any(isinstance(layer, Cells) for layer in chart.layers):
        axes.grid(visible=True, alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
    _add_legend(axes)
    return figure


def _set_axis(axes: Any, letter: str, axis: Axis) -> None:
    getattr(axes, f"set_{letter}label")(axis.text)
    if axis.log:
        getattr(axes, f"set_{letter}scale")("log")
    if axis.low is not None or axis.high is not None:
        getattr(axes, f"set_{letter}lim")(axis.low, axis.high)
    if axis.log:
        _write_out_numbers(axes, letter)
    if axis.categories:
        style = _tick_style(axis.categories) if letter == "x" else {}
        getattr(axes, f"set_{letter}ticks")(range(len(axis.categories)), axis.categories, **style)


def _write_out_numbers(axes: Any, letter: str) -> None:
    """Write the numbers of a short logarithmic axis as numbers, not as powers of ten."""
    from matplotlib.ticker import LogFormatter  # noqa: PLC0415

    low, high = getattr(axes, f"get_{letter}lim")()
    if (
        high < _SHORT_LOG_AXIS * low
        and low >= _LEAST_WRITTEN_OUT
        and high <= 1 / _LEAST_WRITTEN_OUT
    ):
        for kind in ("major", "minor"):
            getattr(getattr(axes, f"{letter}axis"), f"set_{kind}_formatter")(
                LogFormatter(minor_thresholds=(2, 0.5))
            )


def _tick_style(categories: Sequence[str]) -> dict[str, Any]:
    """Return how names side by side are turned, so that they do not run into each other."""
    if sum(len(name) + 2 for name in categories) <= _MOST_CHARACTERS:
        return {}
    if max(map(len, categories)) <= _SHORT_NAME:
        return {"rotation": 90, "fontsize": 7}
    return {"rotation": 35, "ha": "right"}


def _add_legend(axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    one_each = dict(zip(labels, handles, strict=True))
    if one_each:
        # Below the axes it hides no curve.
        labels, place = list(one_each), "outside lower left"
        axes.figure.legend(
            one_each.values(), labels, loc=place, ncols=_legend_columns(labels), **_LEGEND
        )


def _legend_columns(labels: Sequence[str]) -> int:
    """Return as many columns as fit below the axes."""
    return max(1, min(len(labels), _LEGEND_LETTERS // (max(map(len, labels)) + 6)))


def _draw_curve(axes: Any, curve: Curve) -> None:
    x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
    colour = LIGHT[curve.role]
    if curve.low is not None and curve.high is not None:
        ends = np.abs(
            np.stack(
                [y - np.asarray(curve.low, dtype=float), np.asarray(curve.high, dtype=float) - y]
            )
        )
        axes.errorbar(x, y, yerr=ends, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2)
    if curve.shape == "bars":
        width = 0.8 * float(np.min(np.diff(x))) if x.size > 1 else 0.8
        axes.bar(x, y, width=width, color=colour, alpha=0.75, label=curve.name)
    elif curve.shape == "points":
        face = "none" if curve.dashed else colour
        many = x.size > _MOST_VECTOR_POINTS
        axes.plot(
            x, y, "o", ms=3.5, color=colour, markerfacecolor=face, label=curve.name, rasterized=many
        )
    else:
        style = {"drawstyle": "steps-post"} if curve.shape == "steps" else {}
        axes.plot(
            x,
            y,
            color=colour,
            linewidth=1.2,
            linestyle="--" if curve.dashed else "-",
            label=curve.name,
            **style,
        )


def _draw_band(axes: Any, band: Band) -> None:
    low, high = np.asarray(band.low, dtype=float), np.asarray(band.high, dtype=float)
    x = np.asarray(band.x, dtype=float)
    axes.fill_between(x, low, high, color=LIGHT[band.role], alpha=0.22, lw=0, label=band.name)


def _draw_span(axes: Any, span: Span) -> None:
    axes.axvspan(span.start, span.end, color=LIGHT[span.role], alpha=0.15, lw=0, label=span.name)


def _draw_rule(axes: Any, rule: Rule) -> None:
    across = axes.axhline if rule.axis == "y" else axes.axvline
    across(rule.at, color=LIGHT[rule.role], linewidth=1, linestyle=":", label=rule.name)


def _draw_cells(axes: Any, cells: Cells) -> None:
    from matplotlib.colors import LinearSegmentedColormap  # noqa: PLC0415

    shades = LinearSegmentedColormap.from_list("share", ["#f6f7f9", LIGHT["measured"]])
    axes.imshow(cells.values, cmap=shades, vmin=0, vmax=1, origin="lower", aspect="auto")
    if cells.values.size > _MOST_CELLS_WITH_TEXT:
        return
    for (row, column), value in np.ndenumerate(cells.values):
        if np.isfinite(value):
            ink = "white" if value > 0.5 else "black"
            axes.text(column, row, f"{value:.2f}", ha="center", va="center", color=ink, fontsize=8)


_DRAW: dict[type, Callable[[Any, Any], None]] = {
    Curve: _draw_curve,
    Band: _draw_band,
    Span: _draw_span,
    Rule: _draw_rule,
    Cells: _draw_cells,
}
