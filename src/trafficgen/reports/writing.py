"""Write reports of results: one HTML file that needs nothing else, or plots for papers.

Texts that come from a capture (names, addresses, warnings) are escaped by jinja2 and matplotlib.
The page has no script unless it is interactive, when its policy names the one it has by its hash;
in either case the policy forbids it to load or send anything.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from functools import singledispatch
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from trafficgen.calibration.fit import Fit
from trafficgen.calibration.population.fit_population import PopulationFit
from trafficgen.calibration.population.same_source import SameSourceFit
from trafficgen.errors import OutputFileError, SettingError
from trafficgen.formatting import printable, suggest_name
from trafficgen.imports import require
from trafficgen.models.published.listing import CatalogueModel
from trafficgen.models.published_model import PublishedModel
from trafficgen.notebook import NotebookView
from trafficgen.options import check_argument, checks_arguments
from trafficgen.outputs import is_stream, whole_files
from trafficgen.progress import report_step
from trafficgen.reports.comparison import report_comparison, report_ranking
from trafficgen.reports.drawing import FORMATS, draw_svg, plot_chart, save_charts
from trafficgen.reports.fit.report import report_fit
from trafficgen.reports.many_captures import report_population, report_same_source
from trafficgen.reports.page import (
    DARK,
    LIGHT,
    Band,
    Block,
    Cells,
    Chart,
    Curve,
    Layer,
    Mark,
    Report,
    Role,
    Span,
    Text,
)
from trafficgen.reports.reproduction import report_reproduction
from trafficgen.reports.result_charts import charts_of, play_model
from trafficgen.reports.simulation import report_simulation
from trafficgen.reports.workload import report_workload
from trafficgen.reproduction import Reproduction
from trafficgen.simulation.results import SimulationResult
from trafficgen.validation.comparison import Comparison
from trafficgen.validation.ranking import Ranking
from trafficgen.workloads.shares import WorkloadResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: Results that have a report.
Reportable = (
    Comparison
    | Fit
    | PopulationFit
    | SameSourceFit
    | Ranking
    | Reproduction
    | SimulationResult
    | WorkloadResult
)

_PAGE_ENDINGS = (".html", ".htm")
#: Sign and word of each outcome, so that nothing depends on its colour.
_OUTCOMES: dict[Mark, str] = {"good": "✓ Good.", "warn": "! With care.", "bad": "✗ Poor."}


@checks_arguments
def save_report(result: Reportable, path: str | Path, *, interactive: bool = False) -> None:
    """Write a report of a result: one HTML file with charts that needs no network.

    Args:
        result: What :func:`~trafficgen.fit`, ``fit_population``, ``fit_same_source``, ``compare``,
            ``rank_catalogue``, ``simulate``, ``simulate_workload`` or ``reproduce`` returned.
        path: File to write; one that is there is replaced.
        interactive: Whether charts over time can be zoomed; a small script in the page does it.

    Raises:
        OutputFileError: If the file cannot be written, or its name does not end in ``.html``; seen
            before anything is drawn.
        TrafficgenError: If the extra ``report`` is not installed.

    Example:
        >>> import pathlib, trafficgen
        >>> settings = {"rate_kbps": 1000}
        >>> _ = trafficgen.generate("cbr", "steady.parquet", duration_s=50, settings=settings)
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> comparison = trafficgen.compare(capture, "steady.parquet")
        >>> trafficgen.save_report(comparison, "report.html")
        >>> pathlib.Path("report.html").read_text(encoding="utf-8")[:15]
        '<!DOCTYPE html>'
    """
    write_page(result, path, interactive=interactive)


def write_page(result: Reportable | Report, path: str | Path, *, interactive: bool) -> None:
    """Write a result's report, or one that has been made; see :func:`save_report`."""
    check_page_name(path)
    text = render_html(_report_with_news(result), interactive=interactive)
    with whole_files([Path(path)]) as parts:
        parts[0].write_text(text, encoding="utf-8")


def check_page_name(path: str | Path) -> None:
    """Refuse a name that a page cannot have, before it is drawn."""
    if Path(path).suffix.lower() not in _PAGE_ENDINGS and not is_stream(Path(path)):
        problem = "is not the name of an HTML page"
        raise OutputFileError(file=str(path), problem=problem, remedy="end its name in .html")
    if not Path(path).parent.is_dir():
        problem = f"cannot be written (there is no folder {Path(path).parent})"
        raise OutputFileError(file=str(path), problem=problem, remedy="make the folder first")


