"""Exporting a schedule of a million packets to every target, beside two ways in which people write such files."""

from __future__ import annotations

from pathlib import Path

from benchmarks.measure import Contestant, print_outcomes, race, role, work_folder

from trafficgen.export import TARGETS

_MOST_PACKETS = 1_000_000
_BYTES_PER_PACKET = 2_500  # of the pcap with its frames, twice


def run(*, packets: int, runs: int, folder: Path | None) -> None:
    """Print a table: each target, then a loop that formats lines and numpy's own writer; no target twice."""
    count = min(packets, _MOST_PACKETS)
    with work_folder(count * _BYTES_PER_PACKET, folder) as work:
        names = [*(f"export_{name}" for name in TARGETS), "lines_of_a_loop", "lines_of_numpy"]
        outcomes = race(
            [Contestant(name, role(name, work / name, count), count, count * 1000) for name in names], runs=runs
        )
    print_outcomes(f"Exporting {count} packets of one UDP flow", outcomes[-2], outcomes, absent=[])
    print("  ratios: how many times as fast as each the loop is; MB are IP bytes of the schedule")
