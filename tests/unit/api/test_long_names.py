"""All functions that take names of files x names that no system takes: one error of one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import trafficgen

pytestmark = pytest.mark.filterwarnings("ignore::trafficgen.CaptureWarning")

CAPTURE = Path(__file__).resolve().parents[3] / "examples" / "captures"
HTTP = str(CAPTURE / "http_burst_then_paced.pcap.gz")
_BRIEF = {"duration_s": 1}

#: Function and argument -> how it gets a name.
TAKERS: dict[str, Callable[[str], object]] = {
    "inspect": trafficgen.inspect,
    "read_packets": trafficgen.read_packets,
    "measure_exchanges": trafficgen.measure_exchanges,
    "fit": trafficgen.fit,
    "fit receiver": lambda name: trafficgen.fit(HTTP, receiver=name),
    "fit player_log": lambda name: trafficgen.fit(HTTP, player_log=name),
    "fit_population": lambda name: trafficgen.fit_population([name, name]),
    "fit_same_source": lambda name: trafficgen.fit_same_source([name, name]),
    "convert": lambda name: trafficgen.convert(name, "o.csv"),
    "convert out": lambda name: trafficgen.convert(HTTP, f"{name}.csv"),
    "compare": lambda name: trafficgen.compare(name, name),
    "rank_catalogue": trafficgen.rank_catalogue,
    "generate": trafficgen.generate,
    "generate out": lambda name: trafficgen.generate("cbr", f"{name}.csv", settings=_BRIEF),
    "generate_workload": lambda name: trafficgen.generate_workload(name, "o.csv"),
    "generate_workload out": lambda name: trafficgen.generate_workload(
        "cbr", name, sessions=2, settings=_BRIEF
    ),
    "estimate_workload": lambda name: trafficgen.estimate_workload(name, "o.csv", sessions=2),
    "simulate": lambda name: trafficgen.simulate(name, path="rate=1Mbps"),
    "simulate path": lambda name: trafficgen.simulate("cbr", path=name),
    "simulate trace": lambda name: trafficgen.simulate("cbr", path=f"trace={name}"),
    "simulate compete": lambda name: trafficgen.simulate("cbr", path="rate=1Mbps", compete=[name]),
    "simulate out": lambda name: trafficgen.simulate(
        "cbr", path="rate=1Mbps", settings=_BRIEF, out=f"{name}.csv"
    ),
    "simulate_workload": lambda name: trafficgen.simulate_workload(name, path="rate=1Mbps"),
    "export": lambda name: trafficgen.export(name, to="csv", directory="o"),
    "export directory": lambda name: trafficgen.export("cbr", to="mgen", directory=name),
    "load_model": trafficgen.load_model,
    "load_workload": trafficgen.load_workload,
    "models_show": trafficgen.models_show,
    "models_diff": lambda name: trafficgen.models_diff("cbr", name),
    "explore": lambda name: trafficgen.explore(name, port=0),
    "reproduce": lambda name: trafficgen.reproduce([name]),
    "demo": trafficgen.demo,
}


@pytest.mark.parametrize("name", ["x" * 5000, "d/" * 2500, "é" * 300], ids=["long", "deep", "é"])
@pytest.mark.parametrize("taker", TAKERS)
def test_a_name_that_no_system_takes_is_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taker: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(trafficgen.TrafficgenError) as caught:
        TAKERS[taker](name)
    message = str(caught.value)
    assert message.isprintable()
    assert 0 < len(message) <= 1000
    assert not list(tmp_path.iterdir())


#: What Python names have and few systems: a byte that ends names in C, a lone surrogate, which
#: stands for a byte that is not UTF-8 or for nothing.
@pytest.mark.parametrize("number", [0xDCFF, 0xD800, 0], ids=["byte", "surrogate", "nul"])
@pytest.mark.parametrize("taker", TAKERS)
def test_a_name_with_odd_characters_is_taken_or_an_error_of_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taker: str, number: int
) -> None:
    monkeypatch.chdir(tmp_path)
    message = ""
    try:
        TAKERS[taker](f"a{chr(number)}b")
    except trafficgen.TrafficgenError as error:
        message = str(error)
    is_taken = not message
    assert is_taken == (number == 0xDCFF and bool(list(tmp_path.iterdir())))
    assert is_taken or (message.isprintable() and len(message) <= 1000)
