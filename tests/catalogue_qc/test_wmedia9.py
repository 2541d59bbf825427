"""Windows Media 9's catalogue entry against numbers derived from the thesis alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.catalogue_qc.derivations import wmedia9 as paper
from tests.catalogue_qc.derivations.figures import (
    IP_BYTES,
    UDP_BYTES,
    around,
    loss_when_link_is_full,
    sendings_per_packet,
)

from trafficgen.models.published import load_entry, parameters_for_engine

RTP_BYTES = 12
HEADER_BYTES = IP_BYTES + UDP_BYTES + RTP_BYTES


@pytest.fixture
def entry() -> dict[str, Any]:
    return dict(parameters_for_engine(load_entry("wmedia9_nichols2004")))


def packet_bytes(entry: dict[str, Any]) -> float:
    return float(entry["packet_payload_bytes"] + HEADER_BYTES)


def offered(entry: dict[str, Any], payload_kbps: float) -> float:
    """Return a payload rate in IP bytes."""
    return float(payload_kbps * packet_bytes(entry) / entry["packet_payload_bytes"])


def audio_kbps(entry: dict[str, Any]) -> dict[int, float]:
    return {one["rate_kbps"]: one["audio_kbps"] for one in entry["encodings"]}


def multiple(entry: dict[str, Any], rate_kbps: float) -> float:
    """Return the payload multiple on the line between the entry's two."""
    first, last = entry["multiples"]
    along = (rate_kbps - first["rate_kbps"]) / (last["rate_kbps"] - first["rate_kbps"])
    return float(first["multiple"] + along * (last["multiple"] - first["multiple"]))


def burst_packets(entry: dict[str, Any], bursts: str, payload_kbps: float) -> float:
    """Return packets in a burst of n at a rate: n = packets a second x (idle + n x gap)."""
    per_s = payload_kbps * 1000 / 8 / entry["packet_payload_bytes"]
    return float(per_s * entry[bursts]["idle_s"] / (1 - per_s * entry[bursts]["gap_s"]))


def test_encodings_are_the_ten_of_the_thesis_with_its_audio(entry: dict[str, Any]) -> None:
    audio = audio_kbps(entry)
    assert sorted(audio, reverse=True) == list(paper.RATES_KBPS)
    for rate, kbps in audio.items():
        if rate in paper.AUDIO_KBPS:
            assert kbps == paper.AUDIO_KBPS[rate]
        else:
            assert kbps in paper.audio_of_other_levels_kbps(rate), rate


def test_video_with_the_highest_levels_audio_adds_up_as_measured(entry: dict[str, Any]) -> None:
    audio = audio_kbps(entry)
    for level, highest in ((340, 1128), (548, 1128)):
        expected = paper.multiple_bitrate_kbps(video_of=level, highest=highest)
        assert level - audio[level] + audio[highest] == expected


def test_largest_level_within_the_estimate_is_the_one_of_the_thesis(entry: dict[str, Any]) -> None:
    for capacity, chosen in paper.CHOICE_OF_TEN.items():
        assert max(rate for rate in audio_kbps(entry) if rate <= capacity) == chosen


def test_start_is_silent_and_probed_as_described(entry: dict[str, Any]) -> None:
    assert entry["clip_s"] == paper.CLIP_S
    assert entry["silence_s"] in paper.SILENCE_S
    assert entry["probe_delay_s"] in paper.PROBE_AFTER_SETUP_S
    assert entry["probe_packets"] == paper.PROBE_PACKETS
    assert entry["probe_packet_bytes"] == paper.PROBE_PACKET_BYTES


def test_packets_are_of_the_size_that_sizes_the_queue(entry: dict[str, Any]) -> None:
    assert packet_bytes(entry) in around(paper.queue_packet_bytes(), share=0.05)


def test_clip_of_340_is_accelerated_at_725_and_548_is_not(entry: dict[str, Any]) -> None:
    assert entry["accelerated_share_of_capacity"] in paper.share_of_capacity_that_accelerates()
    assert offered(entry, 548) / 548 in paper.MULTIPLE_OF_548


def test_accelerated_clip_of_340_fits_its_bursts_and_with_resends_two_to_four_times(
    entry: dict[str, Any],
) -> None:
    first_sendings = offered(entry, 340 * multiple(entry, 340))
    assert first_sendings / 340 <= paper.multiple_of_340().high
    loss = paper.least_loss_of_340_buffering(offered_kbps=first_sendings)
    assert first_sendings / 340 * sendings_per_packet(loss, 2) in paper.MULTIPLE_BELOW_548


