"""Measures of a simulated playout: rates, phases, stalls, encodings, and its pings."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trafficgen._core import SimulationOutcome
from trafficgen.flows.measures import (
    MEASURE_BIN_S,
    DataRates,
    adaptation_time_s,
    count_rate_changes,
    measure_data_rates,
    rate_differences,
    successive_ratios,
    time_to_share_of_peak_s,
)
from trafficgen.reproduction.chung.setups import PlaylistClip, Transport
from trafficgen.tables import MEDIA
from trafficgen.units import (
    FloatArray,
    IntArray,
    bps_from_kbps,
    kbps_from_bytes,
    ns_from_s,
    s_from_ns,
)

_MEDIA_CODES = tuple(MEDIA.index(name) for name in ("audio", "video", "mixed"))
_BIN_NS = ns_from_s(MEASURE_BIN_S)
#: Code of the buffering phase in the log, in the order of the packet table's dictionary.
_BUFFERING = 2
_LARGEST_IP_BYTES = 1500
#: A player whose end comes so long after its last media packet has left without them (CCZ-S1: after
#: a minute).
_LEAVES_AFTER_S = 50.0


@dataclass(frozen=True)
class Playout:
    """One stream of a run; times in s from its first media packet at the player.

    Attributes:
        clip: The clip.
        transport: Transport of the media.
        mean_kbps: IP bytes of its media over its playout: from the run's first media packet until
            the player has played the clip or left. Servers send ahead, but the end-hosts hear from
            them to the end.
        span_s: First to last media packet.
        packets: Media packets that came.
        ip_bytes: Their IP total lengths, summed.
        rates: Rates of CCZ-B1; None for a playout shorter than 110 s.
        rise_s: When the rate in 0.5 s first reached 90% of its largest.
        accelerated_s: How long the server sent at the higher rate; NaN where it did not end.
        stalls_s: How long playback halted, each time.
        has_left: Whether the player left for want of media.
        encoding_time_s: Since when the player has got each encoding, the first one included.
        encoding_kbps: Their media payload rates.
        server_time_s: Since when the server has written each encoding, likewise; empty if it
            is not logged.
        server_kbps: Their rates.
    """

    clip: PlaylistClip
    transport: Transport
    mean_kbps: float
    span_s: float
    packets: int
    ip_bytes: int
    rates: DataRates | None
    rise_s: float
    accelerated_s: float
    stalls_s: tuple[float, ...]
    has_left: bool
    encoding_time_s: tuple[float, ...]
    encoding_kbps: tuple[float, ...]
    server_time_s: tuple[float, ...] = ()
    server_kbps: tuple[float, ...] = ()

    @property
    def ratio(self) -> float:
        """Buffering over steady rate (CCZ-B1), NaN: no steady rate."""
        found = self.rates.ratio if self.rates else None
        return math.nan if found is None else found

    @property
    def changes(self) -> int:
        """Number of scale changes (CCZ-M1)."""
        return count_rate_changes(np.array(self.encoding_kbps))

    @property
    def ups_s(self) -> FloatArray:
        """Times of changes to a higher level, shape (n,)."""
        return self._steps(1)

    @property
    def downs_s(self) -> FloatArray:
        """Times of changes to a lower level, shape (n,)."""
        return self._steps(-1)

    def find_adaptation_s(self, limit_kbps: float) -> float:
        """Return when the encoded rate first fits a limit; infinity: never (CCZ-M2)."""
        rates_bps = np.array([bps_from_kbps(rate) for rate in self.encoding_kbps])
        return adaptation_time_s(
            np.array(self.encoding_time_s), rates_bps, limit_bps=bps_from_kbps(limit_kbps)
        )

    def _steps(self, sign: int) -> FloatArray:
        steps = np.flatnonzero(sign * np.diff(self.encoding_kbps) > 0)
        return np.asarray(np.array(self.encoding_time_s)[steps + 1], dtype=np.float64)


@dataclass(frozen=True)
class Series:
    """What is pooled over playouts: ratios of successive rates, and packet sizes.

    Attributes:
        ratios: Ratios of successive 0.5 s rates (CCZ-V1), shape (n,).
        sizes: Packets by IP total length, shape (1501,).
    """

    ratios: FloatArray
    sizes: IntArray


def join_series(series: Sequence[Series]) -> Series:
    """Pool series of several playouts."""
    return Series(
        np.concatenate([one.ratios for one in series]),
        np.sum([one.sizes for one in series], axis=0),
    )


@dataclass(frozen=True)
class Pings:
    """Pings of a run up to the last media packet (CCZ-S4); NaN if the server answers none.

    Attributes:
        rtt_s: Mean round-trip time.
        loss: Share that was not answered.
    """

    rtt_s: float = math.nan
    loss: float = math.nan


class Outcome:
    """A simulated run as the measures read it."""

    def __init__(self, outcome: SimulationOutcome) -> None:
        """Take the engine's outcome."""
        self._outcome = outcome
        self._flows = outcome.flows()
        self._agents = outcome.agents()
        self._number = {agent["name"]: number for number, agent in enumerate(self._agents)}

    def playout(self, clip: PlaylistClip, transport: Transport) -> tuple[Playout, Series]:
        """Return what came of the player of a transport."""
        flows = self._media_flows(transport)
        totals = self._outcome.totals(flows, media_only=True)
        first_ns, last_ns = totals["first_arrived_ns"], totals["last_arrived_ns"]
        if first_ns is None or last_ns is None:
            first_ns = last_ns = self._outcome.end_ns
        binned, _ = self._outcome.binned(
            flows,
            by="arrived",
            origin_ns=first_ns,
            interval_ns=_BIN_NS,
            bins=(last_ns - first_ns) // _BIN_NS + 1,
            media_only=True,
        )
        size_bytes, span_s = binned.astype(np.int64), s_from_ns(last_ns - first_ns)
        encoding_time_s, encoding_kbps = self._rates(transport, "encoding", first_ns)
        server_time_s, server_kbps = self._rates(transport, "server_level_bps", first_ns)
        playout = Playout(
            clip=clip,
            transport=transport,
            mean_kbps=self._mean_kbps(clip, transport, totals["arrived_bytes"], last_ns),
            span_s=span_s,
            packets=totals["arrived_packets"],
            ip_bytes=totals["arrived_bytes"],
            rates=measure_data_rates(size_bytes, span_s=span_s),
            rise_s=time_to_share_of_peak_s(size_bytes[:-1]),  # the last bin is cut off by the end
            accelerated_s=self._accelerated_s(transport),
            stalls_s=self._stalls_s(transport),
            has_left=self._left_ns(transport, last_ns) is not None,
            encoding_time_s=encoding_time_s,
            encoding_kbps=encoding_kbps,
            server_time_s=server_time_s,
            server_kbps=server_kbps,
        )
        return playout, Series(successive_ratios(size_bytes[:-1]), self._sizes(flows))

    def pings(self, agent: str) -> Pings:
        """Return round-trip time and loss of the pings sent until the last media packet came."""
        number = self._number.get(agent)
        if number is None:
            return Pings()
        last_ns = max(self._media_times_ns(1), default=self._outcome.end_ns)
        flows = [flow for flow, entry in enumerate(self._flows) if entry["agent"] == number]
        sent = self._outcome.totals(flows, end_ns=last_ns, to_client=False)["sent_packets"]
        rtts_s = [
            rtt_s
            for time_ns, rtt_s, _ in self._log(agent, "rtt_s")
            if rtt_s and time_ns - ns_from_s(rtt_s) < last_ns
        ]
        if not sent or not rtts_s:
            return Pings()
        return Pings(rtt_s=float(np.mean(rtts_s)), loss=max(0.0, 1 - len(rtts_s) / sent))

    def _media_flows(self, agent: str) -> list[int]:
        number = self._number[agent]
        return [
            flow
            for flow, entry in enumerate(self._flows)
            if entry["agent"] == number and entry["media"] in _MEDIA_CODES
        ]

    def _media_times_ns(self, end: int) -> Iterator[int]:
        """Yield when the first (0) or last (1) media packet of each player came."""
        for agent in self._number:
            totals = self._outcome.totals(self._media_flows(agent), media_only=True)
            time_ns = (totals["first_arrived_ns"], totals["last_arrived_ns"])[end]
            if time_ns is not None:
                yield time_ns

    def _mean_kbps(self, clip: PlaylistClip, agent: str, arrived_bytes: int, last_ns: int) -> float:
        first_ns = min(self._media_times_ns(0), default=last_ns)
        end_ns = self._playout_end_ns(clip, agent, last_ns)
        return (
            kbps_from_bytes(arrived_bytes, s_from_ns(end_ns - first_ns))
            if end_ns > first_ns
            else 0.0
        )

    def _playout_end_ns(self, clip: PlaylistClip, agent: str, last_ns: int) -> int:
        """Return when the clip had been played to its end, or the player had left."""
        left_ns = self._left_ns(agent, last_ns)
        if left_ns is not None:
            return left_ns
        starts_ns = self._times_ns(agent, "playback_start")
        if not starts_ns:
            return last_ns
        return max(last_ns, starts_ns[0] + ns_from_s(clip.length_s + sum(self._stalls_s(agent))))

    def _left_ns(self, agent: str, last_ns: int) -> int | None:
        """Return when the player left for want of media; None: it did not."""
        ends_ns = self._times_ns(agent, "end")
        return (
            ends_ns[-1] if ends_ns and ends_ns[-1] - last_ns > ns_from_s(_LEAVES_AFTER_S) else None
        )

    def _log(self, agent: str, wanted: str) -> list[tuple[int, float | None, int | None]]:
        """Return time, value and level of an agent's events of one kind."""
        return [
            (time_ns, value, level)
            for time_ns, (kind, value, level) in self._agents[self._number[agent]]["events"]
            if kind == wanted
        ]

    def _times_ns(self, agent: str, wanted: str) -> list[int]:
        return [time_ns for time_ns, _, _ in self._log(agent, wanted)]

    def _rates(
        self, agent: str, wanted: str, zero_ns: int
    ) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return since when each logged rate held, s, and the rates, kbit/s."""
        found = [
            (time_ns, rate) for time_ns, rate, _ in self._log(agent, wanted) if rate is not None
        ]
        times_s = tuple(s_from_ns(time_ns - zero_ns) for time_ns, _ in found)
        return times_s, tuple(rate_bps / 1000 for _, rate_bps in found)

    def _sizes(self, flows: list[int]) -> IntArray:
        counts = self._outcome.arrived_sizes(flows, media_only=True)
        sizes = np.zeros(max(_LARGEST_IP_BYTES + 1, counts.size), dtype=np.int64)
        sizes[: counts.size] = counts
        return sizes

    def _accelerated_s(self, agent: str) -> float:
        for (start_ns, _, code), (end_ns, _, _) in pairwise(self._log(agent, "phase")):
            if code == _BUFFERING:
                return s_from_ns(end_ns - start_ns)
        return math.nan

    def _stalls_s(self, agent: str) -> tuple[float, ...]:
        """Return the length of each stall that ended."""
        starts_ns, ends_ns = (
            self._times_ns(agent, wanted) for wanted in ("stall_start", "stall_end")
        )
        pairs = zip(starts_ns, ends_ns, strict=False)
        return tuple(s_from_ns(end_ns - start_ns) for start_ns, end_ns in pairs)


#: Token rates of CCZ-S1, kbit/s; below the first the two streams no longer fit side by side.
RATES_KBPS = (600, 300, 150, 75)
CONSTRAINED_KBPS = RATES_KBPS[1:]


@dataclass(frozen=True)
class Pair:
    """One run of a clip: both playouts and the pings."""

    clip: PlaylistClip
    rate_kbps: int
    udp: Playout
    tcp: Playout
    pings: Pings

    @property
    def streams(self) -> tuple[Playout, Playout]:
        """Both playouts."""
        return self.udp, self.tcp


@dataclass(frozen=True)
class Pool:
    """Series of one transport at one rate, pooled over all playouts."""

    udp: Series
    tcp: Series


PairsByRate = Mapping[int, Sequence[Pair]]


def udp_kbps(pairs: Sequence[Pair]) -> FloatArray:
    """Return the mean rates of the UDP streams, shape (n,)."""
    return np.array([pair.udp.mean_kbps for pair in pairs], dtype=np.float64)


def tcp_kbps(pairs: Sequence[Pair]) -> FloatArray:
    """Return the mean rates of the TCP streams, shape (n,)."""
    return np.array([pair.tcp.mean_kbps for pair in pairs], dtype=np.float64)


def differences(pairs: Sequence[Pair], *, bottleneck_kbps: float) -> FloatArray:
    """Return the normalised differences of CCZ-H1, shape (n,)."""
    return rate_differences(tcp_kbps(pairs), udp_kbps(pairs), bottleneck_kbps=bottleneck_kbps)


def share_of(pairs: Sequence[Pair], holds: Callable[[Pair], bool]) -> float:
    """Return the share of pairs for which something holds, NaN without pairs."""
    return sum(map(holds, pairs)) / len(pairs) if pairs else float("nan")
