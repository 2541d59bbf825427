"""Print what a fitted model says: of a session, of many, or of one source over several paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen.cli._output import number, say_line
from trafficgen.cli._tables import print_table
from trafficgen.formatting import (
    WIDEST_SHOWN,
    format_count,
    format_duration,
    format_quantity,
    interval,
    one_line,
    printable,
    rate_text,
)
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    from trafficgen.models import (
        Buffering,
        Estimate,
        Model,
        Phase,
        PooledResponse,
        Population,
        PopulationLaw,
    )

#: Prototypes that are printed; more are counted.
_PROTOTYPES = 4
_QUANTITIES = {
    "media_duration_s": "media",
    "playout_rate_bps": "playout",
    "buffering_duration_s": "buffering",
    "buffering_ratio": "buffering ratio",
    "silence_s": "silence",
    "rtt_s": "RTT",
    "loss_rate": "loss",
    "media_start_s": "media start",
}


def print_model(model: Model, *, is_enough: bool = True) -> None:
    """Print a model as its fit does: its phases, path, response, streams and self-check.

    Without ``is_enough`` the capture was too small to judge the model by it.
    """
    if model.population is not None:
        _print_population(model.population)
    elif model.same_source is not None:
        _print_response(model.same_source)
    else:
        _print_session(model, is_enough=is_enough)


def _print_session(model: Model, *, is_enough: bool) -> None:
    # Not at the top: --help needs them not.
    from trafficgen.models import describe_application, describe_judged_parts  # noqa: PLC0415

    silence, buffering, playout = model.startup.silence_s, model.buffering, model.playout
    say_line(f"silence    {format_duration(silence.value)} before the first media packet")
    start_s = 0.0
    if buffering is not None:
        start_s = buffering.duration_s.value
        say_line(f"buffering  {_describe_buffering(buffering)}")
    span = f"{format_duration(start_s)} to {format_duration(start_s + playout.duration_s.value)}"
    say_line(f"playout    {span} at {rate_text(kbps_from_bps(playout.rate_bps.value))}")
    _print_path(model)
    if model.application is not None:
        for name, text in describe_application(model.application).items():
            say_line(f"{name:<10} {text}")
    say_line("the model plays, stream by stream:")
    for stream in model.streams:
        for phase in stream.phases:
            say_line(f"  {one_line(stream.name)}, {phase.name}: {_describe_phase(phase)}")
    checked = describe_judged_parts(model) if is_enough else "self-check: too little to judge"
    if checked is not None:
        say_line(checked)


def _describe_buffering(buffering: Buffering) -> str:
    end, ratio = buffering.duration_s, number(buffering.ratio.value, digits=3)
    ends = interval(end.low, end.high, format_duration)
    method = end.method.partition(";")[0]
    anchor = f" ({printable(method)})" if method.startswith(("player log", "set by")) else ""
    return (
        f"until {f'{format_duration(end.value)} {ends}'.rstrip()} at"
        f" {rate_text(kbps_from_bps(buffering.rate_bps.value))}, {ratio} times the playout"
        f" rate{anchor}"
    )


def _print_path(model: Model) -> None:
    """Print the conditions of the capture and how the source answers to congestion."""
    # Not at the top: --help needs it not.
    from trafficgen.models import describe_capacity  # noqa: PLC0415

    if model.provenance.kind == "fitted":
        path = model.provenance.conditions
        loss, rtt, queueing = path.loss_rate, path.rtt_s, path.queueing_delay_s
        if loss is not None:
            ends = interval(loss.low, loss.high, "{:.3%}".format)
            say_line(f"loss       {loss.value:.3%} {ends} ({path.loss_source})")
        if rtt is not None:
            say_line(f"RTT        {format_duration(rtt.value)} ({printable(rtt.method)})")
        if queueing is not None:
            median, largest = format_duration(queueing.median), format_duration(queueing.largest)
            source = printable(queueing.method.partition(";")[0])
            say_line(f"queueing   median {median}, largest {largest}, by {source}")
        if path.capacity is not None:
            say_line(f"link       {describe_capacity(path.capacity)}")
        elif path.link_rate_bps is not None:
            say_line(f"link       {rate_text(kbps_from_bps(path.link_rate_bps.value))}")
    if (response := model.response) is not None:
        # The line of queueing has how congestion was seen; so do the report and the model.
        first, *others = response.evidence or ("",)
        evidence = printable("; ".join([first.partition(", by ")[0], *others]))
        say_line(f"response   {response.kind.replace('_', ' ')}: {evidence}")


def _describe_phase(phase: Phase) -> str:
    did = phase.process.describe(mean_gap_s=phase.packet_spacing_s)
    span = f"{format_duration(phase.start_s)} to {format_duration(phase.end_s)}"
    return f"{span} at {rate_text(kbps_from_bps(phase.rate_bps))}, {did}"


def _print_population(population: Population) -> None:
    """Print how sessions differ."""
    say_line(
        f"{format_count(population.sessions, 'session')} of"
        f" {format_count(population.captures, 'capture')}, pooled; medians with 95% intervals"
    )
    print_table(
        ["quantity", "median", "95% interval", "log sd", "sessions", "have it", "law"],
        [_row(name, law) for name, law in population.laws.items()],
        right=(1, 3, 4, 5),
    )
    if "loss_rate" in population.laws:
        say_line(
            "loss of a session here: the middle of its 95% interval, which is never 0 (a fit of one"
            " session says lost / expected)"
        )
    for pair in population.dependence:
        first, second = _QUANTITIES[pair.first], _QUANTITIES[pair.second]
        say_line(f"rank dependence of {first} and {second}: {_interval(pair.normal_correlation)}")
    for rung in population.ladder:
        rate = rate_text(kbps_from_bps(rung.rate_bps))
        say_line(f"ladder     {rate}, in {rung.share:.0%} of the sessions with levels")
    for prototype in population.prototypes[:_PROTOTYPES]:
        around, own = (
            rate_text(kbps_from_bps(rate_bps))
            for rate_bps in (prototype.group_rate_bps, prototype.playout_rate_bps)
        )
        say_line(
            f"prototype  {prototype.name}: represents the {prototype.weight:.0%} of the sessions"
            f" around {around}; itself {own}"
        )
    if (more := len(population.prototypes) - _PROTOTYPES) > 0:
        say_line(f"prototype  {more} more")
    for quantity, reason in population.absent.items():
        say_line(f"not pooled: {_QUANTITIES.get(quantity, quantity)}: {reason}")


def _print_response(response: PooledResponse) -> None:
    """Print how a source answers to congestion."""
    rate = rate_text(kbps_from_bps(response.uncongested_rate_bps))
    say_line(
        f"{response.kind.replace('_', ' ')}: {len(response.captures)} captures, intervals of"
        f" {format_duration(response.interval_s)}"
    )
    say_line(f"the source is that of {response.source}, {rate}")
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
    low, high = (format_quantity(name, end) for end in (law.median.low, law.median.high))
    known = f"[{low}, {high}]" if law.median.low is not None else "-"
    if law.median.spans_more_than(WIDEST_SHOWN):
        known = f"not known from {format_count(law.sessions, 'session')}"
    return [
        _QUANTITIES[name],
        format_quantity(name, law.median.value),
        known,
        number(law.log_deviation.value, digits=3),
        str(law.sessions),
        f"{law.positive_share:.0%}",
        law.law.family,
    ]


def _interval(estimate: Estimate) -> str:
    low, high = number(estimate.low, digits=2), number(estimate.high, digits=2)
    return f"{number(estimate.value, digits=2)} [{low}, {high}]"
