"""Rungs of several sessions of one source, separated from the content of their titles.

The size of a segment is that of its rung times what is in it: where two sessions fetched the same
segment of a title, its content is in both sizes, so that their ratio is that of the rungs. Sizes
are a mixed linear model of rungs (fixed effects) and segments (random ones, Henderson 1975) whose
rungs are a hidden Markov chain in each session, found by coordinate ascent: two sessions of a title
at a time, by what they and the others say of the content.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.application.rungs import (
    ABOVE,
    LADDER,
    STARTS,
    decode_rungs,
    propose_means,
    weigh_beginnings,
    weigh_moves,
)
from trafficgen.processes.semi_markov.rate_states import most_likely_path
from trafficgen.units import FloatArray, IntArray

#: What sizes of a title vary by (log) besides content, to begin with and at least (headers), and
#: at most: encoders may spend bits otherwise at each rung.
_USUAL_NOISE, _LEAST_NOISE, _MOST_NOISE = 0.003, 0.001, 0.1
#: The search begins with rungs about this far off (log), and with players that may
#: change them often: with this chance a rung is kept.
_FIRST_NOISE, _FIRST_STAY = 0.04, 0.5
#: Rungs to begin with lie evenly between all sizes, or those within this share at each end.
_OUTER = 0.05
#: Content varies by this (log) where nothing is known, and by no less than this.
_USUAL_SPREAD, _LEAST_SPREAD = 0.15, 0.03
#: Least distance of rungs (log), and most rungs.
_LEAST_LOG_STEP, _MOST_RUNGS = float(np.log(1.2)), 10
#: A size this many standard errors off its rung may be at one that was not thought of.
_FAR, _MOST_ROUNDS = 2.5, 30
#: Ladders are found when the noise changes by less than this share.
_SETTLED = 0.01
#: Content this many standard deviations off may be that of other rungs.
_ODD = 0.5
#: Ladders with up to this many rungs more than the best one are tried.
_MORE_RUNGS = 2
#: Two sessions show one title if their contents are correlated like this, over this many segments,
#: or if in this share of them sizes have the same ratio (log).
_LIKE, _FEWEST_COMMON, _SAME_SHARE, _SAME_SIZE = 0.6, 8, 0.3, 0.01


@dataclass(frozen=True)
class SharedLadder:
    """Rungs that sessions of one source share.

    Attributes:
        of_segment: Rung of each segment of each session, 0 the lowest.
        mean_bytes: Size of a segment at each rung, ascending, shape (rungs,).
        error: Standard error of its logarithm.
        content: Sizes of the segments over their rung's mean, of each session.
        spread: Standard deviation of log sizes about their rungs, as far as content is not known
            from other sessions.
        score: How unlikely all sizes are (negative log-likelihood).
    """

    of_segment: tuple[IntArray, ...]
    mean_bytes: FloatArray
    error: FloatArray
    content: tuple[FloatArray, ...]
    spread: float
    score: float


def find_titles(sizes: Sequence[FloatArray], contents: Sequence[FloatArray]) -> list[int]:
    """Return which sessions show the same title, numbered from 0.

    Args:
        sizes: Bytes of the segments of each session in order, from the first of its title.
        contents: The same over the mean of their rung, as far as a session alone shows that.
    """
    titles: list[int] = []
    for place in range(len(sizes)):
        same = (
            titles[other]
            for other in range(place)
            if _have_common_ratios(sizes[place], sizes[other])
            or _are_alike(contents[place], contents[other])
        )
        titles.append(next(same, max(titles, default=-1) + 1))
    return titles


def _have_common_ratios(first: FloatArray, second: FloatArray) -> bool:
    """Return whether many segments have one ratio: files of one title at two rungs, or at one."""
    common = min(len(first), len(second))
    ratios = np.sort(np.log(first[:common] / second[:common]))
    counts = np.searchsorted(ratios, ratios + _SAME_SIZE, side="right") - np.arange(common)
    return common >= _FEWEST_COMMON and counts.max() >= _SAME_SHARE * common


def _are_alike(first: FloatArray, second: FloatArray) -> bool:
    common = min(len(first), len(second))
    if common < _FEWEST_COMMON:
        return False
    logs = np.log([first[:common], second[:common]])
    return bool(np.all(logs.std(axis=1) > 0) and np.corrcoef(logs)[0, 1] >= _LIKE)


def find_shared_ladder(
    sizes: Sequence[FloatArray], titles: Sequence[int], own_bytes: Sequence[FloatArray] = ()
) -> SharedLadder:
    """Find the rungs that sessions share.

    Args:
        sizes: Bytes of the segments of each session in order, from the first of its title.
        titles: Number of the title of each session.
        own_bytes: Mean size at the rung of each segment, as each session shows it by itself: the
            search begins there too.
    """
    logs = [np.log(one) for one in sizes]
    longest = max(map(len, logs))
    places = [
        title * longest + np.arange(len(one)) for title, one in zip(titles, logs, strict=True)
    ]
    data = _Sizes(logs, places)
    best: _State | None = None
    for rungs in range(1, _MOST_RUNGS + 1):
        if best is not None and rungs > len(best.rungs) + _MORE_RUNGS:
            break
        for means in _propose_starts(logs, rungs):
            best = _improve(data, means, best)
    if own_bytes:
        own = [np.log(one) for one in own_bytes]
        union = _merge([np.unique(one) for one in own])
        states = [np.abs(one[:, None] - union).argmin(axis=1) for one in own]
        best = _improve(data, union, best, states)
    assert best is not None
    content, known = data.estimate_content(best.states, best.rungs, best.scale)
    factors = np.exp(content)
    mean = float(factors[np.unique(np.concatenate(places))].mean())
    return SharedLadder(
        of_segment=tuple(best.states),
        mean_bytes=np.exp(best.rungs) * mean,
        error=best.error,
        content=tuple(factors[place] / mean for place in places),
        spread=float(np.sqrt(np.mean(known))),
        score=best.score,
    )


@dataclass(frozen=True)
class _Scale:
    """How much log sizes vary with the content, and how much besides."""

    spread: float = _USUAL_SPREAD
    noise: float = _USUAL_NOISE

    @property
    def ratio(self) -> float:
        """Variance besides over that of the content."""
        return (self.noise / self.spread) ** 2

    def shrink(self, count: FloatArray) -> FloatArray:
        """Return what the mean of some log sizes of one content takes from each."""
        return 1 / (self.ratio + count)


@dataclass(frozen=True)
class _Guess:
    """Log sizes at the rungs, how they vary, and how likely a rung is kept."""

    rungs: FloatArray
    scale: _Scale
    stay: float


@dataclass(frozen=True)
class _State:
    """Rungs of the segments, log sizes at the rungs, their errors and how sizes vary."""

    states: list[IntArray]
    rungs: FloatArray
    error: FloatArray
    scale: _Scale
    score: float


@dataclass(frozen=True)
class _Sizes:
    """Log sizes of sessions, and the number of the content in each."""

    logs: list[FloatArray]
    places: list[IntArray]

    @functools.cached_property
    def pairs(self) -> list[list[int]]:
        """Sessions of one title by twos; the last of an odd number again with that before it."""
        groups: dict[int, list[int]] = {}
        for session, place in enumerate(self.places):
            groups.setdefault(int(place[0]), []).append(session)
        return [
            group[max(min(at, len(group) - 2), 0) :][:2]
            for group in groups.values()
            for at in range(0, len(group), 2)
        ]

    @property
    def contents(self) -> int:
        """Number of contents, visited or not."""
        return int(max(place.max() for place in self.places)) + 1

    def sum_rest(
        self, states: list[IntArray], rungs: FloatArray, *, without: Sequence[int] = ()
    ) -> tuple[FloatArray, FloatArray]:
        """Return how often each content was seen, and the sum of log sizes less their rungs."""
        count, total = np.zeros(self.contents), np.zeros(self.contents)
        for session, (log, place) in enumerate(zip(self.logs, self.places, strict=True)):
            if session not in without:
                count[place] += 1
                total[place] += log - rungs[states[session]]
        return count, total

    def estimate_content(
        self, states: list[IntArray], rungs: FloatArray, scale: _Scale
    ) -> tuple[FloatArray, FloatArray]:
        """Return the log of each content, and the variance of each segment's by the others."""
        count, total = self.sum_rest(states, rungs)
        others = np.concatenate([count[place] for place in self.places]) - 1
        return total * scale.shrink(count), scale.noise**2 * (1 + scale.shrink(others))

    def estimate_scale(self, states: list[IntArray], rungs: FloatArray, scale: _Scale) -> _Scale:
        """Return how much log sizes vary about rungs."""
        content, _ = self.estimate_content(states, rungs, scale)
        seen, counts = np.unique(np.concatenate(self.places), return_counts=True)
        rest = np.concatenate(
            [
                log - rungs[state] - content[place]
                for log, state, place in zip(self.logs, states, self.places, strict=True)
            ]
        )
        free = counts.sum() - len(seen)
        noise = np.sqrt(np.sum(rest**2) / free) if free else _USUAL_NOISE
        spread = np.sqrt(np.mean(content[seen] ** 2))
        return _Scale(
            max(float(spread), _LEAST_SPREAD), min(max(float(noise), _LEAST_NOISE), _MOST_NOISE)
        )


