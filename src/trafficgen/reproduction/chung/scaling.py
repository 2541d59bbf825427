"""How streams find a level that fits, and switch levels later (CCZ-M1 to M6, B6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trafficgen.reproduction.chung.playout import CONSTRAINED_KBPS, Pair, PairsByRate, Playout
from trafficgen.reproduction.experiment import Measures
from trafficgen.units import FloatArray

LIMIT_KBPS = 35
_STEPPING_CLIP, _LEAPING_CLIP = 65, 78
#: TCP must be later than UDP at every quantile from here on (CCZ-M2).
_FROM_QUANTILE, _QUANTILE_STEP = 0.45, 0.01
#: The steps up of the sample pair come within this time after there is room (CCZ-M6), s.
_FOLLOWS_WITHIN_S = 45.0


def measure_scaling(udp: Sequence[Playout], tcp: Sequence[Playout]) -> Measures:
    """Measure how streams find a level (CCZ-M1 to M4, B6); both in the order of the playlist."""
    still_udp, still_tcp = (np.array([each.changes == 0 for each in some]) for some in (udp, tcp))
    udp_s, tcp_s = (
        np.array([each.find_adaptation_s(LIMIT_KBPS) for each in some]) for some in (udp, tcp)
    )
    within_10 = float(np.mean(udp_s <= 10))
    return {
        "m1_udp": float(np.mean(still_udp)),
        "m1_tcp": float(np.mean(still_tcp)),
        "m1_only": float(np.mean(~still_udp & still_tcp)),
        "m1_more": float(
            np.mean([each.changes for each in udp]) - np.mean([each.changes for each in tcp])
        ),
        "m2_always": float(np.mean([each.clip.ladder_kbps[-1] <= LIMIT_KBPS for each in udp])),
        "m2_udp_2": float(np.mean(udp_s <= 2)),
        "m2_tcp_2": float(np.mean(tcp_s <= 2)),
        "m2_udp_10": within_10,
        "m2_behind": within_10 - float(np.mean(tcp_s <= 25)),
        "m2_later": _least_delay_s(udp_s, tcp_s),
        "m4_lag": _median_lag_s(tcp) / _median_lag_s(udp),
        **_of_clip_65(_of(_STEPPING_CLIP, udp), _of(_STEPPING_CLIP, tcp)),
        **_of_clip_78(_of(_LEAPING_CLIP, udp), _of(_LEAPING_CLIP, tcp)),
    }


def _of(number: int, playouts: Sequence[Playout]) -> Playout:
    return next(each for each in playouts if each.clip.number == number)


def _of_clip_65(udp: Playout, tcp: Playout) -> Measures:
    udp_s = udp.find_adaptation_s(LIMIT_KBPS)
    return {
        "b6_udp": udp.span_s,
        "b6_tcp": tcp.span_s,
        "m3_udp_steps": _steps_until_below(udp),
        "m3_tcp_steps": _steps_until_below(tcp),
        "m3_udp_s": udp_s,
        "m3_times": tcp.find_adaptation_s(LIMIT_KBPS) / udp_s if udp_s > 0 else math.nan,
    }


def _of_clip_78(udp: Playout, tcp: Playout) -> Measures:
    early = [
        rate
        for time_s, rate in zip(udp.encoding_time_s, udp.encoding_kbps, strict=True)
        if time_s <= 10
    ]
    return {
        "m3_levels": float(len(set(early))),
        "m3_leaps": _steps_until_below(tcp),
        "m3_leap_s": tcp.find_adaptation_s(LIMIT_KBPS),
    }


def _steps_until_below(playout: Playout) -> float:
    """Count scale changes until the first level below the limit; NaN where none is reached."""
    below = np.flatnonzero(np.array(playout.encoding_kbps) <= LIMIT_KBPS)
    return float(below[0]) if below.size else math.nan


def _least_delay_s(udp_s: FloatArray, tcp_s: FloatArray) -> float:
    """Return the least difference of both quantile functions from 45% on, s."""
    reached = min(float(np.mean(np.isfinite(udp_s))), float(np.mean(np.isfinite(tcp_s))))
    shares = np.arange(_FROM_QUANTILE, reached, _QUANTILE_STEP)
    if shares.size == 0:
        return math.nan
    ranks = np.ceil(shares * udp_s.size).astype(int) - 1  # inverse of the distribution function
    return float((np.sort(tcp_s)[ranks] - np.sort(udp_s)[ranks]).min())


def _median_lag_s(playouts: Sequence[Playout]) -> float:
    """Return the median time from a switch down to the first packet of that level, s."""
    lags_s = []
    for each in playouts:
        written = list(zip(each.server_time_s, each.server_kbps, strict=True))
        for (_, before), (switched_s, rate) in pairwise(written):
            came_s = [
                at
                for at, got in zip(each.encoding_time_s, each.encoding_kbps, strict=True)
                if got == rate and at >= switched_s
            ]
            if rate < before and came_s:
                lags_s.append(came_s[0] - switched_s)
    return float(np.median(lags_s)) if lags_s else math.nan


def measure_switching(pairs: PairsByRate) -> Measures:
    """Count pairs that change both ways, and steps up into room that TCP leaves (CCZ-M6)."""
    constrained = [pair for rate in CONSTRAINED_KBPS for pair in pairs[rate]]
    both = sum(all(map(_changes_both_ways, pair.streams)) for pair in constrained)
    return {"m6_both": float(both), "m6_follows": _follows_beyond_chance(constrained)}


def _changes_both_ways(playout: Playout) -> bool:
    """Return whether a stream goes to a lower and to a higher level."""
    return bool(playout.ups_s.size and playout.downs_s.size)


def measure_clearing(
    udp: Sequence[Playout], tcp: Sequence[Playout], *, from_s: float, until_s: float
) -> Measures:
    """Count streams that go down while the link is narrow and up afterwards (CCZ-M5)."""
    return {
        f"m5_{name}": np.mean([_goes_down_and_up(each, from_s, until_s) for each in some])
        for name, some in (("udp", udp), ("tcp", tcp))
    }


def _goes_down_and_up(playout: Playout, from_s: float, until_s: float) -> bool:
    downs_s, ups_s = playout.downs_s, playout.ups_s
    return bool(((downs_s >= from_s) & (downs_s < until_s)).any() and (ups_s >= until_s).any())


def _follows_beyond_chance(pairs: Sequence[Pair]) -> float:
    """Return how much more often a step up follows one down than chance; NaN without steps."""
    followed: list[float] = []
    expected: list[float] = []
    for pair in pairs:
        ups_s, downs_s = pair.udp.ups_s, pair.tcp.downs_s
        if not ups_s.size:
            continue
        moments_s = np.arange(0.0, max(pair.udp.span_s, 1.0), 1.0)
        followed.extend(_is_after(ups_s, downs_s))
        expected.extend(np.full(ups_s.size, np.mean(_is_after(moments_s, downs_s))))
    return float(np.mean(followed) - np.mean(expected)) if followed else math.nan


def _is_after(moments_s: FloatArray, events_s: FloatArray) -> FloatArray:
    """Return 1 where an event lies shortly before a moment, else 0, shape (n,)."""
    since_s = moments_s[:, None] - events_s[None, :]
    return np.asarray(
        ((since_s > 0) & (since_s <= _FOLLOWS_WITHIN_S)).any(axis=1), dtype=np.float64
    )
