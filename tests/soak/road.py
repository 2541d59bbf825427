"""The whole road in a loop with random options: `make soak MINUTES=30 CAPTURES=FOLDER`.

Each run takes a capture through inspect, fit, generate, compare, convert, export, simulate
and models, in a folder of its own with its own folder for temporary files. Most runs are
done by one interpreter that lives on, some by a new process for each command. It fails on exit
codes other than 0, 1, 2, on tracebacks, on more than a line of error, on files that nobody asked
for, and where the interpreter grows.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from tests.soak.steps import Step, captures_in, run_of

ROOT = Path(__file__).resolve().parents[2]
#: One run of so many is done by new processes.
PROCESSES_EVERY = 8
#: Runs before the interpreter has loaded what there is, and seen the larger captures.
WARM_UP_RUNS = 20
#: Sizes to be had after the warm-up before they are judged.
FEWEST_SIZES = 12
#: Growth between the first and the last third that is allocators' and not a leak's.
LARGEST_GROWTH_BYTES, LARGEST_GROWTH_SHARE = 24_000_000, 0.08
#: What lives grows with what is kept for next time alone, which is bounded.
LARGEST_HEAP_GROWTH_BYTES, LARGEST_OBJECTS_GROWTH = 12_000_000, 20_000
LONGEST_STEP_S = 900.0


@dataclass
class Soak:
    """What was run, and what came of it.

    Attributes:
        codes: How often a command ended with a code.
        faults: What should not have happened, a paragraph each.
        rss_bytes: Resident memory of the interpreter after each of its runs, without the pages of
            libraries.
        open_files: Its open files after each.
        heap_bytes: What lives in its C heap after each.
        objects: Blocks of memory that live in its Python heap after each.
        runs: Runs that were done.
    """

    codes: Counter[tuple[str, int]] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    rss_bytes: list[int] = field(default_factory=list)
    open_files: list[int] = field(default_factory=list)
    heap_bytes: list[int] = field(default_factory=list)
    objects: list[int] = field(default_factory=list)
    runs: int = 0


class Worker:
    """The interpreter that lives on."""

    def __init__(self, temporary: Path) -> None:
        # Arrow's own pool, and the C library for each thread, keep what was freed there, the more
        # the larger the tables were that came by; with the system's pool, and a single one of its
        # arenas, growth is ours.
        pools = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
        environment = {**os.environ, **pools, "TMPDIR": str(temporary), "TRAFFICGEN_PROGRESS": "0"}
        self._process: subprocess.Popen[str] = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.worker"],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def do(self, step: Step, folder: Path) -> dict[str, Any]:
        """Return what came of a command; a worker that is gone or does not come back has the code
        -2.
        """
        assert self._process.stdin is not None
        answers: IO[str] | None = self._process.stdout
        assert answers is not None
        try:
            print(
                json.dumps({"arguments": step.arguments, "folder": str(folder)}),
                file=self._process.stdin,
                flush=True,
            )
        except BrokenPipeError:
            return {"code": -2, "error": "the interpreter has ended"}
        ready, _, _ = select.select([answers], [], [], LONGEST_STEP_S)
        line = answers.readline() if ready else ""
        found: dict[str, Any] = (
            json.loads(line)
            if line
            else {"code": -2, "error": "no answer, or the interpreter died"}
        )
        return found

    def close(self) -> None:
        """End it, and what it has started."""
        with self._process:  # closes both pipes, and waits
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)


def by_process(step: Step, folder: Path, temporary: Path) -> dict[str, Any]:
    """Return what came of a command in a process of its own."""
    environment = {**os.environ, "TMPDIR": str(temporary), "TRAFFICGEN_PROGRESS": "0"}
    command = [str(Path(sys.executable).parent / "trafficgen"), *step.arguments]
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LONGEST_STEP_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"code": -2, "error": f"not done after {LONGEST_STEP_S:g} s"}
    return {"code": ended.returncode, "error": ended.stderr.decode(errors="replace")[-4000:]}


def faults_of(
    step: Step, answer: dict[str, Any], folder: Path, temporary: Path, allowed: set[str]
) -> list[str]:
    """Return what is wrong with the end of a command and with what it has left."""
    code, said = answer["code"], str(answer["error"])
    lines = [
        line
        for line in said.splitlines()
        if line.strip() and not line.startswith(("warning: ", "note: "))
    ]
    found = []
    if code not in (0, 1, 2):
        found.append(f"exit code {code}")
    if code == 1 and "--fail-above" not in step.arguments:
        found.append("exit code 1 without a check")
    if "Traceback" in said:
        found.append("a traceback")
    if code == 2 and (len(lines) != 1 or not lines[0].startswith("trafficgen: ")):
        found.append(f"{len(lines)} lines of error")
    allowed |= set(step.makes)
    left = sorted(path.name for path in folder.iterdir() if path.name not in allowed)
    left += sorted(f"TMPDIR/{path.name}" for path in temporary.iterdir())
    hidden = [
        path
        for path in folder.rglob("*")
        if path.name.startswith(".") or path.name.endswith(".part")
    ]
    left += [str(path.relative_to(folder)) for path in hidden]
    found += [f"left {name}" for name in left]
    if code not in (0, 1):
        found += [
            f"failed and left {name}"
            for name in step.makes
            if (folder / name).exists() and name in _own(step)
        ]
    return found


def _own(step: Step) -> set[str]:
    """Return the names that a step alone makes: reports may be of an earlier one."""
    return {name for name in step.makes if not name.endswith(".html")}


def one_run(
    soak: Soak, worker: Worker | None, captures: list[Path], *, seed: int, room: Path
) -> None:
    """Do one run, in the interpreter that lives on or, without one, in processes."""
    folder, temporary = room / f"run{seed}", room / "tmp"
    folder.mkdir()
    allowed: set[str] = set()
    size: dict[str, Any] = {}
    for step in run_of(captures, seed=seed, folder=folder):
        answer = by_process(step, folder, temporary) if worker is None else worker.do(step, folder)
        size = answer
        soak.codes[step.arguments[0], answer["code"]] += 1
        problems = faults_of(step, answer, folder, temporary, allowed)
        if problems:
            how = "process" if worker is None else "interpreter"
            text = (
                f"seed {seed} ({how}): trafficgen {' '.join(step.arguments)}\n "
                f" {'; '.join(problems)}"
            )
            soak.faults.append(f"{text}\n  {answer['error'][-1500:]}")
        if answer["code"] == -2:
            break
    if "rss_bytes" in size:
        for kept in ("rss_bytes", "open_files", "heap_bytes", "objects"):
            getattr(soak, kept).append(size[kept])
    shutil.rmtree(folder)
    soak.runs += 1


def judged(soak: Soak, *, warm_up: int = WARM_UP_RUNS) -> list[str]:
    """Return sentences about the growth of the interpreter; those that begin with FAULT are
    faults.
    """
    sentences = []
    for what, values, most, share in (
        ("resident memory, bytes", soak.rss_bytes, LARGEST_GROWTH_BYTES, LARGEST_GROWTH_SHARE),
        ("living bytes of the C heap", soak.heap_bytes, LARGEST_HEAP_GROWTH_BYTES, 0.0),
        ("living blocks of the Python heap", soak.objects, LARGEST_OBJECTS_GROWTH, 0.0),
        ("open files", soak.open_files, 3, 0.0),
    ):
        flat = values[warm_up:]
        if len(flat) < FEWEST_SIZES:
            sentences.append(f"{what}: {len(flat)} runs after the warm-up are too few to judge")
            continue
        third = len(flat) // 3
        first, last = statistics.median(flat[:third]), statistics.median(flat[-third:])
        slope = statistics.linear_regression(range(len(flat)), flat).slope
        text = (
            f"{what}: {first:,.0f} in the first third of {len(flat)} runs, {last:,.0f} in the last;"
            f" {slope:+,.1f} a run"
        )
        grown = last - first > max(most, share * first) and slope > 0
        sentences.append(f"FAULT: {text}" if grown else text)
    return sentences


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 where nothing went wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument(
        "--captures",
        type=Path,
        default=ROOT / "examples" / "captures",
        help="folder, searched through",
    )
    parser.add_argument(
        "--largest-mb", type=float, default=20.0, help="larger captures are left out"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=None, help="end after so many runs")
    options = parser.parse_args(arguments)
    captures = captures_in(options.captures, largest_bytes=int(options.largest_mb * 1e6))
    if not captures:
        parser.error(f"no captures in {options.captures}")
    soak, end_s = Soak(), time.monotonic() + 60 * options.minutes
    with tempfile.TemporaryDirectory(prefix="trafficgen-soak-") as name:
        room = Path(name)
        (room / "tmp").mkdir()
        worker = Worker(room / "tmp")
        try:
            while time.monotonic() < end_s and soak.runs != options.runs:
                seed = options.seed + soak.runs
                alone = seed % PROCESSES_EVERY == PROCESSES_EVERY - 1
                told = len(soak.faults)
                one_run(soak, None if alone else worker, captures, seed=seed, room=room)
                for fault in soak.faults[told:]:
                    print(fault, flush=True)
                if soak.codes.total() and any(code == -2 for _, code in soak.codes):
                    break
        finally:
            worker.close()
    return _reported(soak, captures)


def _reported(soak: Soak, captures: list[Path]) -> int:
    print(f"{soak.runs} runs over {len(captures)} captures, {soak.codes.total()} commands")
    for command in sorted({command for command, _ in soak.codes}):
        codes = ", ".join(
            f"{count} x {code}"
            for (one, code), count in sorted(soak.codes.items())
            if one == command
        )
        print(f"  {command}: exit codes {codes}")
    tenths = [f"{size / 1e6:.0f}" for size in soak.rss_bytes[:: max(1, len(soak.rss_bytes) // 10)]]
    print(f"resident memory on the way, MB: {', '.join(tenths)}")
    sentences = judged(soak)
    print("\n".join(sentences))
    print(f"{len(soak.faults)} faults")
    return 1 if soak.faults or any(sentence.startswith("FAULT") for sentence in sentences) else 0


if __name__ == "__main__":
    sys.exit(main())
