"""Closed loop: the engine and ns-3 on one dumbbell, and growing numbers of players on a link."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import ROOT, Contestant, race, role, sweep, work_folder
from benchmarks.results import Race, Sweep

#: One bulk TCP flow beside 4 Mbit/s of media on a link of 10 Mbit/s, for ten minutes.
SETUP = {
    "rate_bps": 10e6,
    "delay_s": 0.02,
    "queue_packets": 100,
    "congestion_control": "reno",
    "udp_bps": 4e6,
    "payload_bytes": 1000,
    "head_start_s": 10,
    "seconds": 600,
    "runs": 1,
    # In ns-3's first run TCP comes to a standstill and leaves it a third of the work.
    "first_run": 2,
}
SESSIONS = (1, 10, 100, 1_000)
#: Where a Python with ns-3's wheel is; `make ns3` makes one.
NS3_PYTHON = Path(os.environ.get("TRAFFICGEN_NS3_PYTHON", ROOT / ".venv-ns3" / "bin" / "python"))


def results(*, packets: int, runs: int, folder: Path | None) -> Iterator[Race | Sweep]:
    """Give a race and a sweep; ``packets`` has no meaning here."""
    del packets
    with work_folder(1_000_000, folder) as work:
        setup = work / "setup.json"
        setup.write_text(json.dumps(SETUP), encoding="utf-8")
        contestants = [
            Contestant(name, role(work_name, setup, 0), 0, 0)
            for name, work_name in (
                ("trafficgen, sums of flows", "simulate_dumbbell"),
                ("trafficgen, each packet recorded", "simulate_dumbbell_packets"),
            )
        ]
        if NS3_PYTHON.exists():
            script = ROOT / "tests" / "verification" / "ns3_dumbbell.py"
            command = [str(NS3_PYTHON), str(script), str(setup)]
            contestants.append(Contestant("ns-3 3.44, sums of flows", command, 0, 0))
        ours, *peers = race(contestants, runs=runs)
    minutes = SETUP["seconds"] / 60  # type: ignore[operator]
    absent = () if peers else ("ns-3 (`make ns3` installs it)",)
    yield Race(
        f"Dumbbell, {minutes:.0f} minutes of bulk TCP beside media at 10 Mbit/s, one core",
        ours,
        peers,
        absent,
    )
    yield sweep(
        "DASH players that watch three minutes over one link, 1.5 Mbit/s for each, one core",
        "sessions",
        SESSIONS,
        lambda count: Contestant("trafficgen", role("simulate_players", "-", count), 0, 0),
        runs=runs,
    )
