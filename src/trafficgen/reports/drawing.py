"""Draw charts with matplotlib: SVG for pages, and files for papers, the same bytes each time."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trafficgen.errors import OutputFileError
from trafficgen.formatting import printable
from trafficgen.imports import require
from trafficgen.options import check_argument
from trafficgen.outputs import whole_folder
from trafficgen.progress import report_each
from trafficgen.reports.page import LIGHT, TIME, Axis, Band, Cells, Chart, Curve, Rule, Span

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Kinds of files by their ending, with metadata that keeps the date out.
FORMATS: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "ModDate": None, "Producer": "trafficgen"},
    "svg": {"Date": None, "Creator": "trafficgen"},
    "png": {"Software": "trafficgen"},
}
#: Width of a text column of most papers, and a height in the golden section to it, inches.
_SIZE_INCHES = (5.2, 3.2)
#: Height of a row of categories, and in notebooks the width for a letter of the longest, inches.
_ROW_INCHES, _LETTER_INCHES = 0.2, 0.06
_PIXELS_PER_INCH = 200
#: Room between numbers and the label of a page's y axis, and between its x axis and numbers,
#: points: numbers are larger on a phone.
_PAGE_LABEL_PAD, _PAGE_TICK_PAD = 13, 6
#: Size of text on a narrow page (report.css), for which names of rows need room.
_PHONE_FONT_SIZE = 12
#: Units of a page's SVG.
_POINTS_PER_INCH = 72
#: Text stays text in SVG and PDF, so that a paper's fonts and searches find it.
_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "path.simplify_threshold": 0.3,
}
_MOST_CELLS_WITH_TEXT = 144
#: Characters of categories side by side that have room; so short names may stand upright.
_MOST_CHARACTERS, _SHORT_NAME = 48, 5
_MOST_VECTOR_POINTS = 2000
#: Letters that fit side by side below the axes.
_LEGEND_LETTERS = 96
#: Share of a chart's width that a legend may take: a page's font may be wider than ours.
_LEGEND_SHARE = 0.93
#: Where a legend begins below axes of others, their height being 1: under the label.
_BELOW = -0.17
_LEGEND: dict[str, Any] = {"fontsize": 8, "frameon": False, "columnspacing": 1.5}
#: A logarithmic axis whose ends differ by less than this factor has numbers written out, from the
#: second to the third.
_SHORT_LOG_AXIS, _LEAST_WRITTEN_OUT, _MOST_WRITTEN_OUT = 30.0, 1e-3, 1e5
#: Rates up to here are read in kbit/s, higher ones in Mbit/s.
_MOST_KBPS = 10_000.0
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
#: Powers of ten on an axis; more would overlap on a narrow page.
_MOST_LOG_TICKS = 5

#: What a page does without: the XML head, comments, metadata, a style for the whole page, addresses
#: of name spaces, ids of groups, which would repeat in each chart, and indentation.
_NOT_IN_PAGES = re.compile(
    r"^.*?(?=<svg)|<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>|\s+xmlns(:\w+)?=\"[^\"]*\""
    r"|(?<=<g) id=\"[^\"]*\"|(?<=\n) +",
    re.DOTALL,
)
_TICK = re.compile(r"<g id=\"xtick_\d+\">")
_LONG_NUMBER = re.compile(r"(\d+\.\d)\d+")
_PLACES = re.compile(r" (d|x|y|points)=\"[^\"]*\"")
_HEAD = re.compile(r"<svg[^>]*?(viewBox=\"[^\"]*\")[^>]*>")
_THEME = {"#000000": "currentColor", "#b0b0b0": "var(--grid)"} | {
    colour: f"var(--role-{role})" for role, colour in reversed(LIGHT.items())
}
_COLOUR = re.compile("|".join(_THEME))


def save_charts(
    charts: Sequence[Chart], folder: str | Path, *, formats: Sequence[str] = tuple(FORMATS)
) -> list[str]:
    """Write each chart as files ``NAME.pdf`` and so on into a folder, all or none.

    The folder is made where it is missing, files of these names are replaced, and the result is
    their names, in order.

    Raises:
        OutputFileError: If a file cannot be written, or an ending is unknown.
    """
    check_formats(formats, folder=folder)
    drawn = [(f"{chart.name}.{ending}", chart, ending) for chart in charts for ending in formats]
    names = [name for name, *_ in drawn]
    with whole_folder(Path(folder), earlier=dict.fromkeys(names)) as staging:
        for name, chart, ending in report_each(drawn, "drawing", total=len(drawn), unit="files"):
            (staging / name).write_bytes(_draw_file(chart, ending))
    return names


def check_formats(formats: Iterable[str], *, folder: str | Path) -> None:
    """Raise OutputFileError for unknown endings of plots before anything is drawn."""
    for ending in formats:
        if ending not in FORMATS:
            problem, remedy = f"no plots are made as {ending!r}", f"choose {', '.join(FORMATS)}"
            raise OutputFileError(file=str(folder), problem=problem, remedy=remedy)


def draw_svg(chart: Chart, *, zoomable: bool = False) -> str:
    """Draw a chart as an SVG element for a page, in the colours of the page's theme.

    One that can be zoomed names the edges and the range of its time axis in ``data-zoom``.
    """
    text, figure = _draw_for_page(chart)
    head = r'<svg aria-hidden="true" \1>'
    if zoomable and _is_over_time(chart):
        text = _TICK.sub('<g class="xtick">', text)
        head = rf'<svg aria-hidden="true" data-zoom="{_measure_axes(figure)}" \1>'
    text = _NOT_IN_PAGES.sub("", text)
    text = _PLACES.sub(lambda found: _LONG_NUMBER.sub(r"\1", found[0]), text)
    text = _COLOUR.sub(lambda found: _THEME[found[0]], text)
    return _HEAD.sub(head, text, count=1)


def _is_over_time(chart: Chart) -> bool:
    """Return whether a chart has lines over time; points would be stretched."""
    lines = (layer.shape != "points" for layer in chart.layers if isinstance(layer, Curve))
    return chart.x.label == TIME.label and all(lines)


def _measure_axes(figure: Figure) -> str:
    """Return left, top, right and bottom of the axes in the page's units, and their time range."""
    axes = figure.axes[0]
    width, height = figure.get_size_inches() * _POINTS_PER_INCH
    box, (low, high) = axes.get_position(), axes.get_xlim()
    edges = (box.x0 * width, (1 - box.y1) * height, box.x1 * width, (1 - box.y0) * height)
    return " ".join(f"{float(number):.6g}" for number in (*edges, low, high))


