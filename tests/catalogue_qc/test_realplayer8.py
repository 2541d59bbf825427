"""RealPlayer 8's catalogue entries and their playlist against numbers derived from the papers
alone.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from statistics import median, pstdev
from typing import Any

import pytest
from tests.catalogue_qc.derivations import realplayer8 as paper

from trafficgen.models.published import load_entry, parameters_for_engine

BOTH = ("realplayer8_chung2002", "realplayer8_tcp_chung2002")
CLIPS = 79


@pytest.fixture(params=BOTH)
def entry(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(parameters_for_engine(load_entry(request.param)))


@pytest.fixture
def playlist() -> list[dict[str, Any]]:
    parameters: dict[str, Any] = dict(parameters_for_engine(load_entry(BOTH[0])))
    return [dict(clip) for clip in parameters["playlist"]]


def share(clips: list[dict[str, Any]], has: Callable[[list[float]], bool]) -> float:
    """Return the share of clips whose ladder has a property."""
    return sum(has(clip["ladder_kbps"]) for clip in clips) / len(clips)


def number(playlist: list[dict[str, Any]], wanted: int) -> dict[str, Any]:
    (found,) = [clip for clip in playlist if clip["clip"] == wanted]
    return found


def test_transport_tells_the_two_entries_apart() -> None:
    udp, tcp = (parameters_for_engine(load_entry(name)) for name in BOTH)
    assert {key for key in tcp if tcp[key] != udp[key]} == {"transport"}


def test_playlist_has_the_analysed_clips_of_which_seven_in_ten_answer_pings(
    playlist: list[dict[str, Any]],
) -> None:
    assert sorted(clip["clip"] for clip in playlist) == list(range(1, CLIPS + 1))
    answering = sum(clip["answers_ping"] for clip in playlist)
    assert 2 * answering == pytest.approx(paper.PLAYOUTS, abs=2)


def test_lengths_have_the_papers_median_ends_and_spread(playlist: list[dict[str, Any]]) -> None:
    lengths = [clip["length_s"] for clip in playlist]
    assert median(lengths) in paper.MEDIAN_LENGTH_S
    assert min(lengths) >= paper.SHORTEST_S
    assert max(lengths) <= paper.LONGEST_S
    assert pstdev(map(log, lengths)) in paper.length_log_standard_deviation()


def test_numbers_of_levels_are_shared_out_as_in_figure_16(playlist: list[dict[str, Any]]) -> None:
    assert share(playlist, lambda ladder: len(ladder) == 1) in paper.ONE_LEVEL_SHARE
    assert share(playlist, lambda ladder: len(ladder) > 4) < paper.MORE_THAN_FOUR_LEVELS_AT_MOST
    assert (
        share(playlist, lambda ladder: 3 <= len(ladder) <= 5)
        <= paper.share_of_three_to_five_levels_at_most()
    )


def test_one_level_clips_lie_where_figure_17_has_them(playlist: list[dict[str, Any]]) -> None:
    one_level = [clip for clip in playlist if len(clip["ladder_kbps"]) == 1]
    assert share(one_level, lambda ladder: ladder[0] > 150) in paper.ONE_LEVEL_ABOVE_150
    assert (
        share(one_level, lambda ladder: ladder[0] < 35) in paper.one_level_below_35_of_one_level()
    )
    assert (
        share(playlist, lambda ladder: len(ladder) == 1 and ladder[0] > 150)
        in paper.one_level_above_150_of_all()
    )


def test_ladders_of_three_to_five_levels_mostly_end_above_50_and_taller_ones_have_low_levels(
    playlist: list[dict[str, Any]],
) -> None:
    middle = [clip for clip in playlist if 3 <= len(clip["ladder_kbps"]) <= 5]
    assert share(middle, lambda ladder: min(ladder) > 50) > paper.CANNOT_GO_BELOW_50_AT_LEAST
    tall = [clip for clip in playlist if len(clip["ladder_kbps"]) > 5]
    assert all(
        sum(kbps < 50 for kbps in clip["ladder_kbps"]) >= paper.LOW_LEVELS_OF_TALL_LADDERS
        for clip in tall
    )


@pytest.mark.parametrize("fair_kbps", [37.5, 75.0, 150.0])
def test_lowest_and_highest_levels_are_shared_out_as_in_the_slides_table(
    playlist: list[dict[str, Any]], fair_kbps: float
) -> None:
    lowest = share(playlist, lambda ladder: min(ladder) > fair_kbps)
    highest = share(playlist, lambda ladder: max(ladder) < fair_kbps)
    assert lowest in paper.share_with_lowest_level_above(fair_kbps)
    assert highest in paper.share_with_highest_level_below(fair_kbps)


def test_clips_below_150_and_below_35_kbps_are_as_many_as_measured(
    playlist: list[dict[str, Any]],
) -> None:
    assert share(playlist, lambda ladder: max(ladder) < 150) in paper.share_below_150()
    assert (
        share(playlist, lambda ladder: max(ladder) < paper.SCALING_LIMIT_KBPS)
        in paper.always_below_35()
    )
    assert (
        share(playlist, lambda ladder: min(ladder) < paper.SCALING_LIMIT_KBPS)
        in paper.can_go_below_35()
    )


def test_clips_below_the_limit_at_once_are_those_always_there_and_those_preselected(
    playlist: list[dict[str, Any]],
) -> None:
    always = share(playlist, lambda ladder: max(ladder) < paper.SCALING_LIMIT_KBPS)
    chosen = sum(clip["preselect"] for clip in playlist) / len(playlist)
    assert always + chosen in paper.adapted_at_2_s()


def test_paths_alone_lose_no_more_pings_than_were_seen_at_600_kbps(
    playlist: list[dict[str, Any]],
) -> None:
    seen = [clip for clip in playlist if clip["answers_ping"]]
    lossless = [
        paper.lossless_readings(loss=clip["path_loss"], pings=clip["length_s"]) for clip in seen
    ]
    # The bottleneck's queue can only add loss, so the paths' share lies at or above what was
    # measured through it.
    assert sum(lossless) / len(lossless) >= paper.LOSSLESS_AT_600.low


def test_udp_multiples_are_twos_for_two_clips_in_five_and_more_for_the_rest(
    playlist: list[dict[str, Any]],
) -> None:
    multiples = [clip["multiple"] for clip in playlist]
    equal = [m for m in multiples if m in paper.udp_multiple_of_equal_clips()]
    faster = [
        m for m in multiples if m >= paper.least_udp_multiple_of_other_clips() and m not in equal
    ]
    assert len(equal) / len(multiples) in paper.EQUAL_SHARE
    assert len(faster) / len(multiples) in paper.FASTER_SHARE
    assert max(multiples) in paper.LARGEST_UDP_MULTIPLE


def test_multiples_do_not_rise_with_the_clips_rate(playlist: list[dict[str, Any]]) -> None:
    by_rate = sorted((max(clip["ladder_kbps"]), -clip["multiple"]) for clip in playlist)
    assert [-m for _, m in by_rate] == sorted((-m for _, m in by_rate), reverse=True)


def test_tcp_buffers_at_twice_the_rate_for_up_to_forty_seconds(entry: dict[str, Any]) -> None:
    assert entry["tcp_multiple"] in paper.TCP_MULTIPLE
    assert entry["tcp_ahead_s"] / (entry["tcp_multiple"] - 1) in paper.LONGEST_ACCELERATED_S


def test_udp_is_accelerated_up_to_forty_seconds_and_long_enough_to_be_seen_at_six_times(
    entry: dict[str, Any], playlist: list[dict[str, Any]]
) -> None:
    multiples = {clip["multiple"] for clip in playlist}
    lasts_s = {m: min(entry["buffering_limit_s"], entry["ahead_s"] / (m - 1)) for m in multiples}
    assert max(lasts_s.values()) in paper.LONGEST_ACCELERATED_S
    most = max(multiples)
    assert lasts_s[most] >= paper.least_accelerated_s(multiple=most)
    assert (
        paper.measured_ratio(multiple=most, accelerated_s=lasts_s[most])
        in paper.LARGEST_UDP_MULTIPLE
    )


def test_player_waits_as_long_as_printed(entry: dict[str, Any]) -> None:
    assert entry["stall_limit_s"] == paper.LONGEST_STALL_S
    assert entry["silence_limit_s"] == 60, (
        "a run is stopped when nothing arrives for a minute (CCZ-S1)"
    )


def test_sample_clips_can_make_the_changes_of_figure_18(
    entry: dict[str, Any], playlist: list[dict[str, Any]]
) -> None:
    clip_65, clip_78 = number(playlist, 65), number(playlist, 78)
    assert clip_65["length_s"] == pytest.approx(180, rel=0.05)
    descending = sorted(clip_65["ladder_kbps"], reverse=True)
    assert descending[paper.CHANGES_OF_CLIP_65] < paper.SCALING_LIMIT_KBPS
    assert descending[paper.CHANGES_OF_CLIP_65 - 1] > paper.SCALING_LIMIT_KBPS
    assert len(clip_78["ladder_kbps"]) >= paper.LEVELS_OF_CLIP_78
    assert (clip_65["tcp_response"], clip_78["tcp_response"]) == ("steps", "jump")
    assert entry["report_interval_s"] <= paper.longest_time_between_changes_over_udp_s()
    assert entry["preselect_report_s"] <= 2, "a couple of seconds (CCZ-M2)"


def test_servers_tcp_buffer_holds_back_a_change_as_long_as_clip_78s(entry: dict[str, Any]) -> None:
    assert entry["server_tcp"]["send_buffer_bytes"] in paper.send_buffer_bytes()


def test_packets_fit_the_largest_that_was_recorded(entry: dict[str, Any]) -> None:
    assert max(entry["video_payload_bytes"]) + 28 <= paper.LARGEST_PACKET_BYTES
    assert max(entry["video_payload_bytes"]) > paper.udp_payload_bytes().high, (
        "a median needs larger packets above it"
    )
    assert min(entry["audio_payload_bytes"]) < paper.udp_payload_bytes().low, (
        "and smaller ones below it"
    )
