"""Things of users: registered in Python, or found by the entry points of a package."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import JsonValue

import trafficgen
from trafficgen.export.targets import TARGETS
from trafficgen.generation.arrivals import ARRIVALS
from trafficgen.processes.registered.source import SOURCES
from trafficgen.registry import pickle_registered, restore_registered
from trafficgen.units import FloatArray, IntArray
from trafficgen.validation.metrics import METRICS
from trafficgen.workloads.arrivals import ArrivalsPart

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "extend-from-python.md"
CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the examples, and an installed package of the modules of the page."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 5
    starts = ("table =", "model =", "written =", "capture =", "table =")
    parts = [
        block[: block.index(f"\n{start}")] for block, start in zip(blocks, starts, strict=True)
    ]
    package = tmp_path / "site" / "mylab"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "traffic.py").write_text("\n".join(parts), encoding="utf-8")
    info = tmp_path / "site" / "mylab-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mylab\nVersion: 1\n")
    groups = re.findall(r'entry-points."(trafficgen\.\w+)"\]\n(.*)', page)
    lines = [f"[{group}]\n{line.replace(chr(34), '')}\n" for group, line in groups]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "src"), str(folder / "site")])
    start = "from trafficgen.cli.entry import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
        capture_output=True,
        text=True,
    )


def test_the_page_can_be_followed(folder: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    code = "\n".join(blocks)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_the_command_line_finds_entry_points(folder: Path) -> None:
    done = run(
        *(folder, "generate", "cbr", "-o", "cbr.parquet", "--duration", "5", "--sessions", "3"),
        *("--arrivals", "regular:every_s=2"),
    )
    assert done.returncode == 0, done.stderr
    done = run(
        *(folder, "generate", "beacon", "-o", "beacon.parquet", "--duration", "10"),
        *("--set", "every_s=2"),
    )
    assert done.returncode == 0, done.stderr
    assert len(trafficgen.read_packets(folder / "beacon.parquet")) == 15
    done = run(folder, "models", "show", "beacon")
    assert "placed by the registered source beacon" in done.stdout, done.stderr
    done = run(folder, "models", "list")
    assert "beacon  (udp; registered)" in done.stdout, done.stderr
    done = run(folder, "export", "--help")
    assert "times" in done.stdout.partition("One of:")[2].partition("[required]")[0], done.stdout
    done = run(folder, "generate", "becon", "-o", "x.parquet")
    assert "did you mean beacon?" in done.stderr
    done = run(folder, "export", "cbr.parquet", "--to", "times", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "times.txt").exists()
    limit = ("--fail-above", "largest_packet=0.1")
    done = run(folder, "compare", CAPTURE, "cbr.parquet", "--json", *limit)
    assert done.returncode == 1, done.stderr
    assert '"largest_packet"' in done.stdout
    assert "largest_packet is" in done.stderr
    done = run(folder, "fit", CAPTURE, "-o", "model.json")
    assert done.returncode == 0, done.stderr
    assert '"burr12"' in (folder / "model.json").read_text(encoding="utf-8")


def test_an_entry_point_that_cannot_be_loaded_is_one_line(folder: Path) -> None:
    (folder / "site" / "mylab" / "traffic.py").write_text("import no_such_module\n")
    done = run(folder, "generate", "-q", "cbr", "-o", "cbr.parquet", "--arrivals", "regular")
    assert done.returncode == 2
    assert "cannot be loaded from mylab.traffic (ModuleNotFoundError" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["", "1st", "a b", "a.b"])
def test_a_name_has_letters_and_digits(name: str) -> None:
    with pytest.raises(trafficgen.TrafficgenError, match="invalid name"):
        trafficgen.register_metric(name)(lambda reference, candidate: 0.0)


def test_names_of_trafficgen_are_refused() -> None:
    for name in ArrivalsPart.kinds():
        with pytest.raises(trafficgen.TrafficgenError, match="choose another name"):
            trafficgen.register_arrivals(name)(lambda *given: ())
    for name in ("gap_s", "rate", "packets"):
        with pytest.raises(trafficgen.TrafficgenError, match="choose another name"):
            trafficgen.register_metric(name)(lambda reference, candidate: 0.0)


def test_all_metrics_of_a_comparison_are_taken(tmp_path: Path) -> None:
    table = str(tmp_path / "cbr.parquet")
    trafficgen.generate("cbr", table, duration_s=20)
    metrics = trafficgen.compare(table, table).metrics
    assert set(metrics) == set(METRICS._taken)


def _divide_by_zero(reference: object, candidate: object) -> float:
    return 1 / 0


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        (_divide_by_zero, r"metric mine fails \(ZeroDivisionError: division by zero\)"),
        (lambda *tables: None, "metric mine gives None, which is not a number"),
        (lambda *tables: np.zeros(3), "metric mine gives ndarray, which is not a number"),
        (lambda *tables: "0.3", "metric mine gives '0.3', which is not a number"),
    ],
)
def test_a_metric_that_gives_no_number_is_named(metric: Any, problem: str) -> None:
    trafficgen.register_metric("mine")(metric)
    table = trafficgen.generate("cbr", duration_s=5)
    with pytest.raises(trafficgen.TrafficgenError, match=problem):
        trafficgen.compare(table, table)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("steps:wide=2", "unknown key 'wide'"),
        ("steps:from_s=-5", "negative or not finite"),
        ("steps:2", "not key=value"),
    ],
)
def test_wrong_starts_and_keys_are_refused(text: str, problem: str, tmp_path: Path) -> None:
    @trafficgen.register_arrivals("steps")
    def start(
        generator: object, sessions: int, window_s: float | None, from_s: float = 0.0
    ) -> list[float]:
        return [from_s + number for number in range(sessions)]

    with pytest.raises(trafficgen.GenerationError, match=problem):
        trafficgen.generate_workload(
            "cbr", tmp_path / "out.parquet", arrivals=text, sessions=3, duration_s=1
        )


def draw_together(generator: object, sessions: int, window_s: float | None) -> list[float]:
    return [0.0] * sessions


def test_what_is_registered_can_be_sent_to_another_process() -> None:
    trafficgen.register_arrivals("mine")(draw_together)
    trafficgen.register_arrivals("local")(lambda *given: [])
    sent = pickle_registered()
    ARRIVALS._registered.clear()
    restore_registered(sent)
    assert ARRIVALS["mine"] is draw_together
    assert ARRIVALS.module_of("mine") == __name__
    assert "local" not in ARRIVALS


def place_steadily(
    generator: np.random.Generator, duration_s: float, every_s: float = 0.5, largest: int = 200
) -> tuple[FloatArray, IntArray]:
    time_s = np.arange(0, duration_s, every_s)
    return time_s, generator.integers(100, largest, time_s.size)


@pytest.fixture
def steady() -> str:
    trafficgen.register_source("steady")(place_steadily)
    return "steady"


def test_a_source_plays_what_its_function_places(steady: str, tmp_path: Path) -> None:
    table = trafficgen.generate(steady, duration_s=10, seed=1, settings={"every_s": "0.25"})
    assert np.allclose(table.time_s, np.arange(0, 10, 0.25))
    assert np.array_equal(table.ip_bytes - table.payload_bytes, np.full(40, 28))
    same, other = (
        trafficgen.generate(steady, duration_s=10, seed=seed, settings={"every_s": 0.25})
        for seed in (1, 2)
    )
    assert np.array_equal(same.ip_bytes, table.ip_bytes)
    assert not np.array_equal(other.ip_bytes, table.ip_bytes)
    twice = trafficgen.generate(steady, duration_s=10, scale_rate=2.0)
    assert np.allclose(twice.time_s, np.arange(0, 10, 0.25))


def test_a_source_is_a_model_that_is_saved_simulated_and_played_in_fleets(
    steady: str, tmp_path: Path
) -> None:
    model, file = trafficgen.load_model(steady), tmp_path / "steady.json"
    assert isinstance(model, trafficgen.Model)
    trafficgen.save_model(model, file)
    assert trafficgen.load_model(file) == model
    with pytest.warns(trafficgen.SimulationWarning, match="ignores loss and delay"):
        result = trafficgen.simulate(file, path="rate=1Mbps,delay=10ms", duration_s=10)
    assert result.flows[0].measure.loss == 0
    (tmp_path / "fleet.yaml").write_text(
        "name: fleet\nsessions: 3\nduration: 5s\ngroups: [{model: steady(every_s=1)}]\n"
    )
    here, there = (
        trafficgen.generate_workload(tmp_path / "fleet.yaml", tmp_path / name, workers=workers)
        for name, workers in (("one.csv", 1), ("two.csv", 2))
    )
    assert here.packets == there.packets == 15
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"evry_s": 1}, r"no 'evry_s' to set \(did you mean every_s\?\); its settings are every_s"),
        ({"every_s": "often"}, "every_s=often is not a number"),
        ({"every_s": 0}, r"source steady fails \(ZeroDivisionError"),
        ({"largest": 100_000}, "sizes outside 28 to 65535 bytes"),
    ],
)
def test_wrong_settings_of_a_source_are_one_line(
    steady: str, settings: dict[str, JsonValue], problem: str
) -> None:
    with pytest.raises(trafficgen.TrafficgenError, match=problem) as caught:
        trafficgen.generate(steady, duration_s=1000, settings=settings)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("placed", "problem"),
    [
        (([0.0, 1.0], [100]), "not of one length"),
        (([-1.0], [100]), "negative or not finite"),
        (([0.0], [20]), "sizes outside"),
        ((None, None), "return times in s and sizes"),
    ],
)
def test_a_function_that_places_nonsense_is_refused(placed: tuple[Any, Any], problem: str) -> None:
    trafficgen.register_source("nonsense")(lambda generator, duration_s: placed)
    with pytest.raises(trafficgen.GenerationError, match=problem):
        trafficgen.generate("nonsense", duration_s=5)


@pytest.mark.filterwarnings("ignore::trafficgen.SimulationWarning")
def test_a_source_that_places_no_packets_is_refused() -> None:
    trafficgen.register_source("silent")(lambda generator, duration_s: ([], []))
    with pytest.raises(trafficgen.GenerationError, match="source silent places no packets in 5 s"):
        trafficgen.generate("silent", duration_s=5)
    with pytest.raises(trafficgen.GenerationError, match="source silent places no packets in 5 s"):
        trafficgen.simulate("silent", path="rate=1Mbps", duration_s=5)


def test_a_model_of_a_source_that_is_not_registered_says_so(steady: str, tmp_path: Path) -> None:
    trafficgen.save_model(trafficgen.load_model(steady), tmp_path / "steady.json")
    SOURCES._registered.clear()
    model = trafficgen.load_model(tmp_path / "steady.json")
    with pytest.raises(trafficgen.GenerationError, match="no source 'steady' is registered"):
        trafficgen.generate(model, duration_s=5)
    words = r"steady.json: plays the source 'steady', which is not registered.*run the code"
    with pytest.raises(trafficgen.ModelFileError, match=words):
        trafficgen.generate(tmp_path / "steady.json", duration_s=5)
    with pytest.raises(trafficgen.TrafficgenError, match="choose another name"):
        trafficgen.register_source("cbr")(place_steadily)


def test_a_folder_that_cannot_be_listed_is_not_an_empty_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(path: str) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)

    assert "ditg" in TARGETS
    for function in (os.listdir, os.scandir):
        monkeypatch.setattr(os, function.__name__, refuse)
    with pytest.raises(OSError, match="Too many open files"):
        list(TARGETS)
