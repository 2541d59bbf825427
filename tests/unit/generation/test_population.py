"""Sessions of a population differ as its laws say, and are the same for any number of workers."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from tests.unit.generation.conftest import bursts, model_with, stream

import trafficgen
from trafficgen.generation import OpenLoopSessions
from trafficgen.generation.media import media_packets
from trafficgen.generation.model_player import ModelPlayer, Viewing
from trafficgen.generation.population import SessionSampler
from trafficgen.generation.timeline import Window
from trafficgen.models import (
    Estimate,
    Law,
    Model,
    Phase,
    Population,
    PopulationLaw,
    PopulationQuantity,
    Prototype,
    RankCorrelation,
    SessionVariant,
)
from trafficgen.tables import PacketTable
from trafficgen.workloads import run


def law(
    median: float, deviation: float, unit: str, *, positive_share: float = 1.0
) -> PopulationLaw:
    params = {"s": deviation, "loc": 0.0, "scale": median}
    estimate = Estimate(value=median, method="by hand")
    return PopulationLaw(
        law=Law.model_validate(
            {"unit": unit, "family": "lognorm", "params": params, "observations": 1}
        ),
        median=estimate,
        log_deviation=Estimate(value=deviation, method="by hand"),
        sessions=20,
        positive_share=positive_share,
        error_share=0.0,
        method="by hand",
    )


def with_population(
    *models: Model, correlation: float = 0.0, buffering_share: float = 1.0
) -> Model:
    """Return the first model with a population of which each model is a prototype of the same
    weight.
    """
    laws: dict[PopulationQuantity, PopulationLaw] = {
        "media_duration_s": law(20.0, 0.3, "s"),
        "playout_rate_bps": law(300e3, 0.4, "bps"),
        "buffering_duration_s": law(4.0, 0.2, "s"),
        "buffering_ratio": law(2.0, 0.1, "1"),
        "silence_s": law(1.0, 0.2, "s", positive_share=0.5),
    }
    pair = RankCorrelation(
        first="playout_rate_bps",
        second="media_duration_s",
        normal_correlation=Estimate(value=correlation, method="by hand"),
    )
    prototypes = tuple(
        Prototype(
            name=f"{number}-{model.name}",
            weight=1 / len(models),
            group_rate_bps=100e3 * 9**number,
            group_log_deviation=0.3,
            buffering_share=buffering_share,
            media_duration_s=max(stream.phases[-1].end_s for stream in model.streams),
            buffering_duration_s=sum(
                phase.duration_s for phase in model.streams[0].phases if phase.name == "buffering"
            ),
            playout_rate_bps=300e3,
            streams=model.streams if number else None,
        )
        for number, model in enumerate(models)
    )
    population = Population(
        captures=20, sessions=20, laws=laws, dependence=(pair,), prototypes=prototypes
    )
    return rated(models[0]).model_copy(update={"population": rated_prototypes(population)})


def rated(model: Model) -> Model:
    """Return a model whose phases have a rate, as fitted ones do."""
    streams = tuple(
        stream.model_copy(
            update={
                "phases": tuple(
                    phase.model_copy(update={"rate_bps": 300e3}) for phase in stream.phases
                )
            }
        )
        for stream in model.streams
    )
    return model.model_copy(update={"streams": streams})


def rated_prototypes(population: Population) -> Population:
    prototypes = []
    for prototype in population.prototypes:
        streams = prototype.streams
        if streams is not None:
            streams = tuple(
                stream.model_copy(
                    update={
                        "phases": tuple(
                            phase.model_copy(update={"rate_bps": 300e3}) for phase in stream.phases
                        )
                    }
                )
                for stream in streams
            )
        prototypes.append(prototype.model_copy(update={"streams": streams}))
    return population.model_copy(update={"prototypes": tuple(prototypes)})


def table_bytes(table: PacketTable) -> bytes:
    sink = io.BytesIO()
    for part in (table.packets, table.flows):
        with pa.ipc.new_stream(sink, part.schema) as writer:
            writer.write_table(part.combine_chunks())
    return sink.getvalue()


def test_any_blocks_and_workers_give_the_same_bytes(
    udp_model: Model, mixed_model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_BLOCK_PACKETS", 500)
    model = with_population(udp_model, mixed_model)
    at_once = table_bytes(
        OpenLoopSessions(model=model, count=70, seed=2, duration_s=6.0).make_table()
    )
    for workers in (1, 3):
        assert (
            table_bytes(
                trafficgen.generate(model, sessions=70, seed=2, duration_s=6.0, workers=workers)
            )
            == at_once
        )


def test_flows_are_numbered_through_where_sessions_differ_in_their_streams(
    udp_model: Model, mixed_model: Model
) -> None:
    table = OpenLoopSessions(
        model=with_population(udp_model, mixed_model), count=12, seed=1, duration_s=8.0
    ).make_table()
    rows = table.flows.to_pylist()
    assert [row["flow"] for row in rows] == list(range(len(rows)))
    sessions = [row["session"] for row in rows]
    assert sorted(set(sessions)) == list(range(12))
    assert len({sessions.count(session) for session in range(12)}) > 1
    for row in rows:
        own = table.select_flows([row["flow"]])
        assert row["packets_to_client"] == int(np.count_nonzero(own.to_client))


def test_sessions_are_drawn_from_the_laws(udp_model: Model) -> None:
    model = with_population(udp_model, correlation=-0.7)
    assert model.population is not None
    sampler = SessionSampler(model, model.population, seed=1)
    drawn = [sampler.draw(session) for session in range(2000)]
    rate = np.log([each.playout_rate_bps for each in drawn])
    length = np.log([each.media_duration_s for each in drawn])
    # 3.3 standard errors of 2000 draws.
    assert rate.mean() == pytest.approx(np.log(300e3), abs=3.3 * 0.4 / 2000**0.5)
    assert length.std() == pytest.approx(0.3, rel=3.3 / 4000**0.5)
    assert np.corrcoef(rate, length)[0, 1] == pytest.approx(-0.7, abs=3.3 * 0.51 / 2000**0.5)
    silent = np.array([each.silence_s == 0 for each in drawn])
    assert silent.mean() == pytest.approx(0.5, abs=3.3 * 0.5 / 2000**0.5)


def test_sessions_have_the_bursts_of_one_of_about_their_rate(udp_model: Model) -> None:
    model = with_population(udp_model)
    assert model.population is not None
    (prototype,) = model.population.prototypes
    slow, fast = (
        SessionVariant(rate_bps=rate_bps, factors={"spacing_s": factor})
        for rate_bps, factor in ((150e3, 2.0), (600e3, 0.5))
    )
    varied = prototype.model_copy(update={"variants": (slow, fast)})
    population = model.population.model_copy(update={"prototypes": (varied,)})
    sampler = SessionSampler(model, population, seed=1)
    drawn = [sampler.draw(session) for session in range(200)]
    # The kernel has a width of 0.26: between the rates are six of them.
    usual = SessionSampler(model, model.population, seed=1)
    for session, one in enumerate(drawn):
        if abs(np.log(one.playout_rate_bps / 300e3)) > 0.5:
            assert one.factors == (slow if one.playout_rate_bps < 300e3 else fast).factors
        assert replace(one, factors={}) == usual.draw(session)
    assert {one.factors["spacing_s"] for one in drawn} == {0.5, 2.0}


def test_sessions_of_a_clip_are_alike_and_not_the_same(
    udp_model: Model, mixed_model: Model
) -> None:
    played = ModelPlayer(with_population(udp_model, mixed_model), seed=1)
    first, second = Viewing(session=3, clip=5), Viewing(session=8, clip=5)
    assert played.timeline(first) is played.timeline(second)
    assert (
        played.timeline(Viewing(session=5)).length_s == played.timeline(first).length_s
    )  # a clip is such a draw
    made = [played.session(viewing, start_ns=0, first_flow=0) for viewing in (first, second)]
    (packets, flows), (other_packets, other_flows) = ((one.packets(), one.rows()) for one in made)
    assert len(flows) == len(other_flows)
    assert flows[0]["client"] != other_flows[0]["client"]
    assert not np.array_equal(packets[-1].columns.ip_bytes, other_packets[-1].columns.ip_bytes)


def test_a_clip_of_another_rate_is_drawn_at_so_much_more(udp_model: Model) -> None:
    model = with_population(udp_model)
    assert model.population is not None
    sampler = SessionSampler(model, model.population, seed=1)
    usual, faster = sampler.draw(4), sampler.draw(4, rate_factor=2.0)
    assert faster.playout_rate_bps == 2 * usual.playout_rate_bps
    assert faster.media_duration_s == usual.media_duration_s
    played = ModelPlayer(model, seed=1)
    expected = [
        played.expected_packets(Viewing(session=4, rate_factor=rate)) for rate in (1.0, 2.0)
    ]
    assert expected[1] == pytest.approx(2 * expected[0])


def test_viewers_of_a_population_leave_where_they_were_to(udp_model: Model) -> None:
    played = ModelPlayer(with_population(udp_model), seed=1)
    for session in range(10):
        whole = played.timeline(Viewing(session=session))
        left = played.timeline(Viewing(session=session, leaves_at=0.4))
        assert left.length_s == pytest.approx(max(0.4 * whole.length_s, whole.first_media_s + 1e-3))
        share = played.expected_packets(Viewing(session=session, leaves_at=0.4))
        assert share == pytest.approx(0.4 * played.expected_packets(Viewing(session=session)))
        shortest = Viewing(session=session, length_s=played.shortest_s())
        assert played.timeline(shortest).length_s == pytest.approx(played.shortest_s())


def test_a_session_is_the_same_whoever_draws_it(udp_model: Model) -> None:
    model = with_population(udp_model)
    assert model.population is not None
    first, second = (SessionSampler(model, model.population, seed=9) for _ in range(2))
    assert [first.draw(session) for session in range(5)] == [
        second.draw(session) for session in (0, 1, 2, 3, 4)
    ]
    assert first.draw(7) == second.draw(7)


def test_rates_come_from_the_prototype_that_is_near(udp_model: Model, rtp_model: Model) -> None:
    model = with_population(udp_model, rtp_model)
    assert model.population is not None
    sampler = SessionSampler(model, model.population, seed=1)
    drawn = [sampler.draw(session) for session in range(500)]
    rates = [
        np.median([each.playout_rate_bps for each in drawn if each.prototype == number])
        for number in (0, 1)
    ]
    assert rates[0] < 250e3
    assert rates[1] > 350e3


def test_a_length_that_is_asked_for_is_that_of_every_session(udp_model: Model) -> None:
    table = OpenLoopSessions(
        model=with_population(udp_model), count=5, seed=1, duration_s=9.0
    ).make_table()
    columns = table.flows.to_pydict()
    last_s = np.array(columns["last_time_ns"]) / 1e9
    assert np.all(last_s <= 9.0)
    assert np.all(last_s > 8.0)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_sessions_buffer_as_often_as_their_group_does(udp_model: Model, share: float) -> None:
    table = OpenLoopSessions(
        model=with_population(udp_model, buffering_share=share), count=6, seed=4
    ).make_table()
    sessions = np.array(table.flows.to_pydict()["session"])[table.flow]
    fast = np.array(table.column("phase").to_pylist(), dtype=object) == "buffering"
    assert len(set(sessions[fast].tolist())) == round(6 * share)


def resembling(model: Model, *variants: SessionVariant, **fields: object) -> SessionSampler:
    """Return the sampler of a population of one prototype whose sessions resemble some."""
    played = with_population(model)
    assert played.population is not None
    (prototype,) = played.population.prototypes
    prototype = prototype.model_copy(update={"variants": variants, **fields})
    population = played.population.model_copy(update={"prototypes": (prototype,)})
    played = played.model_copy(update={"population": population})
    return SessionSampler(played, population, seed=3)


def variant(*, length_s: float, rate_bps: float = 300e3, **fields: object) -> SessionVariant:
    quantities = {"media_duration_s": length_s, "playout_rate_bps": rate_bps}
    return SessionVariant.model_validate(
        {"rate_bps": rate_bps, "factors": {}, "quantities": quantities, **fields}
    )


def test_of_as_many_sessions_as_were_fitted_each_resembles_another(udp_model: Model) -> None:
    lengths_s = [8.0, 12.0, 18.0, 27.0, 40.0]
    sampler = resembling(udp_model, *(variant(length_s=one) for one in lengths_s))
    for turn in range(3):
        drawn = [sampler.draw(5 * turn + place).media_duration_s for place in range(5)]
        assert np.log(sorted(drawn)) == pytest.approx(np.log(lengths_s), abs=0.15)


def test_sessions_end_with_a_packet() -> None:
    process = bursts(spacing_s=2.0, packets=20)
    phase = Phase(name="playout", start_s=0.0, duration_s=20.0, rate_bps=1e5, process=process)
    model = model_with(stream(phases=(phase,)), silence_s=0.0, rate_bps=1e5)
    sampler = resembling(model, variant(length_s=20.0))
    for session in range(5):
        (played,) = sampler.timeline(session).streams
        packets = media_packets(played, Window(), zero_s=0.0, seed=1, session=session)
        assert packets.time_ns[-1] / 1e9 == pytest.approx(played.phases[-1].end_s, abs=1e-6)


def test_sessions_start_at_the_rates_of_their_prototype(udp_model: Model) -> None:
    profile = (3.0, 0.0, 2.0, 0.5)
    sampler = resembling(udp_model, variant(length_s=40.0), profile=profile)
    found = []
    for session in range(20):
        (played,) = sampler.timeline(session).streams
        packets = media_packets(played, Window(), zero_s=0.0, seed=1, session=session)
        place = np.searchsorted([2.5, 5.0, 10.0], packets.time_ns / 1e9)
        length_s = np.array([2.5, 2.5, 5.0, played.phases[-1].end_s - 10.0])
        found.append(np.bincount(place, weights=packets.ip_bytes, minlength=4) / length_s)
    rates = np.mean(found, axis=0) * 8
    drawn = np.mean([sampler.draw(session).playout_rate_bps for session in range(20)])
    assert rates == pytest.approx(drawn * np.array(profile), rel=0.15)


def test_sessions_that_resemble_a_cut_one_are_longer(udp_model: Model) -> None:
    seen_s = 24.0
    sampler = resembling(udp_model, variant(length_s=seen_s, is_cut=True))
    drawn = np.array([sampler.draw(session).media_duration_s for session in range(200)])
    assert drawn.min() >= 0.99 * seen_s
    # As long as those of the law (median 20 s, spread 0.3) that last so long.
    law = stats.lognorm(0.3, scale=20.0)
    expected = law.ppf(law.cdf(seen_s) + (1 - law.cdf(seen_s)) * np.array([0.25, 0.5, 0.75]))
    assert np.quantile(drawn, [0.25, 0.5, 0.75]) == pytest.approx(expected, rel=0.05)
