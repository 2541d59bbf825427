"""All experiments, paper by paper."""

from __future__ import annotations

from functools import cache

from trafficgen.reproduction.base import Experiment


@cache
def experiments() -> tuple[Experiment, ...]:
    """Return the experiments of all papers, in the order in which their findings are printed."""
    return ()
