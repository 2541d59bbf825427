"""Measures of one run: rates, losses and packet gaps, before and after the buffer is full."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from trafficgen._core import SimulationOutcome
from trafficgen.units import FloatArray, kbps_from_bps, kbps_from_bytes, s_from_ns

_MEDIA = (0, 1, 2)  # audio, video, mixed
_PROBE, _BUFFERING = 1, 2
_BURST_GAP_S = 0.05  # gaps inside of bursts are milliseconds, those between them hundreds


class Session:
    """One run; times count from the first media packet at the server, in s.

    Attributes:
        play_s: PLAY request of the player (NIC-S4).
        full_s: When it reported its buffer full; the last arrival where it never did.
        end_s: Last arrival of a media packet.
    """

    def __init__(self, outcome: SimulationOutcome) -> None:
        """Take what the engine brought."""
        flows, columns = outcome.flows(), outcome.columns()
        self._zero_ns = outcome.first_media_ns or 0
        flow, phase = columns["flow"], columns["phase"]
        to_client = columns["to_client"].astype(bool)
        of_media = np.array([one["agent"] == 0 and one["media"] in _MEDIA for one in flows])
        media = of_media[flow] & to_client
        chosen, probe = media & (phase != _PROBE), media & (phase == _PROBE)
        bulk = np.array([one["agent"] == 1 for one in flows])[flow] & to_client
        bulk &= columns["payload_bytes"].astype(np.int64) > 0
        feedback = np.array([one["name"] == "feedback" for one in flows])[flow] & ~to_client
        sent_s, arrival_s = (
            s_from_ns(columns[name].astype(np.int64) - self._zero_ns)
            for name in ("time_ns", "arrival_ns")
        )
        arrival_s = np.where(columns["arrived"].astype(bool), arrival_s, np.nan)
        ip_bytes = columns["ip_bytes"].astype(np.float64)
        self.sent_s, self.arrival_s, self.ip_bytes = (
            column[chosen] for column in (sent_s, arrival_s, ip_bytes)
        )
        self.again = columns["retransmission"][chosen].astype(bool)
        self.queueing_s = s_from_ns(columns["queueing_ns"][chosen].astype(np.int64))
        self.buffering = phase[chosen] == _BUFFERING
        self.tcp_sent_s, self.tcp_arrival_s, self.tcp_bytes = (
            column[bulk] for column in (sent_s, arrival_s, ip_bytes)
        )
        self.report_s = sent_s[feedback]
        self.probe_s, self.probe_bytes = sent_s[probe], ip_bytes[probe]
        self._keep_log(outcome)

    def _keep_log(self, outcome: SimulationOutcome) -> None:
        agent = outcome.agents()[0]
        self._events = [
            (s_from_ns(time_ns - self._zero_ns), kind, value, level)
            for time_ns, (kind, value, level) in agent["events"]
        ]
        frames = agent["samples"][:, 1]
        frames = frames[np.isfinite(frames)]
        #: Frame rate of the last media that came / of the first.
        self.frames_kept = float(frames[-1] / frames[0]) if frames.size else math.nan
        self.end_s = float(np.nanmax(self.arrival_s))
        self.request_s = self._first("request")
        self.play_s = self._first("play")
        full_s = self._first("buffer_full")
        self.full_s = self.end_s if math.isnan(full_s) else full_s
        encodings = [(time, level) for time, kind, _, level in self._events if kind == "encoding"]
        self.level_s, self.level = (list(column) for column in zip(*encodings, strict=True))
        self.thinned = not math.isnan(self._first("thinned"))
        self.audio_only = not math.isnan(self._first("audio_only"))
        self.estimate_kbps = kbps_from_bps(self._first_value("estimate_bps"))

    def _first(self, wanted: str) -> float:
        return next((time for time, kind, _, _ in self._events if kind == wanted), math.nan)

    def _first_value(self, wanted: str) -> float:
        return next(
            (value for _, kind, value, _ in self._events if kind == wanted and value is not None),
            math.nan,
        )

    @property
    def answered(self) -> bool:
        """Whether the server has thinned the clip or changed its level."""
        return len(self.level_s) > 1

    @property
    def response_s(self) -> float:
        """When it did; NaN where it did not."""
        return self.level_s[1] if self.answered else math.nan

    def rate_kbps(self, start_s: float, end_s: float) -> float:
        """Return the rate at the client in an interval."""
        return _rate_kbps(self.arrival_s, self.ip_bytes, start_s, end_s)

    def measure_offered_kbps(
        self, start_s: float, end_s: float, *, first_sendings: bool = False
    ) -> float:
        """Return the rate before the router in an interval, by default with retransmissions."""
        wanted = ~self.again if first_sendings else np.ones_like(self.again)
        return _rate_kbps(self.sent_s[wanted], self.ip_bytes[wanted], start_s, end_s)

    def tcp_kbps(self, start_s: float, end_s: float) -> float:
        """Return the competing flow's rate at the client in an interval."""
        return _rate_kbps(self.tcp_arrival_s, self.tcp_bytes, start_s, end_s)

    def loss(self, start_s: float, end_s: float) -> float:
        """Return lost / sent media packets of those sent in an interval; NaN: none sent."""
        return _loss(self.sent_s, self.arrival_s, start_s, end_s)

    def peak_loss(self, start_s: float, end_s: float) -> float:
        """Return the largest loss of the media in whole seconds of an interval."""
        return max(self.loss(second, second + 1) for second in np.arange(start_s, end_s - 1 + 1e-9))

    def tcp_peak_loss(self, start_s: float, end_s: float) -> float:
        """Return the competing flow's largest loss in whole seconds with at least 5 packets."""
        seconds = np.arange(start_s, end_s - 1 + 1e-9)
        counts = [
            np.count_nonzero((self.tcp_sent_s >= one) & (self.tcp_sent_s < one + 1))
            for one in seconds
        ]
        losses = [
            _loss(self.tcp_sent_s, self.tcp_arrival_s, one, one + 1)
            for one, count in zip(seconds, counts, strict=True)
            if count >= 5
        ]
        return max(losses, default=math.nan)

    def largest_offered_kbps(self, window_s: float, end_s: float) -> float:
        """Return the largest offered rate of windows that start every second until `end_s`."""
        return max(
            self.measure_offered_kbps(start, start + window_s)
            for start in np.arange(0.0, end_s - window_s + 1e-9)
        )

    @property
    def buffering_rate_kbps(self) -> float:
        """Mean rate at the client from PLAY to the full buffer (NIC-S4)."""
        return self.rate_kbps(self.play_s, self.full_s)

    @property
    def buffering_s(self) -> float:
        """From PLAY to the full buffer."""
        return self.full_s - self.play_s

    @property
    def buffering_loss(self) -> float:
        """Mean loss from PLAY to the full buffer."""
        return self.loss(self.play_s, self.full_s)

    @property
    def post_s(self) -> float:
        """From the full buffer to the last media packet."""
        return self.end_s - self.full_s

    @property
    def post_rate_kbps(self) -> float:
        """Mean rate at the client from the full buffer to the last media packet."""
        return self.rate_kbps(self.full_s, self.end_s)

    @property
    def post_loss(self) -> float:
        """Mean loss from the full buffer on."""
        return self.loss(self.full_s, math.inf)

    @property
    def last_rate_kbps(self) -> float:
        """Mean rate at the client in the last 10 s in which packets flow."""
        return self.rate_kbps(self.end_s - 10, self.end_s)

    @cached_property
    def buffering_gaps_s(self) -> FloatArray:
        """Gaps between packets at the sender while it buffers."""
        return np.diff(self.sent_s[self.buffering])

    @cached_property
    def playout_gaps_s(self) -> FloatArray:
        """Gaps between packets at the sender after that."""
        return np.diff(self.sent_s[~self.buffering])

    @property
    def burst_bytes(self) -> float:
        """Mean bytes of first sendings in a burst while it buffers (figures 36 and 37)."""
        first = self.buffering & ~self.again
        bursts = 1 + np.count_nonzero(self.buffering_gaps_s > _BURST_GAP_S)
        return float(self.ip_bytes[first].sum() / bursts)

    @property
    def mean_queueing_s(self) -> float:
        """Mean queueing delay of media packets that were sent while it buffered and arrived."""
        return float(np.mean(self.queueing_s[self.buffering & np.isfinite(self.arrival_s)]))


def median_gap_between_bursts_s(gaps_s: FloatArray) -> float:
    """Return the median gap between bursts; NaN: none."""
    between = gaps_s[gaps_s > _BURST_GAP_S]
    return float(np.median(between)) if between.size else math.nan


def median_gap_in_bursts_s(gaps_s: FloatArray) -> float:
    """Return the median gap inside of bursts; NaN: none."""
    inside = gaps_s[gaps_s <= _BURST_GAP_S]
    return float(np.median(inside)) if inside.size else math.nan


def _rate_kbps(time_s: FloatArray, ip_bytes: FloatArray, start_s: float, end_s: float) -> float:
    if end_s <= start_s:
        return math.nan
    within = (time_s >= start_s) & (time_s < end_s)
    return kbps_from_bytes(float(ip_bytes[within].sum()), end_s - start_s)


def _loss(sent_s: FloatArray, arrival_s: FloatArray, start_s: float, end_s: float) -> float:
    within = (sent_s >= start_s) & (sent_s < end_s)
    return float(np.mean(np.isnan(arrival_s[within]))) if within.any() else math.nan
