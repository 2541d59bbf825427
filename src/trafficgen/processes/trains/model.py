"""The order of gaps and sizes in packet trains, as a part of the model file."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from trafficgen.model_parts.estimate import ModelPart

#: Digits of a rank, lowest first: 64 to the power of two characters are all ranks.
RANK_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
#: Stretches are cut to fewer packets only where they are more than this.
_FEWEST_KEPT = 64
_RANKS = Field(pattern=r"^([A-Za-z0-9+/]{2})*$", max_length=1 << 17)


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
    first one counts 64; from AA, the shortest, to //, the longest."""
    size_ranks: Annotated[str, _RANKS] = ""
    """Rank of the size of each packet, in the same way, of the last packet of a burst among those;
    empty where sizes have an order of their own, as the packets of a frame."""
    clock: TrainClock | None = None
    """How evenly packets come in the long run; null where gaps do not make up for one another, and
    in bursts and frames."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = 2 * sum(self.packets)
        if len(self.gap_ranks) != needed or len(self.size_ranks) not in (0, needed):
            raise ValueError("gap_ranks and size_ranks need two characters for each packet")
        return self

    def keep(self, most_packets: int) -> Self:
        """Return at most so many packets of the trains, those of all lengths cut alike.

        What is cut keeps its last packet.
        """
        if sum(self.packets) <= most_packets:
            return self
        count = min(len(self.packets), max(1, most_packets // _FEWEST_KEPT))
        longest = most_packets // count
        gaps, sizes, packets = "", "", []
        for place in range(count):
            number = (2 * place + 1) * len(self.packets) // (2 * count)
            start, kept = sum(self.packets[:number]), min(self.packets[number], longest)
            packets.append(kept)
            begun, last = start + kept - 1, start + self.packets[number] - 1
            gaps += self.gap_ranks[2 * start : 2 * begun] + self.gap_ranks[2 * last : 2 * last + 2]
            sizes += self.size_ranks[2 * start : 2 * begun]
            sizes += self.size_ranks[2 * last : 2 * last + 2]
        changed = {"packets": tuple(packets), "gap_ranks": gaps, "size_ranks": sizes}
        return self.model_copy(update=changed)
