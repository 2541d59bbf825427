"""Loss that the router induces (section 4.3), latency (4.4), and how long TCP takes to fill a link
(3.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.nichols.rows import row
from trafficgen.reproduction.nichols.session import Session
from trafficgen.reproduction.nichols.tcp_alone import tcp_rate_kbps
from trafficgen.reproduction.nichols.testbed import LATENCY_S, QUEUE_PACKETS, Setting, play

_SINGLE = Setting(capacity_kbps=725, clip={"encoding_rate_kbps": 548})
_MULTIPLE = Setting(capacity_kbps=725, clip={"ladder_kbps": [548, 340, 282, 148, 109, 58, 43, 28]})
_HIGHEST_LEVEL = 7
LOSSES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
_NEVER, _ALWAYS = (0.0, 0.01, 0.02), (0.05, 0.07, 0.1, 0.15, 0.2)
#: Loss that starts or stops 15 s into the stream (NIC-L3).
_CHANGE_S, _CHANGED_LOSS = 15.0, 0.1
_RUNS = 8
LATENCIES_S = (0.15, 0.45, 0.75, 1.05, 1.35)


def _mean(sessions: Sequence[Session], name: str) -> float:
    return float(np.mean([getattr(one, name) for one in sessions]))


@dataclass(frozen=True)
class InducedLoss:
    """Figures 73 to 84; a part is one run of each point."""

    name: str = "nichols/induced-loss"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of section 4.3."""
        return _LOSS_FINDINGS

    @property
    def parts(self) -> int:
        """One for each run of a point."""
        return _RUNS

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate every loss rate with one level and with several, and loss that changes."""
        single = [
            play(replace(_SINGLE, loss=loss), seed=seed, run=number)
            for number, loss in enumerate(LOSSES)
        ]
        multiple = [
            play(replace(_MULTIPLE, loss=loss), seed=seed, run=100 + number)
            for number, loss in enumerate(LOSSES)
        ]
        late = play(
            replace(_SINGLE, loss=_CHANGED_LOSS, loss_start_s=_CHANGE_S), seed=seed, run=200
        )
        early = play(
            replace(_SINGLE, loss=_CHANGED_LOSS, loss_stop_s=_CHANGE_S), seed=seed, run=201
        )
        return {
            "thinned": [one.thinned for one in single],
            "lower": [one.level[-1] < _HIGHEST_LEVEL and not one.thinned for one in multiple],
            "multiple_thinned": [one.thinned for one in multiple],
            "post_kbps": [one.post_rate_kbps for one in single],
            "offered_kbps": [one.offered_kbps(0.0, one.full_s) for one in single],
            "tcp_kbps": [one.tcp_kbps(0.0, one.full_s) for one in single],
            "late": late.answered,
            "early": early.answered,
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Shares and means over the runs."""
        mean = {
            key: np.mean([np.asarray(part[key], dtype=float) for part in parts], axis=0)
            for key in parts[0]
        }
        never = [LOSSES.index(loss) for loss in _NEVER]
        always = [LOSSES.index(loss) for loss in _ALWAYS]
        at = LOSSES.index
        return {
            "never": float(mean["thinned"][never].mean()),
            "always": float(mean["thinned"][always].mean()),
            "offered_ratio": float(mean["offered_kbps"][at(0.2)] / mean["offered_kbps"][at(0.0)]),
            "tcp_ratio": float(mean["tcp_kbps"][at(0.2)] / mean["tcp_kbps"][at(0.0)]),
            "rate_10": float(mean["post_kbps"][at(0.1)] / mean["post_kbps"][at(0.05)]),
            "rate_20": float(mean["post_kbps"][at(0.2)] / mean["post_kbps"][at(0.05)]),
            "lower_above_5": float(mean["lower"][at(0.07) :].mean()),
            "lower_at_3": float(mean["lower"][at(0.03)]),
            "lower_without": float(mean["lower"][never].mean()),
            "multiple_thinned": float(mean["multiple_thinned"].mean()),
            "late": float(mean["late"]),
            "early": float(mean["early"]),
        }