@checks_arguments
def save_plots(
    result: Reportable, folder: str | Path, *, formats: str | Sequence[str] = tuple(FORMATS)
) -> list[str]:
    """Write the charts of a result's report as files for papers, ``NAME.pdf`` and so on.

    Args:
        result: What :func:`~trafficgen.fit`, ``fit_population``, ``fit_same_source``, ``compare``,
            ``rank_catalogue``, ``simulate``, ``simulate_workload`` or ``reproduce`` returned.
        folder: Folder to write into; it is made where it is missing.
        formats: Endings, or one of them: ``pdf``, ``svg``, ``png``.

    Returns:
        Names of the files.

    Raises:
        OutputFileError: If a file cannot be written, or an ending is unknown.
        TrafficgenError: If the extra ``report`` is not installed.

    Example:
        >>> import trafficgen
        >>> settings = {"rate_kbps": 1000}
        >>> _ = trafficgen.generate("cbr", "steady.parquet", duration_s=50, settings=settings)
        >>> capture = "examples/captures/http_burst_then_paced.pcap.gz"
        >>> comparison = trafficgen.compare(capture, "steady.parquet")
        >>> names = trafficgen.save_plots(comparison, "plots", formats=["svg"])
        >>> names[:2]
        ['rate.svg', 'cumulative-bytes.svg']
    """
    endings = [formats] if isinstance(formats, str) else formats
    return save_charts(_report_with_news(result).charts, folder, formats=endings)


def _report_with_news(result: object) -> Report:
    report_step("preparing charts")
    return report_of(result)


@singledispatch
def report_of(result: object) -> Report:
    """Make the report of a result; a report is returned unchanged."""
    raise TypeError(f"there is no report of {type(result).__name__}")


report_of.register(Report, lambda report: report)
report_of.register(Comparison, report_comparison)
report_of.register(Fit, report_fit)
report_of.register(PopulationFit, report_population)
report_of.register(Ranking, report_ranking)
report_of.register(Reproduction, report_reproduction)
report_of.register(SameSourceFit, report_same_source)
report_of.register(SimulationResult, report_simulation)
report_of.register(WorkloadResult, report_workload)


def render_html(report: Report, *, interactive: bool = False) -> str:
    """Render a report as the text of its file; the same report gives the same text."""
    jinja2 = require("report", "jinja2")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, finalize=_clean
    )
    total, done = len(report.charts), itertools.count(1)
    report_step("drawing", 0, total, unit="charts")

    def draw(chart: Chart) -> str:
        text = draw_svg(chart, zoomable=interactive)
        report_step("drawing", next(done), total, unit="charts")
        return text

    environment.globals.update(
        group=_group_blocks, draw=draw, outcomes=_OUTCOMES, legend=_list_legend
    )
    script = _read_asset("zoom.js") if interactive else ""
    text: str = environment.from_string(_read_asset("report.html.j2")).render(
        report=report,
        style=_read_asset("report.css"),
        light=_roles(LIGHT),
        dark=_roles(DARK),
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    return text


def _list_legend(chart: Chart) -> list[tuple[Layer, str]]:
    """Return the first layer of each name, with how it is drawn: line, dash, dot, ring, area."""
    entries = {layer.name: layer for layer in reversed(chart.layers) if type(layer) is not Cells}
    shown = []
    for layer in reversed(entries.values()):
        kind = "area" if isinstance(layer, Band | Span) else "rule"
        if isinstance(layer, Curve):
            kinds = ("ring", "dot") if layer.shape == "points" else ("dash", "line")
            kind = kinds[0] if layer.dashed else kinds[1]
        shown.append((layer, kind))
    return shown


def _clean(value: object) -> object:
    """Return a text of the page, such as the name of a file, without what moves a cursor."""
    return printable(value, kept="\n\t\xa0") if type(value) is str else value


def _read_asset(name: str) -> str:
    return (files("trafficgen.reports") / "assets" / name).read_text(encoding="utf-8")


def _roles(colours: dict[Role, str]) -> str:
    """Return the declarations of CSS variables, ``--role-measured`` and so on."""
    return " ".join(f"--role-{role}: {colour};" for role, colour in colours.items())


def _group_blocks(blocks: Sequence[Block]) -> Iterator[tuple[str, list[Block]]]:
    """Yield runs of charts, side by side on the page, and each other block by itself."""
    for is_chart, run in itertools.groupby(blocks, lambda block: isinstance(block, Chart)):
        if is_chart:
            yield "charts", list(run)
            continue
        for block in run:
            yield (block.kind if isinstance(block, Text) else "table"), [block]


def plot_result(result: NotebookView, name: str | None, axes: Axes | None) -> Axes:
    """Draw a chart of a result; see :meth:`~trafficgen.notebook.NotebookView.plot`."""
    require("report", "matplotlib")  # before a report is made
    check_argument("chart", name, str | None)
    if isinstance(result, PublishedModel | CatalogueModel):
        result = play_model(result if isinstance(result, PublishedModel) else result.name)
    has_report = report_of.dispatch(type(result)) is not report_of.dispatch(object)
    found = report_of(result).charts if has_report else ()
    charts = {chart.name: chart for chart in found or charts_of(result)}
    if not charts:
        raise SettingError(f"{result!r} has no chart: it holds nothing that can be drawn")
    if name is not None and name not in charts:
        raise SettingError(
            f"no chart {name!r}{suggest_name(name, charts)}; charts are {', '.join(charts)}"
        )
    return plot_chart(charts[next(iter(charts)) if name is None else name], axes)
