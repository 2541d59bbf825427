"""Clips with several bit rates: packet pair, the level it picks, its audio, low levels sent along
(section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.nichols.rows import row
from trafficgen.reproduction.nichols.session import Session
from trafficgen.reproduction.nichols.testbed import CAPACITIES_KBPS, RATES_KBPS, RUNS, Setting, play

DOWNWARDS = tuple(RATES_KBPS[-count:] for count in range(1, 11))
UPWARDS = tuple(RATES_KBPS[:count] for count in range(1, 11))
TRIPLES = ((548, 764, 1128), (340, 548, 764), (282, 340, 548), (148, 282, 340))
#: One level above 725 kbps and one below: the lower is taken always.
PAIRS = ((340, 1128), (548, 1128), (340, 764), (282, 764))
#: Capacity and levels of each clip, kbps, in the order of their numbers.
_POINTS = (
    *(
        (capacity, ladder)
        for capacity in CAPACITIES_KBPS
        for ladder in dict.fromkeys((*DOWNWARDS, *UPWARDS))
    ),
    *((725, ladder) for ladder in (*TRIPLES, *PAIRS)),
)
#: The lists share some points: what counts is the later place.
NUMBERS = {point: number for number, point in enumerate(_POINTS)}


def play_ladder(capacity_kbps: int, ladder_kbps: tuple[int, ...], *, seed: int) -> Session:
    """Simulate one run of a point of :data:`NUMBERS`."""
    setting = Setting(capacity_kbps=capacity_kbps, clip={"ladder_kbps": list(ladder_kbps)})
    return play(setting, seed=seed, run=NUMBERS[capacity_kbps, ladder_kbps])


def _largest_that_fits(ladder: Sequence[int], capacity: int) -> int:
    return max((rate for rate in ladder if rate <= capacity), default=min(ladder))


def _present_rate(session: Session, ladder: Sequence[int], number: int) -> int:
    return sorted(ladder)[int(session.level[number])]


@dataclass(frozen=True)
class MultipleRates:
    """All clips of figures 41 to 72; a part is one run of each."""

    name: str = "nichols/multiple-rates"

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings of section 4.2."""
        return _FINDINGS

    @property
    def parts(self) -> int:
        """One for each run of a point."""
        return RUNS

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate each clip at each of its capacities."""
        sessions = {point: play_ladder(*point, seed=seed) for point in NUMBERS}
        return {
            **_choices(sessions),
            **_probe(sessions),
            **_audio(sessions),
            **_after(sessions),
            **_reports(seed),
        }

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Means over the runs."""
        return {key: float(np.mean([part[key] for part in parts])) for key in parts[0]}


_Sessions: TypeAlias = dict[tuple[int, tuple[int, ...]], Session]


def _choices(sessions: _Sessions) -> dict[str, float]:
    right = [
        _present_rate(session, ladder, 0) == _largest_that_fits(ladder, capacity)
        for (capacity, ladder), session in sessions.items()
    ]
    lower = [_present_rate(sessions[725, pair], pair, 0) == min(pair) for pair in PAIRS]
    return {"right_choice": float(np.mean(right)), "lower_choice": float(np.mean(lower))}


def _probe(sessions: _Sessions) -> dict[str, float]:
    errors = [
        abs(session.estimate_kbps / capacity - 1) for (capacity, _), session in sessions.items()
    ]
    some = sessions[725, TRIPLES[0]]
    return {
        "probe_error": float(np.mean(errors)),
        "probe_packets": float(some.probe_s.size),
        "probe_bytes": float(some.probe_bytes.mean()),
    }


def _audio(sessions: _Sessions) -> dict[str, float]:
    ten, five = sessions[1500, RATES_KBPS], sessions[1500, RATES_KBPS[-5:]]
    return {
        "audio_340": sessions[725, (340, 1128)].post_rate_kbps,
        "audio_548": sessions[725, (548, 764, 1128)].post_rate_kbps,
        "along_rate": ten.buffering_rate_kbps / five.buffering_rate_kbps,
        "along_loss": ten.buffering_loss - five.buffering_loss,
    }


def _after(sessions: _Sessions) -> dict[str, float]:
    """Share of clips of growing highest rate that end at the last level that was not thinned alone
    (NIC-M5).
    """
    unthinned = {250: 148, 725: 548, 1500: 1128}
    ends = [
        _present_rate(sessions[capacity, ladder], ladder, -1)
        == _largest_that_fits(ladder, unthinned[capacity])
        for capacity in CAPACITIES_KBPS
        for ladder in UPWARDS
    ]
    return {"last_unthinned": float(np.mean(ends))}


def _reports(seed: int) -> dict[str, float]:
    lossy = play(Setting(capacity_kbps=250, clip={"encoding_rate_kbps": 548}), seed=seed, run=900)
    clean = play(
        Setting(capacity_kbps=1500, clip={"encoding_rate_kbps": 148}, tcp=None), seed=seed, run=901
    )
    return {
        "reports_lossy": _most_reports(lossy),
        "reports_clean": clean.report_s.size / clean.end_s,
    }


def _most_reports(session: Session) -> float:
    counts = np.bincount(session.report_s[session.report_s >= 0].astype(np.int64))
    return float(counts.max()) if counts.size else math.nan


_FINDINGS: tuple[Finding, ...] = (
    row("NIC-M1", "packets of the probe", "", 3, (3, 3), key="probe_packets", role="input"),
    row(
        "NIC-M1",
        "IP bytes of a packet of the probe",
        "bytes",
        1500,
        (1500, 1500),
        key="probe_bytes",
        role="input",
    ),
    row(
        "NIC-M1",
        "error of its estimate beside a TCP flow, mean",
        "share",
        "competitor not seen",
        (0, 0.05),
        key="probe_error",
    ),
    row(
        "NIC-M1",
        "most reports in a second under loss",
        "1/s",
        "more than 10",
        (10, 15),
        key="reports_lossy",
        role="input",
    ),
    row("NIC-M1", "reports without loss", "1/s", "rare", (0, 1), key="reports_clean", role="input"),
    row(
        "NIC-M2",
        "share of clips whose level is the largest that fits, else the lowest",
        "share",
        1,
        (0.92, 1),
        key="right_choice",
    ),
    row(
        "NIC-M2",
        "share of pairs of which the level below capacity is taken",
        "share",
        1,
        (0.92, 1),
        key="lower_choice",
    ),
    row(
        "NIC-M3",
        "rate after buffering of (1128, 340) at 725 kbps",
        "kbps",
        425,
        (382.5, 467.5),
        key="audio_340",
    ),
    row(
        "NIC-M3",
        "rate after buffering of (1128, 764, 548) at 725 kbps",
        "kbps",
        628,
        (565.2, 690.8),
        key="audio_548",
    ),
    row(
        "NIC-M4",
        "buffering rate with ten levels / with the five highest at 1500 kbps",
        "",
        "higher",
        (1, None),
        key="along_rate",
    ),
    row(
        "NIC-M4",
        "loss in buffering with ten levels less that with five at 1500 kbps",
        "share",
        "higher",
        (0, None),
        key="along_loss",
    ),
    row(
        "NIC-M5",
        "share of clips of growing highest rate that end at the last level that is not thinned"
        " alone",
        "share",
        1,
        (0.92, 1),
        key="last_unthinned",
    ),
)
