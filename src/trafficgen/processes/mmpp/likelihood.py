"""Markov-modulated Poisson processes: maximum likelihood on the gaps by the EM algorithm.

Source: Ryden, "An EM algorithm for estimation in Markov-modulated Poisson processes" (1996), with
the exact integrals and the scaling of Roberts, Ephraim and Dieguez, "On Ryden's EM algorithm for
estimating MMPPs" (2006).

Throughout, ``gap_s`` has the shape (n,) and is in order of time, ``rate_per_s`` has the packets per
second in each state, shape (k,), and ``generator_per_s`` the rates of the jumps, 1/s, shape (k, k),
whose rows sum to 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen._core import chain_vectors, matrix_exponentials, sum_gaps
from trafficgen.units import FloatArray

ComplexArray = npt.NDArray[np.complex128]

#: Gaps that are fitted at most, in their order; recursions over this many take a few milliseconds.
MOST_GAPS = 20_000
#: Densities are no smaller: after a gap that no state explains, the recursions go on.
_SMALLEST_DENSITY = 1e-200
#: The algorithm stops when the log-likelihood of a gap grows by less than this.
_TOLERANCE = 1e-7
#: Local rates for the first guess are over this many gaps.
_WINDOWS = (4, 20, 100)
_FIRST_ITERATIONS = 6


@dataclass(frozen=True)
class MmppFit:
    """A fitted process, states by descending rate."""

    rate_per_s: FloatArray
    generator_per_s: FloatArray
    log_likelihood: float  #: of the gaps, given the first packet in the long run of packets
    gaps: int  #: gaps that were fitted

    @property
    def mean_sojourn_s(self) -> FloatArray:
        """Mean time in each state, s, shape (k,)."""
        sojourn: FloatArray = -1 / np.diag(self.generator_per_s)
        return sojourn

    @property
    def bic(self) -> float:
        """Bayesian information criterion; smaller is better."""
        k = self.rate_per_s.size
        return k * k * float(np.log(self.gaps)) - 2 * self.log_likelihood


_Spectrum = tuple[ComplexArray, ComplexArray, ComplexArray]


def _spectrum(rate_per_s: FloatArray, generator_per_s: FloatArray) -> _Spectrum:
    """Return eigenvalues, eigenvectors and their inverse of D0 = Q - diag(rates)."""
    values, left = np.linalg.eig((generator_per_s - np.diag(rate_per_s)).astype(np.complex128))
    return values, np.ascontiguousarray(left), np.linalg.inv(left)


def _no_packet_yet(
    gap_s: FloatArray, rate_per_s: FloatArray, generator_per_s: FloatArray
) -> FloatArray:
    """Compute exp(D0 x), P(no packet within a gap), by first and last state, shape (n, k, k)."""
    return matrix_exponentials(_spectrum(rate_per_s, generator_per_s), gap_s)


def _chain(longer: FloatArray, rate_per_s: FloatArray, first: FloatArray) -> tuple[FloatArray, ...]:
    """Follow the densities of gaps by the states at their two packets."""
    return chain_vectors(np.maximum(longer * rate_per_s, _SMALLEST_DENSITY), first)


def state_at_packets(rate_per_s: FloatArray, generator_per_s: FloatArray) -> FloatArray:
    """Compute the distribution of the state at a packet in the long run, shape (k,)."""
    share = occupancy(generator_per_s) * rate_per_s
    result: FloatArray = share / share.sum()
    return result


def occupancy(generator_per_s: FloatArray) -> FloatArray:
    """Compute the share of the time in each state in the long run, shape (k,)."""
    k = generator_per_s.shape[0]
    system = np.vstack((generator_per_s.T, np.ones(k)))
    solution: FloatArray = np.linalg.lstsq(system, np.append(np.zeros(k), 1.0), rcond=None)[0]
    return np.asarray(np.maximum(solution, 0.0) / np.maximum(solution, 0.0).sum())


def log_likelihood(gap_s: FloatArray, rate_per_s: FloatArray, generator_per_s: FloatArray) -> float:
    """Compute the log-likelihood of gaps after a packet of the long run."""
    longer = _no_packet_yet(gap_s, rate_per_s, generator_per_s)
    _, _, scale = _chain(longer, rate_per_s, state_at_packets(rate_per_s, generator_per_s))
    return float(np.log(np.maximum(scale, _SMALLEST_DENSITY)).sum())


def residuals(gap_s: FloatArray, fit: MmppFit) -> FloatArray:
    """Compute the probability of a shorter gap than each, given those before it, shape (n,).

    For the true process they are independent and uniform (Rosenblatt, "Remarks on a multivariate
    transformation", 1952).
    """
    longer = _no_packet_yet(gap_s, fit.rate_per_s, fit.generator_per_s)
    first = state_at_packets(fit.rate_per_s, fit.generator_per_s)
    forward, _, _ = _chain(longer, fit.rate_per_s, first)
    above = np.einsum("ni,nij->n", forward[:-1], longer)
    return np.asarray(np.clip(1.0 - above, 0.0, 1.0))


def fit_mmpp(gap_s: FloatArray, *, states: int, iterations: int = 60) -> MmppFit | None:
    """Fit a process by the EM algorithm; None where the gaps do not support this many states.

    The first guess is a hidden Markov model on local rates over 4, 20 and 100 gaps; of the three
    the likeliest after a few steps is taken. With more than 20,000 gaps, the first 20,000 are
    fitted.
    """
    gap_s = gap_s[:MOST_GAPS]
    best: MmppFit | None = None
    for window in _WINDOWS:
        start = _first_guess(gap_s, states, window=window)
        if start is None:
            continue
        found = _improve(gap_s, *start, iterations=_FIRST_ITERATIONS)
        if found is not None and (best is None or found.log_likelihood > best.log_likelihood):
            best = found
    if best is None:
        return None
    return _improve(gap_s, best.rate_per_s, best.generator_per_s, iterations=iterations)


def _first_guess(
    gap_s: FloatArray, states: int, *, window: int
) -> tuple[FloatArray, FloatArray] | None:
    """Return rates and jumps from runs of local rates: windows in as many classes as states."""
    count = gap_s.size // window
    if count < 4 * states:
        return None
    length_s = gap_s[: count * window].reshape(count, window).sum(axis=1)
    local = np.log(np.maximum(length_s, 1e-9) / window)
    centre = np.quantile(local, (np.arange(states) + 0.5) / states)
    label = np.zeros(count, dtype=np.int64)
    for _ in range(20):
        label = np.argmin(np.abs(local[:, None] - centre), axis=1)
        if np.unique(label).size < states:
            return None
        centre = np.array([local[label == state].mean() for state in range(states)])
    time_s = np.bincount(label, weights=length_s, minlength=states)
    if not time_s.all():  # simultaneous packets only: a class without a rate
        return None
    rate = window * np.bincount(label, minlength=states) / time_s
    moves = np.bincount(label[:-1] * states + label[1:], minlength=states * states)
    generator = (moves.reshape(states, states) + 0.5) / time_s[:, None]
    return rate, _fill_diagonal(generator)


def _fill_diagonal(generator_per_s: FloatArray) -> FloatArray:
    generator = generator_per_s.copy()
    np.fill_diagonal(generator, 0.0)
    np.fill_diagonal(generator, -generator.sum(axis=1))
    return generator


def _improve(
    gap_s: FloatArray, rate_per_s: FloatArray, generator_per_s: FloatArray, *, iterations: int
) -> MmppFit | None:
    """Return the process after some steps of the EM algorithm, fastest state first."""
    rate, generator, before = rate_per_s, generator_per_s, -np.inf
    for _ in range(iterations):
        try:
            rate, generator, likelihood = _em_step(gap_s, rate, generator)
        except (np.linalg.LinAlgError, FloatingPointError):
            return None
        finite = np.all(np.isfinite(rate)) and np.all(np.isfinite(generator))
        if not finite or np.any(np.diag(generator) >= 0) or np.any(rate < 0):
            return None
        if likelihood - before < _TOLERANCE * gap_s.size:
            break
        before = likelihood
    order = np.argsort(-rate)
    rate, generator = rate[order], generator[np.ix_(order, order)]
    return MmppFit(rate, generator, log_likelihood(gap_s, rate, generator), int(gap_s.size))


def _em_step(
    gap_s: FloatArray, rate: FloatArray, generator: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return rates and jumps after one step, and the log-likelihood before it.

    Expected packets in a state over the expected time in it, and expected jumps over the time in
    the state they leave. The integrals of products of matrix exponentials are exact, by the
    eigenvalues.
    """
    spectrum = _spectrum(rate, generator)
    first = state_at_packets(rate, generator)
    packets, between, likelihood = sum_gaps(spectrum, gap_s, rate, first)
    _, left, right = spectrum
    together = (left @ between @ right).real
    time_s = np.maximum(np.diag(together), _SMALLEST_DENSITY)
    jumps = np.maximum(generator * together.T, 0.0)
    return packets / time_s, _fill_diagonal(jumps / time_s[:, None]), likelihood
