"""Which packets of a session that is too long for the memory are looked at: its beginning, its end, and stretches.

The packets between beginning and end are parted into strata of equal numbers, and of each a contiguous stretch at a
random place is taken (stratified cluster sampling: Cochran, *Sampling Techniques*, 3rd ed., 1977, chapters 5 and 9).
Every part of the session is then shortened by the same factor, in packets and in time, so that means over packets and
over time are both estimated; what happens within a stretch (gaps, bursts, frames, waves of the rate) is seen as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import IntArray

#: Stretches between beginning and end: enough for a standard error from their differences.
BODY_STRETCHES = 32
#: Share of the packets taken that are the beginning: start-up silence, buffering burst, first playout.
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
    """Choose the beginning, :data:`BODY_STRETCHES` stretches and the end of a session, ``most_packets`` at most.

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
    length = (most_packets - beginning) // (BODY_STRETCHES + 1)
    if length < 1:
        raise ValueError(f"most_packets must be at least {2 * (BODY_STRETCHES + 1)}, got {most_packets}")
    edges = np.linspace(beginning, packets - length, BODY_STRETCHES + 1).astype(np.int64)
    room = np.diff(edges) - length
    body = edges[:-1] + (generator.random(BODY_STRETCHES) * (room + 1)).astype(np.int64)
    start = np.concatenate(([0], body, [packets - length]))
    stop = np.concatenate(([beginning], body + length, [packets]))
    return Stretches(start, stop, packets)
