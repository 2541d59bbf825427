"""Programs that use the package are checked against its types: they come with it, and say what is
returned.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = Path(__file__).with_name("public_api.py")


def _mypy(program: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Check a program as its author would: elsewhere, strictly, against the installed package."""
    pytest.importorskip("mypy", reason="mypy is not installed")
    arguments = [
        "--strict",
        "--config-file",
        "",
        "--cache-dir",
        str(folder / "cache"),
        "--follow-imports",
        "silent",
    ]
    command = [sys.executable, "-m", "mypy", *arguments, str(program)]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


@pytest.mark.long
def test_types_of_the_public_functions_are_seen_from_outside(elsewhere: Path) -> None:
    program = elsewhere / "program.py"
    shutil.copy(EXAMPLES, program)
    done = _mypy(program, elsewhere)
    assert done.returncode == 0, done.stdout
    program.write_text(
        "import trafficgen\n\nreveal_type(trafficgen.fit('a').model)\n", encoding="utf-8"
    )
    assert '"trafficgen.models.schema.Model"' in _mypy(program, elsewhere).stdout


def test_source_distribution_carries_the_marker_of_types(tmp_path: Path) -> None:
    """A wheel has the Python files of the same folder."""
    pytest.importorskip("maturin", reason="maturin is not installed")
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = [sys.executable, "-m", "maturin", "sdist", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        assert any(name.endswith("/src/trafficgen/py.typed") for name in content.getnames())
