"""The testbed of the thesis (NIC-S1), and what is measured of one run.

A drop-tail router, a clip, and a TCP flow that has started before it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pydantic import JsonValue

from trafficgen.models.published import competing_tcp
from trafficgen.randomness import random_stream
from trafficgen.reproduction.testbed import EventLog, bulk_tcp, entry_of, link, player
from trafficgen.simulation.outcome import Outcome
from trafficgen.simulation.run import run_scenario
from trafficgen.units import (
    BoolArray,
    FloatArray,
    kbps_from_bps,
    kbps_from_bytes,
    ns_from_s,
    s_from_ns,
)

_ENTRY = "wmedia9_nichols2004"
#: Clip rates (NIC-S2), kbit/s.
RATES_KBPS = (28, 43, 58, 109, 148, 282, 340, 548, 764, 1128)
CAPACITIES_KBPS = (250, 725, 1500)
LATENCY_S = 0.045
QUEUE_PACKETS = 80
_TCP_LEAD_S = 10.0
# Scripts start both programs by hand of a shell: the head start differs by tenths of a second from
# run to run.
_TCP_LEAD_SPREAD_S = 0.5
_LONGEST_S = 300.0
_MEDIA = (0, 1, 2)  # audio, video, mixed
_PROBE, _BUFFERING = 1, 2


@dataclass(frozen=True)
class Packets:
    """Packets of one sender towards the client.

    Attributes:
        arrival_s: When each arrived, s, NaN where it was lost, shape (n,).
    """

    sent_s: FloatArray
    arrival_s: FloatArray
    ip_bytes: FloatArray

    def select(self, wanted: BoolArray) -> Packets:
        """Return some of the packets."""
        return Packets(self.sent_s[wanted], self.arrival_s[wanted], self.ip_bytes[wanted])

    def rate_kbps(self, start_s: float, end_s: float) -> float:
        """Return the rate at the client in an interval; NaN: the interval is empty."""
        return self._rate_kbps(self.arrival_s, start_s, end_s)

    def measure_offered_kbps(self, start_s: float, end_s: float) -> float:
        """Return the rate before the router in an interval; NaN: the interval is empty."""
        return self._rate_kbps(self.sent_s, start_s, end_s)

    def _rate_kbps(self, time_s: FloatArray, start_s: float, end_s: float) -> float:
        if end_s <= start_s:
            return math.nan
        size_bytes = self.ip_bytes[(time_s >= start_s) & (time_s < end_s)].sum()
        return kbps_from_bytes(float(size_bytes), end_s - start_s)

    def loss(self, start_s: float, end_s: float) -> float:
        """Return lost / sent packets of those sent in an interval; NaN: none sent."""
        within = (self.sent_s >= start_s) & (self.sent_s < end_s)
        return float(np.mean(np.isnan(self.arrival_s[within]))) if within.any() else math.nan

    def peak_loss(self, end_s: float, *, least_packets: int = 0) -> float:
        """Return the largest loss of the whole seconds until then that have enough packets."""
        seconds = np.arange(0.0, end_s - 1 + 1e-9)
        counts = [np.sum((self.sent_s >= one) & (self.sent_s < one + 1)) for one in seconds]
        losses = [
            self.loss(one, one + 1)
            for one, count in zip(seconds, counts, strict=True)
            if count >= least_packets
        ]
        return max(losses, default=math.nan)


class Session:
    """One run; times count from the first media packet at the server, in s.

    Attributes:
        media: Media packets, without the probe.
        again: Which of them are retransmissions.
        buffering: Which of them were sent while the server filled the player's buffer.
        queueing_s: How long each of them queued.
        report_s: When each report of the player was sent.
        play_s: PLAY request of the player (NIC-S4).
        full_s: When it reported its buffer full; the last arrival where it never did.
        end_s: Last arrival of a media packet.
        level_s: When the server took each level of the clip.
        level: Those levels, from 0.
        thinned: Whether the server left out frames.
        frames_kept: Frame rate of the last media that came / of the first.
    """

    def __init__(self, outcome: Outcome) -> None:
        """Take what the engine brought."""
        flows, columns = outcome.flows, outcome.columns
        zero_ns = outcome.first_media_ns or 0
        flow, phase = columns["flow"], columns["phase"]
        to_client = columns["to_client"].astype(bool)
        sent_s, arrival_s = (
            s_from_ns(columns[name].astype(np.int64) - zero_ns)
            for name in ("time_ns", "arrival_ns")
        )
        arrival_s = np.where(columns["arrived"].astype(bool), arrival_s, np.nan)
        packets = Packets(sent_s, arrival_s, columns["ip_bytes"].astype(np.float64))
        of_media = np.array([one["agent"] == 0 and one["media"] in _MEDIA for one in flows])
        media = of_media[flow] & to_client & (phase != _PROBE)
        self.media = packets.select(media)
        self.again = columns["retransmission"][media].astype(bool)
        self.buffering = phase[media] == _BUFFERING
        self.queueing_s = s_from_ns(columns["queueing_ns"][media].astype(np.int64))
        self.probe = packets.select(of_media[flow] & to_client & (phase == _PROBE))
        bulk = np.array([one["agent"] == 1 for one in flows])[flow] & to_client
        self.tcp = packets.select(bulk & (columns["payload_bytes"].astype(np.int64) > 0))
        feedback = np.array([one["name"] == "feedback" for one in flows])[flow] & ~to_client
        self.report_s = sent_s[feedback]
        self._log = EventLog(outcome, zero_ns=zero_ns)
        self.end_s = float(np.nanmax(self.media.arrival_s))
        self.request_s, self.play_s, full_s = (
            self._log.first_s(kind) for kind in ("request", "play", "buffer_full")
        )
        self.full_s = self.end_s if math.isnan(full_s) else full_s
        encodings = self._log.select("encoding")
        self.level_s = [event.time_s for event in encodings]
        self.level = [event.level or 0 for event in encodings]
        self.thinned = bool(self._log.select("thinned"))
        frames = outcome.agents[0]["samples"][:, 1]
        frames = frames[np.isfinite(frames)]
        self.frames_kept = float(frames[-1] / frames[0]) if frames.size else math.nan

    @property
    def audio_only(self) -> bool:
        """Whether the server came to send no video."""
        return bool(self._log.select("audio_only"))

    @property
    def estimate_kbps(self) -> float:
        """The server's estimate of the capacity; NaN: none."""
        return kbps_from_bps(next(iter(self._log.values("estimate_bps")), math.nan))

    @property
    def answered(self) -> bool:
        """Whether the server has thinned the clip or changed its level."""
        return len(self.level_s) > 1

    @property
    def response_s(self) -> float:
        """When it did; NaN where it did not."""
        return self.level_s[1] if self.answered else math.nan

    @property
    def buffering_s(self) -> float:
        """From PLAY to the full buffer."""
        return self.full_s - self.play_s

    @property
    def buffering_rate_kbps(self) -> float:
        """Mean rate at the client from PLAY to the full buffer (NIC-S4)."""
        return self.media.rate_kbps(self.play_s, self.full_s)

    @property
    def buffering_loss(self) -> float:
        """Mean loss from PLAY to the full buffer."""
        return self.media.loss(self.play_s, self.full_s)

    @property
    def post_rate_kbps(self) -> float:
        """Mean rate at the client from the full buffer to the last media packet."""
        return self.media.rate_kbps(self.full_s, self.end_s)

    @property
    def last_rate_kbps(self) -> float:
        """Mean rate at the client in the last 10 s in which packets flow."""
        return self.media.rate_kbps(self.end_s - 10, self.end_s)