def _propose_starts(logs: list[FloatArray], rungs: int) -> list[FloatArray]:
    """Return where the search begins: parts of all sizes, first segments, and even steps."""
    first = [np.median([log[at] for log in logs if len(log) > at]) for at in range(STARTS)]
    pooled = np.concatenate([first, *(log[STARTS:] for log in logs)])
    if rungs > len(pooled):
        return []
    even = [
        np.linspace(np.quantile(pooled, share), np.quantile(pooled, 1 - share), rungs)
        for share in (_OUTER, 0.0)
    ]
    return [*propose_means(pooled, rungs), *even]


def _improve(
    data: _Sizes, means: FloatArray, best: _State | None, states: list[IntArray] | None = None
) -> _State | None:
    """Return the likeliest rungs that are found from some, or the best so far."""
    found = _climb(data, means, states)
    while found is not None:
        if best is None or found.score < best.score:
            best = found
        grown = _grow(data, found)
        found = grown if grown and grown.score < found.score else None
    return best


def _merge(rungs: Sequence[FloatArray]) -> FloatArray:
    """Return the rungs of all sessions, log sizes, ascending; near ones as their mean."""
    ordered = np.sort(np.concatenate([*rungs, np.empty(0)]))
    groups = np.split(ordered, np.flatnonzero(np.diff(ordered) > _LEAST_LOG_STEP) + 1)
    return np.array([group.mean() for group in groups if group.size])


