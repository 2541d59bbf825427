"""`--set KEY=VALUE`: texts become what the option or parameter holds, and what cannot be is
refused.
"""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import JsonValue

from trafficgen.errors import SettingError
from trafficgen.models import PublishedModel, model_of
from trafficgen.models.published import (
    entry_names,
    load_entry,
    parameters_for_engine,
    with_settings,
)
from trafficgen.models.published.formulas import is_formula


def _option(**parts: Any) -> dict[str, Any]:
    return {"description": "What the paper varied.", "source": "NIC-S2", **parts}


@pytest.fixture
def model() -> PublishedModel:
    """Return a model with an option and a parameter of every kind."""
    values: dict[str, JsonValue] = {
        "silence_s": 5.0,
        "probe_packets": 3,
        "name": "a",
        "resend": True,
        "sizes_bytes": [300, 600],
        "shares": [0.5],
        "table": {"a": 1},
        "absent_s": None,
    }
    parameters = {
        name: {"value": value, "basis": "figure", "source": "NIC-B1"}
        for name, value in values.items()
    }
    parameters["shares"]["unit"] = "1"
    content = {
        "name": "every_kind",
        "provenance": {
            "kind": "published",
            "citations": [{"authors": ["A"], "year": 2004, "title": "T", "supports": ["all"]}],
        },
        "options": {
            "encoding_rate_kbps": _option(default=340, choices=[28, 340, "surestream"]),
            "ladder_kbps": _option(default=None, choices=[28, 340, 1128], many=True),
            "control": _option(default=True, choices=[True, False]),
            "transport": _option(default="udp", choices=["udp", "tcp"]),
            "clip": _option(default=None, low=1, high=79),
            "rate_kbps": _option(default=100, low=1, sets=["rate_bps", "peak_bps"]),
            "rates_kbps": _option(default=[1, 2], many=True, sets=["levels_bps"]),
        },
        "mechanism": {"kind": "cbr", "parameters": parameters},
    }
    found = model_of(content, file="every_kind")
    assert isinstance(found, PublishedModel)
    return found


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("encoding_rate_kbps", "28", 28),
        ("encoding_rate_kbps", "28.0", 28),
        ("encoding_rate_kbps", "surestream", "surestream"),
        ("ladder_kbps", "1128, 340", [1128, 340]),
        ("ladder_kbps", "340", [340]),
        ("ladder_kbps", "none", None),
        ("control", "off", False),
        ("control", "true", True),
        ("transport", "tcp", "tcp"),
        ("clip", "12", 12),
        ("silence_s", "6", 6.0),
        ("probe_packets", "4", 4),
        ("name", "7", "7"),
        ("resend", "no", False),
        ("sizes_bytes", "100,200,300", [100, 200, 300]),
        ("sizes_bytes", "[100]", [100]),
        ("shares", "0.25,0.75", [0.25, 0.75]),
        ("table", '{"a": 2}', {"a": 2}),
        ("absent_s", "2.5", 2.5),
        ("absent_s", "[1, 2]", [1, 2]),
    ],
)
def test_a_text_becomes_what_the_key_holds(
    model: PublishedModel, key: str, text: str, value: JsonValue
) -> None:
    found = parameters_for_engine(with_settings(model, {key: text}))[key]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("encoding_rate_kbps", "29", "29 is not one of 28, 340, surestream"),
        ("ladder_kbps", "1128,341", "341 is not one of 28, 340, 1128"),
        ("ladder_kbps", "", "the list is empty"),
        ("ladder_kbps", 340, "340 is not a list"),
        ("control", "maybe", "maybe is not one of true, false"),
        ("control", 1, "1 is not one of true, false"),
        ("clip", "80", "80 is above 79"),
        ("clip", "first", "'first' is not a number"),
        ("clip", True, "true is not a number"),
        ("rate_kbps", "0", "0 is below 1"),
        ("rate_kbps", "nan", "'nan' is not a number"),
        ("silence_s", "long", "'long' is not a number"),
        ("resend", "2", "'2' is not on or off"),
        ("sizes_bytes", "100,big", "'big' is not a number"),
        ("table", "[1]", "'[1]' is not a table in JSON"),
    ],
)
def test_a_value_that_cannot_be_is_refused(
    model: PublishedModel, key: str, value: JsonValue, problem: str
) -> None:
    with pytest.raises(SettingError) as caught:
        with_settings(model, {key: value})
    assert str(caught.value).startswith(f"every_kind: {key}=")
    assert problem in str(caught.value)


def test_an_unknown_key_is_answered_with_those_there_are() -> None:
    with pytest.raises(SettingError) as caught:
        with_settings(load_entry("cbr"), {"fps": "1"})
    assert "cbr has no 'fps' to set; its options are rate_kbps, packet_bytes, duration_s" in str(
        caught.value
    )
    assert "\n" not in str(caught.value)


def test_an_option_reaches_the_parameters_that_it_sets_in_their_units(
    model: PublishedModel,
) -> None:
    given = parameters_for_engine(with_settings(model, {"rate_kbps": "64"}))
    assert (given["rate_bps"], given["peak_bps"], given["levels_bps"]) == (
        64_000,
        64_000,
        [1000, 2000],
    )
    assert "rate_kbps" not in given


def test_a_parameter_that_was_set_no_longer_claims_to_be_of_the_paper(
    model: PublishedModel,
) -> None:
    changed = with_settings(model, {"silence_s": 1.0})
    parameter = changed.mechanism.parameters["silence_s"]
    assert (parameter.basis, parameter.source, parameter.reason) == (
        "open",
        None,
        "set by the user",
    )
    assert model.mechanism.parameters["silence_s"].value == 5.0


def test_a_formula_is_set_to_a_number_and_its_inputs_no_longer_count() -> None:
    changed = with_settings(load_entry("video_tgax_bv1"), {"period_s": "0.5"})
    assert changed.mechanism.parameters["period_s"].value == 0.5
    assert "rate_bps" not in changed.mechanism.parameters
    assert "interval" not in changed.options
    processes: Any = parameters_for_engine(changed)["processes"]
    assert processes[0]["arrivals"] == {"period_s": 0.5}


@pytest.mark.parametrize("name", ["interval", "rate_bps"])
def test_a_setting_without_effect_beside_another_is_refused(name: str) -> None:
    value: JsonValue = "30_fps" if name == "interval" else 1e6
    with pytest.raises(SettingError, match=f"{name} has no effect when period_s is set"):
        with_settings(load_entry("video_tgax_bv1"), {name: value, "period_s": 0.5})


@pytest.mark.parametrize("name", entry_names())
def test_every_formula_of_an_entry_can_be_set(name: str) -> None:
    entry = load_entry(name)
    formulas = [key for key, one in entry.mechanism.parameters.items() if is_formula(one.value)]
    for key in formulas:
        given = parameters_for_engine(entry)
        assert parameters_for_engine(with_settings(entry, {key: "1"})).keys() == given.keys()
