from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.response.congestion_response import padhye_bps, tcp_friendly_bps


def test_the_bound_is_the_papers_formula() -> None:
    # 1.5 sqrt(2/3) 1500 B / (0.1 s sqrt(0.01)) = 183.7 kB/s
    assert tcp_friendly_bps(np.array(0.1), np.array(0.01)) == pytest.approx(8 * 183_711.7, rel=1e-6)
    assert tcp_friendly_bps(np.array(0.1), np.array(0.0)) == np.inf


def test_the_full_model_meets_its_limits() -> None:
    rtt_s = np.array(0.1)
    # without timeouts and for small p the model is the square-root law sqrt(3 / (2 b p)) / R
    small = padhye_bps(rtt_s, np.array(1e-6), timeout_s=0.0)
    assert small == pytest.approx(np.sqrt(3 / (2 * 2 * 1e-6)) / 0.1 * 1500 * 8, rel=0.01)
    # timeouts can only lower it, and so can loss
    losses = np.geomspace(1e-5, 0.5, 30)
    rates = padhye_bps(np.full(30, 0.1), losses)
    assert np.all(np.diff(rates) < 0)
    assert np.all(rates <= padhye_bps(np.full(30, 0.1), losses, timeout_s=0.0))
    assert padhye_bps(rtt_s, np.array(0.0)) == np.inf
    assert padhye_bps(rtt_s, np.array(1.0)) == 0.0


def test_the_full_model_and_its_known_approximation_agree() -> None:
    # equation 33 of the paper, which approximates equation 32: within 15% up to 5% loss
    p, rtt_s, timeout_s = np.array([0.001, 0.01, 0.02, 0.05]), 0.2, 1.0
    slow_start = timeout_s * np.minimum(1, 3 * np.sqrt(3 * 2 * p / 8)) * p * (1 + 32 * p**2)
    approximate = 1 / (rtt_s * np.sqrt(2 * 2 * p / 3) + slow_start) * 1500 * 8
    np.testing.assert_allclose(
        padhye_bps(np.full(4, rtt_s), p, timeout_s=timeout_s), approximate, rtol=0.15
    )
