"""Models drawn from the uncertainty of a fit: a set of parameters for each session.

A fit says what a capture supports: estimates with intervals. A session that plays the estimates
alone is as if they were known. Here each session draws its own parameters, together, as the capture
leaves them uncertain.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Literal, TypeVar

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions import FAMILIES, MIXTURES
from trafficgen.distributions.fitting.families import Scale
from trafficgen.distributions.fitting.likelihood import (
    FamilyLaw,
    from_unconstrained,
    to_unconstrained,
)
from trafficgen.distributions.fitting.uncertainty import law_cells, wald_intervals
from trafficgen.errors import GenerationError
from trafficgen.model_parts.estimate import refuse_odd_numbers
from trafficgen.models import Atom, Estimate, Law, Model, ModelPart, Phase, QuantilePoint, with_laws
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray

#: Models that are kept: a session asks for its own several times.
_KEPT = 16
#: Times are read to this, s; other quantities are whole.
_TICK_S = 1e-9
#: Fewer values leave no law that could be drawn.
_FEWEST_VALUES = 2
#: Draws that give no law of the family are repeated this often; then the estimates stay.
_TRIES = 10
#: Estimates between 0 and 1 by definition; all others are positive.
_SHARES = ("hurst",)

Part = TypeVar("Part", bound=ModelPart)


class PosteriorSampler:
    """Draws models around a fitted one; session k does not depend on the others.

    Parameters of a law are drawn together, from the normal law that the Fisher information gives
    the estimates, as wide as their intervals: dependence between values, which the fit found,
    widens it. Weights of atoms are Dirichlet, and so are the steps of an empirical law (the
    Bayesian bootstrap: Rubin, Annals of Statistics 9, 1981). Estimates of packet processes, such as
    the rates of a Markov chain's states, are drawn from their own intervals. What has no interval
    stays: lengths of phases, autocorrelations, chances of transitions.
    """

    def __init__(self, model: Model, *, seed: int) -> None:
        self._model, self._seed = model, seed
        self._steps: dict[int, FloatArray | None] = {}  # by the identity of the model's laws
        self.draw = lru_cache(_KEPT)(self._draw)

    def _draw(self, session: int) -> Model:
        """Return the model of a session."""
        with refuse_wide_intervals(self._model.name, "play it without [--posterior]"):
            return self._draw_parts(session)

    def _draw_parts(self, session: int) -> Model:
        generator = random_stream(self._seed, session=session, purpose="posterior")

        def draw_phase(phase: Phase) -> Phase:
            process = with_laws(phase.process, lambda law: self._draw_law(law, generator))
            return phase.model_copy(update={"process": _draw_estimates(process, generator)})

        model = self._model
        streams = tuple(
            stream.model_copy(update={"phases": tuple(map(draw_phase, stream.phases))})
            for stream in model.streams
        )
        population = model.population
        if population is not None:
            population = with_laws(population, lambda law: self._draw_law(law, generator))
        return model.model_copy(update={"streams": streams, "population": population})

    def _draw_law(self, law: Law, generator: np.random.Generator) -> Law:
        if law.observations < _FEWEST_VALUES:
            return law
        return _draw_weights(self._draw_continuous(law, generator), generator)

    def _draw_continuous(self, law: Law, generator: np.random.Generator) -> Law:
        if law.family == "quantiles":
            return _draw_quantiles(law, generator)
        if law.family not in (*FAMILIES, *MIXTURES) or not law.low:
            return law
        if id(law) not in self._steps:
            self._steps[id(law)] = _root_of_covariance(law)
        root = self._steps[id(law)]
        if root is None:
            return law

        def draw() -> Law:
            step = root @ generator.standard_normal(root.shape[1])
            return law.model_copy(
                update={"params": FamilyLaw(law.family, law.params).move_by(step)}
            )

        return _first_possible(draw, otherwise=law)


def _root_of_covariance(law: Law) -> FloatArray | None:
    """Return the root of the covariance of a law's estimated numbers without bounds, shape (p, p).

    None where they are not determined by a sample.
    """
    estimated = FamilyLaw(law.family, law.params, law.bounds)
    cells = law_cells(
        estimated, tick=_TICK_S if law.unit == "s" else 1.0, is_difference=law.unit == "s"
    )
    count = round(law.observations * law.continuous_weight)
    if cells is None or count < _FEWEST_VALUES:
        return None
    independent = wald_intervals(estimated, cells, observations=count)
    scales = estimated.interval_scales

    def width(low: float, high: float, scale: Scale) -> float:
        return to_unconstrained(high, scale) - to_unconstrained(low, scale)

    wider = [
        width(law.low[name], law.high[name], scale)
        / width(independent.low[name], independent.high[name], scale)
        for name, scale in scales.items()
        if name in law.low and independent.low[name] < independent.high[name]
    ]
    values, vectors = np.linalg.eigh(cells.covariance / count)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(root * max([1.0, *filter(np.isfinite, wider)]), dtype=np.float64)


def _draw_weights(law: Law, generator: np.random.Generator) -> Law:
    """Return a law whose atoms have other probabilities, as counts of values leave them."""
    if not law.atoms:
        return law
    shares = np.array([*(atom.p for atom in law.atoms), law.continuous_weight])
    drawn = _draw_shares(shares, law.observations, generator)
    atoms = tuple(
        Atom(value=atom.value, p=float(p)) for atom, p in zip(law.atoms, drawn, strict=False) if p
    )
    return _first_possible(lambda: law.model_copy(update={"atoms": atoms}), otherwise=law)


def _draw_quantiles(law: Law, generator: np.random.Generator) -> Law:
    """Return an empirical law whose steps have other probabilities."""
    before = np.array([point.p for point in law.quantiles])
    beyond = 0.0 if law.tail is None else law.tail.p
    count = round(law.observations * law.continuous_weight)
    if count < _FEWEST_VALUES:
        return law
    steps = _draw_shares(np.diff(before), round(count * (1 - beyond)), generator)
    after = before[0] + np.concatenate(([0.0], np.cumsum(steps))) * (before[-1] - before[0])
    after[-1] = before[-1]
    points = tuple(
        QuantilePoint(p=float(p), value=point.value)
        for p, point in zip(np.minimum(after, before[-1]), law.quantiles, strict=True)
    )
    return _first_possible(lambda: law.model_copy(update={"quantiles": points}), otherwise=law)


def _draw_shares(shares: FloatArray, count: int, generator: np.random.Generator) -> FloatArray:
    """Return shares, shape (k,), as ``count`` values leave them; they add up to 1."""
    drawn = generator.standard_gamma(np.maximum(shares, 0.0) * max(count, 1))
    total = drawn.sum()
    return np.asarray(drawn / total if total > 0 else shares / shares.sum(), dtype=np.float64)


def _draw_estimates(part: Part, generator: np.random.Generator) -> Part:
    """Return a part of a process with its estimates drawn, at any depth but within laws."""
    updates: dict[str, object] = {}
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, Estimate):
            updates[name] = draw_estimate(value, "logit" if name in _SHARES else "log", generator)
        elif isinstance(value, tuple) and value and _has_estimates(value[0]):
            updates[name] = tuple(_draw_estimates(each, generator) for each in value)
    return part.model_copy(update=updates) if updates else part


def refuse_wide_intervals(name: str, remedy: str) -> AbstractContextManager[None]:
    """Raise GenerationError where a draw around a model is not a number that a model may have."""
    problem = f"{name}: an interval is so wide that a draw from it is not a number of a model"
    return refuse_odd_numbers(GenerationError, problem, remedy)


def _has_estimates(value: object) -> bool:
    return isinstance(value, ModelPart) and not isinstance(value, Law | Atom | QuantilePoint)


def draw_estimate(
    estimate: Estimate, scale: Literal["log", "logit"], generator: np.random.Generator
) -> Estimate:
    """Return an estimate drawn from its interval: half a normal law to each side of its value."""
    score = float(generator.standard_normal())
    low, high = estimate.low, estimate.high
    if low is None or high is None or not 0 < low <= estimate.value <= high:
        return estimate
    if scale == "logit" and high >= 1:
        return estimate
    centre, end = (
        to_unconstrained(value, scale) for value in (estimate.value, high if score > 0 else low)
    )
    drawn = from_unconstrained(centre + abs(score) / NORMAL_95 * (end - centre), scale)
    return estimate.model_copy(
        update={"value": drawn, "low": min(low, drawn), "high": max(high, drawn)}
    )


def _first_possible(draw: Callable[[], Law], *, otherwise: Law) -> Law:
    """Return the first draw that is a law."""
    for _ in range(_TRIES):
        try:
            return draw()
        except ValueError:
            continue
    return otherwise
