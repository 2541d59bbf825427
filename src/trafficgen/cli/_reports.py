"""Reports and plots that several commands write."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trafficgen.cli._output import Messages
from trafficgen.options import option
from trafficgen.standard_streams import output_path

if TYPE_CHECKING:
    from trafficgen.reports.writing import Reportable


#: Kinds of plots, as :mod:`trafficgen.reports.drawing` makes them; by default all.
PLOT_FORMATS = ("pdf", "svg", "png")


def _parse_kind(text: str) -> str:
    if text not in PLOT_FORMATS:
        raise ValueError(f"Unknown kind of plot {text!r}. Use {', '.join(PLOT_FORMATS)}.")
    return text


@dataclass(frozen=True)
class Page:
    """The report of a result."""

    report: Path | None = option(
        None,
        "--report",
        metavar="FILE.html",
        help="Write a report with plots to this file; it can be read offline.",
        parse=output_path,
    )


@dataclass(frozen=True)
class Reports(Page):
    """Reports and plots of a result."""

    interactive: bool = option(
        False,
        "--interactive",
        help="Make the charts over time of the report zoomable (a script inside the page).",
    )
    plots: Path | None = option(
        None, "--plots", metavar="DIR", help="Write each plot into this folder, for papers."
    )
    plot_formats: list[str] | None = option(
        None,
        "--plot-format",
        metavar="pdf|svg|png",
        parse=_parse_kind,
        help="Kind of file of the plots; may be repeated; default: all three.",
        values=PLOT_FORMATS,
    )


def write_reports(result: Reportable, wanted: Reports, messages: Messages) -> None:
    """Write the report and the plots of a result, where they are wanted."""
    if wanted.report is None and wanted.plots is None:
        return
    from trafficgen.reports.drawing import save_charts  # noqa: PLC0415 - most runs write none
    from trafficgen.reports.writing import report_of, write_page  # noqa: PLC0415

    names: list[str] = []
    with messages.progress("drawing"):
        made = report_of(result)  # once for both: the report of a fit plays the model
        if wanted.report is not None:
            write_page(made, wanted.report, interactive=wanted.interactive)
        if wanted.plots is not None:
            formats = wanted.plot_formats or PLOT_FORMATS
            names = save_charts(made.charts, wanted.plots, formats=formats)
    if wanted.report is not None:
        messages.say(f"report written to {wanted.report}")
    if wanted.plots is not None:
        messages.say(f"{len(names)} plots written to {wanted.plots}")
