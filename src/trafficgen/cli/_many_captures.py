"""`trafficgen fit --population` and `--same-source`: many captures at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, Unpack

import typer

import trafficgen
from trafficgen.cli._output import Messages, number, print_json
from trafficgen.cli._reports import ReportOptions, write_reports
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    from trafficgen.api.populations import PopulationFit
    from trafficgen.api.same_source import SameSourceFit
    from trafficgen.models import Estimate, PooledResponse, Population, PopulationLaw

_WORDS = {
    "media_duration_s": "media, s",
    "playout_rate_bps": "playout, kbps",
    "buffering_duration_s": "buffering, s",
    "buffering_ratio": "buffering ratio",
    "silence_s": "silence, s",
    "rtt_s": "RTT, s",
    "loss_rate": "loss",
    "media_start_s": "media start, s",
}


ManyCaptures = Annotated[
    bool,
    typer.Option(
        "--population", help="Fit each capture by itself and pool them: laws across sessions."
    ),
]
SameSource = Annotated[
    bool,
    typer.Option(
        "--same-source",
        help="Fit captures of one source over several paths: one answer to congestion.",
    ),
]
FitWorkers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Processes that share the captures of --population; default: one a core.",
    ),
]


class FitOptions(TypedDict):
    """Options of every fit, as its functions take them."""

    session: int | None
    upload: bool
    seed: int
    resegment: bool
    decapsulate: bool
    idle_timeout_s: float | None
    memory_bytes: int | None


@dataclass(frozen=True)
class Together:
    """How many captures are to be fitted together.

    Attributes:
        population: As a population.
        same_source: As one source over several paths.
        workers: Processes that share the captures of a population.
        flow: Flow that was asked for, which has no meaning in many captures.
        player_log: Player log that was given, which belongs to one capture.
    """

    population: bool
    same_source: bool
    workers: int | None
    flow: int | None
    player_log: Path | None

    def check(self) -> None:
        """Refuse options that do not go together.

        Raises:
            typer.BadParameter: If they do not.
        """
        option = "--population" if self.population else "--same-source"
        if self.workers is not None and not self.population:
            raise typer.BadParameter("only --population has workers", param_hint="--workers")
        if self.population and self.same_source:
            raise typer.BadParameter("give one of them", param_hint="--population, --same-source")
        if self.flow is not None:
            raise typer.BadParameter(
                "a flow has another number in each capture", param_hint=f"{option}, --flow"
            )
        if self.player_log is not None:
            raise typer.BadParameter(
                "a player log belongs to one capture", param_hint=f"{option}, --player-log"
            )


def fit_many(
    captures: list[str],
    how: Together,
    *,
    out: Path | None,
    reports: ReportOptions,
    messages: Messages,
    as_json: bool,
    **options: Unpack[FitOptions],
) -> None:
    """Fit many captures, write the model and reports and print what it says.

    Raises:
        typer.BadParameter: If options do not go together.
    """
    how.check()
    fitted: PopulationFit | SameSourceFit
    fit_population, fit_same_source = trafficgen.fit_population, trafficgen.fit_same_source
    with messages.progress("fitting") as progress:
        if how.population:
            fitted = fit_population(
                captures, workers=how.workers, progress=progress.captures, **options
            )
        else:
            fitted = fit_same_source(captures, progress=progress.captures, **options)
    messages.warn(fitted.warnings)
    _about_sessions(fitted, messages)
    if out is not None:
        trafficgen.save_model(fitted.model, out)
        messages.say(f"model written to {out}")
    write_reports(fitted, **reports, messages=messages)
    if as_json:
        print_json(fitted.to_json())
    elif fitted.model.population is not None:
        render_population(fitted.model.population)
    elif fitted.model.same_source is not None:
        render_response(fitted.model.same_source)


def _about_sessions(fitted: PopulationFit | SameSourceFit, messages: Messages) -> None:
    texts = getattr(fitted, "session_warnings", ())
    if messages.verbose:
        messages.warn(texts)
    elif texts:
        messages.say(f"{len(texts)} warnings about single sessions: -v shows them")


def render_population(population: Population) -> None:
    """Print how sessions differ."""
    say_line(
        f"{population.sessions} sessions of {population.captures} captures, pooled; medians with"
        " 95% intervals"
    )
    rows = [_row(name, law) for name, law in population.laws.items()]
    print_table(
        ["quantity", "median", "95% interval", "log sd", "sessions", "have it", "law"],
        rows,
        right=(1, 3, 4, 5),
    )
    for pair in population.dependence:
        first, second = (_WORDS[name].split(",")[0] for name in (pair.first, pair.second))
        say_line(f"rank dependence of {first} and {second}: {_interval(pair.normal_correlation)}")
    for rung in population.ladder:
        say_line(
            f"ladder     {number(kbps_from_bps(rung.rate_bps))} kbps, in {rung.share:.0%} of the"
            " sessions with levels"
        )
    for prototype in population.prototypes:
        rate = number(kbps_from_bps(prototype.group_rate_bps))
        say_line(
            f"prototype  {prototype.name}: stands for {prototype.weight:.0%} of the sessions, about"
            f" {rate} kbps"
        )
    for quantity, reason in population.absent.items():
        say_line(f"not pooled: {_WORDS.get(quantity, quantity)}: {reason}")


def render_response(response: PooledResponse) -> None:
    """Print a source's answer to congestion."""
    rate = number(kbps_from_bps(response.uncongested_rate_bps))
    say_line(
        f"{response.kind.replace('_', ' ')}: {len(response.captures)} captures, intervals of"
        f" {response.interval_s:g} s"
    )
    say_line(f"the source is that of {response.source}, {rate} kbps")
    for text in response.evidence:
        say_line(f"  {text}")
    for curve in response.curves:
        rows = [
            [
                number(point.condition),
                _interval(point.relative_rate),
                str(point.intervals),
                str(point.captures),
            ]
            for point in curve.points
        ]
        print_table(
            [curve.condition, "relative rate", "intervals", "captures"], rows, right=(0, 2, 3)
        )
    for condition, reason in response.absent.items():
        say_line(f"no curve against {condition}: {reason}")


def _row(name: str, law: PopulationLaw) -> list[str]:
    unit = kbps_from_bps(1.0) if name.endswith("_bps") else 1.0
    low, high = law.median.low, law.median.high
    interval = (
        "-" if low is None or high is None else f"[{number(low * unit)}, {number(high * unit)}]"
    )
    return [
        _WORDS[name],
        number(law.median.value * unit),
        interval,
        number(law.log_deviation.value, digits=3),
        str(law.sessions),
        f"{law.positive_share:.0%}",
        law.law.family,
    ]


def _interval(estimate: Estimate) -> str:
    return (
        f"{number(estimate.value, digits=2)} [{number(estimate.low, digits=2)},"
        f" {number(estimate.high, digits=2)}]"
    )
