"""`trafficgen generate`."""

from __future__ import annotations

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
    memory_bytes_of,
    messages_of,
    positive,
    seconds_of,
)
from trafficgen.cli._outputs import Force, Outputs, claim, files_among


def generate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help=(
                "Model file, as fit writes it, a catalogue name, or a workload file (YAML) of"
                " several."
            ),
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help=(
                "File to write: .parquet, .csv, .pcap or .pcapng; without an ending a folder, a"
                " partitioned Parquet"
                " dataset. A URL (file://, s3://) gets the whole file at the end."
            ),
        ),
    ],
    sessions: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=(
                "Number of sessions, each with its own addresses; default: 1, as many as start"
                " within --for, or as the"
                " workload file says."
            ),
        ),
    ] = None,
    window: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="Time in which sessions start, such as 24h."),
    ] = None,
    duration: Annotated[
        float | None,
        typer.Option(metavar="S", help="Length of each session, s; default: that of the model."),
    ] = None,
    arrival_rate: Annotated[
        float | None,
        typer.Option(
            metavar="R",
            help="Sessions starting in a second, as a Poisson process; default: all together.",
        ),
    ] = None,
    arrivals: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help=(
                "When sessions start: together (default), poisson:0.5/s, hourly:FILE (24 rates of"
                " the day),"
                " flash:base=0.1/s,start=10min,rise=1min,peak=20,decay=5min, or file:FILE (one time"
                " a line)."
            ),
        ),
    ] = None,
    popularity: Annotated[
        str | None,
        typer.Option(
            metavar="LAW", help="How often each clip is played: zipf:0.8, or zipf:0.8,clips=100."
        ),
    ] = None,
    force: Force = False,
    settings: Settings = None,
    path: PathOption = None,
    compete: Compete = None,
    seed: Seed = 0,
    at: At = "sender",
    snaplen: Snaplen = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1,
            help=(
                "Workers: processes where there is much to make. The result does not depend on"
                " them."
            ),
        ),
    ] = 1,
    memory: Memory = "1GB",
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=(
                "Dask scheduler whose workers make the sessions, such as tcp://host:8786 (extra"
                " cluster)."
            ),
        ),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help=(
                "Where finished blocks wait for the merge: a folder or URL that all workers"
                " reach; default: beside OUT."
            ),
        ),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Play a model into packets, open loop or over a path with --path; the same seed gives the same
    bytes.

    Without --path a fitted model plays as it was fitted, a catalogue entry over a path that limits
    nothing (1 Gbps, 10 ms one way).

    Example: trafficgen generate model.json -o synthetic.pcap --seed 1

    Example: trafficgen generate model.json -o workload.parquet --sessions 20 --arrival-rate 0.5

    Example: trafficgen generate model.json -o fleet --sessions 500 --arrival-rate 2 --workers 2
    --memory 500MB

    Example: trafficgen generate realplayer8_chung2002 -o evening.pcap --for 1h --arrivals
    poisson:20/h --popularity zipf:0.8 --snaplen 96

    Example: trafficgen generate evening.yaml -o evening --for 30min --workers 2

    Example: trafficgen generate realvideo10_boyden2005 -o received.pcap --path
    rate=725kbps,delay=45ms,queue=80p --compete tcp@-10s --at receiver
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    view = cast("Any", checked_view(at))
    memory_bytes = memory_bytes_of(memory)
    claim(Outputs(packets=out), force=force, inputs=files_among(model, path))
    play = (
        trafficgen.generate_workload
    )  # loaded here, so that only the work itself counts as progress
    with messages.progress("generating"):
        written = play(
            model,
            out,
            sessions=sessions,
            window_s=seconds_of(window, option="--for"),
            duration_s=positive(duration, option="--duration"),
            arrival_rate_per_s=positive(arrival_rate, option="--arrival-rate"),
            arrivals=arrivals,
            popularity=popularity,
            seed=seed,
            workers=workers,
            scheduler=scheduler,
            storage=storage,
            memory_bytes=memory_bytes,
            at=view,
            snaplen_bytes=snaplen,
            settings=dict(settings_of(settings)),
            path=path,
            compete=compete or [],
        )
    messages.say(f"{written.packets:,} packets in {written.duration_s:.3f} s written to {out}")
