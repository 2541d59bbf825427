"""Files of commands: packets, reports and plots, refused before any work is done."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trafficgen.cli._output import Messages
from trafficgen.errors import OutputFileError
from trafficgen.options import option
from trafficgen.outputs import (
    check_files,
    check_folder,
    existing_kept,
    exists_already,
    is_stream,
    keep_existing,
)
from trafficgen.standard_streams import STANDARD_INPUT, STANDARD_OUTPUT, output_path

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


Force = Annotated[bool, typer.Option("--force", help="Replace files that exist.")]


@dataclass(frozen=True)
class Outputs:
    """What a command is to write.

    Attributes:
        packets: Packets; a URL may name where they go.
        to_format: Their format; None: the one that the ending names.
        file: A file of another kind.
        export: Folder of an export.
        reports: Its report and plots.
    """

    packets: str | Path | None = None
    to_format: str | None = None
    file: Path | None = None
    export: Path | None = None
    reports: Reports = field(default_factory=Reports)


def refuse_repeated_streams(names: Sequence[str]) -> None:
    """Refuse standard input or a pipe that is named twice: the second would be waited for."""
    for name in names:
        if names.count(name) > 1 and (name == STANDARD_INPUT or is_stream(Path(name))):
            what = "standard input (-)" if name == STANDARD_INPUT else f"{name} is a pipe, and"
            raise typer.BadParameter(f"{what} is named twice; give one input a file")


def claim(
    outputs: Outputs,
    *,
    force: bool,
    inputs: Iterable[str | Path | None] = (),
    as_json: bool = False,
    quiet: bool = False,
    check_names: Callable[[], object] | None = None,
) -> None:
    """Refuse what cannot be written before any work; without ``force`` existing files are kept.

    Where an output is refused, a wrong name among the inputs and options is reported instead: it
    is the greater mistake.

    Args:
        outputs: What is to be written.
        force: Whether files that exist are replaced.
        inputs: What is read, as given; names that are not files are left alone.
        as_json: Whether the command prints JSON on standard output.
        quiet: Whether nothing is printed where standard output gets an output.
        check_names: Raises the error of a wrong name, if there is one.

    Raises:
        OutputFileError: If a file exists and is not to be replaced, is an input too, or cannot be
            written.
        ExportError: If the ending of the packets names no format.
    """
    if outputs.reports.interactive and outputs.reports.report is None:
        raise typer.BadParameter("give --report FILE.html too", param_hint="--interactive")
    if not force:
        keep_existing()
    read = [name for name in inputs if name is not None]
    names = list(map(str, read))
    refuse_repeated_streams(names)
    _reserve_stdout(outputs, as_json=as_json, quiet=quiet)
    try:
        _check_outputs(outputs, read)
    except OutputFileError:
        if check_names is not None:
            check_names()
        raise


def _check_outputs(outputs: Outputs, inputs: Sequence[str | Path]) -> None:
    files = [path for path in (outputs.file, outputs.reports.report) if path is not None]
    written = [*files, *_check_packets(outputs.packets, outputs.to_format)]
    folders = [path for path in (outputs.export, outputs.reports.plots) if path is not None]
    _refuse_twice([*written, *folders])
    read = [Path(name) for name in inputs if os.path.exists(name)]  # noqa: PTH110 - any text
    for path in written:
        _refuse_input(path, read)
    for path in files:
        check_files([path])
    if outputs.reports.report is not None:
        from trafficgen.reports.writing import check_page_name  # noqa: PLC0415 - of reports alone

        check_page_name(outputs.reports.report)
    if outputs.export not in (None, STANDARD_OUTPUT):
        _check_export(outputs.export, read)
    if outputs.reports.plots is not None:
        _check_plots(outputs.reports.plots, outputs.reports.plot_formats or PLOT_FORMATS)


def refuse_missing(names: Iterable[str | Path]) -> None:
    """Refuse inputs that do not exist."""
    from trafficgen.capture.inputs import refuse_missing as refuse  # noqa: PLC0415 - of refusals

    refuse(names)


def files_among(*names: str | None) -> list[str]:
    """Return those of some names that are files: a folder may be named as a published model is."""
    return [name for name in names if name is not None and os.path.isfile(name)]  # noqa: PTH113 - any text


def _reserve_stdout(outputs: Outputs, *, as_json: bool, quiet: bool) -> None:
    """Leave standard output to the output that goes there: what is printed goes to stderr."""
    binary = None if outputs.to_format == "csv" else outputs.packets
    given = (outputs.packets, outputs.file, outputs.export, outputs.reports.report)
    count = sum(str(place) == str(STANDARD_OUTPUT) for place in given)
    if not count:
        return
    if count > 1 or as_json:
        other = "--json and -o -" if as_json else "two outputs"
        raise typer.BadParameter(f"{other} both take standard output; name a file for one")
    if str(binary) == str(STANDARD_OUTPUT) and sys.stdout.isatty():
        raise typer.BadParameter("a terminal cannot show packets; add > FILE, | COMMAND or -o FILE")
    sys.stdout = io.StringIO() if quiet else sys.stderr


def _check_packets(out: str | Path | None, to_format: str | None) -> list[Path]:
    if out is None:
        return []
    from trafficgen.packet_files.destinations import check_output, output_paths  # noqa: PLC0415 - --help needs none of it

    check_output(out, to_format)
    return output_paths(out, to_format)


def _refuse_twice(written: Sequence[Path]) -> None:
    seen: set[str] = set()
    for path in written:
        place = os.path.realpath(path)
        if place in seen and not is_stream(path):
            raise OutputFileError(
                file=str(path), problem="is given for two outputs", remedy="give two names"
            )
        seen.add(place)


def _refuse_input(path: Path, read: Sequence[Path]) -> None:
    """Refuse to replace what is read, under whatever name, even with ``--force``."""
    if is_stream(path) or not path.exists():
        return
    place = os.path.realpath(path)
    for source in read:
        inside = path.is_dir() and Path(os.path.realpath(source)).is_relative_to(place)
        if inside or any(one.exists() and path.samefile(one) for one in _files_of(source, path)):
            raise OutputFileError(
                file=str(path), problem="is an input too", remedy="give another name for the output"
            )


def _files_of(source: Path, path: Path) -> tuple[Path, ...]:
    """Return the files of an input that a file may be: those of a dataset, and a CSV's flows."""
    flows, part = source.with_suffix(".flows.csv"), source / path.name
    is_part = path.suffix == ".parquet" or path.name.startswith("_")
    return (source, *([flows] if source.suffix == ".csv" else []), *([part] if is_part else []))


def _check_export(folder: Path, read: Sequence[Path]) -> None:
    from trafficgen.export.exporting import read_manifest  # noqa: PLC0415 - --help needs none of it

    earlier = read_manifest(folder)
    check_folder(folder, earlier=earlier)
    for path in read:
        if path.name in earlier:
            _refuse_input(folder / path.name, [path])


def _check_plots(folder: Path, formats: Sequence[str]) -> None:
    """Refuse a folder with plots: which of them are replaced is known only after the work."""
    check_folder(folder)
    if existing_kept() and folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix.removeprefix(".") in formats:
                raise exists_already(path)
