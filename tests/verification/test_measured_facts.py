"""Indices of dispersion and autocorrelations against processes for which they are known."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.session_measures import measure_facts
from trafficgen.units import ns_array_from_s


def test_a_poisson_process_has_dispersion_1_at_all_scales() -> None:
    rng = np.random.default_rng(0)
    time_ns = ns_array_from_s(np.cumsum(rng.exponential(0.01, 100_000)))
    facts = measure_facts(time_ns, np.full(100_000, 500), start_ns=0)
    assert facts is not None
    for fact in facts.scales:
        bins = 1000 / fact.bin_s
        # a sample variance of n nearly normal counts is off by sqrt(2 / n); five standard errors
        assert abs(fact.dispersion_of_counts - 1) < 5 * np.sqrt(2 / (bins - 1)) + 0.02
        assert abs(fact.relative_variance * 100 * fact.bin_s - fact.dispersion_of_counts) < 0.01
    for sums in facts.dispersion_of_intervals:
        # the kurtosis of a sum of k exponential gaps is 3 + 6 / k
        assert abs(sums.value - 1) < 5 * np.sqrt((2 + 6 / sums.gaps) * sums.gaps / 100_000) + 0.01
    assert max(abs(value) for value in facts.gap_autocorrelation) < 5 / np.sqrt(100_000)


def test_batches_raise_the_dispersion_to_their_size() -> None:
    rng = np.random.default_rng(1)
    time_ns = np.repeat(ns_array_from_s(np.cumsum(rng.exponential(0.05, 20_000))), 4)
    facts = measure_facts(time_ns, np.full(80_000, 500), start_ns=0)
    assert facts is not None
    # counts are four times those of a Poisson process: variance / mean is 4
    second = next(fact for fact in facts.scales if fact.bin_s > 1)
    assert abs(second.dispersion_of_counts - 4) < 5 * 4 * np.sqrt(2 / 700)


def test_a_constant_rate_has_no_dispersion_and_no_autocorrelation() -> None:
    time_ns = np.arange(2000, dtype=np.int64) * 20_000_000
    facts = measure_facts(time_ns, np.full(2000, 200), start_ns=0)
    assert facts is not None
    assert all(sums.value < 1e-20 for sums in facts.dispersion_of_intervals)
    assert all(fact.dispersion_of_counts < 1e-3 for fact in facts.scales if fact.bin_s > 0.5)
    assert facts.gap_autocorrelation == ()


def test_facts_are_small_and_absent_without_time() -> None:
    rng = np.random.default_rng(2)
    time_ns = ns_array_from_s(np.cumsum(rng.exponential(0.001, 200_000)))
    facts = measure_facts(time_ns, np.full(200_000, 500), start_ns=0)
    assert facts is not None
    assert len(facts.model_dump_json()) < 3000
    assert measure_facts(np.zeros(5, dtype=np.int64), np.full(5, 100), start_ns=0) is None
