"""`trafficgen generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import trafficgen
from trafficgen.cli._closed_loop import Compete, PathOption, Settings, settings_of
from trafficgen.cli._options import (
    At,
    Memory,
    Quiet,
    Seed,
    Snaplen,
    Verbose,
    checked_view,
    messages_of,
    positive,
    size_bytes_of,
)


def generate(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="Model file, as fit writes it, or a catalogue name."),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="File to write: .parquet, .csv, .pcap or .pcapng; without an ending a folder, a partitioned Parquet"
            " dataset.",
        ),
    ],
    sessions: Annotated[int, typer.Option(min=1, help="Number of sessions, each with its own addresses.")] = 1,
    duration: Annotated[
        float | None, typer.Option(metavar="S", help="Length of each session, s; default: that of the model.")
    ] = None,
    arrival_rate: Annotated[
        float | None,
        typer.Option(metavar="R", help="Sessions starting in a second, as a Poisson process; default: all together."),
    ] = None,
    settings: Settings = None,
    path: PathOption = None,
    compete: Compete = None,
    seed: Seed = 0,
    at: At = "sender",
    snaplen: Snaplen = None,
    workers: Annotated[
        int,
        typer.Option(min=1, help="Workers: processes where there is much to make. The result does not depend on them."),
    ] = 1,
    memory: Memory = "1GB",
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Play a model into packets, open loop or over a path with --path; the same seed gives the same bytes.

    Without --path a fitted model plays as it was fitted, a catalogue entry over a path that limits nothing (1 Gbps,
    10 ms one way).

    Example: trafficgen generate model.json -o synthetic.pcap --seed 1

    Example: trafficgen generate model.json -o workload.parquet --sessions 20 --arrival-rate 0.5

    Example: trafficgen generate model.json -o fleet --sessions 500 --arrival-rate 2 --workers 2 --memory 500MB

    Example: trafficgen generate realvideo10_boyden2005 -o received.pcap --path rate=725kbps,delay=45ms,queue=80p
    --compete tcp@-10s --at receiver
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    view = cast("Any", checked_view(at))
    memory_bytes = size_bytes_of(memory, option="--memory")
    play = trafficgen.generate_workload  # loaded here, so that only the work itself counts as progress
    with messages.progress("generating"):
        written = play(
            model,
            out,
            sessions=sessions,
            duration_s=positive(duration, option="--duration"),
            arrival_rate_per_s=positive(arrival_rate, option="--arrival-rate"),
            seed=seed,
            workers=workers,
            memory_bytes=memory_bytes,
            at=view,
            snaplen_bytes=snaplen,
            settings=dict(settings_of(settings)),
            path=path,
            compete=compete or [],
        )
    messages.say(f"{written.packets:,} packets in {written.duration_s:.3f} s written to {out}")
