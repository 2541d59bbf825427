"""Figures of the thesis over time, of packet gaps and of clips with several rates: runs are played
once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trafficgen.drawings import Axis, Curve, Drawing, Layer, Role, Rule, thinned
from trafficgen.reproduction.figure_parts import (
    COMPETITOR,
    STREAM,
    binned,
    distribution,
    exceeding,
    over_time,
    said,
    said_everywhere,
    said_points,
)
from trafficgen.reproduction.figures import Figure, PlayedFigure, Seeds
from trafficgen.reproduction.nichols.grid_figures import CAPACITY_ROLES, GRID_FIGURES
from trafficgen.reproduction.nichols.loss_and_latency import LATENCIES_S, play_fixed, play_grown
from trafficgen.reproduction.nichols.multiple_rates import (
    DOWNWARDS,
    PAIRS,
    TRIPLES,
    UPWARDS,
    play_ladder,
)
from trafficgen.reproduction.nichols.session import Session
from trafficgen.reproduction.nichols.single_rate import play_point
from trafficgen.reproduction.nichols.tcp_alone import tcp_rates_kbps
from trafficgen.reproduction.nichols.testbed import CAPACITIES_KBPS, LATENCY_S
from trafficgen.units import FloatArray, kbps_from_bytes, ms_from_s

_SINGLE, _MULTIPLE, _LATENCY, _ALONE = (
    "nichols/single-rate",
    "nichols/multiple-rates",
    "nichols/induced-latency",
    "nichols/tcp-alone",
)
_BIN_S, _LEAD_S = 0.5, 10.0
_TIME = "time after the first media packet"
_LOSS = Axis(label="share of the packets sent that were lost", low=0, high=1)
_BINS = f"Means over {_BIN_S:g} s."
_ONE_RUN = "Simulated: one run, the first of those in the table."
_WAYS: tuple[Role, Role] = ("synthetic", "extra")


def _rate(
    name: str, time_s: FloatArray, ip_bytes: FloatArray, *, end_s: float, role: Role
) -> Curve:
    edges = _edges(end_s, _BIN_S)
    known = np.isfinite(time_s)
    total, _ = np.histogram(time_s[known], edges, weights=ip_bytes[known])
    return binned(
        name, kbps_from_bytes(1.0, _BIN_S) * total, bin_s=_BIN_S, start_s=-_LEAD_S, role=role
    )


def _edges(end_s: float, width_s: float) -> FloatArray:
    """Return the edges of whole bins from before TCP's start on; the last, partial bin is left
    out.
    """
    return width_s * np.arange(int((end_s + _LEAD_S) / width_s) + 1, dtype=np.float64) - _LEAD_S


def _loss(
    name: str, sent_s: FloatArray, arrival_s: FloatArray, *, end_s: float, role: Role
) -> Curve:
    """Return the loss in each second, as the measures have it."""
    edges = _edges(end_s, 1.0)
    sent, _ = np.histogram(sent_s, edges)
    lost, _ = np.histogram(sent_s[np.isnan(arrival_s)], edges)
    share = np.full(sent.size, np.nan)
    np.divide(lost, sent, out=share, where=sent > 0)
    return binned(name, share, bin_s=1.0, start_s=-_LEAD_S, role=role)


def _rates_drawing(
    session: Session,
    name: str,
    title: str,
    published: Sequence[Layer],
    caption: str,
    *,
    capacity_kbps: float,
) -> Drawing:
    layers = [
        Rule(name="capacity", at=capacity_kbps),
        *published,
        _rate(
            "TCP", session.tcp_arrival_s, session.tcp_bytes, end_s=session.end_s, role=COMPETITOR
        ),
        _rate("stream", session.arrival_s, session.ip_bytes, end_s=session.end_s, role=STREAM),
    ]
    return over_time(
        name, title, layers, caption=f"{caption} {_BINS} {_ONE_RUN}", time=_TIME, low_s=-_LEAD_S
    )


def _losses_drawing(
    session: Session, name: str, title: str, published: Sequence[Layer], caption: str
) -> Drawing:
    layers = [
        *published,
        _loss(
            "TCP", session.tcp_sent_s, session.tcp_arrival_s, end_s=session.end_s, role=COMPETITOR
        ),
        _loss("stream", session.sent_s, session.arrival_s, end_s=session.end_s, role=STREAM),
    ]
    caption = f"{caption} Loss of what was sent in each second. {_ONE_RUN}"
    return over_time(name, title, layers, caption=caption, y=_LOSS, time=_TIME, low_s=-_LEAD_S)


def _offered_drawing(
    session: Session, name: str, title: str, published: Sequence[Layer], caption: str
) -> Drawing:
    layers = [
        *published,
        _rate("received", session.arrival_s, session.ip_bytes, end_s=session.end_s, role=STREAM),
        _rate("offered", session.sent_s, session.ip_bytes, end_s=session.end_s, role="extra"),
    ]
    y = Axis(label="IP rate of the stream", unit="kbit/s", low=0)
    caption = f"{caption} Offered: before the router, resendings included. {_BINS} {_ONE_RUN}"
    return over_time(name, title, layers, caption=caption, y=y, time=_TIME, low_s=-_LEAD_S)


def _clip_340(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 3 and 4."""
    session = play_point(725, 340, seed=seeds[_SINGLE][0])
    rate = _rates_drawing(
        session,
        "nic-figure-3",
        "340 kbit/s clip beside TCP on 725 kbit/s",
        [
            said("500 to 600 for about 10 s", 0, 10, 500),
            said("500 to 600 for about 10 s", 0, 10, 600),
            said("then about 340", 10, session.end_s, 340),
        ],
        "Figure 3. Published: about 5 s without data before, then as the dashed lines say.",
        capacity_kbps=725,
    )
    loss = _losses_drawing(
        session,
        "nic-figure-4",
        "Losses of the 340 kbit/s clip and of TCP",
        [said("almost 0.4 while buffering", 0, session.full_s, 0.4)],
        "Figure 4. Published: the loss of both flows reaches almost 40% while the clip buffers.",
    )
    return rate, loss


