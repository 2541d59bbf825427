"""Published models are checked against what the state machines take, in the file's own words."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from trafficgen.errors import SettingError
from trafficgen.models import PublishedModel
from trafficgen.models.published import entry_names, load_entry
from trafficgen.models.published.mechanisms import check_mechanism, parameter_names
from trafficgen.simulation.sources import make_published_source

Change = Callable[[dict[str, Any]], object]


def parameter(name: str, value: object) -> Change:
    """Return what gives a parameter of the mechanism a value."""
    account = {"value": value, "basis": "open", "reason": "a test", "unit": "1"}
    return lambda content: content["mechanism"]["parameters"].update({name: account})


def option(name: str, **keys: object) -> Change:
    """Return what changes keys of an option."""
    return lambda content: content["options"][name].update(keys)


def table(name: str, row: int, column: str, value: object) -> Change:
    """Return what changes a value in a table of a parameter."""
    return lambda content: content["mechanism"]["parameters"][name]["value"][row].update(
        {column: value}
    )


def changed(entry: str, change: Change) -> PublishedModel:
    """Return an entry of the catalogue with a change of its content."""
    content = copy.deepcopy(load_entry(entry).model_dump(mode="json"))
    change(content)
    return PublishedModel.model_validate(content)


@pytest.mark.parametrize("name", entry_names())
def test_every_entry_can_be_simulated(name: str) -> None:
    check_mechanism(load_entry(name))


def test_a_mechanism_lists_its_parameters() -> None:
    assert parameter_names("cbr") == ("rate_bps", "packet_bytes", "duration_s")
    assert parameter_names("nosuch") == ()


@pytest.mark.parametrize(
    ("entry", "change", "problem"),
    [
        pytest.param(
            "cbr",
            lambda content: content["mechanism"].update(kind="cbx"),
            "mechanism.kind: the simulation has no mechanism 'cbx'",
            id="kind",
        ),
        pytest.param(
            "cbr",
            lambda content: content["options"].pop("rate_kbps"),
            "mechanism.parameters.rate_bps: missing; add its value",
            id="missing",
        ),
        pytest.param(
            "cbr",
            parameter("silence_s", 3),
            "mechanism.parameters.silence_s: the mechanism cbr has no parameter 'silence_s'; it"
            " has rate_bps, packet_bytes, duration_s",
            id="unknown",
        ),
        pytest.param(
            "cbr",
            option("rate_kbps", sets=[]),
            "options.rate_kbps: the mechanism cbr has no parameter 'rate_kbps'; it has rate_bps,"
            " packet_bytes, duration_s; an option of kbit/s needs `sets: [rate_bps]`",
            id="kilobits",
        ),
        pytest.param(
            "cbr",
            option("packet_bytes", default=40.5, low=1),
            "options.packet_bytes: floating point 40.5 is not a whole number from 0 on",
            id="type",
        ),
        pytest.param(
            "chunked",
            parameter("start_s", "soon"),
            'mechanism.parameters.start_s: string "soon" is not a number',
            id="text",
        ),
        pytest.param(
            "chunked",
            option("ladder_kbps", default=[750, 300]),
            "options.ladder_kbps: ladder_kbps must ascend",
            id="range",
        ),
        pytest.param(
            "chunked",
            option("choice", default="luck", choices=["luck"]),
            "options.choice: luck is not one of buffer, rate, hybrid",
            id="word",
        ),
        pytest.param(
            "wmedia9_nichols2004",
            table("encodings", 0, "colour", "blue"),
            "mechanism.parameters.encodings: unknown key colour; use rate_kbps,",
            id="key-of-a-table",
        ),
        pytest.param(
            "wmedia9_nichols2004",
            lambda content: content["mechanism"]["parameters"]["multiples"]["value"][0].pop(
                "multiple"
            ),
            "mechanism.parameters.multiples: multiple is missing",
            id="missing-in-a-table",
        ),
        pytest.param(
            "wmedia9_nichols2004",
            lambda content: content["competing_tcp"]["value"].update(congestion_control="vegas"),
            "competing_tcp: vegas is not one of reno",
            id="competing-tcp",
        ),
        pytest.param(
            "wmedia9_nichols2004",
            lambda content: content["competing_tcp"].update(value="reno"),
            "competing_tcp: must be a table, not reno",
            id="no-table",
        ),
    ],
)
def test_a_problem_names_its_key(entry: str, change: Change, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        check_mechanism(changed(entry, change))


def test_a_setting_that_the_mechanism_refuses_is_an_error_of_the_setting() -> None:
    with pytest.raises(SettingError, match=r"^chunked: options.ladder_kbps: ladder_kbps must asc"):
        make_published_source(load_entry("chunked"), {"ladder_kbps": "750,300"})
