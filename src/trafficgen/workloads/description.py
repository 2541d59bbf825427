"""The workload file: which models play how many sessions, when, what, how long, from which
addresses.
"""

from __future__ import annotations

import itertools
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from trafficgen.generation.arrivals import MOST_SESSIONS
from trafficgen.generation.popularity import MOST_CLIPS
from trafficgen.models.estimate import ModelPart
from trafficgen.units import HOURS_PER_DAY
from trafficgen.workloads.laws import LawOfLength, LawOfShare
from trafficgen.workloads.shorthand import ChoicePart, KindPart
from trafficgen.workloads.values import (
    NetworkText,
    RateText,
    ShareText,
    TimeText,
    network,
    quantity,
    rate_per_s,
    share,
)

WORKLOAD_SCHEMA_VERSION: Final = "1"
#: A group more is a model more in the memory of every worker.
MOST_GROUPS = 1000
_SHARES_CLOSE = 1e-6


def _list_of_one(value: object) -> object:
    return [value] if isinstance(value, str) else value


class PoissonPart(KindPart):
    """Sessions start independently of each other, at one rate."""

    first_key = "rate"
    rate: RateText | None = None
    """Sessions that start in a time; null: as many as `sessions` and `for` say."""


class HourlyPart(KindPart):
    """Sessions start independently of each other, at a rate for each hour of the day."""

    first_key = "hours"
    hours: tuple[str | float, ...] | str
    """24 rates such as 0.5/s, or 24 plain numbers that are in proportion to them, from midnight
    on; or a file beside this one with such numbers, one a line or in the column `share`."""
    rate: RateText | None = None
    """Mean over a day, where the hours are plain numbers; null: as many as `sessions` and `for`
    say."""
    begins: TimeText = "0h"
    """Time of day at which the workload begins, such as 18h."""

    @model_validator(mode="after")
    def _a_day(self) -> Self:
        if isinstance(self.hours, str):
            return self
        if len(self.hours) != HOURS_PER_DAY:
            raise ValueError(
                f"a day has {HOURS_PER_DAY} hours, and there are {len(self.hours)} values; give"
                " each one"
            )
        if self.are_rates:
            for value in self.hours:
                rate_per_s(str(value))
            if self.rate is not None:
                raise ValueError("the hours have rates already; leave rate out")
        elif any(quantity(str(value))[1] != "1" for value in self.hours):
            raise ValueError(
                "the hours are neither rates nor plain numbers; write for example 0.5/s"
            )
        return self

    @property
    def are_rates(self) -> bool:
        """Whether the hours have rates, and not numbers in proportion to them."""
        return not isinstance(self.hours, str) and any("/" in str(value) for value in self.hours)


class FlashPart(KindPart):
    """A flash crowd: a rate that surges once, rises in a straight line and decays exponentially."""

    first_key = "base"
    base: RateText
    """Sessions that start in a time before the surge and long after it."""
    start: TimeText
    """When the rate begins to rise."""
    rise: TimeText = "0s"
    """From there to the peak; 0s is a jump."""
    peak: float = Field(ge=1, le=1e6)
    """Rate at the peak / rate before."""
    decay: TimeText
    """Time in which what the surge adds falls to 1/e."""


class FilePart(KindPart):
    """Starts from a file."""

    first_key = "name"
    name: str = Field(min_length=1)
    """File beside this one: a time in s a line, or a CSV or Parquet file with a column of them."""
    column: str | None = None
    """Column of that file; null: the only one, `start_s` or `time_s`."""


class ArrivalsPart(ChoicePart):
    """When sessions start; a text such as `poisson:0.5/s` names the kind before a colon."""

    kinds: ClassVar[tuple[str, ...]] = ("together", "poisson", "hourly", "flash", "file")

    together: dict[str, JsonValue] | None = Field(default=None, max_length=0)
    """All sessions start at once; the value is {}."""
    poisson: PoissonPart | None = None
    """A Poisson process of one rate."""
    hourly: HourlyPart | None = None
    """A Poisson process with a rate for each hour."""
    flash: FlashPart | None = None
    """A Poisson process with a surge."""
    file: FilePart | None = None
    """Starts from a file."""


class ZipfPart(KindPart):
    """Popularity that falls with a power of the rank."""

    first_key = "exponent"
    exponent: float = Field(ge=0, le=10)
    """A clip of rank r is asked for in proportion to r to minus this."""
    clips: int | None = Field(default=None, ge=1, le=MOST_CLIPS)
    """Number of clips, where `clips.count` does not say it."""


class CountedPart(KindPart):
    """Popularity as it was counted."""

    first_key = "file"
    file: str
    """File beside this one with a weight for each clip, most popular first."""
    column: str | None = None
    """Column of that file; null: the only one, or `weight`."""


class PopularityPart(ChoicePart):
    """How often each clip is asked for; a text such as `zipf:0.8` names the kind before a colon."""

    kinds: ClassVar[tuple[str, ...]] = ("zipf", "counted")

    zipf: ZipfPart | None = None
    """Zipf's law."""
    counted: CountedPart | None = None
    """Weights from a file."""


class ClipsPart(ModelPart):
    """Clips: what is drawn once and is the same in all sessions of a clip."""

    popularity: PopularityPart | None = None
    """How often each is asked for; null: all alike."""
    count: int | None = Field(default=None, ge=1, le=MOST_CLIPS)
    """Number of clips; null: as many as the popularity, the playlist of the model or `values`
    have."""
    length: LawOfLength | None = None
    """Law of a clip's length; null: that of the model, or what its population draws."""
    rate: LawOfShare | None = None
    """Law of a clip's rate / the rate of the model; null: 1. For fitted models."""
    option: str | None = None
    """Option of a published model that tells clips apart; null: `clip`, where it has one."""
    values: tuple[JsonValue, ...] | None = Field(default=None, min_length=1, max_length=100_000)
    """Values of that option, most popular first; null: the playlist of the model, shuffled by
    the seed."""


