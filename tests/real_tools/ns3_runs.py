"""The scenario of an export, run by ns-3: by its Python wheel, and in C++ with Debian's libraries
and the wheel's.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from trafficgen.export.targets.ns3.scenario import LIBRARIES

ROOT = Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "src" / "trafficgen" / "export" / "targets" / "ns3" / "templates" / "scenario.cc"
_TIMEOUT_S = 300


@dataclass(frozen=True)
class Ran:
    """One run of a scenario.

    Attributes:
        code: Its exit code.
        rows: What it counted, by port.
        stderr: What it said.
        folder: Where its captures are.
    """

    code: int
    rows: dict[int, dict[str, str]]
    stderr: str
    folder: Path


def wheel_python() -> Path:
    """Return a Python that has ns-3's wheel, or skip the test."""
    name = os.environ.get("TRAFFICGEN_NS3_PYTHON")
    python = Path(name) if name else ROOT / ".venv-ns3" / "bin" / "python"
    if not python.exists():
        pytest.skip(
            "there is no Python with ns-3's wheel: neither .venv-ns3 nor TRAFFICGEN_NS3_PYTHON"
        )
    return python


@cache
def compiled(source: Path, generation: str, *more: str) -> Path:
    """Return a program in C++, compiled once for a generation of ns-3 (``debian``, ``wheel``), or
    skip the test; ``more`` are other sources and options of the compiler.
    """
    if shutil.which("g++") is None:
        pytest.skip("not installed: g++")
    options = _OPTIONS[generation]()
    program = Path(tempfile.mkdtemp(prefix="trafficgen-ns3-")) / source.stem
    atexit.register(shutil.rmtree, program.parent, ignore_errors=True)
    done = subprocess.run(
        ["g++", "-O0", str(source), *more, "-o", str(program), *options],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return program


def _of_debian() -> list[str]:
    if not Path("/usr/include/ns3/udp-trace-client.h").exists():
        pytest.skip("not installed: libns3-dev")
    return ["-std=c++17", *(f"-lns3-{name}" for name in LIBRARIES)]


def _of_wheel() -> list[str]:
    place = wheel_python().parents[1] / "lib"
    (package,) = place.glob("python3.*/site-packages/ns3")
    libraries = [f"-lns3.44-{name}" for name in LIBRARIES]
    return [
        "-std=c++20",
        f"-I{package}/include",
        f"-L{package}/lib64",
        f"-Wl,-rpath,{package}/lib64",
        *libraries,
    ]


_OPTIONS = {"debian": _of_debian, "wheel": _of_wheel}


def run(generation: str, export: Path, *options: str, folder: Path) -> Ran:
    """Run the scenario of an export in a folder of its own, in which its captures then are.

    Args:
        generation: ``debian``: C++ with ns-3.37; ``wheel``: C++ with ns-3.44; ``python``: the
            scenario in Python.
        export: Folder of the export.
        options: Options of the scenario, its mode among them.
        folder: Folder that is made.
    """
    if generation == "python":
        command = [str(wheel_python()), str(export / "scenario.py")]
    else:  # compiled from the template, which has no values for the link
        link = ("--rate=100000kbps", "--delay=10ms", "--queue=1000p")
        command = [str(compiled(SCENARIO, generation)), f"--folder={export}", *link]
    folder.mkdir()
    done = subprocess.run(
        [*command, *options],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
    )
    header, *lines = done.stdout.splitlines() or [""]
    rows = [dict(zip(header.split(","), line.split(","), strict=True)) for line in lines]
    return Ran(done.returncode, {int(row["port"]): row for row in rows}, done.stderr, folder)
