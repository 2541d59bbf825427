"""A model that Python changes is checked as a model file is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.models import Model, PublishedModel

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"
#: Keys of parts -> a value that no file may have, and what the message says of it.
IMPOSSIBLE: list[tuple[Callable[[Model], Any], dict[str, object], str]] = [
    (lambda model: model, {"streams": ()}, "streams: it must have at least 1 item"),
    (lambda model: model, {"steams": ()}, "steams: unknown key"),
    (lambda model: model, {"name": 5}, "name: it must be a text, not 5"),
    (lambda model: model.streams[0].phases[0], {"duration_s": -5.0}, "duration_s: .*greater than"),
    (lambda model: model.streams[0].phases[0], {"rate_bps": float("nan")}, "rate_bps: .*finite"),
    (lambda model: model.streams[0], {"phases": ()}, "phases: it must have at least 1"),
    (lambda model: model.playout.duration_s, {"low": 9.0, "high": 1.0}, "low 9.0 is above"),
    (lambda model: model.startup, {"silence_s": {"value": -3, "method": "set"}}, "not be negative"),
]


@pytest.fixture(scope="module")
def model() -> Model:
    found = trafficgen.fit(CAPTURE).model
    assert isinstance(found, Model)
    return found


@pytest.mark.parametrize(("part_of", "update", "message"), IMPOSSIBLE)
def test_copies_refuse_what_files_may_not_hold(
    model: Model, part_of: Callable[[Model], Any], update: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        part_of(model).model_copy(update=update)


def test_sizes_are_not_negative(model: Model) -> None:
    process: Any = model.streams[0].phases[0].process
    law = process.packet_bytes
    atom = {"value": -100.0, "p": 0.5}
    negative = law.model_copy(
        update={"family": "atoms", "params": {}, "quantiles": (), "atoms": (atom, atom)}
    )
    with pytest.raises(ValueError, match=r"packet_bytes.*must not be negative, not -100"):
        process.model_copy(update={"packet_bytes": negative})


def test_copies_keep_the_rest(model: Model) -> None:
    copied = model.model_copy(update={"description": "mine"})
    assert copied.model_copy(update={"description": model.description}) == model
    assert model.model_copy() == model == model.model_copy(deep=True)


def test_no_file_is_saved_that_cannot_be_loaded(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    broken = model.model_construct(**{**dict(model), "streams": ()})
    with pytest.raises(trafficgen.ModelFileError, match="streams: it must have at least 1"):
        trafficgen.save_model(broken, path)
    assert not path.exists()


@pytest.mark.parametrize("schema", [Model, PublishedModel])
@pytest.mark.parametrize("content", [{"name": 5}, {"name": "x"}, {"steams": 1}, 5, [], None])
def test_python_names_what_is_wrong_as_files_do(schema: type[Model], content: object) -> None:
    doors: tuple[tuple[Callable[[Any], object], object], ...] = (
        (schema.model_validate, content),
        (schema.model_validate_json, json.dumps(content)),
    )
    for check, given in doors:
        with pytest.raises(trafficgen.ModelFileError) as raised:
            check(given)
        assert raised.value.file == schema.__name__
        assert "models_schema()" in raised.value.remedy
        assert "pydantic" not in str(raised.value)
        assert "\n" not in str(raised.value)


def test_checks_take_what_they_wrote(model: Model) -> None:
    assert Model.model_validate(model.model_dump()) == model
    assert Model.model_validate_json(model.model_dump_json()) == model
    with pytest.raises(trafficgen.ModelFileError, match="it must be JSON, but"):
        Model.model_validate_json("{name")
