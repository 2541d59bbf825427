"""The population of a corpus: laws across sessions, their dependence, and prototypes to play."""

from __future__ import annotations

import json
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, field_serializer, field_validator, model_validator

from trafficgen.distributions.law import Law
from trafficgen.json_text import clean_texts, pack_text, read_json, unpack_text
from trafficgen.model_parts.estimate import Estimate, ModelPart
from trafficgen.models.stream import Stream

#: Sessions of a group that are kept, and how far their laws may be from those of the prototype.
MOST_VARIANTS, MOST_FACTOR = 64, 1e6

#: Packed streams are not longer than this when unpacked, bytes, and a file has not more of them:
#: a small file must not take much memory. Fits make a third of it, and as many where they fit.
_MOST_TEXT_BYTES, MOST_PROTOTYPES = 250_000, 32
_STREAMS = TypeAdapter(tuple[Stream, ...])

#: The first part of a profile, s; each other one is as long as all before it. Parts at most.
FIRST_PART_S, MOST_PARTS = 2.5, 4

#: What is pooled; the last three are conditions of the captures, not of the source.
PopulationQuantity = Literal[
    "media_duration_s",
    "playout_rate_bps",
    "buffering_duration_s",
    "buffering_ratio",
    "silence_s",
    "rtt_s",
    "loss_rate",
    "media_start_s",
]


class PopulationLaw(ModelPart):
    """The law of one quantity across the sessions in which it is above zero."""

    law: Law
    """What a session draws from, in the unit that the name of the quantity ends on."""
    median: Estimate
    """Typical session: exp of the mean of the logarithm."""
    log_deviation: Estimate
    """Standard deviation of the logarithm between sessions, without the sessions' own errors."""
    sessions: int = Field(ge=1)
    """Sessions that were pooled."""
    positive_share: float = Field(gt=0, le=1)
    """Share of the sessions that have it at all; the others have no such part, or 0."""
    error_share: float = Field(ge=0, le=1)
    """Share of the variance of the estimates that is their own error (1 - I squared)."""
    method: str
    """How it was pooled, and where the family comes from."""


class RankCorrelation(ModelPart):
    """Dependence of two quantities across sessions."""

    first: PopulationQuantity
    """One quantity."""
    second: PopulationQuantity
    """The other."""
    normal_correlation: Estimate
    """Correlation of the normal scores of their ranks, shrunk: that of the Gaussian copula."""


class LadderRung(ModelPart):
    """A level of the application rate that sessions share."""

    rate_bps: float = Field(gt=0)
    """Median of the sessions' levels that make up the rung, bit/s."""
    share: float = Field(gt=0, le=1)
    """Share of the sessions with levels that have it."""


#: Laws of bursts that differ from session to session, besides their packets, which follow the rate.
VariedLaw = Literal["spacing_s", "gap_within_s", "packet_bytes", "last_packet_bytes"]


class SessionVariant(ModelPart):
    """One session of a group: what it has, and how far its bursts are from its prototype's."""

    rate_bps: float = Field(gt=0)
    """Its playout rate, bit/s: sessions of about that rate have its bursts."""
    factors: dict[VariedLaw, Annotated[float, Field(gt=0, le=MOST_FACTOR)]]
    """Its laws over those of the prototype: means of spacings, geometric means of gaps, and sizes
    of full packets; empty without bursts."""
    quantities: dict[PopulationQuantity, Annotated[float, Field(gt=0)]] = Field(
        default_factory=dict
    )
    """Its own rate, length and buffering: sessions resemble it in all of them and in its bursts.
    Empty in older files, whose sessions draw them from the laws and the dependence alone."""
    is_cut: bool = False
    """Whether its capture began after it or ended before it: sessions that resemble it are longer,
    as long as the law of lengths has those that last so long."""


