"""Loops of the core against the array operations that say what they do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen import _core
from trafficgen.units import FloatArray, IntArray


def order_by_arrays(series: FloatArray, ascending: FloatArray, amplitude: FloatArray) -> FloatArray:
    series = series.copy()
    before: IntArray | None = None
    for _ in range(15):
        bent = np.fft.rfft(series - ascending.mean())
        bent *= amplitude / np.maximum(np.abs(bent), 1e-300)
        order = np.argsort(np.fft.irfft(bent, n=series.size), kind="stable")
        if before is not None and np.array_equal(order, before):
            break
        series[order], before = ascending, order
    return series


@pytest.mark.parametrize("count", [9, 10, 333, 600, 2411])
def test_orders_with_a_spectrum_are_those_of_array_operations(count: int) -> None:
    random = np.random.default_rng(count)
    ascending = np.sort(random.lognormal(0, 1, count))
    amplitude = 1 / (1 + np.arange(count // 2 + 1)) ** 0.5
    series = random.permutation(ascending)
    found = _core.correlated_order(
        series, ascending, float(ascending.mean()), amplitude, most_turns=15
    )
    np.testing.assert_array_equal(found, order_by_arrays(series, ascending, amplitude))


def test_equal_values_keep_their_order() -> None:
    values = np.random.default_rng(1).integers(0, 50, 4000) / 7 + 1e-12
    values[::3] = np.nextafter(values[::3], 9.0)
    np.testing.assert_array_equal(_core.stable_order(values), np.argsort(values, kind="stable"))


NOTHING, ONE, TWO = np.zeros(0), np.zeros(1), np.zeros(2)
PLACE, PLACES = np.zeros(1, dtype=np.int64), np.ones(2, dtype=np.int64)
BYTES = np.zeros(2, dtype=np.uint32)


@pytest.mark.parametrize(
    "call",
    [
        lambda: _core.correlated_order(TWO, ONE, 0.0, TWO, 1),
        lambda: _core.values_by_rank(PLACES - 1, PLACES - 2, TWO),
        lambda: _core.FrameCutter(PLACE),
        lambda: _core.FrameCutter(PLACES).take(PLACES + 1, 40),
        lambda: _core.frame_times(
            TWO, PLACES, ONE, of_frames=False, start_s=0.0, first_at_start=True
        ),
        lambda: _core.place_in_bins(
            [(ONE, BYTES, None, 1.0)], PLACES - 1, PLACES, TWO, width_s=1.0, tolerated_s=0.1
        ),
        lambda: _core.place_in_bins(
            [(ONE, BYTES[:1], None, 1.0)], PLACES - 1, PLACES, TWO, width_s=1.0, tolerated_s=0.1
        ),
        lambda: _core.order_by_scores(ONE, TWO),
        lambda: _core.order_sizes_by_scores(ONE, BYTES),
        lambda: _core.join_stretches(PLACE, PLACES, 3, 5),
        lambda: _core.join_stretches(PLACE, PLACE, 3, 0),
        lambda: _core.follow_bursts((PLACES, PLACE), PLACE, ONE, 4),
        lambda: _core.follow_bursts((PLACE, PLACE), PLACES, ONE, 4),
        lambda: _core.follow_bursts((PLACE, PLACE), PLACE - 1, ONE, 4),
        lambda: _core.rank_scores(ONE, BYTES + np.uint32(1), TWO, 1.0),
        lambda: _core.rank_scores(ONE, BYTES, ONE, 1.0),
        lambda: _core.SteppedLaw((ONE, TWO, 0.0), (TWO, TWO), None),
        lambda: _core.QuantileTables((NOTHING, np.zeros((0, 6))), (NOTHING, np.zeros((0, 6)))),
    ],
)
def test_arrays_that_do_not_fit_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"numbers|frame|packets|ascending"):
        call()
