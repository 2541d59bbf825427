"""Hidden Markov models of few states: likelihood, smoothing and the most likely path.

All states are equally likely at the start (Rabiner, "A tutorial on hidden Markov models", 1989).
Log-densities of elements have the shape (n, k), transition matrices (k, k).
"""

from __future__ import annotations

import numpy as np

from trafficgen.units import FloatArray, IntArray


def transition_matrix(path: IntArray, count: int) -> FloatArray:
    """Estimate transition probabilities of one step from a path, no jump impossible.

    Each state is left once more than observed, evenly to all others, with half a count (Jeffreys'
    prior).
    """
    steps = np.bincount(path[:-1] * count + path[1:], minlength=count * count)
    moves = steps.reshape(count, count).astype(np.float64)
    stays = np.diag(moves).copy()
    moves += 0.5 / max(1, count - 1)
    np.fill_diagonal(moves, stays + 0.5)
    return np.asarray(moves / moves.sum(axis=1, keepdims=True))


def log_likelihood(log_density: FloatArray, log_transition: FloatArray) -> float:
    """Compute the log-likelihood of a series."""
    largest = log_density.max(axis=1)
    _, scales = _forward(np.exp(log_density - largest[:, None]), np.exp(log_transition))
    return float(np.log(scales).sum() + largest.sum())


def _forward(density: FloatArray, transition: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the states given the elements up to each, and each element's density given those."""
    forward, scales = np.empty(density.shape), np.empty(density.shape[0])
    state = np.full(density.shape[1], 1 / density.shape[1])
    for row, here in enumerate(density):
        state = (state @ transition if row else state) * here
        scales[row] = state.sum()
        state = state / scales[row]
        forward[row] = state
    return forward, scales


def smooth_states(log_density: FloatArray, transition: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the probabilities of the states given the whole series (Baum and others 1970).

    Returns:
        Probability of each state at each element, shape (n, k), and the expected number of steps
        from each state to each, shape (k, k).
    """
    n, count = log_density.shape
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    forward, _ = _forward(density, transition)
    backward = np.empty((n, count))
    state = np.ones(count)
    for row in range(n - 1, -1, -1):
        backward[row] = state
        state = transition @ (density[row] * state)
        state = state / state.sum()
    probability = forward * backward
    probability /= probability.sum(axis=1, keepdims=True)
    into = density[1:] * backward[1:]
    scale = np.einsum("ni,ij,nj->n", forward[:-1], transition, into)
    moves = transition * np.einsum("ni,nj->ij", forward[:-1] / scale[:, None], into)
    return probability, moves


def most_likely_path(log_density: FloatArray, log_transition: FloatArray) -> IntArray:
    """Find the most likely path of states (Viterbi 1967), shape (n,)."""
    n, count = log_density.shape
    came_from = np.zeros((n, count), dtype=np.int64)
    score, into, states = log_density[0], np.ascontiguousarray(log_transition.T), np.arange(count)
    for row in range(1, n):
        candidates = into + score
        came_from[row] = candidates.argmax(axis=1)
        score = candidates[states, came_from[row]] + log_density[row]
    path = np.empty(n, dtype=np.int64)
    path[-1] = int(np.argmax(score))
    for row in range(n - 1, 0, -1):
        path[row - 1] = came_from[row, path[row]]
    return path
