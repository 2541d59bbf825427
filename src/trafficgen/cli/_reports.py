"""Reports and plots that several commands write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trafficgen.cli._output import Messages
from trafficgen.cli._outputs import PLOT_FORMATS, Outputs
from trafficgen.standard_streams import output_path

if TYPE_CHECKING:
    from trafficgen.reports.writing import Reportable


def _check_formats(formats: list[str] | None) -> list[str] | None:
    for ending in formats or ():
        if ending not in PLOT_FORMATS:
            choices = ", ".join(PLOT_FORMATS)
            raise typer.BadParameter(f"Unknown kind of plot {ending!r}. Use {choices}.")
    return formats


ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a report with plots to this file; it needs no network to be read.",
        parser=output_path,
    ),
]
Interactive = Annotated[
    bool,
    typer.Option(
        "--interactive",
        help="Let charts over time of the report be zoomed, by a script within the page.",
    ),
]
PlotsFolder = Annotated[
    Path | None,
    typer.Option("--plots", metavar="DIR", help="Write each plot into this folder, for papers."),
]
PlotFormats = Annotated[
    list[str] | None,
    typer.Option(
        "--plot-format",
        metavar="pdf|svg|png",
        callback=_check_formats,
        help="Kind of file of the plots; may be repeated; default: all three.",
    ),
]


def write_reports(result: Reportable, wanted: Outputs, messages: Messages) -> None:
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
