"""`trafficgen fit`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trafficgen
from trafficgen.cli._curves import Curve, Marks, curve_bins, letters_of, print_curves
from trafficgen.cli._many_captures import (
    FitOptions,
    FitWorkers,
    ManyCaptures,
    SameSource,
    Together,
    fit_many,
)
from trafficgen.cli._options import (
    AsJson,
    Captures,
    Decapsulate,
    FlowChoice,
    IdleTimeout,
    Memory,
    PlayerLogFile,
    PlayerLogOffset,
    Quiet,
    Seed,
    SessionChoice,
    Upload,
    Verbose,
    memory_bytes_of,
    messages_of,
    positive,
    seconds_of,
)
from trafficgen.cli._output import number, print_json
from trafficgen.cli._outputs import Force, Outputs, claim
from trafficgen.cli._reports import (
    PlotFormats,
    PlotsFolder,
    ReportFile,
    ReportOptions,
    write_reports,
)
from trafficgen.cli._terminal import say_line
from trafficgen.formatting import endpoint
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    from trafficgen.models import Phase


def fit(
    captures: Captures,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="MODEL.json", help="Write the model to this file."),
    ] = None,
    flow: FlowChoice = None,
    session: SessionChoice = None,
    upload: Upload = False,
    receiver: Annotated[
        list[Path] | None,
        typer.Option(
            "--receiver",
            metavar="CAPTURE",
            help=(
                "The same session captured at the other end of the path: packets are matched, the"
                " model is of what "
                "was sent."
            ),
        ),
    ] = None,
    seed: Seed = 0,
    resegment: Annotated[
        bool,
        typer.Option(
            "--resegment/--keep-offload",
            help="Cut segmentation-offload packets back to MTU size before the fit.",
        ),
    ] = True,
    decapsulate: Decapsulate = False,
    idle_timeout: IdleTimeout = None,
    population: ManyCaptures = False,
    same_source: SameSource = False,
    workers: FitWorkers = None,
    memory: Memory = "1GB",
    player_log: PlayerLogFile = None,
    player_log_offset: PlayerLogOffset = None,
    begin: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="TIME",
            help="Fit a window that starts at this time after the first packet, such as 90s.",
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TIME",
            help="End of the window, after the first packet, such as 20min; default: the end.",
        ),
    ] = None,
    report: ReportFile = None,
    plots: PlotsFolder = None,
    plot_formats: PlotFormats = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Fit a model to the heaviest session of captures, or to the one you choose.

    Example: trafficgen fit capture.pcapng -o model.json

    Example: trafficgen fit sender.pcap --receiver receiver.pcap -o model.json

    Example: trafficgen fit captures/*.pcap --population -o workload.json
    """
    if flow is not None and session is not None:
        raise typer.BadParameter(
            "give a flow or a session, not both", param_hint="--flow, --session"
        )
    if player_log_offset is not None and not math.isfinite(player_log_offset):
        raise typer.BadParameter(
            f"{player_log_offset} is no time", param_hint="--player-log-offset"
        )
    from_s, to_s = _window_s(begin, end)
    is_window = (from_s, to_s) != (0, math.inf)
    if is_window and (receiver or player_log is not None):
        raise typer.BadParameter(
            "a window cannot be matched with a second capture or a player log; leave them out, or"
            " cut the captures first",
            param_hint="--from, --to",
        )
    messages = messages_of(quiet=quiet, verbose=verbose)
    written = Outputs(file=out, report=report, plots=plots, plot_formats=plot_formats)
    claim(written, force=force, inputs=[*captures, *(receiver or ()), player_log])
    options = FitOptions(
        session=session,
        upload=upload,
        seed=seed,
        resegment=resegment,
        decapsulate=decapsulate,
        idle_timeout_s=positive(idle_timeout, option="--idle-timeout", endless=True),
        memory_bytes=memory_bytes_of(memory),
    )
    reports = ReportOptions(report=report, plots=plots, plot_formats=plot_formats)
    if population or same_source or workers is not None:
        if receiver:
            raise typer.BadParameter(
                "it belongs to one session, not to many captures", param_hint="--receiver"
            )
        if is_window:
            raise typer.BadParameter(
                "a window is of one capture, not of many", param_hint="--from, --to"
            )
        how = Together(
            population=population,
            same_source=same_source,
            workers=workers,
            flow=flow,
            player_log=player_log,
        )
        fit_many(
            captures, how, out=out, reports=reports, messages=messages, as_json=as_json, **options
        )
        return
    fit_session, detail = trafficgen.fit, messages.detail if verbose else None
    with (
        messages.progress("reading") as progress,
        progress.of_log("trafficgen.calibration", detail=detail),
    ):
        fitted = fit_session(
            captures,
            flow=flow,
            receiver=receiver,
            player_log=player_log,
            player_log_offset_s=player_log_offset,
            from_s=from_s,
            to_s=to_s,
            **options,
        )
    messages.warn(fitted.warnings)
    if out is not None:
        trafficgen.save_model(fitted.model, out)
        messages.say(f"model written to {out}")
    write_reports(fitted, **reports, messages=messages)
    if as_json:
        print_json(fitted.to_json())
        return
    _render(fitted.to_json(), fitted.model)
    _render_rate(fitted)


