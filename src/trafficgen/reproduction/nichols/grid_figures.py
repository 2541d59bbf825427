"""Figures of the thesis that show a measure of every clip or loss rate: they are drawn from what
the runs measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trafficgen.drawings import Axis, Band, Curve, Drawing, Layer, Role
from trafficgen.reproduction.figure_parts import COMPETITOR, STREAM, said_everywhere, said_points
from trafficgen.reproduction.figures import Figure, MeasuredFigure, Measures
from trafficgen.reproduction.nichols.loss_and_latency import LOSSES
from trafficgen.reproduction.nichols.testbed import CAPACITIES_KBPS, RATES_KBPS

CAPACITY_ROLES: tuple[Role, ...] = ("synthetic", "other", "extra")
_SINGLE, _LOSS = "nichols/single-rate", "nichols/induced-loss"
_ENCODED = Axis(label="encoded rate of the clip", unit="kbit/s", low=0)
_RATE = Axis(label="IP rate at the client", unit="kbit/s", low=0)
_SHARE_LOST = Axis(label="share of the packets sent that were lost", low=0, high=1)
_LENGTH = Axis(label="length of the phase", unit="s", low=0)


def _by_capacity(parts: Sequence[dict[str, Any]], measure: str) -> list[Layer]:
    """Return a curve for each capacity: means over the runs, with the least and the largest of
    them.
    """
    curves: list[Layer] = []
    for capacity, role in zip(CAPACITIES_KBPS, CAPACITY_ROLES, strict=True):
        values = np.array(
            [[part[measure][capacity, rate] for rate in RATES_KBPS] for part in parts]
        )
        known = ~np.isnan(values).all(axis=0)
        curves.append(
            Curve(
                name=f"{capacity} kbit/s",
                x=np.array(RATES_KBPS, dtype=np.float64)[known],
                y=np.nanmean(values[:, known], axis=0),
                low=np.nanmin(values[:, known], axis=0),
                high=np.nanmax(values[:, known], axis=0),
                role=role,
            )
        )
    return curves


def _drawing(
    measures: Measures,
    name: str,
    title: str,
    measure: str,
    *,
    y: Axis,
    said: Sequence[Layer],
    words: str,
) -> Drawing:
    parts = measures[_SINGLE]
    return Drawing(
        name=name,
        title=title,
        x=_ENCODED,
        y=y,
        layers=(*said, *_by_capacity(parts, measure)),
        caption=(
            f"{words} A line for each capacity: means of {len(parts)} runs, with the least and the"
            " largest."
        ),
    )


def _buffering(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 14 to 19."""
    low = np.array([rate for rate in RATES_KBPS if rate < 548], dtype=np.float64)
    multiples = Band(
        name="published: 2 to 4 times the encoded rate",
        x=low,
        low=2 * low,
        high=4 * low,
        role="published",
    )
    return (
        _drawing(
            measures,
            "nic-figures-14-18",
            "Rate while buffering, by encoded rate",
            "buffering_kbps",
            y=_RATE,
            said=[multiples],
            words=(
                "Figures 14, 16 and 18. Published: 2 to 4 times the encoded rate below 548 kbit/s"
                " where the link has room, the encoded rate for the clip of 548."
            ),
        ),
        _drawing(
            measures,
            "nic-figures-15-19",
            "Loss while buffering, by encoded rate",
            "buffering_loss",
            y=_SHARE_LOST,
            said=[said_everywhere("largest almost 0.8", 0.8)],
            words=(
                "Figures 15, 17 and 19. Published: grows to almost 80% once the encoded rate"
                " exceeds the capacity; at 725 kbit/s rises up to 340, dips at 548, rises again."
            ),
        ),
    )


