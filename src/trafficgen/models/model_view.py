"""Models for people: one line each, and views for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trafficgen import html_view as html
from trafficgen.formatting import format_count, interval, number, one_line
from trafficgen.units import FloatArray, kbps_from_bps

if TYPE_CHECKING:
    from trafficgen.models.estimate import Estimate
    from trafficgen.models.law import Law
    from trafficgen.models.published import PublishedModel
    from trafficgen.models.schema import FittedProvenance, Model, Provenance, PublishedProvenance
    from trafficgen.tables import RateCurve

_PHASE_HEADER = ("stream", "phase", "start, s", "length, s", "rate, kbps", "process", "transport")
#: Steps in which the rates of the phases are drawn.
_STEPS = 200
_OPTION_HEADER = ("option", "default", "unit", "may be", "what it changes")


def estimate_text(estimate: Estimate | None, *, rate: bool = False) -> str | None:
    """Return an estimate with its interval, a rate in kbps; None where there is no estimate."""
    if estimate is None:
        return None
    ends = [estimate.value, estimate.low, estimate.high]
    value, low, high = (
        None if end is None else kbps_from_bps(end) if rate else end for end in ends
    )
    return f"{number(value)} {interval(low, high)}".rstrip()


def line_of_law(law: Law) -> str:
    """Return a law's family with its parameters, its atoms and the size of its sample on one
    line.
    """
    parts = [", ".join(f"{name}={number(value)}" for name, value in law.params.items())]
    parts += [format_count(len(law.quantiles), "point")] if law.quantiles else []
    parts += [format_count(len(law.atoms), "atom")] if law.atoms else []
    parts += [format_count(law.observations, "observation")]
    unit = "" if law.unit == "1" else f", {law.unit}"
    return f"<Law {law.family}{unit}: {'; '.join(filter(None, parts))}>"


def line_of_model(model: Model) -> str:
    """Return streams, length and rates of a fitted model on one line."""
    playout = kbps_from_bps(model.playout.rate_bps.value)
    names = ", ".join(one_line(stream.name) for stream in model.streams)
    parts = [f"{format_count(len(model.streams), 'stream')} ({names})"]
    if model.buffering is not None:
        rate = kbps_from_bps(model.buffering.rate_bps.value)
        parts.append(
            f"buffering {number(model.buffering.duration_s.value)} s at {number(rate)} kbps"
        )
    parts.append(f"playout {number(model.playout.duration_s.value)} s at {number(playout)} kbps")
    if model.population is not None:
        parts.append(f"a population of {format_count(model.population.sessions, 'session')}")
    if model.same_source is not None:
        parts.append(f"one source over {format_count(len(model.same_source.captures), 'path')}")
    return f"<Model {one_line(model.name)}: {', '.join(parts)}>"


def view_of_model(model: Model) -> str:
    """Return phases and rates of a fitted model, where it comes from, and what it lacks."""
    return html.view(
        f"Model {model.name}",
        html.paragraph(model.description),
        phases_of_model(model),
        html.texts("Not estimated", [f"{name}: {reason}" for name, reason in model.absent.items()]),
    )


def phases_of_model(model: Model, measured: RateCurve | None = None) -> str:
    """Return start, buffering and playout of a fitted model, the rates of its phases over time, and
    a table of them.

    Args:
        model: The model.
        measured: Rate of the media that it was fitted to, drawn beside its own.
    """
    buffering, population, same_source = model.buffering, model.population, model.same_source
    length_s = max(phase.end_s for stream in model.streams for phase in stream.phases)
    rows = [
        ("silence before the media, s", estimate_text(model.startup.silence_s)),
        ("buffering, s", estimate_text(buffering.duration_s) if buffering else "none"),
        ("buffering, kbps", estimate_text(buffering.rate_bps, rate=True) if buffering else None),
        ("buffering rate / playout rate", estimate_text(buffering.ratio) if buffering else None),
        ("playout, s", estimate_text(model.playout.duration_s)),
        ("playout, kbps", estimate_text(model.playout.rate_bps, rate=True)),
        ("from", _origin(model.provenance)),
        ("population", format_count(population.sessions, "session") if population else None),
        ("answer to congestion", same_source.kind.replace("_", " ") if same_source else None),
    ]
    rates = [("mean rate of the phases", _phase_kbps(model, length_s))]
    if measured is not None:
        rates.insert(
            0, ("media in the capture", measured.rate_kbps(_STEPS, start_s=0.0, end_s=length_s))
        )
    return "".join(
        [
            html.facts(rows),
            html.paragraph("In brackets: 95% intervals."),
            html.curve(rates, start_s=0.0, step_s=length_s / _STEPS, mean=False),
            html.table(_PHASE_HEADER, _phase_rows(model), right=(2, 3, 4), what="phases"),
        ]
    )


def _phase_kbps(model: Model, length_s: float) -> FloatArray:
    """Return the sum of the streams' phase rates in the middle of equal steps, kbit/s, shape
    (n,).
    """
    moments = (np.arange(_STEPS) + 0.5) / _STEPS * length_s
    rates = np.zeros(_STEPS)
    for stream in model.streams:
        for phase in stream.phases:
            rates[(moments >= phase.start_s) & (moments < phase.end_s)] += kbps_from_bps(
                phase.rate_bps
            )
    return rates


def _phase_rows(model: Model) -> list[tuple[object, ...]]:
    return [
        (
            stream.name if place == 0 else "",
            phase.name,
            number(phase.start_s),
            number(phase.duration_s),
            number(kbps_from_bps(phase.rate_bps)),
            phase.process.kind.replace("_", " "),
            (
                f"{stream.transport.protocol}{', RTP' if stream.transport.rtp else ''}"
                if place == 0
                else ""
            ),
        )
        for stream in model.streams
        for place, phase in enumerate(stream.phases)
    ]


def _origin(provenance: Provenance) -> str:
    if provenance.kind == "published":
        return _citations(provenance)
    return _capture(provenance)


def _capture(provenance: FittedProvenance) -> str:
    more = f" and {len(provenance.files) - 1} more" if len(provenance.files) > 1 else ""
    first = provenance.files[0] if provenance.files else "packets in memory"
    return (
        f"{first}{more}, session {provenance.session}; fitted by {provenance.software}, seed"
        f" {provenance.seed}"
    )


def _citations(provenance: PublishedProvenance) -> str:
    return "; ".join(source.text for source in provenance.citations)


def line_of_published(model: PublishedModel) -> str:
    """Return state machine, options and review of a published model on one line."""
    options = format_count(len(model.options), "option")
    return (
        f"<PublishedModel {one_line(model.name)}: {model.mechanism.kind}, {options},"
        f" {model.provenance.review}>"
    )


def view_of_published(model: PublishedModel) -> str:
    """Return what a published model is, what may be set, and where its numbers come from and
    end.
    """
    rows = [
        (name, _value(option.default), option.unit, option.allowed, option.description)
        for name, option in model.options.items()
    ]
    parameters = model.mechanism.parameters
    return html.view(
        f"Published model {model.name}",
        html.paragraph(model.description),
        html.facts(
            [
                (
                    "state machine",
                    f"{model.mechanism.kind}, {format_count(len(parameters), 'parameter')}",
                ),
                ("transport", model.transport),
                ("review", model.provenance.review),
            ]
        ),
        html.table(_OPTION_HEADER, rows, what="options"),
        html.texts("Citations", [source.text for source in model.provenance.citations]),
        html.texts("Limits", model.provenance.limitations),
    )


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    return "-" if value is None else str(value)
