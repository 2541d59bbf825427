"""The moving-block bootstrap: standard errors and intervals of means of dependent values.

Blocks of neighbours are drawn instead of single values, which keeps the dependence within a block
(Kuensch, "The jackknife and the bootstrap for general stationary observations", Annals of
Statistics 17, 1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import FloatArray


class BlockLimits:
    """How blocks are formed and when dependence counts."""

    #: Ratios of variances above 1 by fewer standard errors than this are chance.
    chance_errors: float = 2.0
    #: Resamples of an interval; more make its ends vary less with the seed.
    replicates: int = 999
    #: A block is at most this share of the series, and an interval uses at least this many blocks.
    longest_share: float = 0.1
    fewest_blocks: int = 4
    #: Shorter series have no interval.
    fewest_values: int = 20


_LIMITS = BlockLimits()


@dataclass(frozen=True)
class MeanInterval:
    """A mean with its 95% interval; without ends where the values are too few."""

    value: float
    low: float | None
    high: float | None


def block_length(values: FloatArray) -> int:
    """Choose the length of blocks that suits the dependence of a series, shape (n,).

    The plug-in rule of Andrews (Econometrica 59, 1991) for Bartlett's kernel, to which moving
    blocks correspond, with a first-order autoregression; at least the cube root of the number of
    values and at most a tenth of it.
    """
    n = values.size
    centred = values - values.mean()
    variance = float(np.dot(centred, centred))
    lag_1 = float(np.dot(centred[1:], centred[:-1])) / variance if variance > 0 else 0.0
    lag_1 = min(abs(lag_1), 0.97)
    length = 1.1447 * (n * 4 * lag_1**2 / (1 - lag_1**2) ** 2) ** (1 / 3)
    longest = int(_LIMITS.longest_share * n)
    return max(1, min(round(max(float(length), float(n ** (1 / 3)))), longest))


def long_run_variance(values: FloatArray, *, length: int) -> float:
    """Compute n times the variance of the mean of n dependent values, exact for moving blocks."""
    total = np.concatenate(([0.0], np.cumsum(values - values.mean())))
    blocks = total[length:] - total[:-length]
    return float(np.mean((blocks - blocks.mean()) ** 2)) / length


def variance_inflation(series: FloatArray) -> FloatArray:
    """Compute by what factor dependence enlarges the variance of each column's mean, shape (p,).

    It is 1 where independent values could show it: where it exceeds 1 by less than two standard
    errors sqrt(4 length / (3 n)) of Bartlett's estimate (Priestley 1981, section 6.2). It is never
    below 1.
    """
    n = series.shape[0]
    ratios = np.ones(series.shape[1])
    if n < _LIMITS.fewest_values:
        return ratios
    for column, values in enumerate(np.ascontiguousarray(series.T)):
        variance = float(values.var())
        if variance <= 0:
            continue
        length = block_length(values)
        ratio = long_run_variance(values, length=length) / variance
        if ratio > 1 + _LIMITS.chance_errors * float(np.sqrt(4 * length / (3 * n))):
            ratios[column] = ratio
    return ratios


def mean_with_interval(values: FloatArray, generator: np.random.Generator) -> MeanInterval:
    """Compute a mean with its 95% interval by the moving-block bootstrap.

    The ends are the mean plus and minus the quantiles of the bootstrap means about theirs (basic
    interval), from 999 resamples of as many whole blocks as fill the series. The values are in the
    order of time, such as the bytes in successive bins, shape (n,), n > 0.
    """
    n, mean = values.size, float(values.mean())
    if n < _LIMITS.fewest_values:
        return MeanInterval(mean, None, None)
    length = min(block_length(values), n // _LIMITS.fewest_blocks)
    total = np.concatenate(([0.0], np.cumsum(values)))
    block_means = (total[length:] - total[:-length]) / length
    size = (_LIMITS.replicates, max(1, n // length))
    means = block_means[generator.integers(0, block_means.size, size)].mean(axis=1)
    below, above = np.quantile(means - means.mean(), [0.025, 0.975])
    return MeanInterval(mean, mean - float(above), mean - float(below))
