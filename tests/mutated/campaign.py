"""Runs commands on damaged captures and other inputs: so many, or until the time is up.

``.venv/bin/python -m tests.mutated.campaign --seconds 3600``, or ``--count 100000``; what fails is
kept with the command that shows it, and so is what costs most. Commands come in rounds of a
hundred, each with random numbers of its own: what is done is kept, and the next run of a seed goes
on with the next round.
"""

from __future__ import annotations

import argparse
import gc
import heapq
import importlib
import json
import math
import pkgutil
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tests.mutated.commands import FROM, Ended, a_command, empty
from tests.mutated.damage import beginning, damaged
from tests.mutated.in_process import Task, run_in_process
from tests.mutated.other_inputs import bombs, good_inputs, other_reads, other_rounds
from tests.mutated.readers import READ

import trafficgen
from trafficgen.explore.playable_models import list_catalogue

ROOT = Path(__file__).resolve().parents[2]
#: Where captures are looked for: those that are shipped, and those of developers where they are.
FOLDERS = (
    ROOT / "examples" / "captures",
    ROOT / "tests" / "golden",
    ROOT.parent / "shared" / "captures",
)
_ENDINGS = (".pcap", ".pcapng", ".cap", ".gz", ".zst", ".xz", ".snoop", ".1")
#: How much of a capture is damaged: mostly little, so that the damage matters and much of it is
#: tried.
_MOST_BYTES = (4_000, 40_000, 40_000, 400_000)
#: What is read of a capture by a function, and by which.
_FEW_BYTES = 4_000
_CAPTURE_READERS = ("inspect", "inspect-tunnels", "packets", "exchanges")
#: What a round has of each kind; one of the commands is started as a shell starts it.
_OF_A_ROUND = {"reads": 34, "other reads": 56, "commands": 5, "other commands": 5}
_ROUND = sum(_OF_A_ROUND.values())
#: File with the command of what is kept, and what it said.
_WHAT = "what.txt"
#: How many of the slowest commands, and of those with most memory, are named and kept.
_COSTLIEST = 5


def captures(folders: tuple[Path, ...] | list[Path] = FOLDERS) -> list[Path]:
    """Return the captures in some folders."""
    found = (path for folder in folders if folder.is_dir() for path in sorted(folder.rglob("*")))
    return [path for path in found if path.suffix in _ENDINGS and path.is_file()]


