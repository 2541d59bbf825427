"""A command that needs an extra that is not installed says in one line how to install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long  # each starts without the extras, which takes seconds

ROOT = Path(__file__).resolve().parents[2]
CAPTURE = str(ROOT / "examples" / "captures" / "rtsp_rtp_two_streams.pcap.gz")
#: Runs the command as if packages were not installed.
_WITHOUT = """\
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split(",")))
from trafficgen.cli.entry import main
main()
"""
#: Extra -> the packages that it installs.
PACKAGES = {
    "report": "jinja2,matplotlib",
    "explore": "plotly,starlette,uvicorn",
    "cluster": "distributed,dask,fsspec",
}


def run_without(packages: str, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without the packages that are named."""
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT, packages, *arguments],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("report", ["fit", "-q", CAPTURE, "--report", "fit.html"]),
        ("report", ["compare", "-q", CAPTURE, CAPTURE, "--plots", "plots"]),
        ("report", ["reproduce", "BMW-T1.1", "--runs", "1", "--report", "rows.html"]),
        ("report", ["simulate", "cbr", "--path", "rate=1Mbps", "--report", "run.html"]),
        ("explore", ["explore", "cbr", "--no-browser", "--port", "0"]),
        (
            "cluster",
            ["generate", "cbr", "-o", "x.pcap", "--sessions", "9", "--scheduler", "tcp://[::1]:9"],
        ),
        ("cluster", ["generate", "cbr", "-o", "s3://bucket/fleet.parquet", "--sessions", "9"]),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_missing_extra_is_one_line_with_the_command(
    extra: str, arguments: list[str], tmp_path: Path
) -> None:
    done = run_without(PACKAGES[extra], *arguments, folder=tmp_path)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert f"pip install 'trafficgen-streaming[{extra}]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_core_needs_no_extra(tmp_path: Path) -> None:
    packages = ",".join(PACKAGES.values())
    for arguments in (
        ["inspect", "-q", CAPTURE],
        ["fit", "-q", CAPTURE, "-o", "model.json"],
        ["generate", "-q", "model.json", "-o", "synthetic.pcap"],
        ["compare", "-q", CAPTURE, "synthetic.pcap"],
        ["simulate", "cbr", "--path", "rate=1Mbps", "--set", "duration_s=2"],
        ["models", "show", "cbr"],
    ):
        done = run_without(packages, *arguments, folder=tmp_path)
        assert done.returncode == 0, done.stderr
