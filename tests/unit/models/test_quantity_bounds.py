"""Every number that a file can give has bounds, and absurd ones are refused in one line."""

from __future__ import annotations

import importlib
import json
import pkgutil
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import trafficgen
from trafficgen.models import Model, ModelPart, PublishedModel
from trafficgen.models.io import model_of
from trafficgen.models.published import load_entry, with_settings
from trafficgen.models.published.mechanisms import check_mechanism
from trafficgen.models.published_model import UNITS, has_unit
from trafficgen.quantity_bounds import LEAST, MOST, MOST_PLAIN, check_numbers

CAPTURE = "examples/captures/rtsp_rtp_two_streams.pcap.gz"
ABSURD = (1e300, -1e300, 10**400)
#: Models as pydantic builds them for files: modules with parts.
MODULES = ("models", "workloads", "simulation", "reproduction")
#: Ends of intervals: any finite number.
INTERVALS = {("Estimate", "low"), ("Estimate", "high"), ("Law", "low"), ("Law", "high")}


def all_parts() -> list[type[ModelPart]]:
    for package in MODULES:
        found = importlib.import_module(f"trafficgen.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"{found.__name__}."):
            importlib.import_module(module.name)
    waiting, parts = [ModelPart], []
    while waiting:
        subclasses = waiting.pop().__subclasses__()
        parts += [one for one in subclasses if one.__module__.startswith("trafficgen.")]
        waiting += subclasses
    return parts


def numbers_of(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the numbers of a JSON schema, without those of parts that it refers to."""
    if isinstance(schema, dict):
        if schema.get("type") in ("number", "integer") and "enum" not in schema:
            yield schema
        for key in ("anyOf", "items", "prefixItems", "additionalProperties", "oneOf"):
            yield from numbers_of(schema.get(key))
    elif isinstance(schema, list):
        for one in schema:
            yield from numbers_of(one)


def test_every_number_of_every_part_of_a_file_has_bounds() -> None:
    parts, counted = all_parts(), 0
    assert len(parts) > 80
    for part in parts:
        for key, schema in part.model_json_schema().get("properties", {}).items():
            for number in numbers_of(schema):
                if (part.__name__, key) in INTERVALS:
                    continue
                counted += 1
                assert {"maximum", "exclusiveMaximum"} & schema_keys(schema, number), (part, key)
                assert {"minimum", "exclusiveMinimum"} & schema_keys(schema, number), (part, key)
    assert counted > 150


def schema_keys(schema: dict[str, Any], number: dict[str, Any]) -> set[str]:
    """Return the keys of a number, and those that stand beside a choice of types."""
    return set(number) | set(schema)


def test_every_unit_of_parameters_is_one_with_bounds_or_a_plain_number() -> None:
    for unit in MOST:
        assert has_unit(f"length_{unit}") or unit in ("fps", "per_s", "seed"), unit
    assert set(LEAST) <= set(MOST)
    for unit in UNITS:
        with pytest.raises(ValueError, match="it must be at most"):
            check_numbers({"list": [{f"number_{unit}": MOST.get(unit, MOST_PLAIN) * 1.01}]}, "x")


@pytest.fixture(scope="module")
def fitted() -> dict[str, Any]:
    with warnings.catch_warnings(action="ignore"):
        model = trafficgen.fit(CAPTURE).model
    return model.model_dump(mode="json")


def places_in(part: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of numbers in JSON; of lists, those of the first members."""
    if isinstance(part, int | float) and not isinstance(part, bool):
        yield place
    elif isinstance(part, dict | list):
        for key in part if isinstance(part, dict) else range(min(len(part), 2)):
            yield from places_in(part[key], (*place, key))


def changed_at(content: Any, place: tuple[Any, ...], value: object) -> Any:
    """Return JSON with another value in a place."""
    if not place:
        return value
    copied = dict(content) if isinstance(content, dict) else list(content)
    copied[place[0]] = changed_at(content[place[0]], place[1:], value)
    return copied


@pytest.mark.parametrize("value", ABSURD, ids=["large", "negative", "long"])
def test_no_number_of_a_fitted_model_may_be_absurd(
    fitted: dict[str, Any], tmp_path: Path, value: float
) -> None:
    file, count = tmp_path / "model.json", 0
    for place in places_in(fitted):
        if "low" in place[-2:] or "high" in place[-2:]:
            continue
        file.write_text(json.dumps(changed_at(fitted, place, value)))
        with pytest.raises(trafficgen.ModelFileError) as refused:
            trafficgen.load_model(file)
        assert "\n" not in str(refused.value)
        assert len(str(refused.value)) < 600
        count += 1
    assert count > 200


def truths_in(part: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(part, bool):
        yield place
    elif isinstance(part, dict | list):
        for key in part if isinstance(part, dict) else range(len(part)):
            yield from truths_in(part[key], (*place, key))


@pytest.mark.filterwarnings("ignore::trafficgen.TrafficgenWarning")
@pytest.mark.parametrize("name", ["rtsp_rtp_two_streams", "http_burst_then_paced"])
def test_every_truth_of_a_fitted_model_may_be_the_other_or_is_refused(name: str) -> None:
    content = trafficgen.fit(f"examples/captures/{name}.pcap.gz").model.model_dump(mode="json")
    count = 0
    for place in truths_in(content["streams"], ("streams",)):
        value: Any = content
        for key in place:
            value = value[key]
        with suppress(trafficgen.TrafficgenError):
            model = model_of(changed_at(content, place, not value), file="model.json")
            trafficgen.generate(model, duration_s=10)
        count += 1
    assert count > 10


def published_models() -> list[PublishedModel]:
    return [load_entry(one.name) for one in trafficgen.models_list()]


def test_no_option_or_parameter_of_a_published_model_may_be_absurd() -> None:
    models, count = published_models(), 0
    assert len(models) > 20
    for model in models:
        named = {name: one.default for name, one in model.options.items()}
        named |= {name: one.value for name, one in model.mechanism.parameters.items()}
        for name, value in named.items():
            for place in places_in(value):
                for absurd in (*ABSURD, 1e-300):
                    count += 1
                    refuse_setting(model, name, changed_at(value, place, absurd), absurd)
    assert count > 1000


def refuse_setting(model: PublishedModel, name: str, value: Any, absurd: float) -> None:
    """Check that a value is refused in one line; one near 0 may be that of a plain number."""
    problem = "" if absurd == 1e-300 else "played"
    try:
        check_mechanism(with_settings(model, {name: value}))
    except (trafficgen.SettingError, ValueError) as error:
        problem = "several lines" if "\n" in str(error) else ""
    assert not problem, (model.name, name, value)


@pytest.mark.parametrize("text", ["1e300", "1e-300", "-1e300"])
@pytest.mark.parametrize(
    "keys",
    [
        "rate={}bps",
        "rate={}Mbps",
        "rate=1Mbps,delay={}s",
        "rate=1Mbps,delay_jitter={}s",
        "rate=1Mbps,queue={}p",
        "rate=1Mbps,queue={}B",
        "rate=1Mbps,burst={}B",
        "rate=1Mbps,overhead={}B",
        "rate=1Mbps,loss={}",
        "rate=1Mbps,loss=1%,loss_burst={}p",
        "rate=1Mbps,loss=1%,loss_start={}s",
        "rate=1Mbps,aqm=codel,aqm_target={}s",
        "rate=1Mbps,reorder=1%,reorder_delay={}s",
        "rate=1Mbps,harq=1%,harq_delay={}s",
        "rate=1Mbps,handover={}s,handover_every=5s",
        "rate=1Mbps,fade=1s,fade_loss=1,fade_every={}s",
        "rate=1Mbps,reverse_rate={}bps",
        "rate=1Mbps,access={}bps",
        "steps=0s:{}bps",
        "steps=0s:1Mbps/{}s:2Mbps",
    ],
)
def test_no_number_of_a_path_may_be_absurd(keys: str, text: str) -> None:
    nearly_zero = ("delay=", "jitter=", "loss={", "loss_start", "steps")
    if text == "1e-300" and any(key in keys for key in nearly_zero):
        return  # as good as 0, which those may be
    with pytest.raises(trafficgen.SimulationError) as refused:
        trafficgen.Path.parse(keys.format(text))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["1e300", "-1e300"])
@pytest.mark.parametrize(
    "keys",
    [
        {"sessions": "{}"},
        {"length": "{}s"},
        {"arrivals": "poisson:{}/s"},
        {"arrivals": {"hourly": {"rate": "{}/h", "hours": [1.0] * 24}}},
        {"scale_rate": "{}"},
        {"vary": {"rate": "lognormal:{},sigma=1"}},
        {"popularity": "zipf:{}"},
        {"watched": "{}"},
        {"quiet": "{}s"},
    ],
)
def test_no_number_of_a_workload_may_be_absurd(
    tmp_path: Path, keys: dict[str, Any], text: str
) -> None:
    group = {"model": "cbr", **keys}
    file = tmp_path / "workload.yaml"
    file.write_text(json.dumps({"groups": [group]}).replace("{}", text))
    with pytest.raises(trafficgen.TrafficgenError) as refused:
        trafficgen.load_workload(file)
    assert "\n" not in str(refused.value)


def test_values_at_the_bounds_are_kept(fitted: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "model.json"
    place = ("playout", "rate_bps", "value")
    content = changed_at(fitted, place, MOST["bps"])
    content["playout"]["rate_bps"] |= {"low": None, "high": None}
    file.write_text(json.dumps(content))
    model = trafficgen.load_model(file)
    assert isinstance(model, Model)
    assert model.playout.rate_bps.value == MOST["bps"]
