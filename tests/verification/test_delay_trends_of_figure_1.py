"""PCT and PDT on the shape of figure 1 of the paper: a short climb, then high and stable, then a
fall (LJM-E7).
"""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.path.conditions import DECREASING, INCREASING, find_delay_trends
from trafficgen.units import FloatArray


def figure_1(*, seed: int) -> FloatArray:
    """Return delays of 5000 audio packets: 53 ms, from 1000 on a climb to 900 ms, stable until
    4000, then a fall.
    """
    packet = np.arange(5000)
    shape = np.interp(
        packet, [0, 1000, 1125, 4000, 4125, 5000], [0.053, 0.053, 0.9, 0.9, 0.053, 0.053]
    )
    return shape + np.random.default_rng(seed).uniform(-0.004, 0.004, packet.size)


def test_the_climb_is_increasing_the_fall_decreasing_and_the_rest_neither() -> None:
    found = find_delay_trends(figure_1(seed=1))
    climb = (found.last_packet >= 1032) & (found.last_packet <= 1124)
    fall = (found.last_packet >= 4032) & (found.last_packet <= 4124)
    assert np.all(found.trend[climb] == INCREASING)
    assert np.all(found.trend[fall] == DECREASING)
    # away from the two by the longest window: groups of 4 packets in the shortest one are noisy,
    # and of ten windows of independent delays few have five of seven steps up
    rest = ((found.last_packet > 1260) & (found.last_packet < 4000)) | (found.last_packet < 1000)
    assert np.mean(np.abs(found.trend[rest]) < 1) > 0.85
    assert np.mean(found.trend[rest] == INCREASING) < 0.1


def test_over_coarse_steps_the_stable_part_is_steady() -> None:
    found = find_delay_trends(figure_1(seed=2), epsilon_s=0.01)
    stable = (found.last_packet > 1260) & (found.last_packet < 4000)
    # steps within epsilon leave PCT at 0: nothing there can be both beyond L and beyond U
    assert not np.any(np.abs(found.trend[stable]) == 1)
