"""The workload file: which models play how many sessions, when, what, for how long."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from trafficgen.generation.arrivals import MOST_SESSIONS
from trafficgen.model_parts.estimate import ModelPart
from trafficgen.workloads.arrivals import ArrivalsPart
from trafficgen.workloads.clips import ClipsPart
from trafficgen.workloads.laws import LawOfLength, LawOfShare
from trafficgen.workloads.shorthand import (
    KindPart,
    NetworkText,
    ShareText,
    SpreadText,
    TimeText,
    parse_network,
    parse_share,
    parse_spread,
    parse_time_s,
)

WORKLOAD_SCHEMA_VERSION: Final = "1"
#: A group more is a model more in the memory of every worker.
MOST_GROUPS = 1000
_MOST_NETWORKS = 1000
HIGHEST_SCALE = 1000
_SHARES_CLOSE = 1e-6


def _list_of_one(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _refuse_longer(most: int) -> BeforeValidator:
    """Refuse a list by its length before its items, of which 1 MB may hold half a million."""

    def check(value: object) -> object:
        if isinstance(value, list | tuple) and len(value) > most:
            raise ValueError(f"it must have at most {most} items, not {len(value)}")
        return value

    return BeforeValidator(check)


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
        (parse_network(text) for text in texts), key=lambda one: (one.version, one.network_address)
    )
    for one, two in itertools.pairwise(ranges):
        if one.version == two.version and one.overlaps(two):
            raise ValueError(f"{one} and {two} overlap; leave one out")
    return texts


NetworkTexts = Annotated[
    tuple[NetworkText, ...],
    BeforeValidator(_list_of_one),
    Field(min_length=1, max_length=_MOST_NETWORKS),
    _refuse_longer(_MOST_NETWORKS),
    AfterValidator(_apart),
]


class VaryPart(KindPart):
    """How much sessions differ: spreads, each a standard deviation / the mean."""

    both: SpreadText | None = None
    """Spread of durations and rates, where they have none of their own."""
    duration: SpreadText | None = None
    """Spread of the lengths of sessions."""
    rate: SpreadText | None = None
    """Spread of the rates of sessions."""
    size: SpreadText | None = None
    """Spread of the payloads of datagrams, alike in all packets of a session; rates change with
    them."""

    def spread(self, quantity: Literal["duration", "rate", "size"]) -> float:
        """Return the spread of a quantity; 0 where it does not vary."""
        text = getattr(self, quantity)
        if text is None and quantity != "size":
            text = self.both
        return 0.0 if text is None else parse_spread(text)


ScaleRate = Annotated[float, Field(gt=0, le=HIGHEST_SCALE)]


class VariedPart(ModelPart):
    """What makes sessions of a fitted model differ, and what changes all of them."""

    vary: VaryPart | None = None
    """How much sessions differ."""
    scale_rate: ScaleRate | None = None
    """Rate of all sessions / that of the model."""
    jitter: TimeText | None = None
    """Longest delay that each packet gets at random."""
    posterior: bool | None = None
    """Whether each session draws its parameters from their uncertainty, together."""


class GroupPart(ModelPart):
    """Sessions of one model."""

    name: str | None = Field(default=None, min_length=1, max_length=200)
    """Name; null: that of the model."""
    model: str = Field(min_length=1)
    """Model file next to this one, or a catalogue entry with its options in brackets:
    `realplayer8_tcp_chung2002(clip=12)`."""
    share: ShareText | None = None
    """Share of the sessions of the workload; null: what the others leave, or it has `arrivals`
    of its own."""
    arrivals: ArrivalsPart | None = None
    """When its sessions start, apart from those of the workload; null: with them."""
    sessions: int | None = Field(default=None, ge=1, le=MOST_SESSIONS)
    """Number of its sessions where it has `arrivals` of its own; they come on top of those of the
    workload."""
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
    vary: VaryPart | None = None
    """How much sessions of a fitted model differ, such as `duration=20%,rate=10%`; null: as those
    of the workload."""
    scale_rate: ScaleRate | None = None
    """Rate of its sessions / that of the fitted model; null: as the workload's."""
    jitter: TimeText | None = None
    """Longest delay that each packet of a fitted model gets at random; null: as the workload's."""
    posterior: bool | None = None
    """Whether each session of a fitted model draws its parameters from their uncertainty, together;
    null: as the workload's."""

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
    """Number of sessions, without those of groups with `arrivals` of their own; null: as many as
    start within `for`, or as the file of the arrivals lists."""
    window: TimeText | None = Field(default=None, alias="for")
    """Time in which sessions start; they play to their end. Null: until all have started, or the
    time of the file of the arrivals. With `sessions` too, exactly this many start in it: the rates
    of `arrivals` are scaled."""
    arrivals: ArrivalsPart | None = None
    """When sessions start; null: all together, or at random times in `for`."""
    clips: ClipsPart | None = None
    """Clips of groups that have none of their own."""
    duration: LawOfLength | None = None
    """Law of a session's length, for groups without one; null: that of their models."""
    departures: DeparturesPart | None = None
    """Viewers who leave early, for groups without such; null: all stay."""
    vary: VaryPart | None = None
    """How much sessions differ in groups that do not say it; null: as much as those of the
    model."""
    scale_rate: ScaleRate | None = None
    """Rate of sessions / that of their model, for groups without one; null: 1."""
    jitter: TimeText | None = None
    """Longest delay of each packet, for groups without one; null: none."""
    posterior: bool | None = None
    """Whether sessions draw their parameters from their uncertainty, for groups that do not say it;
    null: they play the estimates."""
    groups: Annotated[tuple[GroupPart, ...], _refuse_longer(MOST_GROUPS)] = Field(
        min_length=1, max_length=MOST_GROUPS
    )
    """Which models play; their sessions are mixed."""

    @model_validator(mode="after")
    def _shares_add_up(self) -> Self:
        sharing = [group for group in self.groups if group.arrivals is None]
        given = [parse_share(group.share) for group in sharing if group.share is not None]
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
        """Return each group's share of the sessions; 0 for groups with arrivals of their own."""
        given = [0.0 if one.share is None else parse_share(one.share) for one in self.groups]
        rest = max(0.0, 1 - sum(given))
        return tuple(
            rest if group.share is None and group.arrivals is None else share
            for group, share in zip(self.groups, given, strict=True)
        )


@dataclass(frozen=True)
class Variation:
    """How sessions of a fitted model differ from it.

    Attributes:
        duration: Spread of their lengths: standard deviation / mean.
        rate: Spread of their rates.
        size: Spread of the payloads of their datagrams.
        scale_rate: Rate of all of them / that of the model.
        jitter_s: Longest delay that each packet gets at random, s.
        posterior: Whether each draws its parameters from their uncertainty.
    """

    duration: float = 0.0
    rate: float = 0.0
    size: float = 0.0
    scale_rate: float = 1.0
    jitter_s: float = 0.0
    posterior: bool = False

    def overridden(self, part: VariedPart | GroupPart | WorkloadDescription) -> Variation:
        """Return the variation with what a part of a workload file says."""
        changes: dict[str, Any] = {}
        if part.vary is not None:
            changes |= {name: part.vary.spread(name) for name in _SPREADS}
        if part.scale_rate is not None:
            changes["scale_rate"] = part.scale_rate
        if part.jitter is not None:
            changes["jitter_s"] = parse_time_s(part.jitter)
        if part.posterior is not None:
            changes["posterior"] = part.posterior
        return replace(self, **changes)


#: What may differ from session to session.
_SPREADS: tuple[Literal["duration", "rate", "size"], ...] = ("duration", "rate", "size")
