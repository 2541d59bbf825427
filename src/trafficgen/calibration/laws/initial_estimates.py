"""Where the search for each family's maximum of the likelihood starts: moments, ends of the sample,
and EM.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from trafficgen.calibration.laws.cells import Cells
from trafficgen.units import FloatArray, IntArray

Params = dict[str, float]

#: A spread of the logarithms below this is one value with rounding noise, which no density fits.
SMALLEST_LOG_SPREAD = 1e-9
_EM_ROUNDS = 40
_EM_TOLERANCE = 1e-5
#: A hyperexponential law has a coefficient of variation above 1.
_SMALLEST_SQUARED_VARIATION = 1.02
#: A normal law of times or sizes is this many standard deviations above 0, so that it puts nothing
#: below.
_NORMAL_ABOVE_ZERO = 4.0
_SMALLEST_WEIGHT = 1e-4


@dataclass(frozen=True)
class Weighted:
    """A sample as values with counts.

    Attributes:
        values: Values, > 0, ascending, shape (k,).
        counts: How often each was seen, shape (k,).
        tick: Granularity of the values.
    """

    values: FloatArray
    counts: FloatArray
    tick: float

    @cached_property
    def n(self) -> float:
        """Size of the sample."""
        return float(self.counts.sum())

    @cached_property
    def mean(self) -> float:
        """Mean."""
        return float(np.dot(self.counts, self.values)) / self.n

    @cached_property
    def variance(self) -> float:
        """Variance."""
        return float(np.dot(self.counts, (self.values - self.mean) ** 2)) / self.n

    @cached_property
    def logs(self) -> FloatArray:
        """Logarithms of the values, shape (k,)."""
        return np.log(self.values)

    @cached_property
    def mean_log(self) -> float:
        """Mean of the logarithms."""
        return float(np.dot(self.counts, self.logs)) / self.n

    @cached_property
    def sd_log(self) -> float:
        """Standard deviation of the logarithms."""
        return float(np.sqrt(np.dot(self.counts, (self.logs - self.mean_log) ** 2) / self.n))

    def quantile(self, probability: float) -> float:
        """Return a quantile."""
        return float(
            self.values[int(np.searchsorted(np.cumsum(self.counts), probability * self.n))]
        )


def weighted(cells: Cells) -> Weighted:
    """Return the values and counts of a sample's cells."""
    return Weighted(cells.points, cells.counts, cells.below.tick)


def starts_of(family: str, sample: Weighted) -> list[Params]:
    """Return where to start the search for a family's maximum; empty where the family cannot fit
    the sample.
    """
    return [start for start in _STARTS[family](sample) if all(np.isfinite(list(start.values())))]


def _exponential(sample: Weighted) -> list[Params]:
    return [{"loc": 0.0, "scale": sample.mean}]


def _lognormal(sample: Weighted) -> list[Params]:
    return [{"s": sample.sd_log, "loc": 0.0, "scale": float(np.exp(sample.mean_log))}]


def _gamma(sample: Weighted) -> list[Params]:
    """Minka's closed form (2002), within 1.5% of the maximum."""
    s = max(float(np.log(sample.mean)) - sample.mean_log, 1e-12)
    shape = (3 - s + float(np.sqrt((s - 3) ** 2 + 24 * s))) / (12 * s)
    return [{"a": shape, "loc": 0.0, "scale": sample.mean / shape}]


def _weibull(sample: Weighted) -> list[Params]:
    """Start from mean and standard deviation of the logarithms, which follow an extreme-value
    law.
    """
    shape = float(np.pi / np.sqrt(6)) / sample.sd_log
    return [
        {"c": shape, "loc": 0.0, "scale": float(np.exp(sample.mean_log + np.euler_gamma / shape))}
    ]


def _pareto(sample: Weighted) -> list[Params]:
    smallest = float(sample.values[0])
    excess = sample.mean_log - float(np.log(smallest))
    return [{"b": 1 / excess, "loc": 0.0, "scale": smallest}] if excess > 0 else []


def _generalised_pareto(sample: Weighted) -> list[Params]:
    """Probability-weighted moments (Hosking and Wallis 1987), with an end beyond the largest
    value.
    """
    above = 1 - (np.cumsum(sample.counts) - 0.5 * sample.counts) / sample.n
    lower = float(np.dot(sample.counts, sample.values * above)) / sample.n
    if sample.mean <= 2 * lower:
        return []
    c = float(np.clip(2 - sample.mean / (sample.mean - 2 * lower), -0.8, 0.95))
    scale = sample.mean * (1 - c)
    if c < 0:
        scale = max(scale, -1.02 * c * float(sample.values[-1]))
    return [{"c": c, "loc": 0.0, "scale": scale}]


