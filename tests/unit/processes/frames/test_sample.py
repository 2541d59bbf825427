from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen.distributions import MixedLaw, distribution_of
from trafficgen.models import Trains
from trafficgen.processes.base import Span, to_playable
from trafficgen.processes.frames.sample import (
    FrameLaws,
    FrameTypeLaws,
    GroupLaws,
    cut_into_packets,
    frame_sizes,
    schedule_frames,
)
from trafficgen.units import FloatArray


def generator_of(quantity: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(quantity.encode()))


def atom(value: float) -> MixedLaw:
    return MixedLaw(continuous=None, values=(value,), probabilities=(1.0,))


def laws(**changes: object) -> FrameLaws:
    parts: dict[str, object] = {
        "spacing_s": atom(0.04),
        "spacing_spectrum": None,
        "lateness_s": None,
        "lateness_spectrum": None,
        "first_lateness_s": 0.0,
        "types": (
            FrameTypeLaws(name="frame", frame_bytes=atom(3000), lead_bytes=(), lead_share=0.0),
        ),
        "group": None,
        "size_spectrum": None,
        "packetisation": "filled",
        "packet_bytes": atom(1400),
        "gap_within_s": atom(0.001),
        "gap_scale": "packet",
    }
    return FrameLaws(**{**parts, **changes})  # type: ignore[arg-type]


def test_frames_become_full_packets_and_a_rest_on_a_clock() -> None:
    played = laws().play(Span(1.0, 1.1), generator_of)
    assert played.ip_bytes.tolist() == [1400, 1400, 200] * 3
    np.testing.assert_allclose(
        played.time_s,
        [1 + 0.04 * frame + 0.001 * number for frame in range(3) for number in range(3)],
    )
    assert played.burst_starts is not None
    assert played.burst_starts.tolist() == [0, 3, 6]
    assert played.frame_clock_s is not None
    np.testing.assert_allclose(played.frame_clock_s, [1.0, 1.04, 1.08])


def test_a_phase_too_short_for_anything_has_its_first_packet() -> None:
    played = laws().play(Span(1.0, 1.0 + 1e-300), generator_of)
    assert (played.time_s.tolist(), played.ip_bytes.tolist()) == ([1.0], [1400])
    assert played.frame_clock_s is not None
    assert played.frame_clock_s.tolist() == [1.0]


def test_equal_packets_are_as_few_as_the_largest_allows() -> None:
    played = laws(packetisation="equal").play(Span(0, 0.04), generator_of)
    assert played.ip_bytes.tolist() == [1000, 1000, 1000]


def test_lead_packets_come_first_and_are_part_of_the_frame() -> None:
    key = FrameTypeLaws(name="frame", frame_bytes=atom(3000), lead_bytes=(66, 44), lead_share=1.0)
    played = laws(types=(key,)).play(Span(0, 0.04), generator_of)
    assert played.ip_bytes.tolist() == [66, 44, 1400, 1400, 90]


def test_gaps_of_a_paced_frame_share_its_time() -> None:
    paced = laws(gap_within_s=atom(0.03), gap_scale="frame")
    played = paced.play(Span(0, 0.04), generator_of)
    np.testing.assert_allclose(played.time_s, [0, 0.01, 0.02])


def test_gaps_follow_one_another_within_a_frame_as_in_trains() -> None:
    gaps = MixedLaw(continuous=None, values=(0.001, 0.01), probabilities=(0.5, 0.5))
    stored = Trains(packets=(3,), gap_ranks="AA//AA")
    trained = laws(gap_within_s=gaps, trains=to_playable(stored))
    played = trained.play(Span(0, 4), generator_of)
    gap_s = np.diff(played.time_s)
    assert gap_s[::3].mean() > 2 * gap_s[1::3].mean()
    # The next frame waits for the last packet at most.
    np.testing.assert_allclose(played.time_s[::3], 0.04 * np.arange(100), atol=1e-9)


