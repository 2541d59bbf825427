"""The verdict in words: each grade from facts made by hand, and what holds for comparisons of real
sessions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trafficgen.flows import SessionView
from trafficgen.validation.compare import compare_sessions, judge_baselines
from trafficgen.validation.comparison import Comparison
from trafficgen.validation.measurement import BASELINES, Totals
from trafficgen.validation.verdict import Grade, judge

_NAN = math.nan
_TOTALS = Totals(packets=100, ip_bytes=100_000, payload_bytes=97_200, duration_s=10.0)


def _comparison(
    metrics: dict[str, object],
    *,
    baselines: Mapping[str, dict[str, object]],
    noise: Mapping[str, float] | None = None,
    burst_threshold_s: float | None = 0.1,
) -> Comparison:
    """Return a comparison with these facts; wins and ties follow from them as they do in
    `compare_sessions`.
    """
    made = Comparison(
        metrics=metrics,
        baselines=dict(baselines),
        wins={},
        ties={},
        noise=dict(noise or {}),
        burst_threshold_s=burst_threshold_s,
        resegmented_packets=(0, 0),
        seed=0,
        totals=(_TOTALS, _TOTALS),
        absent={},
    )
    wins, ties = judge_baselines(made.flat(), made.flat_baselines(), made.noise)
    made.wins.update(wins)
    made.ties.update(ties)
    return made


def _gaps(ks: float) -> dict[str, object]:
    return {"gap_s": {"ks": ks}}


@pytest.mark.parametrize(
    ("candidate", "others", "grade", "words"),
    [
        (0.0, (0.5, 0.5, 0.5), Grade.MATCH, "no difference found in this sample"),
        (0.04, (0.5, 0.01, 0.5), Grade.MATCH, "no difference found in this sample"),
        (0.1, (0.5, 0.4, 0.2), Grade.CLOSEST, "closer than every baseline"),
        (0.1, (0.5, 0.1, 0.2), Grade.MET, "as close as Poisson"),
        (
            0.1,
            (0.5, 0.4, 0.09),
            Grade.BEATEN,
            "worse than resampling in gap_s.ks (resampling copies them from the",
        ),
        (0.3, (0.1, 0.2, 0.9), Grade.BEATEN, "worse than constant rate and Poisson in gap_s.ks"),
        (0.1, (_NAN, _NAN, 0.2), Grade.CLOSEST, "closer than every baseline"),
        (
            0.1,
            (_NAN, _NAN, _NAN),
            Grade.NOT_RANKED,
            "gap_s.ks 0.1 off (no baseline to compare with)",
        ),
        (_NAN, (0.1, 0.1, 0.1), Grade.NOT_COMPUTED, "too few packets"),
    ],
)
def test_grade_of_a_metric_follows_from_its_distances(
    candidate: float, others: tuple[float, ...], grade: Grade, words: str
) -> None:
    baselines = {name: _gaps(other) for name, other in zip(BASELINES, others, strict=True)}
    verdict = judge(_comparison(_gaps(candidate), baselines=baselines, noise={"gap_s.ks": 0.05}))
    (group,) = verdict.groups
    assert (group.grade, group.metrics[0].grade) == (grade, grade)
    assert group.label == "packet gaps"
    assert group.sentence.startswith(words)


def test_group_that_is_beaten_in_part_names_the_part() -> None:
    comparison = _comparison(
        {"rate": {"0.1": {"ks": 0.1}, "10": {"ks": 0.3}}},
        baselines={"cbr": {"rate": {"0.1": {"ks": 0.5}, "10": {"ks": 0.2}}}},
    )
    (group,) = judge(comparison).groups
    assert group.grade is Grade.PARTLY_BEATEN
    assert (
        group.sentence
        == "worse than constant rate in rate.10.ks; otherwise closer than every baseline"
    )
    assert comparison.losses() == {"rate.0.1.ks": [], "rate.10.ks": ["cbr"]}


def test_distances_of_one_thing_are_named_together() -> None:
    def rates(*distances: float) -> dict[str, object]:
        one, two, three, four = distances
        return {
            "rate": {
                "0.1": {"ks": one, "wasserstein": two},
                "10": {"ks": three, "wasserstein": four},
            }
        }

    def words(*distances: float) -> str:
        return (
            judge(_comparison(rates(*distances), baselines={"cbr": rates(0.1, 0.1, 0.1, 0.1)}))
            .groups[0]
            .sentence
        )

    assert words(0.2, 0.2, 0.2, 0.2) == "worse than constant rate in all 4 metrics"
    assert (
        words(0.2, 0.2, 0.2, 0.0)
        == "worse than constant rate in rate.0.1 and rate.10.ks; otherwise no difference found"
        " in this sample"
    )


def test_start_up_that_one_side_lacks_is_said_and_one_that_both_lack_is_no_fault() -> None:
    def phases(reference_s: float, candidate_s: float) -> dict[str, object]:
        return {
            "phases": {
                "buffering_end_s": [reference_s, candidate_s],
                "buffering_ratio": [_NAN, _NAN],
            }
        }

    lacking = judge(_comparison(phases(10.0, _NAN), baselines={"cbr": phases(10.0, _NAN)})).groups[
        0
    ]
    assert lacking.grade is Grade.UNLIKE
    assert (
        lacking.sentence
        == "the reference has a start-up burst (until 10 s), the candidate has none;"
        " phases.buffering_ratio could not be computed"
    )
    ends = phases(_NAN, 4.0)
    ends["phases"] = {"buffering_end_s": [_NAN, 4.0], "buffering_ratio": [_NAN, 3.0]}
    (added,) = judge(_comparison(ends, baselines={"cbr": ends})).groups
    assert (
        added.sentence == "the candidate has a start-up burst (until 4 s), the reference has none"
    )
    neither = judge(_comparison(phases(_NAN, _NAN), baselines={"cbr": phases(_NAN, _NAN)})).groups[
        0
    ]
    assert (neither.grade, neither.sentence) == (
        Grade.NOT_COMPUTED,
        "no start-up burst was detected in either capture",
    )


def test_samples_too_small_to_differ_are_neither_a_match_nor_a_difference() -> None:
    far: dict[str, object] = {"burst_packets": {"ks": 1.0}, "burst_spacing_s": {"ks": 0.9}}
    rates = {"10": {"ks": 0.5, "wasserstein": 0.2}, "1": {"ks": 0.0}}
    noise = {"burst_packets.ks": 1.39, "burst_spacing_s.ks": 1.4, "rate.10.ks": 0.96}
    noise["rate.10.wasserstein"] = 0.9
    metrics: dict[str, object] = {**far, "rate": rates}
    verdict = judge(_comparison(metrics, baselines={"cbr": metrics}, noise=noise))
    assert verdict.lines() == [
        "Rates: no difference found in this sample; too few values in rate.10 to compare.",
        "Bursts: too few bursts to compare.",
        "1 of 5 metrics matches; 4 have too few values to compare.",
    ]


def test_bursts_that_the_reference_lacks_are_not_called_a_failure_of_the_candidate() -> None:
    bursts: dict[str, object] = {"burst_packets": {"ks": _NAN}, "burst_spacing_s": {"ks": _NAN}}
    comparison = _comparison(bursts, baselines={"cbr": bursts}, burst_threshold_s=None)
    assert judge(comparison).lines() == [
        "Bursts: the reference has none.",
        "0 of 2 metrics match; 2 were not computed.",
    ]


def test_totals_are_told_in_percent_and_not_ranked() -> None:
    totals: dict[str, object] = {
        "packets": {"relative_difference": 0.031},
        "bytes": {"relative_difference": 0.0},
    }
    comparison = _comparison(
        totals, baselines={"cbr": {name: {"relative_difference": 0.0} for name in totals}}
    )
    for name in comparison.flat():
        del (
            comparison.wins[name],
            comparison.ties[name],
        )  # baselines take totals from the reference: no rank
    (group,) = judge(comparison).groups
    assert group.sentence == "packets 3.10% off; otherwise no difference found in this sample"


def test_groups_of_one_verdict_share_a_line_and_the_best_come_first() -> None:
    comparison = _comparison(
        {"smoothness": {"ks": 0.4}, "packet_bytes": {"ks": 0.0}, "gap_s": {"ks": 0.0}},
        baselines={
            "poisson": {
                "smoothness": {"ks": 0.2},
                "packet_bytes": {"ks": 0.1},
                "gap_s": {"ks": 0.1},
            }
        },
    )
    assert judge(comparison).lines() == [
        "Packet sizes and packet gaps: no difference found in this sample.",
        "Rate changes: worse than Poisson in smoothness.ks.",
        "2 of 3 metrics match; 1 is worse than a simple baseline.",
    ]


def test_real_sessions_are_judged_on_every_metric_once(bursty: SessionView) -> None:
    comparison = compare_sessions(bursty, bursty)
    verdict = judge(comparison)
    assert [metric.name for group in verdict.groups for metric in group.metrics] == list(
        comparison.flat()
    )
    assert sum(verdict.counts.values()) == len(comparison.flat())
    assert not set(verdict.counts) - {Grade.MATCH, Grade.NOT_COMPUTED}, "a session is like itself"


_distances = st.one_of(st.just(_NAN), st.just(0.0), st.floats(0, 1), st.just(math.inf))


@given(
    candidate=_distances,
    others=st.tuples(_distances, _distances, _distances),
    level=st.sampled_from([0.0, 0.1]),
)
def test_no_metric_is_praised_when_a_baseline_is_closer(
    candidate: float, others: tuple[float, float, float], level: float
) -> None:
    baselines = {name: _gaps(other) for name, other in zip(BASELINES, others, strict=True)}
    metric = (
        judge(_comparison(_gaps(candidate), baselines=baselines, noise={"gap_s.ks": level}))
        .groups[0]
        .metrics[0]
    )
    known = [other for other in others if not np.isnan(other)]
    if metric.grade is Grade.CLOSEST:
        assert known
        assert candidate < min(known)
    elif metric.grade is Grade.MET:
        assert candidate <= min(known)
    elif metric.grade is Grade.BEATEN:
        assert candidate > min(known)
    elif metric.grade is Grade.MATCH:
        assert candidate == 0 or candidate < level
    else:
        assert np.isnan(candidate) or not known
