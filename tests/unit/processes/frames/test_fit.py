from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from trafficgen.calibration.process_choice import fit_process
from trafficgen.models import FrameProcess
from trafficgen.processes.base import Span, playable
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.frames.fit import propose_frames
from trafficgen.processes.frames.timing import _theil_slopes, frames_of, frames_of_bursts
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray, ns_array_from_s


def generator_of(quantity: str) -> np.random.Generator:
    return random_stream(0, session=0, purpose=quantity)


def packets_of(
    sent_s: npt.NDArray[np.floating],
    frame_bytes: IntArray,
    timestamp: IntArray,
    *,
    full: int = 1400,
    gap_s: float = 1e-4,
) -> PhasePackets:
    """Frames cut into full packets and a rest, packets one gap apart."""
    time_s, sizes, stamps = [], [], []
    for start_s, size, stamp in zip(
        sent_s.tolist(), frame_bytes.tolist(), timestamp.tolist(), strict=True
    ):
        number, left = 0, size
        while left > 0:
            time_s.append(start_s + number * gap_s)
            sizes.append(min(full, left))
            stamps.append(stamp)
            left, number = left - full, number + 1
    time_ns = ns_array_from_s(np.array(time_s))
    return PhasePackets(
        time_ns=time_ns,
        ip_bytes=np.array(sizes),
        span_ns=(int(time_ns[0]), int(time_ns[-1])),
        tick_s=1e-6,
        rtp_timestamp=np.array(stamps),
        clock_hz=90_000,
    )


def fitted(packets: PhasePackets) -> FrameProcess:
    found = propose_frames(packets, LawFitter(generator_of, packets.tick_s))
    assert found is not None
    assert isinstance(found.process, FrameProcess)
    return found.process


def test_the_frame_rate_comes_from_the_timestamps_whatever_the_send_times() -> None:
    rng = np.random.default_rng(1)
    instants = np.arange(500) * 0.04
    process = fitted(
        packets_of(
            instants + rng.uniform(0, 0.005, 500),
            rng.integers(900, 5000, 500),
            np.arange(500) * 3600,
        )
    )
    assert abs(process.frame_rate_hz.value - 25) < 1e-9
    assert process.clock_ratio.low is not None
    assert process.clock_ratio.high is not None
    # lateness of 5 ms at most over 20 s moves the slope by far less than 5 / 20,000
    assert abs(process.clock_ratio.value - 1) < 2.5e-4


def test_single_packets_of_a_steady_sender_stay_on_its_clock() -> None:
    number, generator = np.arange(3000), np.random.default_rng(4)
    late_s = generator.uniform(0, 2e-4, number.size)
    late_s[generator.random(number.size) < 0.002] += 3e-3
    packets = packets_of(number * 0.02 + late_s, np.full(number.size, 200), number * 1800)
    found = fit_process(packets, generator_of=generator_of)
    assert found.choice is not None
    # Independent gaps pass the check, and walk away from the clock.
    assert found.choice.tried[0].passed
    played_s = playable(found.process).play(Span(0.0, 60.0), generator_of).time_s
    off_s = played_s - np.rint((played_s - played_s[0]) / 0.02) * 0.02
    assert np.ptp(np.quantile(off_s, [0.02, 0.98])) < 5e-4


def test_a_clock_whose_timestamps_are_rounded_keeps_its_period() -> None:
    # 1028 bytes at 548 kbit/s of 1000 of them: 1313.87 ticks of 90 kHz, 1313 or 1314 by turns
    number, generator = np.arange(3000), np.random.default_rng(4)
    late_s = generator.uniform(0, 1e-4, number.size)
    period_s = 8 / 548
    packets = packets_of(
        number * period_s + late_s,
        np.full(number.size, 1028),
        np.floor(number * period_s * 90_000).astype(np.int64),
    )
    played_s = playable(fitted(packets)).play(Span(0.0, 40.0), generator_of).time_s
    off_s = played_s - np.arange(played_s.size) * period_s
    assert np.ptp(off_s) < 1.1e-4