def test_lateness_follows_stretches_and_keeps_its_law() -> None:
    late = MixedLaw(continuous=None, values=(0.0, 0.004), probabilities=(0.5, 0.5))
    stored = Trains(packets=(64,), gap_ranks="AA//" * 32)
    frames = laws(lateness_s=late, lateness_trains=to_playable(stored), packet_bytes=atom(3000))
    spacing_s = np.diff(frames.play(Span(0, 40), generator_of).time_s)
    assert np.corrcoef(spacing_s[:-1], spacing_s[1:])[0, 1] < -0.8
    assert abs(spacing_s.sum() - 0.04 * spacing_s.size) < 0.005


def test_a_frame_waits_until_the_one_before_has_been_sent() -> None:
    slow = laws(gap_within_s=atom(0.02))  # 3 packets take 60 ms, frames come every 40 ms
    played = slow.play(Span(0, 0.3), generator_of)
    np.testing.assert_allclose(np.diff(played.time_s), 0.02)


def test_a_late_first_frame_is_followed_by_those_that_were_due() -> None:
    late = laws(lateness_s=atom(0.0), first_lateness_s=0.1, gap_within_s=atom(0.001))
    played = late.play(Span(0, 0.2), generator_of)
    assert played.burst_starts is not None
    # frames due at -60 and -20 ms follow at once, three packets of 1 ms each; from 20 ms on the
    # clock has caught up
    np.testing.assert_allclose(
        played.time_s[played.burst_starts][:5], [0, 0.003, 0.006, 0.02, 0.06], atol=1e-12
    )


def test_leads_of_a_paced_frame_are_sent_at_once() -> None:
    key = FrameTypeLaws(name="frame", frame_bytes=atom(2910), lead_bytes=(66, 44), lead_share=1.0)
    paced = laws(types=(key,), gap_within_s=atom(0.03), gap_scale="frame", lead_gap_s=atom(1e-5))
    played = paced.play(Span(0, 0.07), generator_of)
    assert played.ip_bytes.tolist() == [66, 44, 1400, 1400] * 2
    once_s = np.array([0, 1e-5, 2e-5, 0.01502])
    np.testing.assert_allclose(played.time_s, np.concatenate((once_s, 0.04 + once_s)), atol=1e-9)


def test_a_process_that_continues_keeps_its_clock_and_its_groups() -> None:
    group = GroupLaws(
        frames=np.array([7]),
        share=np.array([1.0]),
        first_key_frame=2,
        reference_period=None,
        reference_position=0,
    )
    types = tuple(
        FrameTypeLaws(name=name, frame_bytes=atom(size), lead_bytes=(), lead_share=0.0)
        for name, size in (("key", 1200), ("predicted", 600))
    )
    process = laws(lateness_s=atom(0.0), gap_within_s=None, types=types, group=group)
    rest = Span(2.51, 4.0, first_at_start=False, played_s=1.51, begun_at_packet=True)
    whole = process.play(Span(1.0, 4.0), generator_of)
    parts = [process.play(span, generator_of) for span in (Span(1.0, 2.51), rest)]
    for name in ("time_s", "ip_bytes", "frame_clock_s"):
        joined = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_allclose(joined, getattr(whole, name), atol=1e-9)
    # All frames but a late first one are sent before the clock shows their time.
    late = replace(process, first_lateness_s=0.1).play(rest, generator_of)
    assert late.frame_clock_s is not None
    np.testing.assert_allclose(late.frame_clock_s - late.time_s, 0.1)
    numbers = (late.frame_clock_s - 1.0) / 0.04
    np.testing.assert_allclose(numbers, np.rint(numbers), atol=1e-6)


def test_key_frames_come_after_the_first_one_at_the_lengths_of_groups() -> None:
    group = GroupLaws(
        frames=np.array([5]),
        share=np.array([1.0]),
        first_key_frame=2,
        reference_period=2,
        reference_position=1,
    )
    types = tuple(
        FrameTypeLaws(name=name, frame_bytes=atom(1000), lead_bytes=(), lead_share=0.0)
        for name in ("key", "predicted", "bidirectional")
    )
    found, _ = frame_sizes(laws(types=types, group=group), 12, generator_of=generator_of)
    assert found.tolist() == [1, 2, 0, 1, 2, 1, 2, 0, 1, 2, 1, 2]


