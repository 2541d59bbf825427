"""Starts of sessions follow their process, and the start of a session is the same however many
follow it.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from trafficgen.errors import GenerationError
from trafficgen.generation.arrivals import (
    Arrivals,
    ListedArrivals,
    PoissonArrivals,
    TogetherArrivals,
    arrival_times_ns,
    session_starts,
)
from trafficgen.generation.intensities import (
    ConstantIntensity,
    FlashCrowd,
    HourlyIntensity,
    Intensity,
    ListedIntensity,
)
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray

DAY_S = 86_400.0
#: More sessions in the evening than in the night, and none from 3 to 4.
HOURS = (2, 1, 1, 0, 1, 1, 2, 4, 6, 6, 5, 5, 6, 6, 5, 5, 6, 8, 10, 12, 13, 11, 8, 4)
HOURLY = HourlyIntensity(tuple(0.01 * rate for rate in HOURS))
CROWD = FlashCrowd(base_per_s=0.5, start_s=600.0, rise_s=60.0, peak_factor=20.0, decay_s=300.0)
#: A ramp up, a pause, a step, a ramp down to a lower rate that stays.
RAMPS = ListedIntensity((10.0, 70.0, 100.0, 100.0, 150.0, 150.0, 200.0), (0, 6, 6, 0, 0, 9, 2))
INTENSITIES = [
    pytest.param(ConstantIntensity(0.3), id="constant"),
    pytest.param(HOURLY, id="hourly"),
    pytest.param(
        HourlyIntensity(HOURLY.rates_per_s, begins_s=18.5 * 3600), id="from half past six"
    ),
    pytest.param(CROWD, id="flash crowd"),
    pytest.param(FlashCrowd(2.0, 0.0, 0.0, 50.0, 10.0), id="a jump at once"),
    pytest.param(FlashCrowd(2.0, 5.0, 3.0, 1.0, 10.0), id="no surge"),
    pytest.param(RAMPS, id="ramps and steps"),
]
#: A wrong process fails with near certainty, a right one with this probability, which the fixed
#: seed decides once.
SMALLEST_P = 0.001


def starts_s(arrivals: Arrivals, **options: float | int | None) -> FloatArray:
    return arrival_times_ns(arrivals, seed=7, **options) / 1e9  # type: ignore[arg-type]


@pytest.mark.parametrize("intensity", INTENSITIES)
def test_times_are_the_inverse_of_the_expected_number(intensity: Intensity) -> None:
    expected = np.linspace(0.001, 3000.0, 4000)
    # Starts are whole nanoseconds: in one of them fewer than 1e-10 sessions start at the lowest of
    # these rates.
    np.testing.assert_allclose(
        intensity.expected(intensity.times_s(expected)), expected, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize("intensity", INTENSITIES)
def test_the_expected_number_is_the_integral_of_what_the_rate_is_said_to_be(
    intensity: Intensity,
) -> None:
    def rate_per_s(time_s: float) -> float:
        if isinstance(intensity, ConstantIntensity):
            return intensity.rate_per_s
        if isinstance(intensity, HourlyIntensity):
            return intensity.rates_per_s[int((time_s + intensity.begins_s) % DAY_S // 3600)]
        if isinstance(intensity, ListedIntensity):
            return float(np.interp(time_s, intensity.knots_s, intensity.rates_per_s))
        assert isinstance(intensity, FlashCrowd)
        since_s, peak_s = time_s - intensity.start_s, intensity.start_s + intensity.rise_s
        surge = 0.0 if since_s < 0 else since_s / intensity.rise_s if time_s < peak_s else 1.0
        if time_s >= peak_s:
            surge = float(np.exp(-(time_s - peak_s) / intensity.decay_s))
        return intensity.base_per_s * (1 + (intensity.peak_factor - 1) * surge)

    middle_s = np.arange(0.0, 2 * DAY_S, 10.0) + 5.0
    if isinstance(intensity, FlashCrowd):
        middle_s = np.arange(0.0, 2000.0, 0.01) + 0.005
    step_s = middle_s[1] - middle_s[0]
    summed = np.cumsum([rate_per_s(time_s) for time_s in middle_s.tolist()]) * step_s
    np.testing.assert_allclose(intensity.expected(middle_s + step_s / 2), summed, rtol=1e-4)


@pytest.mark.parametrize("intensity", INTENSITIES)
def test_gaps_on_the_clock_of_the_intensity_are_exponential_and_independent(
    intensity: Intensity,
) -> None:
    times_s = starts_s(PoissonArrivals(intensity), sessions=5000)
    gaps = np.diff(intensity.expected(times_s), prepend=0.0)
    assert stats.kstest(gaps, "expon").pvalue > SMALLEST_P
    # 3.3 standard errors of a correlation of independent pairs.
    assert abs(np.corrcoef(gaps[1:], gaps[:-1])[0, 1]) < 3.3 / 5000**0.5


def test_sessions_of_each_hour_are_as_many_as_its_rate_says() -> None:
    times_s = starts_s(PoissonArrivals(HOURLY), window_s=3 * DAY_S)
    counts = np.bincount((times_s % DAY_S // 3600).astype(int), minlength=24)
    for hour, (count, rate) in enumerate(zip(counts.tolist(), HOURLY.rates_per_s, strict=True)):
        low, high = stats.poisson.interval(1 - SMALLEST_P, 3 * 3600 * rate) if rate else (0, 0)
        assert low <= count <= high, hour
    assert times_s[-1] < 3 * DAY_S


def test_a_day_that_begins_in_the_evening_has_the_evening_first() -> None:
    times_s = starts_s(
        PoissonArrivals(HourlyIntensity(HOURLY.rates_per_s, begins_s=20 * 3600)), window_s=DAY_S
    )
    assert (
        np.count_nonzero((times_s >= 7 * 3600) & (times_s < 8 * 3600)) == 0
    )  # from 3 to 4 at night
    low, high = stats.poisson.interval(1 - SMALLEST_P, 3600 * HOURLY.rates_per_s[20])
    assert low <= np.count_nonzero(times_s < 3600) <= high


def test_a_flash_crowd_brings_what_rise_and_decay_hold() -> None:
    times_s = starts_s(PoissonArrivals(CROWD), window_s=2400.0)
    parts = {  # base alone; base and half the surge on average; base and the surge until 1/e
        (0, 600): 0.5 * 600,
        (600, 660): 0.5 * (60 + 19 * 30),
        (660, 960): 0.5 * (300 + 19 * 300 * (1 - np.exp(-1))),
    }
    for (first_s, last_s), expected in parts.items():
        low, high = stats.poisson.interval(1 - SMALLEST_P, expected)
        assert low <= np.count_nonzero((times_s >= first_s) & (times_s < last_s)) <= high


@pytest.mark.parametrize("intensity", INTENSITIES)
def test_the_start_of_a_session_is_the_same_however_many_follow(intensity: Intensity) -> None:
    arrivals = PoissonArrivals(intensity)
    many = arrival_times_ns(arrivals, seed=3, sessions=400)
    np.testing.assert_array_equal(arrival_times_ns(arrivals, seed=3, sessions=50), many[:50])
    within = arrival_times_ns(arrivals, seed=3, window_s=float(many[200]) / 1e9)
    np.testing.assert_array_equal(within, many[: within.size])
    assert within.size in (200, 201)


def test_a_number_of_sessions_in_a_window_spreads_them_as_the_rate_does() -> None:
    shape = PoissonArrivals(HOURLY, is_known=False)
    times_s = starts_s(shape, sessions=4000, window_s=DAY_S)
    assert times_s.size == 4000
    assert np.all(np.diff(times_s) >= 0)
    share = HOURLY.expected(times_s) / HOURLY.expected(np.array(DAY_S))
    assert stats.kstest(share, "uniform").pvalue > SMALLEST_P


def test_a_constant_rate_gives_the_starts_that_numpy_draws() -> None:
    generator = random_stream(11, session=0, purpose="session arrivals")
    drawn_s = np.cumsum(generator.exponential(1 / 0.37, 1000))
    starts_ns = session_starts(1000, arrival_rate_per_s=0.37, seed=11)
    np.testing.assert_array_equal(starts_ns, np.rint(drawn_s * 1e9).astype(np.int64))


def test_listed_starts_are_taken_as_they_are() -> None:
    listed = ListedArrivals((0.0, 0.5, 0.5, 7.25))
    assert arrival_times_ns(listed, seed=0).tolist() == [0, 500_000_000, 500_000_000, 7_250_000_000]
    assert arrival_times_ns(listed, seed=0, sessions=2).tolist() == [0, 500_000_000]
    assert arrival_times_ns(listed, seed=0, window_s=7.25).size == 3


@pytest.mark.parametrize(
    ("arrivals", "options", "message"),
    [
        (TogetherArrivals(), {"window_s": 5.0}, "need a number"),
        (TogetherArrivals(), {"sessions": 0}, "ask for at least 1"),
        (TogetherArrivals(), {"sessions": 10**9}, "at most 100,000,000"),
        (PoissonArrivals(CROWD), {}, "never end"),
        (
            PoissonArrivals(CROWD, is_known=False),
            {"sessions": 4},
            "both sessions=... and window_s=...",
        ),
        (
            PoissonArrivals(ConstantIntensity(1e-7)),
            {"sessions": 1000},
            "ask for a higher arrival rate",
        ),
        (PoissonArrivals(ConstantIntensity(1e-7)), {"window_s": 1.0}, "no session starts"),
        (PoissonArrivals(ConstantIntensity(1e7)), {"window_s": 1e3}, "more than 100,000,000"),
        (ListedArrivals((1.0, 2.0)), {"sessions": 3}, "2 starts are listed"),
        (ListedArrivals((-1.0, 2.0)), {}, "count times from the start"),
        (ListedArrivals((1.7e9,)), {}, "count times from the start"),
    ],
)
def test_starts_that_cannot_be_are_refused(
    arrivals: Arrivals, options: dict[str, float], message: str
) -> None:
    with pytest.raises(GenerationError, match=message):
        starts_s(arrivals, **options)


@pytest.mark.parametrize(
    "fields",
    [
        {"base_per_s": 0.0},
        {"decay_s": 0.0},
        {"peak_factor": 0.5},
        {"rise_s": -1.0},
        {"start_s": float("nan")},
    ],
)
def test_a_flash_crowd_without_sense_is_refused(fields: dict[str, float]) -> None:
    usual = {
        "base_per_s": 0.5,
        "start_s": 600.0,
        "rise_s": 60.0,
        "peak_factor": 20.0,
        "decay_s": 300.0,
    }
    with pytest.raises(ValueError, match="flash crowd"):
        FlashCrowd(**{**usual, **fields})


def test_a_table_of_hours_without_sense_is_refused() -> None:
    for rates in [(1.0,) * 23, (0.0,) * 24, (-1.0,) * 24]:
        with pytest.raises(ValueError, match="hour"):
            HourlyIntensity(rates)
    with pytest.raises(ValueError, match="within a day"):
        HourlyIntensity((1.0,) * 24, begins_s=DAY_S)


def test_listed_rates_are_linear_between_their_times_and_constant_outside() -> None:
    sessions = RAMPS.expected(np.array([5.0, 10.0, 40.0, 70.0, 100.0, 149.0, 200.0, 300.0]))
    assert sessions.tolist() == [0, 0, 45, 180, 360, 360, 635, 835]
    times = starts_s(PoissonArrivals(RAMPS), window_s=300.0)
    assert times.size == pytest.approx(835, abs=4 * np.sqrt(835))
    assert times.min() > 10
    assert not ((times > 100) & (times < 150)).any()


def test_rates_that_end_at_zero_start_no_further_sessions() -> None:
    ended = PoissonArrivals(ListedIntensity((0.0, 10.0), (5.0, 0.0)))
    assert starts_s(ended, window_s=1000.0).max() <= 10
    with pytest.raises(GenerationError, match="ask for a higher arrival rate"):
        starts_s(ended, sessions=100)


@pytest.mark.parametrize(
    ("knots", "rates", "said"),
    [
        ((0.0, 1.0), (1.0,), "2 times and 1 rates"),
        ((2.0, 1.0), (1.0, 1.0), "put them in order"),
        ((0.0, 1.0), (1.0, -1.0), "not negative"),
        ((0.0, 1.0), (0.0, 0.0), "must be positive"),
    ],
)
def test_listed_rates_without_sense_are_refused(
    knots: tuple[float, ...], rates: tuple[float, ...], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        ListedIntensity(knots, rates)


def test_other_seeds_give_other_starts() -> None:
    seeds = [
        arrival_times_ns(PoissonArrivals(CROWD), sessions=5, seed=seed).tolist()
        for seed in range(3)
    ]
    assert all(first != second for first, second in itertools.combinations(seeds, 2))
