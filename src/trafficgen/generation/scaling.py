"""Packet processes scaled to another rate: sizes stay, and what sets the pace is scaled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from trafficgen.distributions import DISCRETE_FAMILIES, MixedLaw
from trafficgen.imports import special
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.models import (
    Atom,
    BurstProcess,
    Law,
    ModulatedProcess,
    PacketProcess,
    QuantilePoint,
    RateClass,
    RenewalProcess,
    VariedLaw,
)
from trafficgen.processes.bursts.sample import has_few_bursts
from trafficgen.units import FloatArray

#: Parameters of families by which all their values are multiplied.
_SCALED_PARAMS = ("loc", "scale")
#: Probabilities at which a scaled law is checked.
_CHECKED = np.array([0.02, 0.1, 0.5, 0.9, 0.98, 0.999])
#: A law that is not scaled by its parameters is scaled by this many quantiles.
_QUANTILES = 65
_TAIL = 1e-4
#: Quantiles that estimate a mean that is infinite.
_POINTS = 2000
#: Rates that differ by less than this share are equal.
_CLOSE = 1e-3
#: Bursts that become longer leave pauses of this share, or do not wait for one another any more.
_LEAST_PAUSE = 0.25
#: Limits of the coefficient of variation; the number of points for which the limit law holds;
#: further terms of the sum for fewer.
_LEAST_VARIATION, _MOST_VARIATION, _MANY_POINTS, _MORE_POINTS = 0.01, 3.0, 50.0, 30


def scale_process(process: PacketProcess, factor: float) -> PacketProcess:
    """Return a process that sends ``factor`` times the rate.

    Bursts keep their spacing and get more or fewer packets: frames and chunks follow the medium's
    clock, and a higher encoding rate makes them larger; the spacing makes up for whole packets.
    Slow changes of the rate keep their times, their bins get more or fewer bytes. Single packets
    come at shorter or longer gaps, and any other process runs on a faster or slower clock. Packet
    sizes, which depend on the transport, stay.
    """
    if abs(factor - 1) < _CLOSE:
        return process
    if isinstance(process, BurstProcess):
        return _scale_bursts(process, factor)
    if isinstance(process, ModulatedProcess):
        return process.model_copy(
            update={
                "bin_bytes": scale_law(process.bin_bytes, factor),
                "classes": tuple(_scale_class(part, factor) for part in process.classes),
            }
        )
    return accelerate_clock(process, factor)


def _scale_class(part: RateClass, factor: float) -> RateClass:
    """Return how packets fill a bin with ``factor`` times the bytes: at shorter gaps."""
    return part.model_copy(
        update={
            "up_to_bytes": None if part.up_to_bytes is None else part.up_to_bytes * factor,
            "gap_s": scale_law(part.gap_s, 1 / factor),
            "idle_s": None if part.idle_s is None else scale_law(part.idle_s, 1 / factor),
        }
    )


def _scale_bursts(process: BurstProcess, factor: float) -> BurstProcess:
    packets = scale_law(process.burst_packets, factor)
    larger = process.model_copy(update={"burst_packets": packets})
    stretch = _burst_bytes(larger) / _burst_bytes(process) / factor
    if abs(stretch - 1) < _CLOSE:
        stretch = 1.0
    return _respace(process, larger, stretch)


def vary_bursts(process: BurstProcess, factors: Mapping[VariedLaw, float]) -> BurstProcess:
    """Return bursts whose laws are multiplied, those that they have."""
    laws: dict[str, Law] = {
        name: scale_law(law, factor)
        for name, factor in factors.items()
        if name != "spacing_s" and (law := getattr(process, name)) is not None
    }
    varied = process.model_copy(update=laws)
    return _respace(process, varied, factors.get("spacing_s", 1.0))


def _respace(before: BurstProcess, after: BurstProcess, stretch: float) -> BurstProcess:
    """Return bursts that start ``stretch`` times as far apart as before, in their order.

    Pauses make up for bursts that have become longer or shorter. Where there is no room for that,
    bursts start at their spacings, without the order of their pauses if they had one.
    """
    if stretch != 1.0:
        after = after.model_copy(update={"spacing_s": scale_law(after.spacing_s, stretch)})
    if before.pause_s is None or after.pause_s is None:
        return after
    mean_s = before.pause_s.distribution().mean
    needed_s = stretch * (mean_s + _burst_s(before)) - _burst_s(after)
    if not _LEAST_PAUSE * mean_s < needed_s < np.inf:
        return after.model_copy(update={"pause_s": None, "order": None})
    if abs(needed_s / mean_s - 1) < _CLOSE:
        return after
    return after.model_copy(update={"pause_s": scale_law(after.pause_s, needed_s / mean_s)})


def _burst_s(process: BurstProcess) -> float:
    """Return the mean time from the first packet of a burst to its last, s."""
    if process.gap_within_s is None:
        return 0.0
    gaps = _mean_packets(process.burst_packets.distribution()) - 1
    return gaps * process.gap_within_s.distribution().mean


def expected_bytes(process: PacketProcess, span_s: float, *, first_at_start: bool) -> float | None:
    """Return the mean IP bytes of a process in a span; None if its mean is not known here.

    With ``first_at_start`` the span begins with a packet or burst; else the process is in
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
    # Sessions that begin with their largest burst begin with its whole spacing, few fill the span.
    few = isinstance(process, BurstProcess) and has_few_bursts(between, span_s)
    ordinary = first_at_start and not few and not getattr(process, "largest_first", False)
    return each * (_points_from_start(between, span_s) if ordinary else span_s / between.mean)


