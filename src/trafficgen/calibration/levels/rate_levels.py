"""Scale levels: the few rates between which a source switches, how it switches, and how long it
stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from trafficgen.calibration.levels.dwells import Dwells, fit_dwell_family
from trafficgen.calibration.levels.plateaus import RateUnits, cut_into_units, find_plateaus
from trafficgen.calibration.levels.rate_states import (
    find_states,
    joined_for_states,
    smoothed,
    transition_matrix,
    viterbi,
)
from trafficgen.units import BoolArray, FloatArray, IntArray, kbps_from_bytes, s_from_ns

#: Levels must beat a single level with correlated noise by this much of BIC ("very strong", Kass
#: and Raftery 1995).
_CLEAR_BIC = 10.0
#: A unit whose rate has nothing to do with its level costs no more than this in the log-likelihood.
_LARGEST_DEVIANCE = 8.0
_SMALLEST_VARIATION = 0.01
_ROUNDS = 5
_REWEIGHTED = 2
_TRUSTED_DEVIANCE = 6.0
_TAIL = 0.025


@dataclass(frozen=True)
class Interval:
    """A 95% interval."""

    low: float
    high: float


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

        The unfinished last dwell is censored. The first one counts as whole: the phase begins with
        it.
        """
        length_s = s_from_ns(np.diff(self.edge_ns))
        here, last = self.level == level, np.arange(self.level.size) == self.level.size - 1
        return Dwells(whole_s=length_s[here & ~last], unfinished_s=length_s[here & last])

    def transition_rows(self) -> list[FloatArray | None]:
        """Return the jump chain row by row: shares of the jumps; None for a level that was never
        left.
        """
        return [row / row.sum() if row.sum() else None for row in self.jumps]

    def transition_intervals(self) -> list[list[Interval] | None]:
        """Return 95% intervals of the jump chain: equal-tailed, from Jeffreys' prior (Brown, Cai
        and DasGupta 2001).
        """
        rows: list[list[Interval] | None] = []
        for state, row in enumerate(self.jumps):
            total = int(row.sum())
            rows.append(
                [_share(int(n), total, self_jump=to == state) for to, n in enumerate(row)]
                if total
                else None
            )
        return rows


def find_levels(time_ns: IntArray, ip_bytes: IntArray, *, tick_s: float) -> Levels | None:
    """Return the levels of a stream's rate, or None where its rate has a single one.

    The stream is cut into units of whole bursts, packets, or ON/OFF periods, and its plateaus are
    found by change points. A hidden Markov model gives the number of levels by BIC; it must beat a
    single level with correlated noise, so that neither long memory nor a slow drift makes levels.
    Dwells are then the stretches of the most likely path over the units, down to a quarter of a
    second where packets are that dense.

    Rates are of IP bytes, silences included, as all measured rates are; they are whole bytes over
    whole time at a level, passages between levels left out.

    Args:
        time_ns: Times of the media packets, ns, ascending, shape (n,).
        ip_bytes: Their IP total lengths, bytes, shape (n,).
        tick_s: Granularity of the clock, s.
    """
    if time_ns.size < 2:
        return None
    units = cut_into_units(time_ns, ip_bytes, tick_s=tick_s)
    cuts = find_plateaus(units)
    if not cuts:
        return None
    joined = joined_for_states(units, dispersion_bytes=cuts[0].dispersion_bytes)
    coarse = units.joined(joined)
    middle = np.arange(len(coarse)) * joined + joined // 2
    proposals = [
        find_states(coarse.log_rate, np.searchsorted(cut.edges, middle, side="right") - 1)
        for cut in cuts
    ]
    states = min((found for found in proposals if found), key=lambda found: found.bic, default=None)
    if states is None or states.single_bic - states.bic < _CLEAR_BIC:
        return None
    rest = np.full(len(units) - states.path.size * joined, states.path[-1])
    path = _refined(
        units, np.concatenate((np.repeat(states.path, joined), rest)), states.centre.size
    )
    return _levels(units, path, evidence_bic=states.single_bic - states.bic)


def _refined(units: RateUnits, path: IntArray, count: int) -> IntArray:
    """Return the most likely path over the units, from one over several units at a time.

    Rates, dispersions and transitions are fitted by the EM algorithm on the way (Baum and others
    1970).
    """
    inner = _inner(path)
    share = np.zeros((path.size, count))
    share[np.flatnonzero(inner), path[inner]] = 1.0
    transition = transition_matrix(path, count)
    log_density = np.zeros(share.shape)
    for _ in range(_ROUNDS):
        log_density = _log_density(units, share)
        found = smoothed(log_density, transition)
        moves = found.moves + 0.5 / count
        share, transition = found.state, moves / moves.sum(axis=1, keepdims=True)
    return _without_passages(viterbi(log_density, np.log(transition)))


def _inner(path: IntArray) -> BoolArray:
    """Return which units have neighbours of the same level on both sides, and so lie wholly at
    their level.
    """
    same = path[1:] == path[:-1]
    inner: BoolArray = np.concatenate(([True], same)) & np.concatenate((same, [True]))
    return inner


