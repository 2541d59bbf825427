"""How often each clip is played: clips by rank, the most popular first.

Requests for an object fall with its rank as a power of it, ``p(r) ~ r**-s``, with s from 0.6 to 0.9
(Breslau, Cao, Fan, Phillips and Shenker, "Web caching and Zipf-like distributions: evidence and
implications", INFOCOM 1999).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from trafficgen.units import FloatArray, IntArray

#: A clip more takes eight bytes.
MOST_CLIPS = 1_000_000


class Popularity(ABC):
    """Shares of the sessions that clips have, by rank from 0."""

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """A weight for each clip, in any unit, shape (number of clips,)."""

    @cached_property
    def _cumulated(self) -> FloatArray:
        cumulated = np.cumsum(self.weights)
        return np.asarray(cumulated / cumulated[-1])

    @property
    def shares(self) -> FloatArray:
        """Share of the sessions that each clip has, shape (number of clips,)."""
        return np.diff(self._cumulated, prepend=0.0)

    def choose(self, uniform: FloatArray) -> IntArray:
        """Return the rank of each session's clip, from 0, by inversion of draws in [0, 1)."""
        return np.searchsorted(self._cumulated, uniform, side="right").astype(np.int64)


@dataclass(frozen=True)
class Zipf(Popularity):
    """Shares that fall as ``rank ** -exponent``, ranks from 1.

    Attributes:
        clips: Number of clips.
        exponent: Exponent, >= 0; 0 makes all clips alike.
    """

    clips: int
    exponent: float

    def __post_init__(self) -> None:
        if not (self.exponent >= 0 and math.isfinite(self.exponent)):
            raise ValueError(
                f"the exponent of Zipf's law must be finite and not negative, got {self.exponent}"
            )
        if not 1 <= self.clips <= MOST_CLIPS:
            raise ValueError(f"there must be from 1 to {MOST_CLIPS:,} clips, got {self.clips:,}")

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs: the rest is computed there again."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    @property
    def weights(self) -> FloatArray:
        """A weight for each clip, shape (clips,)."""
        return np.asarray(np.arange(1, self.clips + 1, dtype=np.float64) ** -self.exponent)


@dataclass(frozen=True)
class ListedPopularity(Popularity):
    """Shares that were counted.

    Attributes:
        counts: A weight for each clip, not negative, such as how often it was played.
    """

    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.counts) <= MOST_CLIPS:
            count = len(self.counts)
            raise ValueError(f"there must be from 1 to {MOST_CLIPS:,} clips, got {count:,}")
        are_weights = all(weight >= 0 and math.isfinite(weight) for weight in self.counts)
        if not are_weights or sum(self.counts) <= 0:
            raise ValueError("weights of clips must be finite, not negative, and not all 0")

    @property
    def weights(self) -> FloatArray:
        """A weight for each clip, shape (clips,)."""
        return np.array(self.counts, dtype=np.float64)
