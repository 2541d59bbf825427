from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.path.conditions import classify, combine_scales, find_delay_trends

NAN = float("nan")


def test_both_tests_are_what_the_definition_gives_by_hand() -> None:
    # four groups of two with medians 1, 3, 2, 6: steps +2, -1, +4
    delays = np.array([0.5, 1.5, 3, 3, 2, 2, 5, 7.0])
    found = find_delay_trends(delays, groups=4, epsilon_s=0.0, scales_packets=(8,))
    assert found.pct.tolist() == [[1 / 3]]
    assert found.pdt.tolist() == [[5 / 7]]
    # a step within epsilon counts as none: +2, 0, +4
    assert find_delay_trends(delays, groups=4, epsilon_s=1.0, scales_packets=(8,)).pct.tolist() == [
        [2 / 3]
    ]


@pytest.mark.parametrize(
    ("pct", "pdt", "said"),
    [
        *[(0.6, 0.3, 1.0), (0.3, 0.6, 1.0), (-0.6, -0.3, -1.0), (-0.3, -0.6, -1.0)],
        *[
            (0.2, -0.2, 0.0),
            (0.6, 0.2, NAN),
            (0.4, 0.4, NAN),
            (0.6, -0.6, NAN),
            (0.25, 0.0, NAN),
            (0.5, 0.25, NAN),
        ],
    ],
)
def test_thresholds_part_the_classes(pct: float, pdt: float, said: float) -> None:
    np.testing.assert_array_equal(classify(np.array([pct]), np.array([pdt])), [said])


@pytest.mark.parametrize(
    ("scales", "leaning", "together"),
    [
        *[
            ((1, 0, NAN), 1, 1),
            ((1, -1, 0), 1, 0.5),
            ((1, -1, 0), -1, -0.5),
            ((-1, NAN, NAN), 1, -1),
        ],
        *[
            ((0, 0, NAN), 1, 0),
            ((0, NAN, NAN), -1, -0.5),
            ((0, NAN, NAN), 1, 0.5),
            ((NAN, NAN, NAN), 0, 0.5),
        ],
    ],
)
def test_scales_are_combined_as_the_paper_says(
    scales: tuple[float, ...], leaning: float, together: float
) -> None:
    said = np.array(scales)[:, np.newaxis]
    assert combine_scales(said, leaning=np.array([float(leaning)])).tolist() == [together]


def test_windows_of_all_scales_end_at_the_same_packet_and_few_delays_give_none() -> None:
    found = find_delay_trends(np.zeros(200), step_packets=10)
    assert found.last_packet.tolist() == list(range(127, 200, 10))
    assert np.all(found.trend == 0.0)
    assert find_delay_trends(np.zeros(127)).trend.size == 0


def test_independent_delays_have_no_trend_and_an_offset_does_not_matter() -> None:
    delays = np.random.default_rng(1).exponential(0.01, 5000)
    found = find_delay_trends(delays, epsilon_s=0.0, step_packets=128)
    # PCT of independent delays: mean 0, so four standard errors of 39 windows of 7 signs each
    assert abs(found.pct[0].mean()) < 4 / np.sqrt(39 * 7)
    again = find_delay_trends(delays + 5, epsilon_s=0.0, step_packets=128)
    # an offset costs the last bits of the delays, which may turn a comparison of nearly equal ones
    assert np.mean(again.trend == found.trend) > 0.95


def test_parameters_out_of_range_are_refused() -> None:
    for options in ({"groups": 1}, {"groups": 33}, {"epsilon_s": -1.0}, {"step_packets": 0}):
        with pytest.raises(ValueError, match="out of range"):
            find_delay_trends(np.zeros(200), **options)
