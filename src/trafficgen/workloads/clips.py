"""Clips that a workload file names: how many there are, and how often each is played.

Requests for an object fall with its rank as a power of it, ``p(r) ~ r**-s``, with s from 0.6 to 0.9
(Breslau, Cao, Fan, Phillips and Shenker, "Web caching and Zipf-like distributions: evidence and
implications", INFOCOM 1999).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field, JsonValue

from trafficgen.models.estimate import ModelPart
from trafficgen.units import FloatArray, IntArray
from trafficgen.workloads.column_files import ColumnFiles
from trafficgen.workloads.laws import LawOfLength, LawOfShare
from trafficgen.workloads.shorthand import ChoicePart, KindPart

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


class ZipfPart(KindPart):
    """Popularity that falls with a power of the rank."""

    exponent: float = Field(ge=0, le=10)
    """A clip of rank r is played in proportion to r to minus this."""
    clips: int | None = Field(default=None, ge=1, le=MOST_CLIPS)
    """Number of clips, where `clips.count` does not say it."""

    def count(self, files: ColumnFiles) -> int | None:
        """Return the number of clips; None if it is not given."""
        del files
        return self.clips

    def popularity(self, count: int, files: ColumnFiles) -> Popularity:
        """Return the popularity of ``count`` clips."""
        del files
        return Zipf(count, self.exponent)


class CountedPart(KindPart):
    """Popularity as it was counted."""

    file: str
    """File next to this one with a weight for each clip, most popular first."""
    column: str | None = None
    """Column of that file; null: the only one, or `weight`."""

    def count(self, files: ColumnFiles) -> int | None:
        """Return the number of clips in the file."""
        return self.popularity(0, files).weights.size

    def popularity(self, count: int, files: ColumnFiles) -> Popularity:
        """Return the popularity of the clips in the file."""
        del count
        weights = files.read(self.file, self.column, ("weight",), most=MOST_CLIPS)
        return ListedPopularity(tuple(weights.tolist()))


class PopularityPart(ChoicePart):
    """How often each clip is played; a text such as `zipf:0.8` names the kind before a colon."""

    noun: ClassVar[str] = "popularity law"

    zipf: ZipfPart | None = Field(default=None, examples=["zipf:0.8"])
    """Zipf's law."""
    counted: CountedPart | None = Field(default=None, examples=["counted:FILE"])
    """Weights from a file."""


class ClipsPart(ModelPart):
    """Clips: what is drawn once and is the same in all sessions of a clip."""

    popularity: PopularityPart | None = None
    """How often each is played; null: all alike."""
    count: int | None = Field(default=None, ge=1, le=MOST_CLIPS)
    """Number of clips; null: as many as the popularity, the playlist of the model or `values`
    have."""
    length: LawOfLength | None = None
    """Law of a clip's length; null: that of the model, or what its population draws."""
    rate: LawOfShare | None = None
    """Law of a clip's rate / the rate of the model; null: 1. For fitted models."""
    option: str | None = None
    """Option of a published model that distinguishes clips; null: `clip`, where it has one."""
    values: tuple[JsonValue, ...] | None = Field(default=None, min_length=1, max_length=100_000)
    """Values of that option, most popular first; null: the playlist of the model, shuffled by the
    seed."""
