from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.calibration.phases.session_phases import Phases, find_phases
from trafficgen.errors import CalibrationError
from trafficgen.flows import choose_session
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray

TableMaker = Callable[..., PacketTable]


def two_rates(
    seed: int, *, change_s: float, end_s: float, fast_per_s: float, slow_per_s: float
) -> FloatArray:
    """Poisson arrivals at one rate, then at another."""
    rng = np.random.default_rng(seed)
    first = np.cumsum(rng.exponential(1 / fast_per_s, int(2 * change_s * fast_per_s)))
    then = change_s + np.cumsum(
        rng.exponential(1 / slow_per_s, int(2 * (end_s - change_s) * slow_per_s))
    )
    return np.concatenate((first[first < change_s], then[then < end_s]))


def bursts(seed: int, *, change_s: float, end_s: float) -> FloatArray:
    """Bursts of 41 packets each 0.3 s while buffering, then of 22 each 0.5 s: 3.1 times the
    rate.
    """
    rng = np.random.default_rng(seed)
    starts = [0.0]
    while starts[-1] < end_s:
        starts.append(starts[-1] + (0.3 if starts[-1] < change_s else 0.5) * rng.lognormal(0, 0.05))
    return np.concatenate(
        [start + np.arange(41 if start < change_s else 22) * 0.0009 for start in starts]
    )


def on_off(seed: int, *, end_s: float, first_on_s: float = 1.5, pause_s: float = 5.0) -> FloatArray:
    """ON periods of about 1.5 s (the first one as given) at 300 packets/s, and pauses."""
    rng = np.random.default_rng(seed)
    parts, start_s, on_s = [], 0.0, first_on_s
    while start_s < end_s:
        parts.append(start_s + np.sort(rng.uniform(0, on_s, int(on_s * 300))))
        start_s += on_s + rng.lognormal(np.log(pause_s), 0.3)
        on_s = 1.5 * rng.lognormal(0, 0.3)
    return np.concatenate(parts)


