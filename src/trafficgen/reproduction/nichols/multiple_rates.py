"""Clips with several bit rates: the packet-pair estimate, and the level it picks (section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from trafficgen.reproduction.experiment import Experiment
from trafficgen.reproduction.nichols.session import Session
from trafficgen.reproduction.nichols.testbed import CAPACITIES_KBPS, RATES_KBPS, RUNS, Setting, play

_DOWNWARDS = tuple(RATES_KBPS[-count:] for count in range(1, 11))
_UPWARDS = tuple(RATES_KBPS[:count] for count in range(1, 11))
_TRIPLES = ((548, 764, 1128), (340, 548, 764), (282, 340, 548), (148, 282, 340))
#: One level above 725 kbit/s and one below: the lower is taken always.
_PAIRS = ((340, 1128), (548, 1128), (340, 764), (282, 764))
#: Capacity and levels of each clip, kbit/s, in the order of their numbers.
_POINTS = (
    *(
        (capacity, ladder)
        for capacity in CAPACITIES_KBPS
        for ladder in dict.fromkeys((*_DOWNWARDS, *_UPWARDS))
    ),
    *((725, ladder) for ladder in (*_TRIPLES, *_PAIRS)),
)
#: The lists share some points: what counts is the later place.
_NUMBERS = {point: number for number, point in enumerate(_POINTS)}


def _largest_that_fits(ladder: Sequence[int], capacity: int) -> int:
    return max((rate for rate in ladder if rate <= capacity), default=min(ladder))


def _present_rate(session: Session, ladder: Sequence[int], number: int) -> int:
    return sorted(ladder)[int(session.level[number])]


@dataclass(frozen=True)
class MultipleRates(Experiment):
    """All clips of figures 41 to 72; a part is one run of each."""

    name: str = "nichols/multiple-rates"
    parts: int = RUNS

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Simulate each clip at each of its capacities."""
        del part
        sessions = {
            (capacity_kbps, ladder): play(
                Setting(capacity_kbps=capacity_kbps, clip={"ladder_kbps": list(ladder)}),
                seed=seed,
                run=number,
            )
            for (capacity_kbps, ladder), number in _NUMBERS.items()
        }
        return {
            **_choices(sessions),
            **_probe(sessions),
            **_audio(sessions),
            **_after(sessions),
            **_reports(seed),
        }


_Sessions: TypeAlias = dict[tuple[int, tuple[int, ...]], Session]


def _choices(sessions: _Sessions) -> dict[str, float]:
    right = [
        _present_rate(session, ladder, 0) == _largest_that_fits(ladder, capacity)
        for (capacity, ladder), session in sessions.items()
    ]
    lower = [_present_rate(sessions[725, pair], pair, 0) == min(pair) for pair in _PAIRS]
    return {"right_choice": float(np.mean(right)), "lower_choice": float(np.mean(lower))}


def _probe(sessions: _Sessions) -> dict[str, float]:
    errors = [
        abs(session.estimate_kbps / capacity - 1) for (capacity, _), session in sessions.items()
    ]
    some = sessions[725, _TRIPLES[0]]
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
    """Share of clips that end at the last level that was not thinned alone (NIC-M5)."""
    unthinned = {250: 148, 725: 548, 1500: 1128}
    ends = [
        _present_rate(sessions[capacity, ladder], ladder, -1)
        == _largest_that_fits(ladder, unthinned[capacity])
        for capacity in CAPACITIES_KBPS
        for ladder in _UPWARDS
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
