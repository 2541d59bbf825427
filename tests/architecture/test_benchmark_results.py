"""The records behind "How fast" are those of benchmarks that there are."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import benchmark_pages

ROOT = Path(__file__).resolve().parents[2]


def test_every_benchmark_has_its_record() -> None:
    code = (
        "import sys; sys.path.insert(0, '.'); from benchmarks.run import BENCHMARKS;"
        " print(*BENCHMARKS)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == set(benchmark_pages.PARTS)
    assert list(benchmark_pages.records()) == list(benchmark_pages.PARTS), (
        "run `make bench-results`"
    )


@pytest.mark.parametrize("name", benchmark_pages.PARTS)
def test_a_record_says_where_and_by_what_it_was_made(name: str) -> None:
    record = benchmark_pages.records()[name]
    assert record["command"].startswith(f"python benchmarks/run.py {name} ")
    assert "processors" in record["machine"]
    assert record["commit"]
    assert record["races"] or record["sweeps"]


def test_the_drawing_is_that_of_the_records(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    benchmark_pages.draw_picture(drawn)
    kept = ROOT / benchmark_pages.PICTURE
    assert _without_ids(drawn) == _without_ids(kept), "run `make docs`"


def _without_ids(drawing: Path) -> str:
    """Return a drawing without the ids of clips: they hash the last bits, which processors vary."""
    return re.sub(r"\bp[0-9a-f]{10}\b", "clip", drawing.read_text())