def phases_of(table: PacketTable) -> Phases:
    return find_phases(choose_session(table), tick_s=1e-9, generator=np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shift_s", [0.0, 47.0])
def test_change_of_a_bursty_stream_is_found_within_a_tenth(
    make_table: TableMaker, seed: int, shift_s: float
) -> None:
    phases = phases_of(make_table(bursts(seed, change_s=10, end_s=60) + shift_s))
    assert phases.buffering_end_s == pytest.approx(10, rel=0.1)
    # the playout's rate has a sampling error of about 5% / sqrt(100 bursts); the change may be off
    # by one burst of 33
    assert phases.ratio == pytest.approx(41 / 0.3 / (22 / 0.5), rel=0.06)
    assert phases.silence_s == 0


def test_silence_is_counted_from_the_first_packet_of_the_session(make_table: TableMaker) -> None:
    media_s = bursts(0, change_s=10, end_s=60) + 47
    table = make_table(
        np.concatenate(([0.0], media_s)),
        to_client=np.concatenate(([False], np.ones(media_s.size, dtype=bool))),
    )
    phases = phases_of(table)
    assert phases.silence_s == pytest.approx(47)
    assert phases.buffering_end_s == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("seed", range(5))
def test_a_stream_of_one_rate_has_no_buffering(make_table: TableMaker, seed: int) -> None:
    table = make_table(two_rates(seed, change_s=20, end_s=120, fast_per_s=100, slow_per_s=100))
    phases = phases_of(table)
    assert phases.buffering_end_s is phases.buffering_kbps is phases.ratio is None
    assert phases.playout_start_s == 0


@pytest.mark.parametrize("seed", range(10))
def test_the_first_on_period_of_on_off_traffic_is_not_buffering(
    make_table: TableMaker, seed: int
) -> None:
    assert phases_of(make_table(on_off(seed, end_s=300))).buffering_end_s is None


@pytest.mark.parametrize("seed", range(3))
def test_a_long_first_on_period_is_buffering_and_ends_where_the_pause_begins(
    make_table: TableMaker, seed: int
) -> None:
    phases = phases_of(make_table(on_off(seed, end_s=300, first_on_s=20)))
    assert phases.buffering_end_s == pytest.approx(20, rel=0.05)
    assert phases.ratio is not None
    assert phases.ratio > 3


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pause_s", [0.45, 0.8])
def test_a_first_fetch_without_a_pause_is_buffering_where_later_pauses_are_short(
    make_table: TableMaker, pause_s: float, seed: int
) -> None:
    phases = phases_of(make_table(on_off(seed, end_s=90, first_on_s=30, pause_s=pause_s)))
    assert phases.buffering_end_s == pytest.approx(30, rel=0.02)
    assert phases.low_s is not None
    assert phases.high_s is not None
    assert phases.low_s <= 30 <= phases.high_s


@pytest.mark.parametrize("seed", range(5))
def test_a_rhythm_of_short_pauses_has_no_buffering(make_table: TableMaker, seed: int) -> None:
    assert phases_of(make_table(on_off(seed, end_s=90, pause_s=0.7))).buffering_end_s is None


def test_a_slow_start_is_not_buffering(make_table: TableMaker) -> None:
    slow_then_fast = two_rates(0, change_s=40, end_s=120, fast_per_s=20, slow_per_s=100)
    assert phases_of(make_table(slow_then_fast)).buffering_end_s is None


def test_a_later_fall_of_the_level_does_not_extend_buffering(make_table: TableMaker) -> None:
    start = two_rates(0, change_s=10, end_s=100, fast_per_s=500, slow_per_s=200)
    later = 100 + two_rates(1, change_s=1, end_s=200, fast_per_s=50, slow_per_s=50)
    phases = phases_of(make_table(np.concatenate((start, later))))
    assert phases.buffering_end_s == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("packets", [3, 10])
def test_short_streams_are_one_phase(make_table: TableMaker, packets: int) -> None:
    assert phases_of(make_table(np.arange(packets) * 0.02)).buffering_end_s is None


def test_the_interval_of_the_change_covers_it(make_table: TableMaker) -> None:
    replicates, covered = 60, 0
    for seed in range(replicates):
        table = make_table(two_rates(seed, change_s=20, end_s=120, fast_per_s=200, slow_per_s=100))
        phases = phases_of(table)
        assert phases.low_s is not None
        assert phases.high_s is not None
        covered += phases.low_s <= 20 <= phases.high_s
    # 95% of 60 less three standard errors of 1.7
    assert covered >= 52


def test_gaps_of_just_a_second_are_no_pauses(make_table: TableMaker) -> None:
    assert phases_of(make_table(np.arange(0.0, 30.0))).buffering_end_s is None


def semi_markov(seed: int, *, end_s: float) -> FloatArray:
    """Poisson packets at four levels that last 12 to 40 s each on average."""
    rng = np.random.default_rng(seed)
    parts, start_s, level = [], 0.0, int(rng.integers(4))
    while start_s < end_s:
        rate_per_s, dwell_s = (24, 45, 78, 135)[level], rng.exponential((12, 18, 25, 40)[level])
        parts.append(start_s + np.sort(rng.uniform(0, dwell_s, rng.poisson(rate_per_s * dwell_s))))
        start_s += dwell_s
        level = int(rng.choice([other for other in range(4) if other != level]))
    time_s = np.concatenate(parts)
    return time_s[time_s < end_s]


def test_switching_levels_are_no_buffering(make_table: TableMaker) -> None:
    found = sum(
        phases_of(make_table(semi_markov(seed, end_s=600))).buffering_end_s is not None
        for seed in range(30)
    )
    # at most 5%: more than 4 of 30 would come once in 170 runs
    assert found <= 4


@pytest.mark.parametrize("seed", range(2, 6))
def test_four_or_five_periods_after_a_fat_first_one_show_buffering(
    make_table: TableMaker, seed: int
) -> None:
    phases = phases_of(make_table(on_off(seed, end_s=50, first_on_s=12)))
    assert phases.buffering_end_s == pytest.approx(12, rel=0.02)
    assert phases.low_s is not None
    assert phases.high_s is not None
    assert phases.low_s <= 12 <= phases.high_s


@pytest.mark.parametrize("seed", range(5))
def test_four_segments_after_a_full_buffer_show_buffering(
    make_table: TableMaker, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    starts_s = 45 + np.arange(4) * 4.0
    lengths_s = 2 * rng.lognormal(0, 0.1, 4)
    segments = [
        start_s + np.sort(rng.uniform(0, length_s, round(100 * length_s)))
        for start_s, length_s in zip(starts_s, lengths_s, strict=True)
    ]
    fetch_s = np.sort(rng.uniform(0, 44, 4400))
    phases = phases_of(make_table(np.concatenate((fetch_s, *segments))))
    assert phases.buffering_end_s == pytest.approx(44, rel=0.02)


def test_a_preroll_burst_of_some_packets_is_not_buffering(make_table: TableMaker) -> None:
    preroll_s, paced_s = np.arange(60) * 0.0004, 0.5 + np.arange(0, 60, 0.02)
    assert phases_of(make_table(np.concatenate((preroll_s, paced_s)))).buffering_end_s is None


def test_a_stray_packet_minutes_later_is_the_end_and_not_playout(make_table: TableMaker) -> None:
    media_s = bursts(0, change_s=10, end_s=60)
    phases = phases_of(make_table(np.concatenate((media_s, [200.0]))))
    assert phases.end_s == 200
    assert phases.playout_end_s == pytest.approx(media_s[-1])
    assert phases.playout_kbps == pytest.approx(22 * 8 / 0.5, rel=0.06)
    assert phases.ratio == pytest.approx(41 / 0.3 / (22 / 0.5), rel=0.06)


def test_a_part_that_runs_out_is_the_end(make_table: TableMaker) -> None:
    media_s = two_rates(0, change_s=90, end_s=100, fast_per_s=100, slow_per_s=10)
    phases = phases_of(make_table(media_s))
    assert phases.buffering_end_s is None
    # slow gaps are 0.1 s, cycles 0.25 s: the change is known to a few of them
    assert phases.playout_end_s == pytest.approx(90, abs=1)
    assert phases.playout_kbps == pytest.approx(800, rel=0.05)


@pytest.mark.parametrize("ratio", [3, 4])
def test_a_short_playout_after_long_buffering_is_not_taken_for_the_end(
    make_table: TableMaker, ratio: int
) -> None:
    phases = phases_of(
        make_table(two_rates(0, change_s=40, end_s=60, fast_per_s=60 * ratio, slow_per_s=60))
    )
    assert phases.buffering_end_s == pytest.approx(40, rel=0.05)
    assert phases.playout_end_s is None


def test_a_small_chunk_before_a_last_full_one_is_not_the_end(make_table: TableMaker) -> None:
    rng = np.random.default_rng(0)
    starts_s = np.arange(0, 160, 16.0)
    lengths_s = np.where(starts_s == 128, 1.0, 6.0)
    parts = [
        start_s + np.sort(rng.uniform(0, on_s, int(200 * on_s)))
        for start_s, on_s in zip(starts_s, lengths_s, strict=True)
    ]
    assert phases_of(make_table(np.concatenate(parts))).playout_end_s is None


def levels_per_s() -> FloatArray:
    """A fast start of 16 s, then levels that change, packets at an even distance in each second."""
    rates = [200] * 16 + [60] * 17 + [80] * 12 + [150] * 30
    return np.concatenate([second + np.arange(rate) / rate for second, rate in enumerate(rates)])


def test_a_visible_burst_that_the_test_cannot_separate_is_kept_where_asked(
    make_table: TableMaker,
) -> None:
    view = choose_session(make_table(levels_per_s()))
    generator = np.random.default_rng(0)
    assert find_phases(view, tick_s=1e-9, generator=generator).buffering_end_s is None
    phases = find_phases(view, tick_s=1e-9, generator=generator, keep_visible=True)
    assert phases.buffering_end_s == pytest.approx(16, abs=0.5)
    assert phases.buffering_bytes_share == pytest.approx(3200 / 9680, rel=0.05)
    assert phases.burst_p_value is not None
    assert 0.005 < phases.burst_p_value <= 0.2


def test_a_start_that_climbs_to_a_level_again_is_no_visible_burst(make_table: TableMaker) -> None:
    rates = [230] * 4 + [90] * 20 + [115] * 38 + [60] * 4 + [40] * 15 + [20] * 60 + [40] * 20
    times = [second + np.arange(rate) / rate for second, rate in enumerate(rates)]
    view = choose_session(make_table(np.concatenate(times)))
    phases = find_phases(view, tick_s=1e-9, generator=np.random.default_rng(0), keep_visible=True)
    assert phases.buffering_end_s is None


def test_a_call_has_no_visible_burst(make_table: TableMaker) -> None:
    time_s = np.repeat(levels_per_s(), 2)
    view = choose_session(make_table(time_s, to_client=np.arange(time_s.size) % 2 == 0))
    phases = find_phases(view, tick_s=1e-9, generator=np.random.default_rng(0), keep_visible=True)
    assert phases.buffering_end_s is None


def rates_per_s(seed: int, *parts: tuple[float, float]) -> FloatArray:
    """Poisson packets at rates, 1/s, that last so long, s each, one after the other."""
    rng, start_s, times = np.random.default_rng(seed), 0.0, []
    for per_s, length_s in parts:
        times.append(start_s + np.sort(rng.uniform(0, length_s, rng.poisson(per_s * length_s))))
        start_s += length_s
    return np.concatenate(times)


@pytest.mark.parametrize("seed", range(3))
def test_a_fall_of_the_rate_while_a_player_fetches_divides_buffering(
    make_table: TableMaker, seed: int
) -> None:
    fetch_s = rates_per_s(seed, (300, 17), (190, 23))
    rhythm_s = 42 + on_off(seed, end_s=40, pause_s=2.0)
    phases = phases_of(make_table(np.concatenate((fetch_s, rhythm_s))))
    assert phases.buffering_end_s == pytest.approx(40, rel=0.02)
    (fall_s,) = phases.falls_s
    assert fall_s == pytest.approx(17, abs=1)


@pytest.mark.parametrize("seed", range(5))
def test_buffering_at_one_rate_is_not_divided(make_table: TableMaker, seed: int) -> None:
    fetch_s, rhythm_s = rates_per_s(seed, (200, 40)), 42 + on_off(seed, end_s=40, pause_s=2.0)
    phases = phases_of(make_table(np.concatenate((fetch_s, rhythm_s))))
    assert phases.buffering_end_s is not None
    assert phases.falls_s == ()


@pytest.mark.parametrize("seed", range(3))
def test_a_stream_of_one_rate_has_no_visible_burst(make_table: TableMaker, seed: int) -> None:
    times = two_rates(seed, change_s=60, end_s=120, fast_per_s=100, slow_per_s=100)
    view = choose_session(make_table(times))
    phases = find_phases(view, tick_s=1e-9, generator=np.random.default_rng(0), keep_visible=True)
    assert phases.buffering_end_s is None


def test_the_end_of_buffering_can_be_set(make_table: TableMaker) -> None:
    view = choose_session(make_table(bursts(0, change_s=10, end_s=60)))

    def phases_to(end_s: float) -> Phases:
        generator = np.random.default_rng(0)
        return find_phases(view, tick_s=1e-9, generator=generator, buffering_end_s=end_s)

    phases = phases_to(25)
    assert (phases.buffering_end_s, phases.low_s, phases.anchor) == (25, None, "option")
    assert phases.playout_start_s == 25
    assert phases_to(0).buffering_end_s is None
    with pytest.raises(CalibrationError, match="buffering_end_s is 1 min 30 s, but the media last"):
        phases_to(90)
