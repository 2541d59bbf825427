"""The test bed of BMW05 as scenarios: servers, the bottleneck, the player, a bulk TCP flow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from trafficgen.models.published import (
    competing_tcp,
    load_entry,
    parameters_for_engine,
    with_settings,
)
from trafficgen.reproduction.boyden.session import Session
from trafficgen.simulation.run import run_scenario
from trafficgen.units import bps_from_kbps

UNASSISTED_ENTRY, TURBOPLAY_ENTRY = "realvideo10_boyden2005", "realvideo10_turboplay_boyden2005"
#: The "unlimited" bottleneck (BMW-S1).
UNLIMITED_KBPS = 100_000.0
SURESTREAM = "surestream"
MEDIA, TCP = "media", "tcp"

_QUEUE_BYTES = 51_200
#: The hosts' own network.
_HOST_KBPS = 10_000.0
#: 50 ms on the bottleneck and as much on the end networks as makes a round trip of 105 ms ("about 2
#: ms" a way).
_BOTTLENECK_S, _END_NETWORKS_S = 0.050, 0.0025
_HEAD_START_S = 10.0
_LONGEST_S = 900.0


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One run of the test bed.

    Attributes:
        clip: Rate of the clip's audience, kbit/s, or ``surestream``.
        link_kbps: Capacity of the bottleneck.
        turboplay: Whether the player has TurboPlay on.
        with_tcp: Whether a bulk TCP flow has started 10 s before.
        tcp_stop_s: When that flow stops, s after the player's first request; None: it outlasts the
            session.
        run_on_s: How long it is watched after the session.
    """

    clip: int | str
    link_kbps: float
    turboplay: bool = False
    with_tcp: bool = False
    tcp_stop_s: float | None = None
    run_on_s: float = 0.0

    @property
    def name(self) -> str:
        """Short name, unique among the set-ups."""
        mode = "-turboplay" if self.turboplay else ""
        competitor = "-tcp" if self.with_tcp else ""
        return f"{self.clip}-{self.link_kbps:g}{mode}{competitor}"

    def play(self, *, seed: int) -> Session:
        """Simulate it; zero is the player's first request."""
        return Session(run_scenario(self._scenario(seed)))

    def _scenario(self, seed: int) -> dict[str, object]:
        kind, parameters = _engine_parameters(self.clip, self.turboplay)
        agents: list[dict[str, object]] = [
            {
                "name": MEDIA,
                "kind": kind,
                "parameters": parameters,
                "awaited": True,
                "forward": [0, 1],
                "reverse": [2],
            }
        ]
        if self.with_tcp:
            tcp = {
                "name": TCP,
                "kind": "bulk_tcp",
                "parameters": {"tcp": competing_tcp(load_entry(UNASSISTED_ENTRY))},
            }
            times = {"start_s": -_HEAD_START_S, "stop_s": self.tcp_stop_s}
            agents.append({**tcp, **times, "forward": [3, 1], "reverse": [2]})
        links = [
            _host("media-server"),
            self._bottleneck(_BOTTLENECK_S + _END_NETWORKS_S / 2),
            self._way_back(),
        ]
        return {
            "seed": seed,
            "links": [*links, _host("tcp-server")],
            "agents": agents,
            "run_on_s": self.run_on_s,
            "end_s": _LONGEST_S,
        }

    def _bottleneck(self, delay_s: float, name: str = "bottleneck") -> dict[str, object]:
        capacity = {"constant": {"rate_bps": bps_from_kbps(self.link_kbps)}}
        return {
            "name": name,
            "capacity": capacity,
            "delay_s": delay_s,
            "queue": {"bytes": _QUEUE_BYTES},
        }

    def _way_back(self) -> dict[str, object]:
        return self._bottleneck(_BOTTLENECK_S + _END_NETWORKS_S, "return")


def _host(name: str) -> dict[str, object]:
    capacity = {"constant": {"rate_bps": bps_from_kbps(_HOST_KBPS)}}
    return {"name": name, "capacity": capacity, "delay_s": _END_NETWORKS_S / 2}


@cache
def _engine_parameters(clip: int | str, turboplay: bool) -> tuple[str, dict[str, Any]]:
    entry = load_entry(TURBOPLAY_ENTRY if turboplay else UNASSISTED_ENTRY)
    model = with_settings(entry, {"encoding_rate_kbps": clip})
    return model.mechanism.kind, dict(parameters_for_engine(model))