class DeparturesPart(ModelPart):
    """Viewers who leave before the end."""

    share: ShareText
    """Share of the sessions that may end early."""
    watched: LawOfShare | None = None
    """Law of the share of the session after which they leave; null, and no `after` either:
    uniform."""
    after: LawOfLength | None = None
    """Law of the time after which they leave instead."""

    @model_validator(mode="after")
    def _one_law(self) -> Self:
        if self.watched is not None and self.after is not None:
            raise ValueError("watched and after both say when viewers leave; keep one")
        return self


def _apart(texts: tuple[str, ...]) -> tuple[str, ...]:
    ranges = sorted(
        (network(text) for text in texts), key=lambda one: (one.version, one.network_address)
    )
    for one, two in itertools.pairwise(ranges):
        if one.version == two.version and one.overlaps(two):
            raise ValueError(f"{one} and {two} overlap; leave one out")
    return texts


NetworkTexts = Annotated[
    tuple[NetworkText, ...],
    BeforeValidator(_list_of_one),
    Field(min_length=1, max_length=1000),
    AfterValidator(_apart),
]


class GroupPart(ModelPart):
    """Sessions of one model."""

    name: str | None = Field(default=None, min_length=1, max_length=200)
    """Name; null: that of the model."""
    model: str = Field(min_length=1)
    """Model file beside this one, or a catalogue entry with its options in brackets:
    `realplayer8_tcp_chung2002(clip=12)`."""
    share: ShareText | None = None
    """Share of the sessions of the workload; null: what the others leave, or it has `arrivals`
    of its own."""
    arrivals: ArrivalsPart | None = None
    """When its sessions start, apart from those of the workload; null: with them."""
    sessions: int | None = Field(default=None, ge=1, le=MOST_SESSIONS)
    """Number of its sessions where it has `arrivals` of its own."""
    clips: ClipsPart | None = None
    """Its clips; null: those of the workload."""
    duration: LawOfLength | None = None
    """Law of a session's length, drawn for each; with a clip's `length` the shorter of both.
    Null: that of the workload."""
    departures: DeparturesPart | None = None
    """Viewers who leave early; null: those of the workload."""
    clients: NetworkTexts | None = None
    """Ranges of the clients' addresses; null: addresses reserved for documentation."""
    servers: NetworkTexts | None = None
    """Ranges of the servers' addresses; null: addresses reserved for documentation."""

    @model_validator(mode="after")
    def _own_arrivals(self) -> Self:
        if self.arrivals is not None and self.share is not None:
            raise ValueError(
                "it has arrivals of its own, and no share of those of the workload; leave one out"
            )
        if self.arrivals is None and self.sessions is not None:
            raise ValueError(
                "sessions without arrivals; say with share how many of the workload's it has"
            )
        return self


class WorkloadDescription(ModelPart):
    """A workload, as data: what a workload file holds."""

    model_config = ConfigDict(populate_by_name=True)

    schema_version: Literal["1"] = WORKLOAD_SCHEMA_VERSION
    """Version of this schema."""
    name: str = Field(default="workload", min_length=1, max_length=200)
    """Name of the workload."""
    description: str = ""
    """One or two sentences for people."""
    sessions: int | None = Field(default=None, ge=1, le=MOST_SESSIONS)
    """Number of sessions; null: as many as start within `for`, or as the file of the arrivals
    lists."""
    window: TimeText | None = Field(default=None, alias="for")
    """Time in which sessions start; they play to their end. Null: until all have started. With
    `sessions` too, exactly so many start in it."""
    arrivals: ArrivalsPart | None = None
    """When sessions start; null: all together."""
    clips: ClipsPart | None = None
    """Clips of groups that have none of their own."""
    duration: LawOfLength | None = None
    """Law of a session's length, for groups without one; null: that of their models."""
    departures: DeparturesPart | None = None
    """Viewers who leave early, for groups without such; null: all stay."""
    groups: tuple[GroupPart, ...] = Field(min_length=1, max_length=MOST_GROUPS)
    """Which models play; their sessions are mixed."""

    @model_validator(mode="after")
    def _shares_add_up(self) -> Self:
        sharing = [group for group in self.groups if group.arrivals is None]
        given = [share(group.share) for group in sharing if group.share is not None]
        total = sum(given)
        if len(sharing) - len(given) > 1:
            raise ValueError(
                "groups: several have neither share nor arrivals; give all but one of them a share"
            )
        if total > 1 + _SHARES_CLOSE:
            raise ValueError(f"groups: the shares add up to {total:g}, more than 1; correct them")
        if len(sharing) == len(given) and sharing and abs(total - 1) > _SHARES_CLOSE:
            raise ValueError(
                f"groups: the shares add up to {total:g}, not 1; correct them, or leave one"
                " share out"
            )
        return self

    def shares(self) -> tuple[float, ...]:
        """Return the share of each group of the sessions of the workload; 0 where it has arrivals
        of its own.
        """
        given = sum(share(group.share) for group in self.groups if group.share is not None)
        return tuple(
            (
                0.0
                if group.arrivals is not None
                else max(0.0, 1 - given)
                if group.share is None
                else share(group.share)
            )
            for group in self.groups
        )
