"""The test bed of BMW05: servers, bottleneck, player and bulk TCP, and measures of a session."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trafficgen._core import SimulationOutcome
from trafficgen.models.published import competing_tcp, load_entry
from trafficgen.reproduction.testbed import EventLog, bulk_tcp, link, player
from trafficgen.simulation.run import run_scenario
from trafficgen.units import FloatArray, kbps_from_bps, kbps_from_bytes, ns_from_s, s_from_ns

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
#: Bins of the player's statistics (BMW-S1).
BIN_S = 0.5


class Session:
    """One run; times in s from the player's first request, rates of IP bytes at the player."""

    def __init__(self, outcome: SimulationOutcome) -> None:
        """Take the engine's outcome."""
        self._outcome = outcome
        agents = outcome.agents()
        self._log = EventLog(outcome)
        self._samples = agents[0]["samples"]
        self._flows: dict[str, list[int]] = {}
        for number, flow in enumerate(outcome.flows()):
            if flow["name"] != "control":
                self._flows.setdefault(agents[flow["agent"]]["name"], []).append(number)
        totals = outcome.totals(self._flows[MEDIA], media_only=True)
        first_ns, last_ns = totals["first_arrived_ns"], totals["last_arrived_ns"]
        #: Arrival of the first and the last media packet; NaN where none came.
        self.first_s = math.nan if first_ns is None else s_from_ns(first_ns)
        self.last_s = math.nan if last_ns is None else s_from_ns(last_ns)
        self.end_s = s_from_ns(outcome.end_ns)

    def time_s(self, kind: str) -> float:
        """Return when the log first has an event; NaN where it never has."""
        return self._log.first_s(kind)

    @property
    def playback_s(self) -> tuple[float, float]:
        """When playback began and when it ended."""
        start_s = self.time_s("playback_start")
        return start_s, start_s + next(iter(self._log.values("played_s")), math.nan)

    def phase_end_s(self) -> float:
        """Return when the server stopped sending ahead; NaN where it never did."""
        phases = self._log.select("phase")
        return phases[1].time_s if len(phases) > 1 else math.nan

    def mean_kbps(self, start_s: float, end_s: float, *, flow: str = MEDIA) -> float:
        """Return the mean rate of an agent's flows from ``start_s`` to before ``end_s``."""
        if not end_s > start_s:
            return math.nan
        size_bytes, _ = self._binned("arrived", flow, start_s, end_s - start_s, 1)
        return kbps_from_bytes(float(size_bytes[0]), end_s - start_s)

    def rates_kbps(
        self, *, start_s: float = 0.0, end_s: float | None = None, width_s: float = BIN_S
    ) -> FloatArray:
        """Return rates of the media in whole bins of ``width_s``, shape (n,)."""
        stop_s = self.end_s if end_s is None else end_s
        bins = max(int((stop_s - start_s) / width_s + 1e-9), 0)
        size_bytes, _ = self._binned("arrived", MEDIA, start_s, width_s, bins)
        return np.asarray(kbps_from_bytes(1.0, width_s) * size_bytes, dtype=np.float64)

    def count_losses(self, start_s: float = 0.0, end_s: float | None = None) -> int:
        """Count the media packets, retransmissions included, dropped in an interval."""
        stop_s = self.end_s if end_s is None else end_s
        _, packets = self._binned("dropped", MEDIA, start_s, stop_s - start_s, 1)
        return int(packets[0])

    def frames_per_s(self, start_s: float, end_s: float) -> float:
        """Return the mean of the player's frame rates, a sample each 0.5 s."""
        return self._mean_sample(1, start_s, end_s)

    def encoding_kbps(self, start_s: float, end_s: float) -> float:
        """Return the mean of the encodings that come, media payload."""
        return kbps_from_bps(self._mean_sample(0, start_s, end_s))

    def _mean_sample(self, column: int, start_s: float, end_s: float) -> float:
        first_ns = self._outcome.first_media_ns
        if first_ns is None:
            return math.nan
        times_s = s_from_ns(first_ns) + BIN_S * np.arange(len(self._samples), dtype=np.float64)
        values = self._samples[(times_s >= start_s) & (times_s < end_s), column]
        values = values[np.isfinite(values)]
        return float(values.mean()) if values.size else math.nan

    def _binned(
        self,
        by: Literal["arrived", "dropped"],
        flow: str,
        start_s: float,
        width_s: float,
        bins: int,
    ) -> tuple[FloatArray, FloatArray]:
        """Return bytes and packets of an agent's flows in bins, each of shape (bins,)."""
        size_bytes, packets = self._outcome.binned(
            self._flows[flow],
            by=by,
            origin_ns=ns_from_s(start_s),
            interval_ns=ns_from_s(width_s),
            bins=bins,
            media_only=flow == MEDIA,
        )
        return size_bytes.astype(np.float64), packets.astype(np.float64)


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
        entry = TURBOPLAY_ENTRY if self.turboplay else UNASSISTED_ENTRY
        agents = [player(entry, {"encoding_rate_kbps": self.clip}, forward=[0, 1], reverse=[2])]
        if self.with_tcp:
            tcp = competing_tcp(load_entry(UNASSISTED_ENTRY))
            times = {"start_s": -_HEAD_START_S, "stop_s": self.tcp_stop_s}
            agents.append(bulk_tcp(tcp, **times, forward=[3, 1], reverse=[2]))
        host: dict[str, Any] = {"rate_kbps": _HOST_KBPS, "delay_s": _END_NETWORKS_S / 2}
        bottleneck: dict[str, Any] = {"rate_kbps": self.link_kbps, "queue": {"bytes": _QUEUE_BYTES}}
        links = [
            link("media-server", **host),
            link("bottleneck", **bottleneck, delay_s=_BOTTLENECK_S + _END_NETWORKS_S / 2),
            link("return", **bottleneck, delay_s=_BOTTLENECK_S + _END_NETWORKS_S),
            link("tcp-server", **host),
        ]
        return {
            "seed": seed,
            "links": links,
            "agents": agents,
            "run_on_s": self.run_on_s,
            "end_s": _LONGEST_S,
        }
