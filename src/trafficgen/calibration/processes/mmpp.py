"""Fit the Markov-modulated Poisson process of one stream in one phase."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trafficgen.calibration.laws.closed_forms import fit_closed_form
from trafficgen.calibration.levels.dwells import dwell_law
from trafficgen.calibration.levels.rate_levels import find_levels
from trafficgen.calibration.processes.mmpp_likelihood import (
    MOST_GAPS,
    MmppFit,
    fit_mmpp,
    log_likelihood,
    residuals,
)
from trafficgen.calibration.processes.phase_packets import FittedProcess, LawFitter, PhasePackets
from trafficgen.critical_values import NORMAL_95
from trafficgen.flows import spread_over_tick
from trafficgen.models import Estimate, Family, MmppProcess, MmppState
from trafficgen.units import FloatArray

_FEWEST_GAPS = 500
#: Local means over so many gaps vary more than independent gaps would by this many standard errors.
_WINDOWS = (2, 10, 50, 250)
_CORRELATED_Z = 4.0
#: The process must beat independent gaps by this much of BIC ("very strong", Kass and Raftery
#: 1995).
_CLEAR_BIC = 10.0
#: Of its residuals it is less: the largest of 32 fits to true processes was 2.0.
_RESIDUAL_Z = 2.8
#: Its residuals are uniform to this, or to the 1% point for as many values, and no more correlated
#: than this.
_LARGEST_KS = 0.012
_KOLMOGOROV_99 = 1.63
_LARGEST_CORRELATION = 0.05
_CORRELATION_Z = 3.0
#: Further off than this, one state more does not help.
_FAR_KS = 0.05
#: The slowest state was entered this often at least.
_FEWEST_CYCLES = 5.0
#: Three states are tried on fewer gaps and in fewer steps: the time grows with the square of the
#: states.
_ITERATIONS = 60
_GAPS_OF_THREE = 8000
_ITERATIONS_OF_THREE = 30
#: Sojourns with fewer packets on average are not seen one by one.
_PACKETS_OF_LEVEL = 30.0
#: Nor are shorter ones: the units of a plateau mix them into levels in between.
_SHORTEST_LEVEL_S = 2.0
_STEP = 1e-3
_RENEWAL_FAMILIES: tuple[Family, ...] = ("expon", "lognorm", "gamma", "weibull_min", "pareto")
_METHOD = (
    "EM algorithm on the gaps (Ryden 1996); Wald interval of the logarithm, observed information"
)


def propose_mmpp(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit a Poisson process whose rate a Markov chain switches; None without support for one.

    They do not where they are fewer than 500 or show no dependence; where BIC does not prefer the
    process to the best renewal family by 10 (the difference is kept as its evidence); where its
    residuals, the probabilities of shorter gaps given the past, are not uniform and uncorrelated,
    as for bursts, frames and other traffic whose gaps are not exponential within a state; where the
    slowest state was not entered five times; or where the stream has more levels than the process
    states, or levels whose dwells are clearly not exponential. Two states are tried first, three
    where the residuals of two are off.

    Args:
        packets: The stream's media packets in the phase.
        fit: Fits the law of the sizes.
    """
    gap_s = packets.gap_s
    if gap_s.size < _FEWEST_GAPS or not _is_dependent(gap_s):
        return None
    found = _supported(gap_s, packets.tick_s)
    if found is None or not _agrees_with_levels(packets, found[0]):
        return None
    mmpp, evidence = found
    low, high = _intervals(gap_s[: mmpp.gaps], mmpp)
    states = [
        MmppState(
            rate_per_s=_estimate(mmpp.rate_per_s, low[0], high[0], state),
            mean_sojourn_s=_estimate(mmpp.mean_sojourn_s, low[1], high[1], state),
        )
        for state in range(mmpp.rate_per_s.size)
    ]
    process = MmppProcess(
        states=tuple(states),
        transition=tuple(tuple(row) for row in _jump_chain(mmpp.generator_per_s).tolist()),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes.astype(np.float64), "bytes"),
        mean_rate_per_s=packets.time_ns.size / packets.span_s,
        observed_s=packets.span_s,
        evidence_bic=evidence,
    )
    return FittedProcess(process, fit.problems)


def _renewal_bic(gap_s: FloatArray) -> float:
    """Return the smallest BIC of independent gaps of one family."""
    fits = [
        fit for family in _RENEWAL_FAMILIES if (fit := fit_closed_form(family, gap_s)) is not None
    ]
    return min(
        (len(fit.low) * float(np.log(gap_s.size)) - 2 * fit.log_likelihood for fit in fits),
        default=np.inf,
    )


def _is_dependent(gap_s: FloatArray) -> bool:
    """Return whether means of successive gaps vary more than those of independent ones."""
    return (
        _largest_excess(np.argsort(np.argsort(gap_s, kind="stable")).astype(np.float64))
        > _CORRELATED_Z
    )


def _largest_excess(values: FloatArray) -> float:
    """Return by how many standard errors means of successive values vary too much."""
    excess = []
    for window in _WINDOWS:
        count = values.size // window
        if count > 1:
            means = values[: count * window].reshape(count, window).mean(axis=1)
            excess.append(
                (window * float(means.var()) / float(values.var()) - 1) / np.sqrt(2 / count)
            )
    return float(max(excess))


