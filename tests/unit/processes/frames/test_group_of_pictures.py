from __future__ import annotations

import tracemalloc

import numpy as np

from trafficgen.processes.frames.group_of_pictures import find_group, fit_profile
from trafficgen.units import FloatArray


def encoder(
    frames: int, group: int, *, key: float, spread: float, seed: int, key_spread: float = 0.1
) -> FloatArray:
    rng = np.random.default_rng(seed)
    sizes = 2000 * rng.lognormal(0, spread, frames)
    keys = np.arange(0, frames, group)
    sizes[keys] = 2000 * key * rng.lognormal(0, key_spread, keys.size)
    return np.asarray(np.rint(sizes))


def test_regular_key_frames_are_found_at_their_places() -> None:
    found = find_group(encoder(1000, 50, key=8, spread=0.3, seed=0))
    assert found is not None
    assert [(part.frames, part.share) for part in found.group.distances] == [(50, 1.0)]
    assert found.group.first_key_frame == 0
    np.testing.assert_array_equal(np.flatnonzero(found.types == 0), np.arange(0, 1000, 50))


def test_key_frames_that_overlap_with_others_are_found_by_folding() -> None:
    found = find_group(encoder(1500, 30, key=3, spread=0.6, key_spread=0.4, seed=1))
    assert found is not None
    assert max(found.group.distances, key=lambda part: part.share).frames == 30


def test_groups_that_start_anew_now_and_then_are_found() -> None:
    parts = [
        encoder(frames, 50, key=3, spread=0.6, key_spread=0.4, seed=frames)
        for frames in (20_015, 19_981, 20_033)
    ]
    found = find_group(np.concatenate(parts))
    assert found is not None
    lengths = {part.frames: part.share for part in found.group.distances}
    # By chance a group before a new start may be joined to it: its length is not asserted.
    assert max(lengths, key=lambda frames: lengths[frames]) == 50
    assert lengths[50] > 0.99
    keys = np.concatenate(
        [
            start + np.arange(0, size, 50)
            for start, size in ((0, 20_015), (20_015, 19_981), (39_996, 20_033))
        ]
    )
    assert np.isin(np.flatnonzero(found.types == 0), keys).mean() > 0.99


def test_a_scene_cut_changes_the_length_of_some_groups() -> None:
    sizes = encoder(1000, 50, key=8, spread=0.3, seed=2)
    sizes[520] = 16_000
    found = find_group(sizes)
    assert found is not None
    assert {part.frames for part in found.group.distances} == {20, 30, 50}


def test_sizes_without_key_frames_have_no_groups() -> None:
    rng = np.random.default_rng(3)
    for seed in range(20):
        assert find_group(2000 * np.random.default_rng(seed).lognormal(0, 0.4, 1000)) is None
    assert find_group(np.full(500, 160.0)) is None
    assert find_group(rng.lognormal(7, 0.3, 20)) is None


def test_predicted_frames_between_bidirectional_ones_are_told_by_their_period() -> None:
    rng = np.random.default_rng(4)
    place = np.arange(900) % 30
    sizes = np.where(place == 0, 20_000, np.where(place % 3 == 1, 5000, 1500)) * rng.lognormal(
        0, 0.2, 900
    )
    found = find_group(sizes)
    assert found is not None
    assert (found.group.reference_period, found.group.reference_position) == (3, 1)
    np.testing.assert_array_equal(
        np.flatnonzero(found.types == 1), np.flatnonzero((place % 3 == 1) & (place > 0))
    )


def test_a_profile_is_found_where_places_say_something_of_sizes_and_only_there() -> None:
    rng = np.random.default_rng(5)
    places = np.arange(20 * 50) % 50
    true = np.where(places > 0, np.sin(places), 0.0)
    scores = (true + rng.normal(size=places.size)) / np.sqrt(1.5)
    found = fit_profile(scores, places)
    assert np.corrcoef(found, true[:50])[0, 1] > 0.85
    for seed in range(20):
        slow = np.cumsum(np.random.default_rng(seed).normal(size=places.size))
        assert fit_profile((slow - slow.mean()) / slow.std(), places).size == 0


def test_long_series_keep_no_windows_of_their_sizes() -> None:
    sizes = encoder(200_000, 50, key=8, spread=0.3, seed=6)
    tracemalloc.start()
    found = find_group(sizes)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found is not None
    assert found.group.first_key_frame == 0
    # A window of 25 values for each frame would be 40 MB by itself.
    assert peak_bytes < 40_000_000
