"""A few sessions stand for groups of alike ones."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.population.pooled_model import group_sessions_by_process


def test_two_kinds_of_sessions_are_two_groups_with_their_middles_as_prototypes() -> None:
    rng = np.random.default_rng(1)
    features = np.concatenate([rng.normal(0, 0.1, (6, 2)), rng.normal(5, 0.1, (9, 2))])
    groups = group_sessions_by_process(features, most=2)
    assert groups.medoids[0] in range(6, 15)
    assert groups.medoids[1] in range(6)
    assert groups.member_of.tolist() == [1] * 6 + [0] * 9


def test_each_session_is_a_group_where_as_many_are_asked_for_and_equal_ones_share_theirs() -> None:
    features = np.random.default_rng(2).normal(0, 1, (9, 4))
    groups = group_sessions_by_process(features, most=9)
    assert sorted(groups.medoids.tolist()) == list(range(9))
    twice = group_sessions_by_process(np.repeat(features, 2, axis=0), most=18)
    assert twice.medoids.size == 9


def test_no_more_groups_than_asked_for() -> None:
    features = np.repeat(np.arange(4.0) * 10, 5)[:, None] + np.random.default_rng(4).normal(
        0, 0.1, (20, 1)
    )
    assert np.unique(group_sessions_by_process(features, most=4).member_of[::5]).size == 4
    assert group_sessions_by_process(features, most=2).medoids.size == 2
