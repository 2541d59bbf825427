"""Streams beside a bulk TCP flow on 1500 kbps (BMW-B6 to B9), and TurboPlay's first burst
(BMW-B10).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.boyden.rows import row
from trafficgen.reproduction.boyden.session import BIN_S, Session
from trafficgen.reproduction.boyden.setups import SURESTREAM, TCP, Setup
from trafficgen.reproduction.rows import around

_LINK_KBPS = 1500.0
#: By then TurboPlay has stopped sending ahead and TCP has come back.
_SETTLED_S = 30.0
_RUNS_OFF = 10
_TCP_STOP_S = 90.0
_AUDIO_ONLY_KBPS = 100.0
_BURST_CLIPS, _BURST_LINKS_KBPS = (256, 512, 1000), (750.0, 1500.0)
_BURST_S, _BURST_WITHIN_S = 2.0, 8.0


def _unfriendly(session: Session) -> dict[str, float]:
    settled_s = session.first_s + _SETTLED_S
    return {
        "tcp_before_kbps": session.mean_kbps(-5.0, 0.0, flow=TCP),
        "media_kbps": session.mean_kbps(settled_s, session.last_s),
        "tcp_kbps": session.mean_kbps(settled_s, session.last_s, flow=TCP),
    }


def _starved_then_back(session: Session) -> dict[str, float]:
    settled_s = session.first_s + _SETTLED_S
    return {
        "tcp_first_8_s_kbps": session.mean_kbps(session.first_s, session.first_s + 8.0, flow=TCP),
        "tcp_kbps": session.mean_kbps(settled_s, session.last_s, flow=TCP),
        "media_share": session.mean_kbps(settled_s, session.last_s) / 450.0,
    }


def _overrun(session: Session) -> dict[str, float]:
    audio_only_s = session.time_s("audio_only")
    after_tcp_kbps = session.mean_kbps(_TCP_STOP_S + 5, session.last_s)
    gave_up = audio_only_s - session.first_s <= 60.0 and after_tcp_kbps < _AUDIO_ONLY_KBPS
    return {
        "gave_up": float(gave_up),
        "media_share": session.mean_kbps(60.0, session.last_s) / 450.0,
        "tcp_kbps": session.mean_kbps(60.0, _TCP_STOP_S, flow=TCP),
    }


def _shut_down(session: Session) -> dict[str, float]:
    settled_s = session.first_s + _SETTLED_S
    return {
        "media_kbps": session.mean_kbps(settled_s, session.last_s),
        "tcp_kbps": session.mean_kbps(settled_s, session.last_s, flow=TCP),
        "tcp_after_kbps": session.mean_kbps(session.end_s - 8.0, session.end_s, flow=TCP),
    }


def _compromise(session: Session) -> dict[str, float]:
    start = session.rates_kbps(end_s=15.0)
    peak_s = BIN_S * float(np.argmax(start))
    later = session.rates_kbps(start_s=_SETTLED_S, end_s=session.last_s, width_s=1.0)
    low, high = np.percentile(later, [10, 90])
    return {
        "first_kbps": float(start.max()),
        "then_kbps": session.mean_kbps(peak_s + 0.5, peak_s + 2.5),
        "low_kbps": float(low),
        "high_kbps": float(high),
        "tcp_after_kbps": session.mean_kbps(session.end_s - 8.0, session.end_s, flow=TCP),
    }


def _burst(session: Session) -> dict[str, float]:
    rates = session.rates_kbps(start_s=session.first_s, end_s=session.first_s + _BURST_WITHIN_S)
    width = round(_BURST_S / BIN_S)
    return {"burst_kbps": float(np.convolve(rates, np.full(width, 1 / width), "valid").max())}


@dataclass(frozen=True)
class BesideTcpExperiment:
    """One set-up, some runs of it; a piece is a run, and a quantity the mean over them.

    Attributes:
        name: Name of the experiment.
        findings: Its rows.
        setup: The set-up.
        measured: What is measured of a run.
        parts: Number of runs that make one.
    """

    name: str
    findings: tuple[Finding, ...]
    setup: Setup
    measured: Callable[[Session], dict[str, float]]
    parts: int = 1

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play it."""
        return self.measured(self.setup.play(seed=seed))

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the means over the runs."""
        return {key: float(np.mean([one[key] for one in parts])) for key in parts[0]}


@dataclass(frozen=True)
class BurstExperiment:
    """TurboPlay's first burst for three clips on two links, alone and beside TCP; a piece is a
    set-up.
    """

    name: str = "bmw-burst"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rows of BMW-B10."""
        rows = []
        for setup in _burst_setups():
            beside = "beside TCP" if setup.beside_tcp else "alone"
            what = (
                f"{setup.clip} on {setup.link_kbps:g} kbps, {beside}: best 2 s of the first 8 s /"
                " link"
            )
            key = f"share/{setup.name}"
            rows.append(
                row(
                    "BMW-B10",
                    key,
                    what,
                    "share",
                    "nearly the link",
                    accept=(0.9, None),
                    turboplay=True,
                )
            )
        return tuple(rows)

    @property
    def parts(self) -> int:
        """One piece a set-up."""
        return len(_burst_setups())

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play a set-up."""
        return _burst(_burst_setups()[part].play(seed=seed))

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the share of the link of each set-up by its name."""
        setups = _burst_setups()
        pairs = zip(setups, parts, strict=True)
        return {f"share/{setup.name}": one["burst_kbps"] / setup.link_kbps for setup, one in pairs}


