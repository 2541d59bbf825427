"""How the switching of levels goes with loss, delay or goodput: a discrete-time hazard model.

In each interval a source at a level either steps down (up) or does not; the probability of it,
given that it is at that level, is the hazard. Its logit is linear in the covariates (Allison,
"Discrete-time methods for the analysis of event histories", 1982). Estimates are by Firth's
penalised likelihood ("Bias reduction of maximum likelihood estimates", 1993): with a few switches,
or where a covariate separates intervals with a switch from those without, they are finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from trafficgen.critical_values import NORMAL_95
from trafficgen.units import BoolArray, FloatArray

#: Fewer switches in a direction say nothing about what goes with them.
FEWEST_SWITCHES = 10
_STEPS = 100
_TOLERANCE = 1e-8
_LARGEST_MOVE = 2.0

Direction = Literal["down", "up"]


@dataclass(frozen=True)
class Effect:
    """What one covariate does to the odds of a switch.

    Attributes:
        odds_ratio: Factor of the odds for one standard deviation more of the covariate.
        low: Lower end of the 95% interval (Wald, on the logarithm).
        high: Upper end.
    """

    odds_ratio: float
    low: float
    high: float


@dataclass(frozen=True)
class SwitchHazard:
    """A fitted hazard model.

    Attributes:
        switches: Intervals with a switch in the direction.
        intervals: Intervals at risk.
        effects: Name of the covariate -> its effect, given the others.
        p_value: Of all covariates together, by the penalised likelihood ratio.
    """

    switches: int
    intervals: int
    effects: dict[str, Effect]
    p_value: float


@dataclass(frozen=True)
class LogisticFit:
    """Coefficients of a logistic regression by Firth's penalised likelihood.

    Attributes:
        coefficients: Shape (p,).
        covariance: Inverse of the Fisher information, shape (p, p).
        penalised_log_likelihood: With half the log-determinant of the information.
    """

    coefficients: FloatArray
    covariance: FloatArray
    penalised_log_likelihood: float


def fit_switch_hazard(
    switched: BoolArray, at_risk: BoolArray, covariates: Mapping[str, FloatArray]
) -> SwitchHazard | str:
    """Fit the hazard of switching in one direction, or return why there is nothing to fit.

    Args:
        switched: Whether the source switched in each interval, shape (n,).
        at_risk: Whether it could, not being at the end of the ladder, shape (n,).
        covariates: Name -> value in the time before each interval, such as loss; NaN where unknown,
            shape (n,) each.
    """
    known = at_risk.copy()
    for values in covariates.values():
        known &= np.isfinite(values)
    events = switched[known].astype(np.float64)
    count = int(events.sum())
    if count < FEWEST_SWITCHES:
        return f"{count} switches, {FEWEST_SWITCHES} are needed"
    used = {
        name: values[known]
        for name, values in covariates.items()
        if float(np.std(values[known])) > 0
    }
    if not used:
        return "nothing that could go with the switches varies"
    if count == events.size:
        return "there is a switch in every interval"
    columns = [(values - values.mean()) / values.std() for values in used.values()]
    design = np.column_stack([np.ones(events.size), *columns])
    fit = firth_logistic(design, events)
    # Without effects all weights are equal, and the penalised likelihood has its maximum in closed
    # form; the penalty stays that of the whole model (Heinze and Schemper, "A solution to the
    # problem of separation", 2002).
    share = (count + design.shape[1] / 2) / (events.size + design.shape[1])
    without = _penalised(design, events, np.append(special.logit(share), np.zeros(len(used))))
    ratio = max(0.0, 2 * (fit.penalised_log_likelihood - without))
    effects = {
        name: _effect(float(fit.coefficients[row]), float(np.sqrt(fit.covariance[row, row])))
        for row, name in enumerate(used, start=1)
    }
    return SwitchHazard(count, int(events.size), effects, float(special.chdtrc(len(used), ratio)))


def _effect(coefficient: float, sd: float) -> Effect:
    low, value, high = np.exp(
        [coefficient - NORMAL_95 * sd, coefficient, coefficient + NORMAL_95 * sd]
    ).tolist()
    return Effect(value, low, high)


def firth_logistic(design: FloatArray, events: FloatArray) -> LogisticFit:
    """Return a logistic regression by Firth's penalised likelihood.

    Args:
        design: Covariates with a column of ones, of full rank, shape (n, p).
        events: 0 or 1, shape (n,).
    """
    coefficients = np.zeros(design.shape[1])
    value = _penalised(design, events, coefficients)
    covariance: FloatArray = np.zeros((design.shape[1], design.shape[1]))
    for _ in range(_STEPS):
        probability = special.expit(design @ coefficients)
        weight = probability * (1 - probability)
        covariance = np.asarray(
            np.linalg.inv(design.T @ (design * weight[:, None])), dtype=np.float64
        )
        leverage = weight * np.einsum("ni,ij,nj->n", design, covariance, design)
        step = covariance @ (design.T @ (events - probability + leverage * (0.5 - probability)))
        step *= min(1.0, _LARGEST_MOVE / max(float(np.abs(step).max()), _TOLERANCE))
        while (after := _penalised(design, events, coefficients + step)) < value - _TOLERANCE:
            step = step / 2
        coefficients, value = coefficients + step, after
        if float(np.abs(step).max()) < _TOLERANCE:
            break
    return LogisticFit(coefficients, covariance, value)


def _penalised(design: FloatArray, events: FloatArray, coefficients: FloatArray) -> float:
    score = design @ coefficients
    probability = special.expit(score)
    information = design.T @ (design * (probability * (1 - probability))[:, None])
    _, log_determinant = np.linalg.slogdet(information)
    return float(np.dot(events, score) - np.logaddexp(0.0, score).sum() + 0.5 * log_determinant)
