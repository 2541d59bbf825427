"""The rungs of a ladder that segments were fetched at, from their sizes.

Sizes vary within a rung as the content does (log-normal), and a player stays at a rung for a while:
a hidden Markov chain whose states share a spread, fitted by hard assignment (Viterbi training,
Juang and Rabiner 1990) for each number of rungs, which the evidence chooses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trafficgen.processes.semi_markov.rate_states import most_likely_path
from trafficgen.units import FloatArray, IntArray

_MOST_RUNGS, _MOST_ROUNDS = 8, 30
#: Sizes of a rung vary by at least this (log), and rungs are at least this factor apart.
_LEAST_SPREAD, _LEAST_STEP, _LEAST_ERRORS = 0.03, 1.25, 1.5
#: Policies explain rungs that are so much less likely by the chain at most (log-likelihood).
_MOST_GAIN = 60.0
#: A player begins low and climbs: a change is as likely as none after each of the first segments,
#: and one to a rung further up, or down instead of up, is so much less likely.
STARTS, _FURTHER = 4, 0.5
#: Where a rung may lie (log): the first one from 100 kbit/s to 10 Mbit/s or so, each other one 1.25
#: to 2.5 times above the one below, as on usual ladders and a little further.
LADDER, ABOVE = 4.6, float(np.log(2.5 / _LEAST_STEP))


@dataclass(frozen=True)
class Rungs:
    """Segments at rungs.

    Attributes:
        of_segment: Rung of each segment, 0 the lowest, shape (n,).
        spread: Standard deviation of log sizes within a rung.
    """

    of_segment: IntArray
    spread: float


def find_rungs(size_bytes: FloatArray, explain: Callable[[Rungs], float] | None = None) -> Rungs:
    """Find the rungs of segments by their sizes in order of their requests.

    Args:
        size_bytes: Sizes of the segments, bytes, shape (n,).
        explain: Returns the log-likelihood (natural) of the choices of a rung after the first one,
            by what players do: those that change often are unlikely for a chain. None: the chain
            alone.
    """
    logs = np.log(size_bytes)
    one = Rungs(np.zeros(len(logs), dtype=np.int64), float(logs.std()))
    # Scores by states: several beginnings may lead to the same.
    found: dict[bytes, tuple[float, float, Rungs]] = {}
    for rungs in range(1, min(_MOST_RUNGS, len(logs)) + 1):
        for means in propose_means(logs, rungs):
            trained = _train(logs, means)
            if trained is None:
                continue
            states, cost, spread = trained
            # The evidence of each mean, which may lie anywhere in its range (Laplace).
            counts = np.bincount(states)
            ranges = np.array([LADDER, *[ABOVE] * (len(counts) - 1)])
            score = cost + np.log(ranges / (spread * np.sqrt(2 * np.pi / counts))).sum()
            found[states.tobytes()] = (score, cost, Rungs(states, spread))
    best_score, _, best = min(found.values(), key=lambda each: each[0], default=(np.inf, 0.0, one))
    if explain is None:
        return best
    explained_score = np.inf
    for score, cost, rungs_found in found.values():
        if score > best_score + _MOST_GAIN:
            continue
        gain = _gain_by_policy(logs, cost, rungs_found, explain(rungs_found))
        if score - gain < explained_score:
            best, explained_score = rungs_found, score - gain
    return best


def _gain_by_policy(logs: FloatArray, cost: float, rungs: Rungs, policy_log: float) -> float:
    """Return the logarithm of how much likelier rungs are by chain or policy than by the chain.

    Chain and policy are equally likely beforehand: the factor of one half is that of all rungs, and
    is left out.
    """
    counts = np.bincount(rungs.of_segment)
    means = np.bincount(rungs.of_segment, logs) / counts
    rest = (logs - means[rungs.of_segment]) / rungs.spread
    density_log = -0.5 * float(rest @ rest) - len(logs) * np.log(rungs.spread * np.sqrt(2 * np.pi))
    chain_log = -cost - density_log
    policy_log -= np.log(len(counts))
    return float(np.logaddexp(chain_log, policy_log) - chain_log)


def _train(logs: FloatArray, means: FloatArray) -> tuple[IntArray, float, float] | None:
    """Return states, negative log-likelihood and spread; None where rungs fall together."""
    spread, stay = 0.1, 0.9
    states, cost = np.full(len(logs), -1), np.inf
    for _ in range(_MOST_ROUNDS):
        earlier = states
        states, cost = decode_rungs(logs[:, None] - means, np.full(len(logs), spread), stay)
        if np.array_equal(states, earlier):
            break
        present = [logs[states == state] for state in range(len(means))]
        if any(part.size == 0 for part in present):
            return None
        means = np.array([part.mean() for part in present])
        rest = logs - means[states]
        spread = max(float(np.sqrt(rest @ rest / max(len(logs) - len(means), 1))), _LEAST_SPREAD)
        later = np.diff(states)[STARTS:]
        stay = 1 - (np.count_nonzero(later) + 1) / (len(later) + 2)
    if np.any(np.diff(means) < max(np.log(_LEAST_STEP), _LEAST_ERRORS * spread)):
        return None
    return states, cost, spread


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
    log_move = np.empty((n - 1, count, count))
    if count == 1:
        log_move[:STARTS], log_move[STARTS:] = 0.0, np.log(stay)
    else:
        steps = np.arange(count) - np.arange(count)[:, None]
        moves = _FURTHER ** np.where(steps < 0, 1 - steps, steps).astype(np.float64)
        np.fill_diagonal(moves, 0.0)
        moves /= moves.sum(axis=1, keepdims=True)
        np.fill_diagonal(moves, 1.0)
        log_move[:STARTS] = np.log(0.5 * moves)
        log_move[STARTS:] = np.log((1 - stay) / (count - 1))
        log_move[STARTS:, np.arange(count), np.arange(count)] = np.log(stay)
    states = most_likely_path(log_density, log_move)
    likelihood = log_density[np.arange(n), states].sum() - np.log(count)
    likelihood += log_move[np.arange(n - 1), states[:-1], states[1:]].sum()
    return states, -float(likelihood)
