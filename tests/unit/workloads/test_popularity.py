"""Clips are asked for as often as their rank says."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import stats

from trafficgen.workloads.clips import ListedPopularity, Popularity, Zipf


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.3])
def test_clips_are_chosen_by_the_law_of_zipf(exponent: float) -> None:
    ranks = np.arange(1, 31, dtype=float)
    share = ranks**-exponent / np.sum(ranks**-exponent)
    chosen = Zipf(30, exponent).choose(np.random.default_rng(1).random(20_000))
    counts = np.bincount(chosen, minlength=30)
    assert stats.chisquare(counts, 20_000 * share).pvalue > 0.001


def test_clips_are_chosen_by_what_was_counted() -> None:
    popularity = ListedPopularity((3.0, 0.0, 1.0))
    np.testing.assert_allclose(popularity.shares, [0.75, 0.0, 0.25])
    assert popularity.choose(np.array([0.0, 0.7499, 0.75, 0.999999])).tolist() == [0, 0, 2, 2]


def test_what_is_sent_to_other_processes_is_small() -> None:
    popularity = Zipf(1_000_000, 0.8)
    before = popularity.choose(np.array([0.1, 0.9]))
    sent = pickle.dumps(popularity)
    assert len(sent) < 1000
    found: Popularity = pickle.loads(sent)
    np.testing.assert_array_equal(found.choose(np.array([0.1, 0.9])), before)


@pytest.mark.parametrize("arguments", [(0, 1.0), (2_000_000, 1.0), (5, -0.1), (5, float("inf"))])
def test_a_law_of_zipf_without_sense_is_refused(arguments: tuple[int, float]) -> None:
    with pytest.raises(ValueError, match=r"Zipf|clips"):
        Zipf(*arguments)


@pytest.mark.parametrize("counts", [(), (0.0, 0.0), (1.0, -1.0), (float("nan"),)])
def test_counts_without_sense_are_refused(counts: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="clips"):
        ListedPopularity(counts)
