"""CCZ-F2 and F3: flows above the rate of a TCP connection on the same path (the bound of
CCZ-F1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trafficgen.calibration import tcp_friendly_bps
from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.pairs import (
    CONSTRAINED_KBPS,
    RATES_KBPS,
    Pair,
    PairsByRate,
    share_of,
)
from trafficgen.reproduction.chung.playlist import TCP_ENTRY
from trafficgen.reproduction.chung.playout import Playout
from trafficgen.reproduction.chung.rows import number, share
from trafficgen.units import kbps_from_bps

_UDP_ABOVE = {75: 0.12, 150: 0.11, 300: 0.14}
_BEFORE = {75: 0.07, 150: 0.06, 300: 0.08}
_AFTER = {75: 0.14, 150: 0.09, 300: 0.14}

_GAP = (
    "clips that have high levels only are the unfriendly ones here, since they cannot answer; the"
    " paper counts hardly any of them and leaves open why: its players may have ended such playouts"
)

FINDINGS: tuple[Finding, ...] = (
    *(
        share(
            "CCZ-F2",
            f"f2_udp_{rate}",
            f"UDP flows above the TCP-friendly rate at {rate} kbps",
            published,
            (0.06, 0.18),
        )
        for rate, published in _UDP_ABOVE.items()
    ),
    share(
        "CCZ-F2",
        "f2_udp_600",
        "UDP flows above it at 600 kbps less the mean of the lower rates",
        -0.06,
        (None, 0),
    ),
    *(
        share(
            "CCZ-F2",
            f"f2_tcp_{rate}",
            f"TCP flows above the TCP-friendly rate at {rate} kbps",
            0.0,
            (0, 0.03),
            entry=TCP_ENTRY,
        )
        for rate in CONSTRAINED_KBPS
    ),
    share(
        "CCZ-F2",
        "f2_tcp_600",
        "TCP flows above the TCP-friendly rate at 600 kbps",
        0.08,
        (0, 0.12),
        entry=TCP_ENTRY,
    ),
    *(
        share(
            "CCZ-F3",
            f"f3_before_{rate}",
            f"unfriendly UDP flows of all with pings at {rate} kbps",
            published,
            (0.03, 0.12),
        )
        for rate, published in _BEFORE.items()
    ),
    *(
        share(
            "CCZ-F3",
            f"f3_after_{rate}",
            f"unfriendly UDP flows of those that can scale to the fair share at {rate} kbps",
            published,
            (0.05, 0.20),
            gap=_GAP,
        )
        for rate, published in _AFTER.items()
    ),
    number(
        "CCZ-F3",
        "f3_growth",
        "share of unfriendly flows after leaving out less before, all three rates",
        "",
        0.07,
        (0, None),
        gap=_GAP,
    ),
)


def is_unfriendly(playout: Playout, pair: Pair) -> bool:
    """Return whether a flow's mean rate exceeds the bound of CCZ-F1 for the pings of its run; never
    without loss.
    """
    if not pair.pings.loss > 0:
        return False
    bound_bps = float(tcp_friendly_bps(np.array(pair.pings.rtt_s), np.array(pair.pings.loss)))
    return playout.mean_kbps > kbps_from_bps(bound_bps)


def quantities(pairs: PairsByRate) -> dict[str, float]:
    """Return the values of :data:`FINDINGS` for one run of the experiment."""
    values = {}
    answered = {
        rate: [pair for pair in pairs[rate] if not math.isnan(pair.pings.rtt_s)]
        for rate in RATES_KBPS
    }
    for rate, some in answered.items():
        lossy = [pair for pair in some if pair.pings.loss > 0]
        values[f"f2_udp_{rate}"] = share_of(lossy, _udp_is_unfriendly)
        values[f"f2_tcp_{rate}"] = share_of(lossy, lambda pair: is_unfriendly(pair.tcp, pair))
    values["f2_udp_600"] -= float(np.mean([values[f"f2_udp_{rate}"] for rate in CONSTRAINED_KBPS]))
    scalable = {rate: _can_scale(answered[rate], rate / 2) for rate in CONSTRAINED_KBPS}
    for rate in CONSTRAINED_KBPS:
        values[f"f3_before_{rate}"] = share_of(answered[rate], _udp_is_unfriendly)
        values[f"f3_after_{rate}"] = share_of(scalable[rate], _udp_is_unfriendly)
    before = share_of(
        [pair for rate in CONSTRAINED_KBPS for pair in answered[rate]], _udp_is_unfriendly
    )
    after = share_of(
        [pair for rate in CONSTRAINED_KBPS for pair in scalable[rate]], _udp_is_unfriendly
    )
    values["f3_growth"] = after - before
    return values


def _udp_is_unfriendly(pair: Pair) -> bool:
    return is_unfriendly(pair.udp, pair)


def _can_scale(pairs: Sequence[Pair], fair_kbps: float) -> list[Pair]:
    """Return the pairs whose clip has a level at or below the fair share and one at or above it
    (CCZ-F3).
    """
    return [
        pair for pair in pairs if pair.clip.ladder_kbps[0] <= fair_kbps <= pair.clip.ladder_kbps[-1]
    ]
