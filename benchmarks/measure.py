"""Timing programs as processes of their own: median processor time and peak memory.

This module and those that import it stay small in memory: Linux counts a parent's memory into the
peak of its children.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.results import Outcome, Sweep

ROOT = Path(__file__).resolve().parents[1]
#: The command, of the environment that the benchmarks run in.
OURS = Path(sys.executable).with_name("trafficgen")
SHARED_MEMORY = Path("/dev/shm")
_KIB = 1024


@dataclass(frozen=True)
class Contestant:
    """A command to be timed.

    Its time is that of processors, of all threads and of processes that have ended: other load on
    the machine changes little of it. A command that prints ``elapsed_s=NUMBER`` as its last line is
    believed: Python's start-up is not what is measured. One that prints a line ``note=TEXT`` has
    its last run's text shown.
    """

    name: str
    command: Sequence[str]
    packets: int
    size_bytes: int
    remove: Path | None = None  # written by the command, removed after each run
    note: str = ""


def role(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a function of ``benchmarks/roles.py`` in its own process."""
    return [
        sys.executable,
        "-m",
        "benchmarks.roles",
        name,
        *(str(argument) for argument in arguments),
    ]


def scapy_role(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a function of ``scapy_roles.py`` in its own process."""
    return [
        sys.executable,
        "-m",
        "benchmarks.scapy_roles",
        name,
        *(str(argument) for argument in arguments),
    ]


def run_once(command: Sequence[str]) -> tuple[float, int, str]:
    """Return processor time in s, peak memory in bytes and standard output of a command.

    Raises:
        subprocess.CalledProcessError: If it fails.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.DEVNULL, cwd=ROOT)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed_s = usage.ru_utime + usage.ru_stime
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, list(command))
        output.seek(max(0, output.seek(0, os.SEEK_END) - 4096))
        text = output.read().decode(errors="replace")
    lines = text.splitlines()
    if lines and lines[-1].startswith("elapsed_s="):
        elapsed_s = float(lines[-1].partition("=")[2])
    return elapsed_s, usage.ru_maxrss * _KIB, text


def note_in(text: str) -> str:
    """Return the note that a command has printed, if any."""
    notes = [line.removeprefix("note=") for line in text.splitlines() if line.startswith("note=")]
    return notes[-1] if notes else ""


def race(contestants: Sequence[Contestant], *, runs: int, touched_bytes: int = 0) -> list[Outcome]:
    """Time contestants in turn; each round begins with another one, so that load hits all.

    Args:
        contestants: The contestants.
        runs: Rounds.
        touched_bytes: Memory that is used and given back before each: a virtual machine gets what
            it has not used for a while slowly from its host, and whoever needs it first would pay.
    """
    times: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    peaks = dict.fromkeys(times, 0)
    notes = {contestant.name: contestant.note for contestant in contestants}
    for first in range(runs):
        start = first % len(contestants)
        for contestant in (*contestants[start:], *contestants[:start]):
            if touched_bytes:
                run_once([sys.executable, "-c", f"b'1' * {touched_bytes}"])
            elapsed_s, peak_bytes, text = run_once(contestant.command)
            times[contestant.name].append(elapsed_s)
            peaks[contestant.name] = max(peaks[contestant.name], peak_bytes)
            notes[contestant.name] = note_in(text) or notes[contestant.name]
            if contestant.remove is not None:
                contestant.remove.unlink(missing_ok=True)
    return [
        Outcome(
            c.name,
            c.packets,
            c.size_bytes,
            statistics.median(times[c.name]),
            peaks[c.name],
            notes[c.name],
        )
        for c in contestants
    ]


def sweep(
    title: str,
    axis: Literal["packets", "sessions", "flows"],
    sizes: Sequence[int],
    contestant: Callable[[int], Contestant],
    *,
    runs: int = 1,
    remark: str = "",
) -> Sweep:
    """Time one task at growing sizes, one after the other."""
    outcomes = [race([contestant(size)], runs=runs)[0] for size in sizes]
    return Sweep(title=title, axis=axis, sizes=sizes, outcomes=outcomes, remark=remark)


@contextmanager
def work_folder(needed_bytes: int, folder: Path | None) -> Iterator[Path]:
    """Give a folder for files of ``needed_bytes`` in all, deleted afterwards."""
    # Half as much again stays free: the machine's memory is not all ours.
    free_bytes = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.is_dir() else 0
    if folder is None and 2 * free_bytes > 3 * needed_bytes:
        folder = SHARED_MEMORY
    with tempfile.TemporaryDirectory(prefix="trafficgen-benchmark-", dir=folder) as name:
        yield Path(name)


def warm(path: Path) -> None:
    """Read a file once, so that it stands in the page cache."""
    with path.open("rb", buffering=0) as stream:
        while stream.read(1 << 20):
            pass
