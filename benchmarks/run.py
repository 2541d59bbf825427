"""Run all benchmarks or some: ``python benchmarks/run.py [ingest] [fit] [simulate] ...``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(
    0, str(ROOT)
)  # so that the benchmarks import each other by the names that mypy knows

from benchmarks.records import write_record  # noqa: E402
from benchmarks.results import Race, Sweep  # noqa: E402

from benchmarks import export, fit, generate, ingest, merge, simulate, start, write  # noqa: E402


class Benchmark(Protocol):
    """Measures, and gives each result when it is there."""

    def __call__(self, *, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
        """Give the results.

        Args:
            packets: Packets of the largest input.
            runs: Runs of each contestant, of which the median is taken.
            folder: Where files go; None: memory, or the disk where it has no room.
        """
        ...


BENCHMARKS: dict[str, Benchmark] = {
    "ingest": ingest.results,
    "fit": fit.results,
    "simulate": simulate.results,
    "generate": generate.results,
    "write": write.results,
    "export": export.results,
    "merge": merge.results,
    "start": start.results,
}
#: Prints figures of another kind.
SEND = "send"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure us and the peers side by side.")
    names = (*BENCHMARKS, SEND)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"{', '.join(names)}; all without a name"
    )
    parser.add_argument(
        "--packets",
        type=int,
        default=5_000_000,
        help="packets of the largest input (default 5 million)",
    )
    parser.add_argument(
        "--runs",
        type=int,
        default=3,
        help="runs of each, of which the median is printed (default 3)",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        help="where files go (default: /dev/shm if it has room, else temporary)",
    )
    parser.add_argument(
        "--record", action="store_true", help="keep the results for the documentation"
    )
    options = parser.parse_args()
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    for name in options.names or names:
        if name == SEND:
            # Imported here, since its memory would count for the others.
            from benchmarks import send  # noqa: PLC0415

            send.run(options.runs)
            continue
        results = []
        for result in BENCHMARKS[name](
            packets=options.packets, runs=options.runs, folder=options.folder
        ):
            result.show()
            results.append(result)
        if options.record:
            command = (
                f"python benchmarks/run.py {name} --packets {options.packets} --runs {options.runs}"
            )
            print(f"\nkept in {write_record(name, results, command=command).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
