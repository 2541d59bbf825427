"""`trafficgen export`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trafficgen
from trafficgen.cli._completion import complete_setting, complete_traffic
from trafficgen.cli._options import AsJson, OutsideFiles, Snaplen, expand_options, settings_of
from trafficgen.cli._output import Messages, number, print_json, say_line
from trafficgen.cli._outputs import Force, Outputs, claim, refuse_missing
from trafficgen.export.options import ExportOptions
from trafficgen.formatting import format_count, format_duration, one_line, size_text
from trafficgen.standard_streams import as_given

if TYPE_CHECKING:
    from trafficgen.packet_files.report import ProjectionReport

_LISTED_FILES = 8
_LONGEST_NOTE = 1000


@expand_options
def export(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            autocompletion=complete_traffic,
            help=(
                "Packet table (.parquet, .csv) or capture, exported packet by packet; a"
                " fitted model (.json),"
                " whose law is exported for targets that draw it themselves; or a workload file"
                " (.yaml), exported in bounded memory; - is standard input."
            ),
        ),
    ],
    options: ExportOptions,
    *,
    force: Force = False,
    outside_files: OutsideFiles = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of the target, such as destination=192.0.2.7; see the reference.",
            autocompletion=complete_setting,
        ),
    ] = None,
    snaplen: Snaplen = None,
    as_json: AsJson = False,
    messages: Messages,
) -> None:
    """Write packets, or a model's law, as input of another tool.

    A README says how to use the files, and a report what the tool cannot express.

    Example: trafficgen export synthetic.parquet --to mgen -o for-mgen --set destination=192.0.2.7

    Example: trafficgen export model.json --to ns3 -o for-ns3

    Example: trafficgen export evening.yaml --to trex -o for-trex --for 1h
    """
    from trafficgen.export.exporting import find_target  # noqa: PLC0415 - --help needs none of it

    given: dict[str, Any] = dict(settings_of(settings))
    # A wrong target or setting counts more than a wrong output.
    target, _ = find_target(replace(options, settings=given))
    if snaplen is not None:
        if not any(setting.name == "snaplen_bytes" for setting in target.settings):
            raise typer.BadParameter(
                f"{target.name} keeps whole packets or none; leave --snaplen out, or export to pcap"
                " or pcapng",
                param_hint="--snaplen",
            )
        given["snaplen_bytes"] = snaplen
    out = Path(options.directory)
    claim(
        Outputs(export=out),
        force=force,
        inputs=[table],
        as_json=as_json,
        quiet=messages.quiet,
        check_names=partial(_refuse_missing, table),
    )
    work = trafficgen.export  # loaded here, so that only the work itself counts as progress
    with messages.progress("exporting"):
        report = work(table, **vars(replace(options, settings=given)))
    if as_json:
        print_json(report.to_json())
        return
    if report.bytes_before is not None:
        before, after = size_text(report.bytes_before), size_text(report.bytes_after)
        messages.detail(f"{before} before, {after} after")
    _print_report(report, as_given(str(out)))
    if report.removed:
        messages.say(f"files of an earlier export removed from {out}: {_listed(report.removed)}")


def _refuse_missing(table: str) -> None:
    from trafficgen.models.published import entry_names  # noqa: PLC0415 - of refusals alone

    refuse_missing([table] if table not in entry_names() else [])


def _print_report(report: ProjectionReport, out: str) -> None:
    whole = "the model's law" if report.kind == "model" else "the path"
    what = whole if report.packets is None else format_count(report.packets, "packet")
    say_line(f"{what} written to {out}: {_listed(report.files)}")
    if report.timing_error_s is not None:
        error = f"timing error at most {format_duration(report.timing_error_s.max)}"
        changed = report.packets_changed
        say_line(
            error
            if changed is None
            else f"{format_count(changed, 'packet')} changed in size; {error}"
        )
    for metric, distance in report.distances.items():
        say_line(f"distance {one_line(metric)}: {number(distance)} (0: the same)")
    for text in report.cannot_express:
        say_line(f"Lost: {one_line(text, longest=_LONGEST_NOTE)}")


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - _LISTED_FILES
    return f"{', '.join(names[:_LISTED_FILES])}{f' and {more} more files' if more > 0 else ''}"
