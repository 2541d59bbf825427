"""Run mixes of flows in ns-3 and keep what they brought: ``TRAFFICGEN_NS3_PYTHON=... python -m
tests.verification.ns3_mixes [--runs 5] [NAME ...]``.

``ns3_mixes.json`` holds the runs, which the simulation is compared with wherever the tests run.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.verification.mixes import PROBE_BPS, PROBE_BYTES, UDP_BYTES, Got, Mix
from tests.verification.runs_kept import keep_runs

HERE = Path(__file__).resolve().parent
FILE = HERE / "ns3_mixes.json"
#: Of PPP.
OVERHEAD_BYTES = 2
#: Packets; what a discipline leaves of it is its own.
LIMIT = 200
#: What ns-3's TCP does and does not let one change, in the settings of the simulated one.
NS3_TCP: Mapping[str, object] = {
    "delayed_acks": False,
    "minimum_rto_above_srtt": False,
    "lost_retransmission_detection": False,
    "rack": False,
    "window_validation": False,
    "quick_acks": 0,
}


def _mix(controls: str, *, aqm: str, round_trip_s: float, udp_bps: float) -> Mix:
    """Return flows over 10 Mbit/s."""
    return Mix(
        rate_bps=10e6,
        round_trip_s=round_trip_s,
        queue_packets=LIMIT,
        controls=tuple(controls.split()),
        udp_bps=udp_bps,
        overhead_bytes=OVERHEAD_BYTES,
        aqm=aqm,
        tcp=NS3_TCP,
    )


def _describe(controls: str, udp_bps: float) -> str:
    udp = f"{udp_bps / 1e6:g} Mbit/s of UDP" if udp_bps else ""
    return " with ".join(filter(None, (controls, udp)))


#: Each discipline with a loss-based flow next to UDP, and with UDP above the rate.
MIXES = {
    **{
        f"{aqm}: {_describe(controls, udp_bps)}, {round_trip_s * 1e3:g} ms": _mix(
            controls, aqm=aqm, round_trip_s=round_trip_s, udp_bps=udp_bps
        )
        for aqm in ("red", "pie", "codel", "fq_codel")
        for controls, round_trip_s, udp_bps in (("reno", 0.04, 3e6), ("", 0.04, 10.5e6))
    }
}


def run_mix(mix: Mix, *, runs: int) -> list[Got]:
    """Run a mix in ns-3, with different starts of the flows."""
    with tempfile.TemporaryDirectory(prefix="trafficgen-ns3-") as folder:
        file = Path(folder) / "mix.json"
        sizes = {"probe_bps": PROBE_BPS, "probe_bytes": PROBE_BYTES, "udp_bytes": UDP_BYTES}
        setup = {**dataclasses.asdict(mix), **sizes, "runs": runs}
        file.write_text(json.dumps(setup), encoding="utf-8")
        python = os.environ.get("TRAFFICGEN_NS3_PYTHON", sys.executable)
        command = [python, str(HERE / "ns3_mix.py"), str(file)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout.splitlines()[-1])
    return [Got(**{**run, "rates_bps": tuple(run["rates_bps"])}) for run in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("names", nargs="*", default=[])
    given = parser.parse_args()
    for name in given.names or MIXES:
        sys.stderr.write(f"{name}\n")
        keep_runs(given.out, name, run_mix(MIXES[name], runs=given.runs), of="ns-3 3.44")


if __name__ == "__main__":
    main()
