"""`trafficgen simulate`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._closed_loop import PATH_HELP, Compete, Settings, settings_of
from trafficgen.cli._curves import Curve, Marks, curve_bins, letters_of, print_curves
from trafficgen.cli._options import AsJson, Quiet, Seed, Verbose, messages_of, positive
from trafficgen.cli._output import number, print_json
from trafficgen.cli._outputs import Force, Outputs, claim, files_among
from trafficgen.cli._reports import PlotFormats, PlotsFolder, ReportFile, write_reports
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line


def simulate(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Name of a catalogue entry, or a model file.")
    ],
    path: Annotated[str, typer.Option("--path", metavar="PATH", help=PATH_HELP)],
    settings: Settings = None,
    compete: Compete = None,
    duration: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="Stop the session after this time, s; default: it ends by itself."
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--out",
            metavar="OUT",
            help="Write the packets too: .parquet, .csv, .pcap or .pcapng.",
        ),
    ] = None,
    report: ReportFile = None,
    plots: PlotsFolder = None,
    plot_formats: PlotFormats = None,
    force: Force = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Play a model over a path, beside other flows, and say how it went; the same seed gives the
    same result.

    Example: trafficgen simulate wmedia9_nichols2004 --path rate=725kbps,delay=45ms,queue=80p
    --compete tcp@-10s

    Example: trafficgen simulate realvideo10_boyden2005 --path
    rate=1Mbps,delay=45ms,loss=3%,loss_start=15s -o packets.parquet

    Example: trafficgen simulate model.json --path rate=1Mbps,delay=20ms --compete cbr:400kbps
    --json
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    written = Outputs(packets=out, report=report, plots=plots, plot_formats=plot_formats)
    claim(written, force=force, inputs=files_among(model, path))
    play = trafficgen.simulate  # loaded here, so that only the work itself counts as progress
    with messages.progress("simulating"):
        result = play(
            model,
            path=path,
            settings=dict(settings_of(settings)),
            compete=compete or [],
            seed=seed,
            duration_s=positive(duration, option="--duration"),
            out=out,
        )
    write_reports(result, report=report, plots=plots, plot_formats=plot_formats, messages=messages)
    if as_json:
        print_json(result.to_dict())
        return
    _print_session(result)
    _print_flows(result)
    _print_series(result)
    messages.detail(f"{result.run.outcome.packet_events:,} packet events, seed {seed}")
    if out is not None:
        messages.say(f"{result.run.outcome.packets:,} packets written to {out}")


def _print_session(result: trafficgen.SimulationResult) -> None:
    say_line(f"silence    {number(result.silence_s)} s")
    for name, phase in (("buffering", result.buffering), ("playout", result.playout)):
        if phase is not None:
            say_line(
                f"{name:10} {number(phase.duration_s)} s at {number(phase.rate_kbps)} kbps"
                f" ({number(phase.offered_kbps)} kbps offered,"
                f" {number(100 * phase.loss, digits=3)}% lost)"
            )
    for change in result.events.level_changes():
        say_line(
            f"level      {number(change.from_kbps)} to {number(change.to_kbps)} kbps at"
            f" {number(change.time_s)} s"
        )
    for stall in result.events.stalls:
        say_line(f"stall      {number(stall.duration_s)} s at {number(stall.start_s)} s")
    if result.events.thinned_s is not None:
        say_line(f"thinned    from {number(result.events.thinned_s)} s on")
    times = {
        name.removesuffix("_s"): time_s
        for name, time_s in result.events.times_s.items()
        if time_s is not None
    }
    said = ", ".join(
        f"{name.replace('_', ' ')} {number(time_s)} s" for name, time_s in times.items()
    )
    say_line(f"times      {said}")


def _print_series(result: trafficgen.SimulationResult) -> None:
    """Print what went over the path and what the player had, over time."""
    from trafficgen.tables import average_parts  # noqa: PLC0415 - --help needs no tables

    series = result.series
    count = len(series["media_kbps"])
    if not count:
        return
    rates = {"received": "media_kbps", "offered": "media_offered_kbps", "encoding": "encoding_kbps"}
    rates |= {
        name.removesuffix("_kbps"): name
        for name in series
        if name.endswith("_kbps") and name not in _NAMED
    }
    start_s, end_s = series["start_s"], series["start_s"] + count * series["interval_s"]
    bins = min(count, curve_bins([*rates, "buffer"]))
    curves: list[Curve | Marks] = [
        Curve(name, average_parts(series[key], bins), "kbps") for name, key in rates.items()
    ]
    curves.append(Curve("buffer", average_parts(series["buffer_s"], bins), "s"))
    curves = [
        curve
        for curve in curves
        if not isinstance(curve, Curve) or any(map(math.isfinite, curve.values))
    ]
    letters = letters_of(_phase_intervals(result), bins=bins, start_s=start_s, end_s=end_s)
    meaning = ", ".join(
        f"{letter} {_PHASE_LETTERS[letter]}" for letter in _PHASE_LETTERS if letter in letters
    )
    curves.append(Marks("phases", letters, meaning))
    print()
    print_curves("over time (IP bytes)", curves, start_s=start_s, end_s=end_s)


_NAMED = ("media_kbps", "media_offered_kbps", "encoding_kbps")
_PHASE_LETTERS = {"b": "buffering", "p": "playout", "s": "stall"}


def _phase_intervals(result: trafficgen.SimulationResult) -> list[tuple[float, float, str]]:
    """Return the phases of the source, and the stalls of the player behind them."""
    playout_s, buffering = result.events.playout_start_s(), result.events.buffering()
    intervals = [] if playout_s is None else [(playout_s, result.end_s, "p")]
    if buffering is not None:
        start_s, end_s = buffering
        intervals.append((start_s, result.end_s if end_s is None else end_s, "b"))
    return intervals + [
        (stall.start_s, stall.start_s + stall.duration_s, "s") for stall in result.events.stalls
    ]


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
    print_table(
        ["flow", "kbps", "lost", "mean delay s", "p95 delay s", "sent again"],
        rows,
        right=(1, 2, 3, 4, 5),
    )
