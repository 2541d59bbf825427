"""Fitted sessions become one model: the typical session, and how the others differ."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.generation.conftest import model_with, stream

from trafficgen.calibration.model_size import compact_streams, model_bytes
from trafficgen.calibration.population import pooled_model
from trafficgen.calibration.population.across_sessions import Observed
from trafficgen.calibration.population.pooled_model import pool_sessions
from trafficgen.calibration.population.session_estimates import SessionEstimates
from trafficgen.errors import ModelFileError, TooFewObservationsError
from trafficgen.models import (
    Atom,
    BurstProcess,
    Law,
    Model,
    Phase,
    QuantilePoint,
    RenewalProcess,
    pack_streams,
    read_model,
    save_model,
)


def model(number: int, *, points: int = 4, streams: int = 1) -> Model:
    """Return a model whose gaps are quantiles, many where the file is to be large."""
    p = np.linspace(0, 1, points)
    quantiles = tuple(QuantilePoint(p=float(at), value=float(0.01 + at**2 / 7)) for at in p)
    gap = Law(unit="s", family="quantiles", quantiles=quantiles, observations=100)
    size = Law(
        unit="bytes",
        family="atoms",
        atoms=(Atom(value=1000, p=1.0),),
        integer=True,
        observations=100,
    )
    process = RenewalProcess(gap_s=gap, packet_bytes=size)
    phases = (Phase(name="playout", start_s=0.0, duration_s=60.0, rate_bps=2e5, process=process),)
    played = [stream(f"stream{place}", phases=phases) for place in range(streams)]
    made = model_with(*played, silence_s=0.0, rate_bps=2e5)
    return made.model_copy(update={"name": f"session{number}"})


def session(
    number: int, *, kind: float = 0.0, levels_bps: tuple[float, ...] = (), **size: int
) -> SessionEstimates:
    return SessionEstimates(
        name=f"session{number}",
        model=model(number, **size),
        observed={
            "media_duration_s": Observed(60.0 + number),
            "playout_rate_bps": Observed(2e5 * (1 + number / 10)),
        },
        unknown=frozenset({"loss_rate", "rtt_s"}),
        features=np.array([kind + 0.01 * number, 1.0]),
        levels_bps=levels_bps,
    )


def test_without_sessions_there_is_no_population() -> None:
    with pytest.raises(TooFewObservationsError):
        pool_sessions([], captures=0, seed=0)


def test_what_no_session_has_is_absent_with_a_reason() -> None:
    population = pool_sessions(
        [session(number) for number in range(4)], captures=4, seed=0
    ).population
    assert population is not None
    assert set(population.laws) == {"media_duration_s", "playout_rate_bps"}
    for quantity in ("buffering_ratio", "silence_s", "rtt_s", "loss_rate", "ladder", "dependence"):
        assert population.absent[quantity]


def test_the_model_is_that_of_the_session_in_the_middle_of_the_largest_group() -> None:
    sessions = [session(number) for number in range(6)] + [
        session(6 + number, kind=9.0) for number in range(4)
    ]
    pooled = pool_sessions(sessions, captures=10, seed=0)
    assert pooled.population is not None
    first, *others = pooled.population.prototypes
    assert len(others) == 9
    assert first.streams is None
    assert first.name == pooled.name
    assert all(one.streams is not None for one in others)
    assert {one.weight for one in (first, *others)} == {0.1}


def test_levels_of_sessions_become_rungs_that_they_share() -> None:
    ladders = [(1e5, 3e5), (1.05e5, 2.9e5, 8e5), (0.97e5,), ()]
    sessions = [session(number, levels_bps=levels) for number, levels in enumerate(ladders)]
    population = pool_sessions(sessions, captures=4, seed=0).population
    assert population is not None
    assert [round(rung.rate_bps / 1e4) for rung in population.ladder] == [10, 30, 80]
    assert [rung.share for rung in population.ladder] == pytest.approx([1.0, 2 / 3, 1 / 3])


def test_prototypes_are_fewer_where_the_file_would_be_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pooled_model, "LARGEST_POPULATION_BYTES", 20_000)
    sessions = [
        session(10 * kind + number, kind=9.0 * kind, points=64, streams=4)
        for kind in range(4)
        for number in range(5)
    ]
    pooled = pool_sessions(sessions, captures=20, seed=0)
    assert pooled.population is not None
    assert model_bytes(pooled) <= 20_000
    assert 1 <= len(pooled.population.prototypes) < 20


def with_bursts(one: SessionEstimates, spacing_s: float, gap_s: float) -> SessionEstimates:
    """Return a session whose playout are bursts of two packets."""
    (played,) = one.model.streams
    (phase,) = played.phases
    laws = {
        name: Law.model_validate(
            {
                "unit": unit,
                "family": "atoms",
                "atoms": (Atom(value=value, p=1.0),),
                "integer": unit != "s",
                "observations": 100,
            }
        )
        for name, unit, value in (
            ("spacing_s", "s", spacing_s),
            ("gap_within_s", "s", gap_s),
            ("burst_packets", "packets", 2),
            ("packet_bytes", "bytes", 1000),
            ("last_packet_bytes", "bytes", 400),
        )
    }
    process = BurstProcess.model_validate({"threshold_s": 0.1, **laws})
    phases = (phase.model_copy(update={"process": process}),)
    streams = (played.model_copy(update={"phases": phases}),)
    return replace(one, model=one.model.model_copy(update={"streams": streams}))


def test_sessions_of_a_group_differ_in_what_they_have_and_in_their_bursts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pooled_model, "MOST_PROTOTYPES", 1)
    sessions = [
        with_bursts(session(number), 0.2 * (1 + number), 0.001 / (1 + number))
        for number in range(5)
    ]
    pooled = pool_sessions([*sessions, session(9)], captures=6, seed=0)
    assert pooled.population is not None
    (prototype,) = pooled.population.prototypes
    assert prototype.name == "session2"
    found = {round(one.rate_bps / 2e4) - 10: one for one in prototype.variants}
    assert sorted(found) == [0, 1, 2, 3, 4, 9]
    assert found.pop(9).factors == {}
    for number, variant in found.items():
        ratio = (1 + number) / 3
        expected = {"spacing_s": ratio, "gap_within_s": 1 / ratio, "packet_bytes": 1.0}
        assert variant.factors == pytest.approx(expected | {"last_packet_bytes": 1.0}, rel=1e-3)
        assert variant.quantities == pytest.approx(
            {"media_duration_s": 60.0 + number, "playout_rate_bps": 2e5 * (1 + number / 10)}
        )


def test_packed_streams_that_are_damaged_are_refused(tmp_path: Path) -> None:
    pooled = pool_sessions([session(number) for number in range(4)], captures=4, seed=0)
    save_model(pooled, tmp_path / "many.json")
    text = (tmp_path / "many.json").read_text()
    assert pooled.population is not None
    streams = pooled.population.prototypes[1].streams
    assert streams is not None
    packed = pack_streams(streams)
    assert packed in text
    too_long = pack_streams(streams * 1000)
    for damaged in (packed[: len(packed) // 8 * 4], "AAAA", "not base64", too_long):
        (tmp_path / "damaged.json").write_text(text.replace(packed, damaged))
        with pytest.raises(ModelFileError, match="packed text"):
            read_model(tmp_path / "damaged.json")


def test_older_files_have_their_streams_unpacked(tmp_path: Path) -> None:
    pooled = pool_sessions([session(number) for number in range(4)], captures=4, seed=0)
    save_model(pooled, tmp_path / "many.json")
    written = json.loads((tmp_path / "many.json").read_text())
    assert pooled.population is not None
    for prototype, one in zip(
        written["population"]["prototypes"], pooled.population.prototypes, strict=True
    ):
        if one.streams is not None:
            prototype["streams"] = [each.model_dump(mode="json") for each in one.streams]
    (tmp_path / "older.json").write_text(json.dumps(written))
    assert read_model(tmp_path / "older.json") == pooled
    written["population"]["prototypes"][1]["streams"][0]["phases"][0]["start_s"] = "0"
    (tmp_path / "odd.json").write_text(json.dumps(written))
    with pytest.raises(
        ModelFileError, match=r"streams\.0\.phases\.0\.start_s: it must be a number"
    ):
        read_model(tmp_path / "odd.json")


def test_streams_too_long_to_be_unpacked_are_written_unpacked(tmp_path: Path) -> None:
    pooled = pool_sessions([session(number) for number in range(4)], captures=4, seed=0)
    assert pooled.population is not None
    first, second, *others = pooled.population.prototypes
    assert second.streams is not None
    longer = second.model_copy(update={"streams": second.streams * 400})
    population = pooled.population.model_copy(update={"prototypes": (first, longer, *others)})
    written = pooled.model_copy(update={"population": population})
    save_model(written, tmp_path / "long.json")
    assert read_model(tmp_path / "long.json") == written


def test_texts_of_packed_streams_come_on_one_line(tmp_path: Path) -> None:
    pooled = pool_sessions([session(number) for number in range(4)], captures=4, seed=0)
    save_model(pooled, tmp_path / "many.json")
    text = (tmp_path / "many.json").read_text()
    assert pooled.population is not None
    streams = pooled.population.prototypes[1].streams
    assert streams is not None
    hostile = pack_streams((streams[0].model_copy(update={"name": "a\x1b[31m\nb"}), *streams[1:]))
    (tmp_path / "hostile.json").write_text(text.replace(pack_streams(streams), hostile))
    found = read_model(tmp_path / "hostile.json")
    assert isinstance(found, Model)
    assert found.population is not None
    read = found.population.prototypes[1].streams
    assert read is not None
    assert read[0].name.isprintable()


def test_a_file_with_more_prototypes_than_memory_is_for_is_refused(tmp_path: Path) -> None:
    pooled = pool_sessions([session(number) for number in range(4)], captures=4, seed=0)
    save_model(pooled, tmp_path / "many.json")
    written = json.loads((tmp_path / "many.json").read_text())
    prototypes = written["population"]["prototypes"]
    written["population"]["prototypes"] = [{**prototypes[-1], "weight": 1 / 40}] * 40
    (tmp_path / "more.json").write_text(json.dumps(written))
    with pytest.raises(ModelFileError, match="at most 32"):
        read_model(tmp_path / "more.json")


def test_a_compact_stream_plays_nearly_alike() -> None:
    (before,) = model(0, points=64).streams
    (after,) = compact_streams((before,))
    gaps = [stream.phases[0].process.gap_s for stream in (before, after)]  # type: ignore[attr-defined]
    assert len(gaps[1].quantiles) < len(gaps[0].quantiles)
    means = [gap.distribution().mean for gap in gaps]
    assert means[1] == pytest.approx(means[0], rel=0.005)


def test_a_population_survives_its_file(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("model") / "many.json"
    pooled = pool_sessions([session(number) for number in range(12)], captures=12, seed=0)
    save_model(pooled, file)
    assert read_model(file) == pooled
