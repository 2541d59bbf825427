"""Ladders that a player may have had, by the rungs that it visited, and how likely each is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from trafficgen.models import complete_ladder
from trafficgen.models.application import chance_of_end, chance_of_no_between


@dataclass(frozen=True)
class LikelyLadder:
    """A ladder that a player may have had.

    Attributes:
        rungs_kbps: Its rungs, ascending.
        weight: How likely it is beforehand.
        above: Rungs above those that were visited.
        has_between: Whether there are rungs where those that were visited are far apart.
    """

    rungs_kbps: list[float]
    weight: float
    above: int
    has_between: bool


def propose_ladders(
    visited_kbps: Sequence[float], highest_kbps: float, *, most_above: int
) -> list[LikelyLadder]:
    """Return ladders with the rungs that were visited, the one of most rungs last.

    With rungs that were not visited, a policy must explain why. Ladders that are equal count once.

    Args:
        visited_kbps: Rungs that were visited, ascending.
        highest_kbps: What the path had room for.
        most_above: Rungs above the highest one, at most.
    """
    none_between = math.prod(
        chance_of_no_between(*pair) for pair in itertools.pairwise(visited_kbps)
    )
    found: list[LikelyLadder] = []
    for has_between, share in ((False, none_between), (True, 1 - none_between)):
        left, ladders = share, list[LikelyLadder]()
        for above in range(most_above + 1 if share > 0 else 0):
            rungs_kbps = complete_ladder(
                visited_kbps, highest_kbps, most_above=above, has_between=has_between
            )
            if above and len(rungs_kbps) == len(ladders[0].rungs_kbps):
                # The path had room for none: whether there are any is not seen.
                ladders = [LikelyLadder(rungs_kbps, share, 1, has_between)]
                break
            weight = left * (chance_of_end(len(rungs_kbps)) if above < most_above else 1.0)
            ladders.append(LikelyLadder(rungs_kbps, weight, above, has_between))
            left -= weight
        found += ladders
    return found
