"""Semi-Markov and Markov-modulated Poisson processes as they are played."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.models import (
    Atom,
    BurstProcess,
    Estimate,
    Law,
    MmppProcess,
    MmppState,
    RateState,
    RenewalProcess,
    SemiMarkovProcess,
)
from trafficgen.processes.base import Span, playable

GeneratorOf = Callable[[str], np.random.Generator]


def streams(seed: int) -> GeneratorOf:
    return lambda quantity: np.random.default_rng([seed, zlib.crc32(quantity.encode())])


def atom(unit: str, value: float) -> Law:
    return Law.model_validate(
        {"unit": unit, "family": "atoms", "atoms": (Atom(value=value, p=1.0),), "observations": 1}
    )


def expon(mean_s: float) -> Law:
    return Law(unit="s", family="expon", params={"loc": 0.0, "scale": mean_s}, observations=1)


def regular(gap_s: float) -> RenewalProcess:
    return RenewalProcess(gap_s=atom("s", gap_s), packet_bytes=atom("bytes", 1000))


def bursts(spacing_s: float) -> BurstProcess:
    return BurstProcess(
        threshold_s=0.005,
        spacing_s=atom("s", spacing_s),
        burst_packets=atom("packets", 3),
        gap_within_s=atom("s", 0.001),
        packet_bytes=atom("bytes", 1000),
        last_packet_bytes=atom("bytes", 400),
    )


def two_levels(**changes: object) -> SemiMarkovProcess:
    parts: dict[str, object] = {
        "states": (
            RateState(rate_bps=80_000, dwell_s=expon(10.0), process=regular(0.1)),
            RateState(rate_bps=192_000, dwell_s=expon(20.0), process=bursts(0.1)),
        ),
        "transition": ((0.0, 1.0), (1.0, 0.0)),
        "first_state": 0,
        "mean_rate_bps": 80_000 / 3 + 192_000 * 2 / 3,
        "observed_s": 600.0,
    }
    return SemiMarkovProcess.model_validate(parts | changes)


def test_levels_are_played_with_their_packets_and_the_mean_rate_of_the_capture() -> None:
    process = two_levels()
    rates = []
    for seed in range(10):
        played = playable(process).play(Span(2.0, 602.0), streams(seed))
        assert played.time_s[0] == 2.0
        assert played.time_s[-1] < 602.0
        assert np.all(np.diff(played.time_s) >= 0)
        assert played.time_s.size == played.ip_bytes.size
        rates.append(float(played.ip_bytes.sum()) * 8 / 600)
    # Paths are within 2%; each of about 30 dwells loses or gains part of a burst.
    assert np.abs(np.array(rates) / process.mean_rate_bps - 1).max() < 0.04


def test_bursts_of_a_state_keep_their_first_packets_in_the_whole() -> None:
    played = playable(two_levels()).play(Span(0.0, 300.0), streams(1))
    assert played.burst_starts is not None
    assert played.burst_starts[0] == 0
    assert np.all(np.diff(played.burst_starts) > 0)
    lengths = np.diff(np.append(played.burst_starts, played.time_s.size))
    # Single packets of the one state, bursts of three of the other; a switch may cut one.
    assert np.mean((lengths == 1) | (lengths == 3)) > 0.97
    assert 0.3 < np.mean(lengths == 3) < 0.95


def test_states_of_single_packets_have_no_bursts() -> None:
    states = tuple(
        RateState(rate_bps=80_000, dwell_s=expon(5.0), process=regular(gap)) for gap in (0.1, 0.05)
    )
    played = playable(two_levels(states=states)).play(
        Span(0.0, 100.0, first_at_start=False), streams(1)
    )
    assert played.burst_starts is None


def test_expected_packets_are_those_of_the_long_run() -> None:
    laws = playable(two_levels())
    expected = laws.expected_packets(3000.0, place="here")
    assert expected == pytest.approx(3000 * (10 / 3 + 30 * 2 / 3), rel=0.01)
    assert set(laws.size_laws()) == {
        "packet_bytes of state 0",
        "packet_bytes of state 1",
        "last_packet_bytes of state 1",
    }


def mmpp(**changes: object) -> MmppProcess:
    def estimate(value: float) -> Estimate:
        return Estimate(value=value, method="given")

    parts: dict[str, object] = {
        "states": (
            MmppState(rate_per_s=estimate(400.0), mean_sojourn_s=estimate(2.0)),
            MmppState(rate_per_s=estimate(50.0), mean_sojourn_s=estimate(5.0)),
        ),
        "transition": ((0.0, 1.0), (1.0, 0.0)),
        "packet_bytes": atom("bytes", 500),
        "mean_rate_per_s": 150.0,
        "observed_s": 300.0,
    }
    return MmppProcess.model_validate(parts | changes)


def test_mmpp_has_the_counts_of_the_theory() -> None:
    played = playable(mmpp()).play(Span(0.0, 6000.0), streams(3))
    count = played.time_s.size
    assert count == pytest.approx(150 * 6000, rel=0.03)
    assert played.burst_starts is None
    # Variance of the count in a bin of t: mean + 2 v (t / r - (1 - exp(-r t)) / r^2), with the
    # variance v of the rate and the rate r at which its autocorrelation falls (Fischer and
    # Meier-Hellstern 1993).
    t, r = 1.0, 1 / 2 + 1 / 5
    v = (2 / 7) * (5 / 7) * 350**2
    variance = 150 * t + 2 * v * (t / r - (1 - np.exp(-r * t)) / r**2)
    bins = np.bincount(played.time_s.astype(np.int64), minlength=6000)
    assert bins.var() == pytest.approx(variance, rel=0.1)


def test_mmpp_session_as_long_as_the_capture_keeps_its_mean_rate() -> None:
    for seed in range(10):
        played = playable(mmpp()).play(Span(0.0, 300.0), streams(seed))
        # The path is within 2%, and 45,000 packets at random add a standard error of half a per
        # cent.
        assert played.time_s.size == pytest.approx(150 * 300, rel=0.04)


def test_same_seed_gives_the_same_packets_and_another_does_not() -> None:
    for process in (mmpp(), two_levels()):
        one, same, other = (
            playable(process).play(Span(0, 300.0), streams(seed)) for seed in (1, 1, 2)
        )
        np.testing.assert_array_equal(one.time_s, same.time_s)
        assert one.time_s.size != other.time_s.size or not np.array_equal(one.time_s, other.time_s)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transition": ((0.0, 1.0),)}, "1 rows for 2 states"),
        ({"transition": ((0.5, 0.5), (1.0, 0.0))}, "zero diagonal"),
        ({"transition": ((0.0, 0.9), (1.0, 0.0))}, "sum to 1"),
        ({"transition": ((0.0, 1.0), None)}, "both dwell_s and its row"),
        ({"first_state": 2}, "there are 2 states"),
    ],
)
def test_chains_that_cannot_be_played_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        two_levels(**changes)


def test_an_mmpp_without_packets_is_refused() -> None:
    idle = MmppState(
        rate_per_s=Estimate(value=0.0, method="given"),
        mean_sojourn_s=Estimate(value=1.0, method="given"),
    )
    with pytest.raises(ValueError, match="above 0"):
        mmpp(states=(idle, idle))
