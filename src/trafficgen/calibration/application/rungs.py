"""The rungs of a ladder that segments were fetched at, from their sizes.

Sizes vary within a rung as the content does (log-normal), and a player stays at a rung for a while:
a hidden Markov chain whose states share a spread, fitted by hard assignment (Viterbi training,
Juang and Rabiner 1990) for each number of rungs, which the evidence chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.application.policy import WRONG_SHARE
from trafficgen.processes.semi_markov.rate_states import most_likely_path
from trafficgen.units import FloatArray, IntArray

_MOST_RUNGS, _MOST_ROUNDS = 8, 30
#: Sizes of a rung vary by at least this (log), and rungs are at least this factor apart.
_LEAST_SPREAD, _LEAST_RATIO, _LEAST_ERRORS = 0.03, 1.25, 1.5
#: Policies explain rungs that are this much less likely by the chain at most (log-likelihood).
_MOST_GAIN = 60.0
#: A player begins low and climbs: it begins at its lowest rung with this chance, or at any; a
#: change is as likely as none after each of the first segments, and one to a rung further up, or
#: down instead of up, is less likely by the last factor.
STARTS, _LOWEST, _FURTHER = 4, 0.5, 0.5
#: Where a rung may lie (log): the first one from 100 kbit/s to 10 Mbit/s or so, each other one 1.25
#: to 2.5 times above the one below, as on usual ladders and a little further.
LADDER, ABOVE = 4.6, float(np.log(2.5 / _LEAST_RATIO))


@dataclass(frozen=True)
class Rungs:
    """Segments at rungs.

    Attributes:
        of_segment: Rung of each segment, 0 the lowest, shape (n,).
        spread: Standard deviation of log sizes within a rung.
    """

    of_segment: IntArray
    spread: float


@dataclass(frozen=True)
class Explanation:
    """What players would have chosen, given some rungs.

    Attributes:
        log_likelihood: How likely the choices are by them all (natural logarithm).
        ladder: Sizes at the rungs that they may have had, natural logarithm of bytes, ascending.
        predicted: Place in it of what each player would have chosen, shape (players, n).
        log_prior: How likely each player is beforehand, shape (players,).
    """

    log_likelihood: float
    ladder: FloatArray
    predicted: IntArray
    log_prior: FloatArray


@dataclass(frozen=True)
class _Found:
    """Rungs and how likely they are (natural logarithms).

    Attributes:
        rungs: The rungs.
        score: How unlikely they are by the evidence (negative).
        chain_log: How likely they follow one another by the chain, whatever the sizes.
    """

    rungs: Rungs
    score: float
    chain_log: float


def find_rungs(
    size_bytes: FloatArray, explain: Callable[[Rungs], Explanation | None] | None = None
) -> Rungs:
    """Find the rungs of segments by their sizes in order of their requests.

    Args:
        size_bytes: Sizes of the segments, bytes, shape (n,).
        explain: Returns what players choose; None where it says nothing of these rungs: those that
            change often are unlikely for a chain. None: the chain alone.
    """
    logs = np.log(size_bytes)
    # Several beginnings may lead to the same states.
    found: dict[bytes, _Found] = {}
    for rungs in range(1, min(_MOST_RUNGS, len(logs)) + 1):
        for means in propose_means(logs, rungs):
            states = _train(logs, means)
            if states is not None and (one := _weigh(logs, states)) is not None:
                found[states.tobytes()] = one
    if not found:
        return Rungs(np.zeros(len(logs), dtype=np.int64), float(logs.std()))
    best = min(found.values(), key=lambda each: each.score)
    if explain is None:
        return best.rungs
    explained, least = best.rungs, np.inf
    for one in found.values():
        if one.score <= best.score + _MOST_GAIN:
            rungs_found, score = _follow_players(logs, one, explain, set(found))
            if score < least:
                explained, least = rungs_found, score
    return explained


def _follow_players(
    logs: FloatArray,
    found: _Found,
    explain: Callable[[Rungs], Explanation | None],
    known: set[bytes],
) -> tuple[Rungs, float]:
    """Return the likeliest rungs near some by what players choose, and their score."""
    best, least = found.rungs, np.inf
    for _ in range(_MOST_ROUNDS):
        explanation = explain(found.rungs)
        if explanation is None:
            return best, min(least, found.score)
        score = found.score - _gain_by_policy(found, explanation.log_likelihood)
        if score >= least:
            break
        best, least = found.rungs, score
        states = _decode_choices(logs, best.spread, explanation)
        if states.tobytes() in known or (moved := _weigh(logs, states)) is None:
            break
        known.add(states.tobytes())
        found = moved
    return best, least


def _decode_choices(logs: FloatArray, spread: float, by: Explanation) -> IntArray:
    """Return the likeliest rungs by sizes and by the player that explains these best."""
    count, rows = len(by.ladder), np.arange(len(logs))
    distance = -0.5 * ((logs[:, None] - by.ladder) / spread) ** 2
    density = np.exp(distance - distance.max(axis=1, keepdims=True))
    other = WRONG_SHARE / max(count - 1, 1)
    # The first choice is by a default, whatever the policy.
    explained = (1 - WRONG_SHARE - other) * density[rows, by.predicted]
    likely = np.log(other * density.sum(axis=1) + explained)[:, 1:].sum(axis=1) + by.log_prior
    weights = np.full_like(density, other)
    weights[rows, by.predicted[int(likely.argmax())]] = 1 - WRONG_SHARE
    weights[0] = 1.0
    states = (density * weights).argmax(axis=1)
    return np.unique(states, return_inverse=True)[1]


def _weigh(logs: FloatArray, states: IntArray) -> _Found | None:
    """Return how likely states are by chain and sizes; None where rungs fall together."""
    counts = np.bincount(states)
    means = np.bincount(states, logs) / counts
    rest = logs - means[states]
    spread = max(float(np.sqrt(rest @ rest / max(len(logs) - len(means), 1))), _LEAST_SPREAD)
    if np.any(np.diff(means) < max(np.log(_LEAST_RATIO), _LEAST_ERRORS * spread)):
        return None
    only = np.full((len(logs), len(means)), np.inf)
    only[np.arange(len(logs)), states] = rest
    cost = decode_rungs(only, np.full(len(logs), spread), _stay(states))[1]
    # The evidence of each mean, which may lie anywhere in its range (Laplace).
    ranges = np.array([LADDER, *[ABOVE] * (len(counts) - 1)])
    score = cost + float(np.log(ranges / (spread * np.sqrt(2 * np.pi / counts))).sum())
    scaled = rest / spread
    sizes_log = -0.5 * float(scaled @ scaled) - len(logs) * np.log(spread * np.sqrt(2 * np.pi))
    return _Found(Rungs(states, spread), score, -cost - float(sizes_log))


def _stay(states: IntArray) -> float:
    """Return how likely a rung is kept after the first segments."""
    later = np.diff(states)[STARTS:]
    return 1 - (np.count_nonzero(later) + 1) / (len(later) + 2)


def _gain_by_policy(found: _Found, policy_log: float) -> float:
    """Return the logarithm of how much likelier rungs are by chain or policy than by the chain.

    Chain and policy are equally likely beforehand: the factor of one half is that of all rungs, and
    is left out.
    """
    states = found.rungs.of_segment
    policy_log += weigh_beginnings(int(states.max()) + 1)[states[0]]
    return float(np.logaddexp(found.chain_log, policy_log) - found.chain_log)


def _train(logs: FloatArray, means: FloatArray) -> IntArray | None:
    """Return states; None where rungs fall together."""
    spread, stay = 0.1, 0.9
    states = np.full(len(logs), -1)
    for _ in range(_MOST_ROUNDS):
        earlier = states
        states, _ = decode_rungs(logs[:, None] - means, np.full(len(logs), spread), stay)
        if np.array_equal(states, earlier):
            break
        present = [logs[states == state] for state in range(len(means))]
        if any(part.size == 0 for part in present):
            return None
        means = np.array([part.mean() for part in present])
        rest = logs - means[states]
        spread = max(float(np.sqrt(rest @ rest / max(len(logs) - len(means), 1))), _LEAST_SPREAD)
        stay = _stay(states)
    return states


def propose_means(logs: FloatArray, rungs: int) -> list[FloatArray]:
    """Return where the search begins: parts of the sizes in order, and the first segments."""
    ordered = np.sort(logs)
    gaps = np.sort(np.argsort(-np.diff(ordered), kind="stable")[: rungs - 1] + 1)
    parts = [np.split(ordered, gaps), np.array_split(ordered, rungs)]
    means = [np.array([part.mean() for part in one]) for one in parts]
    for single in range(1, min(rungs, STARTS + 1)):
        rest = np.array_split(np.sort(logs[single:]), rungs - single)
        if all(part.size for part in rest):
            means.append(np.sort([*logs[:single], *(part.mean() for part in rest)]))
    return means


def weigh_beginnings(count: int) -> FloatArray:
    """Return how likely a player begins at each of its rungs (log), shape (count,)."""
    chances = np.full(count, (1 - _LOWEST) / count)
    chances[0] += _LOWEST
    return np.asarray(np.log(chances))


def decode_rungs(rest: FloatArray, spread: FloatArray, stay: float) -> tuple[IntArray, float]:
    """Return the likeliest rungs and their negative log-likelihood.

    Args:
        rest: Log sizes less what they would be at each rung, shape (n, rungs).
        spread: Standard deviation of each, shape (n,).
        stay: Probability that a rung is kept, after the first segments.
    """
    n, count = rest.shape
    log_density = -0.5 * (rest / spread[:, None]) ** 2
    log_density -= np.log(spread * np.sqrt(2 * np.pi))[:, None]
    log_density[0] += weigh_beginnings(count)
    log_move = weigh_moves(count, stay)
    states = most_likely_path(log_density, log_move)
    likelihood = log_density[np.arange(n), states].sum()
    steps = np.minimum(np.arange(n - 1), STARTS)
    likelihood += log_move[steps, states[:-1], states[1:]].sum()
    return states, -float(likelihood)


def weigh_moves(count: int, stay: float) -> FloatArray:
    """Return how likely rungs follow one another (log): after each of the first segments, later.

    Shape (STARTS + 1, count, count).
    """
    log_move = np.empty((STARTS + 1, count, count))
    if count == 1:
        log_move[:STARTS], log_move[STARTS:] = 0.0, np.log(stay)
        return log_move
    steps = np.arange(count) - np.arange(count)[:, None]
    moves = _FURTHER ** np.where(steps < 0, 1 - steps, steps).astype(np.float64)
    np.fill_diagonal(moves, 0.0)
    moves /= moves.sum(axis=1, keepdims=True)
    np.fill_diagonal(moves, 1.0)
    log_move[:STARTS] = np.log(0.5 * moves)
    log_move[STARTS:] = np.log((1 - stay) / (count - 1))
    log_move[STARTS:, np.arange(count), np.arange(count)] = np.log(stay)
    return log_move
