"""RealVideo 10's catalogue entries against numbers derived from the paper alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.catalogue_qc.derivations import realvideo10 as paper
from tests.catalogue_qc.derivations.figures import IP_BYTES, UDP_BYTES, Range

from trafficgen.models.published import load_entry, parameters_for_engine

BOTH = ("realvideo10_boyden2005", "realvideo10_turboplay_boyden2005")


@pytest.fixture(params=BOTH)
def entry(request: pytest.FixtureRequest) -> dict[str, Any]:
    return dict(parameters_for_engine(load_entry(request.param)))


def clip(entry: dict[str, Any], audience: str) -> dict[str, Any]:
    (found,) = [one for one in entry["clips"] if str(one["audience_kbps"]) == audience]
    return dict(found)


def on_the_wire(entry: dict[str, Any], audience: str, payload_kbps: float) -> float:
    """Return a payload rate with IP and UDP headers, at the clip's packet size; the paper counts IP
    bytes.
    """
    payload_bytes = clip(entry, audience)["packet_payload_bytes"]
    return float(payload_kbps * (payload_bytes + IP_BYTES + UDP_BYTES) / payload_bytes)


def test_turboplay_tells_the_two_entries_apart() -> None:
    off, on = (parameters_for_engine(load_entry(name)) for name in BOTH)
    assert {key for key in on if on[key] != off[key]} == {"turboplay"}


def test_clips_have_the_true_rates_of_the_paper(entry: dict[str, Any]) -> None:
    assert len(entry["clips"]) == paper.SURESTREAM_LEVELS
    for audience, row in paper.TABLE_I.items():
        if audience == "SS":
            continue
        expected = (
            Range(row.true_kbps, row.true_kbps) if row.true_kbps else paper.true_rate_of_512_kbps()
        )
        assert clip(entry, audience)["true_kbps"] in expected, audience


def test_clips_buffer_as_long_as_in_table_1(entry: dict[str, Any]) -> None:
    for audience, row in paper.TABLE_I.items():
        found = (
            entry["surestream_buffering_s"]
            if audience == "SS"
            else clip(entry, audience)["buffering_s"]
        )
        assert found == pytest.approx(row.buffering_s, abs=0.005), audience


def test_surestream_clip_is_the_whole_original(entry: dict[str, Any]) -> None:
    assert entry["surestream_length_s"] == paper.SURESTREAM_DURATION_S


def test_quiet_start_is_what_the_means_before_playback_leave(entry: dict[str, Any]) -> None:
    assert entry["quiet_s"] in paper.quiet_start_s()


def test_rates_before_playback_reach_the_means_of_table_1_after_the_quiet(
    entry: dict[str, Any],
) -> None:
    for audience in paper.LOW_RATE_CLIPS:
        true = clip(entry, audience)["true_kbps"]
        rate = min(entry["before_playback_multiple"] * true, entry["accelerated_cap_kbps"])
        needed = paper.slowest_rate_after_the_quiet_kbps(audience, quiet_s=entry["quiet_s"])
        sent = on_the_wire(entry, audience, rate)
        assert sent == pytest.approx(needed, rel=0.10), audience


def test_accelerated_rates_are_those_of_figure_2_and_of_the_cap(entry: dict[str, Any]) -> None:
    assert entry["after_playback_multiple"] in paper.buffering_multiple_of_true_rate()
    true = clip(entry, "56")["true_kbps"]
    assert (
        on_the_wire(entry, "56", entry["after_playback_multiple"] * true)
        in paper.accelerated_rate_of_56_kbps()
    )
    for audience in ("384", "512"):
        assert (
            on_the_wire(entry, audience, entry["accelerated_cap_kbps"])
            in paper.buffering_cap_kbps()
        )


def test_one_buffer_ends_both_accelerated_phases(entry: dict[str, Any]) -> None:
    assert entry["ahead_s"] in paper.media_ahead_with_turboplay_s()
    assert entry["ahead_s"] in paper.media_ahead_without_turboplay_s()
    until_s = paper.end_of_accelerated_phase_s(
        cap_kbps=on_the_wire(entry, "512", entry["accelerated_cap_kbps"]),
        media_ahead_s=entry["ahead_s"],
        steady_kbps=on_the_wire(entry, "512", clip(entry, "512")["true_kbps"]),
    )
    assert until_s in paper.ACCELERATED_PHASE_S
    burst_s = paper.end_of_turboplay_burst_s(
        link_kbps=1500,
        media_ahead_s=entry["ahead_s"],
        steady_kbps=on_the_wire(entry, "512", clip(entry, "512")["true_kbps"]),
        playback_media_s=entry["turboplay_playback_media_s"],
    )
    assert burst_s in paper.TURBOPLAY_BURST_S


def test_playback_can_start_with_the_least_media_of_table_1(entry: dict[str, Any]) -> None:
    assert 0 < entry["playback_least_s"] <= paper.smallest_media_at_playback_s()


def test_turboplay_sends_near_the_links_rate_and_not_much_above(entry: dict[str, Any]) -> None:
    assert entry["turboplay_pace_ratio"] in paper.turboplay_share_of_link()
    assert entry["turboplay_limit_s"] >= 9, "the burst lasts up to 9 s (BMW-B5)"
    train_bytes = entry["train_packets"] * (
        clip(entry, "512")["packet_payload_bytes"] + IP_BYTES + UDP_BYTES
    )
    assert train_bytes <= paper.QUEUE_BYTES, "a train that loses packets measures nothing"


def test_audio_that_is_left_stays_below_100_kbps(entry: dict[str, Any]) -> None:
    for audience in ("384", "512"):
        assert (
            on_the_wire(entry, audience, clip(entry, audience)["audio_kbps"])
            in paper.audio_only_kbps()
        )


def test_clips_up_to_512_have_no_parts_and_the_one_of_1000_has(entry: dict[str, Any]) -> None:
    limit = entry["no_parts_up_to_kbps"]
    assert (
        clip(entry, "384")["true_kbps"]
        < clip(entry, "512")["true_kbps"]
        <= limit
        < clip(entry, "1000")["true_kbps"]
    )


def test_reduced_clip_nearly_fills_its_link_with_all_frames(entry: dict[str, Any]) -> None:
    assert entry["parts_goodput_share"] * 750 in paper.reduced_level_of_1000_on_750_kbps()
    assert clip(entry, "1000")["frames_per_s"] in paper.FULL_FRAMES_PER_S
