"""Draws from a law with few values, in constant time each (Walker 1977; Vose 1991)."""

from __future__ import annotations

import numpy as np

from trafficgen import _core
from trafficgen.units import FloatArray


class AliasTable:
    """A law that takes each of some values with its probability."""

    def __init__(self, values: FloatArray, weights: FloatArray) -> None:
        """Make the table.

        Args:
            values: The values, shape (n,); one may come more than once.
            weights: Their probabilities, or numbers in proportion to them, shape (n,).

        Raises:
            ValueError: If a weight is negative, or their sum not positive.
        """
        self._own, other = _core.alias_table(np.ascontiguousarray(weights, dtype=np.float64))
        self._values = np.ascontiguousarray(values, dtype=np.float64)
        self._others = self._values[other]

    def sample(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Return independent draws, shape (count,)."""
        return _core.alias_draws(generator.random(count), self._own, self._values, self._others)
