"""Starting: what ``trafficgen --help`` and a first look into a tiny capture cost, beside other tools."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.measure import OURS, cpu_once, role, run_once, work_folder

_RUNS = 9


def run(*, packets: int, runs: int, folder: Path | None) -> None:
    """Print the least processor time of several runs; ``packets`` has no meaning here."""
    del packets
    with work_folder(1_000_000, folder) as work:
        tiny = work / "tiny.pcap"
        run_once(role("write_ours", tiny, 20))
        ours = [str(OURS)]
        commands = {
            "trafficgen --help": [*ours, "--help"],
            "trafficgen inspect, 20 packets": [*ours, "inspect", str(tiny)],
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import numpy, pyarrow'": [sys.executable, "-c", "import numpy, pyarrow"],
            "python -c 'import scapy.all'": [sys.executable, "-c", "import scapy.all"],
            "tshark -r, 20 packets": ["tshark", "-r", str(tiny)],
            "tcpdump -r, 20 packets": ["tcpdump", "-r", str(tiny)],
        }
        print("\nStarting: user and system time, least of several runs")
        for name, command in commands.items():
            if shutil.which(command[0]) is None:
                print(f"  {name:38}  absent on this machine")
                continue
            print(f"  {name:38}{1000 * min(cpu_once(command) for _ in range(max(runs, _RUNS))):8.0f} ms")
