"""Sources with known rate states, and one whose packets cross a path that queues and drops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, IntArray, bytes_from_bps, ns_array_from_s

#: A ladder of four levels that is climbed rung by rung, mostly.
KBPS = (80.0, 150.0, 260.0, 450.0)
MEAN_DWELL_S = (12.0, 18.0, 25.0, 40.0)
TRANSITION = np.array(
    [[0, 0.8, 0.15, 0.05], [0.4, 0, 0.5, 0.1], [0.1, 0.4, 0, 0.5], [0.05, 0.25, 0.7, 0]]
)

Gaps = Callable[[np.random.Generator, float, int], FloatArray]
Dwell = Callable[[np.random.Generator, float], float]


@dataclass(frozen=True)
class Switching:
    """Packets of a source that switches between levels, and its true path."""

    time_ns: IntArray
    ip_bytes: IntArray
    level: IntArray
    dwell_s: FloatArray


SwitchingMaker = Callable[..., Switching]


def jittered(rng: np.random.Generator, mean_s: float, count: int) -> FloatArray:
    return mean_s * rng.uniform(0.8, 1.2, count)


def gamma_dwell(rng: np.random.Generator, mean_s: float) -> float:
    return float(rng.gamma(3, mean_s / 3))


@pytest.fixture(scope="session")
def switching() -> SwitchingMaker:
    """Return a function that makes a source which switches between levels."""

    def make(
        seed: int,
        *,
        switches: int = 60,
        gaps: Gaps = jittered,
        dwell: Dwell = gamma_dwell,
        kbps: tuple[float, ...] = KBPS,
        mean_dwell_s: tuple[float, ...] = MEAN_DWELL_S,
        transition: FloatArray = TRANSITION,
        packet_bytes: int = 1000,
    ) -> Switching:
        rng = np.random.default_rng(seed)
        level, times, dwells, now_s = 1, [], [], 0.0
        levels = []
        for _ in range(switches + 1):
            length_s = dwell(rng, mean_dwell_s[level])
            mean_gap_s = packet_bytes / bytes_from_bps(1000 * kbps[level], 1.0)
            gap_s = gaps(rng, mean_gap_s, int(1.5 * length_s / mean_gap_s + 50))
            time_s = now_s + np.cumsum(gap_s) - gap_s[0] * rng.random()
            times.append(time_s[time_s < now_s + length_s])
            levels.append(level)
            dwells.append(length_s)
            now_s += length_s
            level = int(rng.choice(len(kbps), p=transition[level]))
        time_ns = np.unique(ns_array_from_s(np.round(np.concatenate(times), 6)))
        return Switching(
            time_ns, np.full(time_ns.size, packet_bytes), np.array(levels), np.array(dwells)
        )

    return make


MmppMaker = Callable[..., IntArray]


@pytest.fixture(scope="session")
def mmpp_times() -> MmppMaker:
    """Return a function that draws packet times of a two-state Markov-modulated Poisson process,
    ns.
    """

    def make(
        seed: int,
        *,
        rates: tuple[float, float],
        sojourns_s: tuple[float, float],
        packets: int,
        dwell: Dwell = lambda rng, mean_s: float(rng.exponential(mean_s)),
    ) -> IntArray:
        rng = np.random.default_rng(seed)
        now_s, state, total, times = 0.0, 0, 0, []
        while total < packets:
            length_s = dwell(rng, sojourns_s[state])
            times.append(
                now_s + np.sort(rng.random(rng.poisson(rates[state] * length_s))) * length_s
            )
            now_s, state, total = now_s + length_s, 1 - state, total + times[-1].size
        return ns_array_from_s(np.round(np.concatenate(times)[:packets], 6))

    return make


VIDEO_HZ, AUDIO_HZ = 90_000, 44_100
RTP = [
    {"flow": 0, "media": "video", "ssrc": 7, "payload_type": 96, "clock_hz": VIDEO_HZ},
    {"flow": 1, "media": "audio", "ssrc": 8, "payload_type": 97, "clock_hz": AUDIO_HZ},
]


@dataclass(frozen=True)
class Path:
    """A drop-tail queue before a link, with cross traffic in some seconds."""

    rate_bps: float = 1e6
    queue_bytes: int = 40_000
    delay_s: float = 0.02
    cross_bps: float = 0.0
    cross_from_s: float = 10.0
    cross_until_s: float = 20.0

    def cross(
        self, time_s: FloatArray, ip_bytes: IntArray, *, seed: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return arrival times, NaN where dropped, and queueing of packets in order of time."""
        generator = np.random.default_rng(seed)
        count = int(self.cross_bps * (self.cross_until_s - self.cross_from_s) / 8 / 1500)
        cross_s = np.sort(generator.uniform(self.cross_from_s, self.cross_until_s, count))
        at = np.concatenate((time_s, cross_s))
        size = np.concatenate((ip_bytes + 14, np.full(count, 1514)))
        order = np.argsort(at, kind="stable")
        left = np.full(at.size, np.nan)
        free_s = 0.0
        for index in order.tolist():
            backlog_bytes = max(0.0, free_s - at[index]) * self.rate_bps / 8
            if backlog_bytes + size[index] <= self.queue_bytes:
                free_s = max(free_s, at[index]) + size[index] * 8 / self.rate_bps
                left[index] = free_s
        mine = left[: time_s.size]
        return mine + self.delay_s, mine - time_s - (ip_bytes + 14) * 8 / self.rate_bps


