"""Hidden rate states of a stream cut into units, and how many there are.

The states are those of a hidden Markov model whose logarithmic rates are normal about the level of
their state, with a small share of outliers. Their number is chosen by BIC, and they must beat a
single level with correlated noise: an autoregression of the same series with Student-t innovations,
which moves as far but does not return to the same few rates.

All states are equally likely at the start (Rabiner, "A tutorial on hidden Markov models", 1989).
Log-densities of elements have the shape (n, k), transition matrices (k, k).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen._core import chain_vectors
from trafficgen.imports import special
from trafficgen.processes.semi_markov.plateaus import RateUnits
from trafficgen.units import FloatArray, IntArray

#: Mean of the lower 95% of a chi-squared law of one degree.
LOWER_95_MEAN = 0.759


class StateLimits:
    """Which states are kept, and what they are compared with."""

    #: More states than this describe noise.
    most: int = 8
    #: Share of units unrelated to their state, such as those in which the state changes.
    outliers: float = 0.02
    smallest_sd: float = 0.01
    #: Levels are further apart than this in the logarithm.
    smallest_step: float = 0.08
    #: A level lasts this many elements on average; shorter ones are passages between levels.
    shortest_visit: int = 3
    #: Units are joined until noise moves the logarithm of their rate by no more than this, and
    #: until they are at most this many.
    largest_noise_sd: float = 0.3
    most_scored: int = 1500
    #: Orders and degrees of freedom of the autoregression with one level.
    orders: tuple[int, ...] = (0, 1, 2, 4, 8)
    degrees_of_freedom: tuple[float, ...] = (1.5, 3.0, 8.0, 100.0)


_LIMITS = StateLimits()
_ROUNDS = 3
_SCALE_STEPS = 20


@dataclass(frozen=True)
class RateStates:
    """Rate states of a series of logarithmic rates.

    Attributes:
        path: State of each element, numbered by rate, shape (n,).
        bic: Bayesian information criterion of the hidden Markov model; smaller is better.
    """

    count: int
    path: IntArray
    bic: float


def units_per_element(units: RateUnits, *, dispersion_bytes: float) -> int:
    """Return how many units at a time have a rate that noise hardly moves."""
    noise = dispersion_bytes / (float(units.size_bytes.mean()) * _LIMITS.largest_noise_sd**2)
    return int(max(1, np.ceil(noise), np.ceil(len(units) / _LIMITS.most_scored)))


def find_states(log_rate: FloatArray, plateau: IntArray) -> RateStates | None:
    """Find the rate states of a series; None where it has fewer than two plateaus.

    ``plateau`` numbers the plateau of each logarithmic rate; both have shape (n,).
    """
    numbers, counts = np.unique(plateau, return_counts=True)
    if numbers.size < 2:
        return None
    # The median is not moved by the elements at the edges, which lie partly in another plateau.
    levels = np.array([float(np.median(log_rate[plateau == number])) for number in numbers])
    best: RateStates | None = None
    for count in range(2, min(_LIMITS.most, numbers.size) + 1):
        cluster = _cluster(levels, counts.astype(np.float64), count)
        path = cluster[np.searchsorted(numbers, plateau)]
        found = _train(log_rate, path, count)
        if found is not None and (best is None or found.bic < best.bic):
            best = found
    return best


def _cluster(values: FloatArray, weight: FloatArray, count: int) -> IntArray:
    """Return the cluster of each value, ascending: least weighted squares, exact (Fisher 1958)."""
    order = np.argsort(values)
    v, w = values[order], weight[order]
    total, first, second = (np.concatenate(([0.0], np.cumsum(x))) for x in (w, w * v, w * v * v))
    n = v.size
    start, stop = np.arange(n)[:, None], np.arange(1, n + 1)[None, :]
    mass = np.where(stop > start, total[stop] - total[start], 1.0)
    squares = second[stop] - second[start] - (first[stop] - first[start]) ** 2 / mass
    cost = np.where(stop > start, squares, np.inf)
    best, choices = cost[0], []
    for _ in range(count - 1):
        # best[i] is the cost of the values up to i; the next cluster starts at i + 1.
        together = best[:-1, None] + cost[1:, :]
        choices.append(np.argmin(together, axis=0))
        best = np.min(together, axis=0)
    label, end = np.zeros(n, dtype=np.int64), n - 1
    for number in range(count - 1, 0, -1):
        before = int(choices[number - 1][end])
        label[before + 1 : end + 1] = number
        end = before
    result = np.empty(n, dtype=np.int64)
    result[order] = label
    return result


def _train(log_rate: FloatArray, path: IntArray, count: int) -> RateStates | None:
    """Train states along the most likely path; None where states vanish or lie too close."""
    log_density = np.zeros((log_rate.size, count))
    log_transition = np.zeros((count, count))
    centre = np.zeros(count)
    for _ in range(_ROUNDS):
        if np.any(np.bincount(path, minlength=count) < 2):
            return None
        centre, log_density = _emission(log_rate, path, count)
        log_transition = np.log(transition_matrix(path, count))
        path = most_likely_path(log_density, log_transition)
    moved = path[1:] != path[:-1]
    visits = np.bincount(path[np.concatenate(([True], moved))], minlength=count)
    shortest = _LIMITS.shortest_visit * np.maximum(visits, 1)
    if np.any(np.bincount(path, minlength=count) < shortest):
        return None
    if np.any(np.diff(centre) < _LIMITS.smallest_step):
        return None
    jumps = np.unique(path[:-1][moved] * count + path[1:][moved]).size
    likelihood = log_likelihood(log_density, log_transition)
    bic = (2 * count + count + jumps) * float(np.log(log_rate.size)) - 2 * likelihood
    return RateStates(count, path, bic)


def _emission(log_rate: FloatArray, path: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the centre of each state and the log-density of each element in each, shape (n, k)."""
    centre = np.array([float(np.median(log_rate[path == state])) for state in range(count)])
    off = [np.abs(log_rate[path == state] - centre[state]) for state in range(count)]
    sd = np.array([_trimmed_sd(each) for each in off])
    z = (log_rate[:, None] - centre) / sd
    normal = np.exp(-0.5 * z * z) / (sd * np.sqrt(2 * np.pi))
    width = max(float(np.ptp(log_rate)), _LIMITS.smallest_sd)
    return centre, np.log((1 - _LIMITS.outliers) * normal + _LIMITS.outliers / width)


