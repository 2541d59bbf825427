"""Runs commands on damaged captures and other inputs: so many, or until the time is up.

``.venv/bin/python -m tests.mutated.campaign --seconds 3600``, or ``--count 100000``; what fails is
kept with the command that shows it. Commands come in rounds of a hundred, each with random numbers
of its own: what is done is kept, and the next run of a seed goes on with the next round.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import math
import pkgutil
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle, islice
from pathlib import Path

from tests.mutated.commands import FROM, LONGEST_S, Ended, a_command, run_in_child, split_input
from tests.mutated.damage import beginning, damaged
from tests.mutated.other_inputs import other_rounds

import trafficgen
from trafficgen.cli.app import run

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
#: Commands of a round, and how many of them are started as a shell starts them; the others are
#: forked from a process that has all imported.
_ROUND, _STARTED = 100, 2


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
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        yield a_command(dice, capture, other, out), out


def _alternate(*kinds: Iterator[tuple[list[str], Path]]) -> Iterator[tuple[list[str], Path]]:
    """Take one of each in turn: an input is written when its command is next."""
    for kind in cycle(kinds):
        yield next(kind)


def started(arguments: list[str]) -> Ended:
    """Run a command as a shell does; its memory and time are not told apart from those of
    others.
    """
    program = Path(sys.executable).with_name("trafficgen")
    words, given = split_input(arguments)
    done = subprocess.run(
        [program, *words],
        check=False,
        input=given,
        capture_output=True,
        timeout=20 * LONGEST_S,  # the machine may be busy
    )
    return Ended(words[0], done.returncode, done.stderr.decode(errors="replace"), 0, 0.0)


@dataclass
class Totals:
    """What a campaign has run so far, kept in a file."""

    file: Path
    rounds: int = 0
    failures: int = 0
    started: int = 0
    most_memory_bytes: int = 0
    longest_s: float = 0.0
    codes: Counter[str] = field(default_factory=Counter)
    cpu_s: dict[str, float] = field(default_factory=dict)

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
        self.most_memory_bytes = max(self.most_memory_bytes, ended.memory_bytes)
        self.longest_s = max(self.longest_s, ended.cpu_s)

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
            f"{self.failures} failed; most memory {self.most_memory_bytes / 1e6:.0f} MB; most"
            f" processor time {self.longest_s:.1f} s",
        ]


def _import_all() -> None:
    """Import what commands need, so that those that are forked need not."""
    for module in pkgutil.walk_packages(trafficgen.__path__, "trafficgen."):
        with suppress(ImportError):  # an extra
            importlib.import_module(module.name)


def _play_round(paths: list[Path], seed: int, totals: Totals, kept: Path) -> None:
    """Run a round of commands; keep those that fail."""
    with tempfile.TemporaryDirectory() as name:
        folder, dice = Path(name), random.Random(f"{seed}/{totals.rounds}")
        seeds = dice.getrandbits(32), dice.getrandbits(32)
        kinds = (
            rounds(paths, seed=seeds[0], folder=folder),
            other_rounds(seed=seeds[1], folder=folder),
        )
        to_start = {dice.randrange(_ROUND) for _ in range(_STARTED)}
        for number, (arguments, out) in enumerate(islice(_alternate(*kinds), _ROUND)):
            starts = number in to_start and arguments[0] != "explore"
            ended = (
                started(arguments) if starts else run_in_child(arguments, folder / "said.txt", run)
            )
            totals.add(arguments, ended, started=starts)
            if problem := ended.problem(out):
                totals.failures += 1
                place = kept / f"{seed}-{totals.rounds}-{number}"
                shutil.copytree(folder, place, dirs_exist_ok=True)
                command = shlex.join(arguments).replace(str(folder), str(place))
                command = command.replace(f" {shlex.quote(FROM)} ", f" {FROM} ")
                (place / "what.txt").write_text(
                    f"{problem}\n{command}\n{ended.text}", encoding="utf-8"
                )
                print(f"{problem}: {command}\n{ended.text[-3000:]}", flush=True)
    totals.rounds += 1
    totals.write()


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
    _import_all()
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
