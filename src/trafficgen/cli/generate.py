"""`trafficgen generate`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._completion import complete_model
from trafficgen.cli._options import (
    Compete,
    OutsideFiles,
    PathOption,
    Settings,
    expand_options,
    settings_of,
)
from trafficgen.cli._output import Messages, say_line
from trafficgen.cli._outputs import Force, Outputs, claim, files_among
from trafficgen.formatting import format_count, format_duration, size_text
from trafficgen.standard_streams import output_place
from trafficgen.workloads.options import WorkloadOptions

ModelName = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        autocompletion=complete_model,
        help=(
            "Model file of fit, catalogue name, or workload file (YAML) of several models; - is"
            " standard input."
        ),
    ),
]
PacketsPlace = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--out",
        metavar="OUT",
        help=(
            "File to write: .parquet, .csv, .pcap or .pcapng; without an ending a folder, a"
            " partitioned Parquet dataset; - is standard output, with --to. A URL (file://,"
            " s3://) gets the whole file at the end."
        ),
        parser=output_place,
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run", help="Estimate sessions, packets, bytes and time from a sample; write nothing."
    ),
]


@expand_options
def generate(
    model: ModelName,
    options: WorkloadOptions,
    *,
    out: PacketsPlace = None,
    dry_run: DryRun = False,
    settings: Settings = None,
    path: PathOption = None,
    compete: Compete = None,
    force: Force = False,
    outside_files: OutsideFiles = False,
    messages: Messages,
) -> None:
    """Play a model or a workload into packets.

    The same seed gives the same bytes. Without --path a fitted model plays as it was fitted, a
    catalogue entry over a path without limits (1 Gbit/s, 10 ms one way).

    Example: trafficgen generate model.json -o synthetic.pcap --seed 1

    Example: trafficgen generate model.json -o workload.parquet --sessions 20 --arrival-rate 0.5

    Example: trafficgen generate model.json -o fleet --sessions 500 --arrival-rate 2 --workers 2
    --memory 500MB

    Example: trafficgen generate realplayer8_chung2002 -o evening.pcap --for 1h --arrivals
    poisson:20/h --popularity zipf:0.8 --snaplen 96

    Example: trafficgen fit capture.pcapng -o - | trafficgen generate - -o synthetic.pcap

    Example: trafficgen generate evening.yaml -o evening --for 30min --workers 2

    Example: trafficgen generate evening.yaml -o evening.pcap --for 1h --sessions 5000 --dry-run

    Example: trafficgen generate realvideo10_boyden2005 -o received.pcap --path
    rate=725kbps,delay=45ms,queue=80p --compete tcp@-10s --at receiver
    """
    options = replace(
        options, settings=dict(settings_of(settings)), path=path, compete=compete or ()
    )
    if dry_run:
        _estimate(model, out, options, messages)
        return
    if out is None:
        raise typer.BadParameter(
            "Missing. Name a file or folder to write, or give --dry-run.",
            param_hint="'-o' / '--out'",
        )
    written_to = Outputs(packets=out, to_format=options.to_format)
    claim(
        written_to,
        force=force,
        inputs=files_among(model, path),
        check_names=partial(_check_names, model, options),
    )
    play = trafficgen.generate_workload  # loaded here, so that only the work counts as progress
    with messages.progress("generating"):
        written = play(model, out, **vars(options))
    _say_written(written, out, messages)


def _check_names(model: str, options: WorkloadOptions) -> None:
    """Raise the error of a wrong name or option of a model, its arrivals or its path."""
    from trafficgen.workloads.files import load_playable  # noqa: PLC0415 - of refusals alone
    from trafficgen.workloads.generate import check_playable  # noqa: PLC0415

    check_playable(load_playable(model), options)


def _estimate(model: str, out: str | None, options: WorkloadOptions, messages: Messages) -> None:
    """Print what the workload will be."""
    estimate_workload = trafficgen.estimate_workload
    with messages.progress("sampling sessions"):
        estimate = estimate_workload(model, out or "packets.parquet", **vars(options))
    for line in estimate.lines():
        say_line(line)


def _say_written(written: trafficgen.WrittenWorkload, out: str, messages: Messages) -> None:
    """Say how much was written, and what people need to know about it."""
    packets = format_count(written.packets, "packet")
    if written.sessions > 1:
        sessions = written.count_text or f"{written.sessions:,} sessions"
        packets = f"{sessions}, {packets}, {size_text(written.ip_bytes)} of IP"
    messages.say(f"{packets} in {format_duration(written.duration_s)} written to {out}")
    for remark in written.remarks:
        messages.say(remark)