def _points_from_start(between: MixedLaw, span_s: float) -> float:
    """Return the mean number of points of a renewal process in a span that begins with one.

    It is 1 + sum of P(k gaps fit in the span) over k, gaps taken for gamma with their mean and
    variance; for many points its limit T / m + (1 + c^2) / 2, c the coefficient of variation (Cox,
    "Renewal Theory", 1962, section 4.1).
    """
    expected = span_s / between.mean
    squared = between.variance / between.mean**2
    bounded = min(max(squared, _LEAST_VARIATION**2), _MOST_VARIATION**2)
    squared = bounded if np.isfinite(squared) else 1.0
    if expected > _MANY_POINTS:
        return expected + (1 + squared) / 2
    gaps = np.arange(1, int(10 * expected) + _MORE_POINTS)
    return 1 + float(special.gammainc(gaps / squared, expected / squared).sum())


def _burst_bytes(process: BurstProcess) -> float:
    """Return the mean bytes of a burst."""
    full = _mean_packets(process.burst_packets.distribution()) - 1
    last_bytes = process.last_packet_bytes.distribution().mean
    return full * process.packet_bytes.distribution().mean + last_bytes


def _mean_packets(law: MixedLaw) -> float:
    """Return the mean number of packets of a burst drawn from a law: whole, at least one."""
    mean = law.mean
    if np.isfinite(mean):
        return max(1.0, mean)
    drawn = quantiles_of(law, (np.arange(_POINTS) + 0.5) / _POINTS)
    return float(np.maximum(np.rint(drawn), 1.0).mean())


def accelerate_clock(process: ModelPart, factor: float) -> PacketProcess:
    """Return a process with all times divided and all rates multiplied by ``factor``.

    The names of the fields show times (``_s``) and rates (``_bps``, ``_hz``, ``_per_s``).
    """
    updates: dict[str, object] = {}
    for name in type(process).model_fields:
        value = getattr(process, name)
        if name.endswith(("_bps", "_hz", "_per_s")):
            updates[name] = _multiply(value, factor)
        elif name.endswith("_s"):
            updates[name] = _multiply(value, 1 / factor)
        elif _is_timed_part(value):
            updates[name] = accelerate_clock(value, factor)
        elif isinstance(value, tuple) and value and _is_timed_part(value[0]):
            updates[name] = tuple(accelerate_clock(each, factor) for each in value)
    return process.model_copy(update=updates)  # type: ignore[return-value]  # a part keeps its class


def _is_timed_part(value: object) -> bool:
    return isinstance(value, ModelPart) and not isinstance(value, Law)


def _multiply(value: object, factor: float) -> object:
    if isinstance(value, Law):
        return scale_law(value, factor)
    if isinstance(value, int | float):
        return value * factor
    if isinstance(value, tuple):
        return tuple(_multiply(each, factor) for each in value)
    if isinstance(value, ModelPart) and "value" in type(value).model_fields:
        ends = {name: getattr(value, name, None) for name in ("value", "low", "high")}
        return value.model_copy(update={name: _multiply(end, factor) for name, end in ends.items()})
    return value


