"""Upper tails: where a power law starts, how steep it is, and whether it is one.

Method of Clauset, Shalizi and Newman, "Power-law distributions in empirical data", SIAM Review 51
(2009): the exponent by maximum likelihood (Hill's estimator), the start of the tail where the KS
distance is smallest, and Vuong's likelihood-ratio test (1989) against other laws of the same tail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from trafficgen.errors import TooFewObservationsError
from trafficgen.units import FloatArray, IntArray

#: Larger samples are searched at so many candidates, evenly spaced in the logarithm of the size of
#: the tail, ...
_CANDIDATES = 400
#: ... and compared at so many order statistics of each tail; smaller samples at all of theirs.
_ORDER_STATISTICS = 2000
_ALL_UP_TO = 4000
_FEWEST_VALUES = 10


@dataclass(frozen=True)
class LikelihoodRatio:
    """A power law against another law of the same tail (Vuong 1989).

    Attributes:
        ratio: Log-likelihood of the power law less that of the other; positive favours the power
            law.
        p_value: Probability of a ratio so far from 0 if neither law were better.
    """

    ratio: float
    p_value: float


@dataclass(frozen=True)
class TailFit:
    """A power-law tail: P(X > x) falls as x**-(alpha - 1) from xmin on.

    Attributes:
        xmin: Where the tail starts.
        alpha: Exponent of the density, > 1; ``pareto`` of scipy.stats has b = alpha - 1.
        low: Lower end of the 95% interval of alpha at this xmin.
        high: Upper end.
        observations: Values in the tail.
        share: Share of the sample in the tail.
        ks: KS distance of the tail to the power law.
        lognormal: Likelihood ratio to a log-normal law.
        exponential: Likelihood ratio to an exponential law.
    """

    xmin: float
    alpha: float
    low: float
    high: float
    observations: int
    share: float
    ks: float
    lognormal: LikelihoodRatio
    exponential: LikelihoodRatio


def fit_tail(sample: FloatArray, *, xmin: float | None = None) -> TailFit:
    """Fit a power law to the upper tail of a sample of positive continuous values.

    Every value of a sample up to 4000 is tried as the start of the tail; of larger ones 400, whose
    distances are taken at 2000 order statistics each, so that a sample costs its sorting: a few
    seconds for 5 million values.

    Args:
        sample: The sample, shape (n,), in any order; values that are not positive are left out.
        xmin: Where the tail starts; None to search for it.

    Raises:
        TooFewObservationsError: If fewer than ten different positive values are given, or lie in
            the tail.
    """
    ordered = np.sort(sample[sample > 0])
    first_of_each = np.flatnonzero(np.diff(ordered, prepend=0.0) > 0)
    if first_of_each.size < _FEWEST_VALUES:
        raise TooFewObservationsError(
            what="a tail of different values",
            required=_FEWEST_VALUES,
            available=int(first_of_each.size),
        )
    logs = np.log(ordered)
    # Sum of the logarithms from each value on.
    above = np.cumsum(logs[::-1])[::-1]
    if xmin is None:
        first = _best_start(ordered, logs, above, first_of_each)
    else:
        first = int(np.searchsorted(ordered, xmin))
        if ordered.size - first < _FEWEST_VALUES or ordered[first] == ordered[-1]:
            raise TooFewObservationsError(
                what=f"a tail from {xmin:g}",
                required=_FEWEST_VALUES,
                available=int(ordered.size - first),
            )
    start = float(ordered[first]) if xmin is None else xmin
    n = ordered.size - first
    excess = float(above[first]) - n * float(np.log(start))
    alpha = 1 + n / excess
    tail = ordered[first:]
    return TailFit(
        xmin=start,
        alpha=alpha,
        low=1 + (alpha - 1) * float(special.chdtri(2 * n, 0.975)) / (2 * n),
        high=1 + (alpha - 1) * float(special.chdtri(2 * n, 0.025)) / (2 * n),
        observations=int(n),
        share=n / sample.size,
        ks=_distance(logs, first, alpha, float(np.log(start))),
        lognormal=_against_lognormal(tail, alpha, start),
        exponential=_against_exponential(tail, alpha, start),
    )


def _best_start(
    ordered: FloatArray, logs: FloatArray, above: FloatArray, first_of_each: IntArray
) -> int:
    """Return the index of the value from which on the sample is nearest to a power law."""
    n = ordered.size
    candidates = first_of_each[:-1]
    if n > _ALL_UP_TO:
        sizes = np.geomspace(_FEWEST_VALUES, n, _CANDIDATES)
        candidates = np.unique(
            candidates[np.searchsorted(candidates, n - sizes).clip(0, candidates.size - 1)]
        )
    best, least = int(candidates[0]), np.inf
    for first in candidates.tolist():
        size = n - first
        excess = float(above[first]) - size * float(logs[first])
        if excess <= 0:
            continue
        distance = _distance(logs, first, 1 + size / excess, float(logs[first]))
        if distance < least:
            best, least = first, distance
    return best


def _distance(logs: FloatArray, first: int, alpha: float, log_start: float) -> float:
    """Return the KS distance of a tail to a power law, at all its values or at evenly spread order
    statistics.
    """
    size = logs.size - first
    if size <= max(_ALL_UP_TO, _ORDER_STATISTICS):
        rank = np.arange(size)
    else:
        rank = np.unique(np.rint(np.linspace(0, size - 1, _ORDER_STATISTICS)).astype(np.int64))
    expected = -np.expm1(-(alpha - 1) * (logs[first + rank] - log_start))
    return float(max((expected - rank / size).max(), ((rank + 1) / size - expected).max()))


def _vuong(power: FloatArray, other: FloatArray) -> LikelihoodRatio:
    """Return the ratio of two laws from the log-densities of the tail's values."""
    difference = power - other
    ratio, sd = float(difference.sum()), float(difference.std())
    if sd == 0:
        return LikelihoodRatio(ratio, 1.0)
    return LikelihoodRatio(
        ratio, float(special.erfc(abs(ratio) / (np.sqrt(2 * difference.size) * sd)))
    )


def _log_power(tail: FloatArray, alpha: float, start: float) -> FloatArray:
    density: FloatArray = np.log((alpha - 1) / start) - alpha * np.log(tail / start)
    return density


def _against_exponential(tail: FloatArray, alpha: float, start: float) -> LikelihoodRatio:
    rate = 1 / float(np.mean(tail - start))
    return _vuong(_log_power(tail, alpha, start), np.log(rate) - rate * (tail - start))


def _against_lognormal(tail: FloatArray, alpha: float, start: float) -> LikelihoodRatio:
    """Compare with the likeliest log-normal law given that it exceeds the start."""
    logs = np.log(tail)
    log_start, mean, square = float(np.log(start)), float(logs.mean()), float(np.mean(logs**2))

    def negative(place: FloatArray) -> float:
        mu, sigma = float(place[0]), float(np.exp(place[1]))
        inside = (square - 2 * mu * mean + mu**2) / (2 * sigma**2)
        return float(np.log(sigma) + inside + special.log_ndtr((mu - log_start) / sigma))

    begin = np.array([mean, float(np.log(max(logs.std(), 1e-6)))])
    found = optimize.minimize(
        negative, begin, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-10}
    )
    mu, sigma = float(found.x[0]), float(np.exp(found.x[1]))
    density = -logs - np.log(sigma) - 0.5 * np.log(2 * np.pi) - (logs - mu) ** 2 / (2 * sigma**2)
    return _vuong(
        _log_power(tail, alpha, start), density - special.log_ndtr((mu - log_start) / sigma)
    )
