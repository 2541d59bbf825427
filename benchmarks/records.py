"""Results kept in ``docs/benchmarks``, with the machine and the commit they were measured on."""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from benchmarks.results import Race, Sweep

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "docs" / "benchmarks"
_DIGITS = 4
_BYTES_IN_GB = 1_000_000_000


def write_record(name: str, results: Sequence[Race | Sweep], *, command: str) -> Path:
    """Write the results of a benchmark, one row a line, and return the file."""
    record = {
        "command": command,
        "version": version("trafficgen-streaming"),
        "commit": _commit(),
        "machine": _machine(),
        "load": os.getloadavg()[-1],
        "races": [result.to_json() for result in results if isinstance(result, Race)],
        "sweeps": [result.to_json() for result in results if isinstance(result, Sweep)],
    }
    RECORDS.mkdir(exist_ok=True)
    path = RECORDS / f"{name}.json"
    path.write_text(
        json.dumps(_in_json(record), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return path


def _in_json(value: object) -> object:
    """Return a value with numbers of a few digits, and null for those that are none."""
    if isinstance(value, dict):
        return {key: _in_json(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_in_json(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value


def _commit() -> str:
    """Return the commit that is checked out; a word says whether it was changed."""

    def said(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    changed = said("status", "--porcelain", "--untracked-files=no", "--", ":!docs/benchmarks")
    return said("rev-parse", "--short=10", "HEAD") + (", changed" if changed else "")


def _machine() -> str:
    """Return processor, memory and systems, and no name by which the machine is known."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _BYTES_IN_GB
    return (
        f"{os.cpu_count()} processors ({_processor()}), {memory_gb:.0f} GB of memory,"
        f" {platform.system()} {platform.release().partition('-')[0]}, Python"
        f" {platform.python_version()}"
    )


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text(encoding="utf-8").splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
