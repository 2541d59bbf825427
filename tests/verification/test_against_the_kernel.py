"""Linux's own TCP beside constant-rate UDP over a token bucket, against the same path simulated.

`test_recorded_*` compares with figures of runs that were recorded once (three runs each;
`captures/lab` holds the captures and how they were made); `make kernel` runs the kernel here and
now, where network namespaces are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from tests.verification import kernel_path
from tests.verification.dumbbell import (
    Setup,
    Shares,
    mean_of,
    record_shares,
    simulated,
    simulated_bulk,
)
from tests.verification.records import RecordCheck

from trafficgen.units import kbps_from_bps

RUNS = 5
#: Of bulk flows in the kernel, a minute each.
BULK_RUNS = 3
#: Linux counts frames with their Ethernet header in a token bucket filter.
ETHERNET_BYTES = 14


def token_bucket(
    rate_bps: float,
    *,
    cc: str,
    udp_bps: float,
    packets: int | None = None,
    queue_bytes: int | None = None,
) -> Setup:
    return Setup(
        rate_bps=rate_bps,
        delay_s=0.045,
        congestion_control=cc,
        udp_bps=udp_bps,
        queue_packets=packets,
        queue_bytes=queue_bytes,
        overhead_bytes=ETHERNET_BYTES,
        token_bucket_bytes=1_600,
    )


#: Payload rates of TCP and UDP in bit/s and the UDP loss that the kernel showed: mean and standard
#: deviation of 3 runs.
RECORDED = {
    "reno on 1500 kbit/s": (
        token_bucket(1.5e6, cc="reno", udp_bps=548e3, queue_bytes=51_200),
        Shares(894e3, 543e3, 0.0041),
        0.0011,
    ),
    "cubic on 725 kbit/s": (
        token_bucket(725e3, cc="cubic", udp_bps=548e3, packets=80),
        Shares(176e3, 519e3, 0.0358),
        0.0050,
    ),
    "reno on 725 kbit/s": (
        token_bucket(725e3, cc="reno", udp_bps=340e3, packets=80),
        Shares(363e3, 332e3, 0.0048),
        0.0024,
    ),
}


@pytest.mark.parametrize("name", list(RECORDED))
def test_recorded_shares_of_the_kernel_are_met(name: str, record_check: RecordCheck) -> None:
    setup, kernel, loss_deviation = RECORDED[name]
    ours = mean_of([simulated(setup, seed=seed) for seed in range(1, RUNS + 1)])
    record_shares(name, kernel, ours, record_check, accepted="15%")
    assert ours.tcp_bps == pytest.approx(kernel.tcp_bps, rel=0.15)
    assert ours.udp_bps == pytest.approx(kernel.udp_bps, rel=0.15)
    # The mean of three runs has an error of its own.
    assert ours.udp_loss == pytest.approx(
        kernel.udp_loss, rel=0.15, abs=3 * loss_deviation / math.sqrt(3)
    )


def test_udp_above_the_capacity_starves_cubic_as_in_the_kernel() -> None:
    setup = token_bucket(250e3, cc="cubic", udp_bps=340e3, queue_bytes=10_000)
    ours = mean_of([simulated(setup, seed=seed) for seed in range(1, RUNS + 1)])
    assert ours.udp_bps == pytest.approx(238e3, rel=0.02)
    assert ours.udp_loss == pytest.approx(0.2961, rel=0.02)
    assert ours.tcp_bps < 0.04 * 250e3  # the kernel's got 2 kbit/s (0.9)


@pytest.mark.kernel
@pytest.mark.parametrize("congestion_control", ["reno", "cubic"])
def test_shares_are_within_15_percent_of_the_kernel_here_and_now(
    congestion_control: str, record_check: RecordCheck
) -> None:
    reason = kernel_path.why_not()
    if reason is not None:
        pytest.skip(reason)
    setup = token_bucket(725e3, cc=congestion_control, udp_bps=340e3, packets=80)
    runs = []
    for _ in range(RUNS):
        with kernel_path.dumbbell(rate_bps=725_000, delay_s=0.045, queue_packets=80) as names:
            runs.append(
                kernel_path.measure_shares(
                    names,
                    congestion_control=congestion_control,
                    udp_bps=setup.udp_bps,
                    payload_bytes=setup.payload_bytes,
                    head_start_s=setup.head_start_s,
                    seconds=setup.seconds,
                )
            )
    kernel = mean_of([Shares(run.tcp_bps, run.udp_bps, run.udp_loss) for run in runs])
    ours = mean_of([simulated(setup, seed=seed) for seed in range(1, RUNS + 1)])
    record_shares(
        f"{congestion_control} on 725 kbit/s, here and now",
        kernel,
        ours,
        record_check,
        accepted="15%",
    )
    assert ours.tcp_bps == pytest.approx(kernel.tcp_bps, rel=0.15)
    assert ours.udp_bps == pytest.approx(kernel.udp_bps, rel=0.15)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("controls", "packets"),
    [
        (["bbr"], 67),
        (["bbr", "bbr"], 133),
        # CUBIC's own rate in the queue of 33 packets misses by more, and is not checked.
        (["bbr", "cubic"], 33),
        pytest.param(
            ["bbr", "cubic"],
            133,
            marks=pytest.mark.xfail(
                strict=True,
                reason="in a queue of four bandwidth-delay products BBR took 4.0 Mbit/s (deviation"
                " 0.35) in the kernel and takes 4.45 here",
            ),
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else str(value),
)
def test_bbr_gets_what_it_gets_in_the_kernel_here_and_now(
    controls: Sequence[str], packets: int, record_check: RecordCheck
) -> None:
    reason = kernel_path.why_not()
    if reason is not None:
        pytest.skip(reason)
    setup = Setup(
        rate_bps=10e6,
        delay_s=0.02,
        congestion_control="bbr",
        udp_bps=0,
        queue_packets=packets,
        overhead_bytes=ETHERNET_BYTES,
        token_bucket_bytes=1_600,
        seconds=50,
    )
    times = {"head_start_s": setup.head_start_s, "seconds": setup.seconds}
    runs = []
    for _ in range(BULK_RUNS):
        with kernel_path.dumbbell(
            rate_bps=10_000_000, delay_s=setup.delay_s, queue_packets=packets
        ) as names:
            runs.append(kernel_path.measure_bulk(names, controls, **times))
    kernel = np.mean(runs, axis=0)
    ours = np.mean(
        [simulated_bulk(setup, controls, seed=seed) for seed in range(1, RUNS + 1)], axis=0
    )
    record_check(
        f"first of {' and '.join(controls)}, queue of {packets} packets, here and now",
        expected=kbps_from_bps(float(kernel[0])),
        measured=kbps_from_bps(float(ours[0])),
        unit="kbps",
        accepted="10%",
    )
    assert ours[0] == pytest.approx(kernel[0], rel=0.1)
    assert ours.sum() == pytest.approx(kernel.sum(), rel=0.1)
