"""A simulation for people: one line, and a view for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from trafficgen import html_view as html
from trafficgen.formatting import format_count, number, one_line

if TYPE_CHECKING:
    from trafficgen.simulation.measures import IntervalMeasure
    from trafficgen.simulation.results import SimulationResult

_PHASE_HEADER = ("phase", "length, s", "received, kbps", "sent, kbps", "lost, %")
_FLOW_HEADER = (
    "flow",
    "received, kbps",
    "sent, kbps",
    "lost, %",
    "mean delay, s",
    "95th percentile, s",
    "sent again",
)


def line_of_result(result: SimulationResult) -> str:
    """Return model, length, rate, loss and stalls on one line."""
    media = result.flows[0]
    parts = [
        f"{number(result.end_s)} s",
        f"{number(media.measure.rate_kbps)} kbps",
        f"{_percent(media.measure.loss)}% lost",
        format_count(len(result.events.stalls), "stall"),
        *([format_count(others, "competitor")] if (others := _competitors(result)) else []),
    ]
    return f"<SimulationResult of {_model(result)}: {', '.join(parts)}, seed {result.seed}>"


def view_of_result(result: SimulationResult) -> str:
    """Return phases, moments and flows of a simulation, and the rate of its media over time."""
    events, series = result.events, result.series
    moments = [
        f"{number(change.from_kbps)} to {number(change.to_kbps)} kbps at {number(change.time_s)} s"
        for change in events.level_changes()
    ]
    stalls = [
        f"{number(stall.duration_s)} s at {number(stall.start_s)} s" for stall in events.stalls
    ]
    phases = [("buffering", result.buffering), ("playout", result.playout)]
    lines = [("media received", series["media_kbps"]), ("media sent", series["media_offered_kbps"])]
    return html.view(
        f"Simulation of {_model(result)}",
        html.facts(
            [
                ("silence before the media, s", number(result.silence_s)),
                ("changes of the encoding", ", ".join(moments)),
                ("stalls", ", ".join(stalls)),
                (
                    "video thinned from, s",
                    events.thinned_s if events.thinned_s is None else number(events.thinned_s),
                ),
                ("seed", number(result.seed)),
            ]
        ),
        html.table(
            _PHASE_HEADER,
            [_phase_row(name, phase) for name, phase in phases if phase],
            right=(1, 2, 3, 4),
        ),
        html.curve(
            [(name, np.asarray(values, dtype=np.float64)) for name, values in lines],
            start_s=float(series["start_s"]),
            step_s=float(series["interval_s"]),
        ),
        html.table(_FLOW_HEADER, _flow_rows(result), right=(1, 2, 3, 4, 5, 6), what="flows"),
    )


def _model(result: SimulationResult) -> str:
    return one_line(result.notes.get("model", "a source"))


def _competitors(result: SimulationResult) -> int:
    return sum(not one.is_session for one in result.run.scenario.participants)


def _percent(share: float) -> str:
    return number(100 * share, digits=3)


def _phase_row(name: str, phase: IntervalMeasure) -> tuple[str, ...]:
    rates = (phase.duration_s, phase.rate_kbps, phase.offered_kbps)
    return (name, *(number(value) for value in rates), _percent(phase.loss))


def _flow_rows(result: SimulationResult) -> list[tuple[str, ...]]:
    return [
        (
            flow.name,
            number(flow.measure.rate_kbps),
            number(flow.measure.offered_kbps),
            _percent(flow.measure.loss),
            number(flow.delay_s.mean),
            number(flow.delay_s.p95),
            number(flow.measure.retransmissions),
        )
        for flow in result.flows
    ]
