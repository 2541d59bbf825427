"""What help needs is little, and what it says of other parts is what they are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import trafficgen.cli.convert
import trafficgen.cli.export
from trafficgen.capture.traces import FORMATS
from trafficgen.export import TARGETS

_HEAVY = ("scipy", "pyarrow", "pandas", "rich", "matplotlib", "plotly", "jinja2", "starlette")


def test_help_names_all_targets_and_formats() -> None:
    assert tuple(TARGETS) == trafficgen.cli.export.TARGETS
    assert tuple(FORMATS) == trafficgen.cli.convert.FORMATS


@pytest.mark.parametrize("command", [["--help"], ["--version"], ["export", "--help"], ["simulate", "--help"]])
def test_help_loads_no_heavy_library(command: list[str]) -> None:
    code = (
        "import sys; from trafficgen.cli.app import run; run(sys.argv[1:]); "
        f"sys.exit(', '.join(name for name in {_HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
    assert "trafficgen" in done.stdout


def test_looking_into_a_table_loads_no_statistics(table_file: Path) -> None:
    code = (
        "import sys; from trafficgen.cli.app import run; run(['inspect', sys.argv[1]]); "
        "sys.exit(', '.join(name for name in ('scipy', 'rich', 'matplotlib') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(table_file)], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == ""
    assert "1,000 packets" in done.stdout
