"""Mixes of flows over one bottleneck: what each gets, what is lost, and how long packets wait.

The same mix is simulated here, run in the kernel (:mod:`tests.verification.kernel_path`) and in
ns-3 (``ns3_mix.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from tests.verification.dumbbell import TCP_HEADERS_BYTES, UDP_HEADERS_BYTES

from trafficgen.simulation.run import run_scenario
from trafficgen.units import bytes_from_bps

#: Of a full packet.
PACKET_BYTES = 1500
#: A flow of small packets that wait as all others do, and add next to nothing.
PROBE_BYTES, PROBE_BPS = 40, 6_400.0
UDP_BYTES = 1_000
#: A time slice of Linux's scheduler on eight processors or more: so long another takes the
#: processor of a virtual machine away, and with it the timer of a token bucket.
STANDSTILL_S = 2.8e-3


@dataclass(frozen=True, kw_only=True)
class Mix:
    """Bulk flows with their congestion controls, and constant-rate UDP, over one bottleneck.

    Attributes:
        rate_bps: Of the bottleneck, bit/s.
        round_trip_s: Propagation there and back, s.
        queue_packets: What the queue holds, with the packet on the line.
        controls: Of the bulk flows over TCP.
        udp_bps: Payload of constant-rate UDP, bit/s; 0: none.
        overhead_bytes: Link-layer bytes of a packet.
        token_bucket_bytes: Size of the token bucket; None: a line.
        head_start_s: Of all flows, before what they get is counted.
        seconds: So long it is counted.
        aqm: Active queue management of the queue; None: drop-tail.
        jitter_s: Mean of what a packet takes longer each way, in hosts and on the wire, s.
        standstill_share: Of time, in which the bottleneck stands still for :data:`STANDSTILL_S` at
            once.
        tcp: Settings of the simulated TCP that are not the default.
    """

    rate_bps: float
    round_trip_s: float
    queue_packets: int
    controls: tuple[str, ...]
    udp_bps: float = 0.0
    overhead_bytes: int = 0
    token_bucket_bytes: int | None = None
    head_start_s: int = 10
    seconds: int = 60
    aqm: str | None = None
    jitter_s: float = 0.0
    standstill_share: float = 0.0
    tcp: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Got:
    """What a run brought after its head start.

    Attributes:
        rates_bps: Payload of each bulk flow, bit/s.
        udp_bps: Payload of UDP, bit/s.
        loss: Share of all packets that the bottleneck dropped.
        queueing_s: Mean wait of the probes in the queue, s.
    """

    rates_bps: tuple[float, ...]
    udp_bps: float
    loss: float
    queueing_s: float


def queue_of(rate_bps: float, round_trip_s: float, *, products: float) -> int:
    """Return so many bandwidth-delay products in full packets."""
    return round(products * bytes_from_bps(rate_bps, round_trip_s) / PACKET_BYTES)


def summarise(mix: Mix, runs: Iterable[Got]) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of each quantity: rates by congestion control, flows of
    one added up, bit/s; loss; wait, s.
    """
    rows: dict[str, list[float]] = {}
    for run in runs:
        for control in dict.fromkeys(mix.controls):
            flows = zip(mix.controls, run.rates_bps, strict=True)
            total_bps = sum(rate_bps for name, rate_bps in flows if name == control)
            rows.setdefault(control, []).append(total_bps)
        if mix.udp_bps > 0:
            rows.setdefault("udp", []).append(run.udp_bps)
        rows.setdefault("loss", []).append(run.loss)
        rows.setdefault("queueing", []).append(run.queueing_s)
    return {
        name: (float(np.mean(values)), float(np.std(values, ddof=1) if len(values) > 1 else 0.0))
        for name, values in rows.items()
    }


