"""A function of a user that fails is named, with what it has to return."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.export.target import Target, Written


def _raise(*given: object, **keywords: object) -> Any:
    raise TypeError("mine")


def _play(function: Callable[..., Any], folder: Path) -> None:
    trafficgen.register_source("own")(function)
    trafficgen.generate("own", duration_s=5)


def _start(function: Callable[..., Any], folder: Path) -> None:
    trafficgen.register_arrivals("own")(function)
    trafficgen.generate_workload("cbr", folder, arrivals="own", sessions=2, duration_s=5)


def _write(function: Callable[..., Any], folder: Path) -> None:
    trafficgen.register_exporter(Target("own", "mine", "any", function))
    trafficgen.export(trafficgen.generate("cbr", duration_s=1), to="own", directory=folder)


def _compare(function: Callable[..., Any], folder: Path) -> None:
    trafficgen.register_metric("own")(function)
    table = trafficgen.generate("cbr", duration_s=5)
    trafficgen.compare(table, table)


WRONG = [
    (
        _play,
        "source",
        [None, np.zeros(3), ([0.5], ["x"]), (1, 2, 3)],
        "return times in s and sizes",
    ),
    (_start, "arrivals", [None, ["x"], np.zeros((2, 2))], "return times in s"),
    (_compare, "metric", [None, "x", -1.0, np.zeros(2)], "return a distance"),
    (_write, "exporter", [None, "x"], r"return Written\(report"),
    (
        _write,
        "exporter",
        [Written(trafficgen.ProjectionReport("own", ("absent.txt",), 1), "")],
        "reports the file 'absent.txt', which it did not write",
    ),
]


@pytest.mark.parametrize(("use", "kind", "results", "remedy"), WRONG)
def test_what_is_wrong_and_what_to_return(
    use: Callable[..., None], kind: str, results: list[Any], remedy: str, tmp_path: Path
) -> None:
    for number, result in enumerate(results):
        with pytest.raises(trafficgen.TrafficgenError, match=f"{kind} own.*{remedy}"):
            use(lambda *_, given=result, **__: given, tmp_path / str(number))
    with pytest.raises(trafficgen.TrafficgenError, match=rf"{kind} own fails \(TypeError: mine\)"):
        use(_raise, tmp_path / "raising")


@pytest.mark.parametrize("name", ["register_source", "register_arrivals", "register_metric"])
def test_a_decorator_without_brackets_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf'write @trafficgen.{name}\("my_own"\)'):
        getattr(trafficgen, name)(_raise)
