"""`trafficgen convert`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import trafficgen
from trafficgen.cli._options import (
    AsJson,
    At,
    Memory,
    Quiet,
    Verbose,
    checked_view,
    memory_bytes_of,
    messages_of,
    positive,
)
from trafficgen.cli._output import print_json
from trafficgen.cli._outputs import Force, Outputs, claim
from trafficgen.units import rate_from_text

#: Those of `trafficgen.capture.traces`, which takes long to load for a help text; a test compares.
FORMATS = (
    "packet-list",
    "mgen",
    "ditg",
    "ns3",
    "syncodecs",
    "asu",
    "inet",
    "vr-app",
    "frame-sizes",
)


def convert(
    trace: Annotated[
        str,
        typer.Argument(
            metavar="TRACE",
            help=(
                "Packet list (CSV, Parquet), frame-size trace, trace of ns-3 or INET, log of MGEN"
                " or D-ITG; a capture "
                "or packet table too; - is standard input, a trace with --from."
            ),
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="OUT", help="File to write: .parquet, .csv, .pcap or .pcapng."
        ),
    ],
    force: Force = False,
    from_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help=f"Format; default: by the content. One of: {', '.join(FORMATS)}.",
        ),
    ] = None,
    frame_rate: Annotated[
        float | None,
        typer.Option(metavar="FPS", help="Frames in a second, for traces without times."),
    ] = None,
    payload_bytes: Annotated[
        int | None,
        typer.Option(
            metavar="BYTES",
            help="Largest part of a frame in a packet; default: fills IP packets of 1500 bytes.",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="ip|frame|payload",
            help="What sizes are of, where a list does not say it; default: ip.",
        ),
    ] = None,
    size_unit: Annotated[
        str | None,
        typer.Option(
            metavar="bytes|bits",
            help="What frame sizes count; default: bits in ASU traces, else bytes.",
        ),
    ] = None,
    line_rate: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Rate at which packets of a frame follow, such as 10Mbps; default: all at once.",
        ),
    ] = None,
    rtp: Annotated[
        bool | None,
        typer.Option(
            "--rtp/--no-rtp",
            help="Whether frames travel in RTP packets; default: those of video traces do.",
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            metavar="udp|tcp",
            help="Protocol of a list or a D-ITG log, which names none; default: udp.",
        ),
    ] = None,
    at: At = "sender",
    memory: Memory = "1GB",
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Read a trace of another tool as packets, and write them as a packet table or a capture.

    Lines that cannot be read are counted. What is assumed where a trace says nothing stands in the
    output of -v.

    Example: trafficgen convert frames.txt --frame-rate 25 -o video.parquet

    Example: trafficgen convert packets.csv --sizes payload -o packets.pcap
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    view = cast("Any", checked_view(at))
    rate_bps = None if line_rate is None else rate_from_text(line_rate)
    if line_rate is not None and rate_bps is None:
        raise typer.BadParameter(
            f"{line_rate!r} is no rate such as 10Mbps", param_hint="--line-rate"
        )
    claim(Outputs(packets=out), force=force, inputs=[trace])
    work = trafficgen.convert  # loaded here, so that only the work itself counts as progress
    with messages.progress("converting"):
        done = work(
            trace,
            out,
            from_format=from_format,
            frame_rate_fps=positive(frame_rate, option="--frame-rate"),
            payload_bytes=payload_bytes,
            sizes=cast("Any", sizes),
            size_unit=cast("Any", size_unit),
            line_rate_bps=rate_bps,
            rtp=rtp,
            protocol=cast("Any", protocol),
            at=view,
            memory_bytes=memory_bytes_of(memory),
        )
    if as_json:
        print_json(done.to_json())
        return
    for text in done.assumptions:
        messages.detail(f"assumed: {text}")
    flows = done.table.flows.num_rows
    lost = done.packets - done.written
    messages.say(
        f"{done.packets:,} packets of {flows:,} flow{'s' * (flows != 1)} in {done.duration_s:.3f} s"
        f" read as {done.format}, "
        + (f"{done.written:,} that arrived " if lost else "")
        + f"written to {out}"
    )
