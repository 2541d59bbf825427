"""Paths of a semi-Markov chain: which state a source is in, from when to when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trafficgen.errors import GenerationError
from trafficgen.processes.base import Span, refuse_lost_steps
from trafficgen.units import FloatArray, IntArray

#: A path whose mean rate is within this share of the capture's is taken.
_TOLERATED_SHARE = 0.02
#: This many dwells are drawn in all for the paths to choose from, and this many paths at most.
_DRAWN_DWELLS = 20_000
_MOST_PATHS = 200
#: Sessions of this share of the capture's phase and more keep its mean rate.
_SHORTEST_SHARE = 0.5
_MOST_DWELLS = 20_000_000

#: Draws of the time in a state: the source of random numbers and how many.
DwellDraws = Callable[[np.random.Generator, int], FloatArray]


@dataclass(frozen=True)
class RatePath:
    """A path.

    Attributes:
        edge_s: Start of each dwell and end of the last, s, shape (d + 1,).
        state: State of each dwell, shape (d,).
    """

    edge_s: FloatArray
    state: IntArray

    def mean(self, rate: FloatArray) -> float:
        """Return the mean over time of a rate that each state has, shape (k,)."""
        weighted = np.dot(rate[self.state], np.diff(self.edge_s))
        return float(weighted / (self.edge_s[-1] - self.edge_s[0]))


@dataclass(frozen=True, kw_only=True)
class RateChain:
    """A semi-Markov chain.

    Attributes:
        dwells: Draws of the time in each state; None for a state that is never left.
        mean_dwell_s: Mean time in each state, s, shape (k,); infinite for a state that is never
            left.
        transition: Jump chain, shape (k, k).
        first_state: State at the start, with a whole dwell; None to draw one in the long run.
    """

    dwells: tuple[DwellDraws | None, ...]
    mean_dwell_s: FloatArray
    transition: FloatArray
    first_state: int | None = None

    def occupancy(self) -> FloatArray:
        """Compute the share of the time in each state in the long run, shape (k,).

        The stationary law of the jump chain, weighted by the mean dwells (Ross, "Stochastic
        processes", 1996, theorem 4.8.3). With states that are never left, these share the time
        evenly.
        """
        ends = ~np.isfinite(self.mean_dwell_s)
        if ends.any():
            return np.asarray(ends / ends.sum(), dtype=np.float64)
        k = self.mean_dwell_s.size
        system = np.vstack((self.transition.T - np.eye(k), np.ones(k)))
        jumps = np.maximum(np.linalg.lstsq(system, np.append(np.zeros(k), 1.0), rcond=None)[0], 0.0)
        share = jumps * self.mean_dwell_s
        return np.asarray(share / share.sum(), dtype=np.float64)

    def path(self, span: Span, generator: np.random.Generator) -> RatePath:
        """Draw a path over a span.

        Where the first state is drawn, its dwell is cut at a random moment: the chain is met in the
        middle of it.

        Raises:
            GenerationError: If dwells are too short for times so late.
        """
        start_s, end_s = span.start_s, span.end_s
        refuse_lost_steps(float(self.mean_dwell_s.min()), end_s, "dwells")
        k = self.mean_dwell_s.size
        pools: list[list[float]] = [[] for _ in range(k)]
        cumulative = np.cumsum(self.transition, axis=1)
        state = self.first_state
        cut = state is None
        if state is None:
            state = int(generator.choice(k, p=self.occupancy()))
        now_s, states, edges = start_s, [], [start_s]
        while now_s < end_s:
            dwell_s = self._dwell_s(state, pools[state], generator, left_s=end_s - now_s)
            now_s += dwell_s * (generator.random() if cut else 1.0)
            cut = False
            states.append(state)
            edges.append(min(now_s, end_s))
            if now_s < end_s:
                chosen = np.searchsorted(cumulative[state], generator.random(), side="right")
                state = min(int(chosen), k - 1)
        return RatePath(np.array(edges), np.array(states, dtype=np.int64))

    def _dwell_s(
        self, state: int, pool: list[float], generator: np.random.Generator, *, left_s: float
    ) -> float:
        draw = self.dwells[state]
        if draw is None:
            return left_s
        if not pool:
            wanted = int(np.clip(left_s / self.mean_dwell_s[state] / 4, 8, 4096))
            pool.extend(np.maximum(draw(generator, wanted), 1e-9).tolist())
        return pool.pop()

    def path_with_mean(
        self,
        rate: FloatArray,
        span: Span,
        generator: np.random.Generator,
        *,
        mean: float,
        observed_s: float,
    ) -> RatePath:
        """Draw a path with the capture's mean rate where the span is about as long as it was.

        The rate of a session is a fact of the capture, and a few long dwells decide it: paths are
        drawn until one has that mean within 2%, and of 200 at most the nearest is taken. Shorter
        spans than half of the capture's, and those with thousands of dwells, are left to chance.
        ``rate`` has the rate in each state, shape (k,); ``mean`` and ``observed_s`` are the mean
        rate and the length of the capture.

        Raises:
            GenerationError: If the span has more dwells than a computer can hold.
        """
        span_s = span.length_s
        finite = self.mean_dwell_s[np.isfinite(self.mean_dwell_s)]
        expected = span_s / float(np.min(finite)) + 1 if finite.size else 1.0
        if expected > _MOST_DWELLS:
            raise GenerationError(
                f"a span of {span_s:g} s has about {expected:.3g} changes of state; shorten it"
            )
        tries = 1
        if span_s >= _SHORTEST_SHARE * observed_s:
            tries = int(np.clip(_DRAWN_DWELLS / expected, 1, _MOST_PATHS))
        best: tuple[float, RatePath] | None = None
        for _ in range(tries):
            path = self.path(span, generator)
            off = abs(path.mean(rate) / mean - 1)
            if best is None or off < best[0]:
                best = off, path
            if off <= _TOLERATED_SHARE:
                break
        assert best is not None
        return best[1]


def place_on_path(path: RatePath, state: int, time_s: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return when moments of a state's own clock, which runs only in its dwells, come.

    Args:
        path: The path.
        state: The state.
        time_s: Moments on its clock, ascending, in [0, time in the state), s, shape (n,).

    Returns:
        Times, s, ascending, and numbers of the dwells on the path, both of shape (n,).
    """
    mine = np.flatnonzero(path.state == state)
    length_s = np.diff(path.edge_s)[mine]
    before_s = np.cumsum(length_s) - length_s
    dwell = np.searchsorted(before_s, time_s, side="right") - 1
    return path.edge_s[mine[dwell]] + (time_s - before_s[dwell]), mine[dwell]


def time_in(path: RatePath, state: int) -> float:
    """Return the time in a state, s."""
    return float(np.diff(path.edge_s)[path.state == state].sum())
