"""Hidden rate states of a stream cut into units: their likelihood, their most likely path, and how
many there are.

The states are those of a hidden Markov model whose logarithmic rates are normal about the level of
their state, with a small share of outliers (Rabiner, "A tutorial on hidden Markov models", 1989).
Their number is chosen by BIC, and they must beat a single level with correlated noise: an
autoregression of the same series with Student-t innovations, which moves as far but does not return
to the same few rates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.calibration.levels.plateaus import RateUnits
from trafficgen.units import FloatArray, IntArray

MOST_STATES = 8
#: Share of units whose rate has nothing to do with their state, such as those in which the state
#: changes.
_OUTLIERS = 0.02
_SMALLEST_SD = 0.01
#: Levels are further apart than this in the logarithm.
_SMALLEST_STEP = 0.08
#: A level lasts this many elements on average; what is shorter is the passage from one to another.
_SHORTEST_VISIT = 3
_ROUNDS = 3
_ORDERS = (0, 1, 2, 4, 8)
_DEGREES_OF_FREEDOM = (1.5, 3.0, 8.0, 100.0)
_SCALE_STEPS = 20
#: Units are joined until noise moves the logarithm of their rate no more than this, and they are
#: not more than this.
_LARGEST_NOISE_SD = 0.3
_MOST_SCORED = 1500


@dataclass(frozen=True)
class RateStates:
    """Rate states of a series of logarithmic rates.

    Attributes:
        centre: Mean logarithmic rate of each state, ascending, shape (k,).
        path: State of each element, shape (n,).
        bic: Bayesian information criterion of the hidden Markov model; smaller is better.
        single_bic: That of a single level with correlated noise.
    """

    centre: FloatArray
    path: IntArray
    bic: float
    single_bic: float


def joined_for_states(units: RateUnits, *, dispersion_bytes: float) -> int:
    """Return how many units at a time have a rate that noise hardly moves."""
    noise = dispersion_bytes / (float(units.size_bytes.mean()) * _LARGEST_NOISE_SD**2)
    return int(max(1, np.ceil(noise), np.ceil(len(units) / _MOST_SCORED)))


def find_states(log_rate: FloatArray, plateau: IntArray) -> RateStates | None:
    """Return the rate states of a series, or None where fewer than two plateaus are there to begin
    with.

    Args:
        log_rate: Logarithmic rates, shape (n,).
        plateau: Number of the plateau of each, shape (n,).
    """
    numbers, counts = np.unique(plateau, return_counts=True)
    if numbers.size < 2:
        return None
    # The median is not moved by the elements at the edges, which lie partly in another plateau.
    levels = np.array([float(np.median(log_rate[plateau == number])) for number in numbers])
    single_bic = single_level_bic(log_rate)
    best: RateStates | None = None
    for count in range(2, min(MOST_STATES, numbers.size) + 1):
        cluster = _clustered(levels, counts.astype(np.float64), count)
        path = cluster[np.searchsorted(numbers, plateau)]
        found = _trained(log_rate, path, count, single_bic=single_bic)
        if found is not None and (best is None or found.bic < best.bic):
            best = found
    return best


def _clustered(values: FloatArray, weight: FloatArray, count: int) -> IntArray:
    """Return the cluster of each value, ascending: least weighted squares, exactly (Fisher 1958),
    shape (n,).
    """
    order = np.argsort(values)
    v, w = values[order], weight[order]
    total, first, second = (np.concatenate(([0.0], np.cumsum(x))) for x in (w, w * v, w * v * v))
    n = v.size
    start = np.arange(n)[:, None]
    stop = np.arange(1, n + 1)[None, :]
    mass = np.where(stop > start, total[stop] - total[start], 1.0)
    cost = np.where(
        stop > start,
        second[stop] - second[start] - (first[stop] - first[start]) ** 2 / mass,
        np.inf,
    )
    best = cost[0]
    choices = []
    for _ in range(count - 1):
        # best[i] is the cost of the values up to i; the next cluster starts at i + 1.
        together = best[:-1, None] + cost[1:, :]
        choices.append(np.argmin(together, axis=0))
        best = np.min(together, axis=0)
    label = np.zeros(n, dtype=np.int64)
    end = n - 1
    for number in range(count - 1, 0, -1):
        before = int(choices[number - 1][end])
        label[before + 1 : end + 1] = number
        end = before
    result = np.empty(n, dtype=np.int64)
    result[order] = label
    return result


def _trained(
    log_rate: FloatArray, path: IntArray, count: int, *, single_bic: float
) -> RateStates | None:
    """Return states trained from a first path along the most likely one; None where states vanish
    or lie too close.
    """
    log_density = np.zeros((log_rate.size, count))
    log_transition = np.zeros((count, count))
    centre = np.zeros(count)
    for _ in range(_ROUNDS):
        if np.any(np.bincount(path, minlength=count) < 2):
            return None
        centre, log_density = _emission(log_rate, path, count)
        log_transition = np.log(transition_matrix(path, count))
        path = viterbi(log_density, log_transition)
    visits = np.bincount(path[np.concatenate(([True], path[1:] != path[:-1]))], minlength=count)
    if np.any(np.bincount(path, minlength=count) < _SHORTEST_VISIT * np.maximum(visits, 1)):
        return None
    if np.any(np.diff(centre) < _SMALLEST_STEP):
        return None
    likelihood = log_likelihood(log_density, log_transition)
    jumps = np.unique(
        path[:-1][path[1:] != path[:-1]] * count + path[1:][path[1:] != path[:-1]]
    ).size
    bic = (2 * count + count + jumps) * float(np.log(log_rate.size)) - 2 * likelihood
    return RateStates(centre, path, bic, single_bic)


def _emission(log_rate: FloatArray, path: IntArray, count: int) -> tuple[FloatArray, FloatArray]:
    """Return the centre of each state and the log-density of each element in each state, shape (n,
    k).
    """
    centre = np.array([float(np.median(log_rate[path == state])) for state in range(count)])
    off = [np.abs(log_rate[path == state] - centre[state]) for state in range(count)]
    # A sd from the smaller 95% of the deviations: the largest are of elements in which the state
    # changes.
    sd = np.array([_trimmed_sd(each) for each in off])
    z = (log_rate[:, None] - centre) / sd
    normal = np.exp(-0.5 * z * z) / (sd * np.sqrt(2 * np.pi))
    width = max(float(np.ptp(log_rate)), _SMALLEST_SD)
    return centre, np.log((1 - _OUTLIERS) * normal + _OUTLIERS / width)


def _trimmed_sd(deviation: FloatArray) -> float:
    kept = np.sort(deviation)[: max(1, int(np.ceil(0.95 * deviation.size)))]
    return max(
        _SMALLEST_SD, float(np.sqrt(np.mean(kept**2) / 0.759))
    )  # mean of the lower 95% of a chi-squared law


def transition_matrix(path: IntArray, count: int) -> FloatArray:
    """Return transition probabilities of one step from a path, no jump impossible, shape (k, k).

    Each state is left once more than seen, evenly to all others, with half a count (Jeffreys'
    prior).
    """
    moves = (
        np.bincount(path[:-1] * count + path[1:], minlength=count * count)
        .reshape(count, count)
        .astype(np.float64)
    )
    stays = np.diag(moves).copy()
    moves += 0.5 / max(1, count - 1)
    np.fill_diagonal(moves, stays + 0.5)
    matrix: FloatArray = moves / moves.sum(axis=1, keepdims=True)
    return matrix


def log_likelihood(log_density: FloatArray, log_transition: FloatArray) -> float:
    """Return the log-likelihood of a hidden Markov model, all states equally likely at the start.

    Args:
        log_density: Log-density of each element in each state, shape (n, k).
        log_transition: Logarithms of the transition probabilities, shape (k, k).
    """
    largest = log_density.max(axis=1)
    density, transition = np.exp(log_density - largest[:, None]), np.exp(log_transition)
    state = np.full(density.shape[1], 1 / density.shape[1])
    scales = np.empty(density.shape[0])
    for row, here in enumerate(density):
        state = (state @ transition if row else state) * here
        scales[row] = state.sum()
        state /= scales[row]
    return float(np.log(scales).sum() + largest.sum())


@dataclass(frozen=True)
class Smoothed:
    """What a hidden Markov model says about the states of a series.

    Attributes:
        state: Probability of each state at each element, given the whole series, shape (n, k).
        moves: Expected number of steps from each state to each, shape (k, k).
    """

    state: FloatArray
    moves: FloatArray


def smoothed(log_density: FloatArray, transition: FloatArray) -> Smoothed:
    """Return the smoothed probabilities of the states, all equally likely at the start (Baum and
    others 1970).

    Args:
        log_density: Log-density of each element in each state, shape (n, k).
        transition: Transition probabilities, shape (k, k).
    """
    n, count = log_density.shape
    density = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    forward, backward = np.empty((n, count)), np.empty((n, count))
    state = np.full(count, 1 / count)
    for row, here in enumerate(density):
        state = (state @ transition if row else state) * here
        state = state / state.sum()
        forward[row] = state
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
    return Smoothed(probability, moves)


def viterbi(log_density: FloatArray, log_transition: FloatArray) -> IntArray:
    """Return the most likely path of states (Viterbi 1967), all equally likely at the start, shape
    (n,).

    Args:
        log_density: Log-density of each element in each state, shape (n, k).
        log_transition: Logarithms of the transition probabilities, shape (k, k).
    """
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


def single_level_bic(series: FloatArray) -> float:
    """Return the BIC of an autoregression with Student-t innovations, the best of several orders.

    The first elements, which have no full past, count like the others. Coefficients are by least
    squares, the scale by the EM algorithm of the t law (Lange, Little and Taylor, "Robust
    statistical modeling using the t distribution", 1989), the degrees of freedom from a few values.
    """
    n = series.size
    best = np.inf
    centred = series - series.mean()
    for order in _ORDERS:
        if n < 10 * (order + 1):
            break
        past = np.column_stack(
            [np.ones(n - order)] + [centred[order - lag : n - lag] for lag in range(1, order + 1)]
        )
        coefficients, *_ = np.linalg.lstsq(past, centred[order:], rcond=None)
        residual = centred[order:] - past @ coefficients
        likelihood = (
            max(_t_log_likelihood(residual, df) for df in _DEGREES_OF_FREEDOM) * n / (n - order)
        )
        best = min(best, (order + 3) * float(np.log(n)) - 2 * likelihood)
    return float(best)


def _t_log_likelihood(residual: FloatArray, df: float) -> float:
    squares = residual**2
    scale2 = max(float(np.median(squares)), _SMALLEST_SD**2)
    for _ in range(_SCALE_STEPS):
        scale2 = max(float(np.mean((df + 1) / (df + squares / scale2) * squares)), _SMALLEST_SD**2)
    constant = (
        special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(df * np.pi * scale2)
    )
    return float(residual.size * constant - (df + 1) / 2 * np.log1p(squares / (df * scale2)).sum())
