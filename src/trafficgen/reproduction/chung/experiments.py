"""The experiments of CCZ02: pairs of players, single players at 35 kbit/s, and the playlist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from trafficgen.reproduction.chung import pair_measures, scaling
from trafficgen.reproduction.chung.playout import (
    RATES_KBPS,
    Outcome,
    Pair,
    Playout,
    Pool,
    Series,
    tcp_kbps,
    udp_kbps,
)
from trafficgen.reproduction.chung.setups import (
    PING,
    Bottleneck,
    PlaylistClip,
    Transport,
    playlist_clips,
    scenario,
    token_bucket,
)
from trafficgen.reproduction.experiment import Experiment
from trafficgen.simulation.run import run_scenario
from trafficgen.units import bps_from_kbps

_FAIR_KBPS = (37.5, 75.0, 150.0)
TRANSPORTS: tuple[Transport, Transport] = ("udp", "tcp")
#: Runs of the playlist at each rate (CCZ-S1).
PLAYLIST_RUNS = 2


@dataclass(frozen=True)
class Population(Experiment):
    """The playlist itself."""

    name: str = "chung/population"

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Return nothing: there is nothing to simulate."""
        return {}

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the shares of the playlist."""
        clips = playlist_clips()
        lengths_s = np.array([clip.length_s for clip in clips])
        one = [clip for clip in clips if len(clip.ladder_kbps) == 1]
        middle = [clip for clip in clips if 3 <= len(clip.ladder_kbps) <= 5]
        many = [clip for clip in clips if len(clip.ladder_kbps) > 5]
        return {
            "w1_median": float(np.median(lengths_s)),
            "w1_shortest": float(lengths_s.min()),
            "w1_longest": float(lengths_s.max()),
            "w5_one": len(one) / len(clips),
            "w5_more": _share(clips, lambda clip: len(clip.ladder_kbps) > 4),
            "w6_high": _share(one, lambda clip: clip.ladder_kbps[0] > 150),
            "w6_middle": _share(middle, lambda clip: clip.ladder_kbps[0] >= 50),
            "w6_low": float(min(sum(rate < 50 for rate in clip.ladder_kbps) for clip in many)),
            **{f"w7_lowest_{fair:g}": _above(clips, 0, fair) for fair in _FAIR_KBPS},
            **{f"w7_highest_{fair:g}": 1 - _above(clips, -1, fair) for fair in _FAIR_KBPS},
        }


@dataclass(frozen=True)
class HeadToHead(Experiment):
    """CCZ-S1: pairs of a UDP and a TCP player behind a token bucket; a part is a run at one rate.

    Attributes:
        clips: Numbers of the clips that are played; empty: all.
    """

    clips: tuple[int, ...] = ()
    name: str = "chung/head-to-head"
    parts: int = len(RATES_KBPS) * PLAYLIST_RUNS

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play the playlist once at one rate."""
        rate_kbps = RATES_KBPS[part // PLAYLIST_RUNS]
        played = list(
            _play_pairs(_chosen(self.clips), rate_kbps, token_bucket(rate_kbps), seed=seed)
        )
        return {
            "rate_kbps": rate_kbps,
            "pairs": [pair for pair, _ in played],
            "pool": _pooled([pool for _, pool in played]),
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the values of all findings from both runs at all rates."""
        of_rate = {
            rate: [part for part in parts if part["rate_kbps"] == rate] for rate in RATES_KBPS
        }
        pairs = {
            rate: [pair for part in some for pair in part["pairs"]]
            for rate, some in of_rate.items()
        }
        pools = {rate: _pooled([part["pool"] for part in some]) for rate, some in of_rate.items()}
        return {
            **pair_measures.measure_traffic(pairs, pools),
            **pair_measures.measure_competing(pairs),
            **pair_measures.compare_bandwidth(pairs),
            **pair_measures.correlate_with_pings(pairs),
            **pair_measures.measure_friendliness(pairs),
            **scaling.measure_switching(pairs),
            **pair_measures.measure_smoothness(pools),
        }


@dataclass(frozen=True)
class MediaScaling(Experiment):
    """CCZ-S2: one stream alone behind a token bucket of 35 kbit/s; part 0 is UDP, part 1 TCP.

    Attributes:
        clips: Numbers of the clips that are played; empty: all. Clips 65 and 78 must be among them.
    """

    clips: tuple[int, ...] = ()
    name: str = "chung/alone"
    parts: int = 2

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play the playlist once over one transport."""
        link = token_bucket(scaling.LIMIT_KBPS, queue_bytes=5_000).link()
        return {
            "playouts": list(_play_alone(_chosen(self.clips), TRANSPORTS[part], link, seed=seed))
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the values of the findings of media scaling."""
        return scaling.measure_scaling(parts[0]["playouts"], parts[1]["playouts"])


#: Unconstrained accesses of CCZ-S3: campus LAN, and DSL without a filter. The paper leaves their
#: queues open: here they hold 100 packets of full size and half a second.
_ACCESSES = {
    "lan": Bottleneck(15_000, queue_bytes=150_000),
    "dsl": Bottleneck(700, queue_bytes=43_750),
}


@dataclass(frozen=True)
class Unconstrained(Experiment):
    """CCZ-S3: pairs on the LAN (part 0) and on DSL without a filter (part 1), one run each.

    Attributes:
        clips: Numbers of the clips that are played; empty: all.
    """

    clips: tuple[int, ...] = ()
    name: str = "chung/unconstrained"
    parts: int = len(_ACCESSES)

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play the playlist once over one access."""
        access = list(_ACCESSES.values())[part]
        return {
            "pairs": [
                pair
                for pair, _ in _play_pairs(
                    _chosen(self.clips), round(access.rate_kbps), access, seed=seed
                )
            ]
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the values of the findings without a bottleneck."""
        values = pair_measures.measure_unconstrained(parts[0]["pairs"])
        for name, part in zip(_ACCESSES, parts, strict=True):
            udp, tcp = udp_kbps(part["pairs"]), tcp_kbps(part["pairs"])
            values[f"s3_{name}"] = float(stats.ks_2samp(udp, tcp).statistic)
        return values


@dataclass(frozen=True)
class Clearing(Experiment):
    """CCZ-M5: streams alone on 600 kbit/s that drop to 75 for two minutes, longer than buffers."""

    from_s: float = 60.0
    until_s: float = 180.0
    length_s: float = 420.0
    clips: int = 12
    name: str = "chung/clearing"
    parts: int = 2

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play the clips over one transport."""
        return {
            "playouts": list(_play_alone(self._clips(), TRANSPORTS[part], self._link(), seed=seed))
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the shares of streams that went down and up again."""
        udp, tcp = (part["playouts"] for part in parts)
        return scaling.measure_clearing(udp, tcp, from_s=self.from_s, until_s=self.until_s)

    def _clips(self) -> list[PlaylistClip]:
        """Return the first clips that have levels on both sides of 75 kbit/s, all of one length."""
        scalable = [
            clip
            for clip in playlist_clips()
            if clip.ladder_kbps[0] < 75 and clip.ladder_kbps[-1] > 80
        ]
        return [replace(clip, length_s=self.length_s) for clip in scalable[: self.clips]]

    def _link(self) -> dict[str, object]:
        rates_bps = [bps_from_kbps(rate_kbps) for rate_kbps in (600, 75, 600)]
        capacity = {
            "steps": {
                "times_s": [0.0, self.from_s, self.until_s],
                "rates_bps": rates_bps,
                "period_s": None,
            }
        }
        return {"name": "bottleneck", "capacity": capacity, "queue": {"bytes": 10_000}}


def _chosen(numbers: Sequence[int]) -> list[PlaylistClip]:
    return [clip for clip in playlist_clips() if not numbers or clip.number in numbers]


def play_together(clip: PlaylistClip, bottleneck: Bottleneck, *, seed: int) -> Outcome:
    """Play a clip over both transports side by side; the seed is that of the playlist's run."""
    return Outcome(run_scenario(scenario(clip, TRANSPORTS, bottleneck.link(), seed=seed)))


def _play_pairs(
    clips: Sequence[PlaylistClip], rate_kbps: int, bottleneck: Bottleneck, *, seed: int
) -> Iterator[tuple[Pair, Pool]]:
    for clip in clips:
        outcome = play_together(clip, bottleneck, seed=seed)
        (udp, of_udp), (tcp, of_tcp) = (
            outcome.playout(clip, transport) for transport in TRANSPORTS
        )
        yield Pair(clip, rate_kbps, udp, tcp, outcome.pings(PING)), Pool(of_udp, of_tcp)


def _play_alone(
    clips: Sequence[PlaylistClip], transport: Transport, bottleneck: dict[str, object], *, seed: int
) -> Iterator[Playout]:
    for clip in clips:
        outcome = Outcome(run_scenario(scenario(clip, (transport,), bottleneck, seed=seed)))
        yield outcome.playout(clip, transport)[0]


def _pooled(pools: Sequence[Pool]) -> Pool:
    return Pool(_joined([pool.udp for pool in pools]), _joined([pool.tcp for pool in pools]))


def _joined(series: Sequence[Series]) -> Series:
    return Series(
        np.concatenate([one.ratios for one in series]),
        np.sum([one.sizes for one in series], axis=0),
    )


def _share(clips: Sequence[PlaylistClip], holds: Callable[[PlaylistClip], bool]) -> float:
    return sum(map(holds, clips)) / len(clips)


def _above(clips: Sequence[PlaylistClip], level: int, limit_kbps: float) -> float:
    """Return the share of clips whose lowest (0) or highest (-1) level is above a limit."""
    return _share(clips, lambda clip: clip.ladder_kbps[level] > limit_kbps)


EXPERIMENTS: tuple[Experiment, ...] = (
    Population(),
    HeadToHead(),
    MediaScaling(),
    Unconstrained(),
    Clearing(),
)
