"""A few sessions stand for groups of alike ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.unit.generation.conftest import bursts, model_with, stream

import trafficgen
from trafficgen.calibration.population.pooled_model import group_sessions_by_process
from trafficgen.calibration.population.session_estimates import describe_session
from trafficgen.capture.session import open_session
from trafficgen.models import Phase


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


@pytest.mark.parametrize(("faster", "expected"), [(1, ()), (3, (2.67, 0.889, 0.889, 0.889))])
@pytest.mark.filterwarnings("ignore::trafficgen.CaptureWarning")
def test_profile_is_the_rate_of_the_start_over_that_of_the_phase(
    faster: int, expected: tuple[float, ...]
) -> None:
    time_s = np.concatenate([np.arange(0, 2.5, 0.01 / faster), np.arange(2.5, 40, 0.01)])
    packets = pd.DataFrame({"time": time_s, "frame_bytes": 1000})
    view = open_session(trafficgen.read_packets(packets)).view
    rate_bps = float(view.media_ip_bytes.sum()) * 8 / 40
    process = bursts(spacing_s=0.1)
    phase = Phase(name="playout", start_s=0.0, duration_s=40.0, rate_bps=rate_bps, process=process)
    model = model_with(stream(phases=(phase,)), silence_s=0.0, rate_bps=rate_bps)
    found = describe_session(view, model, name="one", media_start_s=0.0).profile
    assert found == pytest.approx(expected, rel=0.02)
