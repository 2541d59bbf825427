"""A few sessions stand for groups of alike ones."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.population.pooled_model import group_sessions_by_process


def test_two_kinds_of_sessions_are_two_groups_with_their_middles_as_prototypes() -> None:
    rng = np.random.default_rng(1)
    features = np.concatenate([rng.normal(0, 0.1, (6, 2)), rng.normal(5, 0.1, (9, 2))])
    groups = group_sessions_by_process(features)
    assert groups.medoids[0] in range(6, 15)
    assert groups.medoids[1] in range(6)
    assert groups.member_of.tolist() == [1] * 6 + [0] * 9


def test_sessions_without_structure_are_one_group() -> None:
    features = np.random.default_rng(2).normal(0, 1, (30, 4))
    groups = group_sessions_by_process(features)
    assert groups.medoids.size == 1
    assert groups.silhouette is None


def test_a_lone_odd_session_is_no_group() -> None:
    features = np.concatenate([np.random.default_rng(3).normal(0, 0.1, (10, 2)), [[9.0, 9.0]]])
    assert group_sessions_by_process(features).medoids.size == 1


def test_no_more_groups_than_asked_for() -> None:
    features = np.repeat(np.arange(4.0) * 10, 5)[:, None] + np.random.default_rng(4).normal(
        0, 0.1, (20, 1)
    )
    assert group_sessions_by_process(features).medoids.size == 4
    assert group_sessions_by_process(features, most=2).medoids.size <= 2
