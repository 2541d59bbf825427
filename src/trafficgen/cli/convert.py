"""`trafficgen convert`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import trafficgen
from trafficgen.capture.options import ConvertOptions
from trafficgen.cli._options import AsJson, expand_options
from trafficgen.cli._output import Messages, print_json
from trafficgen.cli._outputs import Force, Outputs, claim, refuse_missing
from trafficgen.formatting import format_count, format_duration
from trafficgen.standard_streams import output_path


@expand_options
def convert(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="TRACE",
            help=(
                "Packet list (CSV, Parquet), frame-size trace, trace of ns-3 or INET, log of MGEN"
                " or D-ITG; a capture or packet table too; - is standard input."
            ),
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="File to write: .parquet, .csv, .pcap or .pcapng; - (with --to): standard output.",
            parser=output_path,
        ),
    ],
    options: ConvertOptions,
    *,
    force: Force = False,
    as_json: AsJson = False,
    messages: Messages,
) -> None:
    """Turn a trace of another tool into a packet table or a capture.

    Lines that cannot be read are counted. -v shows what is assumed where a trace says nothing.

    Example: trafficgen convert frames.txt --frame-rate 25 -o video.parquet

    Example: trafficgen convert packets.csv --sizes payload -o packets.pcap
    """
    claim(
        Outputs(packets=out, to_format=options.to_format),
        force=force,
        inputs=[trace],
        as_json=as_json,
        quiet=messages.quiet,
        check_names=partial(_check_names, trace, options),
    )
    work = trafficgen.convert  # loaded here, so that only the work itself counts as progress
    with messages.progress("converting"):
        done = work(trace, out, **vars(options))
    if as_json:
        print_json(done.to_json())
        return
    for text in done.assumptions:
        messages.detail(f"assumed: {text}")
    flows = format_count(done.table.flows.num_rows, "flow")
    lost = done.packets - done.written
    messages.say(
        f"{format_count(done.packets, 'packet')} of {flows} in {format_duration(done.duration_s)}"
        f" read as {done.format}, "
        + (f"{done.written:,} that arrived " if lost else "")
        + f"written to {out}"
    )


def _check_names(trace: str, options: ConvertOptions) -> None:
    """Refuse a trace that is missing, and names of formats and sizes that there are not."""
    from trafficgen.capture.convert import check_convert_options  # noqa: PLC0415 - of refusals

    check_convert_options(options)
    refuse_missing([trace])