def _climb(data: _Sizes, rungs: FloatArray, states: list[IntArray] | None = None) -> _State | None:
    """Return the likeliest rungs near some; None where rungs fall together.

    Sizes alone say where segments are to begin with, if ``states`` do not.
    """
    scale, stay = _Scale(noise=_FIRST_NOISE), _FIRST_STAY
    if states is None:
        states = [np.zeros(len(log), dtype=np.int64) for log in data.logs]
        for pair in data.pairs:
            _decode_together(data, states, pair, _Guess(rungs, scale, stay), alone=True)
    for _ in range(_MOST_ROUNDS):
        earlier, noise = [one.copy() for one in states], scale.noise
        if len(np.unique(np.concatenate(states))) < len(rungs):
            return None
        rungs, error = _solve(data, states, len(rungs), scale)
        if np.any(np.diff(rungs) < _LEAST_LOG_STEP):
            return None
        scale = data.estimate_scale(states, rungs, scale)
        for pair in data.pairs:
            _decode_together(data, states, pair, _Guess(rungs, scale, stay))
        later = np.concatenate([np.diff(one)[STARTS:] for one in states])
        stay = 1 - (np.count_nonzero(later) + 1) / (len(later) + 2)
        # Noise falls slowly to what it is, and decides which ladder is the likeliest.
        is_settled = abs(scale.noise / noise - 1) < _SETTLED
        if is_settled and all(map(np.array_equal, states, earlier)):
            break
    if len(np.unique(np.concatenate(states))) < len(rungs):
        return None
    cost = _measure_cost(data, states, rungs, scale, stay)
    ranges = np.array([LADDER, *[ABOVE] * (len(rungs) - 1)])
    score = cost + float(np.log(ranges / (error * np.sqrt(2 * np.pi))).sum())
    return _State(states, rungs, error, scale, score)


