"""The testbed of the thesis (NIC-S1): a drop-tail router, a clip, and an earlier TCP flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import JsonValue

from trafficgen.models.published import (
    competing_tcp,
    load_entry,
    parameters_for_engine,
    with_settings,
)
from trafficgen.randomness import random_stream
from trafficgen.reproduction.nichols.session import Session
from trafficgen.simulation.run import run_scenario
from trafficgen.units import bps_from_kbps, kbps_from_bytes, ns_from_s

ENTRY = "wmedia9_nichols2004"
#: Clip rates (NIC-S2), kbit/s.
RATES_KBPS = (28, 43, 58, 109, 148, 282, 340, 548, 764, 1128)
CAPACITIES_KBPS = (250, 725, 1500)
#: Runs a point (NIC-S1).
RUNS = 3
LATENCY_S = 0.045
QUEUE_PACKETS = 80
_TCP_LEAD_S = 10.0
# Scripts start both programs by hand of a shell: the head start differs by tenths of a second from
# run to run.
_TCP_LEAD_SPREAD_S = 0.5
_LONGEST_S = 300.0
_RETURN_LINK = 1


def _tcp() -> dict[str, JsonValue]:
    return competing_tcp(load_entry(ENTRY)) or {}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One point of a figure: path, clip and competitor.

    Attributes:
        capacity_kbps: Capacity of the router towards the client.
        clip: Options of the entry, such as ``{"encoding_rate_kbps": 340}``.
        latency_s: One way, in each direction.
        queue_packets: Length of the router's queue.
        hold_in_flight: Whether delayed packets fill the queue too, as in the thesis' emulator
            (NIC-R1).
        loss: Share of packets that the router drops at random.
        loss_start_s: When it begins to, after the first media packet; None: from the beginning.
        loss_stop_s: When it stops, after the first media packet; None: never.
        tcp: Settings of the competing flow's TCP; None: no competitor.
    """

    capacity_kbps: float
    clip: Mapping[str, JsonValue] = field(default_factory=dict)
    latency_s: float = LATENCY_S
    queue_packets: int = QUEUE_PACKETS
    hold_in_flight: bool = False
    loss: float = 0.0
    loss_start_s: float | None = None
    loss_stop_s: float | None = None
    tcp: Mapping[str, JsonValue] | None = field(default_factory=_tcp)

    def links(self) -> list[dict[str, Any]]:
        """Return the links for the engine: towards the client, and back without a limit."""
        loss = None
        if self.loss > 0:
            loss = {
                "rate": self.loss,
                "mean_burst_packets": 1.0,
                "start_s": self.loss_start_s,
                "stop_s": self.loss_stop_s,
            }
        forward = {
            "name": "router",
            "capacity": {"constant": {"rate_bps": bps_from_kbps(self.capacity_kbps)}},
            "delay_s": self.latency_s,
            "queue": {"packets": self.queue_packets},
            "hold_in_flight": self.hold_in_flight,
            "loss": loss,
        }
        return [forward, {"name": "back", "capacity": None, "delay_s": self.latency_s}]


def competitor(tcp: Mapping[str, JsonValue], *, start_s: float) -> dict[str, Any]:
    """Return a bulk TCP flow as the engine takes it."""
    parameters = {"tcp": dict(tcp)}
    routes = {"forward": [0], "reverse": [_RETURN_LINK]}
    return {
        "name": "tcp",
        "kind": "bulk_tcp",
        "parameters": parameters,
        "start_s": start_s,
        **routes,
    }


def play(setting: Setting, *, seed: int, run: int = 0) -> Session:
    """Simulate one run of a point.

    Args:
        setting: The point.
        seed: Seed of the point.
        run: Number of the run.
    """
    stream = random_stream(seed, session=run, purpose="nichols")
    entry = with_settings(load_entry(ENTRY), setting.clip)
    parameters = parameters_for_engine(entry)
    media = {
        "name": "media",
        "kind": entry.mechanism.kind,
        "parameters": parameters,
        "awaited": True,
    }
    agents: list[dict[str, Any]] = [
        {**media, "start_s": 0.0, "forward": [0], "reverse": [_RETURN_LINK]}
    ]
    if setting.tcp is not None:
        lead_s = _TCP_LEAD_S + stream.uniform(-_TCP_LEAD_SPREAD_S, _TCP_LEAD_SPREAD_S)
        agents.append(competitor(setting.tcp, start_s=-lead_s))
    scenario = {
        "seed": int(stream.integers(1 << 53)),
        "links": setting.links(),
        "agents": agents,
        "end_s": _LONGEST_S,
    }
    return Session(run_scenario(scenario))


def tcp_rate_kbps(
    capacity_kbps: float, *, round_trip_s: float, start_s: float, end_s: float, seed: int
) -> float:
    """Return the rate of a TCP flow without a clip in an interval after its start.

    The emulator delays only what a rule matches, and figure 2 has one latency: it is taken as the
    round trip here. With 1000 ms in each direction no TCP of two segments at first and delayed
    acknowledgements fills 140 kbit/s in 10 s.

    Args:
        capacity_kbps: Capacity of the link.
        round_trip_s: Round-trip time without a queue.
        start_s: Start of the interval.
        end_s: End of the interval.
        seed: Seed; nothing is drawn from it.
    """
    setting = Setting(capacity_kbps=capacity_kbps, latency_s=round_trip_s / 2)
    flow = competitor(setting.tcp or {}, start_s=0.0)
    outcome = run_scenario(
        {"seed": seed, "links": setting.links(), "agents": [flow], "end_s": end_s}
    )
    received, _ = outcome.binned(
        [0], by="arrived", origin_ns=0, interval_ns=ns_from_s(1.0), bins=round(end_s)
    )
    return float(np.mean(kbps_from_bytes(1.0, 1.0) * received[round(start_s) :]))
