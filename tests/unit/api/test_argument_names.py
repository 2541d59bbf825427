"""A wrong argument of any public function is named by its keyword, before anything is made."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import trafficgen

ROOT = Path(__file__).parents[3]
CAPTURE = str(ROOT / "examples/captures/http_burst_then_paced.pcap.gz")
#: Names of arguments -> values that functions take where they need one.
NEEDED: dict[str, Any] = {
    **dict.fromkeys(("paths", "capture", "reference", "candidate", "table", "trace"), CAPTURE),
    **dict.fromkeys(("model", "name", "first", "second"), "cbr"),
    **{"path": "rate=1Mbps,delay=10ms", "to": "mgen", "folder": "demo", "ids": "none-of-them"},
    **dict.fromkeys(("out", "directory"), "made"),
    "limits": [],
}
#: Options by which valid ones are soon done, and values that cannot be reached by names.
QUICK = {"generate": {"duration_s": 1}, "generate_workload": {"duration_s": 1, "sessions": 2}}
#: Values of no argument, and numbers that are out of the range of most.
WRONG: tuple[Any, ...] = (object(), b"x", 5j, -1, float("nan"))
#: Times before the first packet are such offsets; a negative time is one before 1970.
ANY_NUMBER = ("player_log_offset_s", "origin_ns")


def _functions() -> Iterator[tuple[str, Callable[..., Any], str]]:
    """Yield each argument of each function: its name, the function, and its own name."""
    for name in trafficgen.__all__:
        function = getattr(trafficgen, name)
        if inspect.isfunction(function) and not name.startswith(("register_", "following")):
            yield from ((name, function, argument) for argument in _parameters(function))


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    table = trafficgen.generate("cbr", duration_s=3)
    fitted = trafficgen.fit(CAPTURE)
    return {
        "exchanges": fitted.exchanges,
        "comparison": trafficgen.compare(table, table),
        "result": fitted,
    }


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _arguments(name: str, function: Callable[..., Any], results: dict[str, Any]) -> dict[str, Any]:
    known = NEEDED | results
    if name == "save_model":
        known["model"] = results["result"].model
    if name.startswith(("save_", "load_workload")):
        known["path"] = str(ROOT / "examples/workloads/evening.yaml") if "load" in name else "made"
    needed = [one for one in _parameters(function).values() if one.default is one.empty]
    return {one.name: known[one.name] for one in needed} | QUICK.get(name, {})


@pytest.mark.parametrize("empty", ["", "  "])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        (name, argument)
        for name, function, argument in _functions()
        if _parameters(function)[argument].kind is inspect.Parameter.KEYWORD_ONLY
    ],
)
def test_an_empty_text_is_no_option(
    name: str, argument: str, empty: str, results: dict[str, Any], own_folder: Path
) -> None:
    function = getattr(trafficgen, name)
    with pytest.raises((TypeError, ValueError), match=rf"^{name}: {argument} must "):
        function(**_arguments(name, function, results) | {argument: empty})
    assert not list(own_folder.iterdir())


@pytest.mark.parametrize(
    ("name", "argument"), [(name, argument) for name, _, argument in _functions()]
)
def test_a_wrong_value_is_named_by_its_keyword(
    name: str, argument: str, results: dict[str, Any], own_folder: Path
) -> None:
    function = getattr(trafficgen, name)
    for wrong in WRONG:
        if isinstance(wrong, float | int) and argument in ANY_NUMBER:
            continue
        given = _arguments(name, function, results) | {argument: wrong}
        with pytest.raises((TypeError, ValueError, trafficgen.TrafficgenError)) as caught:
            function(**given)
        assert re.search(rf"\b{argument}\b", str(caught.value)), wrong
        assert "\n" not in str(caught.value)
    assert not list(own_folder.iterdir())


@pytest.mark.parametrize("wrong", [5, 1.5, b"x", object(), ["made"], ""])
@pytest.mark.parametrize(
    ("name", "argument"),
    [
        (name, argument)
        for name, _, argument in _functions()
        if argument in ("out", "directory", "folder")
        or name.startswith("save_") * (argument == "path")
    ],
)
def test_nothing_is_made_by_an_output_of_another_type(
    name: str, argument: str, wrong: Any, results: dict[str, Any], own_folder: Path
) -> None:
    function = getattr(trafficgen, name)
    with pytest.raises((TypeError, ValueError), match=f"^{name}: {argument} must be a"):
        function(**_arguments(name, function, results) | {argument: wrong})
    assert not list(own_folder.iterdir())