def _decode_together(
    data: _Sizes, states: list[IntArray], pair: Sequence[int], guess: _Guess, *, alone: bool = False
) -> None:
    """Move segments of two sessions, or of one, to their likeliest rungs.

    Sessions that moved one by one would keep rungs whose ratios are alike by chance. What other
    sessions fetched shows the content, unless these are looked at ``alone``.
    """
    rungs, scale = guess.rungs, guess.scale
    count, total = data.sum_rest(states, rungs, without=range(len(states)) if alone else pair)
    shrink = scale.shrink(count)
    lengths = [len(data.logs[one]) for one in pair]
    place, noise, size = data.places[pair[int(np.argmax(lengths))]], scale.noise**2, len(rungs)
    mean, variance = (total * shrink)[place], noise * shrink[place]
    # Nothing is known of segments that a session did not fetch.
    rests = np.zeros((len(pair), len(place), size))
    for rest, one, length in zip(rests, pair, lengths, strict=True):
        rest[:length] = (data.logs[one] - mean[:length])[:, None] - rungs
    if len(pair) == 1:
        states[pair[0]], _ = decode_rungs(rests[0], np.sqrt(noise + variance), guess.stay)
        return
    variance, first, second = variance[:, None, None], rests[0][:, :, None], rests[1][:, None, :]
    both = (first + second) ** 2 / (noise + 2 * variance) + (first - second) ** 2 / noise
    log_density = -0.25 * both
    single = -0.5 * (first**2 + second**2) / (noise + variance)
    log_density[min(lengths) :] = single[min(lengths) :]
    begin, moves = weigh_beginnings(size), weigh_moves(size, guess.stay)
    log_density[0] += begin[:, None] + begin
    together = moves[:, :, None, :, None] + moves[:, None, :, None, :]
    path = most_likely_path(
        log_density.reshape(len(place), -1), together.reshape(len(moves), size**2, size**2)
    )
    for one, length, found in zip(pair, lengths, np.divmod(path, size), strict=True):
        states[one] = found[:length]


