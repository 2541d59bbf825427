"""Figures of CCZ02 on pairs of players head to head, drawn from what the runs measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from trafficgen.drawings import Axis, Curve, Drawing, Layer, Role, Rule
from trafficgen.reproduction.chung.pairs import (
    CONSTRAINED_KBPS,
    EQUAL_WITHIN,
    RATES_KBPS,
    Pair,
    PairsByRate,
    differences,
    tcp_kbps,
    udp_kbps,
)
from trafficgen.reproduction.figure_parts import (
    SHARE,
    STREAM,
    distribution,
    said_everywhere,
    said_points,
)
from trafficgen.reproduction.figures import Figure, MeasuredFigure, Measures, TabledFigure
from trafficgen.reproduction.results import FindingResult
from trafficgen.units import FloatArray, ms_from_s

UDP_ROLE: Role = STREAM
TCP_ROLE: Role = "other"
_RATE_ROLES: dict[int, Role] = {600: "law", 300: "extra", 150: "other", 75: "synthetic"}
_PAIRS, _OPEN = "chung/head-to-head", "chung/unconstrained"
_ONE_RUN = "Simulated: one run, the first of those in the table: the playlist twice at each rate."


def _pairs_of(measures: Measures) -> dict[int, list[Pair]]:
    parts = measures[_PAIRS]
    return {
        rate: [pair for part in parts if part["rate_kbps"] == rate for pair in part["pairs"]]
        for rate in RATES_KBPS
    }


def _ping_losses(measures: Measures) -> tuple[Drawing, ...]:
    """Figure 4."""
    curves = [
        distribution(
            f"{rate} kbit/s", [100 * pair.pings.loss for pair in pairs], role=_RATE_ROLES[rate]
        )
        for rate, pairs in _pairs_of(measures).items()
    ]
    told = said_points(
        "no loss: about 37% at low rates, 50% at higher ones",
        [(0, 0.37), (0, 0.5)],
        ["low rates", "higher rates"],
    )
    return (
        Drawing(
            name="ccz-figure-4",
            title="Loss of the pings by bottleneck",
            x=Axis(label="lost pings", unit="%", low=-0.3),
            y=SHARE,
            layers=(*curves, told),
            caption=f"Figure 4. The curves begin at the share of playouts without loss. {_ONE_RUN}",
        ),
    )


def _packet_sizes(measures: Measures) -> tuple[Drawing, ...]:
    """Figure 5."""
    curves = []
    for name, role in (("udp", UDP_ROLE), ("tcp", TCP_ROLE)):
        counts = np.sum([getattr(part["pool"], name).sizes for part in measures[_PAIRS]], axis=0)
        some = np.flatnonzero(counts)
        shares = np.cumsum(counts)[some] / counts.sum()
        curves.append(Curve(name=name.upper(), x=some, y=shares, role=role, shape="steps"))
    told = said_points(
        "medians 640 and 1100; over 30% of TCP of 1500 bytes",
        [(640, 0.5), (1100, 0.5), (1499, 0.7)],
        ["UDP: median", "TCP: median", "TCP: at most 70% are smaller"],
    )
    return (
        Drawing(
            name="ccz-figure-5",
            title="Sizes of the packets",
            x=Axis(label="IP packet", unit="bytes", low=0),
            y=SHARE,
            layers=(*curves, told),
            caption=f"Figure 5. {_ONE_RUN}",
        ),
    )


def _mean_rates(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 7 and 8."""
    pairs = _pairs_of(measures)
    return (*_rate_distributions(pairs), _scatter(pairs))


def _rate_distributions(pairs: PairsByRate) -> Iterator[Drawing]:
    for rate, some in pairs.items():
        words = (
            "UDP and TCP nearly the same" if rate == 600 else "UDP's distribution lies to the right"
        )
        yield Drawing(
            name=f"ccz-figure-7-{rate}",
            title=f"Mean rates on {rate} kbit/s",
            x=Axis(label="mean IP rate of a playout", unit="kbit/s", low=0),
            y=SHARE,
            layers=(
                Rule(name="fair share", at=rate / 2, axis="x"),
                distribution("UDP", udp_kbps(some), role=UDP_ROLE),
                distribution("TCP", tcp_kbps(some), role=TCP_ROLE),
            ),
            caption=f"Figure 7. Published: {words}. {_ONE_RUN}",
        )