def _after_buffering(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 20 to 25."""
    ends = np.array([RATES_KBPS[0], RATES_KBPS[-1]], dtype=np.float64)
    line = Curve(
        name="published: grows with the encoded rate", x=ends, y=ends, role="published", dashed=True
    )
    return (
        _drawing(
            measures,
            "nic-figures-20-24",
            "Rate after buffering, by encoded rate",
            "post_kbps",
            y=_RATE,
            said=[line],
            words=(
                "Figures 20, 22 and 24. Published: linear until the capacity is reached, then"
                " thinned below the fair share; at 250 kbit/s the mean of the fastest clip is"
                " higher again."
            ),
        ),
        _drawing(
            measures,
            "nic-figures-21-25",
            "Loss after buffering, by encoded rate",
            "post_loss",
            y=_SHARE_LOST,
            said=[said_everywhere("almost 0.4 at 250 kbit/s", 0.4)],
            words="Figures 21, 23 and 25.",
        ),
    )


def _lengths(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 26 to 31."""
    return (
        _drawing(
            measures,
            "nic-figures-26-30",
            "Length of the buffering, by encoded rate",
            "buffering_s",
            y=_LENGTH,
            said=[said_points("about 10 s at 725 kbit/s (figure 3)", [(340, 10)])],
            words="Figures 26, 28 and 30. Published: grows about linearly with the encoded rate.",
        ),
        _drawing(
            measures,
            "nic-figures-27-31",
            "Length after buffering, by encoded rate",
            "post_s",
            y=_LENGTH,
            said=[],
            words=(
                "Figures 27, 29 and 31. Published: about the same below the capacity, shorter where"
                " the clip is thinned."
            ),
        ),
    )


def _induced_loss(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 73 to 80."""
    parts = measures[_LOSS]
    x = Axis(label="induced loss", low=0)

    def curve(name: str, key: str, role: Role) -> Curve:
        values = np.array([part[key] for part in parts], dtype=np.float64)
        return Curve(
            name=name,
            x=LOSSES,
            y=values.mean(axis=0),
            low=values.min(axis=0),
            high=values.max(axis=0),
            role=role,
        )

    def share(name: str, key: str, role: Role) -> Curve:
        return Curve(
            name=name, x=LOSSES, y=np.mean([part[key] for part in parts], axis=0), role=role
        )

    runs = f"Means of {len(parts)} runs at 725 kbit/s, with the least and the largest."
    return (
        Drawing(
            name="nic-figure-73",
            title="548 kbit/s clip with induced loss: while buffering",
            x=x,
            y=Axis(label="IP rate", unit="kbit/s", low=0),
            layers=(
                curve("stream, offered", "offered_kbps", STREAM),
                curve("TCP, received", "tcp_kbps", COMPETITOR),
            ),
            caption=(
                "Figure 73. Published: TCP backs off, the clip uses what it gives up and sends"
                f" more. {runs}"
            ),
        ),
        Drawing(
            name="nic-figure-75",
            title="548 kbit/s clip with induced loss: after buffering",
            x=x,
            y=_RATE,
            layers=(curve("stream", "post_kbps", STREAM),),
            caption=(
                "Figure 75. Published: thinned from somewhere between 3% and 5% on, beyond it"
                f" nothing changes. {runs}"
            ),
        ),
        Drawing(
            name="nic-figure-79",
            title="Who answers induced loss",
            x=x,
            y=Axis(label="share of runs", low=-0.03, high=1.03),
            layers=(
                share("one level: thinned", "thinned", STREAM),
                share("eight levels: goes to a lower one", "lower", "extra"),
            ),
            caption=(
                "Figures 75 and 79. Published: the clip with one level is never thinned up to 2%"
                " and always from 5% on; with several levels, at 3% sometimes the high one,"
                f" sometimes a lower. {len(parts)} runs."
            ),
        ),
    )


GRID_FIGURES: tuple[Figure, ...] = (
    MeasuredFigure(
        name="nic-figures-14-19",
        experiments=(_SINGLE,),
        findings=("NIC-B2", "NIC-B3", "NIC-F1"),
        draw=_buffering,
    ),
    MeasuredFigure(
        name="nic-figures-20-25",
        experiments=(_SINGLE,),
        findings=("NIC-P1", "NIC-P4"),
        draw=_after_buffering,
    ),
    MeasuredFigure(
        name="nic-figures-26-31", experiments=(_SINGLE,), findings=("NIC-B4",), draw=_lengths
    ),
    MeasuredFigure(
        name="nic-induced-loss",
        experiments=(_LOSS,),
        findings=("NIC-L1", "NIC-L2", "NIC-L3"),
        draw=_induced_loss,
    ),
)
