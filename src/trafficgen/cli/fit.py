"""`trafficgen fit`."""

from __future__ import annotations

import math
import warnings
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trafficgen
from trafficgen.calibration.options import FitOptions, SessionFitOptions
from trafficgen.capture.options import EXCHANGE_ENDINGS
from trafficgen.cli._options import AsJson, Captures, expand_options
from trafficgen.cli._output import Messages, number, print_json, say_line
from trafficgen.cli._outputs import Force, Outputs, Reports, claim, refuse_missing, write_reports
from trafficgen.cli._summaries import print_model
from trafficgen.cli._tables import Curve, curve_bins, mark_phases, print_curves
from trafficgen.formatting import (
    endpoint,
    format_count,
    format_duration,
    interval,
    list_first,
    one_line,
)
from trafficgen.standard_streams import output_path

if TYPE_CHECKING:
    from collections.abc import Callable

    from trafficgen.calibration.population.fit_population import PopulationFit
    from trafficgen.calibration.population.same_source import SameSourceFit


ModelFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="MODEL.json",
        help="Write the model to this file; - is standard output.",
        parser=output_path,
    ),
]
OtherEnd = Annotated[
    list[Path] | None,
    typer.Option(
        "--receiver",
        metavar="CAPTURE",
        help=(
            "The same session captured at the other end of the path: packets are matched, the"
            " model describes what was sent."
        ),
    ),
]
AsPopulation = Annotated[
    bool,
    typer.Option(
        "--population", help="Fit each capture by itself and pool them: laws across sessions."
    ),
]
AsSameSource = Annotated[
    bool,
    typer.Option(
        "--same-source",
        help="Fit captures of one source over several paths: one player, one response.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Processes that share the captures of --population; default: one a core.",
    ),
]
ExchangesFile = Annotated[
    Path | None,
    typer.Option(
        "--exchanges",
        metavar="FILE",
        help="Write requests and responses of the session to this file (.parquet, .csv).",
    ),
]


@expand_options
def fit(
    captures: Captures,
    options: SessionFitOptions,
    *,
    out: ModelFile = None,
    receiver: OtherEnd = None,
    population: AsPopulation = False,
    same_source: AsSameSource = False,
    workers: Workers = None,
    exchanges: ExchangesFile = None,
    reports: Reports,
    force: Force = False,
    as_json: AsJson = False,
    messages: Messages,
) -> None:
    """Fit a model to the heaviest session of captures.

    --session or --flow choose another one.

    Example: trafficgen fit capture.pcapng -o model.json

    Example: trafficgen fit day.pcapng --from 90s --to 20min -o model.json

    Example: trafficgen fit sender.pcap --receiver receiver.pcap -o model.json

    Example: trafficgen fit captures/*.pcap --population -o workload.json
    """
    try:
        options = replace(options, receiver=receiver)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--receiver") from None
    together = _name_together(population, same_source, workers)
    if together is not None:
        _refuse_options_of_one_session(options, together, exchanges)
    inputs = [*captures, *(receiver or ()), *filter(None, [options.player_log])]
    check = partial(refuse_missing, inputs)
    claim(
        Outputs(file=out, reports=reports),
        force=force,
        inputs=inputs,
        as_json=as_json,
        quiet=messages.quiet,
        check_names=check,
    )
    _claim_exchanges(exchanges, force=force, inputs=inputs)
    work = _choose_work(options, together, workers)
    with messages.progress("reading" if together is None else "fitting"), warnings.catch_warnings():
        # The result has them too, and they are printed with its others.
        warnings.filterwarnings("ignore", ".*; it is left out$", trafficgen.CaptureWarning)
        fitted = work(captures)
    _say_doubts(fitted, messages)
    if out is not None:
        trafficgen.save_model(fitted.model, out)
        messages.say(f"model written to {out}")
    _write_exchanges(fitted, exchanges, messages)
    write_reports(fitted, reports, messages)
    if as_json:
        print_json(fitted.to_json())
    else:
        _print_fit(fitted)