def _draw_for_page(chart: Chart) -> tuple[str, Figure]:
    """Draw a chart without title and background; ``savefig`` would draw all of it twice."""
    rc_context = require("report", "matplotlib").rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG  # noqa: PLC0415 - an extra

    drawn = io.StringIO()
    with rc_context(_SETTINGS | {"svg.hashsalt": chart.name}):
        figure = draw_figure(chart, title=False, legend=False)
        figure.patch.set_visible(False)
        figure.axes[0].patch.set_visible(False)
        figure.axes[0].yaxis.labelpad = _PAGE_LABEL_PAD
        figure.axes[0].tick_params(axis="x", pad=_PAGE_TICK_PAD)
        names = figure.axes[0].get_yticklabels() if chart.y.categories else []
        for text in names:
            text.set_fontsize(_PHONE_FONT_SIZE)
        if layout := figure.get_layout_engine():
            layout.execute(figure)
        figure.set_layout_engine("none")
        for text in names:
            text.set_fontsize(_SETTINGS["font.size"])
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(drawn, metadata=metadata)
    return drawn.getvalue(), figure


def _draw_file(chart: Chart, ending: str) -> bytes:
    rc_context = require("report", "matplotlib").rc_context
    drawn = io.BytesIO()  # matplotlib leaves a file open that the disk has no room for
    with rc_context(_SETTINGS | {"svg.hashsalt": chart.name}):
        figure = draw_figure(chart)
        figure.savefig(drawn, format=ending, metadata=FORMATS[ending], dpi=_PIXELS_PER_INCH)
    return drawn.getvalue()