def _clip_548(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 9 and 10."""
    session = play_point(725, 548, seed=seeds[_SINGLE][0])
    rate = _rates_drawing(
        session,
        "nic-figure-9",
        "548 kbit/s clip beside TCP on 725 kbit/s",
        [Rule(name="fair share", at=725 / 2)],
        "Figure 9. Published: the clip takes more than its fair share and is not thinned.",
        capacity_kbps=725,
    )
    words = "Figure 10. Published: at times both flows lose heavily while the clip buffers."
    loss = _losses_drawing(
        session, "nic-figure-10", "Losses of the 548 kbit/s clip and of TCP", [], words
    )
    return rate, loss


def _clip_1128(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 11, 12 and 13."""
    session = play_point(725, 1128, seed=seeds[_SINGLE][0])
    rate = _rates_drawing(
        session,
        "nic-figure-11",
        "1128 kbit/s clip beside TCP on 725 kbit/s",
        [Rule(name="fair share", at=725 / 2)],
        "Figure 11. Published: some time into the clip its rate falls below the fair share.",
        capacity_kbps=725,
    )
    loss = _losses_drawing(
        session,
        "nic-figure-12",
        "Losses of the 1128 kbit/s clip and of TCP",
        [said_everywhere("over 0.8", 0.8)],
        "Figure 12. Published: loss rates of over 80%.",
    )
    offered = _offered_drawing(
        session,
        "nic-figure-13",
        "What the 1128 kbit/s clip offers to 725 kbit/s",
        [Rule(name="encoded rate", at=1128)],
        "Figure 13. Published: at first far more than the encoded rate is offered.",
    )
    return rate, loss, offered


def _clip_548_at_250(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 38, 39 and 40."""
    session = play_point(250, 548, seed=seeds[_SINGLE][0])
    rate = _rates_drawing(
        session,
        "nic-figure-38",
        "548 kbit/s clip beside TCP on 250 kbit/s",
        [said("thinned to about 50 after almost 40 s", 40, max(session.end_s, 41), 50)],
        "Figure 38. Published: streams at its full rate for almost 40 s, then is thinned.",
        capacity_kbps=250,
    )
    loss = _losses_drawing(
        session,
        "nic-figure-39",
        "Losses of the 548 kbit/s clip on 250 kbit/s",
        [said("over 0.8 for almost 40 s", 0, 40, 0.8)],
        "Figure 39.",
    )
    offered = _offered_drawing(
        session,
        "nic-figure-40",
        "What the 548 kbit/s clip offers to 250 kbit/s",
        [Rule(name="encoded rate", at=548)],
        "Figure 40. Published: lost packets are sent again, so that at first more than the encoded"
        " rate is offered.",
    )
    return rate, loss, offered


def _gaps(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 32, 34 and 35: gaps between packets at the sender, and figures 36 and 37: their
    numbers over time.
    """
    sessions: list[tuple[str, Role, Session]] = [
        (f"{clip} kbit/s", role, play_point(725, clip, seed=seeds[_SINGLE][0]))
        for clip, role in zip((340, 548), _WAYS, strict=True)
    ]
    gap = Axis(label="gap between packets at the sender", unit="ms", log=True)

    reach = Axis(label="share of longer gaps", log=True, low=0.001, high=1)
    buffering = Drawing(
        name="nic-figure-34",
        title="Tail of the gaps while buffering",
        x=gap,
        y=reach,
        layers=(
            said_everywhere("340 kbit/s: bursts about 300 ms apart", 300, axis="x"),
            said_everywhere("548 kbit/s: bursts about 475 ms apart", 475, axis="x"),
            *(
                exceeding(name, ms_from_s(one.buffering_gaps_s), role=role)
                for name, role, one in sessions
            ),
        ),
        caption=(
            "Figure 34, at 725 kbit/s. The last step of each curve is the distance of its bursts."
            f" {_ONE_RUN}"
        ),
    )
    after = Drawing(
        name="nic-figure-35",
        title="Tail of the gaps after buffering",
        x=gap,
        y=reach,
        layers=tuple(
            exceeding(name, ms_from_s(one.playout_gaps_s), role=role)
            for name, role, one in sessions
        ),
        caption=(
            f"Figure 35. Published: bursts of both clips are about equally far apart. {_ONE_RUN}"
        ),
    )
    inside = Drawing(
        name="nic-figure-32",
        title="Distribution of the gaps while buffering",
        x=gap,
        y=Axis(label="share of gaps up to it", low=0, high=1),
        layers=(
            said_points("more than 0.9 within a few ms", [(5, 0.9)]),
            *(
                distribution(name, ms_from_s(one.buffering_gaps_s), role=role)
                for name, role, one in sessions
            ),
        ),
        caption=(
            "Figure 32. Published: more than 90% are of a few ms, those of 340 kbit/s about 0.5 ms"
            f" shorter; 5 ms is our reading of a few. {_ONE_RUN}"
        ),
    )
    return inside, buffering, after, _numbers(sessions)


def _numbers(sessions: Sequence[tuple[str, Role, Session]]) -> Drawing:
    layers = []
    for name, role, one in sessions:
        early = ~one.again & (one.sent_s < 3.0)
        x, y = thinned(one.sent_s[early], np.arange(np.count_nonzero(early)))
        layers.append(Curve(name=name, x=x, y=y, role=role, shape="points"))
    return over_time(
        "nic-figure-36",
        "Bursts of the first seconds: packet numbers",
        layers,
        caption=(
            "Figures 36 and 37: first sendings at the sender. Published: bursts of the 548 kbit/s"
            f" clip are somewhat larger and further apart. {_ONE_RUN}"
        ),
        y=Axis(label="number of the packet", low=0),
        time=_TIME,
    )


def _few_levels(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 41, 43, 45 and 47: clips with three and with two levels."""
    clips = (*TRIPLES, *PAIRS)
    sessions = [play_ladder(725, clip, seed=seeds[_MULTIPLE][0]) for clip in clips]
    places = list(range(len(clips)))
    buffering = [one.buffering_rate_kbps for one in sessions]
    after = [one.post_rate_kbps for one in sessions]
    names = tuple(", ".join(str(rate) for rate in clip[::-1]) for clip in clips)
    told = [(names.index("1128, 764, 548"), 628.0), (names.index("1128, 340"), 425.0)]
    return (
        Drawing(
            name="nic-figure-47",
            title="Clips with three and two levels on 725 kbit/s",
            x=Axis(label="levels of the clip, kbit/s", categories=names),
            y=Axis(label="IP rate at the client", unit="kbit/s", low=0),
            layers=(
                Curve(
                    name="while buffering",
                    x=places,
                    y=buffering,
                    role="extra",
                    shape="points",
                    dashed=True,
                ),
                Curve(name="after buffering", x=places, y=after, role=STREAM, shape="points"),
                said_points("after buffering", told),
            ),
            caption=(
                "Figures 41, 43, 45 and 47. Published: the highest level below the capacity is"
                f" chosen, with the audio of the highest level of the clip. {_ONE_RUN}"
            ),
        ),
    )


def _many_levels(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 49 to 72: clips to which levels are added downwards and upwards."""
    drawings = []
    for name, ladders, figures in (
        ("downwards", DOWNWARDS, "49 to 60"),
        ("upwards", UPWARDS, "61 to 72"),
    ):
        sessions = {
            capacity: [
                play_ladder(capacity, ladder, seed=seeds[_MULTIPLE][0]) for ladder in ladders
            ]
            for capacity in CAPACITIES_KBPS
        }
        for when, rate, words in (
            ("buffering", "buffering_rate_kbps", "while buffering"),
            ("after", "post_rate_kbps", "after buffering"),
        ):
            curves = [
                Curve(
                    name=f"{capacity} kbit/s",
                    x=list(range(1, 1 + len(ladders))),
                    y=[getattr(one, rate) for one in sessions[capacity]],
                    role=role,
                    shape="line",
                )
                for capacity, role in zip(CAPACITIES_KBPS, CAPACITY_ROLES, strict=True)
            ]
            told = (
                [said("about 628 at 725 kbit/s", 3, 10, 628)]
                if (name, when) == ("downwards", "after")
                else []
            )
            drawings.append(
                Drawing(
                    name=f"nic-levels-{name}-{when}",
                    title=f"Levels added {name}: rate {words}",
                    x=Axis(label="number of levels in the clip"),
                    y=Axis(label="IP rate at the client", unit="kbit/s", low=0),
                    layers=(*told, *curves),
                    caption=(
                        f"Figures {figures}, a line for each capacity; levels are added"
                        f" {'from 1128 down' if name == 'downwards' else 'from 28 up'}. {_ONE_RUN}"
                    ),
                )
            )
    return tuple(drawings)


def _latency(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 85 to 92: latency, with a queue that grows with it and with a fixed one."""
    seed = seeds[_LATENCY][0]
    base, grown = play_grown(seed)
    fixed = [play_fixed(latency_s, seed=seed) for latency_s in LATENCIES_S]
    latency_ms = [ms_from_s(latency_s) for latency_s in (LATENCY_S, *LATENCIES_S)]
    ways: list[tuple[str, Role, list[Session]]] = [
        ("queue grows with it", _WAYS[0], [base, *grown]),
        ("queue of 80 packets", _WAYS[1], [base, *fixed]),
    ]
    x = Axis(label="latency, one way", unit="ms", low=0)

    def curves(name: str) -> tuple[Curve, ...]:
        return tuple(
            Curve(name=way, x=latency_ms, y=[getattr(one, name) for one in sessions], role=role)
            for way, role, sessions in ways
        )

    words = (
        "Published: no reaction where the queue grows with the latency; with a fixed queue, which"
        " delayed packets fill,"
    )
    return (
        Drawing(
            name="nic-latency-rate",
            title="548 kbit/s clip: rate after buffering by latency",
            x=x,
            y=Axis(label="IP rate at the client", unit="kbit/s", low=0),
            layers=curves("post_rate_kbps"),
            caption=f"Figures 87 and 91. {words} the rate falls. {_ONE_RUN}",
        ),
        Drawing(
            name="nic-latency-loss",
            title="548 kbit/s clip: loss while buffering by latency",
            x=x,
            y=_LOSS,
            layers=curves("buffering_loss"),
            caption=f"Figures 86 and 90. {words} the loss rises. {_ONE_RUN}",
        ),
    )


def _tcp_alone(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 2: TCP fills a slow link with a long delay."""
    rates = tcp_rates_kbps(140.0, round_trip_s=1.0, seed=seeds[_ALONE][0])
    return (
        over_time(
            "nic-figure-2",
            "TCP alone on 140 kbit/s and 1000 ms",
            [
                said("full link after 10 s", 10, float(rates.size), 140),
                binned("TCP", rates, bin_s=1.0, role=COMPETITOR),
            ],
            caption="Figure 2. Means over 1 s.",
            time="time after its start",
        ),
    )


FIGURES: tuple[Figure, ...] = (
    PlayedFigure(
        name="nic-340-at-725",
        experiments=(_SINGLE,),
        findings=("NIC-B1", "NIC-B3", "NIC-F1", "NIC-P3"),
        draw=_clip_340,
    ),
    PlayedFigure(
        name="nic-548-at-725", experiments=(_SINGLE,), findings=("NIC-B2", "NIC-P3"), draw=_clip_548
    ),
    PlayedFigure(
        name="nic-1128-at-725",
        experiments=(_SINGLE,),
        findings=("NIC-P3", "NIC-P4"),
        draw=_clip_1128,
    ),
    PlayedFigure(
        name="nic-548-at-250",
        experiments=(_SINGLE,),
        findings=("NIC-P1", "NIC-P2"),
        draw=_clip_548_at_250,
    ),
    *GRID_FIGURES,
    PlayedFigure(
        name="nic-gaps", experiments=(_SINGLE,), findings=("NIC-I1", "NIC-I2"), draw=_gaps
    ),
    PlayedFigure(
        name="nic-few-levels",
        experiments=(_MULTIPLE,),
        findings=("NIC-M2", "NIC-M3"),
        draw=_few_levels,
    ),
    PlayedFigure(
        name="nic-many-levels",
        experiments=(_MULTIPLE,),
        findings=("NIC-M2", "NIC-M4", "NIC-M5"),
        draw=_many_levels,
    ),
    PlayedFigure(name="nic-latency", experiments=(_LATENCY,), findings=("NIC-R1",), draw=_latency),
    PlayedFigure(
        name="nic-tcp-alone", experiments=(_ALONE,), findings=("NIC-S5",), draw=_tcp_alone
    ),
)
