"""Policies that are tried on what a player chose."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.application.playback import Downloads, Playback
from trafficgen.calibration.application.policy import (
    Choices,
    Decisions,
    fit_policy,
    predict_choices,
)


@pytest.mark.parametrize("held_s", [0.1, 1.0, 3.9, 12.0])
def test_a_player_that_held_less_than_a_segment_is_judged(held_s: float) -> None:
    count, segment_s = 40, 4.0
    request_s = np.arange(count, dtype=np.float64) * segment_s
    downloads = Downloads(
        request_s, request_s + 2, np.zeros(count, dtype=np.bool_), np.arange(count) // 3 % 2
    )
    sizes = np.where(downloads.rung, 600_000, 300_000)
    playback = Playback(0.0, (), np.full(count, held_s), np.full(count, held_s), segment_s, 1.0)
    choices = Choices(downloads, sizes, [[600.0, 1200.0]], segment_s, 0.05)
    decisions = [Decisions(choices, playback, None)]
    predicted = predict_choices(decisions[0])
    assert predicted is not None
    assert np.isfinite(predicted.log_likelihood)
    assert np.exp(predicted.log_prior).sum() == pytest.approx(1)
    assert fit_policy(decisions)[0] is not None
