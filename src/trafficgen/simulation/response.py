"""The congestion response of a fitted model, as the engine reads it."""

from __future__ import annotations

from collections.abc import Iterable

from trafficgen.errors import SimulationWarning, warn
from trafficgen.models import CongestionResponse, Model, PooledResponse, ResponsePoint

#: Kinds that change what is sent; the others play their schedule whatever the path does.
ACTING = ("thinning", "level_switching", "rate_following")
#: What calibration calls congested, see :mod:`trafficgen.calibration.response.congestion_response`.
_CONGESTED_LOSS, _CONGESTED_DELAY_S = 0.01, 0.05
#: Weight of the newest report in a source's rate: with a half it has gone seven eighths of the way
#: after three intervals, over which calibration looks for a response.
NEWEST_WEIGHT = 0.5
_LEAST_RATE = 0.01
#: Levels closer than this are one.
_SAME_LEVEL = 0.05

_Points = list[tuple[float, float]]


def response_parameters(model: Model) -> dict[str, object] | None:
    """Return the response of a model for the engine; None: it plays its schedule.

    The response from several captures counts before that from one. Rates are relative to the
    calmest state. A curve against throughput or the link's rate is looked up by the rate that
    arrives while there is loss or queueing.

    Warns:
        SimulationWarning: If the response is unknown or has neither curve nor effect.
    """
    if all(one.transport.is_quic or one.transport.protocol == "tcp" for one in model.streams):
        return None  # a connection responds by itself
    found = model.same_source or model.response
    if found is None or found.kind not in ACTING:
        if found is None or found.kind == "unknown":
            _warn(model, "congestion response unknown")
        return None
    curves = _pooled_curves(found) if isinstance(found, PooledResponse) else _single_curves(found)
    if not curves:
        _warn(model, f"congestion response ({found.kind}) of unknown size")
        return None
    return {
        "kind": found.kind,
        "report_interval_s": found.interval_s,
        "newest_weight": NEWEST_WEIGHT,
        "levels": _levels(curves) if found.kind == "level_switching" else [],
        "curves": curves,
    }


def _warn(model: Model, why: str) -> None:
    warn(f"{model.name}: {why}; the source ignores loss and delay", SimulationWarning)


def _pooled_curves(response: PooledResponse) -> list[dict[str, object]]:
    curves = []
    for curve in response.curves:
        rates = {point.condition: point.relative_rate.value for point in curve.points}
        calm = max(point.relative_rate.value for point in curve.points)
        is_rate = curve.condition == "link_rate_bps"
        if calm > 0:
            points = [(at, rate / calm) for at, rate in rates.items()]
            condition = "throughput_bps" if is_rate else curve.condition
            curves.append(_curve(condition, points, in_steps=False))
    return curves


def _single_curves(response: CongestionResponse) -> list[dict[str, object]]:
    if response.curve:
        by_delay = any("delay" in point.state for point in response.curve)
        condition = "queueing_delay_s" if by_delay else "loss_rate"
        return [_curve(condition, _steps(response.curve), in_steps=True)]
    if response.effect is None:
        return []
    rate = response.effect.value
    return [
        _curve("loss_rate", [(0.0, 1.0), (_CONGESTED_LOSS, rate)], in_steps=True),
        _curve("queueing_delay_s", [(0.0, 1.0), (_CONGESTED_DELAY_S, rate)], in_steps=True),
    ]


def _steps(points: Iterable[ResponsePoint]) -> _Points:
    """Return the beginning of each state and its rate relative to the calmest state."""
    ordered = sorted(points, key=lambda point: point.low)
    calm = ordered[0].relative_rate.value
    return [(point.low, point.relative_rate.value / calm) for point in ordered] if calm > 0 else []


def _curve(condition: str, points: _Points, *, in_steps: bool) -> dict[str, object]:
    """Return a curve with rates from 1 down: a source never sends more than its schedule."""
    held = {at: min(1.0, max(_LEAST_RATE, rate)) for at, rate in points}
    return {"condition": condition, "points": sorted(held.items()), "in_steps": in_steps}


def _levels(curves: list[dict[str, object]]) -> list[float]:
    """Return the relative rates of the levels, descending from 1: those of the curves."""
    rates: list[float] = [1.0]
    found = {rate for curve in curves for _, rate in curve["points"]}  # type: ignore[attr-defined]
    for rate in sorted(found, reverse=True):
        if rate < rates[-1] - _SAME_LEVEL:
            rates.append(rate)
    return rates
