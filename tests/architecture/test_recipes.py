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


def copy_the_core(to: Path) -> None:
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, to)
    shutil.copytree(ROOT / "crates", to / "crates")


def cargo(folder: Path, *arguments: str) -> str:
    """Run cargo on a copy of the core, in the folder in which the core itself is built."""
    target = {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    done = subprocess.run(
        ["cargo", *arguments],
        cwd=folder,
        env={"PYO3_PYTHON": sys.executable} | os.environ | target,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow  # it builds the tests of the core
@pytest.mark.skipif(shutil.which("cargo") is None, reason="not installed: cargo")
def test_what_is_added_to_the_core_works(tmp_path: Path) -> None:
    copy_the_core(tmp_path)
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.so"))
    follow("add-a-link-type", tmp_path)
    follow("add-a-family", tmp_path)
    command = ["test", "--quiet", "--locked", "--profile", "quick"]
    shown = cargo(tmp_path, *command, "--package", "trafficgen-core", "--lib", "every_")
    passed = re.search(r"ok\. (\d+) passed", shown)
    assert passed is not None, shown
    assert int(passed[1]) >= 5  # of every family, of every link type


def test_a_family_is_one_file_of_the_core(tmp_path: Path) -> None:
    copy_the_core(tmp_path)
    before = {file for file in tmp_path.rglob("*") if file.is_file()}
    follow("add-a-family", tmp_path)
    (added,) = {file for file in tmp_path.rglob("*") if file.is_file()} - before
    assert added.parent == tmp_path / "crates" / "trafficgen-core" / "src" / "laws"
    table = added.with_name("mod.rs").read_text(encoding="utf-8")
    assert re.findall(r".*halfnorm.*", table) == ["mod halfnorm;", "    &halfnorm::HalfNormal,"]


@pytest.mark.slow  # it builds the core
@pytest.mark.skipif(shutil.which("cargo") is None, reason="not installed: cargo")
def test_a_family_is_fitted_and_played_once_its_recipe_is_followed(copy: Path) -> None:
    copy_the_core(copy)
    follow("add-a-family", copy)
    built = copy / "built"
    command = ["rustc", "--quiet", "--locked", "--profile", "quick", "--package", "trafficgen-py"]
    cargo(copy, *command, "--lib", "--", "--emit", f"link={built}")
    (library,) = (copy / "src" / "trafficgen" / "_core").glob("*.so")
    library.unlink()
    shutil.copy(built, library)
    (copy / "use.py").write_text(
        "import numpy as np\n"
        "from trafficgen.distributions.fitting.cells import group_into_cells\n"
        "from trafficgen.distributions.fitting.families import families_of\n"
        "from trafficgen.distributions.fitting.selection import fit_candidates\n"
        "from trafficgen.models import Law\n"
        "params = {'scale': 0.1}\n"
        "law = Law(unit='s', family='halfnorm', params=params, observations=0).distribution()\n"
        "print(round(law.mean, 6), 'halfnorm' in families_of('s'))\n"
        "sample = law.sample(np.random.default_rng(1), 20000)\n"
        "cells = group_into_cells(sample, tick=1e-9, is_difference=True)\n"
        "(found,) = fit_candidates(cells, ['halfnorm'])\n"
        "print(abs(found.maximum.law.params['scale'] / 0.1 - 1) < 0.025)\n",
        encoding="utf-8",
    )
    # The mean is 0.1 * sqrt(2 / pi), the scale's relative standard error 1 / sqrt(2 n) = 0.005.
    assert run(copy, "use.py").split() == ["0.079788", "True", "True"]


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
