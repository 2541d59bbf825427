"""Each recipe in docs/recipes is followed in a copy of the sources, which is then used."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ROOT / "docs" / "recipes"
_BLOCK = re.compile(r"^```(py|rs|yaml|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def follow(recipe: str, copy: Path) -> None:
    """Make the new files of a recipe, and its changes of others, in a copy of the sources."""
    page = (RECIPES / f"{recipe}.md").read_text(encoding="utf-8")
    for kind, text in _BLOCK.findall(page):
        first, _, body = text.partition("\n")
        file = copy / first.split()[1]
        if kind != "diff":
            assert not file.exists(), f"{file} is there already"
            file.parent.mkdir(exist_ok=True)
            file.write_text(body, encoding="utf-8")
            continue
        lines = body.splitlines()
        before = "\n".join(line[1:] for line in lines if line[0] in " -")
        after = "\n".join(line[1:] for line in lines if line[0] in " +")
        content = file.read_text(encoding="utf-8")
        assert content.count(before) == 1, f"{first[4:]} has not just one {before!r}"
        file.write_text(content.replace(before, after), encoding="utf-8")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a copy of the package."""
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__", "*.so")
    )
    for library in (ROOT / "src" / "trafficgen" / "_core").glob("*.so"):
        (tmp_path / "src" / "trafficgen" / "_core" / library.name).symlink_to(library)
    return tmp_path


def run(copy: Path, *arguments: str) -> str:
    """Run Python on the copy, and return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy / "src")},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def trafficgen(copy: Path, *arguments: str) -> str:
    """Run a command of the copy, and return what it prints."""
    start = "from trafficgen.cli.entry import main; main()"
    return run(copy, "-c", start, *arguments)


def test_an_exporter_is_one_module(copy: Path) -> None:
    follow("add-an-exporter", copy)
    trafficgen(copy, "generate", "-q", "cbr", "-o", "cbr.parquet", "--duration", "1")
    shown = trafficgen(
        copy, "export", "cbr.parquet", "--to", "example", "-o", "out", "--set", "destination=::1"
    )
    assert "flow0.example" in shown
    lines = (copy / "out" / "flow0.example").read_text(encoding="utf-8").splitlines()
    assert lines[:2] == ["TO ::1", "0.000 972"]
    assert "example --listen" in (copy / "out" / "README.md").read_text(encoding="utf-8")


def test_a_published_source_is_one_data_file(copy: Path) -> None:
    follow("add-a-published-source", copy)
    assert "voice_example2026" in trafficgen(copy, "models", "list")
    assert "Table 2" in trafficgen(copy, "models", "show", "voice_example2026")
    setting = ("--set", "duration_s=10")
    trafficgen(copy, "generate", "voice_example2026", "-o", "call.parquet", *setting)
    assert '"packets": 500' in trafficgen(copy, "inspect", "call.parquet", "--json")


def test_a_trace_format_is_one_module(copy: Path) -> None:
    follow("add-a-trace-format", copy)
    (copy / "log.txt").write_text("EXAMPLE 0 100\nEXAMPLE 20.5 200\n", encoding="utf-8")
    trafficgen(copy, "convert", "log.txt", "-o", "log.parquet")
    assert '"packets": 2' in trafficgen(copy, "inspect", "log.parquet", "--json")


def test_a_link_type_is_one_entry_of_a_table(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    follow("add-a-link-type", tmp_path)
    text = (tmp_path / "crates/trafficgen-core/src/packet/link.rs").read_text(encoding="utf-8")
    assert text.count("LinkHeader {\n        number: 138,") == 1


@pytest.mark.slow  # it builds the tests of the core
@pytest.mark.skipif(shutil.which("cargo") is None, reason="not installed: cargo")
def test_what_is_added_to_the_core_works(tmp_path: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("crates", "src"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("*.so"))
    follow("add-a-link-type", tmp_path)
    follow("add-a-family", tmp_path)
    command = ["cargo", "test", "--quiet", "--locked", "--profile", "quick"]
    command += ["--package", "trafficgen-core", "--lib", "every_"]
    target = {"CARGO_TARGET_DIR": str(ROOT / "target")}
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | target, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"ok\. (\d+) passed", done.stdout)
    assert passed is not None, done.stdout
    assert int(passed[1]) >= 3  # of every family, of every link type


def test_a_family_is_a_file_in_the_core_and_a_distribution(copy: Path) -> None:
    shutil.copytree(ROOT / "crates", copy / "crates")
    follow("add-a-family", copy)
    (copy / "use.py").write_text(
        "from trafficgen.distributions.fitting.families import families_of\n"
        "from trafficgen.models import Law\n"
        "params = {'scale': 0.1}\n"
        "law = Law(unit='s', family='halfnorm', params=params, observations=0)\n"
        "print(round(law.distribution().mean, 3), 'halfnorm' in families_of('s'))\n",
        encoding="utf-8",
    )
    assert run(copy, "use.py").split() == ["0.08", "True"]


def test_a_process_is_one_folder(copy: Path) -> None:
    follow("add-a-process", copy)
    (copy / "fit.py").write_text(
        "import numpy as np\n"
        "from trafficgen.calibration import process_choice\n"
        "from trafficgen.models import Phase\n"
        "from trafficgen.processes.base import Span, playable\n"
        "from trafficgen.processes.fitting import LawFitter, PhasePackets\n"
        "packets = PhasePackets(\n"
        "    time_ns=np.arange(100) * 20_000_000, ip_bytes=np.full(100, 200),\n"
        "    span_ns=(0, 2_000_000_000), tick_s=1e-6, threshold_s=None)\n"
        "fit = LawFitter(lambda name: np.random.default_rng(1), 1e-6)\n"
        "found = process_choice.PROPOSALS[0].propose(packets, fit).process\n"
        "phase = {'name': 'playout', 'start_s': 0, 'duration_s': 2, 'rate_bps': 8e4}\n"
        "read = Phase.model_validate(phase | {'process': found.model_dump()}).process\n"
        "played = playable(read).play(Span(0.0, 0.99), lambda name: np.random.default_rng(1))\n"
        "print(read.describe(), round(read.period_s, 3), played.time_s.size, played.ip_bytes[0])\n",
        encoding="utf-8",
    )
    assert run(copy, "fit.py").split() == ["a", "packet", "every", "20", "ms", "0.02", "50", "200"]


def test_recipes_for_one_place_change_no_file_that_is_there() -> None:
    for recipe in ("add-an-exporter", "add-a-published-source", "add-a-process"):
        page = (RECIPES / f"{recipe}.md").read_text(encoding="utf-8")
        made = [text.split()[1] for kind, text in _BLOCK.findall(page)]
        assert "diff" not in [kind for kind, _ in _BLOCK.findall(page)]
        assert len({Path(name).parent for name in made}) == 1
