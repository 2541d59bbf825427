from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.path.loss_measures import estimate_loss, find_runs, wilson


def test_runs_are_counted_as_by_hand() -> None:
    flags = np.array([1, 0, 1, 1, 0, 0, 1, 1, 1], dtype=np.bool_)
    assert find_runs(flags).tolist() == [1, 2, 3]
    found = estimate_loss(find_runs(flags), packets=9, source="rtp")
    assert (found.rate, found.mean_burst_packets) == (6 / 9, 2.0)
    assert found.model is not None
    assert (found.model.good_to_bad.value, found.model.bad_to_good.value) == (1.0, 0.5)


def test_wilson_is_what_statsmodels_gives() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for lost, packets in ((0, 50), (3, 200), (200, 200)):
        low, high = wilson(lost / packets, packets)
        expected = proportion.proportion_confint(lost, packets, method="wilson")
        assert (low, high) == pytest.approx(expected, abs=1e-12)


def test_no_loss_has_an_upper_end_only() -> None:
    found = estimate_loss(np.zeros(0, dtype=np.int64), packets=1000, source="tcp")
    assert (found.rate, found.mean_burst_packets, found.low, found.model) == (0.0, None, 0.0, None)
    # the rule of three, nearly
    assert found.high == pytest.approx(0.0038, abs=0.0001)


def test_everything_lost_is_no_error() -> None:
    found = estimate_loss(np.array([10]), packets=10, source="pair")
    assert (found.rate, found.high, found.mean_burst_packets) == (1.0, 1.0, 10.0)
