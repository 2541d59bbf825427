"""Packet processes scaled to another rate: sizes stay, and what sets the pace is scaled."""

from __future__ import annotations

import numpy as np
from scipy import special

from trafficgen.distributions import MixedLaw
from trafficgen.models import (
    Atom,
    BurstProcess,
    Law,
    ModulatedProcess,
    PacketProcess,
    QuantilePoint,
    RateClass,
    RenewalProcess,
    Tail,
)
from trafficgen.models.estimate import ModelPart
from trafficgen.units import FloatArray

#: Parameters of families by which all their values are multiplied.
_SCALED_PARAMS = ("loc", "scale")
#: Probabilities at which a scaled law is checked.
_CHECKED = np.array([0.02, 0.1, 0.5, 0.9, 0.98, 0.999])
#: A law that is not scaled by its parameters is scaled by this many quantiles.
_QUANTILES = 65
_TAIL = 1e-4
#: Points at which a mean that is infinite is cut off.
_POINTS = 2000
#: Rates met to this share are met.
_CLOSE = 1e-3
#: Coefficients of variation are taken for no less and no more than these; more points than the
#: third are many.
_LEAST_VARIATION, _MOST_VARIATION, _MANY_POINTS, _MORE_POINTS = 0.01, 3.0, 50.0, 30


def scaled_process(process: PacketProcess, factor: float) -> PacketProcess:
    """Return a process that sends ``factor`` times the rate.

    Bursts keep their spacing and get more or fewer packets: frames and chunks come when the
    medium's clock says so, and a higher encoding rate makes them larger. What whole packets cannot
    express is left to the spacing. Slow ups and downs keep their times as well, their bins get more
    or fewer bytes. Single packets come at shorter or longer gaps, and any other process runs on a
    faster or slower clock. Packet sizes stay: they are the transport's.

    Args:
        process: The process.
        factor: New rate / old rate, > 0.
    """
    if abs(factor - 1) < _CLOSE:
        return process
    if isinstance(process, BurstProcess):
        return _scaled_bursts(process, factor)
    if isinstance(process, RenewalProcess):
        return process.model_copy(update={"gap_s": scaled_law(process.gap_s, 1 / factor)})
    if isinstance(process, ModulatedProcess):
        return process.model_copy(
            update={
                "bin_bytes": scaled_law(process.bin_bytes, factor),
                "classes": tuple(_scaled_class(part, factor) for part in process.classes),
            }
        )
    return on_faster_clock(process, factor)


def _scaled_class(part: RateClass, factor: float) -> RateClass:
    """Return how packets fill a bin that has ``factor`` times the bytes: all gaps within it are
    shorter.
    """
    return part.model_copy(
        update={
            "up_to_bytes": None if part.up_to_bytes is None else part.up_to_bytes * factor,
            "gap_s": scaled_law(part.gap_s, 1 / factor),
            "idle_s": None if part.idle_s is None else scaled_law(part.idle_s, 1 / factor),
        }
    )


def _scaled_bursts(process: BurstProcess, factor: float) -> BurstProcess:
    packets = scaled_law(process.burst_packets, factor)
    larger = process.model_copy(update={"burst_packets": packets})
    stretch = _burst_bytes(larger) / _burst_bytes(process) / factor
    spacing = (
        process.spacing_s if abs(stretch - 1) < _CLOSE else scaled_law(process.spacing_s, stretch)
    )
    return larger.model_copy(update={"spacing_s": spacing})


def expected_bytes(process: PacketProcess, span_s: float, *, first_at_start: bool) -> float | None:
    """Return the IP bytes that a process brings in a span on average; None for a process whose mean
    is not known here.

    Args:
        process: The process.
        span_s: Length of the span, s, > 0.
        first_at_start: Whether the span begins with a packet or burst; else the process is met in
            equilibrium.
    """
    if isinstance(process, ModulatedProcess):
        return process.bin_bytes.distribution().mean * span_s / process.bin_s
    if isinstance(process, BurstProcess):
        between, each = process.spacing_s.distribution(), _burst_bytes(process)
    elif isinstance(process, RenewalProcess):
        between, each = process.gap_s.distribution(), process.packet_bytes.distribution().mean
    else:
        return None
    return each * (_points_from_start(between, span_s) if first_at_start else span_s / between.mean)