def _scatter(pairs: PairsByRate) -> Drawing:
    ends = [
        0.0,
        max(float(max(tcp_kbps(some).max(), udp_kbps(some).max())) for some in pairs.values()),
    ]
    points: list[Layer] = [
        Curve(
            name=f"{rate} kbit/s",
            x=tcp_kbps(some),
            y=udp_kbps(some),
            role=_RATE_ROLES[rate],
            shape="points",
            dashed=rate != 75,
            notes=tuple(f"clip {pair.clip.number}" for pair in some),
        )
        for rate, some in pairs.items()
    ]
    return Drawing(
        name="ccz-figure-8",
        title="Each pair: TCP's rate and UDP's",
        x=Axis(label="mean IP rate over TCP", unit="kbit/s", low=0),
        y=Axis(label="mean IP rate over UDP", unit="kbit/s", low=0),
        layers=(Curve(name="equal", x=ends, y=ends, role="baseline", dashed=True), *points),
        caption=(
            "Figure 8. Above the line UDP gets more. Published: at 600 kbit/s as many below as"
            f" above; where bandwidth is scarce more above. {_ONE_RUN}"
        ),
    )


def _normalised(measures: Measures) -> tuple[Drawing, ...]:
    """Figure 9."""
    curves = [
        distribution(
            f"{rate} kbit/s", differences(pairs, bottleneck_kbps=rate), role=_RATE_ROLES[rate]
        )
        for rate, pairs in _pairs_of(measures).items()
    ]
    told = said_points(
        "shares of pairs in the text",
        [
            (-EQUAL_WITHIN, 0.2),
            (EQUAL_WITHIN, 0.7),
            (-EQUAL_WITHIN, 0.6),
            (-EQUAL_WITHIN, 0.7),
            (-0.8, 0.2),
        ],
        [
            "600: UDP higher in about 20%",
            "600: TCP higher in about 30%",
            "300: UDP higher in about 60%",
            "150 and 75: UDP higher in about 70%",
            "150 and 75: UDP has over 80% more of the bottleneck in about 20%",
        ],
    )
    return (
        Drawing(
            name="ccz-figure-9",
            title="Who gets more, as a share of the bottleneck",
            x=Axis(label="(TCP's mean rate - UDP's) / bottleneck", low=-1, high=1),
            y=SHARE,
            layers=(Rule(name="equal", at=0, axis="x"), *curves, told),
            caption=(
                "Figure 9. Left of 0 UDP gets more. The paper gives equal rates no tolerance; ours"
                f" is 0.02. Each published point says which curve it belongs to. {_ONE_RUN}"
            ),
        ),
    )