def _window_s(begin: str | None, end: str | None) -> tuple[float, float]:
    """Return start and end of the window of the capture that is fitted, s."""
    from_s = seconds_of(begin, option="--from", least=0.0) or 0.0
    to_s = seconds_of(end, option="--to") or math.inf
    if not from_s < to_s:
        raise typer.BadParameter("the window ends before it starts", param_hint="--from, --to")
    return from_s, to_s


def _render(summary: dict[str, Any], model: trafficgen.Model) -> None:
    flow = summary["flow"]
    server, client = (
        endpoint(flow["server"], flow["server_port"]),
        endpoint(flow["client"], flow["client_port"]),
    )
    say_line(
        f"flow {flow['flow']} ({flow['media']} over {flow['protocol']}) from {server} to {client}"
    )
    say_line(
        f"{summary['packets']:,} media packets in {number(summary['duration_s'])} s,"
        f" {len(model.streams)} stream(s)"
    )
    _render_phases(summary["phases"])
    for name, law in (
        ("packet size, bytes", summary["packet_bytes"]),
        ("packet gap, s", summary["gap_s"]),
    ):
        _render_law(name, law)
    _render_bursts(summary["bursts"])
    _render_path(summary)
    dependence = summary["dependence"]
    if dependence["hurst"] is not None:
        low, high = number(dependence["hurst_low"]), number(dependence["hurst_high"])
        say_line(f"Hurst      {number(dependence['hurst'])} [{low}, {high}]")
    say_line(f"gaps are generated as {dependence['model']}; the model plays, stream by stream:")
    for stream in model.streams:
        for phase in stream.phases:
            say_line(f"  {stream.name}, {phase.name}: {_process_in_words(phase)}")


def _render_rate(fitted: trafficgen.Fit) -> None:
    """Print the rate over time with the phases under it."""
    rate = fitted.rate
    if not rate.end_s > rate.start_s:
        return
    bins = curve_bins(["phases"], scale_width=44)
    phases = fitted.to_json()["phases"]
    letters = letters_of(
        _phase_intervals(phases), bins=bins, start_s=rate.start_s, end_s=rate.end_s
    )
    meaning = ", ".join(
        f"{letter} {_PHASE_LETTERS[letter]}" for letter in _PHASE_LETTERS if letter in letters
    )
    curves: list[Curve | Marks] = [
        Curve("rate", rate.rate_kbps(bins), "kbps"),
        Marks("phases", letters, meaning),
    ]
    print_curves("rate of the media (IP bytes)", curves, start_s=rate.start_s, end_s=rate.end_s)


_PHASE_LETTERS = {"b": "buffering", "p": "playout", "s": "stall", "e": "end"}


def _phase_intervals(phases: Any) -> list[tuple[float, float, str]]:
    """Return the phases of a fit as intervals, those that are within others behind them."""
    playout, buffering, end = phases["playout"], phases["buffering"], phases["end"]
    intervals = [(playout["start_s"], math.inf, "p")]
    if buffering is not None:
        intervals.append((0.0, buffering["end_s"], "b"))
    if end is not None:
        intervals.append((end["start_s"], math.inf, "e"))
    stalls = phases["stalls"]
    return intervals + [
        (stall["start_s"], stall["start_s"] + stall["duration_s"], "s") for stall in stalls
    ]


