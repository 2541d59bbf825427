"""Video and audio on 100 kbit/s, with and without rate control (LJM).

Set-up of LJM-E1 with what the paper leaves open: a link of 100 kbit/s that counts Ethernet headers,
41 ms one way, a queue of 50 packets.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from pydantic import JsonValue

from trafficgen.calibration.path.delay_trends import find_delay_trends
from trafficgen.models.published import load_entry, parameters_for_engine, with_settings
from trafficgen.reproduction.experiment import Experiment, Measures
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


def _play(options: Mapping[str, JsonValue], seed: int) -> Measures:
    """Simulate 200 s of both streams and measure all of it."""
    outcome = run_scenario(scenario(options, seed=seed))
    return {**measure_run(outcome), "verdicts_agree": share_of_verdicts_confirmed(outcome)}


def _test_independent_delays(seed: int) -> Measures:
    """Apply both trend tests to delays without a trend: what LJM-D1 expects of them.

    Averages both over 200 windows of 64 independent delays that share no packet.
    """
    delay_s = np.random.default_rng(seed).uniform(0.05, 0.15, 200 * 64)
    trends = find_delay_trends(delay_s, scales_packets=(64,), step_packets=64)
    return {"pct": trends.pct.mean(), "pdt": trends.pdt.mean()}


def _two_streams(name: str, transport: str, control: str, video_kbps: float) -> Experiment:
    options = {"traffic_transport": transport, "control": control, "video_kbps": video_kbps}
    return Experiment(name, (partial(_play, options),))


EXPERIMENTS: tuple[Experiment, ...] = (
    _two_streams("LJM TCP without control", "tcp", "off", 100.0),
    _two_streams("LJM TCP with control", "tcp", "on", 100.0),
    _two_streams("LJM UDP without control", "udp", "off", 120.0),
    _two_streams("LJM UDP with control", "udp", "on", 100.0),
    Experiment("LJM independent delays", (_test_independent_delays,)),
)
