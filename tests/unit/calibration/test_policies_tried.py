"""Policies that are tried on what a player chose."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.application.likely_ladders import LikelyLadder
from trafficgen.calibration.application.playback import Downloads, Playback
from trafficgen.calibration.application.policy import (
    Choices,
    Decisions,
    fit_policy,
    predict_choices,
)


@pytest.mark.parametrize("held_s", [0.1, 1.0, 3.9, 12.0])
def test_a_player_that_held_less_than_a_segment_is_judged(held_s: float) -> None:
    decisions = decide(held_s=held_s)
    predicted = predict_choices(decisions)
    assert predicted is not None
    assert np.isfinite(predicted.log_likelihood)
    assert np.exp(predicted.log_prior).sum() == pytest.approx(1)
    assert fit_policy([decisions])[0] is not None


def test_a_player_that_is_always_busy_takes_no_share_of_the_throughput() -> None:
    shares = []
    for took_s in (2.0, 4.0):
        # Of sizes in proportion, so that the throughput, which policies hear of, is the same.
        policy, _ = fit_policy([decide(held_s=12.0, took_s=took_s, scale=took_s / 2)])
        assert policy is not None
        shares.append((policy.alternatives | {policy.family: policy.weight})["throughput"])
    assert shares[1] < 0.5 * shares[0]


def decide(*, held_s: float, took_s: float = 2.0, scale: float = 1.0) -> Decisions:
    """Return choices by turns between two rungs, in segments of 4 s that took so long to come."""
    count, segment_s = 40, 4.0
    request_s = np.arange(count, dtype=np.float64) * segment_s
    downloads = Downloads(
        request_s, request_s + took_s, np.zeros(count, dtype=np.bool_), np.arange(count) // 3 % 2
    )
    sizes = scale * np.where(downloads.rung, 600_000, 300_000)
    playback = Playback(0.0, (), np.full(count, held_s), np.full(count, held_s), segment_s, 1.0)
    ladder_kbps = [600.0, 1200.0]
    ladders = [LikelyLadder(ladder_kbps, 1.0, 0, has_between=True)]
    choices = Choices(downloads, sizes, ladder_kbps, ladders, segment_s, 0.05)
    return Decisions(choices, playback, None)