def _points_from_start(between: MixedLaw, span_s: float) -> float:
    """Return the mean number of points of a renewal process in a span that begins with one.

    It is 1 + sum of P(k gaps fit in the span) over k, gaps taken for gamma with their mean and
    variance; for many points its limit T / m + (1 + c^2) / 2, c the coefficient of variation (Cox,
    "Renewal Theory", 1962, section 4.1).
    """
    expected = span_s / between.mean
    squared = between.variance / between.mean**2
    squared = (
        min(max(squared, _LEAST_VARIATION**2), _MOST_VARIATION**2) if np.isfinite(squared) else 1.0
    )
    if expected > _MANY_POINTS:
        return expected + (1 + squared) / 2
    gaps = np.arange(1, int(10 * expected) + _MORE_POINTS)
    return 1 + float(special.gammainc(gaps / squared, expected / squared).sum())


def _burst_bytes(process: BurstProcess) -> float:
    """Return the mean bytes of a burst."""
    packets = _mean_packets(process.burst_packets.distribution())
    return (
        packets - 1
    ) * process.packet_bytes.distribution().mean + process.last_packet_bytes.distribution().mean


def _mean_packets(law: MixedLaw) -> float:
    """Return the mean number of packets of a burst that is drawn from a law: whole, at least
    one.
    """
    mean = law.mean
    if np.isfinite(mean):
        return max(1.0, mean)
    drawn = quantiles_of(law, (np.arange(_POINTS) + 0.5) / _POINTS)
    return float(np.maximum(np.rint(drawn), 1.0).mean())


def on_faster_clock(process: ModelPart, factor: float) -> PacketProcess:
    """Return a process whose times are all divided by ``factor``, and whose rates are all
    multiplied by it.

    Times and rates are told by the names of their fields: ``_s``; ``_bps``, ``_hz`` and ``_per_s``.
    """
    updates: dict[str, object] = {}
    for name in type(process).model_fields:
        value = getattr(process, name)
        if name.endswith(("_bps", "_hz", "_per_s")):
            updates[name] = _times(value, factor)
        elif name.endswith("_s"):
            updates[name] = _times(value, 1 / factor)
        elif isinstance(value, ModelPart):
            updates[name] = value if isinstance(value, Law) else on_faster_clock(value, factor)
        elif (
            isinstance(value, tuple)
            and value
            and isinstance(value[0], ModelPart)
            and not isinstance(value[0], Law)
        ):
            updates[name] = tuple(on_faster_clock(each, factor) for each in value)
    return process.model_copy(update=updates)  # type: ignore[return-value]  # a part stays of its own class


def _times(value: object, factor: float) -> object:
    if isinstance(value, Law):
        return scaled_law(value, factor)
    if isinstance(value, int | float):
        return value * factor
    if isinstance(value, tuple):
        return tuple(_times(each, factor) for each in value)
    if isinstance(value, ModelPart) and "value" in type(value).model_fields:
        ends = {name: getattr(value, name, None) for name in ("value", "low", "high")}
        return value.model_copy(update={name: _times(end, factor) for name, end in ends.items()})
    return value


def scaled_law(law: Law, factor: float) -> Law:
    """Return the law of ``factor`` times the quantity; whole numbers from 1 on stay whole and at
    least 1.

    Location and scale of a family are multiplied; a family that is not scaled that way becomes
    quantiles.
    """
    params = {name: v * factor if name in _SCALED_PARAMS else v for name, v in law.params.items()}
    bounds = {
        name: (
            None
            if (end := getattr(law, name)) is None
            else _scaled_value(end, factor, integer=law.integer)
        )
        for name in ("minimum", "maximum")
    }
    if law.integer and bounds["maximum"] is not None:
        bounds["maximum"] = float(np.ceil(bounds["maximum"]))
    scaled = law.model_copy(
        update={
            "params": params,
            "low": {},
            "high": {},
            "fit": None,
            "alternatives": (),
            "log_likelihood": None,
            "quantiles": tuple(
                QuantilePoint(p=q.p, value=_scaled_value(q.value, factor, integer=law.integer))
                for q in law.quantiles
            ),
            "atoms": _scaled_atoms(law, factor),
            "tail": None if law.tail is None else _scaled_tail(law.tail, factor),
            **bounds,
        }
    )
    return scaled if _is_scaled(scaled, law, factor) else _by_quantiles(law, factor)