def _name_together(population: bool, same_source: bool, workers: int | None) -> str | None:
    """Return the option that fits several captures together; None fits one session."""
    if workers is not None and not population:
        raise typer.BadParameter("only --population has workers", param_hint="--workers")
    if population and same_source:
        raise typer.BadParameter("give one of them", param_hint="--population, --same-source")
    if same_source:
        return "--same-source"
    return "--population" if population else None


def _choose_work(
    options: SessionFitOptions, together: str | None, workers: int | None
) -> Callable[[list[str]], trafficgen.Fit | PopulationFit | SameSourceFit]:
    """Return the fit that options choose, loaded: that is not part of its progress."""
    shared = {one.name: getattr(options, one.name) for one in fields(FitOptions)}
    if together == "--population":
        return partial(trafficgen.fit_population, workers=workers, **shared)
    if together == "--same-source":
        return partial(trafficgen.fit_same_source, **shared)
    return partial(trafficgen.fit, **vars(options))


def _claim_exchanges(path: Path | None, *, force: bool, inputs: list[str | Path | None]) -> None:
    """Refuse a file of exchanges that cannot be written, before any work."""
    if path is None:
        return
    if path.suffix.lower() not in EXCHANGE_ENDINGS:
        problem = f"{path}: give a name that ends in {' or '.join(EXCHANGE_ENDINGS)}"
        raise typer.BadParameter(problem, param_hint="--exchanges")
    claim(Outputs(file=path), force=force, inputs=inputs)


def _write_exchanges(fitted: object, path: Path | None, messages: Messages) -> None:
    """Write the exchanges of a session that was fitted."""
    if path is None or not isinstance(fitted, trafficgen.Fit) or fitted.exchanges is None:
        return
    trafficgen.save_exchanges(fitted.exchanges, path)
    messages.say(f"exchanges written to {path}: {fitted.exchanges.summary_line()}")


def _refuse_options_of_one_session(
    options: SessionFitOptions, together: str, exchanges: Path | None
) -> None:
    """Refuse options that belong to one capture if several are fitted together."""
    refused = {
        "--flow": (options.flow is not None, "a flow has another number in each capture"),
        "--player-log": (options.player_log is not None, "a player log belongs to one capture"),
        "--receiver": (options.receiver, "it belongs to one session, not to many captures"),
        "--exchanges": (exchanges is not None, "they belong to one session"),
        "--buffering-end": (options.buffering_end_s is not None, "it belongs to one session"),
        "--from, --to": (not options.window.is_whole, "a window is of one capture, not of many"),
    }
    for flag, (is_given, why) in refused.items():
        if is_given:
            raise typer.BadParameter(why, param_hint=f"{together}, {flag}")


def _say_doubts(fitted: trafficgen.Fit | PopulationFit | SameSourceFit, messages: Messages) -> None:
    """Print warnings, notes, and what is doubtful about single sessions of a population."""
    messages.warn(fitted.warnings)
    for text in fitted.calibration.details if isinstance(fitted, trafficgen.Fit) else ():
        messages.detail(f"note: {text}")
    # Of one session first: the other class takes 0.03 s to load.
    if isinstance(fitted, trafficgen.Fit) or not isinstance(fitted, trafficgen.PopulationFit):
        return
    if failed := fitted.count_failed_checks():
        sessions = format_count(len(fitted.sessions), "session")
        messages.warn([f"{failed} of {sessions} failed the self-check"])
    if messages.verbose:
        messages.warn(fitted.session_warnings)
    elif count := len(fitted.session_warnings):
        text = format_count(count, "warning")
        messages.say(f"{text} about single sessions: -v shows {'them' if count > 1 else 'it'}")


