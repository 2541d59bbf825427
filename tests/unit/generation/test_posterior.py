"""Parameters that each session draws from the uncertainty of a fit."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trafficgen.distributions.fitting.fit_law import fit_law
from trafficgen.errors import GenerationError
from trafficgen.generation.posterior import PosteriorSampler
from trafficgen.models import (
    Estimate,
    Law,
    MmppProcess,
    MmppState,
    Model,
    PacketProcess,
    RenewalProcess,
)
from trafficgen.units import FloatArray

_DRAWS = 400
_SIZE = {"unit": "bytes", "family": "atoms", "integer": True}
_FULL = Law(**_SIZE, atoms=({"value": 1000.0, "p": 1.0},), observations=500)  # type: ignore[arg-type]


def _model_with(model: Model, process: PacketProcess) -> Model:
    (stream,) = model.streams
    phases = tuple(phase.model_copy(update={"process": process}) for phase in stream.phases)
    return model.model_copy(update={"streams": (stream.model_copy(update={"phases": phases}),)})


def _fit_gaps(gaps_s: FloatArray) -> Law:
    generator = np.random.default_rng(1)
    return fit_law(gaps_s, unit="s", tick=1e-6, generator=generator).parametric


def _draw_gap_laws(model: Model, law: Law, *, seed: int = 0, draws: int = _DRAWS) -> list[Law]:
    process = RenewalProcess(gap_s=law, packet_bytes=_FULL)
    sampler = PosteriorSampler(_model_with(model, process), seed=seed)
    return [_process_of(sampler.draw(session)).gap_s for session in range(draws)]


def _process_of(model: Model) -> RenewalProcess:
    process = model.streams[0].phases[0].process
    assert isinstance(process, RenewalProcess)
    return process


def test_parameters_of_a_law_are_drawn_together(udp_model: Model) -> None:
    """Shape and scale of a gamma law are uncertain by far more than the mean that they make."""
    gaps_s = stats.gamma.rvs(0.7, scale=0.02, size=400, random_state=np.random.default_rng(5))
    law = _fit_gaps(gaps_s)
    assert law.family == "gamma"
    drawn = _draw_gap_laws(udp_model, law)
    means = np.array([one.distribution().mean for one in drawn])
    of_theory = gaps_s.mean() / np.sqrt(law.params["a"] * gaps_s.size)
    assert means.std() == pytest.approx(of_theory, rel=0.15)
    logs = np.log([[one.params["a"], one.params["scale"]] for one in drawn])
    assert np.corrcoef(logs.T)[0, 1] < -0.5
    for name, of_name in zip(("a", "scale"), logs.T, strict=True):
        half = np.log(law.high[name] / law.low[name]) / 2 / 1.96
        assert of_name.std() == pytest.approx(half, rel=0.15)


def test_dependent_values_leave_more_uncertainty(udp_model: Model) -> None:
    generator = np.random.default_rng(3)
    slow = np.repeat(generator.exponential(0.02, 60), 40)
    law = _fit_gaps(slow * generator.uniform(0.9, 1.1, slow.size))
    assert law.low, "the family has intervals"
    drawn = [one.distribution().mean for one in _draw_gap_laws(udp_model, law)]
    independent = law.distribution().variance ** 0.5 / np.sqrt(slow.size)
    assert np.std(drawn) > 3 * independent


def test_the_mean_of_an_empirical_law_is_drawn_as_its_values_leave_it(udp_model: Model) -> None:
    generator = np.random.default_rng(2)
    steps_s = generator.choice([0.003, 0.007, 0.019, 0.023, 0.041, 0.064], 600)
    sample = steps_s + generator.uniform(0, 5e-4, 600)
    law = fit_law(sample, unit="s", tick=1e-6, generator=generator)
    assert law.law.family == "quantiles"
    drawn = [one.distribution().mean for one in _draw_gap_laws(udp_model, law.law)]
    assert np.mean(drawn) == pytest.approx(sample.mean(), rel=0.02)
    assert np.std(drawn) == pytest.approx(sample.std() / np.sqrt(sample.size), rel=0.25)


def test_weights_of_atoms_are_drawn_as_counts_leave_them(udp_model: Model) -> None:
    atoms = ({"value": 100.0, "p": 0.2}, {"value": 1500.0, "p": 0.8})
    law = Law(**_SIZE, atoms=atoms, observations=400)  # type: ignore[arg-type]
    process = RenewalProcess(gap_s=_draw_free_gap(), packet_bytes=law)
    sampler = PosteriorSampler(_model_with(udp_model, process), seed=4)
    small = [
        _process_of(sampler.draw(session)).packet_bytes.atoms[0].p for session in range(_DRAWS)
    ]
    assert np.mean(small) == pytest.approx(0.2, abs=0.005)
    assert np.std(small) == pytest.approx(np.sqrt(0.2 * 0.8 / 400), rel=0.15)


def _draw_free_gap() -> Law:
    """Return a law without intervals, as a published one: it stays."""
    return Law(unit="s", family="expon", params={"loc": 0.0, "scale": 0.01}, observations=500)


def test_what_has_no_interval_stays(udp_model: Model) -> None:
    law = _draw_free_gap()
    assert all(one.params == law.params for one in _draw_gap_laws(udp_model, law, draws=5))


def test_rates_of_a_chain_are_drawn_from_their_intervals(udp_model: Model) -> None:
    def state(rate_per_s: float) -> MmppState:
        rate = Estimate(
            value=rate_per_s, low=0.8 * rate_per_s, high=1.3 * rate_per_s, method="test"
        )
        return MmppState(rate_per_s=rate, mean_sojourn_s=Estimate(value=2.0, method="test"))

    process = MmppProcess(
        states=(state(200.0), state(20.0)),
        transition=((0.0, 1.0), (1.0, 0.0)),
        packet_bytes=_FULL,
        mean_rate_per_s=110.0,
        observed_s=60.0,
    )
    sampler = PosteriorSampler(_model_with(udp_model, process), seed=1)
    rates = []
    for session in range(_DRAWS):
        drawn = sampler.draw(session).streams[0].phases[0].process
        assert isinstance(drawn, MmppProcess)
        assert drawn.states[0].mean_sojourn_s.value == 2.0
        rates.append(drawn.states[0].rate_per_s.value)
    below, above = np.quantile(rates, [0.025, 0.975])
    assert below == pytest.approx(160, rel=0.06)
    assert above == pytest.approx(260, rel=0.06)


def test_a_session_draws_the_same_alone_and_among_others(udp_model: Model) -> None:
    law = _fit_gaps(np.random.default_rng(5).gamma(0.7, 0.02, 400))
    among = _draw_gap_laws(udp_model, law, seed=9, draws=40)
    process = RenewalProcess(gap_s=law, packet_bytes=_FULL)
    alone = PosteriorSampler(_model_with(udp_model, process), seed=9).draw(33)
    assert _process_of(alone).gap_s == among[33]
    assert among[33] != among[32]


@pytest.mark.long
def test_drawn_means_cover_the_truth_as_often_as_they_say(udp_model: Model) -> None:
    """Over 200 captures of 150 gaps each, 95% intervals of drawn means hold the true mean."""
    generator = np.random.default_rng(8)
    inside = 0
    for _ in range(200):
        law = _fit_gaps(generator.gamma(1.5, 0.02 / 1.5, 150))
        means = [one.distribution().mean for one in _draw_gap_laws(udp_model, law, draws=100)]
        low, high = np.quantile(means, [0.025, 0.975])
        inside += low <= 0.02 <= high
    assert 180 <= inside <= 198


@pytest.mark.parametrize("end", [1e30, 1e150, 1e300])
def test_intervals_without_end_are_drawn_from_or_refused_in_one_line(
    udp_model: Model, end: float
) -> None:
    rates = [
        Estimate(value=value, low=value / end, high=value * end, method="set")
        for value in (50.0, 5.0)
    ]
    states = tuple(
        MmppState(rate_per_s=rate, mean_sojourn_s=Estimate(value=1.0, method="set"))
        for rate in rates
    )
    process = MmppProcess(
        states=states,
        transition=((0.0, 1.0), (1.0, 0.0)),
        packet_bytes=_FULL,
        mean_rate_per_s=20.0,
        observed_s=100.0,
    )
    sampler, refused = PosteriorSampler(_model_with(udp_model, process), seed=1), 0
    for session in range(20):
        try:
            sampler.draw(session)
        except GenerationError as error:
            assert str(error).isprintable()  # noqa: PT017 - others are drawn
            refused += 1
    assert refused > 0
