"""Clips that a workload file names: how many there are, and how often each is played.

Requests for an object fall with its rank as a power of it, ``p(r) ~ r**-s``, with s from 0.6 to 0.9
(Breslau, Cao, Fan, Phillips and Shenker, "Web caching and Zipf-like distributions: evidence and
implications", INFOCOM 1999).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field, JsonValue

from trafficgen.distributions import MixedLaw
from trafficgen.errors import SettingError
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.models import Model, PublishedModel
from trafficgen.models.published import with_settings
from trafficgen.units import FloatArray, IntArray
from trafficgen.workloads.column_files import ColumnFiles
from trafficgen.workloads.laws import LawOfLength, LawOfShare, read_law
from trafficgen.workloads.shorthand import ChoicePart, KindPart

#: Option of published models that names the clip, and parameter that lists clips.
CLIP_OPTION, _PLAYLIST = "clip", "playlist"
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


@dataclass(frozen=True)
class Variants:
    """What distinguishes the clips of a published model.

    Attributes:
        values: Its value for each clip, most popular first.
    """

    option: str
    values: tuple[JsonValue, ...]


@dataclass(frozen=True)
class PlannedClips:
    """Clips of a group.

    Attributes:
        popularity: How often each is played.
        length: Law of a clip's length, s; None: that of the model.
        rate: Law of a clip's rate / the rate of the model; None: 1.
        variants: What distinguishes the clips of a published model; None for a fitted one.
        is_shuffled: Whether the order of the variants is drawn.
    """

    popularity: Popularity
    length: MixedLaw | None = None
    rate: MixedLaw | None = None
    variants: Variants | None = None
    is_shuffled: bool = False


def plan_clips(
    part: ClipsPart,
    model: Model | PublishedModel,
    options: Mapping[str, str],
    files: ColumnFiles,
    at: str,
) -> PlannedClips:
    """Plan the clips of a group.

    ``options`` are set in the name of the model; ``at`` is the key of the part, for messages.

    Raises:
        WorkloadFileError: If the parts do not fit each other or the model.
        SettingError: If a value does not fit its option.
    """
    variants, is_shuffled = None, False
    if isinstance(model, PublishedModel):
        variants, is_shuffled = _find_variants(part, model, options, files, at)
        if part.rate is not None:
            problem = f"{model.name} is a published model"
            raise files.error(f"{at}.rate", problem, "vary one of its options")
        if variants is None and part.length is None:
            remedy = "name what distinguishes clips with option and values, or give length"
            problem = f"{model.name} has no option {CLIP_OPTION!r}"
            raise files.error(at, problem, remedy)
    elif part.option is not None or part.values is not None:
        problem = f"{model.name} is a fitted model, which has no options"
        raise files.error(at, problem, "leave option and values out")
    elif model.population is None and part.length is None and part.rate is None:
        problem = f"{model.name} has no population, and its clips would all be the same"
        raise files.error(at, problem, "give length or rate")
    count = _count_clips(part, variants, files, at)
    if variants is not None and not is_shuffled:
        variants = Variants(variants.option, variants.values[:count])
    popularity: Popularity = Zipf(count, 0.0)
    if part.popularity is not None:
        law = part.popularity.part
        popularity = files.check(f"{at}.popularity", lambda: law.popularity(count, files))
    return PlannedClips(
        popularity=popularity,
        length=read_law(files, part.length, f"{at}.length"),
        rate=read_law(files, part.rate, f"{at}.rate"),
        variants=variants,
        is_shuffled=is_shuffled,
    )


def _count_clips(part: ClipsPart, variants: Variants | None, files: ColumnFiles, at: str) -> int:
    """Return the number of clips, by whatever gives it."""
    by_law = None
    if part.popularity is not None:
        law = part.popularity.part
        by_law = files.check(f"{at}.popularity", lambda: law.count(files))
    counts = [count for count in (part.count, by_law) if count is not None]
    if len(set(counts)) > 1:
        problem = f"there are {counts[0]} clips by one key and {counts[1]} by another"
        raise files.error(at, problem, "correct one")
    if variants is None and not counts:
        remedy = "give count, or write zipf:0.8,clips=100"
        raise files.error(at, "the number of clips is missing", remedy)
    if variants is not None and counts and counts[0] > len(variants.values):
        problem = f"{counts[0]} clips are requested, the model has {len(variants.values)}"
        raise files.error(at, problem, "ask for fewer")
    return counts[0] if counts else len(variants.values if variants else ())


def _find_variants(
    part: ClipsPart, model: PublishedModel, options: Mapping[str, str], files: ColumnFiles, at: str
) -> tuple[Variants | None, bool]:
    """Return what distinguishes the clips of a published model, and whether to shuffle them."""
    option = part.option or (CLIP_OPTION if CLIP_OPTION in model.options else None)
    if option is None and part.values is None:
        return None, False
    if option is None:
        raise files.error(at, "values without an option", "name their option with option")
    if option in options:
        problem = f"{option} is set in the brackets of the model too"
        raise files.error(at, problem, "leave one of both out")
    if part.values is not None:
        for value in part.values:
            try:
                with_settings(model, {option: value})
            except SettingError as error:
                raise error.prepend_place(f"{files.file}: {at}.values") from error
        return Variants(option, part.values), False
    if option not in model.options:
        remedy = f"its options are {', '.join(model.options) or 'none'}"
        raise files.error(f"{at}.option", f"{model.name} has no option {option!r}", remedy)
    values = model.options[option].choices or (_playlist(model) if option == CLIP_OPTION else ())
    if not values:
        problem = f"{model.name} does not list what {option} may be"
        raise files.error(at, problem, "list the values with values")
    return Variants(option, tuple(values)), True


def _playlist(model: PublishedModel) -> tuple[JsonValue, ...]:
    """Return the numbers of the clips that a model lists."""
    parameter = model.mechanism.parameters.get(_PLAYLIST)
    rows = parameter.value if parameter is not None and isinstance(parameter.value, list) else []
    return tuple(row[CLIP_OPTION] for row in rows if isinstance(row, dict) and CLIP_OPTION in row)