@dataclass(frozen=True)
class Pair:
    """The same packets at the sender and at the receiver."""

    sender: PacketTable
    receiver: PacketTable
    is_lost: Any
    queueing_s: FloatArray


def _source(duration_s: float, *, seed: int) -> dict[str, Any]:
    """Return columns of video (a frame each 40 ms, every third of 5 packets) and audio (a packet
    each 1024 samples).
    """
    generator = np.random.default_rng(seed)
    frames = int(duration_s * 25)
    count = np.where(np.arange(frames) % 3 == 0, 5, 2)
    frame = np.repeat(np.arange(frames), count)
    place = np.arange(frame.size) - np.repeat(np.cumsum(count) - count, count)
    last = place == count[frame] - 1
    video = {
        "time_s": frame * 0.04 + place * 1e-5,
        "ip_bytes": np.where(last, generator.integers(100, 1400, frame.size), 1428),
        "rtp_sequence": np.arange(frame.size) + 65_000,
        "rtp_timestamp": frame * 3600 + 12_345,
        "rtp_marker": last,
    }
    packets = int(duration_s * AUDIO_HZ / 1024)
    audio = {
        "time_s": np.arange(packets) * 1024 / AUDIO_HZ + 0.003,
        "ip_bytes": generator.integers(210, 240, packets),
        "rtp_sequence": np.arange(packets) + 5,
        "rtp_timestamp": np.arange(packets) * 1024,
        "rtp_marker": np.ones(packets, dtype=np.bool_),
    }
    joined = {name: np.concatenate((video[name], audio[name])) for name in video}
    joined["flow"] = np.repeat([0, 1], [frame.size, packets])
    order = np.argsort(joined["time_s"], kind="stable")
    return {name: values[order] for name, values in joined.items()}


@pytest.fixture(scope="session")
def congested_pair(make_table: Callable[..., PacketTable]) -> Callable[..., Pair]:
    """Return a function that sends RTP video and audio over a path and gives both captures."""

    def build(
        *, duration_s: float = 40.0, offset_s: float = 0.0, skew: float = 0.0, **path_options: float
    ) -> Pair:
        path = Path(**{"cross_bps": 0.8e6, **path_options})  # type: ignore[arg-type]
        sent = _source(duration_s, seed=1)
        time_s = sent.pop("time_s") + 0.5
        sent["rtp_ssrc"] = sent["flow"] + 7
        sent["rtp_sequence"] %= 1 << 16
        arrival_s, queueing_s = path.cross(time_s, sent["ip_bytes"], seed=2)
        sender = _with_payload_counts(make_table(time_s, flows=RTP, **sent))
        came = ~np.isnan(arrival_s)
        seen_s = (arrival_s * (1 + skew))[came]
        order = np.argsort(seen_s, kind="stable")
        receiver = make_table(
            seen_s[order], flows=RTP, **{name: values[came][order] for name, values in sent.items()}
        )
        receiver = replace(_with_payload_counts(receiver), origin_ns=round(offset_s * 1e9))
        return Pair(sender, receiver, ~came, queueing_s)

    return build


def _with_payload_counts(table: PacketTable) -> PacketTable:
    """Return a table whose flow table counts the payload to the client, as a reader's does."""
    total = np.bincount(
        table.flow, weights=table.payload_bytes, minlength=table.flows.num_rows
    ).astype(np.uint64)
    place = table.flows.schema.get_field_index("payload_bytes_to_client")
    return replace(
        table, flows=table.flows.set_column(place, table.flows.schema.field(place), pa.array(total))
    )
