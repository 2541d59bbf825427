"""How switches of the level depend on loss and goodput before them: a discrete-time hazard model.

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

from trafficgen.critical_values import NORMAL_95
from trafficgen.flows import SessionView, extend_sequence
from trafficgen.imports import special
from trafficgen.processes.semi_markov.rate_levels import Levels
from trafficgen.units import BoolArray, FloatArray, IntArray, ns_from_s

#: Fewer switches in a direction do not show what they depend on.
FEWEST_SWITCHES = 10
#: Length of an interval, s, and how many before each give its loss and goodput.
_INTERVAL_S = 1.0
_RECENT = 5
#: A session of years, most of it silence, would have more intervals than memory has room for.
_LONGEST_S = 30 * 86_400.0
#: Larger steps of the RTP sequence number are a restart (MAX_DROPOUT of RFC 3550 A.1).
_LONGEST_GAP_PACKETS = 3000
_STEPS = 100
_TOLERANCE = 1e-8
_LARGEST_MOVE = 2.0

Direction = Literal["down", "up"]


@dataclass(frozen=True)
class Effect:
    """Factor of the odds of a switch for one more standard deviation, with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SwitchHazard:
    """A fitted hazard model.

    Attributes:
        switches: Intervals with a switch in the direction.
        intervals: Intervals at risk.
        p_value: Of all covariates together, by the penalised likelihood ratio.
        odds_ratio_per_sd: Name of the covariate -> its effect, given the others.
    """

    switches: int
    intervals: int
    p_value: float
    odds_ratio_per_sd: dict[str, Effect]


@dataclass(frozen=True)
class LevelAssociation:
    """Hazards of stepping down and up, each the fit or why it is missing."""

    down: SwitchHazard | str
    up: SwitchHazard | str


def associate_switches(view: SessionView, levels: Levels) -> LevelAssociation | str:
    """Estimate how the steps of a session depend on loss and goodput, or say why it cannot.

    Time is cut into intervals of 1 s. Covariates of each are the loss (RTP numbers missing, or TCP
    segments retransmitted, over packets) and the goodput (over the rate of the level at the time)
    in the 5 s before it.
    """
    if levels.switches < FEWEST_SWITCHES:
        return f"{levels.switches} switches, {FEWEST_SWITCHES} are needed"
    lost = _find_losses(view)
    if lost is None:
        return "neither RTP nor TCP sequence numbers in the media flows"
    first_ns, last_ns = levels.edge_ns[0], levels.edge_ns[-1]
    if last_ns - first_ns > ns_from_s(_LONGEST_S):
        return f"the session is longer than {_LONGEST_S / 86_400:g} days"
    edges_ns = np.arange(first_ns, last_ns, ns_from_s(_INTERVAL_S))
    if edges_ns.size < _RECENT + 2:
        return "the session is too short"
    time_ns, media = view.table.time_ns, view.media
    packets = _recent_sums(time_ns[media], np.ones(int(media.sum())), edges_ns)
    size = _recent_sums(time_ns[media], view.media_ip_bytes.astype(np.float64), edges_ns)
    missing = _recent_sums(time_ns[lost[0]], lost[1], edges_ns)
    # The level just before each interval: a switch at its very start still comes from that level.
    dwell = np.maximum(np.searchsorted(levels.edge_ns, edges_ns[:-1], side="left") - 1, 0)
    level = levels.level[dwell]
    with np.errstate(invalid="ignore", divide="ignore"):
        covariates = {
            "loss": missing / (packets + missing),
            "goodput": size / _RECENT / _INTERVAL_S / levels.rate_bytes_per_s[level],
        }
    down, up = _find_steps(levels, edges_ns, "down"), _find_steps(levels, edges_ns, "up")
    return LevelAssociation(
        down=fit_switch_hazard(down, level > 0, covariates),
        up=fit_switch_hazard(up, level < len(levels) - 1, covariates),
    )


def _find_losses(view: SessionView) -> tuple[IntArray, FloatArray] | None:
    """Return the rows of packets that reveal loss, and how many are lost before each."""
    rows, counts = [], []
    table = view.table
    for flow in view.media_flows:
        mine = view.media & (table.flow == flow)
        for column, bits in (("rtp_sequence", 16), ("tcp_sequence", 32)):
            index = np.flatnonzero(mine & table.is_known(column))
            if index.size < 2:
                continue
            number = extend_sequence(table.values(column).astype(np.int64)[index], bits=bits)
            if column == "tcp_sequence":
                end = number + table.payload_bytes[index]
                lost = end[1:] <= np.maximum.accumulate(end)[:-1]
            else:
                step = np.diff(np.maximum.accumulate(number))
                lost = np.where(step < _LONGEST_GAP_PACKETS, np.maximum(step - 1, 0), 0)
            rows.append(index[1:])
            counts.append(lost.astype(np.float64))
            break
    return (np.concatenate(rows), np.concatenate(counts)) if rows else None


