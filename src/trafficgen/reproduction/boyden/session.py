"""Measures of a simulated session: rates in bins of 0.5 s, losses, playback (BMW-S1)."""

from __future__ import annotations

import math

import numpy as np

from trafficgen._core import SimulationOutcome
from trafficgen.units import FloatArray, kbps_from_bps, kbps_from_bytes, ns_from_s, s_from_ns

#: Bins of the player's statistics (BMW-S1).
BIN_S = 0.5
_PLAYED, _START = "played_s", "playback_start"


class Session:
    """One run; times in s from the player's first request, rates of IP bytes at the player."""

    def __init__(self, outcome: SimulationOutcome) -> None:
        """Take the engine's outcome."""
        self._outcome = outcome
        agents = outcome.agents()
        self._events = [
            (s_from_ns(time_ns), kind, value) for time_ns, (kind, value, _) in agents[0]["events"]
        ]
        self._samples = agents[0]["samples"]
        names = {number: agent["name"] for number, agent in enumerate(agents)}
        self._flows: dict[str, list[int]] = {}
        for number, flow in enumerate(outcome.flows()):
            if flow["name"] != "control":
                self._flows.setdefault(names[flow["agent"]], []).append(number)
        totals = outcome.totals(self._flows["media"], media_only=True)
        first_ns, last_ns = totals["first_arrived_ns"], totals["last_arrived_ns"]
        #: Arrival of the first and the last media packet; NaN where none came.
        self.first_s = math.nan if first_ns is None else s_from_ns(first_ns)
        self.last_s = math.nan if last_ns is None else s_from_ns(last_ns)
        self.end_s = s_from_ns(outcome.end_ns)

    def time_s(self, kind: str) -> float:
        """Return when the log first has an event; NaN where it never has."""
        return next((time_s for time_s, found, _ in self._events if found == kind), math.nan)

    @property
    def playback_s(self) -> tuple[float, float]:
        """When playback began and when it ended."""
        start_s = self.time_s(_START)
        played_s = next((value for _, kind, value in self._events if kind == _PLAYED), None)
        return start_s, start_s + (math.nan if played_s is None else played_s)

    def phase_end_s(self) -> float:
        """Return when the server stopped sending ahead; NaN where it never did."""
        phases = [time_s for time_s, kind, _ in self._events if kind == "phase"]
        return phases[1] if len(phases) > 1 else math.nan

    def mean_kbps(self, start_s: float, end_s: float, *, flow: str = "media") -> float:
        """Return the mean rate of an agent's flows from ``start_s`` to before ``end_s``."""
        if not end_s > start_s:
            return math.nan
        return kbps_from_bytes(
            float(self._bytes(start_s, end_s - start_s, 1, flow)[0]), end_s - start_s
        )

    def rates_kbps(
        self,
        *,
        start_s: float = 0.0,
        end_s: float | None = None,
        width_s: float = BIN_S,
        flow: str = "media",
    ) -> FloatArray:
        """Return rates of an agent's flows in whole bins of ``width_s``, shape (n,)."""
        stop_s = self.end_s if end_s is None else end_s
        bins = max(int((stop_s - start_s) / width_s + 1e-9), 0)
        size_bytes = self._bytes(start_s, width_s, bins, flow)
        return np.asarray(kbps_from_bytes(1.0, width_s) * size_bytes, dtype=np.float64)

    def count_losses(self, start_s: float = 0.0, end_s: float | None = None) -> int:
        """Count the media packets, retransmissions included, dropped in an interval."""
        stop_s = self.end_s if end_s is None else end_s
        return int(self._dropped(start_s, stop_s - start_s, 1)[0])

    def frames_per_s(self, start_s: float, end_s: float) -> float:
        """Return the mean of the player's frame rates, a sample each 0.5 s."""
        return self._mean_sample(1, start_s, end_s)

    def encoding_kbps(self, start_s: float, end_s: float) -> float:
        """Return the mean of the encodings that come, media payload."""
        return kbps_from_bps(self._mean_sample(0, start_s, end_s))

    def _mean_sample(self, column: int, start_s: float, end_s: float) -> float:
        times_s, values = self._sampled(column)
        values = values[(times_s >= start_s) & (times_s < end_s)]
        values = values[np.isfinite(values)]
        return float(values.mean()) if values.size else math.nan

    def _sampled(self, column: int) -> tuple[FloatArray, FloatArray]:
        first_ns = self._outcome.first_media_ns
        if first_ns is None:
            return np.zeros(0), np.zeros(0)
        times_s = s_from_ns(first_ns) + BIN_S * np.arange(len(self._samples), dtype=np.float64)
        return times_s, self._samples[:, column]

    def _dropped(self, start_s: float, width_s: float, bins: int) -> FloatArray:
        _, packets = self._outcome.binned(
            self._flows["media"],
            by="dropped",
            origin_ns=ns_from_s(start_s),
            interval_ns=ns_from_s(width_s),
            bins=bins,
            media_only=True,
        )
        return packets.astype(np.float64)

    def _bytes(self, start_s: float, width_s: float, bins: int, flow: str) -> FloatArray:
        size_bytes, _ = self._outcome.binned(
            self._flows[flow],
            by="arrived",
            origin_ns=ns_from_s(start_s),
            interval_ns=ns_from_s(width_s),
            bins=bins,
            media_only=flow == "media",
        )
        return size_bytes.astype(np.float64)
