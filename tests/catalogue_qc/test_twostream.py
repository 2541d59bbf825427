"""The two-stream source's catalogue entry against numbers derived from the paper alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.catalogue_qc.derivations import twostream as paper
from tests.catalogue_qc.derivations.figures import ETHERNET_BYTES, IP_BYTES, TCP_BYTES

from trafficgen.models.published import load_entry, parameters_for_engine

#: Time-stamp option of TCP with its padding (RFC 7323).
TIMESTAMP_BYTES = 12


@pytest.fixture
def entry() -> dict[str, Any]:
    return dict(parameters_for_engine(load_entry("twostream_latecki2003")))


def age_at_the_full_send_buffer_s(entry: dict[str, Any]) -> float:
    """Return how old a frame is when it has passed a full send buffer at what the link leaves to
    full segments.
    """
    goodput_kbps = (paper.LINK_KBPS - paper.audio_wire_kbps()) * 1460 / 1514
    return float(entry["send_buffer_bytes"] * 8 / 1000 / goodput_kbps)


def test_audio_and_video_keep_the_papers_clocks(entry: dict[str, Any]) -> None:
    assert entry["audio_payload_bytes"] == paper.audio_payload_bytes()
    assert entry["audio_interval_s"] * 1000 == pytest.approx(paper.AUDIO_INTERVAL_MS)
    assert entry["frame_interval_s"] * 1000 == pytest.approx(paper.FRAME_INTERVAL_MS)


def test_phases_are_40_120_and_40_seconds(entry: dict[str, Any]) -> None:
    assert (entry["audio_before_s"], entry["video_s"], entry["audio_after_s"]) == (
        paper.ALONE_S,
        paper.STREAMED_S,
        paper.ALONE_S,
    )
    assert paper.packets_in(entry["video_s"], entry["audio_interval_s"] * 1000) == 3000


def test_trend_tests_have_the_papers_scales_and_thresholds(entry: dict[str, Any]) -> None:
    assert tuple(entry["scales_packets"]) == paper.WINDOWS_PACKETS
    assert entry["threshold_low"] == paper.LOWER_THRESHOLD
    assert entry["threshold_high"] == paper.UPPER_THRESHOLD


def test_headers_of_a_frame_are_those_with_which_48_8_kbps_fit(entry: dict[str, Any]) -> None:
    tcp = entry["tcp"]
    header_bytes = (
        TCP_BYTES + IP_BYTES + ETHERNET_BYTES + (TIMESTAMP_BYTES if tcp["timestamps"] else 0)
    )
    assert header_bytes == paper.VIDEO_TCP_HEADER_BYTES
    assert paper.largest_video_kbps(header_bytes=header_bytes) > paper.CONVERGED_KBPS
    assert not tcp["nagle"], "a frame is sent as soon as it is made, each with its headers"


def test_halving_from_the_wanted_rate_stops_where_the_paper_did(entry: dict[str, Any]) -> None:
    assert entry["video_kbps"] == paper.UNCONTROLLED_KBPS
    tried = paper.search_rates_kbps(
        first_kbps=entry["video_kbps"], low_kbps=0, resolution_kbps=entry["resolution_kbps"]
    )
    assert tried[-1] in paper.accepted_kbps()
    stops = paper.resolution_kbps()
    assert stops.low < entry["resolution_kbps"] <= stops.high


def test_search_does_not_wait_longer_for_a_rate_than_25_seconds_allow(
    entry: dict[str, Any],
) -> None:
    assert entry["search_patience_s"] in paper.wait_per_accepted_rate_s()


def test_pauses_after_the_rates_above_the_link_drop_no_more_frames_than_accepted(
    entry: dict[str, Any],
) -> None:
    tried = paper.search_rates_kbps(
        first_kbps=entry["video_kbps"], low_kbps=0, resolution_kbps=entry["resolution_kbps"]
    )
    above = [rate for rate in tried if rate > paper.largest_video_kbps()]
    assert len(above) * entry["pause_patience_s"] in paper.paused_s()


def test_epsilon_sees_an_overload_of_50_kbps_on_the_shortest_scale(entry: dict[str, Any]) -> None:
    shortest = min(entry["scales_packets"])
    groups = 6  # the entry's reason: windows slide by one group of 32 / 6 packets
    assert groups in paper.groups(shortest)
    assert (
        0
        < entry["epsilon_least_s"] * 1000
        < paper.largest_step_ms(window_packets=shortest, groups=groups)
    )


def test_send_buffer_drops_and_delays_frames_within_the_accepted_ranges(
    entry: dict[str, Any],
) -> None:
    assert age_at_the_full_send_buffer_s(entry) in paper.age_limit_by_accepted_ranges_s()


@pytest.mark.xfail(
    reason=(
        "send_buffer_bytes is open: 17.75% dropped and a mean delay of 8.4 s ask for 16.7 s and 9.6"
        " s of age; the entry chose near the first and states in its limitations that one buffer"
        " cannot give both"
    )
)
def test_send_buffer_gives_the_printed_mean_delay(entry: dict[str, Any]) -> None:
    assert age_at_the_full_send_buffer_s(entry) in paper.age_limit_s()