def _scaled_value(value: float, factor: float, *, integer: bool) -> float:
    """Return a value times a factor; a whole number of 1 or more does not fall below 1, nor does
    any rise to it.
    """
    return max(value * factor, min(value, 1.0)) if integer else value * factor


def _scaled_tail(tail: Tail, factor: float) -> Tail:
    """Return the tail of the scaled quantiles."""
    return tail.model_copy(
        update={"threshold": tail.threshold * factor, "scale": tail.scale * factor}
    )


def _scaled_atoms(law: Law, factor: float) -> tuple[Atom, ...]:
    """Return the atoms at their new values; those that fall together are one."""
    weights: dict[float, float] = {}
    for atom in law.atoms:
        value = _scaled_value(atom.value, factor, integer=law.integer)
        value = float(np.rint(value)) if law.integer else value
        weights[value] = weights.get(value, 0.0) + atom.p
    return tuple(Atom(value=value, p=min(p, 1.0)) for value, p in weights.items())


def _is_scaled(scaled: Law, law: Law, factor: float) -> bool:
    """Return whether multiplying the parameters has multiplied the quantiles of the continuous
    part.
    """
    try:
        after = scaled.distribution().continuous
    except ValueError:  # a range without a whole number
        return False
    before = law.distribution().continuous
    if before is None or after is None:
        return True
    wanted = np.array(
        [
            _scaled_value(value, factor, integer=law.integer)
            for value in before.ppf(_CHECKED).tolist()
        ]
    )
    return bool(np.allclose(after.ppf(_CHECKED), wanted, rtol=0.01, atol=1e-12))


def _by_quantiles(law: Law, factor: float) -> Law:
    """Return the scaled law as quantiles, atoms included."""
    mixed = law.distribution()
    p = np.linspace(0.0, 1.0, _QUANTILES)
    seen = quantiles_of(mixed, np.clip(p, _TAIL, 1 - _TAIL))
    value = np.maximum.accumulate(
        [_scaled_value(each, factor, integer=law.integer) for each in seen.tolist()]
    )
    if law.integer:
        value[-1] = np.ceil(value[-1])
    points = tuple(
        QuantilePoint(p=float(at), value=float(v)) for at, v in zip(p, value, strict=True)
    )
    return Law(
        unit=law.unit,
        family="quantiles",
        quantiles=points,
        integer=law.integer,
        observations=law.observations,
    )


def quantiles_of(law: MixedLaw, probability: FloatArray) -> FloatArray:
    """Return the smallest value at which the distribution function of a mixed law reaches each
    probability.

    Atoms may lie anywhere among the continuous part: between them its quantiles are those of what
    the atoms leave.
    """
    if law.continuous is None:
        order = np.argsort(law.values)
        cumulative = np.cumsum(np.array(law.probabilities)[order])
        rows = np.searchsorted(cumulative, probability * cumulative[-1])
        return np.asarray(
            np.array(law.values)[order][np.minimum(rows, order.size - 1)], dtype=np.float64
        )
    weight = law.continuous_weight
    order = np.argsort(law.values)
    values, shares = np.array(law.values)[order], np.array(law.probabilities)[order]
    result = np.full(probability.shape, np.nan)
    below = np.zeros(probability.shape)  # weight of the atoms at smaller values
    for value, share in zip(values, shares, strict=True):
        until = weight * float(law.continuous.cdf(value)) + below
        here = np.isnan(result) & (probability > until) & (probability <= until + share)
        result[here] = value
        below = np.where(np.isnan(result) & (probability > until + share), below + share, below)
    rest = np.isnan(result)
    if weight > 0:
        result[rest] = law.continuous.ppf(
            np.clip((probability[rest] - below[rest]) / weight, 0.0, 1.0)
        )
    return result
