"""The law of one quantity: atoms and a continuous part, perhaps rounded to whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trafficgen import _core
from trafficgen.distributions.base import Distribution, Quantiles
from trafficgen.distributions.tables import tabulate
from trafficgen.units import FloatArray

#: Rounded laws are summed value by value up to this many values; beyond, rounding no longer moves a
#: moment.
_SUMMED_VALUES = 100_000
_LEFT_OUT = 1e-12
#: Whole numbers between bounds are drawn from a table of their probabilities where there are at
#: least as many draws as numbers, and no more numbers than these.
_TABLED_VALUES = 1 << 16


@dataclass(frozen=True, kw_only=True)
class MixedLaw:
    """Takes each atom with its probability, else draws from the continuous part."""

    continuous: Distribution | None  #: law without the atoms; None where they are everything
    values: tuple[float, ...] = ()  #: values of the atoms
    probabilities: tuple[float, ...] = ()  #: probabilities of the atoms, adding up to at most 1
    #: Whether draws of the continuous part are rounded to whole numbers within its support.
    integer: bool = False
    _sorted_values: FloatArray = field(init=False, repr=False, compare=False)
    _cumulative: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.values) != len(self.probabilities):
            raise ValueError(
                f"{len(self.values)} atoms have {len(self.probabilities)} probabilities"
            )
        weight = math.fsum(self.probabilities)
        if any(p <= 0 for p in self.probabilities) or weight > 1 + 1e-9:
            raise ValueError(
                f"the atoms' probabilities must be positive and add up to at most 1, got {weight}"
            )
        if self.continuous is None and abs(weight - 1) > 1e-6:
            raise ValueError(
                f"without a continuous part the atoms' probabilities must add up to 1, not {weight}"
            )
        values = np.array(self.values, dtype=np.float64)
        order = np.argsort(values, kind="stable")
        cumulative = np.cumsum(np.array(self.probabilities, dtype=np.float64)[order])
        if self.continuous is None:
            cumulative /= cumulative[-1]
        object.__setattr__(self, "_sorted_values", values[order])
        object.__setattr__(self, "_cumulative", cumulative)

    @property
    def continuous_weight(self) -> float:
        """Probability of the continuous part."""
        return 0.0 if self.continuous is None else max(0.0, 1.0 - math.fsum(self.probabilities))

    @property
    def support(self) -> tuple[float, float]:
        """Smallest and largest possible value; either may be infinite."""
        ends = [(value, value) for value in self.values]
        if self.continuous is not None:
            ends.append(self._bounds)
        return min(low for low, _ in ends), max(high for _, high in ends)

    @cached_property
    def mean(self) -> float:
        """Expectation; infinite where it diverges or is too large for a number."""
        return self._moment(1)

    @cached_property
    def variance(self) -> float:
        """Variance; infinite where it diverges or is too large for a number."""
        second = self._moment(2)
        return math.inf if math.isinf(second) else max(0.0, second - self.mean * self.mean)

    def cdf(self, value: npt.ArrayLike) -> FloatArray:
        """Return P(X <= value), jumps at the atoms (and at whole numbers) included."""
        x = np.asarray(value, dtype=np.float64)
        steps = self._atoms_up_to(x)
        if self.continuous is None:
            return steps
        return np.asarray(steps + self.continuous_weight * self._continuous_cdf(x))

    def ppf(self, probability: npt.ArrayLike) -> FloatArray:
        """Return the smallest value not exceeded with a probability, the inverse of :meth:`cdf`."""
        p = np.asarray(probability, dtype=np.float64)
        values = np.unique(self._sorted_values)
        if self.continuous is None:
            place = np.searchsorted(self.cdf(values), p, side="left")
            return values[np.minimum(place, values.size - 1)]
        reached = self.cdf(values)
        below = reached - self._atom_mass(values)
        place = np.searchsorted(reached, p, side="left")  # atoms that lie below the quantile
        mass = np.concatenate(([0.0], np.cumsum(self._atom_mass(values))))[place]
        weight = self.continuous_weight
        within = np.clip((p - mass) / weight, 0.0, 1.0) if weight > 0 else np.zeros(p.shape)
        inside = np.array(self.continuous.ppf(within), dtype=np.float64, ndmin=1)
        quantile = self._whole(inside).reshape(p.shape)
        if not values.size:
            return quantile
        atom = np.minimum(place, values.size - 1)
        return np.where((place < values.size) & (p > below[atom]), values[atom], quantile)

    def _atom_mass(self, values: FloatArray) -> FloatArray:
        """Return the probability of each of the atoms' values, which ascend."""
        return np.diff(self._atoms_up_to(values), prepend=0.0)

    def _atoms_up_to(self, values: FloatArray) -> FloatArray:
        below = np.searchsorted(self._sorted_values, values, side="right")
        return np.asarray(np.concatenate(([0.0], self._cumulative))[below])

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        if count >= self._worth_a_table:
            return self._table.values(generator.random(count))
        if not self.values:
            return self._sample_inside(generator, count)
        if len(self.values) == 1 and self.continuous is None:
            return np.full(count, self.values[0], dtype=np.float64)
        chosen = np.searchsorted(self._cumulative, generator.random(count), side="right")
        if self.continuous is None:
            return self._sorted_values[np.minimum(chosen, self._sorted_values.size - 1)]
        draws = np.append(self._sorted_values, math.nan)[chosen]
        rest = np.flatnonzero(chosen == self._sorted_values.size)
        draws[rest] = self._sample_inside(generator, rest.size)
        return draws

    def sample_whole(
        self, generator: np.random.Generator, count: int, *, largest: int
    ) -> npt.NDArray[np.uint32]:
        """Return independent draws rounded to whole numbers from 0 to the largest, shape (n,)."""
        if count >= self._worth_a_table:
            return self._table.whole_values(generator.random(count), largest)
        draws = self.sample(generator, count)
        np.clip(np.rint(draws, out=draws), 0.0, largest, out=draws)
        return draws.astype(np.uint32)

    def _sample_inside(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Draw from the continuous part."""
        if self._stepped is not None:
            return self._stepped.inside(generator.random(count))
        return self._whole(self._played.sample(generator, count))

    def spread_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Draw values that are spread evenly over the law, in random order, shape (count,).

        One draw comes from each of ``count`` slices of equal probability, so each follows the law
        while their sum hardly varies: Latin hypercube sampling in one dimension (McKay, Beckman and
        Conover, Technometrics 21, 1979).
        """
        return self._at((generator.permutation(count) + generator.random(count)) / count)

    def ascending_sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Draw values spread as by :meth:`spread_sample`, in ascending order, shape (count,)."""
        probability = (np.arange(count) + generator.random(count)) / count
        if not self.values:
            return self._at(probability)
        ends = np.searchsorted(probability, self._cumulative)
        if self.continuous is None:
            ends[-1] = count
        inside = self._at(probability[ends[-1] :])
        # Atoms come between what is below and above them; both ascend.
        places = np.searchsorted(inside, self._sorted_values).tolist()
        counts = np.diff(ends, prepend=0).tolist()
        runs: list[FloatArray] = []
        row = 0
        for value, taken, place in zip(self._sorted_values, counts, places, strict=True):
            runs += [inside[row:place], np.full(taken, value)]
            row = place
        return np.concatenate([*runs, inside[row:]])

    def _at(self, probability: FloatArray) -> FloatArray:
        """Return a value for each probability: the lowest are those of the atoms."""
        if self._stepped is not None:
            return self._stepped.values(probability)
        if not self.values:
            return self._whole(self._played.ppf(probability))
        draws = np.empty(probability.size)
        chosen = np.searchsorted(self._cumulative, probability, side="right")
        if self.continuous is None:
            return self._sorted_values[np.minimum(chosen, self._sorted_values.size - 1)]
        rest = chosen == self._sorted_values.size
        draws[~rest] = self._sorted_values[chosen[~rest]]
        weight = 1.0 - self.continuous_weight
        within = np.clip((probability[rest] - weight) / (1.0 - weight), 0.0, 1.0)
        draws[rest] = self._whole(self._played.ppf(within))
        return draws

    @cached_property
    def _played(self) -> Distribution:
        """The continuous part as it is drawn from."""
        assert self.continuous is not None
        return tabulate(self.continuous)

    @cached_property
    def _stepped(self) -> _core.SteppedLaw | None:
        """The law in the core, where its continuous part is linear between quantiles."""
        if not isinstance(self.continuous, Quantiles):
            return None
        atoms = self._cumulative, self._sorted_values, 1.0 - self.continuous_weight
        points = (
            np.array(self.continuous.probabilities, dtype=np.float64),
            np.array(self.continuous.values, dtype=np.float64),
        )
        return _core.SteppedLaw(atoms, points, self._bounds if self.integer else None)

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs: what is cached is made there again."""
        made = ("_stepped", "_table")
        return {name: value for name, value in vars(self).items() if name not in made}

    @cached_property
    def _worth_a_table(self) -> float:
        """Number of draws from which on a table serves; it depends on the law alone."""
        low, high = self._bounds
        values = high - low + 1 + len(self.values)
        return values if self.integer and 0 < values <= _TABLED_VALUES else math.inf

    @cached_property
    def _table(self) -> _core.AliasTable:
        """Whole numbers of the continuous part, and the atoms."""
        low, high = self._bounds
        numbers = np.arange(low, high + 1, dtype=np.float64)
        within = np.maximum(np.diff(self._continuous_cdf(numbers), prepend=0.0), 0.0)
        weights = np.concatenate([self.continuous_weight * within, self.probabilities])
        return _core.AliasTable(np.concatenate([numbers, self.values]), weights)

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        """Smallest and largest value of the continuous part, whole numbers where it is rounded."""
        if self.continuous is None:
            return math.inf, -math.inf
        low, high = self.continuous.support
        if not self.integer:
            return low, high
        smallest = math.ceil(low) if math.isfinite(low) else low
        largest = math.floor(high) if math.isfinite(high) else high
        if smallest > largest:
            raise ValueError(f"there is no whole number between {low} and {high}")
        return smallest, largest

    def _continuous_cdf(self, x: FloatArray) -> FloatArray:
        assert self.continuous is not None
        if not self.integer:
            return self.continuous.cdf(x)
        low, high = self._bounds
        whole = np.floor(x)
        inside = self.continuous.cdf(whole + 0.5)
        return np.where(whole < low, 0.0, np.where(whole >= high, 1.0, inside))

    def _whole(self, draws: FloatArray) -> FloatArray:
        """Round draws of the continuous part in place where the law has whole numbers only."""
        if self.integer:
            np.rint(draws, out=draws)
            np.clip(draws, *self._bounds, out=draws)
        return draws

    def _moment(self, order: int) -> float:
        pairs = zip(self.probabilities, self.values, strict=True)
        try:
            atoms = math.fsum(p * value**order for p, value in pairs)
            if self.continuous is None:
                return atoms / math.fsum(self.probabilities)
            if self.continuous_weight == 0:
                return atoms
            moment = self._rounded_moment if self.integer else self.continuous.partial_moment
            return atoms + self.continuous_weight * moment(order)
        except OverflowError:  # powers of Python's floats raise where products become infinite
            return math.inf

    def _rounded_moment(self, order: int) -> float:
        """Return E[X**order] of the rounded part: summed over its body, integrated beyond."""
        assert self.continuous is not None
        low, high = self._bounds
        first = low if math.isfinite(low) else math.floor(float(self.continuous.ppf(_LEFT_OUT)))
        last = min(high, math.ceil(float(self.continuous.isf(_LEFT_OUT))), first + _SUMMED_VALUES)
        numbers = np.arange(first, last + 1, dtype=np.float64)
        probabilities = np.diff(self._continuous_cdf(numbers), prepend=0.0)
        beyond = self.continuous.partial_moment(order, low=last + 0.5) if last < high else 0.0
        return float(np.sum(probabilities * numbers**order)) + beyond
