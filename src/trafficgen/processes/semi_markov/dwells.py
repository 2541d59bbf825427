"""Laws of the time at a level, by maximum likelihood; the last dwell of a session is censored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from trafficgen.critical_values import NORMAL_95
from trafficgen.distributions.law import Alternative, GoodnessOfFit, Law
from trafficgen.imports import special
from trafficgen.units import FloatArray

DwellFamily = Literal["expon", "gamma", "lognorm", "weibull_min"]
_FAMILIES: tuple[DwellFamily, ...] = ("expon", "gamma", "lognorm", "weibull_min")

#: Fewer whole dwells do not distinguish one family from another.
_FEWEST_DWELLS = 5
_SHAPE: dict[DwellFamily, str] = {"gamma": "a", "lognorm": "s", "weibull_min": "c"}
#: Shapes outside this range are regular to one part in a thousand, or without a mean in practice.
_LOG_SHAPE = (-3.0, 7.0)
_IMPOSSIBLE = 1e300
_STEP = 1e-3


@dataclass(frozen=True)
class Dwells:
    """Times at one level.

    Attributes:
        whole_s: Dwells whose end was observed, s, shape (n,).
        unfinished_s: Dwells that the capture cut off, s, shape (m,).
    """

    whole_s: FloatArray
    unfinished_s: FloatArray

    @property
    def total_s(self) -> float:
        """Time at the level, s."""
        return float(self.whole_s.sum() + self.unfinished_s.sum())


@dataclass(frozen=True)
class DwellFit:
    """A family fitted to dwells.

    Attributes:
        family: scipy.stats name.
        params: scipy.stats parameters, ``loc`` 0.
        log_likelihood: At the estimate, censored dwells included.
        log_sd: Standard errors of the logarithms of the estimated parameters.
    """

    family: DwellFamily
    params: dict[str, float]
    log_likelihood: float
    log_sd: dict[str, float]

    def bic(self, observations: int) -> float:
        """Bayesian information criterion for this many whole dwells; smaller is better."""
        return len(self.log_sd) * float(np.log(observations)) - 2 * self.log_likelihood

    def ends(self, sign: int) -> dict[str, float]:
        """Return the lower (-1) or upper (1) ends of the known 95% intervals."""
        return {
            name: self.params[name] * float(np.exp(sign * NORMAL_95 * sd))
            for name, sd in self.log_sd.items()
            if np.isfinite(sd)
        }


def fit_dwell_family(family: DwellFamily, dwells: Dwells) -> DwellFit | None:
    """Fit one family by maximum likelihood with censoring; None where there is no maximum.

    Source: Kalbfleisch and Prentice, "The statistical analysis of failure time data" (2002),
    chapter 3.
    """
    n = int(dwells.whole_s.size)
    if n == 0:
        return None
    mean_s = dwells.total_s / n
    if family == "expon":
        log_likelihood = -n * (float(np.log(mean_s)) + 1)
        return DwellFit("expon", {"loc": 0.0, "scale": mean_s}, log_likelihood, {"scale": n**-0.5})
    from scipy import optimize, stats  # noqa: PLC0415 - takes a second, and few captures need it

    law = getattr(stats, family)

    def loss(theta: FloatArray) -> float:
        shape = float(np.exp(np.clip(theta[0], *_LOG_SHAPE)))
        scale = mean_s * float(np.exp(theta[1]))
        value = law.logpdf(dwells.whole_s, shape, scale=scale).sum()
        if dwells.unfinished_s.size:
            value += law.logsf(dwells.unfinished_s, shape, scale=scale).sum()
        return -float(value) if np.isfinite(value) else _IMPOSSIBLE

    spread = float(np.log(dwells.whole_s).std()) or 1.0
    start = {
        "gamma": (-2 * np.log(spread), 2 * np.log(spread)),
        "lognorm": (np.log(spread), -(spread**2) / 2),
    }.get(family, (np.log(1.28 / spread), 0.0))
    found = optimize.minimize(
        loss, np.array(start), method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6}
    )
    inside = _LOG_SHAPE[0] < found.x[0] < _LOG_SHAPE[1]
    if not found.success or found.fun >= _IMPOSSIBLE or not inside:
        return None
    name, sd = _SHAPE[family], _standard_errors(loss, found.x)
    scale = mean_s * float(np.exp(found.x[1]))
    params = {name: float(np.exp(found.x[0])), "loc": 0.0, "scale": scale}
    return DwellFit(family, params, -float(found.fun), {name: sd[0], "scale": sd[1]})


def _standard_errors(loss: Callable[[FloatArray], float], theta: FloatArray) -> tuple[float, float]:
    """Return standard errors from the observed information, by second differences."""
    hessian = np.empty((2, 2))
    for row, a in enumerate(np.eye(2) * _STEP):
        for column, b in enumerate(np.eye(2) * _STEP):
            mixed = loss(theta + a + b) - loss(theta + a - b) - loss(theta - a + b)
            hessian[row, column] = (mixed + loss(theta - a - b)) / (4 * _STEP**2)
    try:
        variance = np.diag(np.linalg.inv(hessian))
    except np.linalg.LinAlgError:
        return float("nan"), float("nan")
    sd = np.sqrt(np.where(variance > 0, variance, np.nan))
    return float(sd[0]), float(sd[1])


def dwell_law(dwells: Dwells) -> Law | None:
    """Fit the law of the time at a level; None for a level that was never left.

    The family is chosen by BIC; with fewer than five whole dwells it is exponential. Intervals are
    Wald's on the logarithms, from the observed information.
    """
    n = int(dwells.whole_s.size)
    tried = _FAMILIES[: 1 if n < _FEWEST_DWELLS else None]
    fits = [fit for family in tried if (fit := fit_dwell_family(family, dwells))]
    if not fits:
        return None
    from scipy import stats  # noqa: PLC0415 - takes half a second, and few captures need it

    fits.sort(key=lambda fit: fit.bic(n))
    best = fits[0]
    ks = stats.kstest(dwells.whole_s, getattr(stats, best.family)(**best.params).cdf).statistic
    return Law(
        unit="s",
        family=best.family,
        params=best.params,
        low=best.ends(-1),
        high=best.ends(1),
        observations=n,
        log_likelihood=best.log_likelihood,
        alternatives=tuple(
            Alternative(family=fit.family, delta_bic=fit.bic(n) - best.bic(n)) for fit in fits[1:]
        ),
        fit=GoodnessOfFit(
            ks=float(ks), method="of the whole dwells; no p-value, one dwell is censored"
        ),
    )


@dataclass(frozen=True)
class MeanDwell:
    """Mean time at a level with its 95% interval, s."""

    mean_s: float
    low_s: float
    high_s: float


def mean_dwell(dwells: Dwells) -> MeanDwell | None:
    """Estimate the mean time at a level with its interval; None for a level that was never left.

    It is the mean of a gamma law by maximum likelihood with the unfinished dwell censored, where
    five dwells or more are whole; else that of an exponential law, the time at the level over how
    often it was left. The interval is the exact one of a gamma law whose shape is known.
    """
    n = int(dwells.whole_s.size)
    if n == 0:
        return None
    gamma = fit_dwell_family("gamma", dwells) if n >= _FEWEST_DWELLS else None
    shape = gamma.params["a"] if gamma else 1.0
    mean_s = shape * gamma.params["scale"] if gamma else dwells.total_s / n
    degrees = 2 * n * shape
    low_s, high_s = (degrees * mean_s / float(special.chdtri(degrees, p)) for p in (0.025, 0.975))
    return MeanDwell(mean_s, low_s, high_s)
