"""Power-law tails against the `powerlaw` package of Alstott, Bullmore and Plenz, and against known
tails.
"""

from __future__ import annotations

import time

import numpy as np
import powerlaw
import pytest
from tests.verification.records import RecordCheck

from trafficgen.calibration.tails import fit_tail
from trafficgen.errors import TooFewObservationsError
from trafficgen.units import FloatArray


def body_and_tail(seed: int, n: int, *, alpha: float = 2.5) -> FloatArray:
    """Return values of which those above 5 follow a power law, and the others do not."""
    rng = np.random.default_rng(seed)
    return rng.permutation(
        np.concatenate((rng.uniform(0.1, 5, n // 2), 5 * (1 + rng.pareto(alpha - 1, n - n // 2))))
    )


@pytest.mark.filterwarnings("ignore::DeprecationWarning:powerlaw.*")
@pytest.mark.parametrize("seed", range(3))
def test_start_and_exponent_agree_with_powerlaw(seed: int) -> None:
    sample = body_and_tail(seed, 2000)
    theirs = powerlaw.Fit(sample, verbose=0)
    same_start = fit_tail(sample, xmin=theirs.xmin)
    assert same_start.alpha == pytest.approx(theirs.alpha, rel=1e-6)
    # Theirs looks at one side of each step, so that another start may be a little nearer by our
    # distance.
    assert same_start.ks == pytest.approx(theirs.D, abs=2 / same_start.observations)
    ours = fit_tail(sample)
    assert ours.ks <= same_start.ks
    assert ours.alpha == pytest.approx(
        theirs.alpha, abs=2 * theirs.alpha / np.sqrt(ours.observations)
    )


def test_likelihood_ratios_agree_with_powerlaw() -> None:
    sample = body_and_tail(1, 2000)
    theirs = powerlaw.Fit(sample, xmin=5.0, verbose=0)
    ours = fit_tail(sample, xmin=5.0)
    ratio, p_value = theirs.distribution_compare("power_law", "exponential")
    assert ours.exponential.ratio == pytest.approx(ratio, rel=1e-3)
    assert ours.exponential.p_value == pytest.approx(p_value, rel=0.02, abs=1e-12)


def test_tail_of_a_log_normal_law_is_not_taken_for_a_power_law() -> None:
    tail = fit_tail(np.random.default_rng(0).lognormal(0, 0.7, 20_000), xmin=1.0)
    assert tail.lognormal.ratio < 0
    assert tail.lognormal.p_value < 0.01


def test_large_sample_gives_start_and_exponent_of_its_tail() -> None:
    tail = fit_tail(body_and_tail(7, 200_000))
    # Three standard errors of alpha at the number of values in the tail.
    assert tail.alpha == pytest.approx(2.5, abs=3 * 1.5 / np.sqrt(tail.observations))
    # Every start within the power law would do; none below it.
    assert 4.9 < tail.xmin < 20
    assert tail.low < 2.5 < tail.high
    assert tail.exponential.ratio > 0


def test_interval_of_the_exponent_covers(record_check: RecordCheck) -> None:
    covered = 0
    for seed in range(300):
        tail = fit_tail(1 + np.random.default_rng(seed).pareto(1.5, 100), xmin=1.0)
        covered += tail.low <= 2.5 <= tail.high
    record_check(
        "exponent of a power-law tail: 300 fits of 100 values",
        expected=0.95,
        measured=covered / 300,
        unit="share",
        accepted="91% to 99%",
    )
    # 95% of 300: standard error 1.3 points, three of them
    assert 0.91 <= covered / 300 <= 0.99


@pytest.mark.slow
def test_five_million_values_take_less_than_a_minute() -> None:
    sample = body_and_tail(7, 5_000_000)
    begin = time.perf_counter()
    tail = fit_tail(sample)
    assert time.perf_counter() - begin < 60
    assert tail.alpha == pytest.approx(2.5, abs=0.02)


def test_too_few_values_have_no_tail() -> None:
    with pytest.raises(TooFewObservationsError, match="tail"):
        fit_tail(np.array([1.0, 2.0, 3.0]))
    with pytest.raises(TooFewObservationsError, match="tail from 50"):
        fit_tail(np.arange(1.0, 52.0), xmin=50.0)