def _print_fit(fitted: trafficgen.Fit | PopulationFit | SameSourceFit) -> None:
    """Print the model, and of one session the capture: its flow, laws and rate."""
    if not isinstance(fitted, trafficgen.Fit):
        print_model(fitted.model)
        return
    summary: dict[str, Any] = fitted.to_json()
    flow, phases, dependence = summary["flow"], summary["phases"], summary["dependence"]
    server = endpoint(flow["server"], flow["server_port"])
    if flow["name"]:
        server = f"{one_line(flow['name'])} ({server})"
    client = endpoint(flow["client"], flow["client_port"])
    is_quic = any(stream.transport.is_quic for stream in fitted.model.streams)
    protocol = "quic" if is_quic else flow["protocol"]
    say_line(f"flow {flow['flow']} ({flow['media']} over {protocol}) from {server} to {client}")
    say_line(
        f"{format_count(summary['packets'], 'media packet')} in"
        f" {format_duration(summary['duration_s'])},"
        f" {format_count(len(fitted.model.streams), 'stream')}"
    )
    print_model(fitted.model, is_enough=fitted.calibration.unsuited is None)
    for stall in phases["stalls"]:
        where = "in the player" if stall["source"] == "player_log" else "in the packets"
        start, length = format_duration(stall["start_s"]), format_duration(stall["duration_s"])
        say_line(f"stall      at {start} for {length} {where}")
    if phases["end"] is not None:
        say_line(f"end        from {format_duration(phases['end']['start_s'])} the stream runs out")
    _print_bursts(summary["bursts"])
    say_line("measured in the playout:")
    session = fitted.calibration.session
    rejected = session.packet_bytes.is_rejected, session.gap_s.is_rejected
    _print_law("packet size, bytes", summary["packet_bytes"], is_rejected=rejected[0])
    _print_law("packet gap, s", summary["gap_s"], is_rejected=rejected[1])
    if dependence["hurst"] is not None:
        ends = interval(dependence["hurst_low"], dependence["hurst_high"])
        say_line(f"Hurst      {number(dependence['hurst'])} {ends}")
    _print_rate(fitted, phases)


#: A law with more parameters, as mixtures have, is shown with their number; --json has them.
_MOST_SHOWN = 4


def _print_rate(fitted: trafficgen.Fit, phases: dict[str, Any]) -> None:
    """Print the rate over time with the phases under it."""
    rate = fitted.rate
    if not rate.end_s > rate.start_s:
        return
    bins = curve_bins(["phases"], scale_width=44)
    span = {"start_s": rate.start_s, "end_s": rate.end_s}
    marks = mark_phases(_phase_intervals(phases), bins=bins, **span)
    curve = Curve("rate", rate.rate_kbps(bins))
    print_curves("rate of the media (IP bytes)", [curve, marks], **span)


def _phase_intervals(phases: dict[str, Any]) -> list[tuple[float, float, str]]:
    """Return the phases of a fit as intervals; those within others come after them."""
    playout, buffering, end = phases["playout"], phases["buffering"], phases["end"]
    intervals = [(playout["start_s"], math.inf, "p")]
    if buffering is not None:
        intervals.append((0.0, buffering["end_s"], "b"))
    if end is not None:
        intervals.append((end["start_s"], math.inf, "e"))
    stalls = [(one["start_s"], one["start_s"] + one["duration_s"], "s") for one in phases["stalls"]]
    return intervals + stalls


def _print_law(name: str, law: dict[str, Any] | None, *, is_rejected: bool) -> None:
    if law is None:
        return
    fit = f"KS {number(law['ks'], digits=3)}, p {number(law['p_value'], digits=3)}"
    if is_rejected:
        best = f"no family fits; best: {law['family']}, {fit}"
        say_line(f"{name}: the measured distribution is used ({best})")
        return
    params = [f"{key}={number(value)}" for key, value in law["params"].items()]
    if len(params) > _MOST_SHOWN:
        params = [format_count(len(params), "parameter")]
    atoms = [f"{number(atom['value'])} ({atom['p']:.1%})" for atom in law.get("atoms", [])]
    shown = f"; atoms {list_first(atoms)}" if atoms else ""
    family = f"{law['family']}({', '.join(params)})" if params else "no continuous part"
    say_line(f"{name}: {family}{shown}; {fit}")


def _print_bursts(bursts: dict[str, Any] | None) -> None:
    for phase in ("buffering", "playout"):
        found = None if bursts is None else bursts.get(phase)
        if bursts is not None and found is not None:
            packets = f"{number(found['packets'])} packets"
            several = found["spacing_s"] is not None
            every = f"{packets} every {format_duration(found['spacing_s'])}"
            say_line(
                f"bursts     {phase}: {every if several else f'one of {packets}'} (separated by"
                f" gaps above {format_duration(bursts['threshold_s'])})"
            )
