"""Clips that a workload file names: how many there are, and how often each is played."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field, JsonValue

from trafficgen.generation.popularity import MOST_CLIPS, ListedPopularity, Popularity, Zipf
from trafficgen.models.estimate import ModelPart
from trafficgen.workloads.column_files import ColumnFiles
from trafficgen.workloads.laws import LawOfLength, LawOfShare
from trafficgen.workloads.shorthand import ChoicePart, KindPart


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
