"""Scale levels: the few rates between which a source switches, how, and how long it stays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.imports import special
from trafficgen.processes.semi_markov.dwells import Dwells
from trafficgen.processes.semi_markov.plateaus import RateUnits, cut_into_units, find_plateaus
from trafficgen.processes.semi_markov.rate_states import (
    LOWER_95_MEAN,
    find_states,
    most_likely_path,
    single_level_bic,
    smooth_states,
    transition_matrix,
    units_per_element,
)
from trafficgen.units import BoolArray, FloatArray, IntArray, kbps_from_bytes, s_from_ns


class LevelLimits:
    """When a rate has levels, and how its path among them is refined."""

    #: Levels must beat a single level with correlated noise by this much of BIC: "very strong"
    #: evidence (Kass and Raftery 1995).
    clear_bic: float = 10.0
    #: A unit whose rate is unrelated to its level costs at most this in the log-likelihood.
    largest_deviance: float = 8.0
    #: Units with a larger deviance do not count for the rate of their level.
    trusted_deviance: float = 6.0
    smallest_variation: float = 0.01


_LIMITS = LevelLimits()
_ROUNDS = 5
_REWEIGHTED = 2
_TAIL = 0.025


@dataclass(frozen=True)
class Levels:
    """Levels of a stream's rate and the path among them.

    Attributes:
        rate_bytes_per_s: IP bytes per second at each level, ascending, shape (k,).
        edge_ns: Start of each dwell, and the end of the last, ns, shape (d + 1,).
        level: Level of each dwell, shape (d,).
        evidence_bic: BIC of a single level with correlated noise less that of the levels, > 10.
    """

    rate_bytes_per_s: FloatArray
    edge_ns: IntArray
    level: IntArray
    evidence_bic: float

    def __len__(self) -> int:
        return int(self.rate_bytes_per_s.size)

    @property
    def kbps(self) -> FloatArray:
        """Rate of each level, kbit/s of IP bytes, ascending, shape (k,)."""
        return self.rate_bytes_per_s * kbps_from_bytes(1.0, 1.0)

    @property
    def switches(self) -> int:
        """Observed changes of the level."""
        return int(self.level.size) - 1

    @property
    def jumps(self) -> IntArray:
        """How often each level was followed by each other, shape (k, k)."""
        k = len(self)
        return np.bincount(self.level[:-1] * k + self.level[1:], minlength=k * k).reshape(k, k)

    def dwells(self, level: int) -> Dwells:
        """Return how long the source stayed at a level.

        The unfinished last dwell is censored. The first counts as whole: the phase begins with it.
        """
        length_s = s_from_ns(np.diff(self.edge_ns))
        here, last = self.level == level, np.arange(self.level.size) == self.level.size - 1
        return Dwells(whole_s=length_s[here & ~last], unfinished_s=length_s[here & last])

    def transition_rows(self) -> list[FloatArray | None]:
        """Return the shares of the jumps from each level; None for a level that was never left."""
        return [row / row.sum() if row.sum() else None for row in self.jumps]

    def transition_intervals(self) -> list[FloatArray | None]:
        """Return 95% intervals of those shares, shape (k, 2) each.

        They are equal-tailed, from Jeffreys' prior (Brown, Cai, DasGupta 2001).
        """
        rows: list[FloatArray | None] = []
        for state, counts in enumerate(self.jumps):
            total, row = int(counts.sum()), counts[:, None]
            ends = np.asarray(
                special.betaincinv(row + 0.5, total - row + 0.5, [_TAIL, 1 - _TAIL]),
                dtype=np.float64,
            )
            ends[counts == 0, 0] = 0.0
            ends[counts == total, 1] = 1.0
            ends[state] = 0.0
            rows.append(ends if total else None)
        return rows


def find_levels(time_ns: IntArray, ip_bytes: IntArray, *, tick_s: float) -> Levels | None:
    """Find the levels of a stream's rate; None where its rate has a single one.

    The stream is cut into units of whole bursts, packets, or ON/OFF periods, and its plateaus are
    found by change points. A hidden Markov model gives the number of levels by BIC; it must beat a
    single level with correlated noise, so that neither long memory nor a slow drift makes levels.
    Dwells are then the stretches of the most likely path over the units, down to a quarter of a
    second where packets are that dense.

    Rates are of IP bytes, silences included, as all measured rates are; they are whole bytes over
    whole time at a level, passages between levels left out. Times ascend; both arrays have shape
    (n,).
    """
    if time_ns.size < 2:
        return None
    units = cut_into_units(time_ns, ip_bytes, tick_s=tick_s)
    cuts = find_plateaus(units)
    if not cuts:
        return None
    count = units_per_element(units, dispersion_bytes=cuts[0].dispersion_bytes)
    coarse = units.join(count)
    middle = np.arange(len(coarse)) * count + count // 2
    proposals = [
        find_states(coarse.log_rate, np.searchsorted(cut.edges, middle, side="right") - 1)
        for cut in cuts
    ]
    states = min((found for found in proposals if found), key=lambda found: found.bic, default=None)
    if states is None:
        return None
    evidence_bic = single_level_bic(coarse.log_rate) - states.bic
    # Infinite: too few elements for the alternative, a single level.
    if evidence_bic < _LIMITS.clear_bic or not np.isfinite(evidence_bic):
        return None
    rest = np.full(len(units) - states.path.size * count, states.path[-1])
    path = np.concatenate((np.repeat(states.path, count), rest))
    refined = _refine_path(units, path, states.count)
    return _measure_levels(units, refined, evidence_bic=evidence_bic)


def _refine_path(units: RateUnits, path: IntArray, count: int) -> IntArray:
    """Find the most likely path over the units, from one over several units at a time.

    Rates, dispersions and transitions are fitted by the EM algorithm on the way (Baum and others
    1970).
    """
    inner = _is_inner(path)
    share = np.zeros((path.size, count))
    share[np.flatnonzero(inner), path[inner]] = 1.0
    transition = transition_matrix(path, count)
    log_density = np.zeros(share.shape)
    for _ in range(_ROUNDS):
        log_density = _log_density(units, share)
        share, moves = smooth_states(log_density, transition)
        moves = moves + 0.5 / count
        transition = moves / moves.sum(axis=1, keepdims=True)
    return _drop_passages(most_likely_path(log_density, np.log(transition)))


def _is_inner(path: IntArray) -> BoolArray:
    """Return which units have neighbours of the same level on both sides."""
    same = path[1:] == path[:-1]
    inner: BoolArray = np.concatenate(([True], same)) & np.concatenate((same, [True]))
    return inner


def _log_density(units: RateUnits, share: FloatArray) -> FloatArray:
    """Return the extended quasi-likelihood of each unit at each level, shape (n, k).

    It is that of a Poisson count over the level's dispersion (Nelder and Pregibon 1987), up to a
    constant of each unit. Units count for a level by their ``share``, the probability that they
    belong to it, shape (n, k); those that fit no level do not count for its rate.
    """
    size, duration_s = units.size_bytes[:, None], units.duration_s[:, None]
    share = np.maximum(share, 1e-12)
    rate = (share * size).sum(axis=0) / (share * duration_s).sum(axis=0)
    for _ in range(_REWEIGHTED):
        expected = duration_s * rate
        deviance = 2 * (size * np.log(size / expected) - (size - expected))
        dispersion = _dispersions(units, share, deviance)
        trusted = share * (deviance < _LIMITS.trusted_deviance * dispersion)
        if np.any(trusted.sum(axis=0) < 1):
            break
        rate = (trusted * size).sum(axis=0) / (trusted * duration_s).sum(axis=0)
    misfit = np.minimum(0.5 * deviance / dispersion, _LIMITS.largest_deviance)
    return np.asarray(-0.5 * np.log(dispersion) - misfit)


def _dispersions(units: RateUnits, share: FloatArray, deviance: FloatArray) -> FloatArray:
    """Return the dispersion of each level from its units' smaller 95% deviances, shape (k,)."""
    found = np.empty(share.shape[1])
    for level in range(found.size):
        order = np.argsort(deviance[:, level])
        weight = share[order, level]
        total = np.cumsum(weight)
        kept = slice(0, max(1, int(np.searchsorted(total, 0.95 * total[-1]))))
        mean_bytes = float(np.average(units.size_bytes, weights=share[:, level]))
        mean = float(np.average(deviance[order, level][kept], weights=weight[kept]))
        found[level] = max(_LIMITS.smallest_variation**2 * mean_bytes, mean / LOWER_95_MEAN)
    return found


