"""Runs commands on damaged captures and other inputs until the time is up; reports what failed.

``.venv/bin/python -m tests.mutated.campaign --seconds 3600``; what fails is kept with the command
that shows it.
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from tests.mutated.commands import Ended, a_command, run_in_child
from tests.mutated.damage import beginning, damaged
from tests.mutated.other_inputs import other_rounds

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
#: One command in so many is started as a shell starts it; the others are forked from a process that
#: has all imported.
_STARTED = 50


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
    done = subprocess.run(
        [program, *arguments],
        check=False,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=120,
    )
    return Ended(done.returncode, done.stderr, 0, 0.0)


def main() -> int:
    """Return 0 when all commands ended as they should, 1 otherwise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--captures",
        type=Path,
        action="append",
        help="a folder of captures, in place of the usual ones",
    )
    options = parser.parse_args()
    import pyarrow.parquet  # noqa: F401, PLC0415 - imported before the forks
    import scipy.stats  # noqa: F401, PLC0415

    from trafficgen.cli.app import run  # noqa: PLC0415 - imported before the forks

    paths = captures(options.captures or FOLDERS)
    kept = ROOT / "demo-results" / "mutated"
    began_s, codes, failures = time.monotonic(), Counter[str](), 0
    most_memory_bytes, longest = 0, (0.0, "")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = (
            rounds(paths, seed=options.seed, folder=folder),
            other_rounds(seed=options.seed, folder=folder),
        )
        for number, (arguments, out) in enumerate(_alternate(*kinds)):
            forked = number % _STARTED != 0
            ended = (
                run_in_child(arguments, folder / "said.txt", run) if forked else started(arguments)
            )
            codes[f"{arguments[0]} {ended.code}"] += 1
            most_memory_bytes = max(most_memory_bytes, ended.memory_bytes)
            longest = max(longest, (ended.cpu_s, " ".join(arguments)))
            if problem := ended.problem(out):
                failures += 1
                place = kept / f"{options.seed}-{number}"
                place.mkdir(parents=True, exist_ok=True)
                for file in (folder / "damaged.pcap", folder / "other.pcap"):
                    shutil.copy(file, place)
                shutil.copytree(folder / "damaged", place / "damaged", dirs_exist_ok=True)
                command = " ".join(arguments).replace(str(folder), str(place))
                (place / "what.txt").write_text(
                    f"{problem}\n{command}\n{ended.text}", encoding="utf-8"
                )
                print(f"{problem}: {command}\n{ended.text[-3000:]}", flush=True)
            if time.monotonic() - began_s > options.seconds:
                break
    where = (
        f"damaged pieces of {len(paths)} captures, and other inputs, in {options.seconds:.0f} s,"
        f" seed {options.seed}"
    )
    print(f"{codes.total():,} commands on {where}")
    print(", ".join(f"{what}: {count:,}" for what, count in sorted(codes.items())))
    print(
        f"{failures} failed; most memory {most_memory_bytes / 1e6:.0f} MB; most processor time"
        f" {longest[0]:.1f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
