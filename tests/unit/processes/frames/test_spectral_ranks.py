"""Series with a spectrum: the Rust loop does what a few lines of numpy do."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen._core import spectral_ranks
from trafficgen.processes.autocorrelated_series import Spectrum, fast_length_below
from trafficgen.processes.autocorrelated_series import spectral_ranks as ranks_with
from trafficgen.processes.frames.timing import score_spectrum
from trafficgen.units import FloatArray, IntArray


def misfit(ascending: FloatArray, amplitude: FloatArray, ranks: IntArray) -> float:
    """Return how far the amplitudes of values in an order are off."""
    return misfit_of(ascending[ranks], amplitude)


def misfit_of(series: FloatArray, amplitude: FloatArray) -> float:
    """Return the share of the power that is in differences between amplitudes, at the scale that
    suits best.
    """
    found = np.abs(np.fft.rfft(series))
    return float(
        1 - np.dot(found, amplitude) ** 2 / (np.dot(found, found) * np.dot(amplitude, amplitude))
    )


def ranks_in_numpy(
    ascending: FloatArray,
    amplitude: FloatArray,
    phase: FloatArray,
    *,
    turns: int,
    near: float,
    momentum: float = 0.7,
) -> IntArray:
    series = np.fft.irfft(amplitude * np.exp(1j * phase), n=ascending.size)
    values, wanted = (float(np.dot(part, part)) for part in (ascending, amplitude))
    whole = np.sqrt(ascending.size / 2 * values / wanted)
    scale, misfits = whole, [np.inf, np.inf]
    placed = np.zeros(ascending.size)
    for turn in range(turns):
        ranks = np.argsort(np.argsort(series))
        before, placed = placed, ascending[ranks]
        moved = placed + (momentum if turn >= 4 else 0.0) * (placed - before)
        off = misfit_of(moved, amplitude)
        enough = 0.985 * misfits[-1] if turn < 4 or not momentum else 0.985**2 * misfits[-2]
        if off <= near or off > enough:
            return ranks
        misfits.append(off)
        turn_scale, scale = scale, whole * np.sqrt(1 - off)
        bent = np.fft.rfft(moved)
        restored = bent * turn_scale * amplitude / np.maximum(np.abs(bent), 1e-300)
        beyond = 1.0 if turn % 2 == 0 else 0.0
        series = np.fft.irfft(restored + beyond * (restored - bent), n=ascending.size)
    return np.argsort(np.argsort(series))


def red_series(count: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return skewed values, amplitudes that fall with the frequency, and phases."""
    generator = np.random.default_rng(count)
    ascending = np.sort(generator.gamma(2.0, size=count))
    ascending -= ascending.mean()
    amplitude = np.append(0.0, 1 / np.arange(1.0, count // 2 + 1))
    return ascending, amplitude, 2 * np.pi * generator.random(amplitude.size)


@pytest.mark.parametrize("turns", [0, 1, 4, 7])
@pytest.mark.parametrize("count", [2, 8, 98, 100, 918, 4096])
def test_ranks_are_those_of_a_loop_in_numpy(count: int, turns: int) -> None:
    ascending, amplitude, phase = red_series(count)
    ranks = spectral_ranks(ascending, amplitude, phase, most_turns=turns, near=1e-4)
    assert sorted(ranks) == list(range(count))
    expected = ranks_in_numpy(ascending, amplitude, phase, turns=turns, near=1e-4)
    assert (
        np.mean(ranks == expected) > 0.99
    )  # values that differ by rounding alone may change places


def test_turns_end_when_amplitudes_are_as_near_as_asked() -> None:
    ascending, amplitude, phase = red_series(960)

    def after(turns: int, near: float) -> IntArray:
        return spectral_ranks(ascending, amplitude, phase, most_turns=turns, near=near)

    off = [misfit(ascending, amplitude, after(turns, -1.0)) for turns in range(6)]
    assert off == sorted(off, reverse=True)
    assert np.array_equal(after(30, off[2] * 1.001), after(2, -1.0))
    assert misfit(ascending, amplitude, after(300, -1.0)) < off[-1]


def test_momentum_makes_half_of_the_turns_bring_a_clock_as_near() -> None:
    generator = np.random.default_rng(3)
    lateness = generator.pareto(2.0, 8193)
    ascending = np.sort(np.diff(lateness))
    ascending -= ascending.mean()
    amplitude = np.abs(1 - np.exp(-2j * np.pi * np.arange(4097) / 8192))
    phase = 2 * np.pi * generator.random(amplitude.size)
    ranks = spectral_ranks(ascending, amplitude, phase, most_turns=16, near=0.0)
    without = ranks_in_numpy(ascending, amplitude, phase, turns=30, near=0.0, momentum=0.0)
    assert misfit(ascending, amplitude, ranks) <= misfit(ascending, amplitude, without)


def test_amplitudes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="5 amplitudes and 5 phases, 6 are needed"):
        spectral_ranks(np.arange(10.0), np.ones(5), np.ones(5), most_turns=1, near=0.0)
    with pytest.raises(ValueError, match="9 values, an even number is needed"):
        spectral_ranks(np.arange(9.0), np.ones(5), np.ones(5), most_turns=1, near=0.0)


@pytest.mark.parametrize("count", [8, 13, 997, 1999, 20_011])
def test_series_of_any_length_have_every_rank_once(count: int) -> None:
    spectrum = Spectrum(
        upper=np.array([0.05, 0.5]),
        share=np.array([0.6, 0.2]),
        line_frequency=np.array([0.1]),
        line_share=np.array([0.2]),
    )
    ranks = ranks_with(spectrum, count, np.random.default_rng(count))
    assert sorted(ranks) == list(range(count))
    given = ranks_with(
        spectrum,
        count,
        np.random.default_rng(count),
        ascending=np.sort(np.random.default_rng(1).random(count)),
    )
    assert sorted(given) == list(range(count))


@pytest.mark.parametrize("count", [20, 101, 1024, 4999, 99_991, 1_000_003])
def test_a_series_is_made_hardly_longer_than_it_is_needed(count: int) -> None:
    spectrum = Spectrum(
        upper=np.array([0.5]),
        share=np.array([1.0]),
        line_frequency=np.array([]),
        line_share=np.array([]),
    )
    length = spectrum.length(count)
    assert length % 2 == 0
    assert count <= length <= 1.1 * count
    rest = length
    for prime in (2, 3, 5):
        while rest % prime == 0:
            rest //= prime
    assert rest == 1


def test_a_length_is_chosen_into_which_a_strict_period_fits() -> None:
    spectrum = Spectrum(
        upper=np.array([0.5]),
        share=np.array([0.1]),
        line_frequency=np.array([1 / 48]),
        line_share=np.array([0.9]),
    )
    length = spectrum.length(4999)
    assert length % 48 == 0
    ranks = ranks_with(spectrum, 4999, np.random.default_rng(0))
    spectral = np.abs(np.fft.rfft(ranks[: 4999 // 48 * 48] - np.mean(ranks))) ** 2
    assert spectral[4999 // 48] > 0.8 * spectral[1:].sum()


def test_the_spectrum_of_a_long_series_is_that_of_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    count = 131_101  # a prime number, whose transform takes most memory
    noise = np.random.default_rng(3).normal(size=count + 20)
    scores = np.convolve(noise, np.ones(21), "valid") + np.sin(np.arange(count) * 2 * np.pi / 25)
    whole = score_spectrum(scores)
    monkeypatch.setattr("trafficgen.processes.frames.timing._SPECTRA.long_series", count)
    cut = score_spectrum(scores)
    assert whole is not None
    assert cut is not None
    assert cut != whole
    assert fast_length_below(count) == 131_072
    low = np.interp(cut.upper_frequency, whole.upper_frequency, np.cumsum(whole.share))
    np.testing.assert_allclose(np.cumsum(cut.share), low, atol=0.01)
    assert cut.lines[0].frequency == pytest.approx(1 / 25, abs=2 / count)
