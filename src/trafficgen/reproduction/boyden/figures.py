"""Figures 2 to 9 and Table I of BMW05, drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trafficgen.drawings import Axis, Curve, Drawing, Layer, Role, Rule
from trafficgen.reproduction.boyden.alone import ALONE
from trafficgen.reproduction.boyden.beside_tcp import BESIDE_TCP, BesideTcpExperiment
from trafficgen.reproduction.boyden.session import BIN_S, Session
from trafficgen.reproduction.boyden.setups import TCP, UNLIMITED_KBPS, Setup
from trafficgen.reproduction.boyden.table import CLIPS, HIGH_RATE, LOW_RATE, TABLE
from trafficgen.reproduction.figure_parts import (
    COMPETITOR,
    STREAM,
    binned,
    over_time,
    said,
    said_everywhere,
)
from trafficgen.reproduction.figures import Figure, PlayedFigure, Seeds, TabledFigure
from trafficgen.reproduction.results import FindingResult

_NEAR_CAPACITY, _UNDER_PROVISIONED, _ROOM, _ROOM_TURBOPLAY = ALONE
_BESIDE = {one.name: one for one in BESIDE_TCP if isinstance(one, BesideTcpExperiment)}
_CLIP_ROLES: tuple[Role, ...] = ("synthetic", "other", "extra", "law")
_BINS = f"Means over {BIN_S:g} s, as the player's statistics."
_ONE_RUN = "Simulated: one run, the first of those in the table."
_LOST = Axis(label="packets lost since the start", low=0)
_FRAMES = Axis(label="frame rate at the player", unit="1/s", low=0)
_START_S = 100.0


def _rate(
    session: Session, name: str, *, flow: str = "media", start_s: float = 0.0, role: Role = STREAM
) -> Curve:
    rates = session.rates_kbps(start_s=start_s, flow=flow)
    return binned(name, rates, bin_s=BIN_S, start_s=start_s, role=role)


def _losses(session: Session, name: str, *, role: Role = STREAM) -> Curve:
    return binned(name, np.cumsum(session.losses()), bin_s=BIN_S, start_s=BIN_S, role=role)


def _table_drawings(rows: Sequence[FindingResult]) -> tuple[Drawing, ...]:
    """Return Table I, a drawing for each of its columns that has all clips."""
    columns = (
        (
            "buffering_s",
            "Buffering time of each clip",
            Axis(label="first packet to playback", unit="s", low=0),
        ),
        (
            "buffering_kbps",
            "Buffering rate of each clip",
            Axis(label="mean rate while buffering", unit="kbit/s", low=0),
        ),
        (
            "playback_kbps",
            "Playback rate of each clip",
            Axis(label="mean rate while playing", unit="kbit/s", low=0),
        ),
        (
            "peak_kbps",
            "Peak rate of each clip",
            Axis(label="largest rate in 0.5 s", unit="kbit/s", low=0),
        ),
    )
    return tuple(_table_column(rows, key, title, axis) for key, title, axis in columns)


def _table_column(rows: Sequence[FindingResult], key: str, title: str, axis: Axis) -> Drawing:
    of_clip = {
        row.finding.key.partition("/")[2]: row
        for row in rows
        if row.finding.key.startswith(f"{key}/")
    }
    clips = [str(clip) for clip in CLIPS if str(clip) in of_clip]
    found = [of_clip[clip] for clip in clips]
    places = list(range(len(clips)))
    published = [float(row.finding.published or 0) for row in found]
    ends = [row.interval for row in found]
    simulated = Curve(
        name="simulated, mean and 95% interval",
        x=places,
        y=[row.simulated for row in found],
        low=[low for low, _ in ends],
        high=[high for _, high in ends],
        role=STREAM,
        shape="points",
    )
    return Drawing(
        name=f"bmw-table-1-{key.replace('_', '-')}",
        title=title,
        x=Axis(label="clip: rate of its audience, kbit/s", categories=tuple(clips)),
        y=axis,
        layers=(
            Curve(name="published", x=places, y=published, role="published", shape="bars"),
            simulated,
        ),
        caption=(
            "Table I of Boyden, Mahanti and Williamson: unlimited bottleneck, TurboPlay off. Bars"
            f" are published, points the mean of {len(rows[0].values)} runs."
        ),
    )


def _unlimited(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 2: clips of low and of high rate without a bottleneck."""
    return tuple(
        over_time(
            f"bmw-figure-2-{name}",
            f"Clips of {name} rate without a bottleneck",
            [
                *layers,
                *(
                    _rate(
                        Setup(clip=clip, link_kbps=UNLIMITED_KBPS).play(
                            seed=seeds[TABLE.name][CLIPS.index(clip)]
                        ),
                        f"{clip} kbit/s",
                        role=role,
                    )
                    for clip, role in zip(clips, _CLIP_ROLES, strict=True)
                ),
            ],
            caption=f"Figure 2, TurboPlay off. {words} {_BINS} {_ONE_RUN}",
            high_s=_START_S,
        )
        for name, clips, layers, words in (
            (
                "low",
                LOW_RATE,
                [said_everywhere("at most about 600", 600)],
                (
                    "Published: an initial period at 2 to 4 times the encoded rate, at most about"
                    " 600 kbit/s."
                ),
            ),
            (
                "high",
                HIGH_RATE,
                [],
                "Published: buffering at a rate that cannot be told from that of streaming.",
            ),
        )
    )


