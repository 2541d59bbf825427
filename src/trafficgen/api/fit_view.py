"""Fits for people: one line each, and views for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trafficgen import html_view as html
from trafficgen.formatting import endpoint, format_count, interval, number, one_line
from trafficgen.models import Estimate, Law, LossModel, Model
from trafficgen.models.model_view import estimate_text, phases_of_model
from trafficgen.units import kbps_from_bps

if TYPE_CHECKING:
    from trafficgen.api.fitting import Fit
    from trafficgen.api.populations import PopulationFit
    from trafficgen.api.same_source import SameSourceFit
    from trafficgen.calibration import Calibration

_LAW_HEADER = ("law of", "family", "parameters", "KS distance", "p-value")
_POPULATION_HEADER = (
    "quantity",
    "median",
    "95% interval",
    "sd of the logarithm",
    "sessions",
    "law",
)
_RESPONSE_HEADER = (
    "condition",
    "value",
    "rate sent / rate without congestion",
    "intervals",
    "captures",
)


def line_of_fit(fitted: Fit) -> str:
    """Return the model of a fit and how many warnings there are on one line."""
    return f"<Fit of {_model_words(fitted.model)}{_warned(fitted.warnings)}>"


def view_of_fit(fitted: Fit) -> str:
    """Return phases, laws, dependence and the path of a fit, and what is doubtful."""
    flow: dict[str, Any] = dict(fitted.flow)
    session = fitted.calibration.session
    server = endpoint(flow.get("server"), flow.get("server_port"))
    return html.view(
        f"Fit of {fitted.model.name}",
        html.facts(
            [
                ("media packets", f"{session.packets:,d} in {number(session.duration_s)} s"),
                (
                    "heaviest flow",
                    (
                        f"{flow.get('flow')}, {flow.get('protocol')}, {flow.get('media')}, from"
                        f" {server}"
                    ),
                ),
            ]
        ),
        phases_of_model(fitted.model, fitted.rate),
        html.table(_LAW_HEADER, _law_rows(fitted.calibration), right=(3, 4)),
        html.facts(_measured(fitted.calibration)),
        html.texts("Warnings", fitted.warnings),
        html.texts(
            "Not estimated", [f"{name}: {reason}" for name, reason in fitted.model.absent.items()]
        ),
    )


def _law_rows(calibration: Calibration) -> list[tuple[object, ...]]:
    laws = {
        "packet sizes in the playout, bytes": calibration.session.packet_bytes.parametric,
        "gaps in the playout, s": calibration.session.gap_s.parametric,
    }
    return [_law_row(name, law) for name, law in laws.items()]


def _law_row(name: str, law: Law) -> tuple[object, ...]:
    params = ", ".join(f"{key} {number(value)}" for key, value in law.params.items())
    atoms = f"{format_count(len(law.atoms), 'atom')}" if law.atoms else ""
    ks = law.fit.ks if law.fit else None
    return (
        name,
        law.family,
        "; ".join(filter(None, (params, atoms))),
        number(ks),
        number(law.fit and law.fit.p_value),
    )


def _measured(calibration: Calibration) -> list[tuple[str, object]]:
    """Return dependence, levels and what the path did."""
    session = calibration.session
    hurst, conditions = session.hurst, session.path.conditions
    levels = session.levels if session.played_levels is None else session.played_levels
    return [
        (
            "Hurst parameter of the rate",
            f"{number(hurst.value)} {interval(hurst.low, hurst.high)}" if hurst else None,
        ),
        ("process of the heaviest stream", session.process.kind.replace("_", " ")),
        (
            "levels of the rate, kbps",
            ", ".join(number(level) for level in levels.kbps) if levels else None,
        ),
        ("loss on the path", _loss(conditions.loss_rate, conditions.loss_model)),
        ("round-trip time, s", estimate_text(conditions.rtt_s)),
    ]


def _loss(rate: Estimate | None, model: LossModel | None) -> str | None:
    if rate is None:
        return None
    return f"{estimate_text(rate)}{f', {model.kind}' if model else ''}"


def line_of_population(fitted: PopulationFit) -> str:
    """Return the size of a population and its typical session on one line."""
    population = fitted.population
    sizes = f"{format_count(population.sessions, 'session')} of {format_count(population.captures, 'capture')}"
    return (
        f"<PopulationFit of {sizes}, typical:"
        f" {_model_words(fitted.model)}{_warned(fitted.warnings)}>"
    )


def view_of_population(fitted: PopulationFit) -> str:
    """Return how sessions differ, and what was left out."""
    population = fitted.population
    rows = []
    for name, law in population.laws.items():
        rate = name.endswith("_bps")
        median = estimate_text(law.median, rate=rate) or ""
        value, _, ends = median.partition(" ")
        shown = f"{name.removesuffix('_bps')}, kbps" if rate else _quantity(name)
        rows.append(
            (shown, value, ends, number(law.log_deviation.value), law.sessions, law.law.family)
        )
    prototypes = [
        f"{one.name}, for {one.weight:.0%} of the sessions: about"
        f" {number(kbps_from_bps(one.group_rate_bps))} kbps"
        for one in population.prototypes
    ]
    return html.view(
        f"Population of {format_count(population.sessions, 'session')} of"
        f" {format_count(population.captures, 'capture')}",
        html.table(_POPULATION_HEADER, rows, right=(1, 3, 4), what="quantities"),
        html.texts("Prototypes", prototypes),
        _left_out(fitted.left_out),
        html.texts("Warnings", fitted.warnings),
    )


def _quantity(name: str) -> str:
    stem = name.removesuffix("_s")
    return f"{stem}, s" if stem != name else name


def line_of_same_source(fitted: SameSourceFit) -> str:
    """Return the answer to congestion and the captures it comes from on one line."""
    response = fitted.response
    paths = format_count(len(response.captures), "path")
    return (
        f"<SameSourceFit over {paths}: {response.kind.replace('_', ' ')}{_warned(fitted.warnings)}>"
    )


def view_of_same_source(fitted: SameSourceFit) -> str:
    """Return a source's answer to congestion, and what it rests on."""
    response = fitted.response
    rows = [
        (
            curve.condition,
            number(point.condition),
            estimate_text(point.relative_rate),
            point.intervals,
            point.captures,
        )
        for curve in response.curves
        for point in curve.points
    ]
    return html.view(
        f"One source over {format_count(len(response.captures), 'path')}:"
        f" {response.kind.replace('_', ' ')}",
        html.facts(
            [
                (
                    "rate without congestion, kbps",
                    number(kbps_from_bps(response.uncongested_rate_bps)),
                ),
                ("processes from", response.source),
                ("intervals looked at, s", number(response.interval_s)),
            ]
        ),
        html.texts("What the class rests on", response.evidence),
        html.table(_RESPONSE_HEADER, rows, right=(1, 3, 4), what="points"),
        html.texts(
            "Without a curve", [f"{name}: {reason}" for name, reason in response.absent.items()]
        ),
        _left_out(fitted.left_out),
        html.texts("Warnings", fitted.warnings),
    )


def _left_out(reasons: Mapping[str, str]) -> str:
    return html.texts("Left out", [f"{name}: {reason}" for name, reason in reasons.items()])


def _model_words(model: Model) -> str:
    streams = ", ".join(one_line(stream.name) for stream in model.streams)
    rate = number(kbps_from_bps(model.playout.rate_bps.value))
    start = f"buffering {number(model.buffering.duration_s.value)} s, " if model.buffering else ""
    return f"{one_line(model.name)} ({streams}): {start}playout at {rate} kbps"


def _warned(warnings: Sequence[str]) -> str:
    return f", {format_count(len(warnings), 'warning')}" if warnings else ""