def _truncated_pareto(sample: Weighted) -> list[Params]:
    largest = float(sample.values[-1]) + 0.5 * sample.tick
    return [
        {
            "b": max(0.1, start["b"]),
            "c": largest / start["scale"],
            "loc": 0.0,
            "scale": start["scale"],
        }
        for start in _pareto(sample)
    ]


def _log_logistic(sample: Weighted) -> list[Params]:
    return [
        {
            "c": float(np.pi / np.sqrt(3)) / sample.sd_log,
            "loc": 0.0,
            "scale": float(np.exp(sample.mean_log)),
        }
    ]


def _normal(sample: Weighted) -> list[Params]:
    sd = float(np.sqrt(sample.variance))
    return (
        [{"loc": sample.mean, "scale": sd}]
        if sd > 0 and sample.mean > _NORMAL_ABOVE_ZERO * sd
        else []
    )


def _beta(sample: Weighted) -> list[Params]:
    """Moments, on the range of the sample and what a uniform law would leave unseen at either
    end.
    """
    seen = float(sample.values[-1] - sample.values[0])
    unseen = max(0.5 * sample.tick, seen / sample.n)
    loc, scale = max(0.0, float(sample.values[0]) - unseen), 0.0
    scale = float(sample.values[-1]) + unseen - loc
    mean, variance = (sample.mean - loc) / scale, sample.variance / scale**2
    size = mean * (1 - mean) / variance - 1 if variance > 0 else 0.0
    return (
        [{"a": mean * size, "b": (1 - mean) * size, "loc": loc, "scale": scale}] if size > 0 else []
    )


def _hyperexponential(count: int) -> Callable[[Weighted], list[Params]]:
    """Return the starts of a law of so many phases: EM (Dempster, Laird and Rubin 1977) from parted
    quantiles.
    """

    def starts(sample: Weighted) -> list[Params]:
        if sample.variance <= _SMALLEST_SQUARED_VARIATION * sample.mean**2:
            return []
        shares = ((0.5, 0.5), (0.9, 0.1)) if count == 2 else ((0.6, 0.3, 0.1),)
        found = []
        for share in shares:
            ends = [0.0, *(sample.quantile(float(p)) for p in np.cumsum(share)[:-1]), np.inf]
            inside = [
                (sample.values > low) & (sample.values <= high) for low, high in pairwise(ends)
            ]
            if all(np.any(part) for part in inside):
                means = [
                    float(np.average(sample.values[part], weights=sample.counts[part]))
                    for part in inside
                ]
                found.append(_em_of_exponentials(sample, np.array(share), np.array(means)))
        return found

    return starts


def _em_of_exponentials(sample: Weighted, weight: FloatArray, scale: FloatArray) -> Params:
    x, counts = sample.values[:, None], sample.counts[:, None]
    for _ in range(_EM_ROUNDS):
        density = weight / scale * np.exp(-x / scale)
        member = counts * density / np.maximum(density.sum(axis=1, keepdims=True), 1e-300)
        total = np.maximum(member.sum(axis=0), 1e-9 * sample.n)
        weight, scale = (
            total / total.sum(),
            np.maximum((member * x).sum(axis=0) / total, 1e-6 * sample.mean),
        )
    weight = np.maximum(weight, _SMALLEST_WEIGHT) / np.maximum(weight, _SMALLEST_WEIGHT).sum()
    return _numbered(weight, {"scale": scale})


def _lognormal_mixture(count: int) -> Callable[[Weighted], list[Params]]:
    """Return the starts of a mixture: EM on the logarithms from parted quantiles and parted
    ranges.
    """

    def starts(sample: Weighted) -> list[Params]:
        shares = np.cumsum(sample.counts) / sample.n
        by_rank: IntArray = np.minimum((shares * count * (1 - 1e-12)).astype(np.int64), count - 1)
        span = sample.logs - sample.logs[0]
        by_range: IntArray = np.minimum(
            (span / max(span[-1], 1e-300) * count).astype(np.int64), count - 1
        )
        found = []
        for group in (by_rank, by_range):
            sizes = np.asarray(
                np.bincount(group, weights=sample.counts, minlength=count), dtype=np.float64
            )
            if np.all(sizes > 0):
                found.append(_em_of_normals(sample, group, sizes))
        return found

    return starts


