"""Table I: nine clips on an unlimited bottleneck without TurboPlay (BMW-T1), and what follows from
it (BMW-B1, B11).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.boyden.rows import row
from trafficgen.reproduction.boyden.setups import SURESTREAM, UNLIMITED_KBPS, Setup


@dataclass(frozen=True)
class _Row:
    """A row of Table I."""

    clip: int | str
    buffering_s: float
    buffering_kbps: float
    playback_kbps: float
    peak_kbps: float


_ROWS = (
    _Row(56, 6.02, 45, 32, 141),
    _Row(128, 7.00, 133, 94, 416),
    _Row(256, 5.51, 281, 217, 628),
    _Row(384, 7.51, 379, 336, 636),
    _Row(512, 7.00, 366, 432, 643),
    _Row(768, 6.05, 414, 680, 918),
    _Row(1000, 5.50, 562, 976, 1144),
    _Row(1500, 5.51, 817, 1362, 1558),
    _Row(SURESTREAM, 6.51, 851, 1336, 1556),
)
#: Clips in the order of Table I, which is that of the pieces.
CLIPS = tuple(one.clip for one in _ROWS)
LOW_RATE, HIGH_RATE = (56, 128, 256, 384), (512, 768, 1000, 1500)
_START_S = 30.0
_GAP_384 = (
    "twice the playback rate of 336 kbps is more than 660: Table I itself has 636 / 336 = 1.9"
)


def _table_rows() -> list[Finding]:
    rows = []
    for number, one in enumerate(_ROWS, start=1):
        name, clip = f"BMW-T1.{number}", one.clip
        rows += [
            row(name, f"buffering_s/{clip}", "buffering time", "s", one.buffering_s, is_input=True),
            row(name, f"buffering_kbps/{clip}", "buffering rate", "kbps", one.buffering_kbps),
            row(name, f"playback_kbps/{clip}", "playback rate", "kbps", one.playback_kbps),
            row(name, f"peak_kbps/{clip}", "largest rate in 0.5 s", "kbps", one.peak_kbps),
        ]
    return rows


def _start_rows() -> list[Finding]:
    rows = []
    for clip in LOW_RATE:
        what = f"{clip} kbps clip: largest rate in 1 s of the first 30 s"
        gap = _GAP_384 if clip == 384 else None
        rows += [
            row(
                "BMW-B1",
                f"ratio/{clip}",
                f"{what} / playback rate",
                "",
                "2 to 4 times",
                accept=(2.0, 4.6),
                gap=gap,
            ),
            row(
                "BMW-B1",
                f"largest_kbps/{clip}",
                what,
                "kbps",
                "at most about 600",
                accept=(None, 660.0),
            ),
        ]
    for clip in HIGH_RATE:
        what = f"{clip} kbps clip: largest rate in 1 s of the first 30 s / playback rate"
        rows.append(
            row("BMW-B1", f"ratio/{clip}", what, "", "indistinguishable", accept=(None, 1.5))
        )
    share = "playback rate / audience rate, mean of the four slowest clips"
    rows.append(row("BMW-B11", "audience_share", share, "share", 0.80, accept=(0.70, 0.85)))
    return rows


@dataclass(frozen=True)
class TableExperiment:
    """Each clip alone on a bottleneck of 100 Mbps; a piece is a clip."""

    name: str = "bmw-table"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Rows of BMW-T1, BMW-B1 and BMW-B11."""
        return (*_table_rows(), *_start_rows())

    @property
    def parts(self) -> int:
        """One piece a clip."""
        return len(_ROWS)

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play a clip. Playback ends with the clip: its last seconds, which came before, count in
        its mean.
        """
        session = Setup(clip=_ROWS[part].clip, link_kbps=UNLIMITED_KBPS).play(seed=seed)
        start_s, end_s = session.playback_s
        playback_kbps = session.mean_kbps(start_s, end_s)
        largest_kbps = float(np.max(session.rates_kbps(end_s=_START_S, width_s=1.0)))
        return {
            "buffering_s": start_s - session.first_s,
            "buffering_kbps": session.mean_kbps(session.first_s, start_s),
            "playback_kbps": playback_kbps,
            "peak_kbps": float(np.max(session.rates_kbps())),
            "largest_kbps": largest_kbps,
            "ratio": largest_kbps / playback_kbps,
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the measures of all clips by ``measure/clip``."""
        values = {
            f"{key}/{one.clip}": float(value)
            for one, measures in zip(_ROWS, parts, strict=True)
            for key, value in measures.items()
        }
        shares = [values[f"playback_kbps/{clip}"] / clip for clip in LOW_RATE]
        return {**values, "audience_share": float(np.mean(shares))}


TABLE = TableExperiment()
