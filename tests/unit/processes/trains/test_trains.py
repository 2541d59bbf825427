"""Gaps and sizes follow one another as in the trains of a capture."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.json_text import pack_text
from trafficgen.models import Trains
from trafficgen.processes.base import Span, playable, to_playable
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.trains.fit import find_clock, find_trains, propose_trains
from trafficgen.processes.trains.sample import (
    TrainOrder,
    coarsen_trains,
    decode_ranks,
    deviation_of_sums,
    encode_ranks,
)
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

_COUNT = 3000


def _correlation(one: FloatArray, other: FloatArray) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def _trains(seed: int) -> tuple[FloatArray, FloatArray]:
    """Make packets in which a long gap follows a short one, and a small packet a long gap."""
    generator = np.random.default_rng(seed)
    gap_s = generator.exponential(1e-3, _COUNT)
    gap_s[::2] += 5e-3
    sizes = np.where(gap_s > 5e-3, 200.0, 1400.0) + generator.integers(0, 100, _COUNT)
    return gap_s, sizes.astype(np.float64)


def test_ranks_are_written_and_read() -> None:
    ranks: IntArray = np.array([0, 1, 63, 64, 4095])
    assert encode_ranks(ranks / 4096) == "AAABA/BA//"
    assert encode_ranks(np.ones(1)) == "//"
    assert decode_ranks("AAABA/BA//", 5) == pytest.approx(ranks / 4096)
    assert decode_ranks("", 5).size == 0


def test_coarse_ranks_tell_the_few_at_both_ends_apart() -> None:
    ranks = np.append(np.linspace(0, 1, 500, endpoint=False), [0.002, 0.998])
    text = encode_ranks(ranks)
    trains = coarsen_trains(Trains(packets=(ranks.size,), gap_ranks=text, size_ranks=text))
    assert coarsen_trains(trains) is trains
    for coarse in (trains.gap_ranks, trains.size_ranks):
        assert len(coarse) == ranks.size
        found = decode_ranks(coarse, ranks.size)
        assert found == pytest.approx(ranks, abs=0.025)
        assert found[-2:] == pytest.approx(ranks[-2:], abs=0.001)


def test_ranks_that_pack_well_are_packed_in_a_file() -> None:
    trains = Trains(packets=(2000,), gap_ranks="AB" * 1000, size_ranks="A" * 2000)
    text = trains.model_dump_json()
    assert len(text) < 300
    assert Trains.model_validate_json(text) == trains
    few = Trains(packets=(3,), gap_ranks="A/g")
    assert '"A/g"' in few.model_dump_json()
    assert Trains.model_validate_json(few.model_dump_json()) == few


@pytest.mark.parametrize("packed", ["zlib:", "zlib:AAAA", f"zlib:{pack_text('A' * (1 << 18))}"])
def test_packed_ranks_that_cannot_be_unpacked_are_refused(packed: str) -> None:
    with pytest.raises(ValueError, match="packed text"):
        Trains(packets=(3,), gap_ranks=packed)


def test_independent_packets_have_no_trains() -> None:
    generator = np.random.default_rng(1)
    sizes = generator.integers(100, 1500, _COUNT).astype(np.float64)
    assert find_trains(generator.exponential(1e-3, _COUNT), sizes) is None


def test_what_follows_what_is_played_and_the_values_stay() -> None:
    gap_s, sizes = _trains(1)
    trains = find_trains(gap_s, sizes)
    assert trains is not None
    order: TrainOrder = to_playable(trains)
    generator = np.random.default_rng(2)
    drawn_s, drawn = generator.permutation(gap_s), generator.permutation(sizes).astype(np.uint32)
    played_s, played = order.arrange(drawn_s, drawn, generator)
    assert np.array_equal(np.sort(played_s), np.sort(drawn_s))
    assert np.array_equal(np.sort(played), np.sort(drawn))
    for one, other in (
        ((gap_s[:-1], gap_s[1:]), (played_s[:-1], played_s[1:])),
        ((gap_s[:-2], gap_s[2:]), (played_s[:-2], played_s[2:])),
        ((gap_s, sizes), (played_s, played.astype(np.float64))),
    ):
        assert _correlation(*other) == pytest.approx(_correlation(*one), abs=0.06)
    assert abs(_correlation(gap_s[:-1], gap_s[1:])) > 0.5  # there is something to keep


def _full_link(seed: int, count: int = 8000) -> FloatArray:
    """Make gaps of a full link of a packet in 5 ms: few packets are late, no others."""
    generator = np.random.default_rng(seed)
    late_s = np.abs(generator.normal(0, 2e-5, count))
    late_s[generator.random(count) < 0.02] += 3e-3
    return np.diff(5e-3 * np.arange(count) + late_s)


def test_a_full_link_keeps_its_clock() -> None:
    gap_s = _full_link(1)
    clock = find_clock(gap_s)
    assert clock is not None
    assert clock.mean_gap_s == pytest.approx(5e-3, rel=1e-4)
    # Gaps in stretches, as trains are played, in which a packet in 50 is not made up for.
    played_s = np.random.default_rng(2).permutation(gap_s[:7900].reshape(-1, 50)).ravel() * 1.001
    kept_s = to_playable(clock).keep(played_s)
    assert kept_s[:7872].mean() == pytest.approx(5e-3, rel=1e-4)  # in whole runs of 64
    many = clock.packets
    assert deviation_of_sums(kept_s, many) < 0.5 * deviation_of_sums(played_s, many)
    assert np.mean(np.isclose(kept_s, played_s)) > 0.98  # others are as they were drawn


def test_gaps_that_do_not_make_up_for_one_another_have_no_clock() -> None:
    generator = np.random.default_rng(3)
    assert find_clock(generator.uniform(4e-3, 6e-3, 8000)) is None
    assert find_clock(generator.exponential(5e-3, 8000)) is None
    # Neighbours that make up for one another stay together in trains.
    wait_s = generator.exponential(1e-3, 8000)
    assert find_clock(generator.normal(5e-3, 1e-3, 7999) + 0.1 * np.diff(wait_s)) is None


def test_a_played_full_link_has_as_many_packets_in_each_second_as_in_the_capture() -> None:
    gap_s = _full_link(4)
    time_ns = ns_array_from_s(np.concatenate(([0.0], np.cumsum(gap_s))))
    packets = PhasePackets(
        time_ns, np.full(time_ns.size, 1500), (0, int(time_ns[-1]) + 1), tick_s=1e-9
    )
    fitted = propose_trains(packets, LawFitter(lambda _: np.random.default_rng(5), 1e-9))
    assert fitted is not None
    for seed in range(3):

        def generator_of(purpose: str, seed: int = seed) -> np.random.Generator:
            return random_stream(seed, session=0, purpose=purpose)

        played = playable(fitted.process).play(Span(0.0, packets.span_s), generator_of)
        assert played.time_s[-1] < packets.span_s
        assert played.time_s.size == pytest.approx(time_ns.size, abs=2)
        in_bins = np.bincount(played.time_s.astype(int))[:-1]
        assert np.abs(in_bins - 200).max() <= 2


@pytest.mark.parametrize("times_as_long", [1, 6])
def test_gaps_without_bursts_change_as_slowly_as_in_the_capture(times_as_long: int) -> None:
    generator = np.random.default_rng(11)
    # The sender is busy for some 1,000 packets, then idle for as many: longer than a stretch, and
    # more than are kept of the longer capture.
    rate = np.tile(np.repeat([1.0, 3.0], 1000), 4 * times_as_long).repeat(times_as_long)
    gap_s = generator.exponential(1e-3, rate.size) * rate
    trains = find_trains(gap_s, np.ones(gap_s.size))
    assert trains is not None
    assert (trains.session_packets is None) == (times_as_long == 1)
    order: TrainOrder = to_playable(trains)
    sizes = np.ones(gap_s.size, np.uint32)
    played_s, _ = order.arrange(generator.permutation(gap_s), sizes, generator)
    assert sorted(played_s) == sorted(gap_s)
    several = 400 * times_as_long
    assert deviation_of_sums(played_s, several) == pytest.approx(
        deviation_of_sums(gap_s, several), rel=0.25
    )


def test_a_session_without_bursts_begins_as_the_capture_did() -> None:
    generator = np.random.default_rng(12)
    # A fast start, once.
    gap_s = generator.exponential(1e-3, 8000) * np.repeat([0.2, 1.0], [1000, 7000])
    trains = find_trains(gap_s, np.ones(gap_s.size))
    assert trains is not None
    order: TrainOrder = to_playable(trains)
    begun_s = [
        order.arrange(
            generator.permutation(gap_s), np.ones(8000, np.uint32), generator, begins=begins
        )[0][:500].sum()
        for begins in (True, False)
        for _ in range(8)
    ]
    assert max(begun_s[:8]) < 0.3
    assert np.median(begun_s[8:]) > 0.35


def test_bursts_follow_bursts_of_about_their_length() -> None:
    generator = np.random.default_rng(3)
    counts = np.repeat([5, 50], 100)
    first = np.cumsum(counts) - counts
    place = np.arange(counts.sum()) - np.repeat(first, counts)
    # Short bursts are slow, and each begins slowly.
    gap_s = np.repeat(np.where(counts == 5, 0.05, 1e-3), counts) * np.exp(-0.1 * place)
    gap_s *= generator.uniform(0.9, 1.1, gap_s.size)
    trains = find_trains(gap_s, generator.integers(100, 200, gap_s.size).astype(float), first=first)
    assert trains is not None
    wanted = generator.permutation(counts)
    drawn_s = generator.permutation(gap_s)
    order: TrainOrder = to_playable(trains)
    sizes = np.full(gap_s.size, 100, dtype=np.uint32)
    played_s, _ = order.arrange(drawn_s, sizes, generator, counts=wanted)
    begins = np.cumsum(wanted) - wanted
    means = np.add.reduceat(played_s, begins) / wanted
    assert means[wanted == 5].min() > 2 * means[wanted == 50].max()
    long = begins[wanted == 50]
    assert played_s[long + 1].mean() > 3 * played_s[long + 40].mean()


def test_gaps_of_bursts_change_as_slowly_as_stored_ones() -> None:
    generator = np.random.default_rng(5)
    counts = generator.integers(2, 6, 1000)
    first = np.cumsum(counts) - counts
    # A sender that is busy in every other stretch of 100 bursts.
    busy = np.arange(counts.size) // 100 % 2 == 1
    gap_s = np.repeat(np.where(busy, 2e-3, 1e-3), counts) * generator.uniform(
        0.9, 1.1, counts.sum()
    )
    trains = find_trains(gap_s, np.ones(gap_s.size), first=first, sized=False)
    assert trains is not None
    order: TrainOrder = to_playable(trains)
    wanted = generator.permutation(counts)
    begins = np.cumsum(wanted) - wanted
    played_s, _ = order.arrange(
        np.delete(gap_s, first)[generator.integers(0, gap_s.size - first.size, gap_s.size)],
        np.ones(gap_s.size, np.uint32),
        generator,
        counts=wanted,
    )
    slow = played_s[begins + 1] > 1.5e-3
    assert 0.35 < slow.mean() < 0.65
    changes = int(np.count_nonzero(np.diff(slow)))
    assert changes < 0.2 * counts.size  # 0.5 where each burst follows any of its length


def test_stored_bursts_of_other_lengths_are_not_followed_where_there_are_enough_alike() -> None:
    counts = np.repeat([2, 3, 20], (40, 300, 3))
    first = np.cumsum(counts) - counts
    # A sender paces frames: more packets are nearer to one another.
    gap_s = np.repeat(0.04 / counts, counts)
    trains = find_trains(gap_s, np.ones(gap_s.size), first=first, sized=False)
    assert trains is not None
    assert trains.size_ranks == ""
    order: TrainOrder = to_playable(trains)
    wanted = np.random.default_rng(1).permutation(counts)
    begins = np.cumsum(wanted) - wanted
    within = np.delete(gap_s, first)
    drawn_s = np.random.default_rng(2).choice(within, gap_s.size)
    played_s, _ = order.arrange(
        drawn_s, np.ones(gap_s.size, np.uint32), np.random.default_rng(3), counts=wanted
    )
    # Only bursts of 20, of which there are few, may follow others.
    for packets in (2, 3):
        second = played_s[begins[wanted == packets] + 1]
        assert np.mean(np.isclose(second, 0.04 / packets)) > 0.9


def test_what_counts_for_no_rank_takes_no_values_with_it() -> None:
    generator = np.random.default_rng(4)
    counts = np.tile([3, 4], 200)
    first = np.cumsum(counts) - counts
    sizes = generator.uniform(100, 1400, counts.sum())
    gap_s = np.where(sizes > 700, 1e-3, 3e-3) * generator.uniform(0.9, 1.1, sizes.size)
    trains = find_trains(gap_s, sizes, first=first)
    assert trains is not None
    order: TrainOrder = to_playable(trains)
    _, played = order.arrange(gap_s, sizes.astype(np.uint32), generator, counts=counts)
    # The last packets of bursts have a size law of their own: what they take is of all sizes.
    taken = np.append(first[1:], sizes.size) - 1
    assert np.quantile(played[taken], [0.1, 0.9]) == pytest.approx(
        np.quantile(sizes, [0.1, 0.9]), rel=0.15
    )


def test_the_last_packet_of_a_burst_comes_as_soon_as_one_of_its_size_did() -> None:
    generator = np.random.default_rng(5)
    counts = generator.integers(3, 9, 400)
    first = np.cumsum(counts) - counts
    last = first + counts - 1
    gap_s, sizes = generator.uniform(0.9e-3, 1.1e-3, counts.sum()), np.full(counts.sum(), 1500.0)
    # The time on the wire: a last packet that is small comes soon.
    sizes[last] = generator.integers(100, 1400, counts.size)
    gap_s[last] *= sizes[last] / 1500
    trains = find_trains(gap_s, sizes, first=first)
    assert trains is not None
    order: TrainOrder = to_playable(trains)
    last_sizes = generator.permutation(sizes[last]).astype(np.uint32)
    wanted = generator.permutation(counts)
    played_s, played = order.arrange(
        generator.permutation(np.delete(gap_s, first).repeat(2)[: gap_s.size]),
        np.full(gap_s.size, 1500, dtype=np.uint32),
        generator,
        counts=wanted,
        last_sizes=last_sizes,
    )
    ends = np.cumsum(wanted) - 1
    assert sorted(played[ends]) == sorted(last_sizes)
    assert _correlation(played_s[ends], played[ends].astype(np.float64)) > 0.9
    assert np.mean(played_s[ends]) < 0.7 * np.mean(np.delete(played_s, ends))


def test_packets_before_the_last_of_a_burst_are_those_before_a_last_one() -> None:
    generator = np.random.default_rng(7)
    counts = generator.integers(10, 400, 60)
    first, ends = np.cumsum(counts) - counts, np.cumsum(counts)
    # The end of a chunk, then a small one of its own: few bursts have the same length.
    sizes = np.full(counts.sum(), 1500.0)
    sizes[ends - 2] = generator.integers(300, 600, counts.size)
    gap_s = generator.uniform(0.9e-3, 1.1e-3, sizes.size)
    gap_s[ends - 1] = 5e-3
    trains = find_trains(gap_s, sizes, first=first)
    assert trains is not None
    order: TrainOrder = to_playable(trains)
    wanted = generator.integers(10, 400, 60)
    drawn = generator.choice(np.delete(sizes, ends - 1), wanted.sum()).astype(np.uint32)
    drawn_s = generator.choice(np.delete(gap_s, first), wanted.sum())
    _, played = order.arrange(drawn_s, drawn, generator, counts=wanted)
    before_last = played[np.cumsum(wanted) - 2]
    assert np.mean(before_last < 1500) > 0.8
    order.arrange(drawn_s[:3], drawn[:3], generator, counts=np.array([1, 2]))  # as short as may be


def test_a_burst_that_is_cut_keeps_its_last_packet() -> None:
    gap_s = np.tile(np.append(np.full(199, 1e-3), 9e-3), 30)
    gap_s *= np.random.default_rng(6).uniform(0.9, 1.1, gap_s.size)
    first = np.arange(0, gap_s.size, 200)
    trains = find_trains(gap_s, np.full(gap_s.size, 1500.0), first=first)
    assert trains is not None
    for kept in (trains, trains.keep(600)):
        ranks = decode_ranks(kept.gap_ranks, sum(kept.packets))
        ends = np.cumsum(kept.packets) - 1
        assert ranks[ends].min() > 0.99


def test_bursts_longer_than_any_stored_go_on_as_the_longest() -> None:
    trains = Trains(packets=(3,), gap_ranks="AA//AA", size_ranks="//AAAA")
    order: TrainOrder = to_playable(trains)
    gaps_s, sizes = np.arange(1.0, 12.0), np.arange(11, dtype=np.uint32)
    played_s, played = order.arrange(
        gaps_s, sizes, np.random.default_rng(1), counts=np.array([8, 3])
    )
    assert sorted(played_s) == sorted(gaps_s)
    assert np.mean(played_s[[1, 3, 5, 7, 9]]) > np.mean(played_s[[2, 4, 6, 10]])
    assert set(played[[0, 8]]) == {9, 10}


def test_short_trains_are_kept_before_the_middles_of_long_ones() -> None:
    gap_s, sizes = _trains(1)
    counts = np.append(np.full(200, 5), [1000, 1000])
    trains = find_trains(gap_s[:3000], sizes[:3000], first=np.cumsum(counts) - counts)
    assert trains is not None
    fewer = trains.keep(1200)
    assert fewer.packets == (*np.full(200, 5).tolist(), 100, 100)


def test_fewer_packets_keep_trains_of_all_lengths() -> None:
    gap_s, sizes = _trains(1)
    counts = np.tile([10, 20, 30], 50)
    trains = find_trains(gap_s, sizes, first=np.cumsum(counts) - counts)
    assert trains is not None
    fewer = trains.keep(600)
    assert 500 < sum(fewer.packets) <= 600
    assert set(fewer.packets) == {10, 20, 30}
    Trains.model_validate(fewer.model_dump())
    assert trains.keep(10**6) is trains


@pytest.mark.parametrize("seed", range(10))
def test_pauses_that_came_together_are_played_together(seed: int) -> None:
    stored, long = 4000, 400
    ranks = np.arange(stored) / stored
    ranks[:-long] = np.random.default_rng(0).permutation(ranks[:-long])
    order = TrainOrder(
        packets=np.array([stored]),
        first=np.array([0]),
        gap_rank=ranks,
        size_rank=np.zeros(0),
        session_packets=stored,
    )
    given_s = np.where(np.arange(stored) < long, 1.0, 0.001)

    gaps_s, _ = order.arrange(
        given_s, np.full(stored, 1000, dtype=np.uint32), np.random.default_rng(seed)
    )

    is_pause = gaps_s == 1.0
    together = np.count_nonzero(is_pause[1:] & is_pause[:-1])
    assert together > 0.8 * long
