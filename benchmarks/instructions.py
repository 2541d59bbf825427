"""Instructions per packet of the Rust loops, by callgrind: other load does not change them.

``python benchmarks/instructions.py`` compares them with those in ``instructions.json`` and fails
where a loop has become slower; ``--store`` writes them there, which a commit that makes a loop
slower on purpose explains.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BASELINE = Path(__file__).with_name("instructions.json")
#: A loop may take so much more than what is stored: compilers differ by a few per cent.
TOLERANCE = 0.10
#: Loops of ``crates/trafficgen-core/examples/hot_loops.rs`` and the two numbers of packets that
#: they are run with.
LOOPS = {
    "write": (10_000, 40_000),
    "read": (10_000, 40_000),
    "order": (10_000, 40_000),
    "ranks": (9_600, 28_800),
    "simulate": (2_000, 6_000),
}


@dataclass(frozen=True)
class Counted:
    """Instructions of one loop.

    Attributes:
        loop: Its name.
        stored: What it took for a packet when the baseline was stored.
        found: What it takes now.
    """

    loop: str
    stored: float
    found: float

    @property
    def change(self) -> float:
        """Share by which it takes more than what is stored."""
        return self.found / self.stored - 1

    @property
    def is_slower(self) -> bool:
        """Whether that is more than the tolerance."""
        return self.change > TOLERANCE


def build() -> Path:
    """Build the loops as they are shipped, and return the program."""
    command = [
        "cargo",
        "build",
        "--quiet",
        "--release",
        "--package",
        "trafficgen-core",
        "--example",
        "hot_loops",
    ]
    subprocess.run(command, cwd=ROOT, check=True)
    found = subprocess.run(
        ["cargo", "metadata", "--format-version=1", "--no-deps"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return Path(json.loads(found.stdout)["target_directory"]) / "release" / "examples" / "hot_loops"


def count(program: Path, loop: str) -> float:
    """Return the instructions that a loop takes for a packet."""
    few, many = LOOPS[loop]
    with tempfile.TemporaryDirectory() as folder:
        counts = [_counted(program, loop, packets, Path(folder)) for packets in (few, many)]
    return (counts[1] - counts[0]) / (many - few)


def _counted(program: Path, loop: str, packets: int, folder: Path) -> int:
    capture = folder / "capture.pcap"
    subprocess.run([program, "write", str(packets), capture], check=True)  # what is read
    valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder / 'calls'}"]
    done = subprocess.run(
        [*valgrind, program, loop, str(packets), capture],
        check=True,
        capture_output=True,
        text=True,
    )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    assert collected, done.stderr
    return int(collected[1])


def compared(loops: list[str]) -> list[Counted]:
    """Count loops and set them beside what is stored."""
    stored = json.loads(BASELINE.read_text(encoding="utf-8"))
    program = build()
    return [Counted(loop, stored[loop], count(program, loop)) for loop in loops]


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Count the instructions that the Rust loops take for a packet."
    )
    parser.add_argument(
        "loops", nargs="*", metavar="LOOP", help=f"{', '.join(LOOPS)}; all without a name"
    )
    parser.add_argument(
        "--store", action="store_true", help="store what is counted as what is compared with"
    )
    options = parser.parse_args()
    unknown = set(options.loops) - set(LOOPS)
    if unknown:
        parser.error(f"no loop {', '.join(sorted(unknown))}; there are {', '.join(LOOPS)}")
    if shutil.which("valgrind") is None:
        parser.error("valgrind is not installed")
    if options.store:
        program = build()
        counts = {loop: round(count(program, loop), 1) for loop in LOOPS}
        BASELINE.write_text(json.dumps(counts, indent=2) + "\n", encoding="utf-8")
        return
    results = compared(options.loops or list(LOOPS))
    print(f"{'':12}{'stored':>10}{'now':>10}{'change':>9}   instructions for a packet")
    for result in results:
        verdict = "  slower" if result.is_slower else ""
        print(
            f"{result.loop:12}{result.stored:10.1f}{result.found:10.1f}"
            f"{result.change:+9.1%}{verdict}"
        )
    sys.exit(any(result.is_slower for result in results))


if __name__ == "__main__":
    main()