def rounds(paths: list[Path], *, seed: int, folder: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield commands on damaged captures without end, each with the folder that it writes to,
    empty.
    """
    dice = random.Random(seed)
    capture, other, out = folder / "damaged.pcap", folder / "other.pcap", folder / "out"
    while True:
        path, most_bytes = dice.choice(paths), dice.choice(_MOST_BYTES)
        data = beginning(path, most_bytes)
        capture.write_bytes(damaged(data, dice))
        other.write_bytes(data if dice.random() < 0.5 else damaged(data, dice))
        empty(out)
        yield a_command(dice, capture, other, out), out


def reads(paths: list[Path], *, seed: int, folder: Path) -> Iterator[tuple[list[str], Path]]:
    """Yield reads of damaged captures without end, as :func:`rounds` yields commands."""
    dice = random.Random(seed)
    capture, out = folder / "damaged.pcap", folder / "out"
    while True:
        empty(out)
        capture.write_bytes(damaged(beginning(dice.choice(paths), _FEW_BYTES), dice))
        yield [READ, dice.choice(_CAPTURE_READERS), str(capture)], out


def tasks(paths: list[Path], seed: str, folder: Path) -> Iterator[Task]:
    """Yield the tasks of a round: reads, commands among them, and one that is started."""
    dice = random.Random(seed)
    numbers = [dice.getrandbits(32) for _ in range(4)]
    kinds = {
        "reads": reads(paths, seed=numbers[0], folder=folder),
        "other reads": other_reads(seed=numbers[1], folder=folder),
        "commands": rounds(paths, seed=numbers[2], folder=folder),
        "other commands": other_rounds(seed=numbers[3], folder=folder),
    }
    names = [name for name, count in _OF_A_ROUND.items() for _ in range(count)]
    dice.shuffle(names)
    places = [number for number, name in enumerate(names) if "commands" in name]
    since, is_started = dice.choice(places[: len(places) // 2]), False
    for number, name in enumerate(names):
        arguments, out = next(kinds[name])
        starts = not is_started and number >= since and number in places
        starts = starts and arguments[0] != "explore"  # which would not end
        is_started = is_started or starts
        yield Task(arguments, out, starts)


@dataclass
class Totals:
    """What a campaign has run so far, kept in a file."""

    file: Path
    rounds: int = 0
    failures: int = 0
    started: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    cpu_s: dict[str, float] = field(default_factory=dict)
    slowest: list[list[Any]] = field(default_factory=list)  # s, and the name of the command
    largest: list[list[Any]] = field(default_factory=list)  # bytes, and the name of the command

    @classmethod
    def read(cls, file: Path) -> Totals:
        """Return the totals of earlier runs; none where there was no run."""
        if not file.exists():
            return cls(file)
        kept = json.loads(file.read_text(encoding="utf-8"))
        return cls(file, **{**kept, "codes": Counter(kept["codes"])})

    def add(self, arguments: list[str], ended: Ended, *, started: bool) -> None:
        """Count a command that has ended."""
        self.codes[f"{arguments[0]} {ended.code}"] += 1
        self.cpu_s[arguments[0]] = self.cpu_s.get(arguments[0], 0.0) + ended.cpu_s
        self.started += started

    def add_cost(self, ended: Ended, name: str) -> set[str]:
        """Put a command among the slowest and the largest where it belongs there; return the names
        of those that do not, itself or others, any more.
        """
        before = {name, *self.costliest()}
        self.slowest = _costliest([*self.slowest, [ended.cpu_s, name]])
        self.largest = _costliest([*self.largest, [ended.memory_bytes, name]])
        return before - self.costliest()

    def costliest(self) -> set[str]:
        """Return the names of the slowest commands and of the largest."""
        return {name for _, name in (*self.slowest, *self.largest)}

    def write(self) -> None:
        """Keep them for the next run."""
        kept = {name: value for name, value in vars(self).items() if name != "file"}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(kept), encoding="utf-8")

    def lines(self) -> list[str]:
        """Return them for people."""
        return [
            f"{self.codes.total():,} commands, {self.started:,} of them as a shell starts them",
            ", ".join(f"{what}: {count:,}" for what, count in sorted(self.codes.items())),
            "processor time: "
            + ", ".join(f"{what} {spent_s:.0f} s" for what, spent_s in sorted(self.cpu_s.items())),
            f"{self.failures} failed",
            "most processor time: " + ", ".join(f"{name} {s:.1f} s" for s, name in self.slowest),
            "most memory: " + ", ".join(f"{name} {b / 1e6:.0f} MB" for b, name in self.largest),
            *(
                f"{name}: {(self.file.parent / name / _WHAT).read_text(encoding='utf-8')}".rstrip()
                for name in sorted(self.costliest())
            ),
        ]


def _costliest(costs: list[list[Any]]) -> list[list[Any]]:
    """Return the costs that are highest, of equal ones the first."""
    return heapq.nlargest(_COSTLIEST, costs, key=lambda cost: cost[0])


def import_all() -> None:
    """Import what commands need, so that those that are forked need not."""
    for module in pkgutil.walk_packages(trafficgen.__path__, "trafficgen."):
        with suppress(ImportError):  # an extra
            importlib.import_module(module.name)


def _play_round(paths: list[Path], seed: int, totals: Totals, kept: Path) -> None:
    """Run a round; keep the files of tasks that fail, and of those that cost most."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        play = partial(tasks, paths, f"{seed}/{totals.rounds}", folder)
        for number, (task, ended) in enumerate(run_in_process(play, folder / "said.txt")):
            totals.add(task.arguments, ended, started=task.starts)
            place = kept / f"{seed}-{totals.rounds}-{number}"
            if problem := ended.problem(task.out):
                totals.failures += 1
                command = _keep(folder, place, task, f"{problem}\n{ended.text}")
                print(f"{problem}: {command}\n{ended.text[-3000:]}", flush=True)
            costly = place.with_name(f"costly-{place.name}")
            no_more = totals.add_cost(ended, costly.name)
            if costly.name not in no_more:
                _keep(folder, costly, task, "")
            for other in no_more:
                shutil.rmtree(kept / other, ignore_errors=True)
    totals.rounds += 1
    totals.write()


def _keep(folder: Path, place: Path, task: Task, said: str) -> str:
    """Keep the files of a task, and what it said; return the command that repeats it there."""
    shutil.copytree(folder, place, dirs_exist_ok=True)
    command = shlex.join(task.arguments).replace(str(folder), str(place))
    command = command.replace(f" {shlex.quote(FROM)} ", f" {FROM} ")
    (place / _WHAT).write_text(f"{command}\n{said}", encoding="utf-8")
    return command


def main() -> int:
    """Return 0 when all commands ended as they should, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--count", type=int, help="commands in all, with those of earlier runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--captures",
        type=Path,
        action="append",
        help="a folder of captures, in place of the usual ones",
    )
    options = parser.parse_args()
    import_all()
    good_inputs(), bombs(), list_catalogue()  # made once
    gc.freeze()  # commands that are forked copy no pages of what is imported
    paths, began_s = captures(options.captures or FOLDERS), time.monotonic()
    kept = ROOT / "demo-results" / "mutated"
    totals = Totals.read(kept / f"totals-{options.seed}.json")
    while time.monotonic() - began_s < options.seconds:
        if options.count is not None and totals.rounds * _ROUND >= options.count:
            break
        _play_round(paths, options.seed, totals, kept)
    print(f"seed {options.seed}: damaged pieces of {len(paths)} captures, and other inputs")
    print(*totals.lines(), sep="\n")
    return 1 if totals.failures else 0


if __name__ == "__main__":
    sys.exit(main())