@pytest.mark.parametrize("rate", [28, 43, 58, 109, 148, 282])
def test_lower_clips_are_accelerated_two_to_four_times(entry: dict[str, Any], rate: int) -> None:
    assert offered(entry, multiple(entry, rate)) in paper.MULTIPLE_BELOW_548


def test_bursts_are_as_far_apart_and_as_dense_as_in_the_figures(entry: dict[str, Any]) -> None:
    accelerated, normal = entry["bursts_accelerated"], entry["bursts_normal"]
    assert accelerated["idle_s"] in paper.IDLE_ACCELERATED_S
    assert normal["idle_s"] in paper.IDLE_AT_ENCODED_RATE_S
    assert (normal["gap_s"] - accelerated["gap_s"]) * 1000 in paper.GAP_DIFFERENCE_MS
    assert max(normal["gap_s"], accelerated["gap_s"]) * 1000 < paper.largest_gap_in_burst_ms()


def test_bursts_of_548_are_somewhat_larger_and_hold_enough_packets(entry: dict[str, Any]) -> None:
    of_340 = burst_packets(entry, "bursts_accelerated", 340 * multiple(entry, 340))
    of_548 = burst_packets(entry, "bursts_normal", 548)
    assert 1.05 <= of_548 / of_340 <= 1.6
    assert min(of_340, of_548) >= paper.packets_per_burst()


def test_buffer_is_full_with_what_340_receives_in_its_ten_seconds(entry: dict[str, Any]) -> None:
    assert entry["buffer_full_s"] in paper.media_when_full_s()


def test_lost_packets_are_resent_as_often_as_the_losses_ask_for(entry: dict[str, Any]) -> None:
    least, printed = paper.sendings_for_548_on_250()
    assert 1 + entry["requests_playing"] >= least
    assert 1 + entry["requests_buffering"] >= printed


def test_resends_of_548_on_250_raise_the_offer_and_the_loss_as_seen(entry: dict[str, Any]) -> None:
    first = offered(entry, 548)
    asked = entry["reports_per_s"] * entry["packets_per_request"] * packet_bytes(entry) * 8 / 1000
    uncapped = first * sendings_per_packet(
        loss_when_link_is_full(first, 250, sendings=1 + entry["requests_buffering"]),
        1 + entry["requests_buffering"],
    )
    assert (
        min(uncapped, first * (1 + entry["resend_share"]), first + asked)
        in paper.offered_for_548_on_250_kbps()
    )


def test_resends_are_limited_by_more_than_their_count(entry: dict[str, Any]) -> None:
    counted = 1 + entry["requests_buffering"]
    assert counted > paper.largest_mean_sendings_for_1128_on_250()
    asked = entry["reports_per_s"] * entry["packets_per_request"] * packet_bytes(entry) * 8 / 1000
    first = offered(entry, 1128)
    limited = first + min(entry["resend_share"] * first, asked)
    by_count = first * sendings_per_packet(
        loss_when_link_is_full(first, 250, sendings=counted), counted
    )
    assert limited < 0.75 * by_count


def test_reports_come_more_than_ten_a_second_under_loss(entry: dict[str, Any]) -> None:
    assert entry["reports_per_s"] in paper.REPORTS_PER_S_UNDER_LOSS


def test_verdict_is_over_before_loss_that_starts_at_15_s_can_count(entry: dict[str, Any]) -> None:
    assert entry["verdict_start_s"] + entry["verdict_seconds"] <= paper.verdict_window_end_s()
    assert 0.02 < entry["verdict_loss_low"] <= entry["verdict_loss_high"] < 0.05
    assert entry["verdict_loss_low"] in paper.verdict_loss_threshold()


def test_response_comes_late_and_leaves_548_its_audio(entry: dict[str, Any]) -> None:
    assert entry["response_s"] in paper.THINNED_AFTER_S
    left = paper.audio_on_the_wire_kbps(
        audio_kbps=audio_kbps(entry)[548],
        payload_bytes=entry["packet_payload_bytes"],
        header_bytes=HEADER_BYTES,
    )
    assert left in paper.thinned_kbps()
    assert entry["response_share_of_capacity"] <= 0.5, (
        "thinned streams end below the fair share of two flows"
    )