def _tcp() -> dict[str, JsonValue]:
    return competing_tcp(entry_of(_ENTRY)) or {}


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
        loss = {
            "rate": self.loss,
            "mean_burst_packets": 1.0,
            "start_s": self.loss_start_s,
            "stop_s": self.loss_stop_s,
        }
        router = link(
            "router",
            self.capacity_kbps,
            delay_s=self.latency_s,
            queue={"packets": self.queue_packets},
            hold_in_flight=self.hold_in_flight,
            loss=loss if self.loss > 0 else None,
        )
        return [router, link("back", delay_s=self.latency_s)]


def play(setting: Setting, *, seed: int, run: int = 0) -> Session:
    """Simulate one run of a point; runs have random numbers of their own."""
    stream = random_stream(seed, session=run, purpose="nichols")
    agents = [player(_ENTRY, setting.clip, forward=[0], reverse=[1])]
    if setting.tcp is not None:
        lead_s = _TCP_LEAD_S + stream.uniform(-_TCP_LEAD_SPREAD_S, _TCP_LEAD_SPREAD_S)
        agents.append(bulk_tcp(setting.tcp, start_s=-lead_s, forward=[0], reverse=[1]))
    scenario = {
        "seed": int(stream.integers(1 << 53)),
        "links": setting.links(),
        "agents": agents,
        "end_s": _LONGEST_S,
    }
    return Session(run_scenario(scenario))


def play_tcp_alone(seed: int) -> dict[str, float]:
    """Measure which share of 140 kbit/s a TCP flow alone fills from 10 s to 15 s (figure 2).

    The emulator delays only what a rule matches, and figure 2 has one latency of 1000 ms: it is
    taken as the round trip here. With 1000 ms in each direction no TCP of two segments at first and
    delayed acknowledgements fills 140 kbit/s in 10 s.
    """
    setting = Setting(capacity_kbps=140.0, latency_s=0.5)
    flow = bulk_tcp(setting.tcp, start_s=0.0, forward=[0], reverse=[1])
    outcome = run_scenario(
        {"seed": seed, "links": setting.links(), "agents": [flow], "end_s": 15.0}
    )
    received, _ = outcome.bin_packets(
        [0], by="arrived", origin_ns=0, interval_ns=ns_from_s(1.0), bins=15
    )
    return {"filled": float(np.mean(kbps_from_bytes(1.0, 1.0) * received[10:])) / 140.0}
