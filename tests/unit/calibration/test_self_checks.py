"""Playing what was fitted: simple sources pass with a simple process, slow ups and downs of the
rate ask for more.
"""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration import process_choice
from trafficgen.calibration.process_choice import (
    Check,
    check_process,
    fit_process,
    is_notable,
    shares_apart,
)
from trafficgen.models import Law, ModulatedProcess, RenewalProcess
from trafficgen.processes.fitting import PhasePackets
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, ns_array_from_s, ns_from_s

SPAN_S = 120.0


def packets(time_s: FloatArray, *, seed: int) -> PhasePackets:
    time_s = time_s[time_s < SPAN_S]
    sizes = random_stream(seed, session=0, purpose="sizes").integers(200, 1400, time_s.size)
    return PhasePackets(
        time_ns=ns_array_from_s(time_s),
        ip_bytes=sizes,
        span_ns=(0, ns_from_s(SPAN_S)),
        tick_s=1e-6,
        threshold_s=None,
    )


def poisson(seed: int) -> PhasePackets:
    gap_s = random_stream(seed, session=0, purpose="gaps").exponential(0.01, 14_000)
    return packets(np.cumsum(gap_s), seed=seed)


def swelling(seed: int) -> PhasePackets:
    """Return packets whose rate swells from 20 to 180 a second and back every 20 s."""
    count = np.cumsum(random_stream(seed, session=0, purpose="gaps").exponential(1.0, 14_000))
    grid = np.arange(0, SPAN_S, 0.01)
    total = np.cumsum(100 + 80 * np.sin(2 * np.pi * grid / 20)) * 0.01
    return packets(np.interp(count[count < total[-1]], total, grid), seed=seed)


def fitted_kind(sample: PhasePackets, *, seed: int) -> str:
    return fit_process(
        sample, generator_of=lambda quantity: random_stream(seed, session=0, purpose=quantity)
    ).process.kind


def test_independent_gaps_stay_a_renewal_process() -> None:
    kinds = [fitted_kind(poisson(seed), seed=seed) for seed in range(12)]
    # The check rejects a true process once in 20 times or so; three of twelve would be one in 50
    # such tests.
    assert kinds.count("renewal") >= 10


def test_a_rate_that_swells_is_not_a_renewal_process_and_comes_back_when_played() -> None:
    sample = swelling(1)
    generator_of = lambda quantity: random_stream(1, session=0, purpose=quantity)  # noqa: E731
    found = fit_process(sample, generator_of=generator_of).process
    assert not isinstance(found, RenewalProcess)
    check = check_process(found, sample, generator_of=generator_of)
    assert check.distances["rate_acf"] < 0.1
    assert check.distances["rate.1"] < 0.1
    assert check.distances["gap_s"] < 0.05


def test_differences_that_nobody_sees_are_no_failure() -> None:
    six: FloatArray = np.array([1000.0, 1001.0, 1002.0, 1003.0, 1004.0, 1005.0])
    many: FloatArray = np.full(60, 1000.0)
    for name, measured, played, distance, notable in (
        ("rate.10", six, six * 1.2, 1.0, True),
        ("rate.10", six, np.sort(six * np.r_[1.0, 1.0, 1.0, 1.3, 1.3, 1.3]), 0.5, False),
        ("rate.1", many, many * 1.01, 1.0, False),
        ("rate.1", many, many * 1.1, 1.0, True),
    ):
        check = Check({name: distance}, {name: 0.3})
        assert check.failed == [name], "the choice between processes stays as strict"
        assert is_notable(check, name, {name: measured}, [{name: played}]) is notable
    where = shares_apart("rate.1", {"rate.1": many}, [{"rate.1": many * 1.1}])
    assert (where.rate_bps, where.measured, where.played) == (8000.0, 1.0, 0.0)


def check_poisson(seed: int, *, mean_gap_s: float) -> Check:
    process = RenewalProcess(
        gap_s=Law(unit="s", family="expon", params={"scale": mean_gap_s}, observations=1),
        packet_bytes=Law(
            unit="bytes", family="gamma", params={"a": 10.0, "scale": 80.0}, observations=1
        ),
    )
    return check_process(
        process,
        poisson(seed),
        generator_of=lambda quantity: random_stream(seed, session=0, purpose=quantity),
        independent=True,
    )


def test_a_process_of_the_wrong_rate_fails() -> None:
    check = check_poisson(3, mean_gap_s=0.02)
    assert not check.passed
    assert check.distances["rate.1"] > 0.9


def test_few_sessions_of_many_packets_judge_as_many_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_choice.ChoiceLimits, "many_packets", 10_000)
    failed = sum(not check_poisson(seed, mean_gap_s=0.01).passed for seed in range(40))
    assert failed <= 6  # once in 20 times; more than six would be one in 250 such tests
    assert not check_poisson(3, mean_gap_s=0.011).passed


@pytest.mark.long
def test_the_choice_is_the_same_for_the_same_seed() -> None:
    first, second = (
        fit_process(
            swelling(2), generator_of=lambda quantity: random_stream(7, session=0, purpose=quantity)
        ).process
        for _ in range(2)
    )
    assert isinstance(first, ModulatedProcess)
    assert first == second