def test_packets_whose_gaps_are_all_the_same_are_no_frames() -> None:
    number = np.arange(500)
    packets = packets_of(number * 8 / 548, np.full(500, 1028), np.arange(500) * 1314)
    assert propose_frames(packets, LawFitter(generator_of, packets.tick_s)) is None


def test_one_packet_has_no_frames() -> None:
    packets = packets_of(np.zeros(1), np.full(1, 1028), np.zeros(1, dtype=np.int64))
    assert propose_frames(packets, LawFitter(generator_of, packets.tick_s)) is None


def test_a_clock_that_runs_slow_is_told_by_its_ratio() -> None:
    instants = np.arange(500) * 0.04
    process = fitted(packets_of(1.01 * instants, np.full(500, 3000), np.arange(500) * 3600))
    assert abs(process.clock_ratio.value - 1.01) < 1e-6


def test_timestamps_that_go_back_and_forth_are_one_clock_in_order_of_sending() -> None:
    order = (np.arange(300) // 3)[:, None] * 3
    shown = (order[::3] + np.array([2, 0, 1])).ravel()  # P B B: sent first, shown last
    frames = frames_of(packets_of(np.arange(300) * 0.04, np.full(300, 1000), shown * 3600))
    assert frames is not None
    np.testing.assert_allclose(np.diff(frames.clock_s), 0.04)


def test_frames_sent_at_once_and_a_last_group_that_is_cut_are_not_late_later() -> None:
    order = (np.arange(300) // 3)[:, None] * 3
    shown = (order[::3] + np.array([2, 0, 1])).ravel()[:-2]  # the last ones shown before are cut
    late_s = np.random.default_rng(0).uniform(0, 3e-4, shown.size)
    sent_s = np.maximum(np.arange(shown.size) * 0.04, 0.12 + np.arange(shown.size) * 1e-5) + late_s
    sent_s[:4] = 0.12 + 1e-4 * np.arange(4)
    process = fitted(packets_of(sent_s, np.full(shown.size, 1000), shown * 3600))
    assert process.lateness_s is not None
    assert process.first_lateness_s == pytest.approx(0.12, abs=1e-3)
    played = process.lateness_s.distribution().ascending_sample(generator_of("late"), 300)
    assert played[-1] < 1e-3
    spacing_s = process.spacing_s.distribution().ascending_sample(generator_of("spacing"), 300)
    np.testing.assert_allclose(spacing_s, 0.04, rtol=1e-4)


def test_lost_or_skipped_frames_are_longer_steps_of_the_clock() -> None:
    kept = np.flatnonzero(np.arange(600) % 10 != 7)
    process = fitted(packets_of(kept * 0.04, np.full(kept.size, 2000), kept * 3600))
    atoms = {round(atom.value, 6): atom.p for atom in process.spacing_s.atoms}
    assert set(atoms) == {0.04, 0.08}
    assert abs(atoms[0.08] - 1 / 9) < 0.005


def test_packets_within_a_frame_that_share_its_time_are_told_from_those_with_a_fixed_gap() -> None:
    rng = np.random.default_rng(3)
    sizes = rng.integers(1500, 14_000, 300)
    assert (
        fitted(packets_of(np.arange(300) * 0.04, sizes, np.arange(300) * 3600)).gap_scale
        == "packet"
    )
    paced = packets_of(np.arange(300) * 0.04, sizes, np.arange(300) * 3600)
    frame = (paced.rtp_timestamp if paced.rtp_timestamp is not None else paced.time_ns) // 3600
    counts = np.bincount(frame)
    number = np.arange(frame.size) - np.repeat(np.cumsum(counts) - counts, counts)
    spread = PhasePackets(
        time_ns=ns_array_from_s(frame * 0.04 + number * (0.04 / counts)[frame]),
        ip_bytes=paced.ip_bytes,
        span_ns=paced.span_ns,
        tick_s=1e-6,
        rtp_timestamp=paced.rtp_timestamp,
        clock_hz=90_000,
    )
    process = fitted(spread)
    assert process.gap_scale == "frame"
    assert process.gap_within_s is not None
    assert abs(process.gap_within_s.distribution().mean - 0.04) < 1e-4


def test_packets_of_a_paced_frame_are_on_time_after_a_first_one_that_is_late() -> None:
    rng = np.random.default_rng(3)
    packets, late_s = rng.integers(1, 5, 2000), 4e-5 + rng.exponential(5e-5, 2000)
    time_s = [
        frame * 0.04 + np.arange(n) * 0.04 / n + np.append(late_s[frame], np.zeros(n - 1))
        for frame, n in enumerate(packets.tolist())
    ]
    time_ns = ns_array_from_s(np.concatenate(time_s))
    process = fitted(
        PhasePackets(
            time_ns=time_ns,
            ip_bytes=np.full(time_ns.size, 1000),
            span_ns=(int(time_ns[0]), int(time_ns[-1])),
            tick_s=1e-6,
            rtp_timestamp=np.repeat(np.arange(2000) * 3600, packets),
            clock_hz=90_000,
        )
    )
    assert process.gap_scale == "frame"
    assert process.paced_from_s is not None
    # The instants of frames begin where the least late of them is sent.
    assert process.paced_from_s == pytest.approx(-4e-5, abs=1e-6)
    assert process.gap_within_s is not None
    assert process.gap_within_s.distribution().mean == pytest.approx(0.04, rel=1e-4)
    played = playable(process).play(Span(0.0, 80.0), generator_of)
    assert played.burst_starts is not None
    second = played.burst_starts[:-1][np.diff(played.burst_starts) == 2] + 1
    # From the second of two packets to the next frame: the lateness of one frame, not of two.
    to_next_s = played.time_s[second + 1] - played.time_s[second] - 0.02
    assert np.std(to_next_s) == pytest.approx(5e-5, rel=0.15)


def test_leads_that_are_sent_at_once_do_not_share_the_time_of_their_frame() -> None:
    time_s, sizes, stamps = [], [], []
    for frame in range(300):
        begun_s, leads = frame * 0.04, (66, 44) if frame % 25 == 0 else ()
        pictures = 15 if leads else 2 + frame % 3
        time_s += [begun_s + 2e-5 * number for number in range(len(leads))]
        begun_s += 2e-5 * len(leads)
        time_s += [begun_s + 0.038 / pictures * number for number in range(pictures)]
        sizes += [*leads, *[1400] * (pictures - 1), 900]
        stamps += [frame * 3600] * (len(leads) + pictures)
    time_ns = ns_array_from_s(np.array(time_s))
    packets = PhasePackets(
        time_ns=time_ns,
        ip_bytes=np.array(sizes),
        span_ns=(int(time_ns[0]), int(time_ns[-1])),
        tick_s=1e-6,
        rtp_timestamp=np.array(stamps),
        clock_hz=90_000,
    )
    process = fitted(packets)
    assert process.gap_scale == "frame"
    assert process.lead_gap_s is not None
    assert process.lead_gap_s.distribution().mean == pytest.approx(2e-5, rel=0.01)
    assert process.gap_within_s is not None
    assert process.gap_within_s.distribution().mean == pytest.approx(0.038, rel=0.01)


@pytest.mark.parametrize(("other_bytes", "are_leads"), [(78, True), (90, False)])
def test_leads_of_a_few_frames_may_differ_by_some_bytes(
    other_bytes: int, *, are_leads: bool
) -> None:
    # Parameter sets before one frame in ten, as those of a call.
    leads = [[77 if frame % 20 else other_bytes] if frame % 10 == 0 else [] for frame in range(300)]
    sizes = [[*lead, 1100, 1100, 400] for lead in leads]
    counts = np.array([len(one) for one in sizes])
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    frame = np.repeat(np.arange(300), counts)
    time_ns = ns_array_from_s(frame * 0.1 + number * 1e-3)
    packets = PhasePackets(
        time_ns=time_ns,
        ip_bytes=np.concatenate(sizes),
        span_ns=(int(time_ns[0]), int(time_ns[-1])),
        tick_s=1e-6,
        rtp_timestamp=frame * 9000,
        clock_hz=90_000,
    )
    (part,) = fitted(packets).types
    assert bool(part.lead_bytes) == are_leads
    assert part.lead_share == pytest.approx(0.1 * are_leads)


def test_without_timestamps_or_with_few_frames_there_is_no_frame_clock() -> None:
    packets = packets_of(np.arange(100) * 0.04, np.full(100, 1000), np.arange(100) * 3600)
    bare = PhasePackets(
        time_ns=packets.time_ns, ip_bytes=packets.ip_bytes, span_ns=packets.span_ns, tick_s=1e-6
    )
    assert propose_frames(bare, LawFitter(generator_of, 1e-6)) is None
    few = packets_of(np.arange(10) * 0.04, np.full(10, 1000), np.arange(10) * 3600)
    assert propose_frames(few, LawFitter(generator_of, 1e-6)) is None


def test_what_is_played_has_the_bytes_of_what_was_fitted() -> None:
    rng = np.random.default_rng(5)
    sizes = np.where(np.arange(1000) % 50 == 0, 20_000, rng.lognormal(7.8, 0.4, 1000)).astype(
        np.int64
    )
    packets = packets_of(np.arange(1000) * 0.04, sizes, np.arange(1000) * 3600)
    played = playable(fitted(packets)).play(Span(0.0, 40.0), generator_of)
    # sizes are spread over their law: what is left is the law's own error of the mean, 3% at most
    # in a fit
    assert abs(float(played.ip_bytes.sum()) / float(sizes.sum()) - 1) < 0.03
    assert played.burst_starts is not None
    assert abs(played.burst_starts.size - 1000) <= 1


@pytest.mark.parametrize("digits", [2, 9])
def test_median_slopes_and_their_limits_are_those_of_scipy(digits: int) -> None:
    generator = np.random.default_rng(1)
    for count in (2, 5, 300):
        x = np.cumsum(np.round(generator.exponential(size=count), digits) + 0.5 * 10**-digits)
        y = np.round(x + generator.normal(size=count), digits)
        found = stats.theilslopes(y, x)
        assert _theil_slopes(x, y) == (found.low_slope, found.slope, found.high_slope)


def bursts_of(start_s: FloatArray, sizes: IntArray) -> PhasePackets:
    packets = packets_of(start_s, sizes, np.zeros(start_s.size, dtype=np.int64))
    return replace(packets, rtp_timestamp=None, clock_hz=None, threshold_s=1e-3)


def drawn_sizes(count: int, *, whole: bool = False) -> IntArray:
    sizes = np.random.default_rng(3).integers(3000, 9000, count)
    return sizes // 1400 * 1400 if whole else sizes


def test_bursts_with_jitter_of_their_own_keep_a_clock_and_a_walk_keeps_none() -> None:
    generator, number = np.random.default_rng(1), np.arange(400)
    jitter_s = generator.normal(0, 2e-3, 400)
    kept = frames_of_bursts(bursts_of(1 + 0.04 * number + jitter_s, drawn_sizes(400, whole=True)))
    assert kept is not None
    assert np.allclose(np.diff(kept.clock_s), 0.04, atol=1e-4)
    walk_s = np.cumsum(0.04 + jitter_s)
    assert frames_of_bursts(bursts_of(walk_s, drawn_sizes(400, whole=True))) is None
    cut = frames_of_bursts(bursts_of(walk_s, drawn_sizes(400)))
    assert cut is not None
    assert np.array_equal(cut.clock_s, cut.start_s)


def test_a_frame_that_is_missing_is_a_longer_step_of_the_clock() -> None:
    generator, number = np.random.default_rng(1), np.delete(np.arange(300), [50, 120, 121])
    start_s = 1 + 0.04 * number + generator.normal(0, 2e-3, number.size)
    kept = frames_of_bursts(bursts_of(start_s, drawn_sizes(number.size)))
    assert kept is not None
    assert np.allclose(kept.clock_s, 0.04 * number, atol=1e-3)


def test_flights_of_full_packets_are_no_frames() -> None:
    walk_s = np.cumsum(np.random.default_rng(1).exponential(0.03, 400) + 0.01)
    assert frames_of_bursts(bursts_of(walk_s, drawn_sizes(400, whole=True))) is None
    few = bursts_of(walk_s[:50], drawn_sizes(50))
    assert frames_of_bursts(few) is None
    slow = bursts_of(10 * walk_s, drawn_sizes(400))
    assert frames_of_bursts(slow) is None