def _process_in_words(phase: Phase) -> str:  # noqa: PLR0911 - one line a kind
    span = (
        f"{number(phase.start_s)} to {number(phase.end_s)} s at"
        f" {number(kbps_from_bps(phase.rate_bps))} kbps"
    )
    process = phase.process
    if process.kind == "bursts":
        packets, spacing_s = (
            process.burst_packets.distribution().mean,
            process.spacing_s.distribution().mean,
        )
        return f"{span}, {number(packets)} packets every {number(spacing_s)} s"
    if process.kind == "frames":
        frames = f"{number(process.frame_rate_hz.value)} frames a second by the clock"
        group = process.group
        if group is None:
            return f"{span}, {frames}"
        mean = sum(part.frames * part.share for part in group.distances)
        return f"{span}, {frames}, a key frame every {number(mean)} frames"
    if process.kind == "fgn":
        return f"{span}, fractional Gaussian noise with H = {number(process.hurst.value)}"
    if process.kind == "modulated":
        return f"{span}, the rate going up and down over bins of {number(process.bin_s)} s"
    if process.kind == "mmpp":
        rates = " or ".join(number(state.rate_per_s.value) for state in process.states)
        return f"{span}, {rates} packets per second at random, switched by a Markov chain"
    if process.kind == "semi_markov":
        levels = ", ".join(number(kbps_from_bps(state.rate_bps)) for state in process.states)
        return f"{span}, switching between {levels} kbps"
    return f"{span}, a packet every {number(process.gap_s.distribution().mean)} s"


_ANCHORS = {
    None: "",
    "buffer_full": " (to the full buffer in the player log)",
    "playback_start": " (to the start of the playback in the player log)",
}


def _render_phases(phases: dict[str, Any]) -> None:
    say_line(f"silence    {number(phases['silence_s'])} s before the first media packet")
    buffering = phases["buffering"]
    if buffering is not None:
        interval = f"[{number(buffering['low'])}, {number(buffering['high'])}]"
        say_line(
            f"buffering  until {number(buffering['end_s'])} s {interval} at"
            f" {number(buffering['rate_kbps'])} kbps, {number(phases['buffering_ratio'])} times the"
            f" playout rate{_ANCHORS[buffering['anchor']]}"
        )
    playout = phases["playout"]
    span = f"{number(playout['start_s'])} to {number(playout['end_s'])} s"
    say_line(f"playout    {span} at {number(playout['rate_kbps'])} kbps")
    for stall in phases["stalls"]:
        where = "in the player" if stall["source"] == "player_log" else "in the packets"
        say_line(
            f"stall      at {number(stall['start_s'])} s for {number(stall['duration_s'])} s"
            f" {where}"
        )
    if phases["end"] is not None:
        say_line(f"end        from {number(phases['end']['start_s'])} s on the stream runs out")


def _render_path(summary: dict[str, Any]) -> None:
    loss, conditions, response = summary["loss"], summary["conditions"], summary["response"]
    if loss is not None:
        say_line(
            f"loss       {loss['rate']:.3%} [{loss['low']:.3%}, {loss['high']:.3%}]"
            f" ({loss['source']})"
        )
    if conditions["rtt_s"] is not None:
        say_line(
            f"RTT        {number(conditions['rtt_s']['value'])} s ({conditions['rtt_s']['method']})"
        )
    queueing = conditions["queueing_delay_s"]
    if queueing is not None:
        say_line(
            f"queueing   median {number(queueing['median'])} s, largest"
            f" {number(queueing['largest'])} s"
        )
    if conditions["link_rate_bps"] is not None:
        say_line(f"link       {number(kbps_from_bps(conditions['link_rate_bps']['value']))} kbps")
    say_line(f"response   {response['kind'].replace('_', ' ')}: {'; '.join(response['evidence'])}")


def _render_law(name: str, law: dict[str, Any] | None) -> None:
    if law is None:
        return
    params = ", ".join(f"{key}={number(value)}" for key, value in law["params"].items())
    atoms = ", ".join(f"{number(atom['value'])} ({atom['p']:.1%})" for atom in law.get("atoms", []))
    atoms = f"; atoms {atoms}" if atoms else ""
    family = f"{law['family']}({params})" if params else "no continuous part"
    say_line(f"{name}: {family}{atoms}; KS {number(law['ks'])}, p {number(law['p_value'])}")


def _render_bursts(bursts: dict[str, Any] | None) -> None:
    if bursts is None:
        return
    for phase in ("buffering", "playout"):
        found = bursts.get(phase)
        if found is not None:
            say_line(
                f"bursts     {phase}: {number(found['packets'])} packets every"
                f" {number(found['spacing_s'])} s (gaps above {number(bursts['threshold_s'])} s"
                " part them)"
            )
