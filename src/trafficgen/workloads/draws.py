"""Draws for the sessions of a workload: their group, clip, length, and when viewers leave.

Uniform draws come in chunks of sessions, each from a random stream of its own, so that a block of
sessions needs only the chunks it lies in, and what a session draws depends on its number alone.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from trafficgen.generation.model_player import Viewing
from trafficgen.models import PublishedModel
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray
from trafficgen.workloads.plan import PlannedClips, PlannedGroup, Variants

#: Sessions whose draws come from one random stream.
_CHUNK = 4096
#: A clip plays no slower than this share of its model: gaps must stay finite.
_LOWEST_RATE = 1e-3


def uniform_draws(seed: int, purpose: str, first: int, count: int) -> FloatArray:
    """Return a draw in [0, 1) for each of ``count`` sessions from the session ``first`` on."""
    chunks = range(first // _CHUNK, (first + count - 1) // _CHUNK + 1)
    drawn = [
        random_stream(seed, session=chunk, purpose=f"workload/{purpose}").random(_CHUNK)
        for chunk in chunks
    ]
    start = first - chunks.start * _CHUNK
    return np.concatenate(drawn)[start : start + count]


class GroupDraws:
    """Draws what the sessions of one group play, and for how long.

    Attributes:
        group: The group.
        seed: Seed of the run.
        shortest_s: Shortest length of a session, s.
    """

    def __init__(self, group: PlannedGroup, *, seed: int, shortest_s: float) -> None:
        self.group, self.seed, self.shortest_s = group, seed, shortest_s

    def viewings(self, sessions: IntArray, uniforms: dict[str, FloatArray]) -> list[Viewing]:
        """Return what sessions play.

        Args:
            sessions: Their numbers, shape (n,).
            uniforms: Draws in [0, 1) by purpose (``clip``, ``duration``, ``leaving``, ``left``),
                each shape (n,).
        """
        clips, lengths_s = None, np.full(sessions.size, np.inf)
        rates = np.ones(sessions.size)
        if self.group.clips is not None:
            clips = self.group.clips.popularity.choose(uniforms["clip"])
            lengths_s, rates = self._clip_lengths_s[clips], self._clip_rates[clips]
        if self.group.duration is not None:
            lengths_s = np.minimum(lengths_s, self.group.duration.ppf(uniforms["duration"]))
        lengths_s = np.maximum(lengths_s, self.shortest_s)
        leaves, watched, after_s = self._leaving(uniforms)
        return [
            Viewing(
                session=int(session),
                clip=None if clips is None else int(clips[place]),
                rate_factor=float(rates[place]),
                length_s=float(lengths_s[place]) if np.isfinite(lengths_s[place]) else None,
                leaves_at=float(watched[place]) if watched is not None and leaves[place] else None,
                leaves_after_s=(
                    float(after_s[place]) if after_s is not None and leaves[place] else None
                ),
            )
            for place, session in enumerate(sessions)
        ]

    def _leaving(
        self, uniforms: dict[str, FloatArray]
    ) -> tuple[npt.NDArray[np.bool_], FloatArray | None, FloatArray | None]:
        departures = self.group.departures
        if departures is None:
            return np.zeros(uniforms["leaving"].size, dtype=np.bool_), None, None
        watched = None if departures.watched is None else departures.watched.ppf(uniforms["left"])
        after_s = None if departures.after is None else departures.after.ppf(uniforms["left"])
        return uniforms["leaving"] < departures.share, watched, after_s

    @cached_property
    def variants(self) -> Variants | None:
        """What distinguishes the clips of a published model, most popular first; None: nothing."""
        clips = self.group.clips
        if clips is None or clips.variants is None or not clips.is_shuffled:
            return None if clips is None else clips.variants
        assert isinstance(self.group.model, PublishedModel)
        purpose = f"workload/{self.group.model.name}/playlist"
        order = random_stream(self.seed, session=0, purpose=purpose).permutation(
            len(clips.variants.values)
        )
        return Variants(
            clips.variants.option, tuple(clips.variants.values[place] for place in order.tolist())
        )

    @cached_property
    def _clip_lengths_s(self) -> FloatArray:
        clips = self._clips
        return (
            np.full(clips.popularity.weights.size, np.inf)
            if clips.length is None
            else self._of_clips("length")
        )

    @cached_property
    def _clip_rates(self) -> FloatArray:
        clips = self._clips
        if clips.rate is None:
            return np.ones(clips.popularity.weights.size)
        return np.maximum(self._of_clips("rate"), _LOWEST_RATE)

    @property
    def _clips(self) -> PlannedClips:
        assert self.group.clips is not None
        return self.group.clips

    def _of_clips(self, quantity: str) -> FloatArray:
        """Return a quantity of each clip, drawn once from its law."""
        law = self._clips.length if quantity == "length" else self._clips.rate
        assert law is not None
        generator = random_stream(
            self.seed, session=0, purpose=f"workload/{self.group.name}/clip-{quantity}"
        )
        return law.ppf(generator.random(self._clips.popularity.weights.size))
