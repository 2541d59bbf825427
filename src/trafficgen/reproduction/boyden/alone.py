"""Streams alone on a bottleneck near or below their rate, and one with room (BMW-B2 to B5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.boyden.rows import row
from trafficgen.reproduction.boyden.session import BIN_S, Session
from trafficgen.reproduction.boyden.setups import Setup

_NEAR_CAPACITY = {256: (250.0, 230.0), 768: (750.0, 730.0), 1500: (1500.0, 1400.0)}
_BURST_SHARE = 0.9
_GAP_LOSS = (
    "near capacity the queue overflows when the clip's rate happens to stay high, in some runs and"
    " not in others"
)


def halves_s(session: Session) -> tuple[float, float, float]:
    """Return the first media packet, the middle, and the last one, s."""
    return session.first_s, (session.first_s + session.last_s) / 2, session.last_s


def _near_capacity(session: Session) -> dict[str, float]:
    first_s, middle_s, last_s = halves_s(session)
    start_s, _ = session.playback_s
    return {
        "mean_kbps": session.mean_kbps(start_s, last_s),
        "lost_first_half": float(session.lost_packets(first_s, middle_s)),
        "lost_second_half": float(session.lost_packets(middle_s, last_s)),
    }


def _too_small_for_low_rate(session: Session) -> dict[str, float]:
    _, middle_s, last_s = halves_s(session)
    rates = session.rates_kbps(start_s=middle_s, end_s=last_s)
    above = rates > 2 * rates.mean()
    # A peak is a run of bins above the limit, so that one that lasts does not count twice.
    peaks = int(above[0]) + int(np.sum(above[1:] & ~above[:-1]))
    return {"mean_kbps": float(rates.mean()), "peaks": float(peaks)}


def _too_small_for_high_rate(session: Session) -> dict[str, float]:
    _, middle_s, last_s = halves_s(session)
    return {
        "mean_kbps": session.mean_kbps(middle_s, last_s),
        "frames_per_s": session.frames_per_s(middle_s, last_s),
        "encoding_share": session.encoding_kbps(middle_s, last_s) / 1000.0,
    }


def _with_room(session: Session) -> dict[str, float]:
    rates = session.rates_kbps()
    steady_kbps = float(
        np.median(session.rates_kbps(start_s=session.phase_end_s() + 2, end_s=session.last_s - 2))
    )
    rises_s = BIN_S * float(np.argmax(rates >= steady_kbps))
    ends_s = session.phase_end_s()
    return {
        "fast_kbps": session.mean_kbps(rises_s, ends_s),
        "fast_s": ends_s - rises_s,
        "lost": float(session.lost_packets()),
    }


def _with_room_turboplay(session: Session) -> dict[str, float]:
    fast = np.flatnonzero(session.rates_kbps() >= _BURST_SHARE * 1500.0)
    begins_s, ends_s = BIN_S * float(fast[0]), BIN_S * float(fast[-1] + 1)
    lost = session.lost_packets()
    at_start = session.lost_packets(0.0, ends_s + 1)
    return {
        "fast_kbps": session.mean_kbps(begins_s, ends_s),
        "fast_s": ends_s - begins_s,
        "lost": float(lost),
        "lost_at_start": at_start / lost if lost else float("nan"),
    }


@dataclass(frozen=True)
class AloneExperiment:
    """Some set-ups with one stream each; a piece is a set-up.

    Attributes:
        name: Name of the experiment.
        findings: Its rows.
        setups: Set-ups, each with what is measured.
    """

    name: str
    findings: tuple[Finding, ...]
    setups: tuple[tuple[Setup, Callable[[Session], dict[str, float]]], ...]

    @property
    def parts(self) -> int:
        """One piece a set-up."""
        return len(self.setups)

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play a set-up."""
        setup, measured = self.setups[part]
        return measured(setup.play(seed=seed))

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the measures by ``measure/clip``, and losses beyond those of the slowest clip near
        capacity.
        """
        values = {
            f"{key}/{setup.clip}": float(value)
            for (setup, _), measures in zip(self.setups, parts, strict=True)
            for key, value in measures.items()
        }
        if "lost_first_half/256" in values:
            lost = {
                clip: values[f"lost_first_half/{clip}"] + values[f"lost_second_half/{clip}"]
                for clip in _NEAR_CAPACITY
            }
            values |= {f"lost_beyond_256/{clip}": lost[clip] - lost[256] for clip in (768, 1500)}
        return values


def _near_capacity_rows() -> tuple[Finding, ...]:
    rows = []
    for clip, (link_kbps, true_kbps) in _NEAR_CAPACITY.items():
        on = f"{clip} on {link_kbps:g} kbps"
        rows += [
            row(
                "BMW-B2",
                f"mean_kbps/{clip}",
                f"{on}: mean rate",
                "kbps",
                "target reached",
                accept=(0.9 * true_kbps, None),
            ),
            row(
                "BMW-B2",
                f"lost_first_half/{clip}",
                f"{on}: lost, first half",
                "packets",
                "steady loss",
                accept=(0.1, None),
                gap=_GAP_LOSS,
            ),
            row(
                "BMW-B2",
                f"lost_second_half/{clip}",
                f"{on}: lost, second half",
                "packets",
                "steady loss",
                accept=(0.1, None),
                gap=_GAP_LOSS,
            ),
        ]
    for clip in (768, 1500):
        what = f"lost of {clip} beyond those of 256"
        rows.append(
            row(
                "BMW-B2",
                f"lost_beyond_256/{clip}",
                what,
                "packets",
                "most for 768 and 1500",
                accept=(0.1, None),
                gap=_GAP_LOSS,
            )
        )
    return tuple(rows)


_UNDER_PROVISIONED_ROWS = (
    row(
        "BMW-B3",
        "mean_kbps/384",
        "384 on 250 kbps: mean rate, last half",
        "kbps",
        "audio only",
        accept=(None, 100.0),
    ),
    row(
        "BMW-B3",
        "peaks/384",
        "384 on 250 kbps: peaks above twice the mean, last half",
        "",
        "periodic spikes",
        accept=(5, None),
    ),
    row(
        "BMW-B4",
        "mean_kbps/1000",
        "1000 on 750 kbps: mean rate, last half",
        "kbps",
        "near capacity",
        accept=(675.0, None),
    ),
    row(
        "BMW-B4",
        "frames_per_s/1000",
        "1000 on 750 kbps: frame rate, last half",
        "1/s",
        "nearly 30",
        accept=(27.0, None),
    ),
    row(
        "BMW-B4",
        "encoding_share/1000",
        "1000 on 750 kbps: encoding / full",
        "share",
        "lower quality",
        accept=(None, 0.99),
    ),
)
_ROOM_ROWS = (
    row(
        "BMW-B5",
        "fast_kbps/512",
        "TurboPlay off: rate at first",
        "kbps",
        600,
        accept=(540.0, 660.0),
    ),
    row("BMW-B5", "fast_s/512", "TurboPlay off: how long", "s", 72, accept=(65.0, 79.0)),
    row("BMW-B5", "lost/512", "TurboPlay off: packets lost", "packets", 0, accept=(0.0, 0.0)),
)
_TURBOPLAY_ROWS = (
    row(
        "BMW-B5",
        "fast_kbps/512",
        "TurboPlay on: rate at first",
        "kbps",
        1500,
        accept=(1350.0, None),
        turboplay=True,
    ),
    row(
        "BMW-B5", "fast_s/512", "TurboPlay on: how long", "s", 8, accept=(7.0, 9.0), turboplay=True
    ),
    row(
        "BMW-B5",
        "lost/512",
        "TurboPlay on: packets lost",
        "packets",
        60,
        accept=(40.0, 80.0),
        turboplay=True,
    ),
    row(
        "BMW-B5",
        "lost_at_start/512",
        "TurboPlay on: of these at the start",
        "share",
        1.0,
        accept=(0.99, 1.0),
        turboplay=True,
    ),
)

ALONE = (
    AloneExperiment(
        "bmw-near-capacity",
        _near_capacity_rows(),
        tuple(
            (Setup(clip=clip, link_kbps=link), _near_capacity)
            for clip, (link, _) in _NEAR_CAPACITY.items()
        ),
    ),
    AloneExperiment(
        "bmw-under-provisioned",
        _UNDER_PROVISIONED_ROWS,
        (
            (Setup(clip=384, link_kbps=250.0), _too_small_for_low_rate),
            (Setup(clip=1000, link_kbps=750.0), _too_small_for_high_rate),
        ),
    ),
    AloneExperiment("bmw-room", _ROOM_ROWS, ((Setup(clip=512, link_kbps=1500.0), _with_room),)),
    AloneExperiment(
        "bmw-room-turboplay",
        _TURBOPLAY_ROWS,
        ((Setup(clip=512, link_kbps=1500.0, turboplay=True), _with_room_turboplay),),
    ),
)
