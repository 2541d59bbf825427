"""Reports and plots that several commands write: their options, and writing them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

import trafficgen
from trafficgen.cli._output import Messages
from trafficgen.progress import Step

if TYPE_CHECKING:
    from trafficgen.api.reporting import Reportable


def _known_formats(formats: list[str] | None) -> list[str] | None:
    from trafficgen.reports.drawing import FORMATS  # noqa: PLC0415 - commands that draw nothing start without it

    for ending in formats or ():
        if ending not in FORMATS:
            raise typer.BadParameter(
                f"no plots are made as {ending!r}; choose {', '.join(FORMATS)}"
            )
    return formats


ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a report with plots to this file; it needs no network to be read.",
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
        callback=_known_formats,
        help="Kind of file of the plots; may be repeated; default: all three.",
    ),
]


class ReportOptions(TypedDict):
    """What is asked for of reports, as :func:`write_reports` takes it."""

    report: Path | None
    plots: Path | None
    plot_formats: list[str] | None


def write_reports(
    result: Reportable,
    *,
    report: Path | None,
    plots: Path | None,
    plot_formats: list[str] | None,
    messages: Messages,
) -> None:
    """Write what was asked for of a result."""
    if report is None and plots is None:
        return
    from trafficgen.api.reporting import report_of  # noqa: PLC0415 - most runs write none

    names: list[str] = []
    with messages.progress("drawing") as progress:
        made = report_of(result)  # once for both: the report of a fit plays the model
        if report is not None:
            trafficgen.save_report(made, report)
        if plots is not None:
            names = trafficgen.save_plots(
                made,
                plots,
                formats=plot_formats or ("pdf", "svg", "png"),
                progress=lambda done, total: progress.step(Step("drawing", done, total, "plots")),
            )
    if report is not None:
        messages.say(f"report written to {report}")
    if plots is not None:
        messages.say(f"{len(names)} plots written to {plots}")
