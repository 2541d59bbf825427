"""`trafficgen simulate`."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._completion import complete_model
from trafficgen.cli._options import (
    AsJson,
    Compete,
    OutsideFiles,
    Settings,
    expand_options,
    settings_of,
)
from trafficgen.cli._output import Messages, number, print_json, say_line
from trafficgen.cli._outputs import Force, Outputs, Reports, claim, files_among, write_reports
from trafficgen.cli._tables import Curve, curve_bins, mark_phases, print_curves, print_table
from trafficgen.formatting import format_count, format_duration, format_share, rate_text
from trafficgen.simulation.options import SimulateOptions
from trafficgen.workloads.options import SharedPathOptions

#: Series drawn under a name of their own.
_NAMED = {"received": "media_kbps", "offered": "media_offered_kbps", "encoding": "encoding_kbps"}


@expand_options
def simulate(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="Name of a catalogue entry, a model file, or a workload file (YAML).",
            autocompletion=complete_model,
        ),
    ],
    options: SharedPathOptions,
    *,
    settings: Settings = None,
    compete: Compete = None,
    as_json: AsJson = False,
    reports: Reports,
    force: Force = False,
    outside_files: OutsideFiles = False,
    messages: Messages,
) -> None:
    """Play a model, or the sessions of a workload, over a path.

    The same seed gives the same result.

    Example: trafficgen simulate wmedia9_nichols2004 --path rate=725kbps,delay=45ms,queue=80p
    --compete tcp@-10s

    Example: trafficgen simulate realvideo10_boyden2005 --path
    rate=1Mbps,delay=45ms,loss=3%,loss_start=15s -o packets.parquet

    Example: trafficgen simulate model.json --path rate=1Mbps,delay=20ms --compete cbr:400kbps
    --json

    Example: trafficgen simulate evening.yaml --path rate=50Mbps,delay=20ms,aqm=fq_codel --for 30min

    Example: trafficgen simulate dashjs --sessions 100 --for 1min --path rate=200Mbps,delay=20ms
    --compete tcp:bbr
    """
    out = None if options.out is None else Path(options.out)
    options = replace(options, settings=dict(settings_of(settings)), compete=compete or ())
    claim(
        Outputs(packets=out, to_format=options.to_format, reports=reports),
        force=force,
        inputs=files_among(model, str(options.path)),
        as_json=as_json,
        quiet=messages.quiet,
        check_names=partial(_check_names, model, options),
    )
    if options.names_sessions or _is_workload(model):
        _simulate_workload(model, options, reports, messages, as_json=as_json)
        return
    play = trafficgen.simulate  # loaded here, so that only the work itself counts as progress
    of_one = {one.name: getattr(options, one.name) for one in fields(SimulateOptions)}
    with messages.progress("simulating"):
        result = play(model, **of_one)
    write_reports(result, reports, messages)
    if as_json:
        print_json(result.to_json())
        return
    _print_session(result)
    _print_flows(result)
    _print_answers(result)
    _print_series(result)
    messages.detail(f"{result.run.outcome.packet_events:,} packet events, seed {options.seed}")
    if out is not None:
        messages.say(f"{format_count(result.run.outcome.packets, 'packet')} written to {out}")


def _check_names(model: str, options: SharedPathOptions) -> None:
    if options.names_sessions or _is_workload(model):
        _check_shared(model, options)
        return
    from trafficgen.simulation.simulate import check_simulation  # noqa: PLC0415 - of refusals alone

    check_simulation(model, options)


def _check_shared(model: str, options: SharedPathOptions) -> None:
    from trafficgen.simulation.path import read_path  # noqa: PLC0415 - of refusals alone
    from trafficgen.workloads.files import load_playable  # noqa: PLC0415

    read_path(options.path)
    load_playable(model)


def _is_workload(model: str) -> bool:
    from trafficgen.workloads.files import is_workload_file  # noqa: PLC0415 - --help needs none of it

    return is_workload_file(model)


def _simulate_workload(
    model: str, options: SharedPathOptions, reports: Reports, messages: Messages, *, as_json: bool
) -> None:
    """Play sessions together, and print who got what."""
    play = trafficgen.simulate_workload
    with messages.progress("simulating"):
        result = play(model, **vars(options))
    write_reports(result, reports, messages)
    if as_json:
        print_json(result.to_json())
    else:
        print_shares(result)
    messages.detail(f"{result.packet_events:,} packet events, seed {options.seed}")
    if options.out is not None:
        messages.say(f"packets written to {options.out}")


def _print_session(result: trafficgen.SimulationResult) -> None:
    events = result.events
    lines = [("silence", format_duration(result.silence_s))]
    if plays := result.notes.get("plays"):
        lines.insert(0, ("plays", str(plays)))
    for name, phase in (("buffering", result.buffering), ("playout", result.playout)):
        if phase is not None:
            text = f"{format_duration(phase.duration_s)} at {rate_text(phase.rate_kbps)}"
            if not math.isnan(phase.loss):
                text += f" ({rate_text(phase.offered_kbps)} offered,"
                text += f" {number(100 * phase.loss, digits=3)}% lost)"
            lines.append((name, "no packets" if math.isnan(phase.rate_kbps) else text))
    if seen := events.playback(result.end_s):
        startup = "never" if seen.startup_s is None else f"after {format_duration(seen.startup_s)}"
        stalls = f" ({format_duration(seen.stalled_s)})" if seen.stalls else ""
        text = f"starts {startup}, mean rung {rate_text(seen.mean_rung_kbps)}, "
        text += f"{number(seen.switches_per_min)} switches a minute, "
        lines.append(("player", f"{text}{format_count(seen.stalls, 'stall')}{stalls}"))
    for change in events.level_changes():
        text = f"{rate_text(change.from_kbps)} to {rate_text(change.to_kbps)}"
        lines.append(("level", f"{text} at {format_duration(change.time_s)}"))
    if not result.has_player and result.planned_s is not None:
        text = f"sends for {format_duration(result.planned_s)} without a path; it has no player, so"
        lines.append(("the model", f"{text} no stalls are known"))
    elif not result.has_player and result.end_s > 0:
        lines.append(("player", "none is simulated, so no stalls are known"))
    for stall in events.stalls:
        text = f"{format_duration(stall.duration_s)} at {format_duration(stall.start_s)}"
        lines.append(("stall", text))
    if events.thinned_s is not None:
        lines.append(("thinned", f"from {format_duration(events.thinned_s)} on"))
    for budget in result.budgets:
        wanted = "" if budget.wanted is None else f", {format_share(budget.wanted)} wanted"
        text = f"{format_share(budget.share)} of {format_count(budget.sendings, 'sending')} of"
        text += f" {budget.flow} within {format_duration(budget.budget_s)}{wanted}"
        lines.append(("budget", text))
    times = [
        f"{name.removesuffix('_s').replace('_', ' ')} {format_duration(time_s)}"
        for name, time_s in events.times_s.items()
        if time_s is not None
    ]
    for name, text in [*lines, ("times", ", ".join(times))]:
        say_line(f"{name:10} {text}")


def _print_flows(result: trafficgen.SimulationResult) -> None:
    # A source whose client alone sends has no media to the client.
    known = [flow for flow in result.flows if result.arrivals_s[1] or flow.name != "media"]
    named = [(flow.name, flow) for flow in (known if result.uplinks else result.flows)]
    named += [(f"{flow.name} (up)", flow) for flow in result.uplinks]
    rows = [
        [
            name,
            rate_text(flow.measure.rate_kbps),
            f"{number(100 * flow.measure.loss, digits=3)}%",
            format_duration(flow.delay_s.mean),
            format_duration(flow.delay_s.p95),
            str(flow.measure.retransmissions),
        ]
        for name, flow in named
    ]
    header = ["flow", "rate", "lost", "mean delay", "p95 delay", "retransmitted"]
    print()
    print_table(header, rows, right=(1, 2, 3, 4, 5))


def _print_answers(result: trafficgen.SimulationResult) -> None:
    """Print what the recorded session was, what this one is, and how sure that is."""
    if not result.answers:
        return
    rows = [one.to_texts() for one in result.answers]
    print()
    print_table([*rows[0]], [[*row.values()] for row in rows], right=(1, 2))


def _print_series(result: trafficgen.SimulationResult) -> None:
    """Print what went over the path and what the player had, over time."""
    from trafficgen.tables import average_parts  # noqa: PLC0415 - --help needs no tables

    series = result.series
    count = len(series["media_kbps"])
    if not count:
        say_line(f"over time: no curve; it needs {format_duration(series['interval_s'])} or more")
        return
    others = [name for name in series if name.endswith("_kbps") and name not in _NAMED.values()]
    names = _NAMED | {name.removesuffix("_kbps"): name for name in others}
    start_s, end_s = series["start_s"], series["start_s"] + count * series["interval_s"]
    bins = min(count, curve_bins([*names, "buffer"]))
    curves = [Curve(name, average_parts(series[key], bins)) for name, key in names.items()]
    curves.append(Curve("buffer", average_parts(series["buffer_s"], bins), format_duration))
    known = [curve for curve in curves if any(map(math.isfinite, curve.values))]
    if not (result.has_player or result.events.level_changes()):  # nothing but the models' mean
        known = [curve for curve in known if curve.name != "encoding"]
    marks = mark_phases(_phase_intervals(result), bins=bins, start_s=start_s, end_s=end_s)
    print()
    print_curves("over time (IP bytes)", [*known, marks], start_s=start_s, end_s=end_s)


def _phase_intervals(result: trafficgen.SimulationResult) -> list[tuple[float, float, str]]:
    """Return the phases of the source, and the stalls of the player after them."""
    playout_s, buffering = result.events.playout_start_s(), result.events.buffering()
    intervals = [] if playout_s is None else [(playout_s, result.end_s, "p")]
    if buffering is not None:
        start_s, end_s = buffering
        intervals.append((start_s, result.end_s if end_s is None else end_s, "b"))
    return intervals + [
        (stall.start_s, stall.start_s + stall.duration_s, "s") for stall in result.events.stalls
    ]


def print_shares(result: trafficgen.WorkloadResult) -> None:
    """Print who got what: groups, competing flows, all sessions, links."""
    from trafficgen.workloads.shares import (  # noqa: PLC0415 - --help needs none of it
        LINK_HEADER,
        SHARE_HEADER,
        describe_shares,
        link_rows,
        share_rows,
    )

    say_line(describe_shares(result))
    print()
    print_table(SHARE_HEADER, share_rows(result), right=range(1, len(SHARE_HEADER)))
    print()
    print_table(LINK_HEADER, link_rows(result), right=range(1, len(LINK_HEADER)))
