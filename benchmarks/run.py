"""Run all benchmarks or those named: ``python benchmarks/run.py [capture_writing] [capture_reading] [fitting] ...``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # so that the benchmarks import each other by the names that mypy knows

from benchmarks import capture_reading, capture_writing, exporting, fitting, generating, sending, simulation, starting  # noqa: E402

BENCHMARKS = {
    "capture_writing": capture_writing.run,
    "capture_reading": capture_reading.run,
    "exporting": exporting.run,
    "fitting": fitting.run,
    "generating": generating.run,
    "sending": sending.run,
    "simulation": simulation.run,
    "starting": starting.run,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure us and the peers side by side.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)}; all without a name")
    parser.add_argument("--packets", type=int, default=5_000_000, help="packets in the capture (default 5 million)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each, of which the median is printed (default 3)")
    parser.add_argument("--folder", type=Path, help="where files go (default: /dev/shm if it has room, else temporary)")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in options.names or BENCHMARKS:
        BENCHMARKS[name](packets=options.packets, runs=options.runs, folder=options.folder)


if __name__ == "__main__":
    main()