def _agents(mix: Mix) -> Sequence[dict[str, object]]:
    total_s = mix.head_start_s + mix.seconds
    agents: list[dict[str, object]] = []
    for name, payload_bps, payload_bytes in (
        ("probe", PROBE_BPS, PROBE_BYTES),
        ("udp", mix.udp_bps, UDP_BYTES),
    ):
        packet_bytes = payload_bytes + UDP_HEADERS_BYTES
        parameters = {
            "rate_bps": payload_bps * packet_bytes / payload_bytes,
            "packet_bytes": packet_bytes,
            "duration_s": total_s,
        }
        if payload_bps > 0:
            agents.append(
                {"name": name, "kind": "cbr", "parameters": parameters, "awaited": name == "probe"}
            )
    agents += [
        {
            "name": f"bulk-{number}",
            "kind": "bulk_tcp",
            "parameters": {
                "tcp": {"congestion_control": control, **mix.tcp},
                "start_spread_s": 0.05,
            },
        }
        for number, control in enumerate(mix.controls)
    ]
    return [agent | {"forward": [0], "reverse": [1]} for agent in agents]


def _capacity(mix: Mix, *, seed: int) -> dict[str, object]:
    if mix.standstill_share > 0:
        cycle_s = STANDSTILL_S / mix.standstill_share
        count = math.ceil(2 * (mix.head_start_s + mix.seconds) / cycle_s)
        rests_s = np.random.default_rng(seed).exponential(cycle_s - STANDSTILL_S, count)
        starts_s = np.cumsum(rests_s + STANDSTILL_S) - STANDSTILL_S
        times_s = np.column_stack([starts_s, starts_s + STANDSTILL_S]).ravel()
        rates_bps = [mix.rate_bps, *[0.0, mix.rate_bps] * count]
        return {"steps": {"times_s": [0.0, *times_s], "rates_bps": rates_bps}}
    if mix.token_bucket_bytes is not None:
        return {"token_bucket": {"rate_bps": mix.rate_bps, "burst_bytes": mix.token_bucket_bytes}}
    return {"constant": {"rate_bps": mix.rate_bps}}


def simulate_mix(mix: Mix, *, seed: int) -> Got:
    """Run a mix once; the seed shifts the starts of the bulk flows a little."""
    bottleneck: dict[str, object] = {
        "name": "bottleneck",
        "capacity": _capacity(mix, seed=seed),
        "delay_s": mix.round_trip_s / 2,
        "delay_jitter_s": mix.jitter_s,
        "queue": {"packets": mix.queue_packets},
        "overhead_bytes": mix.overhead_bytes,
    }
    if mix.aqm is not None:
        bottleneck["aqm"] = {"kind": mix.aqm}
    agents = _agents(mix)
    way = {"delay_s": mix.round_trip_s / 2, "delay_jitter_s": mix.jitter_s}
    links = [bottleneck, {"name": "back", **way}]
    outcome = run_scenario({"seed": seed, "links": links, "agents": agents, "end_s": 1e4})
    start_ns = mix.head_start_s * 10**9
    end_ns = start_ns + mix.seconds * 10**9
    first_bulk = len(agents) - len(mix.controls)
    payload_bytes = [0.0] * len(agents)
    for number, flow in enumerate(outcome.flows):
        got = outcome.totals([number], start_ns=start_ns, end_ns=end_ns, media_only=True)
        headers = TCP_HEADERS_BYTES if flow["agent"] >= first_bulk else UDP_HEADERS_BYTES
        payload_bytes[flow["agent"]] += got["arrived_bytes"] - headers * got["arrived_packets"]
    every = outcome.totals(list(range(len(outcome.flows))), start_ns=start_ns, end_ns=end_ns)
    columns, time_ns = outcome.columns, outcome.columns["time_ns"]
    probe = next(number for number, flow in enumerate(outcome.flows) if flow["agent"] == 0)
    probes = (columns["flow"] == probe) & columns["to_client"] & columns["arrived"]
    probes &= (time_ns >= start_ns) & (time_ns < end_ns)
    rates_bps = [total * 8 / mix.seconds for total in payload_bytes]
    return Got(
        rates_bps=tuple(rates_bps[first_bulk:]),
        udp_bps=rates_bps[1] if mix.udp_bps > 0 else 0.0,
        loss=every["dropped_packets"] / every["sent_packets"],
        queueing_s=float(np.mean(columns["queueing_ns"][probes])) / 1e9,
    )
