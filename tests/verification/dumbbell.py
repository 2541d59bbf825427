"""Bulk TCP beside constant-rate UDP over one drop-tail queue, simulated for comparison with other
tools.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from tests.verification.records import RecordCheck

from trafficgen.simulation.run import run_scenario
from trafficgen.units import kbps_from_bps

#: IP and TCP headers with timestamps (RFC 7323), IP and UDP headers.
TCP_HEADERS_BYTES = 52
UDP_HEADERS_BYTES = 28


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A dumbbell: capacity, one-way delay, queue (packets, or bytes), link-layer bytes, and the two
    flows.

    The queue counts the packet on the line. ``tcp`` holds settings of the simulated TCP that are
    not the default.
    """

    rate_bps: float
    delay_s: float
    congestion_control: str
    udp_bps: float
    queue_packets: int | None = None
    queue_bytes: int | None = None
    overhead_bytes: int = 0
    token_bucket_bytes: int | None = None
    payload_bytes: int = 1_000
    head_start_s: int = 10
    seconds: int = 60
    tcp: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Shares:
    """Payload rates of both flows at the receiver while both run, and the loss of the UDP flow."""

    tcp_bps: float
    udp_bps: float
    udp_loss: float


def mean_of(runs: list[Shares]) -> Shares:
    """Return the mean of each quantity."""
    means = np.mean([(run.tcp_bps, run.udp_bps, run.udp_loss) for run in runs], axis=0)
    return Shares(*(float(mean) for mean in means))


def simulated(setup: Setup, *, seed: int) -> Shares:
    """Run the set-up once; the seed shifts the start of TCP a little, as no two runs of real tools
    start alike.
    """
    packet_bytes = setup.payload_bytes + UDP_HEADERS_BYTES
    udp = {
        "rate_bps": setup.udp_bps * packet_bytes / setup.payload_bytes,
        "packet_bytes": packet_bytes,
        "duration_s": setup.seconds,
    }
    tcp = {"tcp": {"congestion_control": setup.congestion_control, **setup.tcp}}
    start_s = -setup.head_start_s + 0.013 * seed
    agents = [
        {
            "name": "udp",
            "kind": "cbr",
            "parameters": udp,
            "awaited": True,
            "forward": [0],
            "reverse": [1],
        },
        {
            "name": "tcp",
            "kind": "bulk_tcp",
            "parameters": tcp,
            "start_s": start_s,
            "forward": [0],
            "reverse": [1],
        },
    ]
    links = [_bottleneck(setup), {"name": "back", "delay_s": setup.delay_s}]
    outcome = run_scenario({"seed": seed, "links": links, "agents": agents, "end_s": 1e4})
    flows = {flow["name"]: number for number, flow in enumerate(outcome.flows)}
    end_ns = setup.seconds * 10**9
    got_tcp = outcome.totals([flows["bulk"]], start_ns=0, end_ns=end_ns, media_only=True)
    got_udp = outcome.totals([flows["media"]], start_ns=0, end_ns=end_ns)
    payload_bytes = got_tcp["arrived_bytes"] - TCP_HEADERS_BYTES * got_tcp["arrived_packets"]
    return Shares(
        tcp_bps=payload_bytes * 8 / setup.seconds,
        udp_bps=got_udp["arrived_packets"] * setup.payload_bytes * 8 / setup.seconds,
        udp_loss=got_udp["dropped_packets"] / got_udp["sent_packets"],
    )


def record_shares(
    name: str, theirs: Shares, ours: Shares, record_check: RecordCheck, *, accepted: str
) -> None:
    """Note the payload rates of both flows."""
    for flow, expected, measured in (
        ("TCP", theirs.tcp_bps, ours.tcp_bps),
        ("UDP", theirs.udp_bps, ours.udp_bps),
    ):
        record_check(
            f"{name}: {flow}",
            expected=kbps_from_bps(expected),
            measured=kbps_from_bps(measured),
            unit="kbps",
            accepted=accepted,
        )


def _bottleneck(setup: Setup) -> dict[str, object]:
    capacity: dict[str, object] = {"constant": {"rate_bps": setup.rate_bps}}
    if setup.token_bucket_bytes is not None:
        capacity = {
            "token_bucket": {"rate_bps": setup.rate_bps, "burst_bytes": setup.token_bucket_bytes}
        }
    queue = (
        {"packets": setup.queue_packets}
        if setup.queue_bytes is None
        else {"bytes": setup.queue_bytes}
    )
    return {
        "name": "bottleneck",
        "capacity": capacity,
        "delay_s": setup.delay_s,
        "queue": queue,
        "overhead_bytes": setup.overhead_bytes,
    }
