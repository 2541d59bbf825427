"""Groups of a workload as tools see them that start sessions themselves: examples and a rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.tables import PacketTable
from trafficgen.units import IntArray


@dataclass(frozen=True)
class SessionGroup:
    """Sessions of one model, represented by a sample.

    Attributes:
        window_s: Time in which they start, s, > 0.
        sampled: Numbers of the sessions of the sample.
        sizes_bytes: IP bytes of each of them, shape (number of sampled sessions,).
        play: Returns the packets of a session by its number, as one table with its own flows.
    """

    name: str
    sessions: int
    window_s: float
    sampled: Sequence[int]
    sizes_bytes: IntArray
    play: Callable[[int], PacketTable]

    @property
    def rate_per_s(self) -> float:
        """Sessions that start in a second, on average over the window."""
        return self.sessions / self.window_s

    def choose_examples(self, count: int) -> list[int]:
        """Choose sessions that represent the sample: one of each of ``count`` equal parts by size.

        Of a part the session is taken whose size is closest to the part's mean, so that the
        examples offer about the load of the sample.
        """
        by_size = np.argsort(self.sizes_bytes, kind="stable")
        chosen = []
        for part in np.array_split(by_size, min(count, by_size.size)):
            sizes = self.sizes_bytes[part]
            chosen.append(self.sampled[int(part[np.argmin(np.abs(sizes - sizes.mean()))])])
        return chosen
