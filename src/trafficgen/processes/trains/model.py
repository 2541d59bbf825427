"""The order of gaps and sizes in packet trains, as a part of the model file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field, field_serializer, field_validator, model_validator

from trafficgen.json_text import pack_text, unpack_text
from trafficgen.model_parts.estimate import ModelPart

#: Digits of a rank, lowest first.
RANK_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#: Stretches are cut to fewer packets only where they are more than this.
_FEWEST_KEPT = 64
#: Begins text that is packed, and packets that have a rank at most.
_PACKED, _MOST_RANKS = "zlib:", 1 << 17
_RANKS = Field(pattern=r"^[A-Za-z0-9+/]*$", max_length=_MOST_RANKS)


class TrainClock(ModelPart):
    """How evenly packets come in the long run, where gaps make up for one another.

    On a full link packets keep the clock of its rate: a late one is followed by a shorter gap.
    """

    mean_gap_s: float = Field(gt=0)
    """Mean gap, s: that of the clock."""
    packets: int = Field(ge=1, le=1 << 16)
    """Gaps over which their sum was measured."""
    deviation: float = Field(ge=0, le=1)
    """Standard deviation of the sum of so many successive gaps, as a share of its mean."""


class Trains(ModelPart):
    """The order of gaps and sizes in packet trains: their ranks in stretches of the capture.

    Gaps and sizes that are drawn from their laws are put in the order of such stretches, chosen at
    random (a block bootstrap of the ranks: Künsch 1989; Politis and Romano 1994). The laws stay as
    they are; what follows what in a train is as in the capture.
    """

    packets: tuple[Annotated[int, Field(ge=1, le=1 << 16)], ...] = Field(min_length=1)
    """Packets of each stretch; in bursts and frames, one of them or its beginning."""
    gap_ranks: Annotated[str, _RANKS]
    """Rank of the gap before each packet among all gaps, two characters: A is 0, / is 63, the
    first one counts 64; from AA, the shortest, to //, the longest. Where a file has no room for
    them, one character, in even steps of the normal score (from -3 to 3), so that the few at both
    ends differ. It may be packed: zlib (RFC 1950), in base64, after "zlib:"."""
    size_ranks: Annotated[str, _RANKS] = ""
    """Rank of the size of each packet, in the same way, of the last packet of a burst among those;
    empty where sizes have an order of their own, as the packets of a frame."""
    session_packets: int | None = Field(default=None, ge=1)
    """Packets of the phase among which the stretches are spread evenly; null where they are all of
    them."""
    clock: TrainClock | None = None
    """How evenly packets come in the long run; null where gaps do not make up for one another, and
    in bursts and frames."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = sum(self.packets)
        fits = len(self.gap_ranks) in (needed, 2 * needed)
        if not fits or len(self.size_ranks) not in (0, len(self.gap_ranks)):
            raise ValueError("gap_ranks and size_ranks need a character for each packet")
        return self

    @field_serializer("gap_ranks", "size_ranks", when_used="json")
    def _pack(self, ranks: str) -> str:
        packed = _PACKED + pack_text(ranks)
        return packed if len(packed) < len(ranks) else ranks

    @field_validator("gap_ranks", "size_ranks", mode="before")
    @classmethod
    def _unpack(cls, ranks: object) -> object:
        if isinstance(ranks, str) and ranks.startswith(_PACKED):
            return unpack_text(ranks.removeprefix(_PACKED), most_bytes=_MOST_RANKS)
        return ranks

    def keep(self, most_packets: int) -> Self:
        """Return at most so many packets of the trains, as many stretches as have room.

        The longest are cut, and keep their last packets; where many are long, fewer are kept.
        """
        if sum(self.packets) <= most_packets:
            return self
        count = min(len(self.packets), most_packets)
        while True:
            places = [(2 * row + 1) * len(self.packets) // (2 * count) for row in range(count)]
            longest = _cut_lengths([self.packets[one] for one in places], most_packets)
            if count == 1 or longest >= min(_FEWEST_KEPT, max(self.packets)):
                break
            count = max(1, count * 9 // 10)
        gaps, sizes, packets = "", "", []
        width = len(self.gap_ranks) // sum(self.packets)
        for number in places:
            start, kept = sum(self.packets[:number]), min(self.packets[number], longest)
            packets.append(kept)
            begun, end = start + kept - 1, start + self.packets[number]
            start, begun, last, end = (width * one for one in (start, begun, end - 1, end))
            gaps += self.gap_ranks[start:begun] + self.gap_ranks[last:end]
            sizes += self.size_ranks[start:begun] + self.size_ranks[last:end]
        changed: dict[str, object] = {
            "packets": tuple(packets),
            "gap_ranks": gaps,
            "size_ranks": sizes,
            "session_packets": self.session_packets or sum(self.packets),
        }
        return self.model_copy(update=changed)


def _cut_lengths(lengths: Sequence[int], most: int) -> int:
    """Return the length to which the longest are cut so that all together are at most so many."""
    left = most
    for row, length in enumerate(sorted(lengths)):
        longest = left // (len(lengths) - row)
        if length > longest:
            return longest
        left -= length
    return max(lengths)
