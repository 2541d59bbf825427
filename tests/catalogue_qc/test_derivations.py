"""The derivations repeat what the papers print wherever a printed figure was not put into them."""

from __future__ import annotations

import pytest
from tests.catalogue_qc.derivations import realplayer8, realvideo10, twostream, wmedia9
from tests.catalogue_qc.derivations.figures import Range, sendings_per_packet


def test_ranges_on_one_quantity_must_meet() -> None:
    assert Range(1, 3).meet(Range(2, 5)) == Range(2, 3)
    with pytest.raises(ValueError, match="no common value"):
        Range(1, 2).meet(Range(3, 4))


def test_a_packet_sent_until_it_arrives_is_sent_one_over_one_minus_loss_times() -> None:
    assert sendings_per_packet(0.5, 1) == 1
    assert sendings_per_packet(0.5, 60) == pytest.approx(2)


@pytest.mark.parametrize(
    ("rate_kbps", "printed_ms"), [(600, 133), (300, 267), (150, 533), (75, 1067)]
)
def test_queue_of_ten_thousand_bytes_gives_the_printed_delays(
    rate_kbps: int, printed_ms: int
) -> None:
    assert realplayer8.largest_queueing_delay_ms(rate_kbps) == pytest.approx(printed_ms, abs=0.5)


def test_clips_that_answer_ping_are_the_playouts_of_the_slides_table() -> None:
    assert round(realplayer8.playouts_that_answer_ping()) in (
        realplayer8.PLAYOUTS,
        realplayer8.PLAYOUTS + 1,
    )


def test_playouts_with_loss_are_three_in_five_of_the_tables() -> None:
    with_loss = realplayer8.playouts_with_loss()
    assert with_loss.low / realplayer8.PLAYOUTS == pytest.approx(0.60, abs=0.03)
    assert with_loss.high / realplayer8.PLAYOUTS == pytest.approx(0.60, abs=0.03)


def test_send_buffer_from_clip_78_lets_clip_65_need_more_than_300_seconds() -> None:
    buffer = realplayer8.send_buffer_bytes()
    for mean_kbps in (150, 225):
        each_change_s = (
            realplayer8.adaptation_of_clip_65_over_tcp_s(mean_encoded_kbps=mean_kbps) / 6
        )
        assert each_change_s * realplayer8.SCALING_LIMIT_KBPS * 1000 / 8 in buffer


def test_one_buffer_ends_both_accelerated_phases_of_the_512_clip() -> None:
    media_s = realvideo10.surplus_media_s(accelerated_kbps=1500, accelerated_s=8, steady_kbps=450)
    assert media_s in realvideo10.media_ahead_with_turboplay_s()
    assert media_s in realvideo10.media_ahead_without_turboplay_s()
    assert realvideo10.cap_for_one_buffer_kbps(media_ahead_s=media_s, steady_kbps=450) in (
        realvideo10.buffering_cap_kbps()
    )


def test_no_accelerated_rate_is_below_the_mean_that_table_1_needs_after_the_quiet() -> None:
    quiet_s = sum(vars(realvideo10.quiet_start_s()).values()) / 2
    for clip in realvideo10.LOW_RATE_CLIPS:
        needed = realvideo10.slowest_rate_after_the_quiet_kbps(clip, quiet_s=quiet_s)
        assert needed <= realvideo10.TABLE_I[clip].peak_kbps


def test_playback_of_low_rate_clips_is_the_printed_share_of_the_audience_rate() -> None:
    assert realvideo10.playback_share_of_audience_rate() == pytest.approx(0.757, abs=0.001)


def test_full_link_of_the_two_streams_is_just_above_the_rate_they_found() -> None:
    assert twostream.largest_video_kbps() == pytest.approx(49.2)
    assert twostream.frame_bytes(twostream.CONVERGED_KBPS) == pytest.approx(122)


def test_halving_from_100_kbps_stops_at_the_printed_rate_within_the_derived_resolution() -> None:
    stops = twostream.resolution_kbps()
    for resolution in (stops.low + 0.01, stops.high):
        tried = twostream.search_rates_kbps(first_kbps=100, low_kbps=0, resolution_kbps=resolution)
        assert tried[-1] in twostream.accepted_kbps()
        assert len(tried) == 9
    finer = twostream.search_rates_kbps(first_kbps=100, low_kbps=0, resolution_kbps=stops.low)
    assert len(finer) == 10


def test_least_video_delay_follows_from_the_audios_within_a_few_milliseconds() -> None:
    assert twostream.smallest_video_delay_ms() == pytest.approx(70 - 11, abs=4)


def test_frames_and_packets_are_as_many_as_printed() -> None:
    assert twostream.packets_in(twostream.STREAMED_S, twostream.AUDIO_INTERVAL_MS) == 3000
    assert twostream.packets_in(twostream.STREAMED_S, twostream.FRAME_INTERVAL_MS) == 6000
    assert twostream.packets_in(twostream.ALONE_S, twostream.AUDIO_INTERVAL_MS) == 1000


def test_eighty_packets_are_twenty_one_way_products_with_packets_of_about_1000_bytes() -> None:
    assert wmedia9.queue_packet_bytes() == pytest.approx(1020, abs=1)


def test_multiple_bitrate_sums_are_those_of_the_thesis() -> None:
    assert wmedia9.multiple_bitrate_kbps(video_of=340, highest=1128) == 428
    assert wmedia9.multiple_bitrate_kbps(video_of=548, highest=1128) == 628


def test_usable_share_gives_each_choice_of_the_thesis() -> None:
    share = wmedia9.usable_share_of_estimate()
    for factor in (share.low, share.high):
        for capacity, chosen in wmedia9.CHOICE_OF_TEN.items():
            assert max(rate for rate in wmedia9.RATES_KBPS if rate <= factor * capacity) == chosen


def test_buffer_that_the_340_clip_fills_in_ten_seconds_takes_548_its_share_longer() -> None:
    media_s = 550 * 10 / 340
    assert media_s in wmedia9.media_when_full_s()
    longer = wmedia9.buffering_s(media_s=media_s, multiple=1) / wmedia9.buffering_s(
        media_s=media_s, multiple=550 / 340
    )
    assert longer == pytest.approx(548 / 340, rel=0.02)


def test_multiple_of_340_keeps_its_bursts_smaller_than_those_of_548() -> None:
    multiple = wmedia9.multiple_of_340()
    assert wmedia9.burst_ratio(multiple=multiple.high, burst_s=0) == pytest.approx(1.05)
    assert wmedia9.burst_ratio(multiple=multiple.low) < 1.6


def test_one_number_of_sendings_cannot_give_both_losses_of_the_250_kbps_link() -> None:
    accepted, _ = wmedia9.sendings_for_548_on_250()
    assert accepted > wmedia9.largest_mean_sendings_for_1128_on_250()