def _near_capacity(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 3 and 4: clips whose rate is close to the link's."""
    setups = [setup for setup, _ in _NEAR_CAPACITY.setups]
    sessions = [
        setup.play(seed=seed)
        for setup, seed in zip(setups, seeds[_NEAR_CAPACITY.name], strict=True)
    ]
    rate = over_time(
        "bmw-figure-3",
        "256 kbit/s clip on a link of 250 kbit/s",
        [Rule(name="bottleneck", at=250), _rate(sessions[0], "stream")],
        caption=(
            f"Figure 3, TurboPlay off. Published: the stream reaches its rate. {_BINS} {_ONE_RUN}"
        ),
    )
    losses = over_time(
        "bmw-figure-4",
        "Losses of clips near the link's capacity",
        [
            _losses(session, f"{setup.clip} on {setup.link_kbps:g} kbit/s", role=role)
            for session, setup, role in zip(sessions, setups, _CLIP_ROLES, strict=False)
        ],
        caption=(
            "Figure 4, TurboPlay off. Published: steady loss, most for 768 and 1500 kbit/s."
            f" {_ONE_RUN}"
        ),
        y=_LOST,
    )
    return rate, losses


def _under_provisioned(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 5: clips that the link cannot carry."""
    words = {
        384: "erratic throughput; the client falls back to audio, which comes in spikes",
        1000: "after an unstable start near the link's capacity, at nearly 30 frames/s",
    }
    drawings = []
    for (setup, _), seed in zip(
        _UNDER_PROVISIONED.setups, seeds[_UNDER_PROVISIONED.name], strict=True
    ):
        session = setup.play(seed=seed)
        what = f"{setup.clip} kbit/s clip on a link of {setup.link_kbps:g} kbit/s"
        caption = f"Figure 5, TurboPlay off. Published: {words[int(setup.clip)]}. {_ONE_RUN}"
        link: list[Layer] = [Rule(name="bottleneck", at=setup.link_kbps)]
        rate = _rate(session, "stream")
        frames = Curve(
            name="frame rate", x=session.frame_rates()[0], y=session.frame_rates()[1], role=STREAM
        )
        full = [said_everywhere("nearly 30", 30)] if setup.clip == 1000 else []
        drawings += [
            over_time(
                f"bmw-figure-5-{setup.clip}-rate", what, [*link, rate], caption=f"{caption} {_BINS}"
            ),
            over_time(
                f"bmw-figure-5-{setup.clip}-frames",
                f"Frame rate of the {setup.clip} kbit/s clip",
                [*full, frames],
                caption=caption,
                y=_FRAMES,
            ),
        ]
    return tuple(drawings)


def _room(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 6: TurboPlay off and on where the link has room."""
    off, on = (
        experiment.setups[0][0].play(seed=seeds[experiment.name][0])
        for experiment in (_ROOM, _ROOM_TURBOPLAY)
    )
    begin_s = off.first_s
    return (
        over_time(
            "bmw-figure-6-rate",
            "512 kbit/s clip on a link of 1500 kbit/s",
            [
                said("TurboPlay off, about 600 for 72 s", begin_s, begin_s + 72, 600),
                said("TurboPlay on, near 1500 for 8 s", begin_s, begin_s + 8, 1500),
                _rate(off, "TurboPlay off"),
                _rate(on, "TurboPlay on", role="extra"),
            ],
            caption=f"Figure 6a. {_BINS} {_ONE_RUN}",
        ),
        over_time(
            "bmw-figure-6-losses",
            "Losses of the 512 kbit/s clip",
            [
                said_everywhere("TurboPlay on, about 60", 60),
                _losses(off, "TurboPlay off"),
                _losses(on, "TurboPlay on", role="extra"),
            ],
            caption=f"Figure 6b. Published with TurboPlay off: none lost. {_ONE_RUN}",
            y=_LOST,
        ),
    )


def _beside_tcp(
    session: Session, name: str, title: str, said_layers: Sequence[Layer], caption: str
) -> Drawing:
    layers = [
        *said_layers,
        _rate(session, "TCP", flow=TCP, start_s=-10.0, role=COMPETITOR),
        _rate(session, "stream", start_s=-10.0),
    ]
    return over_time(name, title, layers, caption=f"{caption} {_BINS} {_ONE_RUN}", low_s=-10.0)


def _unfriendly(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 7: a stream of 1000 kbit/s beside TCP."""
    experiment = _BESIDE["bmw-1000-turboplay"]
    session = experiment.setup.play(seed=seeds[experiment.name][0])
    layers = [
        said("stream about 1000", session.first_s, session.last_s, 1000),
        said("TCP about 500", session.first_s, session.last_s, 500),
        said("TCP before, 1500", -10, 0, 1500),
    ]
    return (
        _beside_tcp(
            session,
            "bmw-figure-7",
            "1000 kbit/s clip beside TCP on 1500 kbit/s",
            layers,
            "Figure 7, TurboPlay on. Published: before the stream TCP has the whole link, then the"
            " two share it as the dashed lines say.",
        ),
    )


def _effect_on_512(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 8: TurboPlay on and off beside TCP."""
    on, off = (
        _BESIDE[name].setup.play(seed=seeds[name][0]) for name in ("bmw-512-turboplay", "bmw-512")
    )
    return (
        _beside_tcp(
            on,
            "bmw-figure-8-on",
            "512 kbit/s clip beside TCP, TurboPlay on",
            [said("TCP recovers to about 1000", on.first_s + 30, on.last_s, 1000)],
            "Figure 8a. Published: TCP is nearly starved at the start.",
        ),
        _beside_tcp(
            off,
            "bmw-figure-8-off",
            "512 kbit/s clip beside TCP, TurboPlay off",
            [],
            "Figure 8b. Published: TCP overruns the stream, which goes to audio only (spikes) and"
            " does not come back when TCP ends, here at 90 s.",
        ),
        _cumulative(
            on, off, "bmw-figure-8-losses", "Losses of the 512 kbit/s clip beside TCP", "Figure 8c."
        ),
    )


def _effect_on_surestream(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 9: the clip with several rates beside TCP."""
    on, off = (
        _BESIDE[name].setup.play(seed=seeds[name][0])
        for name in ("bmw-surestream-turboplay", "bmw-surestream")
    )
    later = off.first_s + 30, off.last_s
    return (
        _beside_tcp(
            on,
            "bmw-figure-9-on",
            "SureStream beside TCP, TurboPlay on",
            [said("as one level of 1500", on.first_s, on.last_s, 1500)],
            "Figure 9a. Published: the stream shuts TCP down; when it ends, TCP takes the whole"
            " link.",
        ),
        _beside_tcp(
            off,
            "bmw-figure-9-off",
            "SureStream beside TCP, TurboPlay off",
            [
                said("oscillates between 750 and 1100", *later, 750),
                said("oscillates between 750 and 1100", *later, 1100),
            ],
            "Figure 9b. Published: starts at 1500 kbit/s, soon drops to 1200, then oscillates.",
        ),
        _cumulative(
            on, off, "bmw-figure-9-losses", "Losses of SureStream beside TCP", "Figure 9c."
        ),
    )


def _cumulative(on: Session, off: Session, name: str, title: str, figure: str) -> Drawing:
    layers = [_losses(off, "TurboPlay off"), _losses(on, "TurboPlay on", role="extra")]
    return over_time(
        name,
        title,
        layers,
        caption=f"{figure} Media packets, resendings included. {_ONE_RUN}",
        y=_LOST,
    )


FIGURES: tuple[Figure, ...] = (
    TabledFigure(
        name="bmw-table-1",
        experiments=(TABLE.name,),
        findings=tuple(f"BMW-T1.{number}" for number in range(1, 1 + len(CLIPS))),
        draw=_table_drawings,
    ),
    PlayedFigure(
        name="bmw-figure-2",
        experiments=(TABLE.name,),
        findings=("BMW-B1", "BMW-B11"),
        draw=_unlimited,
    ),
    PlayedFigure(
        name="bmw-figures-3-4",
        experiments=(_NEAR_CAPACITY.name,),
        findings=("BMW-B2",),
        draw=_near_capacity,
    ),
    PlayedFigure(
        name="bmw-figure-5",
        experiments=(_UNDER_PROVISIONED.name,),
        findings=("BMW-B3", "BMW-B4"),
        draw=_under_provisioned,
    ),
    PlayedFigure(
        name="bmw-figure-6",
        experiments=(_ROOM.name, _ROOM_TURBOPLAY.name),
        findings=("BMW-B5",),
        draw=_room,
    ),
    PlayedFigure(
        name="bmw-figure-7",
        experiments=("bmw-1000-turboplay",),
        findings=("BMW-B6",),
        draw=_unfriendly,
    ),
    PlayedFigure(
        name="bmw-figure-8",
        experiments=("bmw-512-turboplay", "bmw-512"),
        findings=("BMW-B7", "BMW-B9"),
        draw=_effect_on_512,
    ),
    PlayedFigure(
        name="bmw-figure-9",
        experiments=("bmw-surestream-turboplay", "bmw-surestream"),
        findings=("BMW-B8",),
        draw=_effect_on_surestream,
    ),
)
