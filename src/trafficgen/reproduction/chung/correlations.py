"""CCZ-H4 and H5: whether UDP gains where round-trip times are long and losses many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.pairs import CONSTRAINED_KBPS, Pair, PairsByRate
from trafficgen.reproduction.chung.rows import number

#: "Very slight" and "none": within twice the standard error of a correlation of about 110 playouts.
_NONE_WITHIN = 0.2
_BY = (
    ("CCZ-H4", "rtt", "round-trip time", -0.13, "very slight", "modest"),
    ("CCZ-H5", "loss", "loss", -0.03, "none", "moderate"),
)


def _findings() -> tuple[Finding, ...]:
    rows = []
    for finding, key, name, published, at_600, below in _BY:
        what = f"correlation of TCP's less UDP's rate with {name}"
        rows.append(number(finding, f"{key}_all", f"{what}, all rates", "", published, (-1, 0)))
        rows.append(
            number(
                finding,
                f"{key}_600",
                f"{what} at 600 kbps",
                "",
                at_600,
                (-_NONE_WITHIN, _NONE_WITHIN),
            )
        )
        rows.extend(
            number(
                finding,
                f"{key}_{rate}",
                f"{what} at {rate} kbps",
                "",
                f"{below}, negative",
                (-1, 0),
            )
            for rate in CONSTRAINED_KBPS
        )
        order = f"largest of the three at 300, 150, 75 kbps less that at 600 kbps ({name})"
        rows.append(
            number(finding, f"{key}_order", order, "", "more negative than at 600", (None, 0))
        )
    return tuple(rows)


FINDINGS: tuple[Finding, ...] = _findings()


def quantities(pairs: PairsByRate) -> dict[str, float]:
    """Return the values of :data:`FINDINGS` for one run; servers that answer no ping are left out
    (CCZ-S4).
    """
    answered = {
        rate: [pair for pair in of_rate if not math.isnan(pair.pings.rtt_s)]
        for rate, of_rate in pairs.items()
    }
    values = {}
    for _, key, *_ in _BY:
        of_rate = {rate: _correlation(some, key) for rate, some in answered.items()}
        values[f"{key}_all"] = _correlation(
            [pair for some in answered.values() for pair in some], key
        )
        values.update({f"{key}_{rate}": value for rate, value in of_rate.items()})
        values[f"{key}_order"] = max(of_rate[rate] for rate in CONSTRAINED_KBPS) - of_rate[600]
    return values


def _correlation(pairs: Sequence[Pair], by: str) -> float:
    """Return Pearson's correlation of the difference of rates, kbit/s, with a measure of the
    pings.
    """
    other = [pair.pings.rtt_s if by == "rtt" else pair.pings.loss for pair in pairs]
    if len(pairs) < 3 or np.ptp(other) == 0:
        return math.nan
    return float(
        np.corrcoef([pair.tcp.mean_kbps - pair.udp.mean_kbps for pair in pairs], other)[0, 1]
    )
