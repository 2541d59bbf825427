from __future__ import annotations

import math

import numpy as np
import pytest

from trafficgen.errors import CalibrationError
from trafficgen.flows import find_burst_threshold_s, segment_bursts, spread_over_tick
from trafficgen.units import FloatArray, ns_array_from_s


def test_segmentation_of_a_stream_worked_by_hand() -> None:
    time_ns = ns_array_from_s(np.array([0.0, 0.01, 0.02, 0.5, 0.51, 1.0]))
    bursts = segment_bursts(time_ns, np.array([100, 200, 300, 400, 500, 600]), threshold_s=0.01)
    np.testing.assert_array_equal(bursts.first, [0, 3, 5])
    np.testing.assert_array_equal(bursts.packets, [3, 2, 1])
    np.testing.assert_array_equal(bursts.size_bytes, [600, 900, 600])
    np.testing.assert_allclose(bursts.spacing_s, [0.5, 0.5])
    np.testing.assert_allclose(bursts.idle_s, [0.48, 0.49])
    np.testing.assert_array_equal(bursts.last, [2, 4, 5])


def test_segmentation_of_nothing_is_nothing() -> None:
    empty = np.zeros(0, dtype=np.int64)
    bursts = segment_bursts(empty, empty, threshold_s=1.0)
    assert bursts.packets.size == bursts.spacing_s.size == bursts.idle_s.size == 0


@pytest.mark.parametrize("packets", [5, 40, 500])
def test_threshold_lies_between_gaps_within_and_between_bursts(packets: int) -> None:
    rng = np.random.default_rng(1)
    bursts = 60
    gaps = rng.exponential(0.001, (bursts, packets))
    gaps[:, -1] = rng.normal(0.3, 0.02, bursts)
    threshold_s = find_burst_threshold_s(gaps.ravel())
    assert threshold_s is not None
    assert np.quantile(gaps[:, :-1], 0.999) < threshold_s < gaps[:, -1].min()


@pytest.mark.parametrize(
    "family", ["exponential", "lognormal", "gamma", "weibull", "pareto", "constant", "normal"]
)
@pytest.mark.parametrize("seed", range(3))
def test_gaps_of_one_kind_have_no_threshold(family: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 20_000
    gaps = {
        "exponential": rng.exponential(0.01, n),
        "lognormal": rng.lognormal(-5, 1.5, n),
        "gamma": rng.gamma(0.3, 0.01, n),
        "weibull": rng.weibull(0.5, n) * 0.01,
        "pareto": (1 + rng.pareto(1.2, n)) * 0.001,
        "constant": np.full(n, 0.02),
        "normal": rng.normal(0.02, 0.001, n),
    }[family]
    assert find_burst_threshold_s(np.round(gaps, 6), tick_s=1e-6) is None


@pytest.mark.parametrize(
    ("gap_s", "tick_s", "message"),
    [
        (math.nan, 1e-9, "gap 30 is nan s; give finite gaps of at least 0"),
        (math.inf, 1e-9, "gap 30 is inf s"),
        (-1.0, 1e-9, "gap 30 is -1 s; .* order of time"),
        (1.0, 0.0, "tick_s is 0; give the step of the clock"),
    ],
)
def test_impossible_gaps_are_refused_by_place(gap_s: float, tick_s: float, message: str) -> None:
    gaps = np.ones(60)
    gaps[30] = gap_s
    with pytest.raises(CalibrationError, match=message):
        find_burst_threshold_s(gaps, tick_s=tick_s)


def test_rounding_to_the_clock_makes_no_bursts() -> None:
    gaps = np.round(np.random.default_rng(0).exponential(3e-6, 50_000), 6)
    assert find_burst_threshold_s(gaps, tick_s=1e-6) is None


def test_pauses_between_chunks_win_over_the_spacing_of_packet_trains() -> None:
    rng = np.random.default_rng(2)
    train = np.concatenate((rng.exponential(0.00005, 9), [0.03]))
    chunk = np.concatenate((np.tile(train, 30), [5.0]))
    gaps = np.tile(chunk, 25) * rng.lognormal(0, 0.1, 25 * chunk.size)
    threshold_s = find_burst_threshold_s(gaps)
    assert threshold_s is not None
    assert 0.05 < threshold_s < 4.0


def test_too_few_gaps_have_no_threshold() -> None:
    assert find_burst_threshold_s(np.array([0.001, 1.0] * 9)) is None


def test_spreading_keeps_order_and_stays_within_half_a_tick() -> None:
    values = np.repeat([0.0, 1e-6, 2e-6, 5e-6], [3, 4, 1, 2])
    spread = spread_over_tick(values, tick_s=1e-6)
    assert np.all(np.diff(spread) >= 0)
    assert np.all(spread > 0)
    assert np.all(np.abs(spread - values) <= 0.5e-6 + 1e-15)


def test_regular_pauses_part_bursts_although_they_are_few() -> None:
    def pauses(seed: int) -> FloatArray:
        rng = np.random.default_rng(seed)
        chunks = [
            np.append(rng.lognormal(np.log(0.002), 1.8, int(rng.normal(1500, 300))), 6.0)
            for _ in range(15)
        ]
        return np.concatenate(chunks)

    found = [find_burst_threshold_s(pauses(seed)) for seed in range(20)]
    # the test of regularity has a power of about 0.95 for 15 chunks whose size varies by a fifth
    assert sum(threshold_s is not None and 0.5 < threshold_s < 6 for threshold_s in found) >= 16


@pytest.mark.parametrize("family", ["lognormal", "weibull", "pareto"])
def test_rare_long_gaps_of_a_heavy_tailed_renewal_stream_are_no_pauses(family: str) -> None:
    def gaps(seed: int) -> FloatArray:
        rng = np.random.default_rng(seed)
        return {
            "lognormal": lambda: rng.lognormal(np.log(0.005), 2.0, 10_000),
            "weibull": lambda: 0.005 * rng.weibull(0.3, 10_000),
            "pareto": lambda: 0.002 * (1 + rng.pareto(1.2, 10_000)),
        }[family]()

    found = sum(find_burst_threshold_s(gaps(seed)) is not None for seed in range(40))
    # the test has a level of 5%: 2 of 40, and by the binomial law 8 or more with a probability
    # below 0.1%
    assert found < 8


@pytest.mark.parametrize("ticks", [(0.3, 0.5, 0.7), (1.0, 1.3), (0.0, 0.49, 0.51), (2.4, 2.9, 3.2)])
def test_gaps_that_are_no_multiples_of_the_tick_are_spread_in_order(
    ticks: tuple[float, ...],
) -> None:
    tick_s = 1e-6
    gaps = np.repeat(ticks, 100) * tick_s
    spread = spread_over_tick(gaps, tick_s=tick_s)
    assert spread[0] > 0
    assert np.all(np.diff(spread) >= 0)
    with_pauses = np.concatenate([gaps, np.full(100, 0.5)])
    threshold_s = find_burst_threshold_s(with_pauses, tick_s=tick_s)
    assert threshold_s is not None
    assert gaps[-1] < threshold_s < 0.5
