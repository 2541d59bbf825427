"""CCZ-V1: how much the rate moves from one half second to the next."""

from __future__ import annotations

from collections.abc import Mapping

from trafficgen.flows import spread
from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.pairs import CONSTRAINED_KBPS, RATES_KBPS, Pool
from trafficgen.reproduction.chung.playlist import TCP_ENTRY
from trafficgen.reproduction.chung.rows import number

FINDINGS: tuple[Finding, ...] = (
    number(
        "CCZ-V1",
        "v1_600",
        "spread (p90/p10) of successive 0.5 s rates at 600 kbps, TCP's over UDP's",
        "",
        "both smooth",
        (0.8, 1.25),
    ),
    *(
        number(
            "CCZ-V1",
            f"v1_udp_{rate}",
            f"spread of UDP at {rate} kbps over that at 600",
            "",
            "less smooth",
            (1, None),
        )
        for rate in CONSTRAINED_KBPS
    ),
    *(
        number(
            "CCZ-V1",
            f"v1_tcp_{rate}",
            f"spread of TCP at {rate} kbps over that at 600",
            "",
            "less smooth",
            (1, None),
            entry=TCP_ENTRY,
        )
        for rate in CONSTRAINED_KBPS
    ),
    *(
        number(
            "CCZ-V1",
            f"v1_{rate}",
            f"spread at {rate} kbps, TCP's over UDP's",
            "",
            "TCP far less smooth",
            (1, None),
        )
        for rate in CONSTRAINED_KBPS
    ),
)


def quantities(pools: Mapping[int, Pool]) -> dict[str, float]:
    """Return the values of :data:`FINDINGS` from the ratios pooled at each rate."""
    udp = {rate: spread(pools[rate].udp.ratios) for rate in RATES_KBPS}
    tcp = {rate: spread(pools[rate].tcp.ratios) for rate in RATES_KBPS}
    values = {f"v1_{rate}": tcp[rate] / udp[rate] for rate in RATES_KBPS}
    for rate in CONSTRAINED_KBPS:
        values[f"v1_udp_{rate}"] = udp[rate] / udp[600]
        values[f"v1_tcp_{rate}"] = tcp[rate] / tcp[600]
    return values
