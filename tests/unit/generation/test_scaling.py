"""A scaled process sends at the rate that was asked for, with the sizes it had."""

from __future__ import annotations

import numpy as np
import pytest

import trafficgen
from trafficgen.distributions import MixedLaw
from trafficgen.generation.scaling import (
    accelerate_clock,
    expected_bytes,
    quantiles_of,
    scale_law,
    scale_process,
    vary_bursts,
)
from trafficgen.models import (
    Atom,
    BurstProcess,
    Law,
    Model,
    ModulatedProcess,
    PacketProcess,
    QuantilePoint,
    RateClass,
    RenewalProcess,
    TrainClock,
    Trains,
)
from trafficgen.processes.base import Span, playable

SIZE = Law(
    unit="bytes", family="atoms", atoms=(Atom(value=1000, p=1.0),), integer=True, observations=1
)


def played_bytes(process: PacketProcess, *, span_s: float) -> float:
    def generator_of(quantity: str) -> np.random.Generator:
        return np.random.default_rng(sum(quantity.encode()))

    packets = playable(process).play(Span(0.0, span_s), generator_of)
    return float(packets.ip_bytes.sum(dtype=np.float64))


def bursts(packets: Law) -> BurstProcess:
    return BurstProcess(
        threshold_s=0.01,
        spacing_s=Law(
            unit="s", family="gamma", params={"a": 50.0, "loc": 0.0, "scale": 0.01}, observations=1
        ),
        burst_packets=packets,
        gap_within_s=Law(
            unit="s", family="expon", params={"loc": 0.0, "scale": 1e-4}, observations=1
        ),
        packet_bytes=SIZE,
        last_packet_bytes=SIZE,
    )


def counts(**fields: object) -> Law:
    return Law.model_validate({"unit": "packets", "integer": True, "observations": 1, **fields})


BURSTS = {
    "gamma": counts(
        family="gamma", params={"a": 4.0, "loc": 0.0, "scale": 3.0}, minimum=1, maximum=60
    ),
    "atoms": counts(family="atoms", atoms=(Atom(value=1, p=0.5), Atom(value=3, p=0.5))),
    "quantiles": counts(
        family="quantiles", quantiles=(QuantilePoint(p=0.0, value=1), QuantilePoint(p=1.0, value=9))
    ),
}


def test_bursts_of_another_session_have_its_laws_and_send_at_the_same_rate() -> None:
    before = bursts(BURSTS["gamma"])
    varied = vary_bursts(before, {"spacing_s": 0.5, "gap_within_s": 3.0})
    rate = expected_bytes(varied, 100.0, first_at_start=True)
    assert rate is not None
    after = scale_process(varied, played_bytes(before, span_s=100.0) / rate)
    assert isinstance(after, BurstProcess)
    spacing_s, gap_s = (
        [getattr(one, name).distribution().mean for one in (before, after)]
        for name in ("spacing_s", "gap_within_s")
    )
    assert spacing_s[1] / spacing_s[0] == pytest.approx(0.5, rel=0.05)
    assert gap_s[1] / gap_s[0] == pytest.approx(3.0)
    assert played_bytes(after, span_s=100.0) == pytest.approx(
        played_bytes(before, span_s=100.0), rel=0.1
    )


@pytest.mark.parametrize("factor", [0.2, 0.7, 1.0, 3.0])
@pytest.mark.parametrize("law", BURSTS)
def test_bursts_send_at_the_new_rate(law: str, factor: float) -> None:
    before = bursts(BURSTS[law])
    after = scale_process(before, factor)
    # Draws are spread over their laws; 600 s have 1200 bursts.
    assert played_bytes(after, span_s=600.0) == pytest.approx(
        factor * played_bytes(before, span_s=600.0), rel=0.03
    )


def test_larger_bursts_keep_their_spacing_and_sizes() -> None:
    before = bursts(BURSTS["gamma"])
    after = scale_process(before, 3.0)
    assert isinstance(after, BurstProcess)
    assert after.spacing_s.distribution().mean == pytest.approx(
        before.spacing_s.distribution().mean, rel=0.02
    )
    assert after.burst_packets.distribution().mean == pytest.approx(36, rel=0.05)
    assert after.packet_bytes == before.packet_bytes


def spacing_of(process: BurstProcess) -> float:
    """Mean spacing of bursts that wait for one another, s."""
    assert process.pause_s is not None
    assert process.gap_within_s is not None
    gaps = process.burst_packets.distribution().mean - 1
    within_s = gaps * process.gap_within_s.distribution().mean
    return float(process.pause_s.distribution().mean + within_s)


def test_larger_bursts_that_wait_for_one_another_keep_their_spacing_and_order() -> None:
    order = Trains(packets=(64,), gap_ranks="Ag" * 32, size_ranks="gA" * 32)
    before = bursts(BURSTS["gamma"])
    waits = before.model_copy(update={"pause_s": before.spacing_s, "order": order})
    larger, nearer = scale_process(waits, 20.0), vary_bursts(waits, {"spacing_s": 0.5})
    for after, wanted in ((larger, 1.0), (nearer, 0.5)):
        assert isinstance(after, BurstProcess)
        assert after.order == order
        assert spacing_of(after) == pytest.approx(wanted * spacing_of(waits), rel=0.02)
    expected = 20 * played_bytes(waits, span_s=300.0)
    assert played_bytes(larger, span_s=300.0) == pytest.approx(expected, rel=0.1)


