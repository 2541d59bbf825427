from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from trafficgen.calibration.path.clock_skew import least_line, lower_hull, lower_line, steady_line


@pytest.mark.parametrize("n", [50, 30_000])
def test_the_line_is_the_solution_of_the_linear_programme(n: int) -> None:
    generator = np.random.default_rng(n)
    x = np.sort(generator.uniform(0, 60, n))
    y = 0.3 + 4e-5 * x + generator.exponential(0.01, n)
    # Moon, Skelly, Towsley: the least sum of distances y - a - b x, none of them below 0
    solved = linprog(
        [-n, -x.sum()], A_ub=np.column_stack((np.ones(n), x)), b_ub=y, bounds=[(None, None)] * 2
    ).x
    assert lower_line(x, y) == pytest.approx(solved, abs=1e-7)


def test_no_point_lies_below_the_hull() -> None:
    generator = np.random.default_rng(2)
    x, y = np.sort(generator.uniform(0, 1, 500)), generator.normal(size=500)
    corners = lower_hull(x, y)
    assert np.all(y - np.interp(x, x[corners], y[corners]) > -1e-12)


def test_one_point_and_one_time_are_level() -> None:
    assert lower_line(np.array([3.0]), np.array([7.0])) == (7.0, 0.0)
    assert lower_line(np.array([3.0, 3.0]), np.array([7.0, 5.0])) == (5.0, 0.0)


def test_the_slope_of_a_queue_that_never_empties_is_not_that_of_a_clock() -> None:
    x = np.arange(0, 60, 0.02)
    wandering = 0.2 + 0.1 * np.sin(x / 7) + 0.002 * x
    assert steady_line(x, wandering) is None
    assert least_line(x, wandering) == (wandering.min(), 0.0, False)
    at_rest = np.where((x < 15) | (x > 40), 0.01, wandering) + 1e-4 * x
    line = steady_line(x, at_rest)
    assert line is not None
    assert line[1] == pytest.approx(1e-4, rel=0.01)


def test_a_last_frame_out_of_order_does_not_tilt_the_line() -> None:
    x = np.arange(0, 50, 0.04)
    congested = 0.1 + np.where((x > 15) & (x < 34), 0.2, 0.0)
    congested[-1] -= 0.08  # stamped with the time of display, sent two frames before
    assert steady_line(x, congested) is None
    line = steady_line(x, congested, loose_ends=True)
    assert line is not None
    assert line == pytest.approx((0.1, 0.0), abs=1e-9)
    assert steady_line(x, congested + 0.002 * x, loose_ends=True) is None  # no clock is so far off


def test_the_line_below_many_delays_is_that_of_the_few_that_touch_it() -> None:
    generator = np.random.default_rng(2)
    x = np.sort(generator.uniform(0, 3600, 200_000))
    y = 0.05 + 4e-5 * x + generator.gamma(2.0, 0.01, x.size)
    low = np.flatnonzero(y - 4e-5 * x < 0.0502)
    assert lower_line(x, y) == pytest.approx(lower_line(x[low], y[low]), rel=1e-9)
    # 2 s each, of which some in the middle have no packet.
    gone = (x < 1000) | (x > 1100)
    assert steady_line(x[gone], y[gone]) == pytest.approx(lower_line(x[gone], y[gone]))