def _recent_sums(time_ns: IntArray, weight: FloatArray, edges_ns: IntArray) -> FloatArray:
    """Sum weights over the intervals before each; NaN where these are not all there."""
    intervals = edges_ns.size - 1
    place = np.searchsorted(edges_ns, time_ns, side="right") - 1
    inside = (place >= 0) & (place < intervals)
    series = np.bincount(place[inside], weights=weight[inside], minlength=intervals)
    total = np.concatenate(([0.0], np.cumsum(series)))
    recent = np.full(intervals, np.nan)
    recent[_RECENT:] = total[_RECENT:intervals] - total[: intervals - _RECENT]
    return recent


def _find_steps(levels: Levels, edges_ns: IntArray, direction: Direction) -> BoolArray:
    """Return in which intervals the source steps down or up."""
    change = np.diff(levels.level)
    at_ns = levels.edge_ns[1:-1][change < 0 if direction == "down" else change > 0]
    steps = np.zeros(edges_ns.size - 1, dtype=np.bool_)
    place = np.searchsorted(edges_ns, at_ns, side="right") - 1
    steps[place[(place >= 0) & (place < steps.size)]] = True
    return steps


def fit_switch_hazard(
    switched: BoolArray, at_risk: BoolArray, covariates: Mapping[str, FloatArray]
) -> SwitchHazard | str:
    """Fit the hazard of switching in one direction, or say why there is nothing to fit.

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
    used = {name: values[known] for name, values in covariates.items() if np.std(values[known]) > 0}
    if not used:
        return "nothing that could go with the switches varies"
    if count == events.size:
        return "there is a switch in every interval"
    columns = [(values - values.mean()) / values.std() for values in used.values()]
    design = np.column_stack([np.ones(events.size), *columns])
    coefficients, covariance, penalised = fit_firth_logistic(design, events)
    # Without effects all weights are equal, and the penalised likelihood has its maximum in closed
    # form; the penalty stays that of the whole model (Heinze and Schemper, "A solution to the
    # problem of separation", 2002).
    share = (count + design.shape[1] / 2) / (events.size + design.shape[1])
    without = _penalised(design, events, np.append(special.logit(share), np.zeros(len(used))))
    ratio = max(0.0, 2 * (penalised - without))
    effects = {
        name: _effect(float(coefficients[row]), float(np.sqrt(covariance[row, row])))
        for row, name in enumerate(used, start=1)
    }
    return SwitchHazard(count, int(events.size), float(special.chdtrc(len(used), ratio)), effects)


def _effect(coefficient: float, sd: float) -> Effect:
    ends = [coefficient - NORMAL_95 * sd, coefficient, coefficient + NORMAL_95 * sd]
    low, value, high = np.exp(ends).tolist()
    return Effect(value, low, high)


def fit_firth_logistic(
    design: FloatArray, events: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Fit a logistic regression by Firth's penalised likelihood.

    Args:
        design: Covariates with a column of ones, of full rank, shape (n, p).
        events: 0 or 1, shape (n,).

    Returns:
        Coefficients, shape (p,); their covariance, the inverse of the Fisher information, shape
        (p, p); and the log-likelihood with half the log-determinant of the information.
    """
    coefficients = np.zeros(design.shape[1])
    value = _penalised(design, events, coefficients)
    covariance: FloatArray = np.zeros((design.shape[1], design.shape[1]))
    for _ in range(_STEPS):
        probability = special.expit(design @ coefficients)
        weight = probability * (1 - probability)
        covariance = np.asarray(np.linalg.inv(design.T @ (design * weight[:, None])))
        leverage = weight * np.einsum("ni,ij,nj->n", design, covariance, design)
        step = covariance @ (design.T @ (events - probability + leverage * (0.5 - probability)))
        step *= min(1.0, _LARGEST_MOVE / max(float(np.abs(step).max()), _TOLERANCE))
        while (after := _penalised(design, events, coefficients + step)) < value - _TOLERANCE:
            step = step / 2
        coefficients, value = coefficients + step, after
        if float(np.abs(step).max()) < _TOLERANCE:
            break
    return coefficients, covariance, value


def _penalised(design: FloatArray, events: FloatArray, coefficients: FloatArray) -> float:
    score = design @ coefficients
    probability = special.expit(score)
    information = design.T @ (design * (probability * (1 - probability))[:, None])
    _, log_determinant = np.linalg.slogdet(information)
    return float(np.dot(events, score) - np.logaddexp(0.0, score).sum() + 0.5 * log_determinant)