def _trimmed_sd(deviation: FloatArray) -> float:
    """Return the sd from the smaller 95%: in the largest deviations the state changes."""
    kept = np.sort(deviation)[: max(1, int(np.ceil(0.95 * deviation.size)))]
    return max(_LIMITS.smallest_sd, float(np.sqrt(np.mean(kept**2) / LOWER_95_MEAN)))


def single_level_bic(series: FloatArray) -> float:
    """Compute the BIC of an autoregression with Student-t innovations, the best of several orders.

    The first elements, which have no full past, count like the others. Coefficients are by least
    squares, the scale by the EM algorithm of the t law (Lange, Little and Taylor, "Robust
    statistical modeling using the t distribution", 1989), the degrees of freedom from a few values.
    """
    n = series.size
    best = np.inf
    centred = series - series.mean()
    for order in _LIMITS.orders:
        if n < 10 * (order + 1):
            break
        lags = [centred[order - lag : n - lag] for lag in range(1, order + 1)]
        past = np.column_stack([np.ones(n - order), *lags])
        coefficients, *_ = np.linalg.lstsq(past, centred[order:], rcond=None)
        residual = centred[order:] - past @ coefficients
        likelihood = max(_t_log_likelihood(residual, df) for df in _LIMITS.degrees_of_freedom)
        likelihood = likelihood * n / (n - order)
        best = min(best, (order + 3) * float(np.log(n)) - 2 * likelihood)
    return float(best)


def _t_log_likelihood(residual: FloatArray, df: float) -> float:
    squares, smallest = residual**2, _LIMITS.smallest_sd**2
    scale2 = max(float(np.median(squares)), smallest)
    for _ in range(_SCALE_STEPS):
        scale2 = max(float(np.mean((df + 1) / (df + squares / scale2) * squares)), smallest)
    constant = special.gammaln((df + 1) / 2) - special.gammaln(df / 2)
    constant -= 0.5 * np.log(df * np.pi * scale2)
    return float(residual.size * constant - (df + 1) / 2 * np.log1p(squares / (df * scale2)).sum())


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
    _, _, scales = _follow(np.exp(log_density - largest[:, None]), np.exp(log_transition))
    return float(np.log(scales).sum() + largest.sum())


def _follow(
    density: FloatArray, transition: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return what is known of the states before and after each element, and each one's density.

    The first are the states given the elements up to each, the second what comes after each given
    its state, up to a factor; densities are given the elements before each.
    """
    count = density.shape[1]
    matrices = transition * density[:, None, :]
    matrices[0] = np.diag(density[0])  # nothing is known before the first
    forward, backward, scales = chain_vectors(matrices, np.full(count, 1 / count))
    return forward[1:], backward[1:], scales


def smooth_states(log_density: FloatArray, transition: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute the probabilities of the states given the whole series (Baum and others 1970).

    Returns:
        Probability of each state at each element, shape (n, k), and the expected number of steps
        from each state to each, shape (k, k).
    """
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    forward, backward, _ = _follow(density, transition)
    probability = forward * backward
    probability /= probability.sum(axis=1, keepdims=True)
    into = density[1:] * backward[1:]
    scale = np.einsum("ni,ij,nj->n", forward[:-1], transition, into)
    moves = transition * np.einsum("ni,nj->ij", forward[:-1] / scale[:, None], into)
    return probability, moves


def most_likely_path(log_density: FloatArray, log_transition: FloatArray) -> IntArray:
    """Find the most likely path of states (Viterbi 1967), shape (n,).

    Transitions are one matrix, shape (k, k), or one for each of the first steps, shape (s, k, k),
    the last of them for all further ones too.
    """
    n, count = log_density.shape
    came_from = np.zeros((n, count), dtype=np.int64)
    score, states = log_density[0], np.arange(count)
    into = np.ascontiguousarray(np.swapaxes(log_transition, -1, -2))
    into = into.reshape(-1, count, count)
    for row in range(1, n):
        candidates = into[min(row, len(into)) - 1] + score
        came_from[row] = candidates.argmax(axis=1)
        score = candidates[states, came_from[row]] + log_density[row]
    path = np.empty(n, dtype=np.int64)
    path[-1] = int(np.argmax(score))
    for row in range(n - 1, 0, -1):
        path[row - 1] = came_from[row, path[row]]
    return path