def draw_figure(chart: Chart, *, title: bool = True, legend: bool = True) -> Figure:
    """Draw a chart as a matplotlib figure apart from windows and global state.

    A page has its legend below the picture, in letters that do not shrink with it.
    """
    require("report", "matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an extra
    from matplotlib.figure import Figure as NewFigure  # noqa: PLC0415

    figure = NewFigure(figsize=_size_inches(chart), layout="constrained")
    FigureCanvasAgg(figure)
    _draw_layers(chart, figure.add_subplot(), title=title)
    if legend:
        _add_legend(figure.axes[0])
    return figure


def plot_chart(chart: Chart, axes: Axes | None) -> Axes:
    """Draw a chart in given axes, or in a new figure of pyplot, which notebooks show."""
    matplotlib = require("report", "matplotlib")
    if axes is not None:
        check_argument("ax", axes, require("report", "matplotlib.axes").Axes)
        _draw_layers(chart, axes, title=True)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(loc="upper left", bbox_to_anchor=(0, _BELOW), ncols=2, **_LEGEND)
        return axes
    pyplot = require("report", "matplotlib.pyplot")
    width, height = _size_inches(chart)
    width += _LETTER_INCHES * max(map(len, chart.y.categories), default=0)
    with matplotlib.rc_context(_SETTINGS):
        own: Axes = pyplot.subplots(figsize=(width, height), layout="constrained")[1]
        _draw_layers(chart, own, title=True)
        _add_legend(own)
    return own


def _size_inches(chart: Chart) -> tuple[float, float]:
    width, height = _SIZE_INCHES
    return width, max(height, 1.0 + _ROW_INCHES * len(chart.y.categories))


def _draw_layers(chart: Chart, axes: Any, *, title: bool) -> None:
    for layer in chart.layers:
        _DRAW[type(layer)](axes, layer)
    _set_axis(axes, "x", chart.x)
    _set_axis(axes, "y", chart.y)
    if title:
        axes.set_title(_plain(chart.title), loc="left", fontsize=10)
    if not any(isinstance(layer, Cells) for layer in chart.layers):
        axes.grid(visible=True, linewidth=0.4)
        axes.set_axisbelow(True)


def _plain(text: str) -> str:
    """Return a text that matplotlib shows as it is, without formulas."""
    return printable(text).replace("$", r"\$")


def _set_axis(axes: Any, letter: str, axis: Axis) -> None:
    getattr(axes, f"set_{letter}label")(_plain(axis.text))
    if axis.log:
        if not math.isfinite(getattr(axes, f"{letter}axis").get_minpos()):
            getattr(axes, f"set_{letter}lim")(1, 10)  # nothing is drawn: limits have logarithms
        getattr(axes, f"set_{letter}scale")("log")
    if axis.low is not None or axis.high is not None:
        getattr(axes, f"set_{letter}lim")(axis.low, axis.high)
    if axis.log:
        _write_out_numbers(axes, letter)
    elif axis.unit == "kbit/s" and getattr(axes, f"get_{letter}lim")()[1] > _MOST_KBPS:
        getattr(axes, f"set_{letter}label")(_plain(f"{axis.label}, Mbit/s"))
        scale = getattr(axes, f"{letter}axis")
        scale.set_major_formatter(lambda kbps, _: f"{kbps / 1000:g}")
    if axis.categories:
        names = [_plain(name) for name in axis.categories]
        style = _tick_style(names) if letter == "x" else {}
        getattr(axes, f"set_{letter}ticks")(range(len(names)), names, **style)


def _write_out_numbers(axes: Any, letter: str) -> None:
    """Leave room between powers of ten, and write those of a short axis as numbers.

    Formulas, which matplotlib would make of powers, take longer to draw than a chart.
    """
    from matplotlib.ticker import LogFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    class _Plain(LogFormatter):
        """Numbers without powers of ten, with enough digits to distinguish neighbours."""

        def _num_to_string(self, value: float, *_: float) -> str:
            return f"{value:,.6g}"

    scale = getattr(axes, f"{letter}axis")
    scale.set_major_locator(LogLocator(numticks=_MOST_LOG_TICKS))
    low, high = getattr(axes, f"get_{letter}lim")()
    written_out = low >= _LEAST_WRITTEN_OUT and high <= _MOST_WRITTEN_OUT
    if written_out and high < _SHORT_LOG_AXIS * low:
        scale.set_major_formatter(_Plain(minor_thresholds=(2, 0.5)))
        scale.set_minor_formatter(_Plain(minor_thresholds=(2, 0.5)))
    else:
        scale.set_major_formatter(lambda value, _: _power_of_ten(value))
        scale.set_minor_formatter(NullFormatter())


def _power_of_ten(value: float) -> str:
    """Return a power of ten as one reads it; other numbers have no label."""
    exponent = round(math.log10(value)) if value > 0 else 0
    if not math.isclose(value, 10.0**exponent):
        return ""
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def _tick_style(names: Sequence[str]) -> dict[str, Any]:
    """Turn names side by side so that they do not overlap."""
    if sum(len(name) + 2 for name in names) <= _MOST_CHARACTERS:
        return {}
    if max(map(len, names)) <= _SHORT_NAME:
        return {"rotation": 90, "fontsize": 7}
    return {"rotation": 35, "ha": "right"}


def _add_legend(axes: Any) -> None:
    handles, labels = axes.get_legend_handles_labels()
    if one_each := dict(zip(labels, handles, strict=True)):
        columns = max(1, min(len(one_each), _LEGEND_LETTERS // (max(map(len, one_each)) + 6)))
        for ncols in range(columns, 0, -1):
            # Below the axes it hides no curve.
            legend = axes.figure.legend(
                one_each.values(), list(one_each), loc="outside lower left", ncols=ncols, **_LEGEND
            )
            widest = _LEGEND_SHARE * axes.figure.bbox.width
            if ncols == 1 or legend.get_window_extent().width <= widest:
                return
            legend.remove()


def _draw_curve(axes: Any, curve: Curve) -> None:
    x, y = np.asarray(curve.x, dtype=float), np.asarray(curve.y, dtype=float)
    colour, name = LIGHT[curve.role], _plain(curve.name)
    if curve.low is not None and curve.high is not None:
        low, high = np.asarray(curve.low, dtype=float), np.asarray(curve.high, dtype=float)
        ends = np.abs(np.stack([y - low, high - y]))
        axes.errorbar(x, y, yerr=ends, fmt="none", ecolor=colour, elinewidth=0.9, capsize=2)
    if curve.shape == "points":
        style = {"markerfacecolor": "none"} if curve.dashed else {}
        many = x.size > _MOST_VECTOR_POINTS
        axes.plot(x, y, "o", ms=3.5, color=colour, label=name, rasterized=many, **style)
    else:
        style = {"drawstyle": "steps-post"} if curve.shape == "steps" else {}
        if curve.filled:
            axes.fill_between(x, y, color=colour, alpha=0.2, lw=0, step="post")
        line = "--" if curve.dashed else "-"
        axes.plot(x, y, color=colour, linewidth=1.2, linestyle=line, label=name, **style)


def _draw_band(axes: Any, band: Band) -> None:
    x, low, high = (np.asarray(row, dtype=float) for row in (band.x, band.low, band.high))
    colour, name = LIGHT[band.role], _plain(band.name)
    axes.fill_between(x, low, high, color=colour, alpha=0.22, lw=0, label=name)


def _draw_span(axes: Any, span: Span) -> None:
    colour, name = LIGHT[span.role], _plain(span.name)
    axes.axvspan(span.start, span.end, color=colour, alpha=0.15, lw=0, label=name)


def _draw_rule(axes: Any, rule: Rule) -> None:
    across = axes.axhline if rule.axis == "y" else axes.axvline
    across(rule.at, color=LIGHT[rule.role], linewidth=1, linestyle=":", label=_plain(rule.name))


def _draw_cells(axes: Any, cells: Cells) -> None:
    """Draw shaded squares, not an image, so that they take the colours of a page's theme."""
    rows, columns = cells.values.shape
    for (row, column), value in np.ndenumerate(cells.values):
        if np.isfinite(value):
            bar = {"width": 0.96, "height": 0.96, "align": "center", "color": LIGHT["measured"]}
            axes.barh(row, left=column - 0.48, alpha=0.6 * float(value), lw=0, **bar)
            if cells.values.size <= _MOST_CELLS_WITH_TEXT:
                axes.text(column, row, f"{value:.2f}", ha="center", va="center", fontsize=8)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-0.5, rows - 0.5)


_DRAW: dict[type, Callable[[Any, Any], None]] = {
    Curve: _draw_curve,
    Band: _draw_band,
    Span: _draw_span,
    Rule: _draw_rule,
    Cells: _draw_cells,
}
