"""Rungs of sessions that show the same title follow from its content, and others not invented."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.calibration.application.shared_ladder import find_shared_ladder, find_titles
from trafficgen.units import FloatArray

LADDER = np.array([200.0, 500.0, 900.0, 1600.0, 2800.0])
#: Rungs that players of three paths chose.
CHOICES = (
    [0, 0, 1, 1, 2, 1, 1, 2, 2, 1, 1, 2, 1, 2, 1, 1, 2, 1, 1, 0] * 2,
    [0, 0, 1, 2, 3, 3, 3, 3, 3, 3, 3, 4, 4, 3, 3, 3, 3, 3, 3, 3] * 2,
    [0, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4] * 2,
)


def content(title: int, count: int, *, sigma: float = 0.2) -> FloatArray:
    return np.exp(np.random.default_rng(title).normal(0, sigma, count))


def sizes(rungs: list[int], title: int) -> FloatArray:
    return LADDER[rungs] * 250 * content(title, len(rungs))


@pytest.mark.parametrize("title", [1, 2, 3, 4])
def test_rungs_of_one_title_over_several_paths_are_found(title: int) -> None:
    found = find_shared_ladder([sizes(rungs, title) for rungs in CHOICES], [0, 0, 0])
    assert len(found.mean_bytes) == len(LADDER)
    for states, rungs in zip(found.of_segment, CHOICES, strict=True):
        # Steps of the same ratio can be confused at a segment whose content is odd.
        assert np.mean(states == rungs) >= 0.95
    # Ratios are exact; what all have in common is known up to the mean of the content.
    ratios = found.mean_bytes / (250 * LADDER)
    assert np.ptp(np.log(ratios)) < 0.02
    assert np.all(np.abs(np.log(ratios / np.mean(content(title, 40)))) < 0.02)
    assert np.all(np.abs(np.log(found.mean_bytes / (250 * LADDER))) < 3 * found.error + 0.02)
    right = found.of_segment[0] == CHOICES[0]
    shown = content(title, 40) / np.mean(content(title, 40))
    np.testing.assert_allclose(found.content[0][right], shown[right], rtol=0.03)


def test_a_rung_at_one_segment_has_the_interval_of_its_content() -> None:
    rungs = [[0] + [1] * 30, [0] + [3] * 30]
    found = find_shared_ladder([sizes(one, 5) for one in rungs], [0, 0])
    lowest = np.argsort(found.mean_bytes)[0]
    assert len(found.mean_bytes) == 3
    assert found.error[lowest] > 0.1
    assert np.all(np.delete(found.error, lowest) < 0.06)


def test_one_rung_stays_one() -> None:
    for title in range(6):
        found = find_shared_ladder([sizes([2] * 30, title), sizes([2] * 25, title)], [0, 0])
        assert len(found.mean_bytes) == 1


def test_titles_differ_by_common_ratios() -> None:
    shown = [sizes(CHOICES[0], 1), sizes(CHOICES[2], 1), sizes(CHOICES[1], 2), sizes(CHOICES[1], 1)]
    flat = [np.ones(len(one)) for one in shown]
    assert find_titles(shown, flat) == [0, 0, 1, 0]


def test_titles_agree_by_like_contents_where_files_differ() -> None:
    noise = np.random.default_rng(8)
    contents = [content(title, 40) * np.exp(noise.normal(0, 0.1, 40)) for title in (1, 1, 2)]
    assert find_titles(contents, contents) == [0, 0, 1]


@pytest.mark.parametrize("seed", [0, 2, 7])
def test_even_steps_are_not_shifted(seed: int) -> None:
    # All steps are 1.8, so that ratios alone fit other rungs; the content is then odd.
    ladder = np.array([340.0, 613.0, 1105.0, 1990.0, 3585.0])
    draw = np.random.default_rng(seed)
    slow = [0] * 9 + draw.integers(1, 3, 57).tolist()
    fast = [0] * 7 + [1, 2] + draw.integers(3, 5, 61).tolist()
    title = np.exp(draw.normal(0, 0.035, 70))
    sessions = [ladder[rungs] * 250 * title[: len(rungs)] + 300 for rungs in (slow, fast)]
    own = [ladder[slow] * 250 * 1.02, ladder[fast] * 250 * 0.99]
    found = find_shared_ladder(sessions, [0, 0], own)
    for states, rungs in zip(found.of_segment, (slow, fast), strict=True):
        assert states.tolist() == rungs


def test_rungs_of_single_segments_are_those_that_sessions_show() -> None:
    ladder = np.array([350.0, 600.0, 1000.0, 2000.0, 3000.0]) * 250
    draw = np.random.default_rng(3)
    slow = [0, 1, 1, 1, 1, *draw.choice([1, 2], 55, p=[0.2, 0.8]).tolist()]
    fast = [0, 0, 2, 2, 3, *[4] * 55]
    title = np.exp(draw.normal(0, 0.1, 60))
    sessions = [ladder[rungs] * title + 300 for rungs in (slow, fast)]
    # Two segments of one session look like those of a neighbour.
    seen = [slow.copy(), fast.copy()]
    seen[0][10:12] = [3 - rung for rung in slow[10:12]]
    own = [ladder[rungs] * draw.normal(1, 0.02, 5)[rungs] for rungs in seen]
    found = find_shared_ladder(sessions, [0, 0], own)
    for states, rungs in zip(found.of_segment, (slow, fast), strict=True):
        assert states.tolist() == rungs
    assert found.mean_bytes == pytest.approx(ladder, rel=0.03)


@pytest.mark.parametrize("seed", [0, 3, 4, 6])
def test_rungs_of_players_that_change_them_often_are_found(seed: int) -> None:
    # What BOLA chose at 1.2 and at 3.5 Mbit/s: no row of segments shows a rung by itself.
    slow = [*map(int, "00000000112212120121111211212222122111222112121122")]
    fast = [*map(int, "00000012233444342343333434434444444343444433343344444")]
    ladder = np.array([400.0, 800.0, 1500.0, 2500.0, 4000.0]) * 250
    title = content(seed, 60)
    sessions = [ladder[rungs] * title[: len(rungs)] + 300 for rungs in (slow, fast)]
    found = find_shared_ladder(sessions, [0, 0])
    for states, rungs in zip(found.of_segment, (slow, fast), strict=True):
        assert states.tolist() == rungs