def _burst_setups() -> tuple[Setup, ...]:
    return tuple(
        Setup(clip=clip, link_kbps=link_kbps, turboplay=True, beside_tcp=beside)
        for clip in _BURST_CLIPS
        for link_kbps in _BURST_LINKS_KBPS
        for beside in (False, True)
    )


_ON_1000 = Setup(clip=1000, link_kbps=_LINK_KBPS, turboplay=True, beside_tcp=True)
_ON_512 = Setup(clip=512, link_kbps=_LINK_KBPS, turboplay=True, beside_tcp=True)
_OFF_512 = Setup(clip=512, link_kbps=_LINK_KBPS, beside_tcp=True, tcp_stop_s=_TCP_STOP_S)
_ON_SURESTREAM = Setup(
    clip=SURESTREAM, link_kbps=_LINK_KBPS, turboplay=True, beside_tcp=True, run_on_s=10.0
)
_OFF_SURESTREAM = Setup(clip=SURESTREAM, link_kbps=_LINK_KBPS, beside_tcp=True, run_on_s=10.0)

_ROWS_ON_1000 = (
    row("BMW-B6", "tcp_before_kbps", "TCP before the stream", "kbps", 1500, turboplay=True),
    row("BMW-B6", "media_kbps", "stream of 1000 kbps, TurboPlay on", "kbps", 1000, turboplay=True),
    row("BMW-B6", "tcp_kbps", "TCP beside it", "kbps", 500, turboplay=True),
)
_ROWS_ON_512 = (
    row(
        "BMW-B7",
        "tcp_first_8_s_kbps",
        "TurboPlay on: TCP in the first 8 s",
        "kbps",
        "starved",
        accept=(None, 300.0),
        turboplay=True,
    ),
    row(
        "BMW-B7",
        "tcp_kbps",
        "TurboPlay on: TCP then",
        "kbps",
        1000,
        accept=(900.0, 1100.0),
        turboplay=True,
    ),
    row(
        "BMW-B9",
        "media_share",
        "TurboPlay on: stream beside TCP / true rate",
        "share",
        "not cut",
        accept=(0.9, None),
        turboplay=True,
    ),
)
_ROWS_OFF_512 = (
    row(
        "BMW-B7",
        "gave_up",
        "TurboPlay off: audio only within 60 s and to the end",
        "share",
        "most",
        accept=(0.5, None),
    ),
    row(
        "BMW-B7",
        "tcp_kbps",
        "TurboPlay off: TCP from 60 to 90 s",
        "kbps",
        "TCP overruns the stream",
        accept=(1200.0, None),
    ),
    row(
        "BMW-B9",
        "media_share",
        "TurboPlay off: stream after 60 s / true rate",
        "share",
        "cut rather hard",
        accept=(None, 0.5),
    ),
)
_ROWS_ON_SURESTREAM = (
    row(
        "BMW-B8",
        "media_kbps",
        "TurboPlay on: stream",
        "kbps",
        "as one level of 1500",
        accept=around(1500.0),
        turboplay=True,
    ),
    row(
        "BMW-B8",
        "tcp_kbps",
        "TurboPlay on: TCP",
        "kbps",
        "shut down",
        accept=(None, 150.0),
        turboplay=True,
    ),
    row(
        "BMW-B8",
        "tcp_after_kbps",
        "TurboPlay on: TCP after the stream",
        "kbps",
        "whole link",
        accept=around(1500.0),
        turboplay=True,
    ),
)
_ROWS_OFF_SURESTREAM = (
    row("BMW-B8", "first_kbps", "TurboPlay off: largest rate at the start", "kbps", 1500),
    row("BMW-B8", "then_kbps", "TurboPlay off: the 2 s after it", "kbps", 1200),
    row("BMW-B8", "low_kbps", "TurboPlay off: low of the oscillation, 10% of seconds", "kbps", 750),
    row(
        "BMW-B8",
        "high_kbps",
        "TurboPlay off: high of the oscillation, 90% of seconds",
        "kbps",
        1100,
    ),
    row(
        "BMW-B8",
        "tcp_after_kbps",
        "TurboPlay off: TCP after the stream",
        "kbps",
        "whole link",
        accept=around(1500.0),
    ),
)

BESIDE_TCP = (
    BesideTcpExperiment("bmw-1000-turboplay", _ROWS_ON_1000, _ON_1000, _unfriendly),
    BesideTcpExperiment("bmw-512-turboplay", _ROWS_ON_512, _ON_512, _starved_then_back),
    BesideTcpExperiment("bmw-512", _ROWS_OFF_512, _OFF_512, _overrun, _RUNS_OFF),
    BesideTcpExperiment(
        "bmw-surestream-turboplay", _ROWS_ON_SURESTREAM, _ON_SURESTREAM, _shut_down
    ),
    BesideTcpExperiment("bmw-surestream", _ROWS_OFF_SURESTREAM, _OFF_SURESTREAM, _compromise),
    BurstExperiment(),
)
