"""Linux's own TCP beside constant-rate UDP over a token bucket, against the same path simulated.

Figures of runs that were recorded once (three runs each; `captures/lab` holds the captures and how
they were made). More flows, and the kernel here and now: :mod:`tests.verification.test_mixes`.
"""

from __future__ import annotations

import math

import pytest
from tests.verification.dumbbell import Setup, Shares, mean_of, record_shares, simulated
from tests.verification.records import RecordCheck

RUNS = 5
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