def scale_law(law: Law, factor: float) -> Law:
    """Return the law of ``factor`` times the quantity; whole numbers stay whole and at least 1.

    Location and scale of a family are multiplied; a family that this does not scale becomes
    quantiles.
    """
    if factor == 1.0:
        return law
    if law.family in DISCRETE_FAMILIES:  # no such family times a factor
        return _scale_quantiles(law, factor)
    params = {name: v * factor if name in _SCALED_PARAMS else v for name, v in law.params.items()}
    scale = partial(_scale_value, factor=factor, integer=law.integer)
    minimum, maximum = (None if one is None else scale(one) for one in (law.minimum, law.maximum))
    values = list(map(scale, (point.value for point in law.quantiles)))
    if law.integer:
        # Of whole numbers a law draws those within its ends.
        minimum = None if minimum is None else float(np.floor(minimum))
        maximum = None if maximum is None else float(np.ceil(maximum))
        values = _widen(values)
    tail = law.tail
    if tail is not None:
        ends = {"threshold": tail.threshold * factor, "scale": tail.scale * factor}
        tail = tail.model_copy(update=ends)
    scaled = law.model_copy(
        update={
            "params": params,
            "low": {},
            "high": {},
            "fit": None,
            "alternatives": (),
            "log_likelihood": None,
            "quantiles": tuple(
                QuantilePoint(p=point.p, value=value)
                for point, value in zip(law.quantiles, values, strict=True)
            ),
            "atoms": _scale_atoms(law, factor),
            "tail": tail,
            "minimum": minimum,
            "maximum": maximum,
        }
    )
    return scaled if _is_scaled(scaled, law, factor) else _scale_quantiles(law, factor)


def _widen(values: list[float]) -> list[float]:
    """Return ascending values whose first and last are whole numbers, no further inside."""
    if not values:
        return values
    return [float(np.floor(values[0])), *values[1:-1], float(np.ceil(values[-1]))]


def _scale_value(value: float, factor: float, *, integer: bool) -> float:
    """Return a value times a factor; whole numbers neither fall below 1 nor rise to it."""
    return max(value * factor, min(value, 1.0)) if integer else value * factor


def _scale_atoms(law: Law, factor: float) -> tuple[Atom, ...]:
    """Return the atoms at their new values; equal ones are merged."""
    weights: dict[float, float] = {}
    for atom in law.atoms:
        value = _scale_value(atom.value, factor, integer=law.integer)
        value = float(np.rint(value)) if law.integer else value
        weights[value] = weights.get(value, 0.0) + atom.p
    return tuple(Atom(value=value, p=min(p, 1.0)) for value, p in weights.items())


def _is_scaled(scaled: Law, law: Law, factor: float) -> bool:
    """Return whether the quantiles of the continuous part were multiplied too."""
    try:
        after = scaled.distribution().continuous
    except ValueError:  # a range without a whole number
        return False
    before = law.distribution().continuous
    if before is None or after is None:
        return True
    scale = partial(_scale_value, factor=factor, integer=law.integer)
    wanted = np.array(list(map(scale, before.ppf(_CHECKED).tolist())))
    # The first of whole numbers has been moved down to one.
    least = np.ceil(wanted[0]) if law.integer else -np.inf
    found = np.maximum(after.ppf(_CHECKED), least)
    return bool(np.allclose(found, np.maximum(wanted, least), rtol=0.01, atol=1e-12))


def _scale_quantiles(law: Law, factor: float) -> Law:
    """Return the scaled law as quantiles, atoms included."""
    mixed = law.distribution()
    p = np.linspace(0.0, 1.0, _QUANTILES)
    seen = quantiles_of(mixed, np.clip(p, _TAIL, 1 - _TAIL))
    scale = partial(_scale_value, factor=factor, integer=law.integer)
    values = np.maximum.accumulate(list(map(scale, seen.tolist()))).tolist()
    pairs = zip(p.tolist(), _widen(values) if law.integer else values, strict=True)
    points = tuple(QuantilePoint(p=at, value=each) for at, each in pairs)
    return Law(
        unit=law.unit,
        family="quantiles",
        quantiles=points,
        integer=law.integer,
        observations=law.observations,
    )


def quantiles_of(law: MixedLaw, probability: FloatArray) -> FloatArray:
    """Return the smallest value at which a mixed law reaches each probability, not rounded.

    Atoms may lie anywhere in the continuous part: between them its quantiles are those of the
    remaining probability.
    """
    if law.continuous is None:
        order = np.argsort(law.values)
        cumulative = np.cumsum(np.array(law.probabilities)[order])
        rows = np.searchsorted(cumulative, probability * cumulative[-1])
        ordered = np.array(law.values, dtype=np.float64)[order]
        return np.asarray(ordered[np.minimum(rows, order.size - 1)])
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
        within = np.clip((probability[rest] - below[rest]) / weight, 0.0, 1.0)
        result[rest] = law.continuous.ppf(within)
    return result
