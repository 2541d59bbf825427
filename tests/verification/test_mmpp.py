"""Markov-modulated Poisson processes: the recursions of the core against plain ones, and recovery
of what generated.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, linalg

from trafficgen._core import chain_vectors
from trafficgen.processes.mmpp.likelihood import (
    fit_mmpp,
    log_likelihood,
    occupancy,
    residuals,
    state_at_packets,
)
from trafficgen.units import FloatArray

RATES = np.array([400.0, 90.0, 5.0])
GENERATOR = np.array([[-3.0, 2.0, 1.0], [0.5, -1.5, 1.0], [0.2, 0.6, -0.8]])


def sampled(seed: int, rates: FloatArray, generator: FloatArray, packets: int) -> FloatArray:
    """Gaps of a process, by the competing exponential times of packets and jumps."""
    rng = np.random.default_rng(seed)
    state, since = 0, 0.0
    gaps: list[float] = []
    while len(gaps) < packets:
        leave = -generator[state, state]
        since += rng.exponential(1 / (leave + rates[state]))
        if rng.random() * (leave + rates[state]) < rates[state]:
            gaps.append(since)
            since = 0.0
        else:
            jump = np.maximum(generator[state], 0.0)
            state = int(rng.choice(rates.size, p=jump / jump.sum()))
    return np.array(gaps)


def test_likelihood_is_that_of_the_product_of_matrix_exponentials() -> None:
    gaps = sampled(1, RATES, GENERATOR, 300)
    vector, total = state_at_packets(RATES, GENERATOR), 0.0
    for gap in gaps:
        vector = vector @ linalg.expm((GENERATOR - np.diag(RATES)) * gap) @ np.diag(RATES)
        total += float(np.log(vector.sum()))
        vector = vector / vector.sum()
    assert log_likelihood(gaps, RATES, GENERATOR) == pytest.approx(total, rel=1e-10)


def test_density_of_one_gap_integrates_to_one() -> None:
    def density(gap: float) -> float:
        return float(np.exp(log_likelihood(np.array([gap]), RATES, GENERATOR)))

    mass = sum(
        integrate.quad(density, low, high)[0] for low, high in ((0, 0.05), (0.05, 1), (1, 30))
    )
    assert mass == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("length", [1, 2, 9, 10, 101])
def test_vectors_of_a_chain_are_those_of_the_plain_recursion(length: int) -> None:
    rng = np.random.default_rng(length)
    matrices, first = rng.random((length, 3, 3)), np.array([0.2, 0.3, 0.5])
    forward, backward, scale = chain_vectors(matrices, first)
    state = first
    for step in range(length):
        ahead = state @ matrices[step]
        assert scale[step] == pytest.approx(ahead.sum(), rel=1e-10)
        state = ahead / ahead.sum()
        np.testing.assert_allclose(forward[step + 1], state, rtol=1e-10)
    behind = np.ones(3)
    for step in range(length, -1, -1):
        np.testing.assert_allclose(
            backward[step] / backward[step].sum(), behind / behind.sum(), rtol=1e-9
        )
        behind = matrices[step - 1] @ behind if step else behind


def test_occupancy_solves_the_balance_equations() -> None:
    np.testing.assert_allclose(occupancy(GENERATOR) @ GENERATOR, 0, atol=1e-12)


def test_residuals_of_the_true_process_are_uniform_and_independent() -> None:
    gaps = sampled(2, RATES[:2], np.array([[-2.0, 2.0], [1.0, -1.0]]), 5000)
    fit = fit_mmpp(gaps, states=2)
    assert fit is not None
    values = residuals(gaps, fit)
    place = (np.arange(values.size) + 0.5) / values.size
    assert np.abs(np.sort(values) - place).max() < 1.63 / np.sqrt(
        values.size
    )  # 1% point of Kolmogorov's law
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 3.3 / np.sqrt(values.size)


@pytest.mark.parametrize(
    ("rates", "sojourns_s"),
    [((400.0, 50.0), (0.5, 1.0)), ((200.0, 20.0), (0.5, 0.5)), ((400.0, 50.0), (2.0, 5.0))],
)
def test_two_states_are_recovered(
    rates: tuple[float, float], sojourns_s: tuple[float, float]
) -> None:
    sojourn = np.array(sojourns_s)
    generator = np.array([[-1 / sojourn[0], 1 / sojourn[0]], [1 / sojourn[1], -1 / sojourn[1]]])
    gaps = sampled(5, np.array(rates), generator, 20_000)
    fit = fit_mmpp(gaps, states=2)
    assert fit is not None
    np.testing.assert_allclose(fit.rate_per_s, rates, rtol=0.06)
    # Each sojourn is the mean of as many exponential times as there are cycles.
    cycles = gaps.sum() / sojourn.sum()
    np.testing.assert_allclose(fit.mean_sojourn_s, sojourns_s, rtol=3 / np.sqrt(cycles))


def test_likelihood_does_not_fall_below_that_of_the_truth() -> None:
    generator = np.array([[-1.0, 1.0], [0.5, -0.5]])
    gaps = sampled(7, RATES[:2], generator, 3000)
    fit = fit_mmpp(gaps, states=2)
    assert fit is not None
    assert fit.log_likelihood >= log_likelihood(gaps, RATES[:2], generator)


def test_simultaneous_packets_alone_have_no_process() -> None:
    assert fit_mmpp(np.repeat([0.0, 0.01], [2000, 2000]), states=2) is None
