"""The moving-block bootstrap: standard errors and intervals of means of values that depend on each
other.

Blocks of neighbours are drawn instead of single values, so that the dependence within a block is
kept (Kuensch, "The jackknife and the bootstrap for general stationary observations", Annals of
Statistics 17, 1989).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import FloatArray

#: Ratios of variances that exceed 1 by less than so many of their standard errors are chance.
_CHANCE = 2.0
_REPLICATES = 999
#: Longest block as a share of the values, and lags of the autocorrelation that are looked at.
_LONGEST_SHARE = 0.1
_FEWEST_BLOCKS = 4
_FEWEST_VALUES = 20


@dataclass(frozen=True)
class MeanInterval:
    """A mean with its 95% interval.

    Attributes:
        value: The mean.
        low: Lower end; None where the values are too few for an interval.
        high: Upper end.
    """

    value: float
    low: float | None
    high: float | None


def block_length(values: FloatArray) -> int:
    """Return the length of blocks that suits the dependence of a series.

    It is the plug-in rule of Andrews (Econometrica 59, 1991) for Bartlett's kernel, to which the
    moving blocks correspond, with a first-order autoregression, but at least the cube root of the
    number of values, and at most a tenth of it.

    Args:
        values: The series, shape (n,).
    """
    n = values.size
    centred = values - values.mean()
    variance = float(np.dot(centred, centred))
    lag_1 = float(np.dot(centred[1:], centred[:-1])) / variance if variance > 0 else 0.0
    lag_1 = min(abs(lag_1), 0.97)
    length = 1.1447 * (n * 4 * lag_1**2 / (1 - lag_1**2) ** 2) ** (1 / 3)
    return max(1, min(round(max(float(length), float(n ** (1 / 3)))), int(_LONGEST_SHARE * n)))


def long_run_variance(values: FloatArray, *, length: int) -> float:
    """Return n times the variance of the mean of n dependent values: that of the moving-block
    bootstrap, exactly.

    Args:
        values: The series, shape (n,).
        length: Length of the blocks, at least 1.
    """
    total = np.concatenate(([0.0], np.cumsum(values - values.mean())))
    blocks = total[length:] - total[:-length]
    return float(np.mean((blocks - blocks.mean()) ** 2)) / length


def variance_inflation(series: FloatArray) -> FloatArray:
    """Return by which factor dependence enlarges the variance of the means of series, at least 1,
    shape (p,).

    A factor that a series of independent values could show is 1: it exceeds 1 by less than two of
    the standard errors sqrt(4 length / (3 n)) that Bartlett's estimate has (Priestley 1981, section
    6.2).

    Args:
        series: One series in each column, shape (n, p).
    """
    n = series.shape[0]
    ratios = np.ones(series.shape[1])
    if n < _FEWEST_VALUES:
        return ratios
    for column, values in enumerate(np.ascontiguousarray(series.T)):
        variance = float(values.var())
        if variance <= 0:
            continue
        length = block_length(values)
        ratio = long_run_variance(values, length=length) / variance
        if ratio > 1 + _CHANCE * float(np.sqrt(4 * length / (3 * n))):
            ratios[column] = ratio
    return ratios


def mean_with_interval(values: FloatArray, generator: np.random.Generator) -> MeanInterval:
    """Return a mean with its 95% interval by the moving-block bootstrap.

    Ends are the mean plus and minus the quantiles of the bootstrap means about theirs (basic
    interval), in 999 resamples of as many whole blocks as fill the series.

    Args:
        values: The series in its order in time, such as the bytes in successive bins, shape (n,), n
            > 0.
        generator: Source of the resamples.
    """
    n, mean = values.size, float(values.mean())
    if n < _FEWEST_VALUES:
        return MeanInterval(mean, None, None)
    length = min(block_length(values), n // _FEWEST_BLOCKS)
    total = np.concatenate(([0.0], np.cumsum(values)))
    block_means = (total[length:] - total[:-length]) / length
    drawn = generator.integers(0, block_means.size, (_REPLICATES, max(1, n // length)))
    means = block_means[drawn].mean(axis=1)
    below, above = np.quantile(means - means.mean(), [0.025, 0.975])
    return MeanInterval(mean, mean - float(above), mean - float(below))
