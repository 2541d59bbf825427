"""The error of a fit to stretches of a session."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.sampled import ratio_error


def test_ratio_error_is_the_spread_of_ratios_of_stretches() -> None:
    rng = np.random.default_rng(5)
    ratios, errors = [], []
    for _ in range(400):
        below = rng.uniform(5, 15, 32)
        above = 3 * below + rng.normal(0, 2, 32)
        ratios.append(above.sum() / below.sum())
        errors.append(ratio_error(above, below, share=0.0))
    mean_error = float(np.mean([error for error in errors if error is not None]))
    # The spread of 400 ratios is known to 1 / sqrt(2 * 399) = 3.5%; three of these.
    assert mean_error == pytest.approx(np.std(ratios, ddof=1), rel=0.11)


def test_ratio_error_vanishes_where_all_was_taken_or_all_stretches_are_alike() -> None:
    below = np.array([1.0, 2.0, 3.0])
    assert ratio_error(np.array([1.0, 3.0, 2.0]), below, share=1.0) == 0
    assert ratio_error(2 * below, below, share=0.1) == pytest.approx(0, abs=1e-12)
    assert ratio_error(below[:1], below[:1], share=0.1) is None
