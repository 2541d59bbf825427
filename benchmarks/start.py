"""Starting: the cost of ``trafficgen --help`` and of inspecting a tiny capture, and of others."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import OURS, Contestant, race, role, run_once, work_folder
from benchmarks.results import Race

_RUNS = 15


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race]:
    """Give the time from start to end; ``packets`` has no meaning here."""
    del packets
    with work_folder(1_000_000, folder) as work:
        tiny = work / "tiny.pcap"
        run_once(role("write_ours", tiny, 20))
        commands = {
            "trafficgen inspect, 20 packets": [str(OURS), "inspect", str(tiny)],
            "trafficgen --help": [str(OURS), "--help"],
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import numpy, pyarrow'": [sys.executable, "-c", "import numpy, pyarrow"],
            "python -c 'import scapy.all'": [sys.executable, "-c", "import scapy.all"],
            "tshark -r, 20 packets": ["tshark", "-r", str(tiny)],
            "tcpdump -r, 20 packets": ["tcpdump", "-r", str(tiny)],
        }
        present = {name: command for name, command in commands.items() if shutil.which(command[0])}
        ours, *peers = race(
            [Contestant(name, command, 0, 0) for name, command in present.items()],
            runs=max(runs, _RUNS),
        )
        yield Race(
            "Starting, from the shell's command to its end",
            ours,
            peers,
            sorted(set(commands) - set(present)),
        )