def test_bursts_without_room_for_pauses_start_at_their_spacings() -> None:
    order = Trains(packets=(64,), gap_ranks="Ag" * 32, size_ranks="gA" * 32)
    starting = bursts(BURSTS["gamma"]).model_copy(update={"order": order})
    waiting = starting.model_copy(update={"pause_s": starting.spacing_s})
    for process, kept in ((waiting, None), (starting, order)):
        after = scale_process(process, 400.0)
        assert isinstance(after, BurstProcess)
        assert after.pause_s is None
        assert after.order == kept


def test_single_packets_come_faster(renewal_process: PacketProcess) -> None:
    after = scale_process(renewal_process, 2.5)
    before = played_bytes(renewal_process, span_s=200.0)
    # 20,000 gamma gaps: three standard errors of either side are about 3%.
    assert played_bytes(after, span_s=200.0) == pytest.approx(2.5 * before, rel=0.06)


@pytest.fixture
def renewal_process(udp_model: object) -> PacketProcess:
    process: PacketProcess = udp_model.streams[0].phases[0].process  # type: ignore[attr-defined]
    return process


def test_packets_that_keep_a_clock_keep_a_faster_one() -> None:
    gap_s = Law(
        unit="s", family="gamma", params={"a": 100.0, "loc": 0.0, "scale": 5e-5}, observations=1
    )
    clock = TrainClock(mean_gap_s=5e-3, packets=512, deviation=1e-4)
    trains = Trains(packets=(64,), gap_ranks="Ag/g" * 32, clock=clock)
    before = RenewalProcess(gap_s=gap_s, packet_bytes=SIZE, trains=trains)
    after = scale_process(before, 2.0)
    assert isinstance(after, RenewalProcess)
    assert after.trains == trains.model_copy(
        update={"clock": clock.model_copy(update={"mean_gap_s": 2.5e-3})}
    )
    for process, rate in ((before, 200), (after, 400)):
        assert played_bytes(process, span_s=100.0) == pytest.approx(1000 * rate * 100, rel=0.01)


def test_slow_ups_and_downs_keep_their_times() -> None:
    gap = Law(unit="s", family="expon", params={"loc": 0.0, "scale": 0.01}, observations=1)
    volume = Law(
        unit="bytes",
        family="gamma",
        params={"a": 2.0, "loc": 0.0, "scale": 25_000.0},
        atoms=(Atom(value=0, p=0.2),),
        integer=True,
        observations=1,
    )
    part = RateClass(up_to_bytes=None, gap_s=gap, packet_bytes=SIZE)
    before = ModulatedProcess(
        bin_s=0.5, bin_bytes=volume, autocorrelation=(0.5, 0.25), classes=(part,)
    )
    after = scale_process(before, 2.0)
    assert isinstance(after, ModulatedProcess)
    assert after.bin_s == 0.5
    assert after.bin_bytes.atoms == (Atom(value=0, p=0.2),)
    assert played_bytes(after, span_s=500.0) == pytest.approx(
        2 * played_bytes(before, span_s=500.0), rel=0.03
    )


def test_any_other_process_runs_on_another_clock() -> None:
    """A process that is not known here is scaled by the names of its fields."""
    process = bursts(BURSTS["gamma"])
    after = accelerate_clock(process, 4.0)
    assert isinstance(after, BurstProcess)
    assert after.threshold_s == process.threshold_s / 4
    assert after.burst_packets == process.burst_packets
    assert played_bytes(after, span_s=150.0) == pytest.approx(
        played_bytes(process, span_s=600.0), rel=0.02
    )


@pytest.mark.parametrize("span_s", [0.6, 5.0, 300.0])
def test_expected_bytes_are_those_played_on_average(span_s: float) -> None:
    process = bursts(BURSTS["gamma"])
    wanted = expected_bytes(process, span_s, first_at_start=True)
    assert wanted is not None
    each = []
    for seed in range(300):

        def generator_of(quantity: str, seed: int = seed) -> np.random.Generator:
            return np.random.default_rng([seed, sum(quantity.encode())])

        played = playable(process).play(Span(0.0, span_s), generator_of)
        each.append(float(played.ip_bytes.sum(dtype=np.float64)))
    # 3.3 standard errors, and a hundredth for the limit of many points.
    assert np.mean(each) == pytest.approx(wanted, rel=0.01, abs=3.3 * np.std(each) / 300**0.5)


def test_a_family_that_is_not_scaled_by_its_parameters_becomes_quantiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trafficgen.generation.scaling._SCALED_PARAMS", ())
    law = Law(unit="s", family="gamma", params={"a": 2.0, "loc": 0.0, "scale": 1.0}, observations=1)
    scaled = scale_law(law, 3.0)
    assert scaled.family == "quantiles"
    # 65 points leave out the outermost ten-thousandth.
    assert scaled.distribution().mean == pytest.approx(6.0, rel=0.02)


