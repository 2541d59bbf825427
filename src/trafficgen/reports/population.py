"""The report of a corpus: how its sessions differ, and what each of them is like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from trafficgen.calibration.population.session_estimates import SessionEstimates
from trafficgen.formatting import number
from trafficgen.models import FittedProvenance, Model, Population, PopulationQuantity
from trafficgen.reports.charts import Axis, Band, Chart, Curve
from trafficgen.reports.curves import Sample
from trafficgen.reports.fit.packets import family_name
from trafficgen.reports.fit.tables import process_name
from trafficgen.reports.laws import PlottedLaw, chart_law
from trafficgen.reports.names import without_folder
from trafficgen.reports.page import Block, Report, Section, Table, Text
from trafficgen.units import kbps_from_bps

#: What is said of each quantity: its name, and the unit in which it is shown.
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


def population_report(
    model: Model,
    *,
    sessions: Sequence[SessionEstimates],
    warnings: tuple[str, ...],
    session_warnings: tuple[str, ...],
) -> Report:
    """Return the report of a corpus.

    Args:
        model: The model with its population.
        sessions: What each session contributed.
        warnings: What is doubtful about the population.
        session_warnings: What is doubtful about single sessions.
    """
    population, provenance = model.population, model.provenance
    assert population is not None
    assert isinstance(provenance, FittedProvenance)
    sections = [
        Section(title="In words", blocks=tuple(_words(population, warnings))),
        Section(
            title="How sessions differ",
            blocks=(
                *_chart_laws(population, sessions),
                _laws_table(population),
                *_dependence(population),
            ),
        ),
        Section(title="What is played", blocks=tuple(_played(population))),
        Section(title="Sessions", blocks=tuple(_sessions(sessions, session_warnings))),
    ]
    return Report(
        title="Fit of a population",
        subtitle=f"{population.sessions} sessions of {population.captures} captures",
        sections=tuple(sections),
        made_by=f"{provenance.software}: trafficgen fit --population, seed {provenance.seed}",
    )


def _words(population: Population, warnings: tuple[str, ...]) -> Iterator[Block]:
    rate, length = (
        population.laws["playout_rate_bps"].median,
        population.laws["media_duration_s"].median,
    )
    yield Text(
        lines=(
            (
                f"{population.sessions} sessions of {population.captures} captures, each fitted by"
                f" itself and pooled. The typical one plays {number(kbps_from_bps(rate.value))}"
                f" kbit/s for {number(length.value)} s."
            ),
        ),
        kind="lead",
    )
    if population.ladder:
        rungs = ", ".join(
            f"{number(kbps_from_bps(rung.rate_bps))} kbit/s ({rung.share:.0%})"
            for rung in population.ladder
        )
        yield Text(
            lines=(
                f"Levels that sessions share, with the share of sessions that have them: {rungs}.",
            )
        )
    if population.absent:
        absent = tuple(f"{_name(quantity)}: {why}" for quantity, why in population.absent.items())
        yield Text(lines=("What could not be pooled:",))
        yield Text(lines=absent, kind="list")
    if warnings:
        yield Text(lines=("To be careful about:",))
        yield Text(lines=tuple(map(without_folder, warnings)), kind="warnings")


def _name(quantity: str) -> str:
    return next((name for key, (name, _) in _QUANTITIES.items() if key == quantity), quantity)


def _chart_laws(population: Population, sessions: Sequence[SessionEstimates]) -> Iterator[Chart]:
    """Yield the law of each quantity over the values of the sessions."""
    for quantity, pooled in population.laws.items():
        values = np.array(
            [each.observed[quantity].value for each in sessions if quantity in each.observed]
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
                " the law is without: it may be steeper."
            ),
        )
        if chart is not None:
            yield _in_units(chart, _factor(quantity))


def _factor(quantity: PopulationQuantity) -> float:
    """Return what the unit of a quantity is multiplied by for the one in which it is shown."""
    return kbps_from_bps(1.0) if quantity.endswith("_bps") else 1.0


def _in_units(chart: Chart, factor: float) -> Chart:
    """Return a chart with its horizontal places multiplied."""
    if factor == 1:
        return chart
    layers = tuple(
        replace(layer, x=factor * np.asarray(layer.x)) if isinstance(layer, Curve | Band) else layer
        for layer in chart.layers
    )
    return replace(chart, layers=layers)


def _laws_table(population: Population) -> Table:
    rows = []
    for quantity, pooled in population.laws.items():
        name, unit = _QUANTITIES[quantity]
        median, spread = pooled.median, pooled.log_deviation
        rows.append(
            (
                name,
                unit,
                *(
                    number(None if value is None else value * _factor(quantity))
                    for value in (median.value, median.low, median.high)
                ),
                *(number(value, digits=3) for value in (spread.value, spread.low, spread.high)),
                pooled.law.family.replace("_", " "),
                number(pooled.sessions),
                pooled.method,
            )
        )
    return Table(
        title="Laws across sessions",
        header=(
            "quantity",
            "unit",
            "median",
            "95% from",
            "to",
            "log sd",
            "95% from",
            "to",
            "law",
            "sessions",
            "method",
        ),
        rows=tuple(rows),
        numbers=(2, 3, 4, 5, 6, 7, 9),
    )


def _dependence(population: Population) -> Iterator[Table]:
    if population.dependence:
        yield Table(
            title="Quantities that go together",
            header=("one", "the other", "correlation of ranks", "95% from", "to"),
            rows=tuple(
                (
                    _name(pair.first),
                    _name(pair.second),
                    *(
                        number(value, digits=2)
                        for value in (
                            pair.normal_correlation.value,
                            pair.normal_correlation.low,
                            pair.normal_correlation.high,
                        )
                    ),
                )
                for pair in population.dependence
            ),
            numbers=(2, 3, 4),
        )


def _played(population: Population) -> Iterator[Block]:
    yield Text(
        lines=(
            (
                "A session draws its length, rate, buffering and silence from the laws; its packets"
                " are those of a prototype near the drawn rate, scaled to it."
            ),
        )
    )
    yield Table(
        title="Prototypes",
        header=(
            "session",
            "stands for",
            "its rate, kbit/s",
            "its length, s",
            "rate of its group, kbit/s",
        ),
        rows=tuple(
            (
                one.name,
                f"{one.weight:.0%}",
                number(kbps_from_bps(one.playout_rate_bps)),
                number(one.media_duration_s),
                number(kbps_from_bps(one.group_rate_bps)),
            )
            for one in population.prototypes
        ),
        numbers=(1, 2, 3, 4),
    )


def _sessions(
    sessions: Sequence[SessionEstimates], session_warnings: tuple[str, ...]
) -> Iterator[Block]:
    shown: tuple[PopulationQuantity, ...] = tuple(_QUANTITIES)
    rows = [
        (
            each.name,
            *(
                number(
                    each.observed[quantity].value * _factor(quantity)
                    if quantity in each.observed
                    else None
                )
                for quantity in shown
            ),
            process_name(each.model.streams[0].phases[-1].process.kind),
        )
        for each in sessions
    ]
    header = [f"{name}, {unit}" if unit else name for name, unit in _QUANTITIES.values()]
    yield Table(
        title="Each session",
        header=("session", *header, "packets of its last phase"),
        rows=tuple(rows),
        numbers=tuple(range(1, 1 + len(shown))),
        folded=len(rows) > 40,
    )
    if session_warnings:
        yield Text(lines=("About single sessions:",))
        yield Text(lines=tuple(map(without_folder, session_warnings)), kind="warnings")