def _supported(gap_s: FloatArray, tick_s: float) -> tuple[MmppFit, float] | None:
    """Return the process with the difference of BIC, or None."""
    for states, most, iterations in (
        (2, MOST_GAPS, _ITERATIONS),
        (3, _GAPS_OF_THREE, _ITERATIONS_OF_THREE),
    ):
        sample = gap_s[:most]
        found = fit_mmpp(sample, states=states, iterations=iterations)
        if found is None or _cycles(sample, found) < _FEWEST_CYCLES:
            return None
        evidence = _renewal_bic(spread_over_tick(np.sort(sample), tick_s=tick_s)) - found.bic
        if not _CLEAR_BIC <= evidence < np.inf:
            return None
        left = residuals(sample, found)
        if _is_uniform(left):
            return found, float(evidence)
        if _ks_of_uniform(left) > _FAR_KS:
            return None
    return None


def _agrees_with_levels(packets: PhasePackets, fit: MmppFit) -> bool:
    """Return whether visible levels are as many as the states, with exponential dwells."""
    seen = float((fit.rate_per_s * fit.mean_sojourn_s).min()) >= _PACKETS_OF_LEVEL
    if not seen or float(fit.mean_sojourn_s.min()) < _SHORTEST_LEVEL_S:
        return True
    levels = find_levels(packets.time_ns, packets.ip_bytes, tick_s=packets.tick_s)
    if levels is None:
        return True
    if len(levels) > fit.rate_per_s.size:
        return False
    against = 0.0
    for level in range(len(levels)):
        law = dwell_law(levels.dwells(level))
        if law is not None and law.family != "expon":
            against += next(
                other.delta_bic for other in law.alternatives if other.family == "expon"
            )
    return against < _CLEAR_BIC


def _cycles(gap_s: FloatArray, fit: MmppFit) -> float:
    """Return how often the slowest state was entered."""
    return float(gap_s.sum() / fit.mean_sojourn_s.sum())


def _is_uniform(values: FloatArray) -> bool:
    """Return whether residuals are uniform and independent."""
    n = values.size
    centred = values - values.mean()
    correlation = float(np.dot(centred[1:], centred[:-1]) / np.dot(centred, centred))
    uniform = _ks_of_uniform(values) <= max(_LARGEST_KS, _KOLMOGOROV_99 / float(np.sqrt(n)))
    uncorrelated = abs(correlation) <= max(_LARGEST_CORRELATION, _CORRELATION_Z / float(np.sqrt(n)))
    return uniform and uncorrelated and _largest_excess(values) <= _RESIDUAL_Z


def _ks_of_uniform(values: FloatArray) -> float:
    return float(np.abs(np.sort(values) - (np.arange(values.size) + 0.5) / values.size).max())


def _jump_chain(generator_per_s: FloatArray) -> FloatArray:
    chain = generator_per_s / -np.diag(generator_per_s)[:, None]
    np.fill_diagonal(chain, 0.0)
    chain = np.maximum(chain, 0.0)
    result: FloatArray = chain / chain.sum(axis=1, keepdims=True)
    return result


def _intervals(
    gap_s: FloatArray, fit: MmppFit
) -> tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]:
    """Return lower and upper ends of the intervals of rates and mean sojourns, NaN for none.

    The information is that of the logarithms of rates and sojourns, with the jump chain as
    estimated.
    """
    k = fit.rate_per_s.size
    chain = _jump_chain(fit.generator_per_s)
    theta = np.log(np.concatenate((fit.rate_per_s, fit.mean_sojourn_s)))

    def likelihood(at: FloatArray) -> float:
        leave = np.exp(-at[k:])
        generator = chain * leave[:, None]
        np.fill_diagonal(generator, -leave)
        return log_likelihood(gap_s, np.exp(at[:k]), generator)

    sd = np.full(2 * k, np.nan)
    information = -_hessian(likelihood, theta)
    if np.all(np.isfinite(information)) and np.all(np.linalg.eigvalsh(information) > 0):
        sd = np.sqrt(np.diag(np.linalg.inv(information)))
    low, high = np.exp(theta - NORMAL_95 * sd), np.exp(theta + NORMAL_95 * sd)
    return (low[:k], low[k:]), (high[:k], high[k:])


def _hessian(function: Callable[[FloatArray], float], theta: FloatArray) -> FloatArray:
    """Return second derivatives by central differences, shape (p, p)."""
    p = theta.size
    step = np.eye(p) * _STEP
    middle = function(theta)
    plus = np.array([function(theta + s) for s in step])
    minus = np.array([function(theta - s) for s in step])
    result = np.diag((plus - 2 * middle + minus) / _STEP**2)
    for i in range(p):
        for j in range(i):
            both = function(theta + step[i] + step[j]) + function(theta - step[i] - step[j])
            value = (both - plus[i] - plus[j] - minus[i] - minus[j] + 2 * middle) / (2 * _STEP**2)
            result[i, j] = result[j, i] = value
    return result


def _estimate(value: FloatArray, low: FloatArray, high: FloatArray, state: int) -> Estimate:
    known = bool(np.isfinite(low[state]) and np.isfinite(high[state]))
    return Estimate(
        value=float(value[state]),
        low=float(low[state]) if known else None,
        high=float(high[state]) if known else None,
        method=_METHOD,
    )
