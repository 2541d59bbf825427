"""Exporting a schedule to every target, beside two ways in which people write such files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Contestant, race, role, run_once, sweep, work_folder
from benchmarks.results import Race, Sweep, powers_of_ten

_MOST_PACKETS = 1_000_000
_BYTES_PER_PACKET = 2_500  # of the pcap with its frames, twice
_SMALLEST = 10_000
#: One of them writes lines, one a binary file, one frames.
_SWEPT = ("mgen", "ditg", "tcpreplay")


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give a race of the targets against a loop that formats lines, and sweeps of some of them."""
    count = min(packets, _MOST_PACKETS)
    with work_folder(count * _BYTES_PER_PACKET, folder) as work:

        def contestant(name: str, size: int) -> Contestant:
            return Contestant(
                name.replace("_", " "), role(name, work / f"{name}-{size}", size), size, size * 1000
            )

        names = [*(f"export_{name}" for name in _targets()), "lines_of_numpy"]
        ours, *peers = race(
            [contestant(name, count) for name in ("lines_of_a_loop", *names)], runs=runs
        )
        yield Race(
            f"Exporting {count:,} packets of one UDP flow",
            ours,
            peers,
            remark=(
                "ratios: how many times as fast as a row the loop is, which people write; MB are IP"
                " bytes"
            ),
        )
        for name in _SWEPT:
            sizes = powers_of_ten(_SMALLEST, count)
            yield sweep(
                f"Exporting to {name}",
                "packets",
                sizes,
                lambda size, name=name: contestant(f"export_{name}", size),  # type: ignore[misc]
            )


def _targets() -> list[str]:
    """Return the names of all targets, asked of another process so that this one stays small."""
    return run_once(
        [sys.executable, "-c", "from trafficgen.export import TARGETS; print(*TARGETS)"]
    )[2].split()
