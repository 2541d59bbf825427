"""Closed loop: the engine beside ns-3 on one dumbbell, and a thousand sessions over one link."""

from __future__ import annotations

import json
import os
from pathlib import Path

from benchmarks.measure import ROOT, Contestant, race, role, run_once, work_folder

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
}
SESSIONS = 1_000
#: Where a Python with ns-3's wheel is; `make ns3` makes one.
NS3_PYTHON = Path(os.environ.get("TRAFFICGEN_NS3_PYTHON", ROOT / ".venv-ns3" / "bin" / "python"))


def run(*, packets: int, runs: int, folder: Path | None) -> None:
    """Print both tables; ``packets`` has no meaning here."""
    del packets
    with work_folder(1_000_000, folder) as work:
        setup = work / "setup.json"
        setup.write_text(json.dumps(SETUP), encoding="utf-8")
        contestants = [Contestant("trafficgen", role("simulate_dumbbell", setup, 0), 0, 0)]
        if NS3_PYTHON.exists():
            script = ROOT / "tests" / "verification" / "ns3_dumbbell.py"
            contestants.append(Contestant("ns-3", [str(NS3_PYTHON), str(script), str(setup)], 0, 0))
        outcomes = race(contestants, runs=runs)
    minutes = SETUP["seconds"] / 60  # type: ignore[operator]
    print(f"\nDumbbell, {minutes:.0f} minutes of bulk TCP beside media at 10 Mbit/s, one core")
    for outcome in outcomes:
        ratio = outcome.time_s / outcomes[0].time_s
        figures = f"{outcome.time_s:8.3f} s{ratio:8.1f} x ours{outcome.peak_bytes / 1e6:9.0f} MB"
        print(f"  {outcome.name:14}{figures}  {outcome.note}".rstrip())
    if len(outcomes) == 1:
        print("  ns-3          absent; `make ns3` installs it")
    elapsed_s, peak_bytes, text = run_once(role("simulate_sessions", "-", SESSIONS))
    note = next((line[5:] for line in text.splitlines() if line.startswith("note=")), "")
    print(f"\n{SESSIONS} sessions of three minutes over one link: {elapsed_s:.1f} s, {peak_bytes / 1e6:.0f} MB  {note}")