def _predict(
    data: _Sizes, states: list[IntArray], rungs: FloatArray, scale: _Scale, *, without: int
) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of a size over its rung by what other sessions fetched."""
    count, total = data.sum_rest(states, rungs, without=[without])
    shrink = scale.shrink(count)
    return total * shrink, scale.noise * np.sqrt(1 + shrink)


def _solve(
    data: _Sizes, states: list[IntArray], rungs: int, scale: _Scale
) -> tuple[FloatArray, FloatArray]:
    """Return log sizes at the rungs and their standard errors by generalised least squares."""
    seen = np.zeros((data.contents, rungs))
    total = np.zeros(data.contents)
    by_rung = np.zeros(rungs)
    for log, place, state in zip(data.logs, data.places, states, strict=True):
        np.add.at(seen, (place, state), 1.0)
        np.add.at(total, place, log)
        np.add.at(by_rung, state, log)
    # Inverse of noise + common content, by the formula of Sherman and Morrison.
    count = seen.sum(axis=1)
    shrink = scale.shrink(count)
    normal = (np.diag(seen.sum(axis=0)) - (seen * shrink[:, None]).T @ seen) / scale.noise**2
    right = (by_rung - seen.T @ (shrink * total)) / scale.noise**2
    covariance = np.linalg.inv(normal)
    return covariance @ right, np.sqrt(np.diag(covariance))


def _measure_cost(
    data: _Sizes, states: list[IntArray], rungs: FloatArray, scale: _Scale, stay: float
) -> float:
    """Return the negative log-likelihood of all sizes and of the changes between rungs."""
    cost = 0.0
    count, total = data.sum_rest(states, rungs)
    squares = sum(
        float(np.sum((log - rungs[state]) ** 2))
        for log, state in zip(data.logs, states, strict=True)
    )
    shrink = scale.shrink(count)
    cost += (squares - float(np.sum(shrink * total**2))) / (2 * scale.noise**2)
    cost += 0.5 * float(np.sum(np.log1p(count / scale.ratio)))
    cost += float(count.sum() * np.log(scale.noise * np.sqrt(2 * np.pi)))
    flat = [np.zeros((len(log), len(rungs))) for log in data.logs]
    for one, state in zip(flat, states, strict=True):
        one[np.arange(len(state)), state] = 1.0
        one[one == 0] = np.inf
        one[one == 1] = 0.0
        cost += decode_rungs(one, np.ones(len(state)), stay)[1]
        cost -= len(state) * 0.5 * math.log(2 * math.pi)
    return cost


def _grow(data: _Sizes, found: _State) -> _State | None:
    """Return the best ladder with a rung more, for a size that does not fit; None without.

    The size is the one that is farthest from its rung by what others say of its content, or the
    one whose content is the oddest. Or a rung is split, whose noise may be that of two.
    """
    if len(found.rungs) >= _MOST_RUNGS:
        return None
    rest, off = [], []
    for session, (log, place, state) in enumerate(
        zip(data.logs, data.places, found.states, strict=True)
    ):
        mean, sd = _predict(data, found.states, found.rungs, found.scale, without=session)
        rest.append(log - mean[place])
        off.append(np.abs(rest[-1] - found.rungs[state]) / sd[place])
    sizes = np.concatenate(data.logs)
    content, _ = data.estimate_content(found.states, found.rungs, found.scale)
    oddness = np.abs(content[np.concatenate(data.places)]) / found.scale.spread
    grown = [
        _climb(data, np.sort([*found.rungs, at]))
        for at, far in (
            (np.concatenate(rest)[np.concatenate(off).argmax()], np.concatenate(off).max()),
            (sizes[oddness.argmax()], oddness.max()),
        )
        if far > _FAR
    ]
    grown += [_split(data, found, rest), _set_apart(data, found, content)]
    return min((one for one in grown if one), key=lambda one: one.score, default=None)


def _split(data: _Sizes, found: _State, rest: list[FloatArray]) -> _State | None:
    """Return the ladder with two rungs for the one whose sizes have the widest gap.

    Args:
        data: All sizes.
        found: The ladder.
        rest: Log sizes less their content by what other sessions fetched.
    """
    gaps = []
    for rung in range(len(found.rungs)):
        sizes = np.sort(
            np.concatenate(
                [one[state == rung] for one, state in zip(rest, found.states, strict=True)]
            )
        )
        if len(sizes) > 1:
            at = int(np.diff(sizes).argmax())
            gaps.append((float(sizes[at + 1] - sizes[at]), float(sizes[at : at + 2].mean()), rung))
    gap, middle, split = max(gaps, default=(0.0, 0.0, 0))
    if gap < _LEAST_LOG_STEP / 2:
        return None
    states = [
        state + ((state > split) | ((state == split) & (one > middle)))
        for one, state in zip(rest, found.states, strict=True)
    ]
    return _climb(data, np.insert(found.rungs, split + 1, found.rungs[split]), states)


def _set_apart(data: _Sizes, found: _State, content: FloatArray) -> _State | None:
    """Return the ladder with a rung for the segments whose content is the oddest."""
    place = int(np.abs(content).argmax())
    odd = [places == place for places in data.places]
    if abs(content[place]) < _ODD * found.scale.spread:
        return None
    at = float(np.mean(np.concatenate([log[one] for log, one in zip(data.logs, odd, strict=True)])))
    rung = int(np.searchsorted(found.rungs, at))
    states = [
        np.where(one, rung, state + (state >= rung))
        for one, state in zip(odd, found.states, strict=True)
    ]
    return _climb(data, np.insert(found.rungs, rung, at), states)
