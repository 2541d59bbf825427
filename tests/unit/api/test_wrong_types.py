"""Wrong types of every parameter of every public function, and of methods of results."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Any

import pytest
import scipy.stats

import trafficgen

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"
#: Values that no parameter takes.
WRONG = (3 + 2j, b"x", [object()], {object(): 1}, range(3))
#: Values for parameters that have to be given; all others have defaults.
NEEDED: dict[str, object] = {
    **{"paths": CAPTURE, "path": "rate=1Mbps", "out": "x.csv", "name": "cbr"},
    **{"reference": CAPTURE, "candidate": CAPTURE, "trace": CAPTURE, "table": "cbr", "to": "csv"},
    **{"directory": "out", "folder": "out", "first": "cbr", "second": "cbr", "limits": []},
    **{"functions": scipy.stats.expon, "bounds": {"scale": (0, inf)}},
}
#: Words of Python and of libraries that say nothing to a user.
NOT_PLAIN = re.compile(
    r"\n|pydantic|validation error|NoneType|not supported|unsupported|no attribute|unhashable"
    r"|not iterable|subscript|<class|unpack|Errno|__\w+__|ufunc|Arrow|Could not convert|concat"
    r"|integers or"
)


def _takers() -> Iterator[tuple[str, Callable[..., Any], str]]:
    for name in trafficgen.__all__:
        if inspect.isfunction(function := getattr(trafficgen, name)):
            others = getattr(function, "other_names", {})
            for parameter in (*inspect.signature(function).parameters, *filter(None, others)):
                yield name, function, parameter


@pytest.mark.parametrize(
    ("function", "parameter"),
    [pytest.param(function, name, id=f"{of}-{name}") for of, function, name in _takers()],
)
def test_a_wrong_type_is_refused_by_the_name_that_was_typed(
    function: Callable[..., Any], parameter: str
) -> None:
    shown = inspect.signature(function).parameters
    replaced = getattr(function, "other_names", {}).get(parameter, parameter)
    needed = {
        name: _needed(name)
        for name, one in shown.items()
        if one.default is one.empty and name != replaced
    }
    for wrong in WRONG:
        message = _refusal(lambda given: function(**needed | given), {parameter: wrong})
        assert re.search(rf"\b{parameter}\b|list of files|each of|made as", message), wrong
        assert not NOT_PLAIN.search(message), wrong


def _needed(name: str) -> object:
    kinds: dict[str, type] = {"result": trafficgen.Fit, "comparison": trafficgen.Comparison}
    kinds |= {"exchanges": trafficgen.Exchanges, "model": trafficgen.PublishedModel}
    if name in kinds:
        return next(one for one in _results() if isinstance(one, kinds[name]))
    return NEEDED.get(name, "x")


@cache
def _results() -> tuple[object, ...]:
    table = trafficgen.generate("cbr", duration_s=10)
    fitted = trafficgen.fit(table)
    reproduced = trafficgen.reproduce("BMW-T1.1", runs=1, workers=1)
    path = trafficgen.Path.parse("rate=1Mbps")
    return (
        *(table, fitted, fitted.model, trafficgen.load_model("cbr"), path, reproduced),
        *(reproduced.rows[0], reproduced.rows[0].finding, trafficgen.models_list()[0]),
        *(trafficgen.compare(table, table), trafficgen.inspect(CAPTURE)),
        *(trafficgen.measure_exchanges(CAPTURE), trafficgen.models_diff(fitted, fitted)),
        trafficgen.simulate("cbr", path=path, duration_s=2),
        trafficgen.simulate_workload("cbr", path=path, duration_s=2, sessions=2),
        trafficgen.load_workload("examples/workloads/evening.yaml"),
    )


def _methods() -> Iterator[tuple[object, str, str]]:
    for result in _results():
        for name, method in vars(type(result)).items():
            if not name.startswith("_") and inspect.isfunction(method):
                for parameter in [*inspect.signature(method).parameters][1:]:
                    yield result, name, parameter


def test_a_wrong_type_given_to_a_method_is_refused_in_plain_words() -> None:
    for result, name, parameter in _methods():
        method = getattr(result, name)
        shown = inspect.signature(method).parameters
        needed = {one for one in shown if shown[one].default is shown[one].empty} - {parameter}
        for wrong in WRONG[:-1]:  # some take a range
            given = dict.fromkeys(needed, 1) | {parameter: wrong}
            message = _refusal(partial(_call, method), given)
            place = f"{type(result).__name__}.{name}({parameter}={wrong!r}): {message}"
            assert not NOT_PLAIN.search(message), place


def _call(method: Callable[..., object], given: dict[str, Any]) -> object:
    return method(**given)


def _refusal(work: Callable[[dict[str, Any]], object], given: dict[str, Any]) -> str:
    with pytest.raises((trafficgen.TrafficgenError, ValueError, TypeError)) as caught:
        work(given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"from": 12, "to": 3}, r"\(from\) and end after the start \(to\)"),
        ({"from_s": 12, "to_s": 3}, r"\(from_s\) and end after the start \(to_s\)"),
    ],
)
def test_options_are_named_in_errors_as_they_were_typed(typed: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        trafficgen.fit(CAPTURE, **typed)


def test_a_name_of_several_lines_is_shown_as_one(tmp_path: Path) -> None:
    with pytest.raises(trafficgen.InputFileError, match=r"two\\nlines") as caught:
        trafficgen.inspect(tmp_path / "two\nlines")
    assert "\n" not in str(caught.value)


def test_a_folder_of_packets_is_fitted_and_its_bytes_are_told(tmp_path: Path) -> None:
    trafficgen.generate("cbr", tmp_path / "one.pcap", duration_s=10)
    trafficgen.convert(tmp_path / "one.pcap", tmp_path / "packets")
    models = [trafficgen.fit(tmp_path / name).model for name in ("packets", "packets", "one.pcap")]
    first, again, file = [model.model_dump()["provenance"]["digests"] for model in models]
    assert first == again != file
    assert len(first) == 1
