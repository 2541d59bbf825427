"""`trafficgen simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._closed_loop import PATH_HELP, Compete, Settings, settings_of, watched
from trafficgen.cli._options import AsJson, Quiet, Seed, Verbose, messages_of, positive
from trafficgen.cli._output import number, print_json, print_table


def simulate(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Name of a catalogue entry, or a model file.")],
    path: Annotated[str, typer.Option("--path", metavar="PATH", help=PATH_HELP)],
    settings: Settings = None,
    compete: Compete = None,
    duration: Annotated[
        float | None, typer.Option(metavar="S", help="Stop the session after this time, s; default: it ends by itself.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="OUT", help="Write the packets too: .parquet, .csv, .pcap or .pcapng."),
    ] = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Play a model over a path, beside other flows, and say how it went; the same seed gives the same result.

    Example: trafficgen simulate wmedia9_nichols2004 --path rate=725kbps,delay=45ms,queue=80p --compete tcp@-10s

    Example: trafficgen simulate realvideo10_boyden2005 --path rate=1Mbps,delay=45ms,loss=3%,loss_start=15s
    -o packets.parquet

    Example: trafficgen simulate model.json --path rate=1Mbps,delay=20ms --compete cbr:400kbps --json
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    play = trafficgen.simulate  # loaded here, so that only the work itself counts as progress
    result = watched(
        lambda: play(
            model,
            path=path,
            settings=dict(settings_of(settings)),
            compete=compete or [],
            seed=seed,
            duration_s=positive(duration, option="--duration"),
            out=out,
        ),
        messages=messages,
        what="simulating",
    )
    if as_json:
        print_json(result.to_dict())
        return
    _print_session(result)
    _print_flows(result)
    messages.detail(f"{result.run.outcome.packet_events:,} packet events, seed {seed}")
    if out is not None:
        messages.say(f"{result.run.outcome.packets:,} packets written to {out}")


def _print_session(result: trafficgen.SimulationResult) -> None:
    print(f"silence    {number(result.silence_s)} s")
    for name, phase in (("buffering", result.buffering), ("playout", result.playout)):
        if phase is not None:
            print(
                f"{name:10} {number(phase.duration_s)} s at {number(phase.rate_kbps)} kbps"
                f" ({number(phase.offered_kbps)} kbps offered, {number(100 * phase.loss, digits=3)}% lost)"
            )
    for change in result.events.level_changes():
        print(f"level      {number(change.from_kbps)} to {number(change.to_kbps)} kbps at {number(change.time_s)} s")
    for stall in result.events.stalls:
        print(f"stall      {number(stall.duration_s)} s at {number(stall.start_s)} s")
    if result.events.thinned_s is not None:
        print(f"thinned    from {number(result.events.thinned_s)} s on")
    times = {name.removesuffix("_s"): time_s for name, time_s in result.events.times_s.items() if time_s is not None}
    print("times      " + ", ".join(f"{name.replace('_', ' ')} {number(time_s)} s" for name, time_s in times.items()))


def _print_flows(result: trafficgen.SimulationResult) -> None:
    rows = [
        [
            flow.name,
            number(flow.measure.rate_kbps),
            f"{number(100 * flow.measure.loss, digits=3)}%",
            number(flow.delay_s.mean),
            number(flow.delay_s.p95),
            str(flow.measure.retransmissions),
        ]
        for flow in result.flows
    ]
    print()
    print_table(["flow", "kbps", "lost", "mean delay s", "p95 delay s", "sent again"], rows, right=(1, 2, 3, 4, 5))
