from __future__ import annotations

import numpy as np
import pytest

from trafficgen.errors import GenerationError
from trafficgen.processes.base import Span
from trafficgen.processes.rate_path import DwellDraws, RateChain, RatePath, place_on_path, time_in

TRANSITION = np.array([[0, 0.75, 0.25], [0.5, 0, 0.5], [0.2, 0.8, 0]])
MEAN_S = np.array([2.0, 3.0, 7.0])


def gamma(mean_s: float) -> DwellDraws:
    return lambda generator, count: generator.gamma(4, mean_s / 4, count)


def chain(first_state: int | None = None) -> RateChain:
    return RateChain(
        dwells=tuple(gamma(mean_s) for mean_s in MEAN_S.tolist()),
        mean_dwell_s=MEAN_S,
        transition=TRANSITION,
        first_state=first_state,
    )


def test_time_in_each_state_is_that_of_the_theory() -> None:
    path = chain().path(Span(0, 40_000), np.random.default_rng(1))
    share = np.array([time_in(path, state) for state in range(3)]) / 40_000
    # By hand: the jump chain rests at (4/13 ... ) where pi P = pi; its weights times the mean
    # dwells.
    jumps = np.linalg.matrix_power(TRANSITION, 500)[0]
    expected = jumps * MEAN_S / np.dot(jumps, MEAN_S)
    # 10,000 dwells: a standard error of about half a per cent.
    np.testing.assert_allclose(share, expected, atol=0.02)
    np.testing.assert_allclose(chain().occupancy(), expected, rtol=1e-6)


def test_jumps_follow_the_chain_and_dwells_their_law() -> None:
    path = chain().path(Span(0, 40_000), np.random.default_rng(2))
    assert np.all(np.diff(path.state) != 0)
    from_first = path.state[1:][path.state[:-1] == 0]
    assert np.mean(from_first == 1) == pytest.approx(0.75, abs=0.03)
    length_s = np.diff(path.edge_s)[1:-1][path.state[1:-1] == 2]
    assert length_s.mean() == pytest.approx(7.0, rel=0.05)
    assert length_s.std() / length_s.mean() == pytest.approx(0.5, abs=0.05)


def test_a_path_fills_its_span_and_begins_where_it_is_told() -> None:
    for seed in range(20):
        path = chain(first_state=1).path(Span(5.0, 25.0), np.random.default_rng(seed))
        assert path.state[0] == 1
        assert (path.edge_s[0], path.edge_s[-1]) == (5.0, 25.0)
        assert np.all(np.diff(path.edge_s) > 0)


def test_a_state_that_is_never_left_lasts_to_the_end() -> None:
    ladder = RateChain(
        dwells=(gamma(2.0), None),
        mean_dwell_s=np.array([2.0, np.inf]),
        transition=np.array([[0.0, 1.0], [0.0, 0.0]]),
        first_state=0,
    )
    path = ladder.path(Span(0, 100), np.random.default_rng(1))
    assert path.state.tolist() == [0, 1]
    np.testing.assert_allclose(ladder.occupancy(), [0, 1])


def test_a_session_as_long_as_the_capture_keeps_its_mean_rate() -> None:
    rate = np.array([80.0, 260.0, 450.0])
    mean = float(np.dot(chain().occupancy(), rate))
    free, kept = [], []
    for seed in range(30):
        generator = np.random.default_rng(seed)
        free.append(chain(0).path(Span(0, 120), generator).mean(rate) / mean)
        path = chain(0).path_with_mean(
            rate, Span(0, 120), np.random.default_rng(seed), mean=mean, observed_s=120
        )
        kept.append(path.mean(rate) / mean)
    assert np.abs(np.array(kept) - 1).max() <= 0.02
    assert np.std(free) > 0.05  # which is what chance would make of it


def test_a_short_session_is_left_to_chance() -> None:
    rate = np.array([80.0, 260.0, 450.0])
    means = {
        round(
            chain(0)
            .path_with_mean(
                rate, Span(0, 20), np.random.default_rng(seed), mean=260, observed_s=1000
            )
            .mean(rate)
        )
        for seed in range(10)
    }
    assert len(means) > 5


def test_more_changes_than_memory_holds_are_refused() -> None:
    with pytest.raises(GenerationError, match="changes of state"):
        chain().path_with_mean(MEAN_S, Span(0, 1e9), np.random.default_rng(0), mean=1, observed_s=1)


def test_a_clock_of_a_state_runs_only_in_its_dwells() -> None:
    path = RatePath(edge_s=np.array([10.0, 12.0, 15.0, 16.0]), state=np.array([0, 1, 0]))
    time_s, dwell = place_on_path(path, 0, np.array([0.0, 1.5, 2.0, 2.9]))
    np.testing.assert_allclose(time_s, [10.0, 11.5, 15.0, 15.9])
    np.testing.assert_array_equal(dwell, [0, 0, 2, 2])
