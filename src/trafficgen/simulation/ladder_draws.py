"""Ladders that a player may have, as far as a capture shows them.

The rungs that were visited stay; those between and above them are drawn: how many there are, and
how far apart. Laws are those of published ladders: Apple's HLS Authoring Specification, Netflix's,
YouTube's, and those of Pensieve, Puffer and the DASH Industry Forum.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from trafficgen.imports import special
from trafficgen.models.application import (
    STEP_SPREAD,
    chance_of_end,
    chance_of_no_more,
    chance_of_step,
    count_steps,
    predict_step,
    weigh_steps,
)

#: Where steps end (log), and most steps more than the fewest between visited rungs.
_LEAST_STEP, _MOST_STEP, _MOST_BETWEEN = math.log(1.2), math.log(3.0), 5
#: No ladder has more rungs than that, those that were visited apart; the plans of ``mpc`` over five
#: segments are too many with 19.
_MOST_RUNGS = 16


def draw_ladder(
    visited_kbps: list[float],
    safe_kbps: float,
    generator: np.random.Generator,
    *,
    is_whole: bool,
    has_between: bool = True,
) -> list[float]:
    """Draw a ladder with the rungs that were visited.

    Args:
        visited_kbps: Rungs that were visited, kbit/s, ascending.
        safe_kbps: A rung up to this rate would have been visited, kbit/s; infinite where unknown.
        generator: Of the draws.
        is_whole: Whether there is no rung above.
        has_between: Whether there are rungs where steps are wider than usual.

    Returns:
        The ladder, kbit/s, ascending.
    """
    ladder = [*visited_kbps[:1]]
    for low, high in itertools.pairwise(visited_kbps):
        ladder += _draw_between(low, high, generator) if has_between else [high]
    if not is_whole:
        ladder += _draw_above(ladder, safe_kbps, generator)
    others = [kbps for kbps in ladder if kbps not in visited_kbps]
    return sorted([*visited_kbps, *others[: max(_MOST_RUNGS - len(visited_kbps), 0)]])


def _draw_between(low_kbps: float, high_kbps: float, generator: np.random.Generator) -> list[float]:
    """Draw the rungs above one up to another."""
    far = math.log(high_kbps / low_kbps)
    least = count_steps(low_kbps, high_kbps)
    counts = np.arange(least, least + (_MOST_BETWEEN if least > 1 else 1))
    weights = weigh_steps(low_kbps, high_kbps, counts)
    count = int(generator.choice(counts, p=weights / weights.sum()))
    steps = np.exp(STEP_SPREAD * generator.standard_normal(count))
    ends = np.cumsum(steps) / steps.sum()
    return [*(low_kbps * np.exp(far * ends[:-1])).tolist(), high_kbps]


def _draw_above(
    ladder_kbps: list[float], safe_kbps: float, generator: np.random.Generator
) -> list[float]:
    """Draw the rungs above the highest one: none, or one beyond what was safe, and others."""
    step, spread = predict_step(ladder_kbps)
    top_kbps, found = ladder_kbps[-1], list[float]()
    # Without a bound of the rate, the path had no room that shows whether there are more.
    least = max(math.log(safe_kbps / top_kbps), _LEAST_STEP) if safe_kbps < math.inf else None
    beyond = 1.0 if least is None else chance_of_step(step, spread, least)
    ends = chance_of_no_more(len(ladder_kbps), beyond)
    while generator.random() >= ends and len(found) < _MOST_RUNGS:
        low = _LEAST_STEP if least is None else min(least, _MOST_STEP)
        # The first is about the steps below it, the others are about as far apart as that.
        step = _draw_step(step, spread, low, generator)
        least, spread = None, STEP_SPREAD
        top_kbps *= math.exp(step)
        found.append(top_kbps)
        ends = chance_of_end(len(ladder_kbps) + len(found))
    return found


def _draw_step(step: float, spread: float, least: float, generator: np.random.Generator) -> float:
    """Draw a log step from a normal law that is cut off."""
    low, high = special.ndtr((np.array([least, _MOST_STEP]) - step) / spread)
    drawn = step + spread * float(special.ndtri(low + (high - low) * generator.random()))
    return min(max(drawn, least), _MOST_STEP) if math.isfinite(drawn) else max(step, least)