def test_sizes_follow_the_profile_of_their_group() -> None:
    group = GroupLaws(
        frames=np.array([4]),
        share=np.array([1.0]),
        first_key_frame=0,
        reference_period=None,
        reference_position=0,
        profile=np.array([0.0, 1.2, -0.8, -0.4]),
    )
    normal = MixedLaw(continuous=distribution_of("norm", {"loc": 1000, "scale": 100}))
    types = tuple(
        FrameTypeLaws(name=name, frame_bytes=law, lead_bytes=(), lead_share=0.0)
        for name, law in (("key", atom(9000)), ("predicted", normal))
    )
    _, sizes = frame_sizes(laws(types=types, group=group), 4000, generator_of=generator_of)
    key, second, third, last = sizes.reshape(-1, 4).mean(axis=0)
    assert (key, second > last > third) == (9000, True)
    # Normal scores of what is left have the rest of the variance, so that the law stays.
    assert abs(np.mean(sizes[sizes < 9000]) - 1000) < 5
    share = np.var([second, third, last]) / np.var(sizes[sizes < 9000])
    assert abs(share - (1.2**2 + 0.8**2 + 0.4**2) / 4) < 0.1


@given(
    frame_bytes=st.lists(st.integers(1, 200_000), min_size=1, max_size=40),
    packetisation=st.sampled_from(["filled", "equal"]),
    leads=st.lists(st.integers(1, 100), max_size=3),
    share=st.floats(0, 1),
    scale=st.floats(50, 1400),
)
@settings(max_examples=100, deadline=None)
def test_packets_add_up_to_their_frames(
    frame_bytes: list[int], packetisation: str, leads: list[int], share: float, scale: float
) -> None:
    part = FrameTypeLaws(
        name="frame", frame_bytes=atom(1), lead_bytes=tuple(leads), lead_share=share
    )
    law = MixedLaw(continuous=distribution_of("expon", {"loc": 1.0, "scale": scale}), integer=True)
    sizes = np.array(frame_bytes)
    process = laws(types=(part,), packetisation=packetisation, packet_bytes=law)
    cut = cut_into_packets(
        process, np.zeros(sizes.size, dtype=np.int64), sizes, generator_of=generator_of
    )
    counts, packets = cut.counts, cut.sizes
    assert counts.min() >= 1
    assert np.all(cut.leads < counts)
    frame = np.repeat(np.arange(sizes.size), counts)
    np.testing.assert_array_equal(np.bincount(frame, weights=packets, minlength=sizes.size), sizes)
    assert packets.min() >= 1


def by_hand(ready_s: FloatArray, busy_s: FloatArray) -> list[float]:
    sent: list[float] = []
    for ready, before in zip(ready_s, np.append(0, busy_s[:-1]), strict=True):
        sent.append(max(ready, sent[-1] + before) if sent else ready)
    return sent


def test_sending_times_are_lindleys_recursion() -> None:
    rng = np.random.default_rng(0)
    ready_s, busy_s = np.cumsum(rng.exponential(1, 200)), rng.exponential(0.9, 200)
    np.testing.assert_allclose(
        schedule_frames(ready_s, busy_s), by_hand(ready_s, busy_s), rtol=1e-12
    )


@pytest.mark.parametrize("packetisation", ["filled", "equal"])
def test_expected_packets_are_about_those_that_come(packetisation: str) -> None:
    sizes = {"key": 9000, "predicted": 3000, "bidirectional": 900}
    types = tuple(
        FrameTypeLaws(
            name=name,
            frame_bytes=atom(size),
            lead_bytes=(60,) if name == "key" else (),
            lead_share=1.0,
        )
        for name, size in sizes.items()
    )
    group = GroupLaws(
        frames=np.array([12]),
        share=np.ones(1),
        first_key_frame=0,
        reference_period=3,
        reference_position=0,
    )
    clocked = laws(types=types, group=group, packetisation=packetisation)
    played = clocked.play(Span(0, 60), generator_of)
    assert clocked.expected_packets(60.0, place="here") == pytest.approx(
        played.time_s.size, rel=0.1
    )
