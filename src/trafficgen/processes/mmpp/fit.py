"""Fit the Markov-modulated Poisson process of one stream in one phase."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trafficgen import _core
from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions.fitting.likelihood import fit_closed_form
from trafficgen.distributions.law import Family
from trafficgen.flows import spread_over_tick
from trafficgen.model_parts.estimate import Estimate
from trafficgen.processes.fitting import FittedProcess, LawFitter, PhasePackets, Proposal
from trafficgen.processes.mmpp.likelihood import (
    MOST_GAPS,
    MmppFit,
    fit_mmpp,
    log_likelihood,
    residuals,
)
from trafficgen.processes.mmpp.model import MmppProcess, MmppState
from trafficgen.processes.semi_markov.dwells import dwell_law
from trafficgen.processes.semi_markov.rate_levels import find_levels
from trafficgen.units import FloatArray


class MmppLimits:
    """When gaps support the process."""

    fewest_gaps: int = 500
    #: Means over this many gaps vary more than independent ones, by this many standard errors.
    windows: tuple[int, ...] = (2, 10, 50, 250)
    dependent_z: float = 4.0
    #: It beats independent gaps by this much of BIC: "very strong" (Kass and Raftery 1995).
    clear_bic: float = 10.0
    #: Its residuals vary less: the largest of 32 fits to true processes was 2.0.
    residual_z: float = 2.8
    #: They are uniform to this, or to the 1% point of Kolmogorov's law for as many values.
    largest_ks: float = 0.012
    kolmogorov_99: float = 1.63
    #: ... and no more correlated than this, or this many standard errors.
    largest_correlation: float = 0.05
    correlation_z: float = 3.0
    #: Where they are further off than this, one state more does not help.
    far_ks: float = 0.05
    #: The slowest state was entered this often.
    fewest_cycles: float = 5.0
    #: Sojourns with fewer packets, or shorter ones, are not visible one by one: the units of a
    #: plateau mix them into levels in between.
    packets_of_level: float = 30.0
    shortest_level_s: float = 2.0


_LIMITS = MmppLimits()
#: States, gaps and EM steps; three states get less, as the time grows with their square.
_ATTEMPTS = ((2, MOST_GAPS, 60), (3, 8000, 30))
_STEP = 1e-3
_RENEWAL_FAMILIES: tuple[Family, ...] = ("expon", "lognorm", "gamma", "weibull_min", "pareto")
_METHOD = (
    "EM algorithm on the gaps (Ryden 1996); Wald interval of the logarithm, observed information"
)


def propose_mmpp(packets: PhasePackets, fit: LawFitter) -> FittedProcess | None:
    """Fit a Poisson process whose rate a Markov chain switches; None without support for one.

    Gaps do not support it where they are fewer than 500 or show no dependence; where BIC does not
    prefer it to the best renewal family by 10 (the difference is kept as its evidence); where its
    residuals, the probabilities of shorter gaps given the past, are not uniform and uncorrelated,
    as for bursts, frames and other traffic whose gaps are not exponential within a state; where the
    slowest state was not entered five times; or where the stream has more levels than the process
    states, or levels whose dwells are clearly not exponential. Two states are tried first, three
    where the residuals of two are off.
    """
    gap_s = packets.gap_s
    if gap_s.size < _LIMITS.fewest_gaps or not _is_dependent(gap_s):
        return None
    found = _fit_supported(gap_s, packets.tick_s)
    if found is None or not _agrees_with_levels(packets, found[0]):
        return None
    mmpp, evidence = found
    estimates = _estimates(gap_s[: mmpp.gaps], mmpp)
    states = len(estimates) // 2
    process = MmppProcess(
        states=tuple(
            MmppState(rate_per_s=rate, mean_sojourn_s=sojourn)
            for rate, sojourn in zip(estimates[:states], estimates[states:], strict=True)
        ),
        transition=tuple(tuple(row) for row in _jump_chain(mmpp.generator_per_s).tolist()),
        packet_bytes=fit.law("packet_bytes", packets.ip_bytes, "bytes"),
        mean_rate_per_s=packets.time_ns.size / packets.span_s,
        observed_s=packets.span_s,
        evidence_bic=evidence,
    )
    return FittedProcess(process, fit.problems)


def _is_dependent(gap_s: FloatArray) -> bool:
    """Return whether means of successive gaps vary more than those of independent ones."""
    ranks = np.empty(gap_s.size)
    ranks[_core.stable_order(gap_s)] = np.arange(gap_s.size)
    return _largest_excess(ranks) > _LIMITS.dependent_z


def _largest_excess(values: FloatArray) -> float:
    """Return by how many standard errors means of successive values vary too much."""
    excess = []
    for window in _LIMITS.windows:
        count = values.size // window
        if count > 1:
            means = values[: count * window].reshape(count, window).mean(axis=1)
            ratio = window * float(means.var()) / float(values.var())
            excess.append((ratio - 1) / np.sqrt(2 / count))
    return float(max(excess))


def _fit_supported(gap_s: FloatArray, tick_s: float) -> tuple[MmppFit, float] | None:
    """Return the process with the difference of BIC, or None."""
    for states, most, iterations in _ATTEMPTS:
        sample = gap_s[:most]
        found = fit_mmpp(sample, states=states, iterations=iterations)
        if found is None:
            return None
        if sample.sum() / found.mean_sojourn_s.sum() < _LIMITS.fewest_cycles:
            return None
        evidence = _renewal_bic(spread_over_tick(np.sort(sample), tick_s=tick_s)) - found.bic
        if not _LIMITS.clear_bic <= evidence < np.inf:
            return None
        left = residuals(sample, found)
        if _is_uniform(left):
            return found, float(evidence)
        if _ks_of_uniform(left) > _LIMITS.far_ks:
            return None
    return None


def _renewal_bic(gap_s: FloatArray) -> float:
    """Return the smallest BIC of independent gaps of one family."""
    fits = [fit_closed_form(family, gap_s) for family in _RENEWAL_FAMILIES]
    log_n = float(np.log(gap_s.size))
    return min(
        (len(fit.low) * log_n - 2 * fit.log_likelihood for fit in fits if fit is not None),
        default=np.inf,
    )


def _agrees_with_levels(packets: PhasePackets, fit: MmppFit) -> bool:
    """Return whether visible levels are as many as the states, with exponential dwells."""
    visible = float((fit.rate_per_s * fit.mean_sojourn_s).min()) >= _LIMITS.packets_of_level
    if not visible or float(fit.mean_sojourn_s.min()) < _LIMITS.shortest_level_s:
        return True
    levels = find_levels(packets.time_ns, packets.ip_bytes, tick_s=packets.tick_s)
    if levels is None:
        return True
    if len(levels) > fit.rate_per_s.size:
        return False
    laws = [dwell_law(levels.dwells(level)) for level in range(len(levels))]
    against = sum(
        other.delta_bic
        for law in laws
        if law is not None
        for other in law.alternatives
        if other.family == "expon"
    )
    return against < _LIMITS.clear_bic


def _is_uniform(values: FloatArray) -> bool:
    """Return whether residuals are uniform and independent."""
    root = float(np.sqrt(values.size))
    centred = values - values.mean()
    correlation = float(np.dot(centred[1:], centred[:-1]) / np.dot(centred, centred))
    uniform = _ks_of_uniform(values) <= max(_LIMITS.largest_ks, _LIMITS.kolmogorov_99 / root)
    most = max(_LIMITS.largest_correlation, _LIMITS.correlation_z / root)
    return uniform and abs(correlation) <= most and _largest_excess(values) <= _LIMITS.residual_z


def _ks_of_uniform(values: FloatArray) -> float:
    return float(np.abs(np.sort(values) - (np.arange(values.size) + 0.5) / values.size).max())


def _jump_chain(generator_per_s: FloatArray) -> FloatArray:
    chain = generator_per_s / -np.diag(generator_per_s)[:, None]
    np.fill_diagonal(chain, 0.0)
    chain = np.maximum(chain, 0.0)
    return np.asarray(chain / chain.sum(axis=1, keepdims=True))


def _estimates(gap_s: FloatArray, fit: MmppFit) -> list[Estimate]:
    """Return the rates, then the mean sojourns, with 95% intervals where the information has them.

    The information is that of the logarithms of rates and sojourns, with the jump chain as
    estimated.
    """
    k = fit.rate_per_s.size
    chain = _jump_chain(fit.generator_per_s)
    value = np.concatenate((fit.rate_per_s, fit.mean_sojourn_s))
    theta = np.log(value)

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
    known = np.isfinite(low) & np.isfinite(high)
    return [
        Estimate(
            value=float(value[row]),
            low=float(low[row]) if known[row] else None,
            high=float(high[row]) if known[row] else None,
            method=_METHOD,
        )
        for row in range(2 * k)
    ]


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


#: What `fit` tries.
PROPOSALS = (Proposal("mmpp", 1, propose_mmpp, proven=True, varies=True),)
