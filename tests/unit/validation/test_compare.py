"""Comparisons: of a table with itself, with one that differs in a known way, and with its
baselines.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest

import trafficgen
from trafficgen.errors import SelectionError
from trafficgen.flows import SessionView
from trafficgen.validation.compare import compare_sessions
from trafficgen.validation.comparison import Comparison, exceeded_limits
from trafficgen.validation.metrics import METRIC_NAMES

ViewOf = Callable[..., SessionView]

KEYS = {
    "packet_bytes": {"ks", "wasserstein"},
    "gap_s": {"ks", "wasserstein"},
    "rate": {"0.1", "0.5", "1", "10"},
    "smoothness": {"ks"},
    "burst_packets": {"ks"},
    "burst_spacing_s": {"ks"},
    "rate_acf": {"max_abs_difference"},
    "variance_time": {"max_abs_log10_ratio"},
    "hurst": {"reference", "candidate"},
    "phases": {"buffering_end_s", "buffering_ratio"},
    "packets": {"relative_difference"},
    "bytes": {"relative_difference"},
    "duration": {"relative_difference"},
}


@pytest.fixture
def itself(bursty: SessionView) -> Comparison:
    return compare_sessions(bursty, bursty)


def test_output_has_exactly_the_published_metrics(itself: Comparison) -> None:
    output = itself.to_json()
    assert {"metrics", "baselines", "wins", "ties"} <= set(output)
    baselines = output["baselines"]
    assert isinstance(baselines, dict)
    assert list(baselines) == ["cbr", "poisson", "renewal"]
    for metrics in (output["metrics"], *baselines.values()):
        assert isinstance(metrics, dict)
        assert {name: set(part) for name, part in metrics.items()} == KEYS
        assert all(set(part) == {"ks", "wasserstein"} for part in metrics["rate"].values())
    json.dumps(output, allow_nan=False)


def test_a_window_of_both_sides_is_compared() -> None:
    first, other = (
        trafficgen.generate("cbr", duration_s=20, settings={"rate_kbps": rate_kbps})
        for rate_kbps in (100, 200)
    )
    later = trafficgen.compare(first, other, from_s=10)
    reference, candidate = later.totals
    assert reference.duration_s == pytest.approx(candidate.duration_s, abs=0.2)
    assert reference.duration_s == pytest.approx(10, abs=0.2)
    assert later.names == ("table, 10 s to the end",) * 2
    ends = trafficgen.compare(first, other, from_s=10, to_s=15)
    assert ends.totals[0].duration_s == pytest.approx(5, abs=0.2)
    with pytest.raises(ValueError, match=r"nothing is in the window 5 s to 5 s"):
        trafficgen.compare(first, other, from_s=5, to_s=5)


def test_names_that_the_shell_completes_are_those_of_a_comparison(itself: Comparison) -> None:
    assert tuple(itself.flat()) == METRIC_NAMES


def test_a_table_is_at_distance_zero_from_itself(itself: Comparison) -> None:
    known = {name: value for name, value in itself.flat().items() if not math.isnan(value)}
    assert {"packet_bytes.ks", "gap_s.wasserstein", "rate.10.ks", "burst_packets.ks"} <= set(known)
    assert set(known.values()) == {0.0}


def test_a_table_ties_with_the_baselines_that_copy_a_marginal(itself: Comparison) -> None:
    assert set(itself.ties["packet_bytes.ks"]) == {"poisson", "renewal"}
    assert set(itself.ties["gap_s.ks"]) == {"renewal"}
    assert itself.wins["packet_bytes.ks"] == ["cbr"]
    assert itself.wins["gap_s.ks"] == ["cbr", "poisson"]
    assert itself.wins["burst_packets.ks"] == ["cbr", "poisson", "renewal"]


def test_dropped_packets_show_in_the_totals_where_sizes_look_alike(
    view_of: ViewOf, bursty: SessionView
) -> None:
    kept = np.arange(bursty.media_time_ns.size) % 20 != 7
    kept[[0, -1]] = True
    thinned = view_of((bursty.media_time_ns[kept] / 1e9, bursty.media_ip_bytes[kept]))
    comparison = compare_sessions(bursty, thinned)
    flat = comparison.flat()
    assert flat["packet_bytes.ks"] < 0.01
    assert flat["packets.relative_difference"] == pytest.approx(1 / 20, abs=1e-3)
    assert flat["bytes.relative_difference"] == pytest.approx(1 / 20, abs=0.01)
    assert flat["duration.relative_difference"] == 0.0
    reference, candidate = comparison.totals
    assert (reference.packets, candidate.packets) == (kept.size, kept.sum())
    assert reference.payload_bytes == reference.ip_bytes - 28 * kept.size
    totals = comparison.to_json()["totals"]
    assert isinstance(totals, dict)
    assert totals["ip_bytes"] == [bursty.media_ip_bytes.sum(), bursty.media_ip_bytes[kept].sum()]
    assert totals["duration_s"] == [reference.duration_s, reference.duration_s]


def test_baselines_take_their_totals_from_the_reference_so_nothing_is_won_there(
    itself: Comparison,
) -> None:
    for name in ("packets", "bytes", "duration"):
        metric = f"{name}.relative_difference"
        assert itself.flat_baselines()["cbr"][metric] == pytest.approx(0.0, abs=1e-9)
        assert not {metric} & {*itself.wins, *itself.ties, *itself.noise}


def test_wins_and_ties_never_name_the_same_baseline(itself: Comparison) -> None:
    assert set(itself.wins) == set(itself.ties)
    for name, beaten in itself.wins.items():
        assert not set(beaten) & set(itself.ties[name])


def test_candidate_of_twice_the_size_is_at_known_distances(
    view_of: ViewOf, bursty: SessionView
) -> None:
    constant = np.full(bursty.media_time_ns.size, 500)
    sizes = np.where(np.arange(constant.size) % 2, 400, 600)
    times = bursty.media_time_ns / 1e9
    comparison = compare_sessions(view_of((times, sizes)), view_of((times, constant)))
    flat = comparison.flat()
    assert flat["packet_bytes.ks"] == pytest.approx(0.5, abs=1e-3)
    assert flat["packet_bytes.wasserstein"] == pytest.approx(
        1.0, abs=1e-3
    )  # 100 bytes off, deviation 100 bytes
    assert flat["gap_s.ks"] == 0.0


def test_candidate_slowed_down_is_seen_in_gaps_rates_and_bursts(
    view_of: ViewOf, bursty: SessionView
) -> None:
    slow = view_of((bursty.media_time_ns / 1e9 * 1.5, bursty.media_ip_bytes))
    flat = compare_sessions(bursty, slow).flat()
    gaps = np.diff(bursty.media_time_ns) / 1e9
    # Scaling by 1.5 moves the mean gap by half; W1 of a scaled sample is the mean difference.
    assert flat["gap_s.wasserstein"] == pytest.approx(0.5 * gaps.mean() / gaps.std(), rel=1e-3)
    assert flat["packet_bytes.ks"] == 0.0
    assert flat["burst_spacing_s.ks"] > 0.9
    assert flat["burst_packets.ks"] < 0.01
    assert flat["rate.1.ks"] > 0.5


def test_gaps_are_pooled_within_flows(view_of: ViewOf) -> None:
    # Two flows of 0.1 s rhythm, shifted by half of it: within flows no gap is 0.05 s.
    times, sizes = np.arange(0, 20, 0.1), np.full(200, 300)
    two = view_of((times, sizes), (times + 0.05, sizes))
    one = view_of((np.arange(0, 20, 0.1), sizes))
    assert (
        compare_sessions(one, two).flat()["gap_s.ks"] < 0.99
    )  # times are rounded to ns, so both sides jitter alike
    merged = view_of((np.arange(0, 20, 0.05), np.full(400, 300)))
    assert compare_sessions(one, merged).flat()["gap_s.ks"] == 1.0


def test_what_cannot_be_computed_is_null(view_of: ViewOf) -> None:
    short = view_of((np.array([0.0, 0.1, 0.2]), np.array([100, 100, 100])))
    comparison = compare_sessions(short, short)
    metrics = comparison.to_json()["metrics"]
    assert isinstance(metrics, dict)
    assert metrics["packet_bytes"] == {"ks": 0.0, "wasserstein": None}
    assert metrics["rate"]["10"] == {"ks": None, "wasserstein": None}
    assert metrics["variance_time"] == {"max_abs_log10_ratio": None}
    assert metrics["burst_packets"] == {"ks": None}
    assert "rate.10.ks" not in comparison.wins


def test_rates_of_a_session_of_months_are_null_in_bins_that_would_fill_the_memory(
    view_of: ViewOf,
) -> None:
    times = np.concatenate([np.arange(0.0, 40.0, 0.05), 3_000_000.0 + np.arange(0.0, 40.0, 0.05)])
    months = view_of((times, np.where(np.arange(times.size) % 3, 300, 900)))
    comparison = compare_sessions(months, months)
    metrics = comparison.to_json()["metrics"]
    assert isinstance(metrics, dict)
    assert [metrics["rate"][width]["ks"] for width in ("0.1", "0.5", "1", "10")] == [
        None,
        None,
        None,
        0.0,
    ]
    assert comparison.to_json()["absent"] == {
        f"rate.{width}": (
            f"3000040 s are more than the 2,000,000 bins of {width} s that are compared"
        )
        for width in ("0.1", "0.5", "1")
    }


def test_rates_of_sessions_too_short_for_their_bins_are_null_with_the_reason(
    view_of: ViewOf,
) -> None:
    def session(length_s: float, phase_s: float) -> SessionView:
        times = np.arange(phase_s, length_s, 0.05)
        return view_of((times, np.where(np.arange(times.size) % 3, 300, 900)))

    comparison = compare_sessions(
        session(12.0, 0.0), session(12.0, 0.01)
    )  # 1 whole bin of 10 s each: no distance but 0 or 1
    metrics = comparison.to_json()["metrics"]
    assert isinstance(metrics, dict)
    assert metrics["rate"]["10"] == {"ks": None, "wasserstein": None}
    assert metrics["rate"]["1"]["ks"] is not None
    reason = (
        "1 whole bins of 10 s in the reference and 1 in the candidate are too few: chance alone"
        " could give any distance"
    )
    assert comparison.to_json()["absent"] == {"rate.10": reason}
    assert "rate.10.ks" not in comparison.wins
    (exceeded,) = exceeded_limits(comparison, ["rate.10.ks=0.1"])
    assert (
        str(exceeded) == f"rate.10.ks could not be computed ({reason}), so it fails the limit 0.1"
    )
    assert (
        compare_sessions(session(41.0, 0.0), session(41.0, 0.01)).absent == {}
    )  # 4 and 4: 1 would be beyond chance


def test_seed_changes_baselines_only(bursty: SessionView) -> None:
    one, other = compare_sessions(bursty, bursty, seed=1), compare_sessions(bursty, bursty, seed=2)
    assert one.flat() == pytest.approx(other.flat(), nan_ok=True)
    assert one.baselines["poisson"] != other.baselines["poisson"]
    assert compare_sessions(bursty, bursty, seed=1).to_json() == one.to_json()


def test_limits_that_are_exceeded_are_named(view_of: ViewOf, bursty: SessionView) -> None:
    slow = view_of((bursty.media_time_ns / 1e9 * 1.5, bursty.media_ip_bytes))
    comparison = compare_sessions(bursty, slow)
    exceeded = exceeded_limits(
        comparison, ["packet_bytes.ks=0.1", "rate.1.ks=0.5", "burst_spacing_s.ks=1.0"]
    )
    assert [limit.metric for limit in exceeded] == ["rate.1.ks"]
    assert str(exceeded[0]).startswith("rate.1.ks is 0.")


def test_limit_may_name_a_metric_by_its_beginning_where_that_is_enough(itself: Comparison) -> None:
    assert exceeded_limits(itself, ["packets=0", "bytes=0", "duration=0.05", "smoothness=0"]) == []
    with pytest.raises(SelectionError, match=r"metrics are gap_s\.ks, gap_s\.wasserstein$"):
        exceeded_limits(itself, ["gap_s=0.1"])


def test_limit_on_what_cannot_be_computed_fails(view_of: ViewOf) -> None:
    short = view_of((np.array([0.0, 0.1]), np.array([100, 100])))
    exceeded = exceeded_limits(compare_sessions(short, short), ["rate.10.ks=1"])
    assert str(exceeded[0]).startswith(
        "rate.10.ks could not be computed (0 whole bins of 10 s in the reference and 0 "
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "gap.ks=0.1",
            "no metric 'gap.ks' .did you mean gap_s.ks..; metrics are packet_bytes.ks, ",
        ),
        ("gap_s.ks", "write METRIC=VALUE"),
        ("gap_s.ks=small", "write METRIC=VALUE"),
        ("gap_s.ks=nan", "write METRIC=VALUE"),
    ],
)
def test_limit_that_cannot_be_checked_is_explained(
    itself: Comparison, text: str, words: str
) -> None:
    with pytest.raises(SelectionError, match=words):
        exceeded_limits(itself, [text])


def test_buffering_is_compared_as_a_pair(view_of: ViewOf) -> None:
    # 100 packets/s for 10 s, then 25 packets/s; the other side buffers for 20 s.
    def source(buffering_s: float) -> SessionView:
        fast, slow = np.arange(0, buffering_s, 0.01), np.arange(buffering_s, 100, 0.04)
        times = np.concatenate((fast, slow))
        return view_of((times, np.full(times.size, 500)))

    comparison = compare_sessions(source(10.0), source(20.0))
    output = comparison.to_json()["metrics"]
    assert isinstance(output, dict)
    ends_s, ratios = output["phases"]["buffering_end_s"], output["phases"]["buffering_ratio"]
    # A change cannot be told more sharply than to a few of the 0.04 s gaps around it; a tenth of a
    # second is ample.
    assert ends_s == pytest.approx([10.0, 20.0], abs=0.1)
    assert ratios == pytest.approx([4.0, 4.0], rel=0.02)
    assert comparison.flat()["phases.buffering_end_s"] == pytest.approx(10.0, abs=0.2)


def test_offload_packets_are_cut_on_both_sides_unless_asked_not_to(view_of: ViewOf) -> None:
    # Thirty packets of 14,748 bytes are ten times as many of 1500 bytes (28 bytes of headers each),
    # 12 us apart.
    times = np.arange(0.0, 30.0)
    large = view_of((times, np.full(30, 14_748)))
    small = view_of((np.repeat(times, 10) + np.tile(np.arange(10) * 12e-6, 30), np.full(300, 1500)))
    comparison = compare_sessions(large, small)
    assert comparison.resegmented_packets == (30, 0)
    assert comparison.flat()["packet_bytes.ks"] == 0.0
    assert compare_sessions(large, small, undo_offload=False).flat()["packet_bytes.ks"] == 1.0


def test_baseline_that_lacks_a_metric_is_neither_beaten_nor_tied(view_of: ViewOf) -> None:
    # Bursts of 50 packets, 2 ms apart, with pauses of 100 ms: at the mean distance of 4 ms all
    # packets are one burst, which has no spacing.
    times = np.repeat(np.arange(60) * 0.2, 50) + np.tile(np.arange(50) * 0.002, 60)
    view = view_of((times, np.full(times.size, 1000)))
    comparison = compare_sessions(view, view)
    spacing = comparison.baselines["cbr"]["burst_spacing_s"]
    assert isinstance(spacing, dict)
    assert math.isnan(spacing["ks"])
    assert comparison.flat()["burst_spacing_s.ks"] == 0.0
    assert (
        "cbr" not in comparison.wins["burst_spacing_s.ks"] + comparison.ties["burst_spacing_s.ks"]
    )


def test_a_candidate_is_read_by_the_clock_of_a_coarse_reference(view_of: ViewOf) -> None:
    generator = np.random.default_rng(3)
    first, second = (np.cumsum(generator.exponential(0.004, 4000)) for _ in range(2))
    sizes = np.full(4000, 500)
    fine, coarse = view_of((first, sizes)), view_of((np.floor(first * 1000) / 1000, sizes))
    candidate = view_of((second, sizes))
    # 1.63 is the 1% point of the Kolmogorov distribution; without the clock, gaps between the ticks
    # of 1 ms, a quarter of the mean gap, would put the distributions 0.2 apart.
    assert compare_sessions(fine, candidate).flat()["gap_s.ks"] < 1.63 * math.sqrt(2 / 4000)
    assert compare_sessions(coarse, candidate).flat()["gap_s.ks"] < 1.63 * math.sqrt(2 / 4000)
