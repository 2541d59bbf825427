"""Phases of streams from known generators: change points, their intervals, and no buffering where
there is none.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.verification.records import RecordCheck

from trafficgen.calibration.phases.session_phases import Phases, find_phases
from trafficgen.flows import choose_session
from trafficgen.randomness import random_stream
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray

TableMaker = Callable[..., PacketTable]
Draw = Callable[[np.random.Generator, int], FloatArray]
Source = Callable[[np.random.Generator, float], FloatArray]
RATE_PER_S = 60.0


def phases_of(make_table: TableMaker, time_s: FloatArray, *, seed: int) -> Phases:
    generator = random_stream(seed, session=0, purpose="phases")
    return find_phases(
        choose_session(make_table(time_s - time_s[0])), tick_s=1e-9, generator=generator
    )


def renewal(draw: Draw) -> Source:
    """Packets at gaps of one law, of which ``draw`` gives values with mean 1."""

    def source(rng: np.random.Generator, end_s: float) -> FloatArray:
        time_s = np.zeros(0)
        while time_s.size == 0 or time_s[-1] < end_s:
            gap_s = draw(rng, int(1.5 * RATE_PER_S * end_s)) / RATE_PER_S
            time_s = np.concatenate(
                (time_s, (time_s[-1] if time_s.size else 0.0) + np.cumsum(gap_s))
            )
        return time_s[time_s < end_s]

    return source


def switching(rates_per_s: tuple[float, ...], dwell_s: tuple[float, ...]) -> Source:
    """Poisson packets at levels that last an exponential time; any level may be the first or the
    next.
    """

    def source(rng: np.random.Generator, end_s: float) -> FloatArray:
        parts, start_s, level = [], 0.0, int(rng.integers(len(rates_per_s)))
        while start_s < end_s:
            stay_s = rng.exponential(dwell_s[level])
            parts.append(
                start_s + np.sort(rng.uniform(0, stay_s, rng.poisson(rates_per_s[level] * stay_s)))
            )
            start_s += stay_s
            level = int(rng.choice([other for other in range(len(rates_per_s)) if other != level]))
        time_s = np.concatenate(parts)
        return time_s[time_s < end_s]

    return source


def fractional_noise(hurst: float) -> Source:
    """Poisson packets whose rate in 0.1 s is fractional Gaussian noise (circulant embedding, Davies
    and Harte 1987).
    """

    def source(rng: np.random.Generator, end_s: float) -> FloatArray:
        n = round(end_s / 0.1)
        lag = np.arange(n + 1)
        power = 2 * hurst
        covariance = 0.5 * ((lag + 1) ** power - 2 * lag**power + np.abs(lag - 1.0) ** power)
        eigenvalues = np.fft.fft(np.concatenate((covariance, covariance[1:-1][::-1]))).real.clip(0)
        normal = rng.normal(size=eigenvalues.size) + 1j * rng.normal(size=eigenvalues.size)
        noise = np.fft.fft(np.sqrt(eigenvalues / eigenvalues.size) * normal).real[:n]
        counts = rng.poisson(np.clip(1 + 0.4 * noise, 0, None) * RATE_PER_S * 0.1)
        start_s = np.repeat(0.1 * np.arange(n), counts)
        return np.sort(start_s + rng.uniform(0, 0.1, start_s.size))

    return source


def on_off(*, pause_s: float = 5.0, on_cv: float = 0.3) -> Source:
    """ON periods of about 1.5 s, log-normal or else exponential, and log-normal pauses."""

    def source(rng: np.random.Generator, end_s: float) -> FloatArray:
        parts, start_s = [], 0.0
        while start_s < end_s:
            on_s = 1.5 * (rng.exponential() if on_cv == 1 else rng.lognormal(0, on_cv))
            parts.append(start_s + np.sort(rng.uniform(0, on_s, max(2, round(300 * on_s)))))
            start_s += on_s + pause_s * rng.lognormal(0, 0.3)
        return np.concatenate(parts)

    return source


STATIONARY: dict[str, Source] = {
    "exponential": renewal(lambda rng, n: rng.exponential(1, n)),
    "log-normal 1": renewal(lambda rng, n: rng.lognormal(-0.5, 1, n)),
    "log-normal 2": renewal(lambda rng, n: rng.lognormal(-2, 2, n)),
    "Pareto 1.2": renewal(lambda rng, n: (rng.pareto(1.2, n) + 1) / 6),
    "Pareto 1.5": renewal(lambda rng, n: (rng.pareto(1.5, n) + 1) / 3),
    "Weibull 0.5": renewal(lambda rng, n: rng.weibull(0.5, n) / 2),
    "hyperexponential": renewal(
        lambda rng, n: rng.exponential(1, n) * np.where(rng.random(n) < 0.9, 1, 20) / 2.9
    ),
    "constant": renewal(lambda rng, n: np.ones(n)),
    "two-state MMPP": switching((20, 120), (2, 1)),
    "four levels": switching((24, 45, 78, 135), (12, 18, 25, 40)),
    "fractional noise 0.7": fractional_noise(0.7),
    "fractional noise 0.9": fractional_noise(0.9),
    "ON/OFF": on_off(),
    "ON/OFF, short pauses": on_off(pause_s=0.7),
    "ON/OFF, exponential ON": on_off(pause_s=0.7, on_cv=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STATIONARY)
@pytest.mark.parametrize("end_s", [180.0, 600.0])
def test_stationary_streams_have_no_buffering(
    make_table: TableMaker, name: str, end_s: float, record_check: RecordCheck
) -> None:
    replicates = 100
    found = 0
    for seed in range(replicates):
        time_s = STATIONARY[name](np.random.default_rng(seed), end_s)
        found += phases_of(make_table, time_s, seed=seed).buffering_end_s is not None
    record_check(
        f"buffering found where there is none: {name}, {end_s:g} s, {replicates} sessions",
        expected=0.0,
        measured=found / replicates,
        unit="share",
        accepted="at most 9.4%",
    )
    # 5% and two standard errors of sqrt(0.05 0.95 / 100)
    assert found / replicates <= 0.05 + 2 * 0.022


@pytest.mark.slow
def test_buffering_by_one_process_is_not_divided(make_table: TableMaker) -> None:
    found = divided = 0
    for source in STATIONARY.values():
        for seed in range(20):
            rng = np.random.default_rng(seed)
            buffering_s, playout_s = source(rng, 120.0) / 3, 40 + source(rng, 120.0)
            phases = phases_of(make_table, np.concatenate((buffering_s, playout_s)), seed=seed)
            found += phases.buffering_end_s is not None
            divided += bool(phases.falls_s)
    assert found >= 200
    # 5% and two standard errors; 2 of 225 are divided
    assert divided <= found * (0.05 + 2 * np.sqrt(0.05 * 0.95 / found))


@pytest.mark.slow
@pytest.mark.parametrize("end_s", [60.0, 300.0])
@pytest.mark.parametrize("ratio", [1.5, 4.0])
@pytest.mark.parametrize("change_s", [10.0, 40.0])
def test_the_change_of_a_poisson_stream_is_found_and_its_interval_covers_it(
    make_table: TableMaker, change_s: float, ratio: float, end_s: float, record_check: RecordCheck
) -> None:
    replicates, errors_s, covered, ratios = 100, [], 0, []
    for seed in range(replicates):
        rng = np.random.default_rng(seed)
        fast = np.sort(rng.uniform(0, change_s, rng.poisson(ratio * RATE_PER_S * change_s)))
        slow = np.sort(rng.uniform(change_s, end_s, rng.poisson(RATE_PER_S * (end_s - change_s))))
        time_s = np.concatenate((fast, slow))
        phases = phases_of(make_table, time_s, seed=seed)
        if phases.buffering_end_s is None:
            continue
        assert phases.low_s is not None
        assert phases.high_s is not None
        assert phases.ratio is not None
        change_after_first_s = change_s - time_s[0]
        errors_s.append(abs(phases.buffering_end_s - change_after_first_s))
        covered += phases.low_s <= change_after_first_s <= phases.high_s
        ratios.append(phases.ratio)
    record_check(
        f"end of buffering at {change_s:g} s of {end_s:g} s, ratio {ratio:g}: {replicates}"
        " sessions",
        expected=0.95,
        measured=covered / len(errors_s),
        unit="share",
        accepted="at least 88.4%",
    )
    assert len(errors_s) >= 0.95 * replicates
    # found changes within 10%: the likelihood's error is of the order 1 / (rate (ratio - 1)^2), 0.1
    # s here
    assert np.mean(np.array(errors_s) <= 0.1 * change_s) >= 0.95
    # 95% less three standard errors of 2.2%
    assert covered / len(errors_s) >= 0.95 - 3 * 0.022
    spread = np.sqrt(1 / (ratio * RATE_PER_S * change_s) + 1 / (RATE_PER_S * (end_s - change_s)))
    assert np.mean(ratios) / ratio == pytest.approx(
        1, abs=max(0.02, 3 * spread / np.sqrt(len(ratios)))
    )


@pytest.mark.slow
@pytest.mark.parametrize("pause_s", [0.4, 0.8, 2.0])
@pytest.mark.parametrize("fetch_s", [10.0, 30.0])
def test_a_first_fetch_without_a_pause_is_found_before_a_rhythm(
    make_table: TableMaker, fetch_s: float, pause_s: float, record_check: RecordCheck
) -> None:
    replicates, found, covered = 100, 0, 0
    for seed in range(replicates):
        rng = np.random.default_rng(seed)
        first_s = np.sort(rng.uniform(0, fetch_s, round(300 * fetch_s)))
        rhythm_s = fetch_s + pause_s + on_off(pause_s=pause_s)(rng, 60.0)
        phases = phases_of(make_table, np.concatenate((first_s, rhythm_s)), seed=seed)
        end_s, truth_s = phases.buffering_end_s, float(first_s[-1] - first_s[0])
        if end_s is None or abs(end_s - truth_s) > 0.1 * fetch_s:
            continue
        found += 1
        assert phases.low_s is not None
        assert phases.high_s is not None
        covered += phases.low_s <= truth_s <= phases.high_s
    record_check(
        f"a first fetch of {fetch_s:g} s before pauses of {pause_s:g} s: {replicates} sessions",
        expected=1.0,
        measured=found / replicates,
        unit="share",
        accepted="at least 95%",
    )
    assert found >= 0.95 * replicates
    # 95% less three standard errors of 2.2%
    assert covered / found >= 0.95 - 3 * 0.022