def _against_pings(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 10 to 13: the difference of the rates against round-trip time and loss."""
    answered = {
        rate: [pair for pair in pairs if not math.isnan(pair.pings.rtt_s)]
        for rate, pairs in _pairs_of(measures).items()
    }
    return (
        _against(
            answered,
            lambda pair: ms_from_s(pair.pings.rtt_s),
            Axis(label="mean round-trip time of the pings", unit="ms", low=0),
            name="ccz-figure-10",
            title="Difference of rates by round-trip time",
            words="Figures 10 and 11. Published correlation over all rates: -0.13",
        ),
        _against(
            answered,
            lambda pair: 100 * pair.pings.loss,
            Axis(label="lost pings", unit="%", low=0),
            name="ccz-figure-12",
            title="Difference of rates by loss",
            words="Figures 12 and 13. Published correlation over all rates: -0.03",
        ),
    )


def _against(
    pairs: PairsByRate, by: Callable[[Pair], float], x: Axis, *, name: str, title: str, words: str
) -> Drawing:
    points: list[Layer] = [
        Curve(
            name=f"{rate} kbit/s",
            x=[by(pair) for pair in some],
            y=tcp_kbps(some) - udp_kbps(some),
            role=_RATE_ROLES[rate],
            shape="points",
            dashed=rate != 75,
            notes=tuple(f"clip {pair.clip.number}" for pair in some),
        )
        for rate, some in pairs.items()
    ]
    every = [pair for some in pairs.values() for pair in some]
    places, values = np.array([by(pair) for pair in every]), tcp_kbps(every) - udp_kbps(every)
    correlation = float(np.corrcoef(places, values)[0, 1]) if np.ptp(places) > 0 else math.nan
    return Drawing(
        name=name,
        title=title,
        x=x,
        y=Axis(label="TCP's mean rate less UDP's", unit="kbit/s"),
        layers=(*points, _least_squares(places, values)),
        caption=(
            f"{words}; here {correlation:.2f}. Below 0 UDP gets more. Servers that answer no ping"
            f" are left out. {_ONE_RUN}"
        ),
    )


def _least_squares(x: FloatArray, y: FloatArray) -> Curve:
    slope, offset = np.polyfit(x, y, 1)
    ends = np.array([x.min(), x.max()])
    return Curve(
        name="least squares, all rates",
        x=ends,
        y=offset + slope * ends,
        role="baseline",
        dashed=True,
    )


def _buffering_ratios(measures: Measures) -> tuple[Drawing, ...]:
    """Figure 14."""
    points = []
    for name, role in (("tcp", TCP_ROLE), ("udp", UDP_ROLE)):
        played = [
            (getattr(pair, name), rate)
            for rate, pairs in _pairs_of(measures).items()
            for pair in pairs
            if getattr(pair, name).rates and not getattr(pair, name).has_left
        ]
        points.append(
            Curve(
                name=name.upper(),
                x=[one.rates.steady_kbps for one, _ in played],
                y=[one.ratio for one, _ in played],
                role=role,
                shape="points",
                dashed=True,
                notes=tuple(f"clip {one.clip.number} on {rate} kbit/s" for one, rate in played),
            )
        )
    return (
        Drawing(
            name="ccz-figure-14",
            title="Buffering rate over steady rate",
            x=Axis(label="steady playout rate", unit="kbit/s", low=0),
            y=Axis(label="buffering rate / steady rate", low=0),
            layers=(
                said_everywhere("up to 6 for low rates", 6),
                said_everywhere("towards 1", 1),
                *points,
            ),
            caption=(
                "Figure 14. Buffering: largest mean over 10 s of the first 80 s; steady: from 100"
                " s on. Published: up to 6 for clips of low rate, towards 1 near the bottleneck."
                f" {_ONE_RUN}"
            ),
        ),
    )


def _smoothness(measures: Measures) -> tuple[Drawing, ...]:
    """Figure 21."""
    drawings = []
    for rate in RATES_KBPS:
        pools = [part["pool"] for part in measures[_PAIRS] if part["rate_kbps"] == rate]
        words = (
            "both smooth" if rate == 600 else "less smooth than at 600, TCP often far less than UDP"
        )
        drawings.append(
            Drawing(
                name=f"ccz-figure-21-{rate}",
                title=f"Smoothness on {rate} kbit/s",
                x=Axis(
                    label="rate in 0.5 s / rate in the 0.5 s before", log=True, low=0.05, high=20
                ),
                y=SHARE,
                layers=(
                    distribution(
                        "UDP", np.concatenate([pool.udp.ratios for pool in pools]), role=UDP_ROLE
                    ),
                    distribution(
                        "TCP", np.concatenate([pool.tcp.ratios for pool in pools]), role=TCP_ROLE
                    ),
                ),
                caption=(
                    f"Figure 21. Published: {words}. The steeper at 1, the smoother. {_ONE_RUN}"
                ),
            )
        )
    return tuple(drawings)


def _on_the_lan(measures: Measures) -> tuple[Drawing, ...]:
    """Figure 15."""
    pairs: Sequence[Pair] = measures[_OPEN][0]["pairs"]
    return (
        Drawing(
            name="ccz-figure-15",
            title="Buffering rate over steady rate on the LAN",
            x=Axis(label="buffering rate / steady rate", low=0),
            y=SHARE,
            layers=(
                said_everywhere("TCP steep near 2", 2, axis="x"),
                said_everywhere("nearly equal for 40%", 0.4),
                distribution("UDP", [pair.udp.ratio for pair in pairs], role=UDP_ROLE),
                distribution("TCP", [pair.tcp.ratio for pair in pairs], role=TCP_ROLE),
            ),
            caption=(
                "Figure 15. Published: equal for 40% of clips, UDP's significantly higher for 60%,"
                " with steps. Simulated: one run, the first of those in the table."
            ),
        ),
    )


def _unfriendly(rows: Sequence[FindingResult]) -> tuple[Drawing, ...]:
    """The table of flows above the TCP-friendly rate, in the slides before and after leaving out
    clips.
    """
    columns = (("f2_udp", "with loss"), ("f3_before", "all"), ("f3_after", "scalable"))
    of_key = {row.finding.key: row for row in rows}
    wanted = [
        (f"{words}, {rate}", row)
        for key, words in columns
        for rate in CONSTRAINED_KBPS
        if (row := of_key.get(f"{key}_{rate}"))
    ]
    places = list(range(len(wanted)))
    ends = [row.interval for _, row in wanted]
    return (
        Drawing(
            name="ccz-unfriendly",
            title="UDP flows above the TCP-friendly rate",
            x=Axis(
                label="flows that are counted, and the bottleneck in kbit/s",
                categories=tuple(name for name, _ in wanted),
            ),
            y=Axis(label="share of the flows", low=0),
            layers=(
                Curve(
                    name="published",
                    x=places,
                    y=[float(row.finding.published or 0) for _, row in wanted],
                    role="published",
                    shape="bars",
                ),
                Curve(
                    name="simulated, mean and 95% interval",
                    x=places,
                    y=[row.simulated for _, row in wanted],
                    low=[low for low, _ in ends],
                    high=[high for _, high in ends],
                    role=STREAM,
                    shape="points",
                ),
            ),
            caption=(
                "Tables on TCP-friendliness in the report (of playouts with ping loss) and in the"
                " slides of 2003 (of all with pings; of the clips among them that have levels on"
                f" both sides of the fair share). Points: means of {len(rows[0].values)} runs."
            ),
        ),
    )


def _measured(
    name: str, findings: tuple[str, ...], draw: Callable[[Measures], tuple[Drawing, ...]]
) -> MeasuredFigure:
    return MeasuredFigure(name=name, experiments=(_PAIRS,), findings=findings, draw=draw)


PAIR_FIGURES: tuple[Figure, ...] = (
    _measured("ccz-ping-losses", ("CCZ-W3",), _ping_losses),
    _measured("ccz-packet-sizes", ("CCZ-W4",), _packet_sizes),
    _measured("ccz-mean-rates", ("CCZ-W2", "CCZ-H1", "CCZ-H3", "CCZ-H6"), _mean_rates),
    _measured("ccz-differences", ("CCZ-H1", "CCZ-H2", "CCZ-H3"), _normalised),
    _measured("ccz-pings", ("CCZ-H4", "CCZ-H5"), _against_pings),
    TabledFigure(
        name="ccz-unfriendly",
        experiments=(_PAIRS,),
        findings=("CCZ-F2", "CCZ-F3"),
        draw=_unfriendly,
    ),
    _measured("ccz-buffering", ("CCZ-B2", "CCZ-B5"), _buffering_ratios),
    MeasuredFigure(
        name="ccz-lan",
        experiments=(_OPEN,),
        findings=("CCZ-B3", "CCZ-B4", "CCZ-S3"),
        draw=_on_the_lan,
    ),
    _measured("ccz-smoothness", ("CCZ-V1",), _smoothness),
)