@pytest.mark.parametrize("factor", [0.3, 1.7, 40.0])
@pytest.mark.parametrize("loc", [0.0, 3.0])
@pytest.mark.parametrize(
    ("family", "params"),
    [("nbinom", {"n": 4.0, "p": 0.2}), ("poisson", {"mu": 16.0}), ("geom", {"p": 1 / 16})],
)
def test_laws_of_whole_numbers_are_scaled_with_their_shift(
    family: str, params: dict[str, float], loc: float, factor: float
) -> None:
    shifted = {"params": params | {"loc": loc}, "observations": 1}
    law = Law.model_validate({"unit": "1", "family": family, "integer": True, **shifted})
    scaled = scale_law(law, factor)
    # Values are whole: each is rounded by half of one at most.
    wanted = law.distribution().mean * factor
    assert scaled.distribution().mean == pytest.approx(wanted, rel=0.03, abs=0.5)


@pytest.mark.parametrize("factor", [0.96, 1.04])
@pytest.mark.parametrize("family", ["quantiles", "geom"])
def test_bursts_of_one_packet_stay_so_at_a_rate_that_is_hardly_another(
    family: str, factor: float
) -> None:
    points = ((0.0, 1.0), (0.2, 1.0), (0.3, 2.6), (0.8, 30.0), (1.0, 90.0))
    quantiles = tuple(QuantilePoint(p=p, value=value) for p, value in points)
    shape = {"quantiles": quantiles} if family == "quantiles" else {"params": {"p": 0.2}}
    law = Law.model_validate(
        {"unit": "packets", "family": family, "integer": True, "observations": 1, **shape}
    )
    before, after = law.distribution(), scale_law(law, factor).distribution()
    for packets in (1, 2):
        assert after.cdf(packets) == pytest.approx(float(before.cdf(packets)), abs=0.03)
    # Whole numbers are rounded.
    assert after.mean == pytest.approx(before.mean * factor, rel=0.03, abs=0.25)


def mixed_laws() -> dict[str, MixedLaw]:
    uniform = (QuantilePoint(p=0.0, value=0.0), QuantilePoint(p=1.0, value=1.0))
    fields = {"unit": "s", "family": "quantiles", "quantiles": uniform, "observations": 1}
    atoms: dict[str, tuple[Atom, ...]] = {
        "none": (),
        "below": (Atom(value=-1.0, p=0.3),),
        "within": (Atom(value=0.5, p=0.2), Atom(value=0.25, p=0.1)),
        "above": (Atom(value=2.0, p=0.4),),
    }
    return {
        name: Law.model_validate({**fields, "atoms": each}).distribution()
        for name, each in atoms.items()
    }


@pytest.mark.parametrize("name", ["none", "below", "within", "above"])
def test_quantiles_of_a_mixed_law_invert_its_distribution_function(name: str) -> None:
    law = mixed_laws()[name]
    probability = np.linspace(0.001, 0.999, 997)
    value = quantiles_of(law, probability)
    assert np.all(np.diff(value) >= 0)
    assert np.all(law.cdf(value) >= probability - 1e-9)
    assert np.all(law.cdf(value - 1e-6) <= probability + 1e-5)


@pytest.mark.parametrize("factor", [0.3, 5.0])
def test_the_tail_of_a_smoothed_empirical_law_is_scaled_with_it(factor: float) -> None:
    points = tuple(
        QuantilePoint(p=p, value=value) for p, value in ((0.0, 1.0), (0.5, 2.0), (1.0, 4.0))
    )
    tail = {"p": 0.01, "threshold": 4.0, "c": 0.2, "scale": 1.0}
    fields = {
        "unit": "s",
        "family": "quantiles",
        "quantiles": points,
        "tail": tail,
        "observations": 500,
    }
    before = Law.model_validate(fields)
    after = scale_law(before, factor)
    assert after.tail is not None
    probability = np.array([0.3, 0.9, 0.995, 0.9999])
    assert quantiles_of(after.distribution(), probability) == pytest.approx(
        factor * quantiles_of(before.distribution(), probability)
    )


@pytest.mark.parametrize("factor", [1e-9, 1.0, 1000.0])
@pytest.mark.parametrize("rate_bps", [1e-300, 1.0, 1e14, 1e15])
def test_rates_beyond_the_bounds_are_refused_in_one_line(
    udp_model: Model, factor: float, rate_bps: float
) -> None:
    (stream,) = udp_model.streams
    phases = tuple(phase.model_copy(update={"rate_bps": rate_bps}) for phase in stream.phases)
    model = udp_model.model_copy(
        update={"streams": (stream.model_copy(update={"phases": phases}),)}
    )
    if rate_bps * factor <= 1e15:
        assert len(trafficgen.generate(model, duration_s=5, scale_rate=factor).packets) > 0
        return
    with pytest.raises(trafficgen.GenerationError, match=r"at 1000 times its rate.*scale_rate"):
        trafficgen.generate(model, duration_s=5, scale_rate=factor)
