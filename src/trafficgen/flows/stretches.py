"""Which packets of a session that is too long for the memory are looked at: its beginning, its end,
and stretches.

Between beginning and end, contiguous stretches of equal length are taken at equal distances, from a
random place on (systematic sampling of clusters: Cochran, *Sampling Techniques*, 3rd ed., 1977,
chapters 8 and 9): each packet there is as likely to be taken as any other. Every part of the
session is then shortened by the same factor, in packets and in time, so that means over packets and
over time are both estimated; what happens within a stretch (gaps, bursts, frames, waves of the
rate) is seen as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import IntArray

#: Stretches between beginning and end: enough for a standard error from their differences, and no
#: more where they would be shorter than some thousands of packets, which bursts and frames need to
#: be seen.
FEWEST_STRETCHES, MOST_STRETCHES = 8, 32
_PACKETS_PER_STRETCH = 4096
#: Share of the packets taken that are the beginning: start-up silence, buffering burst, first
#: playout.
BEGINNING_SHARE = 1 / 8


@dataclass(frozen=True)
class Stretches:
    """Contiguous runs of packets, by their numbers in order of time; disjoint, ascending.

    Attributes:
        start: Number of the first packet of each, shape (n,); the first one is 0.
        stop: Number after its last packet, shape (n,); the last one is ``packets``.
        packets: Packets of the session.
    """

    start: IntArray
    stop: IntArray
    packets: int

    def __len__(self) -> int:
        return int(self.start.size)

    @property
    def taken(self) -> int:
        """Packets in all stretches."""
        return int((self.stop - self.start).sum())


def plan_stretches(packets: int, most_packets: int, *, generator: np.random.Generator) -> Stretches:
    """Choose the beginning, the end and stretches of a session, ``most_packets`` at most.

    Args:
        packets: Packets of the session.
        most_packets: Packets that may be taken; a session with no more is one stretch.
        generator: Source of the places.

    Raises:
        ValueError: If too few may be taken for a packet in each stretch.
    """
    if packets <= most_packets:
        return Stretches(np.array([0]), np.array([packets]), packets)
    beginning = int(BEGINNING_SHARE * most_packets)
    count = min(MOST_STRETCHES, max(FEWEST_STRETCHES, most_packets // _PACKETS_PER_STRETCH))
    length = (most_packets - beginning) // (count + 1)
    if beginning < 1 or length < 1:
        raise ValueError(
            f"most_packets must be at least {2 * (FEWEST_STRETCHES + 1)}, got {most_packets}"
        )
    end = packets - length
    distance = (end - beginning) / count
    offset = float(generator.random()) * distance
    start = beginning + np.floor(offset + distance * np.arange(count)).astype(np.int64)
    stop = start + length
    # What reaches over the end is taken at the other end, behind the beginning: as on a circle.
    over = max(0, int(stop[-1]) - end)
    stop[-1] -= over
    return Stretches(
        start=np.concatenate(([0], start, [end])),
        stop=np.concatenate(([beginning + over], stop, [packets])),
        packets=packets,
    )
