"""CCZ-H1, H2, H3 and H6: who gets the bandwidth when both transports stream side by side."""

from __future__ import annotations

import numpy as np
from scipy import stats

from trafficgen.reproduction.base import Finding
from trafficgen.reproduction.chung.pairs import (
    CONSTRAINED_KBPS,
    EQUAL_WITHIN,
    RATES_KBPS,
    PairsByRate,
    differences,
    tcp_kbps,
    udp_kbps,
)
from trafficgen.reproduction.chung.rows import number, share

_STARVED, _STARVING_KBPS = -0.8, (150, 75)
_QUARTILES = (0.25, 0.5, 0.75)
_UDP_HIGHER = {300: (0.6, 0.5, 0.7), 150: (0.7, 0.6, 0.8), 75: (0.7, 0.6, 0.8)}

FINDINGS: tuple[Finding, ...] = (
    share(
        "CCZ-H1", "h1_equal", "pairs with equal rates at 600 kbps (|d| <= 0.02)", 0.4, (0.3, 0.5)
    ),
    share("CCZ-H1", "h1_tcp", "pairs in which TCP gets more at 600 kbps", 0.3, (0.2, 0.4)),
    share("CCZ-H1", "h1_udp", "pairs in which UDP gets more at 600 kbps", 0.2, (0.1, 0.3)),
    number(
        "CCZ-H1", "h1_largest", "largest normalised difference |d| at 600 kbps", "", 0.5, (0.4, 0.6)
    ),
    *(
        share(
            "CCZ-H2",
            f"h2_{rate}",
            f"pairs in which UDP gets more at {rate} kbps",
            published,
            (low, high),
        )
        for rate, (published, low, high) in _UDP_HIGHER.items()
    ),
    *(
        share(
            "CCZ-H3",
            f"h3_twice_{rate}",
            f"pairs in which UDP gets at least twice TCP's rate at {rate} kbps",
            0.2,
        )
        for rate in CONSTRAINED_KBPS
    ),
    *(
        share(
            "CCZ-H3",
            f"h3_starved_{rate}",
            f"pairs with d below -0.8 at {rate} kbps",
            0.2,
            (0.08, 0.28),
        )
        for rate in _STARVING_KBPS
    ),
    *(
        number(
            "CCZ-H3",
            f"h3_tcp_{rate}",
            f"pairs in which TCP gets more at {rate} kbps",
            "",
            "some",
            (1, None),
        )
        for rate in CONSTRAINED_KBPS
    ),
    number(
        "CCZ-H6",
        "h6_ks_600",
        "distance of UDP's and TCP's rates over clips at 600 kbps (KS)",
        "",
        "nearly the same",
        (None, 0.15),
    ),
    *(
        number(
            "CCZ-H6",
            f"h6_growth_{rate}",
            f"growth of that distance from {wider} to {rate} kbps",
            "",
            "distributions separate",
            (0, None),
        )
        for wider, rate in zip(RATES_KBPS, CONSTRAINED_KBPS, strict=False)
    ),
    *(
        number(
            "CCZ-H6",
            f"h6_quartiles_{rate}",
            f"least of UDP's quartiles less TCP's at {rate} kbps",
            "kbps",
            "UDP's lie to the right",
            (0, None),
        )
        for rate in CONSTRAINED_KBPS
    ),
)


def quantities(pairs: PairsByRate) -> dict[str, float]:
    """Return the values of :data:`FINDINGS` for one run of the experiment."""
    d = {rate: differences(pairs[rate], bottleneck_kbps=rate) for rate in RATES_KBPS}
    values = {
        "h1_equal": float(np.mean(np.abs(d[600]) <= EQUAL_WITHIN)),
        "h1_tcp": float(np.mean(d[600] > EQUAL_WITHIN)),
        "h1_udp": float(np.mean(d[600] < -EQUAL_WITHIN)),
        "h1_largest": float(np.abs(d[600]).max()),
    }
    distance = {
        rate: float(stats.ks_2samp(udp_kbps(pairs[rate]), tcp_kbps(pairs[rate])).statistic)
        for rate in d
    }
    for wider, rate in zip(RATES_KBPS, CONSTRAINED_KBPS, strict=False):
        udp, tcp = udp_kbps(pairs[rate]), tcp_kbps(pairs[rate])
        values[f"h2_{rate}"] = float(np.mean(d[rate] < -EQUAL_WITHIN))
        values[f"h3_twice_{rate}"] = float(np.mean(udp >= 2 * tcp))
        values[f"h3_tcp_{rate}"] = float(np.count_nonzero(d[rate] > EQUAL_WITHIN))
        values[f"h6_growth_{rate}"] = distance[rate] - distance[wider]
        values[f"h6_quartiles_{rate}"] = float(
            (np.quantile(udp, _QUARTILES) - np.quantile(tcp, _QUARTILES)).min()
        )
    values.update(
        {f"h3_starved_{rate}": float(np.mean(d[rate] < _STARVED)) for rate in _STARVING_KBPS}
    )
    values["h6_ks_600"] = distance[600]
    return values
