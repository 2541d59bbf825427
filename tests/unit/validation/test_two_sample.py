"""A classifier distinguishes what differs, and nothing else."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.flows import SessionView, all_sessions
from trafficgen.units import FloatArray, IntArray
from trafficgen.validation.compare import compare_sessions
from trafficgen.validation.comparison import exceeded_limits
from trafficgen.validation.two_sample import (
    TwoSampleTest,
    auc_in_folds,
    distinguish,
    label_sides,
    run_tests,
)
from trafficgen.validation.windows import MOST_ROWS, SessionRows, describe_windows, split_sessions

ViewOf = Callable[..., SessionView]
_FLOW_SESSIONS = 10


def _packets(
    seed: int, *, length_s: float = 150.0, alternating: bool = False
) -> tuple[FloatArray, IntArray]:
    """Make log-normal gaps around 20 ms, drawn alone or long and short in turns."""
    generator = np.random.default_rng(seed)
    gaps_s = np.sort(0.02 * np.exp(0.6 * generator.standard_normal(round(length_s / 0.024))))
    half = gaps_s.size // 2
    if alternating:
        low, high = generator.permutation(gaps_s[:half]), generator.permutation(gaps_s[-half:])
        gaps_s = np.column_stack((low, high)).ravel()
    else:
        generator.shuffle(gaps_s)
    return np.cumsum(gaps_s), generator.integers(200, 1400, gaps_s.size)


def _windows(reference: SessionView, candidate: SessionView, seed: int = 0) -> TwoSampleTest:
    return run_tests(reference, candidate, threshold_s=None, seed=seed).found["windows"]


def test_two_draws_of_one_source_are_not_distinguished(view_of: ViewOf) -> None:
    aucs = [_windows(view_of(_packets(n)), view_of(_packets(100 + n))) for n in range(5)]
    assert np.mean([test.auc for test in aucs]) == pytest.approx(0.5, abs=0.12)
    assert sum(test.auc > test.null_high for test in aucs) <= 1  # 1 in 20 each
    assert np.mean([test.null_mean for test in aucs]) == pytest.approx(0.5, abs=0.03)


def test_gaps_in_another_order_give_themselves_away(view_of: ViewOf) -> None:
    one, other = _packets(1, length_s=300, alternating=True), _packets(2, length_s=300)
    test = _windows(view_of(one), view_of(other))
    assert test.auc > 0.9 > test.null_high
    assert test.p_value < 0.05
    first = test.features[0]
    assert first.name == "gap_acf_1"
    assert first.reference < -0.5 < first.candidate
    assert first.label in test.reasons


def test_a_difference_of_spread_alone_is_seen(view_of: ViewOf) -> None:
    def with_rates(spread: float, seed: int) -> SessionView:
        generator = np.random.default_rng(seed)
        rates = 50 * np.exp(spread * generator.standard_normal(30))
        gaps_s = np.concatenate([np.full(round(10 * rate), 1 / rate) for rate in rates])
        return view_of((np.cumsum(gaps_s), np.full(gaps_s.size, 1000)))

    assert _windows(with_rates(0.5, 1), with_rates(0.02, 2)).auc > 0.8


def test_sessions_without_a_whole_window_leave_no_fold_empty() -> None:
    def session(length_s: float) -> SessionRows:
        times_s = np.arange(0.0, length_s, 0.05)
        sizes, flow = np.full(times_s.size, 900.0), np.zeros(times_s.size, np.int64)
        return SessionRows(time_s=times_s, ip_bytes=sizes, flow=flow, to_server_s=times_s[:0])

    sessions = [session(205), *[session(0.5)] * 9]
    described = describe_windows(sessions, window_s=10.0, threshold_s=None)
    rows = label_sides(described, described)
    assert all(set(rows.is_candidate[rows.fold == fold]) == {False, True} for fold in range(5))
    assert 0 <= distinguish(rows, of="windows", window_s=10.0, seed=0).auc <= 1


def test_windows_of_damaged_times_take_no_memory(view_of: ViewOf) -> None:
    times_s = np.concatenate((np.arange(0.0, 200.0, 0.5), [4e9]))
    (rows,) = split_sessions(view_of((times_s, np.full(times_s.size, 900))))
    tracemalloc.start()
    described = describe_windows([rows], window_s=1.0, threshold_s=None)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(described.values) == MOST_ROWS
    assert peak_bytes < 50_000_000


def test_windows_are_as_long_as_the_shorter_side_allows(view_of: ViewOf) -> None:
    long = view_of(_packets(1))
    assert _windows(long, long).window_s == 10.0
    assert _windows(long, view_of(_packets(2, length_s=30.0))).window_s == 2.0
    tests = run_tests(long, view_of(_packets(3, length_s=5.0)), threshold_s=None, seed=0)
    assert not tests.found
    assert "8 are needed" in tests.absent["two_sample.windows"]


def test_sessions_are_distinguished_where_both_sides_have_several(view_of: ViewOf) -> None:
    def several(first_seed: int, length_s: float) -> SessionView:
        view = view_of(
            *(_packets(first_seed + n, length_s=length_s) for n in range(_FLOW_SESSIONS))
        )
        flows = view.table.flows
        numbers = flows.column("flow").cast(flows.schema.field("session").type)
        flows = flows.set_column(flows.schema.get_field_index("session"), "session", numbers)
        return all_sessions(type(view.table)(packets=view.table.packets, flows=flows))

    one = several(1, 30.0)
    found = run_tests(one, several(50, 15.0), threshold_s=None, seed=0).found["sessions"]
    assert found.rows == (_FLOW_SESSIONS, _FLOW_SESSIONS)
    assert found.auc > 0.85 > found.null_high
    assert found.features[0].auc == 1.0
    alike = run_tests(one, several(80, 30.0), threshold_s=None, seed=0).found["sessions"]
    assert alike.p_value > 0.01


def test_the_seed_decides_the_shuffles_alone(view_of: ViewOf) -> None:
    sides = view_of(_packets(1)), view_of(_packets(2))
    one, same, other = _windows(*sides), _windows(*sides), _windows(*sides, seed=1)
    assert one == same
    assert one.auc == other.auc
    assert one.null_mean != other.null_mean


def test_a_comparison_has_the_test_with_its_baselines_and_limits(bursty: SessionView) -> None:
    comparison = compare_sessions(bursty, bursty)
    test = comparison.two_sample.found["windows"]
    assert test.auc == pytest.approx(0.5)
    assert set(test.baselines) == {"cbr", "poisson", "renewal"}
    assert test.baselines["cbr"] == 1.0
    output = comparison.to_json()["two_sample"]
    assert isinstance(output, dict)
    assert output["windows"]["auc"] == test.auc
    assert output["sessions"] is None
    assert not exceeded_limits(comparison, "two_sample.windows=0.6")
    (limit,) = exceeded_limits(comparison, "two_sample.windows=0.4")
    assert limit.value == test.auc
    (limit,) = exceeded_limits(comparison, "two_sample.sessions=0.9")
    assert limit.value is None


def test_the_auc_counts_pairs_of_one_fold_with_ties_as_half() -> None:
    scores = np.array([[1.0], [2.0], [2.0], [3.0], [9.0], [8.0]])
    labels = np.array([[0.0], [1.0], [0.0], [1.0], [0.0], [1.0]])
    fold = np.array([0, 0, 0, 0, 1, 1])
    # Fold 0: 3.5 of 4 pairs; fold 1: 0 of 1.
    assert auc_in_folds(scores, labels, fold)[0] == pytest.approx(3.5 / 5)


def test_long_captures_are_described_by_windows_spread_over_them(view_of: ViewOf) -> None:
    times_s = np.arange(0, 3000, 0.5)
    sessions = split_sessions(view_of((times_s, np.full(times_s.size, 100))))
    described = describe_windows(sessions, window_s=2.0, threshold_s=None)
    assert described.values.shape[0] == MOST_ROWS
