"""Video and audio on 100 kbit/s, with and without rate control (LJM).

Set-up of LJM-E1 with what the paper leaves open: a link of 100 kbit/s that counts Ethernet headers,
41 ms one way, a queue of 50 packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from pydantic import JsonValue

from trafficgen._core import SimulationOutcome
from trafficgen.calibration.path.delay_trends import find_delay_trends
from trafficgen.models.published import load_entry, parameters_for_engine, with_settings
from trafficgen.reproduction.experiment import Experiment
from trafficgen.reproduction.latecki.measures import ENTRY, measure_run, share_of_verdicts_confirmed
from trafficgen.simulation.run import run_scenario

#: The tight link; nothing else is on it.
_LINK: dict[str, Any] = {
    "capacity": {"constant": {"rate_bps": 100_000.0}},
    "delay_s": 0.041,
    "queue": {"packets": 50},
    "overhead_bytes": 14,
}
_END_S = 240.0


def scenario(options: Mapping[str, JsonValue], *, seed: int) -> dict[str, Any]:
    """Return the paper's set-up as the engine reads it.

    Args:
        options: Options of the entry, such as ``{"traffic_transport": "tcp", "control": "off"}``.
        seed: Seed of the simulation.
    """
    agent = {
        "name": "media",
        "kind": "twostream",
        "parameters": parameters_for_engine(with_settings(load_entry(ENTRY), options)),
        "awaited": True,
        "forward": [0],
        "reverse": [1],
    }
    links = [{"name": "forward", **_LINK}, {"name": "reverse", **_LINK}]
    return {"seed": seed, "links": links, "agents": [agent], "run_on_s": 2.0, "end_s": _END_S}


@dataclass(frozen=True)
class TwoStreamRun(Experiment):
    """200 s of both streams in one of the set-ups of the paper."""

    name: str
    traffic_transport: Literal["udp", "tcp"]
    control: Literal["on", "off"]
    video_kbps: float

    def play(self, *, seed: int) -> SimulationOutcome:
        """Simulate the session."""
        options: dict[str, JsonValue] = {
            "traffic_transport": self.traffic_transport,
            "control": self.control,
            "video_kbps": self.video_kbps,
        }
        return run_scenario(scenario(options, seed=seed))

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate the session and measure all of it."""
        outcome = self.play(seed=seed)
        return {**measure_run(outcome), "verdicts_agree": share_of_verdicts_confirmed(outcome)}


@dataclass(frozen=True)
class IndependentDelays(Experiment):
    """Both trend tests on delays without any trend: what LJM-D1 expects of them."""

    name: str

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Average both tests over 200 windows of 64 independent delays that share no packet."""
        delay_s = np.random.default_rng(seed).uniform(0.05, 0.15, 200 * 64)
        trends = find_delay_trends(delay_s, scales_packets=(64,), step_packets=64)
        return {"pct": float(trends.pct.mean()), "pdt": float(trends.pdt.mean())}


EXPERIMENTS: tuple[Experiment, ...] = (
    TwoStreamRun("LJM TCP without control", "tcp", "off", 100.0),
    TwoStreamRun("LJM TCP with control", "tcp", "on", 100.0),
    TwoStreamRun("LJM UDP without control", "udp", "off", 120.0),
    TwoStreamRun("LJM UDP with control", "udp", "on", 100.0),
    IndependentDelays("LJM independent delays"),
)