def _em_of_normals(sample: Weighted, group: IntArray, sizes: FloatArray) -> Params:
    y, counts, count = sample.logs[:, None], sample.counts[:, None], sizes.size
    smallest = max(0.01 * sample.sd_log, 1e-7)
    weight = sizes / sizes.sum()
    mean = np.bincount(group, weights=sample.counts * sample.logs, minlength=count) / sizes
    square = (
        np.bincount(
            group, weights=sample.counts * (sample.logs - mean[group]) ** 2, minlength=count
        )
        / sizes
    )
    sd = np.maximum(np.sqrt(square), smallest)
    before = -np.inf
    for _ in range(2 * _EM_ROUNDS):
        density = weight / sd * np.exp(-0.5 * ((y - mean) / sd) ** 2)
        whole = np.maximum(density.sum(axis=1, keepdims=True), 1e-300)
        member = counts * density / whole
        total = np.maximum(member.sum(axis=0), 1e-9 * sample.n)
        weight, mean = total / total.sum(), (member * y).sum(axis=0) / total
        sd = np.maximum(np.sqrt((member * (y - mean) ** 2).sum(axis=0) / total), smallest)
        value = float(np.dot(sample.counts, np.log(whole[:, 0]))) / sample.n
        if value - before < _EM_TOLERANCE:
            break
        before = value
    weight = np.maximum(weight, _SMALLEST_WEIGHT) / np.maximum(weight, _SMALLEST_WEIGHT).sum()
    return _numbered(weight, {"s": sd, "scale": np.exp(mean)})


def _numbered(weight: FloatArray, parts: dict[str, FloatArray]) -> Params:
    """Return the flat parameters of a mixture, components by ascending scale."""
    order = np.argsort(parts["scale"])
    return {
        f"{name}{number}": float(values[index])
        for number, index in enumerate(order, start=1)
        for name, values in ({"p": weight} | parts).items()
    }


def _geometric(sample: Weighted) -> list[Params]:
    loc = -1.0 if sample.values[0] < 0.5 else 0.0
    mean = _mean_number(sample) - loc
    return [{"p": 1 / mean, "loc": loc}] if mean > 1 else []


def _negative_binomial(sample: Weighted) -> list[Params]:
    found, mean = [], _mean_number(sample)
    for loc in (0.0, 1.0) if sample.values[0] > 0.5 else (0.0,):
        if sample.variance > mean - loc > 0:
            p = (mean - loc) / sample.variance
            found.append({"n": (mean - loc) * p / (1 - p), "p": p, "loc": loc})
    return found


def _zeta(sample: Weighted) -> list[Params]:
    """Start from the continuous approximation of Clauset, Shalizi and Newman (2009), eq. 3.7."""
    excess = float(np.dot(sample.counts, np.log(np.maximum(sample.values, 1.0) / 0.5))) / sample.n
    return [{"a": 1 + 1 / excess, "loc": 0.0}] if sample.values[0] > 0.5 else []


def _poisson(sample: Weighted) -> list[Params]:
    mean = _mean_number(sample)
    locs = (0.0, 1.0) if sample.values[0] > 0.5 else (0.0,)
    return [{"mu": mean - loc, "loc": loc} for loc in locs if mean > loc]


def _mean_number(sample: Weighted) -> float:
    """Return the mean of whole numbers, in which a zero is not the quarter of a tick that stands
    for it.
    """
    return float(np.dot(sample.counts, np.rint(sample.values))) / sample.n


#: Family, or family and number of components -> starts.
_STARTS: dict[str, Callable[[Weighted], list[Params]]] = {
    "expon": _exponential,
    "lognorm": _lognormal,
    "gamma": _gamma,
    "weibull_min": _weibull,
    "pareto": _pareto,
    "genpareto": _generalised_pareto,
    "truncpareto": _truncated_pareto,
    "fisk": _log_logistic,
    "norm": _normal,
    "beta": _beta,
    "hyperexpon/2": _hyperexponential(2),
    "hyperexpon/3": _hyperexponential(3),
    "lognorm_mixture/2": _lognormal_mixture(2),
    "lognorm_mixture/3": _lognormal_mixture(3),
    "geom": _geometric,
    "nbinom": _negative_binomial,
    "zipf": _zeta,
    "poisson": _poisson,
}
