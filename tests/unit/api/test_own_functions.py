"""A function of a user that fails is named, with what it has to return."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import trafficgen
from trafficgen.export.target import Target, Written


def _raise(*given: object, **keywords: object) -> Any:
    raise TypeError("mine\nof two lines")


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


def _register(function: Callable[..., Any], folder: Path) -> None:
    law = SimpleNamespace(cdf=function, ppf=function)
    trafficgen.register_distribution("own", law, bounds={"scale": (0, np.inf)})


FRAME = pd.DataFrame({"time_s": [0.1, 0.2], "ip_bytes": [100, 200]})
WRONG = [
    (_register, "distribution", [None, "x", FRAME], "its functions fail .*correct its functions"),
    (
        _play,
        "source",
        [None, np.zeros(3), ([0.5], ["x"]), (1, 2, 3), FRAME, [FRAME]],
        "return times in s and sizes",
    ),
    (_start, "arrivals", [None, ["x"], np.zeros((2, 2)), FRAME, [FRAME]], "return times in s"),
    (_compare, "metric", [None, "x", -1.0, np.zeros(2), FRAME], "return a distance"),
    (_write, "exporter", [None, "x", FRAME], r"return Written\(report"),
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
        with pytest.raises(trafficgen.TrafficgenError, match=f"^{kind} own[^\\n]*{remedy}[^\\n]*$"):
            use(lambda *_, given=result, **__: given, tmp_path / str(number))
    failing = rf"{kind} own.* fails? \(TypeError: mine of two lines\)"
    with pytest.raises(trafficgen.TrafficgenError, match=failing):
        use(_raise, tmp_path / "raising")


@pytest.mark.parametrize("name", ["register_source", "register_arrivals", "register_metric"])
def test_a_decorator_without_brackets_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=rf'write @trafficgen.{name}\("my_own"\)'):
        getattr(trafficgen, name)(_raise)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("every_s=soon", "arrivals own: every_s=soon is not a number"),
        (
            "ever_s=1",
            "arrivals own: unknown key 'ever_s' .did you mean every_s.*its keys are every_s",
        ),
        ("every_s=-1", "arrivals own: the function gives times that are negative"),
    ],
)
def test_keys_of_arrivals_are_checked_by_their_defaults(keys: str, message: str) -> None:
    @trafficgen.register_arrivals("own")
    def start(generator: Any, sessions: Any, window_s: Any, every_s: float = 1.0) -> list[float]:
        return [every_s] * 2

    with pytest.raises(trafficgen.GenerationError, match=f"^{message}"):
        trafficgen.generate_workload("cbr", "x.csv", arrivals=f"own:{keys}", sessions=2)


@pytest.mark.parametrize(
    ("part", "given", "message"),
    [
        (Target, ("own", "mine", "any", 5), "^Target: write must be a function, not 5$"),
        (Target, (5, "mine", "any", print), "^Target: name must be a text, not 5$"),
        (Written, (None, ""), "^Written: report must be a ProjectionReport, not None$"),
    ],
)
def test_what_an_exporter_is_made_of_is_checked(
    part: Callable[..., Any], given: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        part(*given)
