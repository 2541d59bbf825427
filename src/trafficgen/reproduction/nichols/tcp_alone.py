"""A bulk TCP flow without a clip."""

from __future__ import annotations

import numpy as np

from trafficgen.reproduction.nichols.testbed import Setting, competitor
from trafficgen.simulation import run_scenario
from trafficgen.units import FloatArray, kbps_from_bytes, ns_from_s

_START_S, _END_S = 10.0, 15.0


def tcp_rate_kbps(capacity_kbps: float, *, round_trip_s: float, seed: int) -> float:
    """Return the rate of a TCP flow from 10 to 15 s after its start; see :func:`tcp_rates_kbps`."""
    return float(
        np.mean(
            tcp_rates_kbps(capacity_kbps, round_trip_s=round_trip_s, seed=seed)[round(_START_S) :]
        )
    )


def tcp_rates_kbps(capacity_kbps: float, *, round_trip_s: float, seed: int) -> FloatArray:
    """Return the rates of a TCP flow in each of the 15 s after its start, shape (15,).

    The emulator delays only what a rule matches, and figure 2 tells one latency: it is taken as the
    round trip here. With 1000 ms in each direction no TCP of two segments at first and delayed
    acknowledgements fills 140 kbps in 10 s.

    Args:
        capacity_kbps: Capacity of the link.
        round_trip_s: Round-trip time without a queue.
        seed: Seed; nothing is drawn from it.
    """
    setting = Setting(capacity_kbps=capacity_kbps, latency_s=round_trip_s / 2)
    flow = competitor(setting.tcp or {}, start_s=0.0)
    outcome = run_scenario(
        {"seed": seed, "links": setting.links(), "agents": [flow], "end_s": _END_S}
    )
    received, _ = outcome.binned(
        [0], by="arrived", origin_ns=0, interval_ns=ns_from_s(1.0), bins=round(_END_S)
    )
    return np.asarray(kbps_from_bytes(1.0, 1.0) * received, dtype=np.float64)