class Prototype(ModelPart):
    """A session whose packet processes represent a group; it is played scaled to a drawn rate."""

    name: str = Field(min_length=1)
    """Capture and session it was fitted to."""
    weight: float = Field(gt=0, le=1)
    """Share of the sessions that it represents."""
    group_rate_bps: float = Field(gt=0)
    """Median playout rate of the sessions it represents, bit/s."""
    group_log_deviation: float = Field(gt=0)
    """Standard deviation of the logarithm of that rate within the group."""
    buffering_share: float = Field(ge=0, le=1)
    """Share of the group that starts faster than it plays."""
    media_duration_s: float = Field(gt=0)
    """Its own length, first to last media packet, s."""
    buffering_duration_s: float = Field(ge=0)
    """Its own buffering, s; 0 where it has none."""
    playout_rate_bps: float = Field(gt=0)
    """Its own playout rate, bit/s."""
    streams: tuple[Stream, ...] | None
    """Its streams; null where they are those of the model itself. In a file they are text: their
    JSON, compressed by zlib (RFC 1950), in base64. Files may have them unpacked, as older ones."""
    profile: tuple[Annotated[float, Field(ge=0)], ...] = Field(default=(), max_length=MOST_PARTS)
    """Rate of its first stream in the first 2.5 s, the next 2.5 s, the next 5 s and the last
    rest, over that of its phases there; empty where these keep their rates."""
    variants: tuple[SessionVariant, ...] = Field(default=(), max_length=MOST_VARIANTS)
    """Sessions of the group that drawn ones resemble, each as likely as the others."""

    @field_serializer("streams", when_used="json")
    def _pack(self, streams: tuple[Stream, ...] | None) -> str | list[object] | None:
        if streams is None:
            return None
        # What is too long to be unpacked is written as it is.
        is_long = len(_write(streams).encode()) > _MOST_TEXT_BYTES
        return (
            [one.model_dump(mode="json") for one in streams] if is_long else pack_streams(streams)
        )

    @field_validator(
        "streams", mode="before", json_schema_input_type=tuple[Stream, ...] | str | None
    )
    @classmethod
    def _unpack_streams(cls, streams: object) -> object:
        if isinstance(streams, str):
            # As all that is read from a file: texts on one line, no number that is not finite.
            content = clean_texts(read_json(unpack_text(streams, most_bytes=_MOST_TEXT_BYTES)))
        elif isinstance(streams, list) and all(isinstance(one, dict) for one in streams):
            content = streams  # of an older file; here, a list of JSON counts as one of Python
        else:
            return streams
        return _STREAMS.validate_json(json.dumps(content), strict=True)


def pack_streams(streams: tuple[Stream, ...]) -> str:
    """Return streams as text: their JSON, compressed by zlib (RFC 1950), in base64."""
    return pack_text(_write(streams))


def _write(streams: tuple[Stream, ...]) -> str:
    written = [one.model_dump(mode="json") for one in streams]
    return json.dumps(written, separators=(",", ":"))


class Population(ModelPart):
    """How the sessions of a corpus of captures differ."""

    captures: int = Field(ge=1)
    """Captures that were used."""
    sessions: int = Field(ge=1)
    """Sessions that were fitted and pooled."""
    laws: dict[PopulationQuantity, PopulationLaw]
    """Law of each quantity across sessions."""
    dependence: tuple[RankCorrelation, ...] = ()
    """Dependence between quantities; those not named are drawn independently."""
    prototypes: tuple[Prototype, ...] = Field(min_length=1, max_length=MOST_PROTOTYPES)
    """What sessions are made from, heaviest first."""
    ladder: tuple[LadderRung, ...] = ()
    """Shared levels of the rate, ascending."""
    absent: dict[str, str] = Field(default_factory=dict)
    """What could not be pooled -> why."""

    @model_validator(mode="after")
    def _playable(self) -> Self:
        for needed in ("media_duration_s", "playout_rate_bps"):
            if needed not in self.laws:
                raise ValueError(f"laws lack {needed!r}, without which no session can be drawn")
        weight = sum(prototype.weight for prototype in self.prototypes)
        if abs(weight - 1) > 1e-6:
            raise ValueError(f"the prototypes' weights must add up to 1, not {weight}")
        return self
