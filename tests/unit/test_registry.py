"""Things of users: registered in Python, or found by the entry points of a package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import trafficgen
from trafficgen.generation.registered_arrivals import ARRIVALS
from trafficgen.registry import pickle_registered, restore_registered
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
    assert len(blocks) == 3
    starts = ("written =", "capture =", "table =")
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


def test_the_command_line_finds_entry_points(folder: Path) -> None:
    done = run(
        *(folder, "generate", "cbr", "-o", "cbr.parquet", "--duration", "5", "--sessions", "3"),
        *("--arrivals", "regular:every_s=2"),
    )
    assert done.returncode == 0, done.stderr
    done = run(folder, "export", "cbr.parquet", "--to", "times", "-o", "out")
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "times.txt").exists()
    limit = ("--fail-above", "largest_packet=0.1")
    done = run(folder, "compare", CAPTURE, "cbr.parquet", "--json", *limit)
    assert done.returncode == 1, done.stderr
    assert '"largest_packet"' in done.stdout
    assert "largest_packet is" in done.stderr


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


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("steps:wide=2", "unexpected keyword argument 'wide'"),
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