def _drop_passages(path: IntArray) -> IntArray:
    """Drop visits of one unit between a lower and a higher level: the switch fell into it."""
    path = path.copy()
    between = (path[1:-1] - path[:-2]) * (path[2:] - path[1:-1]) > 0
    path[1:-1][between] = path[:-2][between]
    return path


def _measure_levels(units: RateUnits, path: IntArray, *, evidence_bic: float) -> Levels | None:
    """Return the levels of a path; None where only one is left."""
    visited = np.unique(path)
    k = visited.size
    if k < 2:
        return None
    path = np.searchsorted(visited, path)
    inner = _is_inner(path)
    if np.any(np.bincount(path[inner], minlength=k) == 0):
        inner = np.ones(path.size, dtype=np.bool_)
    size, duration_s = (
        np.bincount(path[inner], weights=of[inner], minlength=k)
        for of in (units.size_bytes, units.duration_s)
    )
    rate = size / duration_s
    order = np.argsort(rate)
    starts = np.flatnonzero(np.concatenate(([True], path[1:] != path[:-1])))
    return Levels(
        rate_bytes_per_s=rate[order],
        edge_ns=np.append(units.edge_ns[starts], units.edge_ns[-1]),
        level=np.argsort(order)[path[starts]],
        evidence_bic=evidence_bic,
    )
