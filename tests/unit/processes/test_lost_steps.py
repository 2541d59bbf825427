"""Steps too short for times so late would never reach the end: they are refused instead."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.distributions import MixedLaw
from trafficgen.errors import GenerationError
from trafficgen.processes.base import Span
from trafficgen.processes.rate_path import RateChain
from trafficgen.processes.renewal.sample import renewal_times

_LATE_S = 1e9  # neighbouring numbers of 64 bits are a tenth of a microsecond apart there


def _gaps(gap_s: float) -> MixedLaw:
    return MixedLaw(continuous=None, values=(gap_s,), probabilities=(1.0,))


def test_gaps_that_are_lost_beside_the_time_are_refused() -> None:
    def play(gap_s: float) -> int:
        times_s = renewal_times(
            _gaps(gap_s), Span(_LATE_S, _LATE_S + 1e-3), np.random.default_rng(1)
        )
        return times_s.size

    assert play(1e-4) > 1
    with pytest.raises(GenerationError, match="gaps of 1e-09 s on average are too short"):
        play(1e-9)


def test_dwells_that_are_lost_beside_the_time_are_refused() -> None:
    chain = RateChain(
        dwells=(lambda _, count: np.full(count, 1e-9),) * 2,
        mean_dwell_s=np.array([1e-9, 1e-9]),
        transition=np.array([[0.0, 1.0], [1.0, 0.0]]),
    )
    assert chain.path(Span(0.0, 1e-7), np.random.default_rng(1)).edge_s[-1] == 1e-7
    with pytest.raises(GenerationError, match="dwells of 1e-09 s on average are too short"):
        chain.path(Span(_LATE_S, _LATE_S + 1.0), np.random.default_rng(1))
