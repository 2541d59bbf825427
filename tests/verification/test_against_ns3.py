"""The same dumbbell here and in ns-3: shares and loss agree. `make ns3` installs ns-3's wheel
beside and runs this.

How the set-ups were chosen, and what is known of those that do not agree, stands in
docs/explanation/simulation.md.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pytest
from tests.verification.dumbbell import Setup, Shares, mean_of, record_shares, simulated
from tests.verification.records import RecordCheck

HERE = Path(__file__).resolve().parent
PYTHON = os.environ.get("TRAFFICGEN_NS3_PYTHON")
RUNS = 8
FEWEST_RUNS = 5

pytestmark = [
    pytest.mark.ns3,
    pytest.mark.skipif(
        PYTHON is None, reason="TRAFFICGEN_NS3_PYTHON names no Python that has ns-3; see `make ns3`"
    ),
]

#: Runs in which ns-3's TCP gets less than a tenth of its median have come to a standstill after a
#: lost retransmission, which Linux and this simulation survive; they are left out, and most runs
#: must be left.
STANDSTILL = 0.1

#: What ns-3's TCP does and does not let one change, in the settings of the simulated one.
NS3_TCP = {
    "delayed_ack_timeout_ns": 200_000_000,
    "minimum_rto_above_srtt": False,
    "lost_retransmission_detection": False,
    "rack": False,
    "window_validation": False,
    "quick_acks": 0,
    "slow_start_exit": "loss",
}
#: In congestion avoidance its Reno counts acknowledgements; its CUBIC counts segments.
NS3_RENO = {**NS3_TCP, "appropriate_byte_counting": False}


def on_a_point_to_point_link(
    rate_bps: float,
    *,
    queue_packets: int,
    delay_s: float,
    udp_bps: float,
    congestion_control: str = "reno",
) -> Setup:
    """Return a set-up as ns-3 counts it: its queue leaves out the packet on the line; frames have 2
    bytes of PPP.
    """
    return Setup(
        rate_bps=rate_bps,
        delay_s=delay_s,
        queue_packets=queue_packets + 1,
        overhead_bytes=2,
        congestion_control=congestion_control,
        udp_bps=udp_bps,
        tcp=NS3_RENO if congestion_control == "reno" else NS3_TCP,
    )


SHORT_CUBIC = "1 Mbit/s on 2, short queue and path, CUBIC"
SETUPS = {
    "340 kbit/s on 725, long queue": on_a_point_to_point_link(
        725e3, queue_packets=80, delay_s=0.045, udp_bps=340e3
    ),
    "548 kbit/s on 1500": on_a_point_to_point_link(
        1.5e6, queue_packets=50, delay_s=0.045, udp_bps=548e3
    ),
    "1 Mbit/s on 2, short queue": on_a_point_to_point_link(
        2e6, queue_packets=10, delay_s=0.02, udp_bps=1e6
    ),
    "800 kbit/s on 725": on_a_point_to_point_link(
        725e3, queue_packets=20, delay_s=0.045, udp_bps=800e3
    ),
    "650 kbit/s on 725": on_a_point_to_point_link(
        725e3, queue_packets=20, delay_s=0.045, udp_bps=650e3
    ),
    "1 Mbit/s on 2, short queue and path": on_a_point_to_point_link(
        2e6, queue_packets=10, delay_s=0.005, udp_bps=1e6
    ),
    "2 Mbit/s on 4, CUBIC": on_a_point_to_point_link(
        4e6, queue_packets=40, delay_s=0.02, udp_bps=2e6, congestion_control="cubic"
    ),
    SHORT_CUBIC: on_a_point_to_point_link(
        2e6, queue_packets=10, delay_s=0.005, udp_bps=1e6, congestion_control="cubic"
    ),
}
#: Where a run loses a dozen UDP packets, it hangs on microseconds which ones a full queue turns
#: away.
LOSS_WORTH_COMPARING = 0.01
LOSSES = [
    pytest.param(
        name,
        marks=(
            [
                pytest.mark.xfail(
                    strict=True,
                    reason=(
                        "UDP loses 3.3% in ns-3 and 0.8% here: the loss jumps with a tenth of a"
                        " millisecond of delay, in both, and acknowledgements take 0.2 ms longer"
                        " in ns-3, whose link back has a rate"
                    ),
                )
            ]
            if name == SHORT_CUBIC
            else []
        ),
    )
    for name in SETUPS
]


@cache
def in_ns3(name: str) -> Shares:
    """Run a set-up in ns-3, once for all tests."""
    return run_ns3(SETUPS[name])


def run_ns3(setup: Setup) -> Shares:
    """Run ns-3 with different starts of TCP and return the means of the runs in which TCP did not
    stand still.
    """
    with tempfile.TemporaryDirectory(prefix="trafficgen-ns3-") as folder:
        file = Path(folder) / "setup.json"
        file.write_text(json.dumps({**asdict(setup), "runs": RUNS}), encoding="utf-8")
        command = [PYTHON or sys.executable, str(HERE / "ns3_dumbbell.py"), str(file)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout.splitlines()[-2])
    runs = [Shares(run["tcp_bps"], run["udp_bps"], run["udp_loss"]) for run in found]
    median_bps = statistics.median(run.tcp_bps for run in runs)
    alive = [run for run in runs if run.tcp_bps >= STANDSTILL * median_bps]
    assert len(alive) >= FEWEST_RUNS
    return mean_of(alive)


@cache
def here(name: str) -> Shares:
    """Simulate a set-up, once for all tests."""
    return simulate_runs(SETUPS[name])


def simulate_runs(setup: Setup) -> Shares:
    """Return the means of as many runs of the simulation."""
    return mean_of([simulated(setup, seed=seed) for seed in range(1, RUNS + 1)])


@pytest.mark.parametrize("name", list(SETUPS))
def test_shares_are_within_a_tenth_of_ns3(name: str, record_check: RecordCheck) -> None:
    theirs, ours = in_ns3(name), here(name)
    record_shares(name, theirs, ours, record_check, accepted="10%")
    # A starved TCP gets a few packets in a minute: it counts as a share of the link.
    assert ours.tcp_bps == pytest.approx(theirs.tcp_bps, rel=0.1, abs=0.01 * SETUPS[name].rate_bps)
    assert ours.udp_bps == pytest.approx(theirs.udp_bps, rel=0.1)


@pytest.mark.parametrize("name", LOSSES)
def test_loss_is_within_a_tenth_of_ns3(name: str, record_check: RecordCheck) -> None:
    theirs, ours = in_ns3(name), here(name)
    counts = theirs.udp_loss >= LOSS_WORTH_COMPARING
    record_check(
        f"{name}: loss of UDP",
        expected=theirs.udp_loss,
        measured=ours.udp_loss,
        unit="share",
        accepted="10%" if counts else f"both below {LOSS_WORTH_COMPARING:g}",
    )
    if counts:
        assert ours.udp_loss == pytest.approx(theirs.udp_loss, rel=0.1)
    else:
        assert ours.udp_loss < LOSS_WORTH_COMPARING


@pytest.mark.parametrize(
    ("run", "delays_ms"),
    [(run_ns3, (4.9, 5.0)), (simulate_runs, (5.05, 5.1))],
    ids=["ns-3", "here"],
)
def test_a_tenth_of_a_millisecond_doubles_the_loss_next_to_cubic_in_a_short_queue(
    run: Callable[[Setup], Shares], delays_ms: tuple[float, float]
) -> None:
    """Why that loss does not agree: a phase in which UDP meets a full queue begins there."""
    shorter, longer = (
        run(replace(SETUPS[SHORT_CUBIC], delay_s=delay_ms / 1e3)) for delay_ms in delays_ms
    )
    assert longer.udp_loss > 2 * shorter.udp_loss
