"""Series with a spectrum: the Rust loop does what a few lines of numpy do."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen._core import spectral_ranks
from trafficgen.units import FloatArray, IntArray


def ranks_in_numpy(ascending: FloatArray, amplitude: FloatArray, phase: FloatArray, *, turns: int) -> IntArray:
    series = np.fft.irfft(amplitude * np.exp(1j * phase), n=ascending.size)
    for _ in range(turns):
        ranks = np.argsort(np.argsort(series))
        bent = np.fft.rfft(ascending[ranks])
        series = np.fft.irfft(bent * amplitude / np.maximum(np.abs(bent), 1e-300), n=ascending.size)
    return np.argsort(np.argsort(series))


@pytest.mark.parametrize("count", [8, 97, 100, 917, 4096])
def test_ranks_are_those_of_a_loop_in_numpy(count: int) -> None:
    generator = np.random.default_rng(count)
    ascending = np.sort(generator.gamma(2.0, size=count))
    ascending -= ascending.mean()
    amplitude = np.append(0.0, 1 / np.arange(1.0, count // 2 + 1))
    phase = 2 * np.pi * generator.random(amplitude.size)
    ranks = spectral_ranks(ascending, amplitude, phase, most_turns=7, still=0.0)
    assert sorted(ranks) == list(range(count))
    expected = ranks_in_numpy(ascending, amplitude, phase, turns=7)
    assert np.mean(ranks == expected) > 0.99  # values that differ by rounding alone may change places


def test_a_turn_that_moves_hardly_a_rank_is_the_last() -> None:
    generator = np.random.default_rng(0)
    ascending = np.sort(generator.normal(size=917))
    amplitude, phase = 1 / (1 + np.arange(459.0)), 2 * np.pi * generator.random(459)

    def after(turns: int, still: float) -> IntArray:
        return spectral_ranks(ascending, amplitude, phase, most_turns=turns, still=still)

    assert 0.7 < np.mean(after(500, 0.01) == after(500, 0.0)) < 1.0
    assert np.array_equal(after(500, 1.0), after(1, 0.0))


def test_amplitudes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="5 amplitudes and 5 phases, 6 are needed"):
        spectral_ranks(np.arange(10.0), np.ones(5), np.ones(5), most_turns=1, still=0.0)