_LOSS_FINDINGS: tuple[Finding, ...] = (
    row("NIC-L1", "share of runs thinned at 0 to 2% loss", "share", 0, (0, 0.08), key="never"),
    row("NIC-L1", "share of runs thinned at 5 to 20% loss", "share", 1, (0.92, 1), key="always"),
    row(
        "NIC-L1",
        "offered rate in buffering at 20% / at 0",
        "",
        "more",
        (1, None),
        key="offered_ratio",
    ),
    row(
        "NIC-L1",
        "TCP's rate in buffering at 20% / at 0",
        "",
        "backs off",
        (None, 1),
        key="tcp_ratio",
    ),
    row(
        "NIC-L1",
        "rate after buffering at 10% / at 5%",
        "",
        "no change",
        (0.85, 1.15),
        key="rate_10",
    ),
    row(
        "NIC-L1",
        "rate after buffering at 20% / at 5%",
        "",
        "no change",
        (0.85, 1.15),
        key="rate_20",
    ),
    row(
        "NIC-L2",
        "share of runs that go to a lower level above 5%",
        "share",
        1,
        (0.92, 1),
        key="lower_above_5",
    ),
    row("NIC-L2", "the same at 3%", "share", "sometimes", (0.05, 0.95), key="lower_at_3"),
    row("NIC-L2", "the same at 0 to 2%", "share", 0, (0, 0.08), key="lower_without"),
    row(
        "NIC-L2",
        "share of runs with several levels that are thinned",
        "share",
        0,
        (0, 0.08),
        key="multiple_thinned",
    ),
    row(
        "NIC-L3",
        "share of runs that answer 10% loss from 15 s on",
        "share",
        0,
        (0, 0.08),
        key="late",
    ),
    row(
        "NIC-L3",
        "share of runs that answer 10% loss that stops at 15 s",
        "share",
        1,
        (0.92, 1),
        key="early",
    ),
)


@dataclass(frozen=True)
class InducedLatency:
    """Figures 85 to 92; a part is one run of each point."""

    name: str = "nichols/induced-latency"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of section 4.4."""
        return _LATENCY_FINDINGS

    @property
    def parts(self) -> int:
        """One for each run of a point."""
        return 3

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate every latency with a queue that grows with it, and with one that holds what is
        delayed.
        """
        base, grown = play_grown(seed)
        fixed = play_fixed(LATENCIES_S[-1], seed=seed)
        ratios = [one.post_rate_kbps / base.post_rate_kbps for one in grown]
        return {
            "answered": np.mean([one.answered for one in grown]),
            "smallest": min(ratios),
            "largest": max(ratios),
            "tcp": grown[-1].tcp_kbps(0.0, grown[-1].end_s) / base.tcp_kbps(0.0, base.end_s),
            "fixed_loss": fixed.buffering_loss - base.buffering_loss,
            "fixed_rate": fixed.post_rate_kbps / base.post_rate_kbps,
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Means over the runs."""
        return {key: float(np.mean([part[key] for part in parts])) for key in parts[0]}


def play_grown(seed: int) -> tuple[Session, list[Session]]:
    """Simulate 45 ms, and every latency with a queue that grows with it."""
    sessions = [
        play(_with_latency(latency), seed=seed, run=1 + number)
        for number, latency in enumerate(LATENCIES_S)
    ]
    return play(_SINGLE, seed=seed), sessions


def play_fixed(latency_s: float, *, seed: int) -> Session:
    """Simulate a latency with the queue of 80 packets, which what is delayed fills too."""
    setting = replace(_SINGLE, latency_s=latency_s, hold_in_flight=True)
    return play(setting, seed=seed, run=100 + LATENCIES_S[::-1].index(latency_s))


def _with_latency(latency_s: float) -> Setting:
    return replace(
        _SINGLE, latency_s=latency_s, queue_packets=round(QUEUE_PACKETS * latency_s / LATENCY_S)
    )


_LATENCY_FINDINGS: tuple[Finding, ...] = (
    row(
        "NIC-R1", "share of runs that answer 150 to 1350 ms", "share", 0, (0, 0.08), key="answered"
    ),
    row(
        "NIC-R1",
        "smallest rate after buffering at 150 to 1350 ms / at 45 ms",
        "",
        "no reaction",
        (0.9, 1.1),
        key="smallest",
    ),
    row(
        "NIC-R1",
        "largest rate after buffering at 150 to 1350 ms / at 45 ms",
        "",
        "no reaction",
        (0.9, 1.1),
        key="largest",
    ),
    row("NIC-R1", "TCP's rate at 1350 ms / at 45 ms", "", "gives up", (None, 1), key="tcp"),
    row(
        "NIC-R1",
        "loss in buffering with a fixed queue at 1350 ms less that at 45 ms",
        "share",
        "rises",
        (0, None),
        key="fixed_loss",
    ),
    row(
        "NIC-R1",
        "rate after buffering with a fixed queue at 1350 ms / at 45 ms",
        "",
        "falls",
        (None, 1),
        key="fixed_rate",
    ),
)


@dataclass(frozen=True)
class TcpAlone:
    """Figure 2: a bulk TCP flow alone over 140 kbps and 1000 ms."""

    name: str = "nichols/tcp-alone"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """NIC-S5."""
        quantity = "TCP's rate 10 to 15 s after its start / 140 kbps, 1000 ms round trip"
        return (row("NIC-S5", quantity, "", "fills the link", (0.9, None), key="filled"),)

    @property
    def parts(self) -> int:
        """One: it draws nothing."""
        return 1

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate 15 s."""
        return {"filled": tcp_rate_kbps(140.0, round_trip_s=1.0, seed=seed) / 140.0}

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the one measure."""
        return {"filled": float(parts[0]["filled"])}
