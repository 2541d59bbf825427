"""The same dumbbell here and in ns-3: shares and loss agree. `make ns3` installs ns-3's wheel beside and runs this."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from tests.verification.dumbbell import Setup, Shares, mean_of, simulated

HERE = Path(__file__).resolve().parent
PYTHON = os.environ.get("TRAFFICGEN_NS3_PYTHON")
RUNS = 8
FEWEST_RUNS = 5

pytestmark = [
    pytest.mark.ns3,
    pytest.mark.skipif(PYTHON is None, reason="TRAFFICGEN_NS3_PYTHON names no Python that has ns-3; see `make ns3`"),
]

#: Runs in which ns-3's TCP gets less than a tenth of its median have come to a standstill after a lost retransmission,
#: which Linux and this simulation survive; they are left out, and most runs must be left.
STANDSTILL = 0.1


def on_a_point_to_point_link(
    rate_bps: float, *, queue_packets: int, delay_s: float, udp_bps: float, congestion_control: str = "reno"
) -> Setup:
    # A point-to-point frame of ns-3 has a PPP header of two bytes.
    return Setup(
        rate_bps=rate_bps,
        delay_s=delay_s,
        queue_packets=queue_packets,
        overhead_bytes=2,
        congestion_control=congestion_control,
        udp_bps=udp_bps,
    )


SETUPS = {
    "340 kbit/s on 725, long queue": on_a_point_to_point_link(725e3, queue_packets=80, delay_s=0.045, udp_bps=340e3),
    "548 kbit/s on 1500": on_a_point_to_point_link(1.5e6, queue_packets=50, delay_s=0.045, udp_bps=548e3),
    "1 Mbit/s on 2, short queue": on_a_point_to_point_link(2e6, queue_packets=10, delay_s=0.02, udp_bps=1e6),
    "800 kbit/s on 725": on_a_point_to_point_link(725e3, queue_packets=20, delay_s=0.045, udp_bps=800e3),
}
#: Where a run loses a dozen UDP packets, it hangs on microseconds which ones a full queue turns away.
LOSS_WORTH_COMPARING = 0.01


def in_ns3(setup: Setup, folder: Path) -> list[Shares]:
    """Run ns-3 with different starts of TCP."""
    file = folder / "setup.json"
    file.write_text(json.dumps({**asdict(setup), "runs": RUNS}), encoding="utf-8")
    ran = subprocess.run(
        [PYTHON or sys.executable, str(HERE / "ns3_dumbbell.py"), str(file)], check=True, capture_output=True, text=True
    )
    found = json.loads(ran.stdout.splitlines()[-2])
    runs = [Shares(run["tcp_bps"], run["udp_bps"], run["udp_loss"]) for run in found]
    median_bps = statistics.median(run.tcp_bps for run in runs)
    alive = [run for run in runs if run.tcp_bps >= STANDSTILL * median_bps]
    assert len(alive) >= FEWEST_RUNS
    return alive


@pytest.mark.parametrize("name", list(SETUPS))
def test_shares_and_loss_are_within_a_tenth_of_ns3(name: str, tmp_path: Path) -> None:
    setup = SETUPS[name]
    theirs = mean_of(in_ns3(setup, tmp_path))
    ours = mean_of([simulated(setup, seed=seed) for seed in range(1, RUNS + 1)])
    # A starved TCP gets a few packets in a minute: it counts as a share of the link.
    assert ours.tcp_bps == pytest.approx(theirs.tcp_bps, rel=0.1, abs=0.01 * setup.rate_bps)
    assert ours.udp_bps == pytest.approx(theirs.udp_bps, rel=0.1)
    if theirs.udp_loss >= LOSS_WORTH_COMPARING:
        assert ours.udp_loss == pytest.approx(theirs.udp_loss, rel=0.1)
    else:
        assert ours.udp_loss < LOSS_WORTH_COMPARING
