"""CCZ-M1 to M4 and B6: how streams that are alone on 35 kbit/s find a level that fits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.playlist import TCP_ENTRY
from trafficgen.reproduction.chung.playout import Playout
from trafficgen.reproduction.chung.rows import number, share
from trafficgen.units import FloatArray

LIMIT_KBPS = 35
_STEPPING_CLIP, _LEAPING_CLIP = 65, 78
#: TCP must be later than UDP at every quantile from here on (CCZ-M2).
_FROM_QUANTILE, _QUANTILE_STEP = 0.45, 0.01
#: CCZ-M4 has no figure: what the send buffer holds must delay a switch at least so many times as
#: long as over UDP.
_LAG_TIMES = 3.0

FINDINGS: tuple[Finding, ...] = (
    number(
        "CCZ-B6", "b6_udp", "time to transmit 3 min of clip 65 over UDP", "s", 200.0, (185, 220)
    ),
    number(
        "CCZ-B6",
        "b6_tcp",
        "time to transmit 3 min of clip 65 over TCP",
        "s",
        "more than 300",
        (300, None),
        entry=TCP_ENTRY,
    ),
    share("CCZ-M1", "m1_udp", "clips without scale changes over UDP", 0.35, (0.27, 0.43)),
    share(
        "CCZ-M1",
        "m1_tcp",
        "clips without scale changes over TCP",
        0.55,
        (0.47, 0.63),
        entry=TCP_ENTRY,
    ),
    share("CCZ-M1", "m1_only", "clips that scale over UDP and never over TCP", 0.2, (0.12, 0.28)),
    number(
        "CCZ-M1",
        "m1_more",
        "mean number of scale changes, UDP's less TCP's",
        "",
        "more over UDP",
        (0, None),
    ),
    share("CCZ-M2", "m2_always", "clips that are always below 35 kbps", 0.15, role="input"),
    share("CCZ-M2", "m2_udp_2", "clips below 35 kbps within 2 s over UDP", 0.4, (0.32, 0.48)),
    share(
        "CCZ-M2",
        "m2_tcp_2",
        "clips below 35 kbps within 2 s over TCP",
        0.4,
        (0.32, 0.48),
        entry=TCP_ENTRY,
    ),
    share("CCZ-M2", "m2_udp_10", "clips below 35 kbps within 10 s over UDP", 0.8, (0.75, 0.9)),
    share(
        "CCZ-M2",
        "m2_behind",
        "clips below 35 kbps within 10 s over UDP less those within 25 s over TCP",
        "TCP needs more than 25 s",
        (0.03, None),
        entry=TCP_ENTRY,
    ),
    number(
        "CCZ-M2",
        "m2_later",
        "least delay of TCP behind UDP over the quantiles of the adaptation time from 45%",
        "s",
        "significantly more",
        (0, None),
        entry=TCP_ENTRY,
    ),
    number(
        "CCZ-M3", "m3_udp_steps", "clip 65: scale changes over UDP until below 35 kbps", "", 6.0
    ),
    number(
        "CCZ-M3",
        "m3_tcp_steps",
        "clip 65: scale changes over TCP until below 35 kbps",
        "",
        6.0,
        entry=TCP_ENTRY,
    ),
    number(
        "CCZ-M3",
        "m3_udp_s",
        "clip 65: time until below 35 kbps over UDP",
        "s",
        "much more quickly",
        (None, 10),
    ),
    number(
        "CCZ-M3",
        "m3_times",
        "clip 65: that time over TCP, times UDP's",
        "",
        "much more quickly",
        (2, None),
        entry=TCP_ENTRY,
    ),
    number("CCZ-M3", "m3_levels", "clip 78: levels that UDP uses within 10 s", "", 7.0),
    number(
        "CCZ-M3",
        "m3_leaps",
        "clip 78: scale changes over TCP until below 35 kbps",
        "",
        1.0,
        entry=TCP_ENTRY,
    ),
    number(
        "CCZ-M3",
        "m3_leap_s",
        "clip 78: time of that change",
        "s",
        "more than 20",
        (20, 40),
        entry=TCP_ENTRY,
    ),
    number(
        "CCZ-M4",
        "m4_lag",
        "median time from the server's switch down until its media come, TCP's times UDP's",
        "",
        "high-rate data in TCP's buffers comes first",
        (_LAG_TIMES, None),
        entry=TCP_ENTRY,
    ),
)


def quantities(udp: Sequence[Playout], tcp: Sequence[Playout]) -> dict[str, float]:
    """Return the values of :data:`FINDINGS`; both sequences are in the order of the playlist."""
    still_udp, still_tcp = (np.array([each.changes == 0 for each in some]) for some in (udp, tcp))
    udp_s, tcp_s = (np.array([each.adapted_s(LIMIT_KBPS) for each in some]) for some in (udp, tcp))
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


def _of(number_: int, playouts: Sequence[Playout]) -> Playout:
    return next(each for each in playouts if each.clip.number == number_)


def _of_clip_65(udp: Playout, tcp: Playout) -> dict[str, float]:
    udp_s = udp.adapted_s(LIMIT_KBPS)
    return {
        "b6_udp": udp.span_s,
        "b6_tcp": tcp.span_s,
        "m3_udp_steps": _steps_until_below(udp),
        "m3_tcp_steps": _steps_until_below(tcp),
        "m3_udp_s": udp_s,
        "m3_times": tcp.adapted_s(LIMIT_KBPS) / udp_s if udp_s > 0 else math.nan,
    }


def _of_clip_78(udp: Playout, tcp: Playout) -> dict[str, float]:
    early = [
        rate
        for time_s, rate in zip(udp.encoding_time_s, udp.encoding_kbps, strict=True)
        if time_s <= 10
    ]
    return {
        "m3_levels": float(len(set(early))),
        "m3_leaps": _steps_until_below(tcp),
        "m3_leap_s": tcp.adapted_s(LIMIT_KBPS),
    }


def _steps_until_below(playout: Playout) -> float:
    """Return the number of scale changes until the first level below the limit; NaN where it is
    never reached.
    """
    below = np.flatnonzero(np.array(playout.encoding_kbps) <= LIMIT_KBPS)
    return float(below[0]) if below.size else math.nan


def _least_delay_s(udp_s: FloatArray, tcp_s: FloatArray) -> float:
    """Return the least difference of the two quantile functions from 45% to where the lower curve
    ends, s.
    """
    reached = min(float(np.mean(np.isfinite(udp_s))), float(np.mean(np.isfinite(tcp_s))))
    shares = np.arange(_FROM_QUANTILE, reached, _QUANTILE_STEP)
    if shares.size == 0:
        return math.nan
    number_ = (
        np.ceil(shares * udp_s.size).astype(int) - 1
    )  # the inverse of the distribution function
    return float((np.sort(tcp_s)[number_] - np.sort(udp_s)[number_]).min())


def _median_lag_s(playouts: Sequence[Playout]) -> float:
    """Return the median time from a switch down at the server to the first packet of that level,
    s.
    """
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
