"""Reports of fits of several captures: of a population, and of one source over several paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from trafficgen.calibration.population.fit_population import PopulationFit
from trafficgen.calibration.population.same_source import SameSourceFit
from trafficgen.formatting import WIDEST_SHOWN, format_count, format_duration, number, rate_text
from trafficgen.models import (
    Estimate,
    FittedProvenance,
    PathCondition,
    Population,
    PopulationQuantity,
    ResponseCurve,
)
from trafficgen.reports.fit.packets import family_name
from trafficgen.reports.fit.tables import process_name
from trafficgen.reports.laws import PlottedLaw, chart_law
from trafficgen.reports.page import (
    Axis,
    Band,
    Block,
    Chart,
    Curve,
    Headline,
    Mark,
    Report,
    Rule,
    Table,
    Text,
    build_report,
    tabulate,
    warn,
)
from trafficgen.reports.samples import Sample, points_with_intervals, relative_rate_axis
from trafficgen.units import kbps_from_bps

#: Name of each quantity and the unit in which it is shown.
_QUANTITIES: Mapping[PopulationQuantity, tuple[str, str]] = {
    "media_duration_s": ("length of the media", "s"),
    "playout_rate_bps": ("rate of the playout", "kbit/s"),
    "buffering_duration_s": ("length of the buffering", "s"),
    "buffering_ratio": ("buffering rate / playout rate", ""),
    "silence_s": ("silence before the media", "s"),
    "rtt_s": ("round-trip time", "s"),
    "loss_rate": ("loss", ""),
    "media_start_s": ("start of the media in the capture", "s"),
}
#: Name and unit of each condition, and whether its axis is logarithmic.
_CONDITIONS: Mapping[PathCondition, tuple[str, str, bool]] = {
    "loss_rate": ("loss / sent packets", "", False),
    "queueing_delay_s": ("queueing delay", "s", False),
    "throughput_bps": ("rate that arrived", "bit/s", True),
    "link_rate_bps": ("rate of the narrow link", "bit/s", True),
}
#: Longer tables of sessions are folded.
_LONGEST_OPEN_TABLE = 40


def report_population(fitted: PopulationFit) -> Report:
    """Make the report of a population."""
    population, provenance = fitted.population, fitted.model.provenance
    assert isinstance(provenance, FittedProvenance)
    return build_report(
        "Fit of a population",
        f"{format_count(population.sessions, 'session')} of"
        f" {format_count(population.captures, 'capture')}",
        _judge_population(fitted),
        {
            "Summary": _describe_population(fitted),
            "How sessions differ": (
                *_chart_laws(fitted),
                _tabulate_laws(population),
                _tabulate_correlations(population),
            ),
            "What is played": _describe_prototypes(population),
            "Sessions": _describe_sessions(fitted),
        },
        made_by=f"{provenance.software}: trafficgen fit --population, seed {provenance.seed}",
    )


def _judge_population(fitted: PopulationFit) -> Headline:
    """Judge by the self-checks of the sessions: bad where half of them or more failed."""
    population, laws = fitted.population, fitted.population.laws
    failed = fitted.count_failed_checks()
    rate = rate_text(kbps_from_bps(laws["playout_rate_bps"].median.value))
    length = format_duration(laws["media_duration_s"].median.value)
    mark: Mark = "warn" if failed or fitted.warnings else "good"
    checks = f"{failed} failed their self-check" if failed else "none failed its self-check"
    figures = {
        "sessions": number(population.sessions),
        "captures": number(population.captures),
        "median rate": rate,
        "median length": length,
        "self-checks failed": f"{failed} of {len(fitted.sessions)}",
    }
    return Headline(
        mark="bad" if 2 * failed >= len(fitted.sessions) else mark,
        sentence=(
            f"The typical session plays {rate} for {length}; of"
            f" {format_count(population.sessions, 'session')}, fitted one by one and pooled,"
            f" {checks}."
        ),
        figures=figures,
    )


def _describe_population(fitted: PopulationFit) -> Iterator[Block]:
    population = fitted.population
    if population.ladder:
        rungs = ", ".join(
            f"{rate_text(kbps_from_bps(rung.rate_bps))} ({rung.share:.0%})"
            for rung in population.ladder
        )
        yield Text((f"Shared levels, with the share of sessions that have them: {rungs}.",))
    if population.absent:
        yield Text(("Not pooled:",))
        absent = (f"{_name(quantity)}: {why}" for quantity, why in population.absent.items())
        yield Text(tuple(absent), kind="list")
    yield from warn(fitted.warnings)


def _name(quantity: str) -> str:
    return next((name for key, (name, _) in _QUANTITIES.items() if key == quantity), quantity)


def _chart_laws(fitted: PopulationFit) -> Iterator[Chart]:
    """Yield the law of each quantity over the values of the sessions."""
    for quantity, pooled in fitted.population.laws.items():
        values = np.array(
            [one.observed[quantity].value for one in fitted.sessions if quantity in one.observed]
        )
        if values.size < 2:
            continue
        name, unit = _QUANTITIES[quantity]
        chart = chart_law(
            quantity.rpartition("_")[0].replace("_", "-"),
            f"{name[0].upper()}{name[1:]} across sessions",
            [Sample(name="sessions", role="measured", values=values)],
            [PlottedLaw(name=family_name(pooled.law), law=pooled.law)],
            axis=Axis(label=name, unit=unit, log=True),
            caption=(
                f"{values.size} sessions; {pooled.positive_share:.0%} have it at all. Of the"
                f" variance of their estimates {pooled.error_share:.0%} is their own error, which"
                " the law leaves out: it may be steeper."
            ),
        )
        if chart is not None:
            yield _scale_x(chart, _factor(quantity))


def _factor(quantity: PopulationQuantity) -> float:
    """Return the factor from the unit of a quantity to the one shown."""
    return kbps_from_bps(1.0) if quantity.endswith("_bps") else 1.0


def _scale_x(chart: Chart, factor: float) -> Chart:
    layers = tuple(
        replace(layer, x=factor * np.asarray(layer.x)) if isinstance(layer, Curve | Band) else layer
        for layer in chart.layers
    )
    return chart if factor == 1 else replace(chart, layers=layers)


def _interval(name: str, estimate: Estimate, factor: float = 1.0) -> dict[str, object]:
    ends = {name: estimate.value, f"{name}, 95% from": estimate.low, f"{name} to": estimate.high}
    return {key: None if value is None else value * factor for key, value in ends.items()}


def _without_wide_ends(median: Estimate) -> Estimate:
    is_wide = median.spans_more_than(WIDEST_SHOWN)
    return median.model_copy(update={"low": None, "high": None}) if is_wide else median


def _tabulate_laws(population: Population) -> Table | None:
    records = [
        {
            "quantity": _QUANTITIES[quantity][0],
            "unit": _QUANTITIES[quantity][1],
            **_interval("median", _without_wide_ends(pooled.median), _factor(quantity)),
            **_interval("log sd", pooled.log_deviation),
            "law": pooled.law.family.replace("_", " "),
            "sessions": pooled.sessions,
            "method": pooled.method,
        }
        for quantity, pooled in population.laws.items()
    ]
    return tabulate("Laws across sessions", records)


def _tabulate_correlations(population: Population) -> Table | None:
    records = [
        {
            "one": _name(pair.first),
            "the other": _name(pair.second),
            **_interval("rank correlation", pair.normal_correlation),
        }
        for pair in population.dependence
    ]
    return tabulate("Correlated quantities", records)


def _describe_prototypes(population: Population) -> Iterator[Block | None]:
    text = (
        "A session draws its length, rate, buffering and silence from the laws; its packets are"
        " those of the prototype of a session that is drawn, scaled to its rate."
    )
    yield Text((text,))
    records = [
        {
            "session": one.name,
            "share of the sessions": f"{one.weight:.0%}",
            "its rate, kbit/s": kbps_from_bps(one.playout_rate_bps),
            "its length, s": one.media_duration_s,
            "rate of its group, kbit/s": kbps_from_bps(one.group_rate_bps),
        }
        for one in population.prototypes
    ]
    yield tabulate("Prototypes", records)


def _describe_sessions(fitted: PopulationFit) -> Iterator[Block | None]:
    records = []
    for one in fitted.sessions:
        record: dict[str, object] = {"session": one.name}
        for quantity, (name, unit) in _QUANTITIES.items():
            found = one.observed.get(quantity)
            value = None if found is None else found.value * _factor(quantity)
            record[f"{name}, {unit}" if unit else name] = value
        process = one.model.streams[0].phases[-1].process
        records.append({**record, "packets of its last phase": process_name(process.kind)})
    yield tabulate("Each session", records, folded=len(records) > _LONGEST_OPEN_TABLE)
    yield from warn(fitted.session_warnings)


def report_same_source(fitted: SameSourceFit) -> Report:
    """Make the report of captures of one source over several paths."""
    response, provenance = fitted.response, fitted.model.provenance
    assert isinstance(provenance, FittedProvenance)
    charts = [_chart_response(curve) for curve in response.curves]
    tables = [_tabulate_response(curve) for curve in response.curves]
    return build_report(
        "Fit of one source over several paths",
        f"{len(response.captures)} captures: {', '.join(response.captures)}",
        _judge_source(fitted),
        {"Summary": _describe_source(fitted), "Congestion response": (*charts, *tables)},
        made_by=f"{provenance.software}: trafficgen fit --same-source, seed {provenance.seed}",
    )


def _judge_source(fitted: SameSourceFit) -> Headline:
    """Judge by what could be decided: an unknown response is not a result."""
    response, doubts = fitted.response, len(fitted.warnings)
    kind = response.kind.replace("_", " ")
    rate = rate_text(kbps_from_bps(response.uncongested_rate_bps))
    mark: Mark = "warn" if doubts or not response.curves else "good"
    return Headline(
        mark="bad" if response.kind == "unknown" else mark,
        sentence=(
            f"Congestion response: {kind}; {rate} without congestion, as in {response.source}."
        ),
        figures={
            "congestion response": kind,
            "rate without congestion": rate,
            "captures": number(len(response.captures)),
            "measured against": format_count(len(response.curves), "condition"),
        },
    )


def _describe_source(fitted: SameSourceFit) -> Iterator[Block]:
    response = fitted.response
    yield Text(response.evidence, kind="list")
    if response.absent:
        yield Text(("No curve against:",))
        absent = (f"{name.replace('_', ' ')}: {why}" for name, why in response.absent.items())
        yield Text(tuple(absent), kind="list")
    yield from warn(fitted.warnings)


def _chart_response(curve: ResponseCurve) -> Chart:
    name, unit, log = _CONDITIONS[curve.condition]
    rates = [point.relative_rate for point in curve.points]
    low, factor, high = (
        number(value, digits=3)
        for value in (curve.end_to_end.low, curve.end_to_end.value, curve.end_to_end.high)
    )
    return Chart(
        name=f"response-{curve.condition.rpartition('_')[0].replace('_', '-')}",
        title=f"Rate against {name}",
        x=Axis(label=name, unit=unit, log=log),
        y=relative_rate_axis(rates),
        layers=(
            Rule(name="without congestion", at=1.0),
            points_with_intervals(rates, [point.condition for point in curve.points]),
        ),
        caption=(
            "Rate an interval later / rate without congestion. From the least to the most"
            f" congested point it changes by a factor of {factor} [{low}, {high}]; between captures"
            f" it differs by {curve.capture_log_deviation:.0%} besides."
            f" {curve.method[0].upper()}{curve.method[1:]}."
        ),
    )


def _tabulate_response(curve: ResponseCurve) -> Table | None:
    name, unit, _ = _CONDITIONS[curve.condition]
    records = [
        {
            f"{name}, {unit}" if unit else name: point.condition,
            "from": point.low,
            "to": point.high,
            "relative rate": point.relative_rate.value,
            "95% from": point.relative_rate.low,
            "95% to": point.relative_rate.high,
            "intervals": point.intervals,
            "captures": point.captures,
        }
        for point in curve.points
    ]
    return tabulate(f"Rate against {name}", records, folded=True)
