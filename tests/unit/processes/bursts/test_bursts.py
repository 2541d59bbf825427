"""Bursts that fill most of their spacing: laws are kept and bursts stay apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from trafficgen.distributions import MixedLaw, Truncated, distribution_of
from trafficgen.models import Atom, BurstProcess, Law
from trafficgen.processes.base import Span, playable
from trafficgen.processes.bursts.fit import propose_bursts
from trafficgen.processes.bursts.sample import BurstLaws, draw_packets
from trafficgen.processes.fitting import LawFitter, PhasePackets
from trafficgen.processes.trains.fit import add_order
from trafficgen.randomness import random_stream
from trafficgen.units import FloatArray, IntArray, ns_array_from_s

#: One false alarm in 10,000 seeds; the seed is fixed.
FALSE_ALARM = 1e-4
BYTES = Law(unit="bytes", family="atoms", atoms=(Atom(value=1000, p=1.0),), observations=1)


def process(*, packets: float, spacing_s: float) -> BurstProcess:
    """Return bursts of geometric-like sizes with gaps of 1 ms within, gamma spacings."""
    return BurstProcess(
        threshold_s=0.02,
        spacing_s=Law(
            unit="s",
            family="gamma",
            params={"a": 4.0, "scale": spacing_s / 4},
            minimum=0.03,
            observations=1,
        ),
        burst_packets=Law(
            unit="packets",
            family="expon",
            params={"scale": packets},
            minimum=1,
            maximum=400,
            integer=True,
            observations=1,
        ),
        gap_within_s=Law(
            unit="s", family="expon", params={"scale": 0.001}, maximum=0.015, observations=1
        ),
        packet_bytes=BYTES,
        last_packet_bytes=BYTES,
    )


def played(model: BurstProcess, *, end_s: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    laws = playable(model)
    assert isinstance(laws, BurstLaws)
    times, first, _ = draw_packets(
        laws, Span(0.0, end_s), lambda quantity: random_stream(seed, session=0, purpose=quantity)
    )
    return times, first


def test_long_bursts_leave_all_laws_as_they_are() -> None:
    # Bursts of 60 ms on average and spacings of 150 ms: of pairs drawn apart, about one in eight
    # would overlap.
    model = process(packets=60.0, spacing_s=0.15)
    times, first = played(model, end_s=300.0)
    starts = times[first]
    within = np.diff(times)[np.setdiff1d(np.arange(times.size - 1), first[1:] - 1)]
    assert np.diff(times).min() >= 0.0
    assert (starts[1:] - times[first[1:] - 1]).min() > 0.02
    assert model.gap_within_s is not None
    assert (
        stats.kstest(model.gap_within_s.distribution().cdf(within), "uniform").pvalue > FALSE_ALARM
    )
    spacing = np.diff(starts)
    assert stats.kstest(model.spacing_s.distribution().cdf(spacing), "uniform").pvalue > FALSE_ALARM
    counts, law = np.diff(np.append(first, times.size)), model.burst_packets.distribution()
    assert abs(counts.mean() - law.mean) < 5 * np.sqrt(law.variance / counts.size)


def test_bursts_drawn_apart_would_have_overlapped() -> None:
    """The law of the test above needs the dealing: the share of pairs without room is far from
    none.
    """
    model = process(packets=60.0, spacing_s=0.15)
    generator = np.random.default_rng(0)
    lengths = model.burst_packets.distribution().sample(generator, 2000) * 0.001 + model.threshold_s
    assert np.mean(lengths > model.spacing_s.distribution().sample(generator, 2000)) > 0.05


def test_next_burst_waits_where_no_spacing_is_long_enough() -> None:
    # Bursts of 50 ms need 70 ms of 100 ms on average, but the longest need 420 ms, more than the
    # longest spacing.
    model = process(packets=50.0, spacing_s=0.1)
    times, first = played(model, end_s=100.0)
    assert (times[first[1:]] - times[first[1:] - 1]).min() > 0.02
    assert np.all(np.diff(times) >= 0)


def test_laws_without_room_on_average_keep_the_rate() -> None:
    model = process(packets=200.0, spacing_s=0.05)
    times, first = played(model, end_s=50.0)
    assert np.all(np.diff(times) >= 0)
    expected = 50.0 / model.spacing_s.distribution().mean
    assert (
        abs(first.size - expected) < 5 * np.sqrt(expected / 4) + 1
    )  # squared coefficient of variation: 1/4


def test_few_heavy_bursts_keep_the_rate_of_the_model_whatever_the_seed() -> None:
    # Bursts of 1 to 2000 packets, 40 to a phase: drawn independently, their sum would vary by 27 %
    # between seeds.
    laws = BurstLaws(
        threshold_s=0.02,
        spacing_s=MixedLaw(continuous=distribution_of("gamma", {"a": 4.0, "scale": 0.5})),
        burst_packets=MixedLaw(
            continuous=Truncated(
                whole=distribution_of("lognorm", {"s": 1.5, "scale": 50.0}),
                minimum=1.0,
                maximum=2000.0,
            ),
            integer=True,
        ),
        gap_within_s=None,
        packet_bytes=MixedLaw(continuous=None, values=(1000.0,), probabilities=(1.0,)),
        last_packet_bytes=MixedLaw(continuous=None, values=(1000.0,), probabilities=(1.0,)),
    )
    assert np.sqrt(laws.burst_packets.variance / 40) / laws.burst_packets.mean > 0.25
    totals = []
    for seed in range(20):

        def generator_of(quantity: str, seed: int = seed) -> np.random.Generator:
            return random_stream(seed, session=0, purpose=quantity)

        times, *_ = draw_packets(laws, Span(0.0, 80.0), generator_of)
        totals.append(int((times < 80.0).sum()))
    expected = 40 * laws.burst_packets.mean
    # One draw from each of 40 slices: what is left of the spread is that within the uppermost
    # slices.
    assert np.std(totals) < 0.12 * expected
    assert abs(np.mean(totals) - expected) < 0.06 * expected


def test_sessions_that_begin_with_their_largest_burst_keep_the_volume() -> None:
    heavy = Law(
        unit="packets",
        family="atoms",
        atoms=(Atom(value=20, p=0.95), Atom(value=400, p=0.05)),
        observations=20,
    )
    model = process(packets=20.0, spacing_s=1.5).model_copy(update={"burst_packets": heavy})
    laws = playable(model)
    assert isinstance(laws, BurstLaws)
    counts, first = [], []
    for seed in range(20):

        def generator_of(quantity: str, seed: int = seed) -> np.random.Generator:
            return random_stream(seed, session=0, purpose=quantity)

        drawn = replace(laws, largest_first=True).play(Span(0.0, 30.0), generator_of)
        assert drawn.burst_starts is not None
        counts.append(drawn.time_s.size)
        first.append(int(drawn.burst_starts[1]))
    assert first == [400] * 20
    wanted = 30.0 / laws.spacing_s.mean * laws.burst_packets.mean
    assert np.array(counts) == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize("first_at_start", [True, False])
def test_few_bursts_are_as_many_as_the_phase_has_room_for_and_whole(first_at_start: bool) -> None:
    # Bursts of 0.5 s every 4 s: one cut anywhere would be short of up to 100 packets.
    gamma = {"a": 4.0, "scale": 1.0}
    spacing = Law(unit="s", family="gamma", params=gamma, minimum=1.0, observations=1)
    packets = Law(
        unit="packets",
        family="norm",
        params={"loc": 100.0, "scale": 10.0},
        minimum=60,
        maximum=140,
        integer=True,
        observations=1,
    )
    gap = Law(unit="s", family="atoms", atoms=(Atom(value=0.005, p=1.0),), observations=1)
    model = process(packets=60.0, spacing_s=4.0).model_copy(
        update={"spacing_s": spacing, "burst_packets": packets, "gap_within_s": gap}
    )
    laws = playable(model)
    assert isinstance(laws, BurstLaws)
    span = Span(10.0, 10.0 + 20 * laws.spacing_s.mean, first_at_start=first_at_start)
    volumes = []
    for seed in range(20):

        def generator_of(quantity: str, seed: int = seed) -> np.random.Generator:
            return random_stream(seed, session=0, purpose=quantity)

        sent = laws.play(span, generator_of)
        assert sent.burst_starts is not None
        assert sent.burst_starts.size == 20
        assert sent.time_s[0] >= 10.0
        assert sent.time_s[-1] < span.end_s
        volumes.append(sent.time_s.size)
    assert np.mean(volumes) == pytest.approx(20 * 100, rel=0.01)
    assert np.std(volumes) < 0.02 * np.mean(volumes)


def phase_of(starts_s: FloatArray, counts: IntArray) -> PhasePackets:
    """Make a phase of bursts with gaps of 4 ms within, and packets of 1000 bytes."""
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    time_ns = ns_array_from_s(np.repeat(starts_s, counts) + 4e-3 * place)
    span_ns = (0, int(time_ns[-1]) + 1)
    sizes = np.full(time_ns.size, 1000)
    return PhasePackets(time_ns, sizes, span_ns, tick_s=1e-9, threshold_s=0.04)


def fit_bursts(packets: PhasePackets) -> BurstProcess:
    found = propose_bursts(packets, LawFitter(lambda _: np.random.default_rng(1), 1e-9))
    assert found is not None
    assert isinstance(found.process, BurstProcess)
    return found.process


def test_bursts_that_wait_for_one_another_do_so_when_played() -> None:
    # A server that has a link to itself: the next request comes 80 ms after a response.
    generator = np.random.default_rng(2)
    counts = generator.integers(20, 200, 60)
    pause_s = generator.normal(0.08, 2e-3, 60)
    lengths_s = 4e-3 * (counts - 1)
    packets = phase_of(np.concatenate(([0.0], np.cumsum(lengths_s + pause_s)[:-1])), counts)
    process = fit_bursts(packets)
    assert process.pause_s is not None
    for seed in range(3):
        times, first = played(process, end_s=packets.span_s, seed=seed)
        pauses_s = times[first[1:]] - times[first[1:] - 1]
        assert pauses_s.mean() == pytest.approx(0.08, rel=0.02)
        assert pauses_s.std() < 4e-3
        assert np.count_nonzero(times < packets.span_s) == pytest.approx(counts.sum(), rel=0.03)


def test_bursts_that_start_at_their_own_times_have_no_pauses() -> None:
    generator = np.random.default_rng(3)
    counts = generator.integers(20, 100, 60)
    for spacing_s in (np.full(60, 1.0), generator.uniform(0.5, 1.5, 60)):
        starts_s = np.cumsum(spacing_s) - spacing_s
        assert fit_bursts(phase_of(starts_s, counts)).pause_s is None


def test_whole_bursts_follow_one_another_as_in_the_capture() -> None:
    """Sound and video alternate, and a burst waits for the one before."""
    measured, packets = _alternate(seed=1)
    simple, ordered = _fit_order(packets)
    assert ordered is not None
    assert ordered.pause_s is not None
    counts = np.diff(played(ordered, end_s=packets.span_s, seed=2)[1])
    apart = np.diff(played(simple, end_s=packets.span_s)[1])
    for lag in (1, 2):
        found, others, wanted = (_at_lag(one, lag) for one in (counts, apart, measured))
        assert found == pytest.approx(wanted, abs=0.2)
        assert abs(others) < 0.3 < abs(wanted)
    assert counts.sum() == pytest.approx(measured.sum(), rel=0.05)


def test_a_session_begins_with_the_bursts_that_began_the_capture() -> None:
    _, packets = _alternate(seed=1, first=5)
    _, ordered = _fit_order(packets)
    assert ordered is not None
    for seed in (1, 2, 3):
        counts = np.diff(played(ordered, end_s=packets.span_s, seed=seed)[1])
        assert counts[:5].mean() > 2 * counts[5:].mean()


def test_few_bursts_start_as_fast_as_in_the_capture() -> None:
    packets = _send(np.array([300, 240, 30, 80, 10, 40, 20, 50, 30]), np.random.default_rng(5))
    _, ordered = _fit_order(packets)
    assert ordered is not None
    for seed in (1, 2, 3):
        counts = np.diff(played(ordered, end_s=packets.span_s, seed=seed)[1])
        assert counts[:2].sum() > counts[2:].sum()


def test_bursts_that_look_independent_have_no_order() -> None:
    counts = np.random.default_rng(3).integers(5, 60, 200)
    packets = _send(counts, np.random.default_rng(4))
    assert _fit_order(packets)[1] is None


def test_segments_of_several_bursts_begin_and_end_as_in_the_capture() -> None:
    generator = np.random.default_rng(3)
    counts = np.tile([20, 16, 12, 8, 4], 60) + generator.integers(-1, 2, 300)
    packets = _send(counts, generator)
    first = np.cumsum(counts)[4:-1:5]
    packets.ip_bytes[first], packets.ip_bytes[first - 1] = 100, 400
    ordered = _fit_order(packets)[1]
    assert ordered is not None
    laws = playable(ordered)
    assert isinstance(laws, BurstLaws)
    *_, sizes = draw_packets(
        laws,
        Span(0.0, packets.span_s),
        lambda quantity: random_stream(2, session=0, purpose=quantity),
    )
    begins = np.flatnonzero(sizes == 100)
    assert begins.size == pytest.approx(first.size, rel=0.1)
    assert np.mean(sizes[begins - 1] == 400) > 0.8


def test_an_order_without_the_packets_of_bursts_is_refused() -> None:
    ordered = _fit_order(_alternate(seed=1)[1])[1]
    assert ordered is not None
    values = ordered.model_dump(mode="json")
    values["order"]["size_ranks"] = ""
    with pytest.raises(ValueError, match="order needs size_ranks"):
        BurstProcess.model_validate(values)


def _fit_order(packets: PhasePackets) -> tuple[BurstProcess, BurstProcess | None]:
    """Return bursts without an order and with one."""
    fit = LawFitter(lambda name: random_stream(1, session=0, purpose=name), packets.tick_s)
    simple = propose_bursts(packets, fit)
    assert simple is not None
    assert isinstance(simple.process, BurstProcess)
    return simple.process, add_order(simple.process, packets, fit)


def _alternate(*, seed: int, first: int = 0) -> tuple[IntArray, PhasePackets]:
    """Make bursts of about 10 and 60 packets in turn, after a few long ones."""
    generator = np.random.default_rng(seed)
    counts = np.tile([10, 60], 60) + generator.integers(-4, 5, 120)
    counts[:first] = 200
    return counts, _send(counts, generator)


def _send(counts: IntArray, generator: np.random.Generator) -> PhasePackets:
    """Send bursts of so many packets, with gaps of a millisecond and pauses of about 50 ms."""
    gap_s = generator.uniform(0.9e-3, 1.1e-3, int(counts.sum()))
    gap_s[np.cumsum(counts)[:-1]] = generator.uniform(0.04, 0.06, counts.size - 1)
    gap_s[0] = 0.0
    time_ns = ns_array_from_s(np.cumsum(gap_s))
    return PhasePackets(
        time_ns=time_ns,
        ip_bytes=np.full(time_ns.size, 1000),
        span_ns=(0, int(time_ns[-1])),
        tick_s=1e-9,
        threshold_s=0.02,
    )


def _at_lag(counts: IntArray, lag: int) -> float:
    return float(np.corrcoef(counts[:-lag], counts[lag:])[0, 1])