def _rates(units: RateUnits, path: IntArray, inner: BoolArray, count: int) -> FloatArray:
    size = np.bincount(path[inner], weights=units.size_bytes[inner], minlength=count)
    rates: FloatArray = size / np.bincount(
        path[inner], weights=units.duration_s[inner], minlength=count
    )
    return rates


def _log_density(units: RateUnits, share: FloatArray) -> FloatArray:
    """Return the extended quasi-likelihood of each unit at each level (Nelder and Pregibon 1987),
    shape (n, k).

    It is that of a Poisson count over the level's dispersion, up to a constant of each unit. Rates
    and dispersions are those of the units weighted by how likely they belong to the level; units
    that fit none badly count least.

    Args:
        units: The stream, cut into units.
        share: Probability of each level, shape (n, k).
    """
    size = units.size_bytes[:, None]
    share = np.maximum(share, 1e-12)
    rate = (share * size).sum(axis=0) / (share * units.duration_s[:, None]).sum(axis=0)
    for _ in range(_REWEIGHTED):
        expected = units.duration_s[:, None] * rate
        deviance = 2 * (size * np.log(size / expected) - (size - expected))
        dispersion = _dispersions(units, share, deviance)
        trusted = share * (deviance < _TRUSTED_DEVIANCE * dispersion)
        if np.any(trusted.sum(axis=0) < 1):
            break
        rate = (trusted * size).sum(axis=0) / (trusted * units.duration_s[:, None]).sum(axis=0)
    density: FloatArray = -0.5 * np.log(dispersion) - np.minimum(
        0.5 * deviance / dispersion, _LARGEST_DEVIANCE
    )
    return density


def _dispersions(units: RateUnits, share: FloatArray, deviance: FloatArray) -> FloatArray:
    """Return the dispersion of each level from the smaller 95% of its units' deviances, bytes,
    shape (k,).
    """
    found = np.empty(share.shape[1])
    for level in range(found.size):
        order = np.argsort(deviance[:, level])
        weight = share[order, level]
        total = np.cumsum(weight)
        kept = slice(0, max(1, int(np.searchsorted(total, 0.95 * total[-1]))))
        smallest = _SMALLEST_VARIATION**2 * float(
            np.average(units.size_bytes, weights=share[:, level])
        )
        mean = float(np.average(deviance[order, level][kept], weights=weight[kept]))
        found[level] = max(smallest, mean / 0.759)  # mean of the lower 95% of a chi-squared law
    return found


def _without_passages(path: IntArray) -> IntArray:
    """Return a path without visits of one unit between a lower and a higher level: the switch fell
    into that unit.
    """
    path = path.copy()
    between = (path[1:-1] - path[:-2]) * (path[2:] - path[1:-1]) > 0
    path[1:-1][between] = path[:-2][between]
    return path


def _levels(units: RateUnits, path: IntArray, *, evidence_bic: float) -> Levels | None:
    """Return the levels of a path; None where only one is left."""
    visited = np.unique(path)
    if visited.size < 2:
        return None
    path = np.searchsorted(visited, path)
    inner = _inner(path)
    if np.any(np.bincount(path[inner], minlength=visited.size) == 0):
        inner = np.ones(path.size, dtype=np.bool_)
    rate = _rates(units, path, inner, visited.size)
    order = np.argsort(rate)
    starts = np.flatnonzero(np.concatenate(([True], path[1:] != path[:-1])))
    return Levels(
        rate_bytes_per_s=rate[order],
        edge_ns=np.append(units.edge_ns[starts], units.edge_ns[-1]),
        level=np.argsort(order)[path[starts]],
        evidence_bic=evidence_bic,
    )


def _share(count: int, total: int, *, self_jump: bool) -> Interval:
    if self_jump:
        return Interval(0.0, 0.0)
    low, high = special.betaincinv(count + 0.5, total - count + 0.5, [_TAIL, 1 - _TAIL]).tolist()
    return Interval(0.0 if count == 0 else low, 1.0 if count == total else high)


@dataclass(frozen=True)
class MeanDwell:
    """Mean time at a level.

    Attributes:
        mean_s: Estimate, s; None for a level that was never left.
        interval: 95% interval, or None.
    """

    mean_s: float | None
    interval: Interval | None


def mean_dwell(dwells: Dwells) -> MeanDwell:
    """Return the mean time at a level with its interval.

    It is the mean of a gamma law by maximum likelihood with the unfinished dwell censored, where
    five dwells or more are whole; else that of an exponential law, the time at the level over how
    often it was left. The interval is the exact one of a gamma law whose shape is known.
    """
    n = int(dwells.whole_s.size)
    if n == 0:
        return MeanDwell(None, None)
    gamma = fit_dwell_family("gamma", dwells) if n >= 5 else None
    shape = gamma.params["a"] if gamma else 1.0
    mean_s = shape * gamma.params["scale"] if gamma else dwells.total_s / n
    degrees = 2 * n * shape
    low, high = (
        degrees * mean_s / float(special.chdtri(degrees, tail)) for tail in (_TAIL, 1 - _TAIL)
    )
    return MeanDwell(mean_s, Interval(low, high))
