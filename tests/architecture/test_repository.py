"""The repository as a whole: layers, what must not be in it, and captures that are what their table
says.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CAPTURES = ROOT / "examples" / "captures"
LARGEST_CAPTURES_BYTES = 2_000_000
#: Beginnings of paths that exist on one machine only; written apart so that this file does not hold
#: them.
PATHS_OF_A_MACHINE = re.compile(
    "|".join("/" + name + "/" for name in ("work", "home/[a-z]", "root", "Users/[a-z]"))
)


def _tracked_texts() -> dict[Path, str]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip("not a git repository")
    texts = {}
    for name in done.stdout.split("\0"):
        path = ROOT / name
        if name and path.is_file():
            content = path.read_bytes()
            if b"\0" not in content:
                texts[path] = content.decode("utf-8", errors="replace")
    return texts


def test_imports_point_down_only() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    if not command.exists():
        pytest.skip("import-linter is not installed")
    done = subprocess.run([str(command)], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_file_names_the_paths_of_one_machine() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path, text in _tracked_texts().items()
        if PATHS_OF_A_MACHINE.search(text)
    }
    assert found == set()


def test_shipped_captures_have_a_line_with_licence_and_digest() -> None:
    lines = (ROOT / "examples" / "README.md").read_text(encoding="utf-8").splitlines()
    for capture in sorted(CAPTURES.iterdir()):
        (line,) = [line for line in lines if line.startswith(f"| `captures/{capture.name}`")]
        assert "Apache-2.0" in line
        assert hashlib.sha256(capture.read_bytes()).hexdigest() in line


def test_shipped_captures_are_small() -> None:
    assert sum(path.stat().st_size for path in CAPTURES.iterdir()) < LARGEST_CAPTURES_BYTES
