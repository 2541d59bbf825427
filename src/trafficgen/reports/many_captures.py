"""Report of a population: how its sessions differ, and what each of them is like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from trafficgen.calibration.population.fit_population import PopulationFit
from trafficgen.formatting import number
from trafficgen.models import Estimate, FittedProvenance, Population, PopulationQuantity
from trafficgen.reports.charts import Axis, Band, Chart, Curve
from trafficgen.reports.fit.packets import family_name
from trafficgen.reports.fit.tables import process_name
from trafficgen.reports.laws import PlottedLaw, chart_law
from trafficgen.reports.page import Block, Report, Section, Table, Text, keep, tabulate, warn
from trafficgen.reports.samples import Sample
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
#: Longer tables of sessions are folded.
_LONGEST_OPEN_TABLE = 40


def report_population(fitted: PopulationFit) -> Report:
    """Make the report of a population."""
    population, provenance = fitted.population, fitted.model.provenance
    assert isinstance(provenance, FittedProvenance)
    differences = (*_chart_laws(fitted), *keep(_tabulate_laws(population)))
    sections = [
        Section(title="Summary", blocks=tuple(_describe(fitted))),
        Section(
            title="How sessions differ",
            blocks=(*differences, *keep(_tabulate_correlations(population))),
        ),
        Section(title="What is played", blocks=tuple(_describe_prototypes(population))),
        Section(title="Sessions", blocks=tuple(_describe_sessions(fitted))),
    ]
    return Report(
        title="Fit of a population",
        subtitle=f"{population.sessions} sessions of {population.captures} captures",
        sections=tuple(sections),
        made_by=f"{provenance.software}: trafficgen fit --population, seed {provenance.seed}",
    )


def _describe(fitted: PopulationFit) -> Iterator[Block]:
    population, laws = fitted.population, fitted.population.laws
    rate_kbps = number(kbps_from_bps(laws["playout_rate_bps"].median.value))
    length_s = number(laws["media_duration_s"].median.value)
    text = (
        f"{population.sessions} sessions of {population.captures} captures, each fitted by itself"
        f" and pooled. The typical one plays {rate_kbps} kbit/s for {length_s} s."
    )
    yield Text(lines=(text,), kind="lead")
    if population.ladder:
        rungs = ", ".join(
            f"{number(kbps_from_bps(rung.rate_bps))} kbit/s ({rung.share:.0%})"
            for rung in population.ladder
        )
        yield Text(lines=(f"Shared levels, with the share of sessions that have them: {rungs}.",))
    if population.absent:
        absent = tuple(f"{_name(quantity)}: {why}" for quantity, why in population.absent.items())
        yield Text(lines=("Not pooled:",))
        yield Text(lines=absent, kind="list")
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


def _tabulate_laws(population: Population) -> Table | None:
    records = [
        {
            "quantity": _QUANTITIES[quantity][0],
            "unit": _QUANTITIES[quantity][1],
            **_interval("median", pooled.median, _factor(quantity)),
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


def _describe_prototypes(population: Population) -> Iterator[Block]:
    text = (
        "A session draws its length, rate, buffering and silence from the laws; its packets are"
        " those of a prototype near the drawn rate, scaled to it."
    )
    yield Text(lines=(text,))
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
    yield from keep(tabulate("Prototypes", records))


def _describe_sessions(fitted: PopulationFit) -> Iterator[Block]:
    records = []
    for one in fitted.sessions:
        record: dict[str, object] = {"session": one.name}
        for quantity, (name, unit) in _QUANTITIES.items():
            found = one.observed.get(quantity)
            value = None if found is None else found.value * _factor(quantity)
            record[f"{name}, {unit}" if unit else name] = value
        process = one.model.streams[0].phases[-1].process
        records.append({**record, "packets of its last phase": process_name(process.kind)})
    yield from keep(tabulate("Each session", records, folded=len(records) > _LONGEST_OPEN_TABLE))
    yield from warn(fitted.session_warnings)
