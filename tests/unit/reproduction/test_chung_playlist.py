"""The playlist of RealPlayer clips has the shares that CCZ02 and CCZ03 tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trafficgen.reproduction.chung.testbed import PlaylistClip, deal_paths, playlist_clips


def _share(holds: list[bool]) -> float:
    return sum(holds) / len(holds)


def test_79_clips_are_numbered_from_1() -> None:
    assert [clip.number for clip in playlist_clips()] == list(range(1, 80))


def test_lengths_have_median_and_ends_of_the_paper() -> None:
    lengths_s = np.array([clip.length_s for clip in playlist_clips()])
    assert (lengths_s.min(), np.median(lengths_s), lengths_s.max()) == (20, 180, 1800)


def test_ladders_have_the_shares_of_the_paper() -> None:
    ladders = [clip.ladder_kbps for clip in playlist_clips()]
    single = [ladder for ladder in ladders if len(ladder) == 1]
    middle = [ladder for ladder in ladders if 3 <= len(ladder) <= 5]
    assert all(list(ladder) == sorted(set(ladder)) for ladder in ladders)
    assert 0.30 <= len(single) / len(ladders) <= 0.40
    assert 0.30 <= _share([ladder[0] > 150 for ladder in single]) <= 0.50
    assert _share([ladder[0] >= 50 for ladder in middle]) > 0.5
    assert _share([len(ladder) > 4 for ladder in ladders]) < 0.5


def test_70_percent_of_the_servers_answer_pings() -> None:
    assert sum(clip.answers_ping for clip in playlist_clips()) == round(0.7 * 79)


def test_a_third_of_the_clips_with_levels_on_both_sides_of_35_kbps_preselects() -> None:
    mixed = [clip for clip in playlist_clips() if clip.ladder_kbps[0] < 35 < clip.ladder_kbps[-1]]
    others = [clip for clip in playlist_clips() if clip not in mixed]
    assert sum(clip.preselect for clip in mixed) == round(len(mixed) / 3)
    assert not any(clip.preselect for clip in others)


def test_rtt_and_loss_have_nothing_to_do_with_the_ladder() -> None:
    def top(clip: PlaylistClip) -> float:
        return clip.ladder_kbps[-1]

    tops = [top(clip) for clip in playlist_clips()]
    # Twice the standard error of a correlation of 79 independent pairs.
    for values in (
        [clip.base_rtt_s for clip in playlist_clips()],
        [clip.path_loss for clip in playlist_clips()],
    ):
        assert abs(np.corrcoef(tops, values)[0, 1]) < 2 / np.sqrt(79)


def test_sample_clips_are_those_of_the_media_scaling_figure() -> None:
    stepping, leaping = playlist_clips()[64], playlist_clips()[77]
    assert (stepping.number, len(stepping.ladder_kbps), stepping.length_s) == (65, 7, 180)
    assert (leaping.number, len(leaping.ladder_kbps), leaping.tcp_response) == (78, 7, "jump")


def test_paths_are_dealt_anew_and_a_clip_keeps_the_rest() -> None:
    def paths(clips: list[PlaylistClip]) -> list[tuple[float, float, bool]]:
        return [(clip.base_rtt_s, clip.path_loss, clip.answers_ping) for clip in clips]

    before = list(playlist_clips())
    one, again, other = (deal_paths(before, seed) for seed in (1, 1, 2))
    assert one == again
    assert paths(one) != paths(before)
    assert paths(one) != paths(other)
    assert sorted(paths(one)) == sorted(paths(before))
    kept = [replace(clip, base_rtt_s=0, path_loss=0) for clip in one]
    assert kept == [replace(clip, base_rtt_s=0, path_loss=0) for clip in before]
