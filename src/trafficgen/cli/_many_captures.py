"""What `trafficgen fit --population` and `--same-source` print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen.cli._output import Messages, number
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    from trafficgen.models import Estimate, PooledResponse, Population, PopulationLaw

_QUANTITIES = {
    "media_duration_s": "media, s",
    "playout_rate_bps": "playout, kbit/s",
    "buffering_duration_s": "buffering, s",
    "buffering_ratio": "buffering ratio",
    "silence_s": "silence, s",
    "rtt_s": "RTT, s",
    "loss_rate": "loss",
    "media_start_s": "media start, s",
}


def warn_of_sessions(fitted: object, messages: Messages) -> None:
    """Print the warnings about single sessions of a population, or how many there are."""
    texts = getattr(fitted, "session_warnings", ())
    if messages.verbose:
        messages.warn(texts)
    elif texts:
        messages.say(f"{len(texts)} warnings about single sessions: -v shows them")


def print_population(population: Population) -> None:
    """Print how sessions differ."""
    say_line(
        f"{population.sessions} sessions of {population.captures} captures, pooled; medians with"
        " 95% intervals"
    )
    print_table(
        ["quantity", "median", "95% interval", "log sd", "sessions", "have it", "law"],
        [_row(name, law) for name, law in population.laws.items()],
        right=(1, 3, 4, 5),
    )
    for pair in population.dependence:
        first, second = (_QUANTITIES[name].split(",")[0] for name in (pair.first, pair.second))
        say_line(f"rank dependence of {first} and {second}: {_interval(pair.normal_correlation)}")
    for rung in population.ladder:
        rate = number(kbps_from_bps(rung.rate_bps))
        say_line(f"ladder     {rate} kbit/s, in {rung.share:.0%} of the sessions with levels")
    for prototype in population.prototypes:
        rate = number(kbps_from_bps(prototype.group_rate_bps))
        say_line(
            f"prototype  {prototype.name}: represents {prototype.weight:.0%} of the sessions, about"
            f" {rate} kbit/s"
        )
    for quantity, reason in population.absent.items():
        say_line(f"not pooled: {_QUANTITIES.get(quantity, quantity)}: {reason}")


def print_response(response: PooledResponse) -> None:
    """Print how a source answers to congestion."""
    rate = number(kbps_from_bps(response.uncongested_rate_bps))
    say_line(
        f"{response.kind.replace('_', ' ')}: {len(response.captures)} captures, intervals of"
        f" {response.interval_s:g} s"
    )
    say_line(f"the source is that of {response.source}, {rate} kbit/s")
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
        head = [curve.condition, "relative rate", "intervals", "captures"]
        print_table(head, rows, right=(0, 2, 3))
    for condition, reason in response.absent.items():
        say_line(f"no curve against {condition}: {reason}")


def _row(name: str, law: PopulationLaw) -> list[str]:
    unit = kbps_from_bps(1.0) if name.endswith("_bps") else 1.0
    low, high = law.median.low, law.median.high
    ends = "-"
    if low is not None and high is not None:
        ends = f"[{number(low * unit)}, {number(high * unit)}]"
    return [
        _QUANTITIES[name],
        number(law.median.value * unit),
        ends,
        number(law.log_deviation.value, digits=3),
        str(law.sessions),
        f"{law.positive_share:.0%}",
        law.law.family,
    ]


def _interval(estimate: Estimate) -> str:
    low, high = number(estimate.low, digits=2), number(estimate.high, digits=2)
    return f"{number(estimate.value, digits=2)} [{low}, {high}]"
