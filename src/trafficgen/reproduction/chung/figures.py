"""Figures of CCZ02 on the playlist, the bandwidth head to head and media scaling, drawn from what
the runs measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from trafficgen.catalogue import playlist_clips
from trafficgen.drawings import Axis, Curve, Drawing, Layer, Role, Rule
from trafficgen.reproduction.chung.experiments import PLAYLIST_RUNS, TRANSPORTS, play_together
from trafficgen.reproduction.chung.pair_figures import PAIR_FIGURES, TCP_ROLE, UDP_ROLE
from trafficgen.reproduction.chung.pairs import RATES_KBPS
from trafficgen.reproduction.chung.playout import Playout
from trafficgen.reproduction.chung.scaling import LIMIT_KBPS
from trafficgen.reproduction.chung.setups import token_bucket
from trafficgen.reproduction.chung.switching import changes_both_ways
from trafficgen.reproduction.figure_parts import (
    SHARE,
    binned,
    distribution,
    over_time,
    said_everywhere,
    said_points,
)
from trafficgen.reproduction.figures import Figure, MeasuredFigure, Measures, PlayedFigure, Seeds

_POPULATION, _ALONE, _PAIRS = "chung/population", "chung/alone", "chung/head-to-head"
_ONE_RUN = "Simulated: one run, the first of those in the table."
_BIN_S = 1.0
#: Rate at which the sample pair is looked for.
_SAMPLE_KBPS = 150


def _lengths_and_levels(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 2, 16 and 17: what the playlist holds."""
    del measures
    clips = playlist_clips()
    levels = [len(clip.ladder_kbps) for clip in clips]
    source = "The playlist stands in the catalogue entry: an input."
    lengths = Drawing(
        name="ccz-figure-2",
        title="Length of the clips",
        x=Axis(label="playout length", unit="s", log=True),
        y=SHARE,
        layers=(
            said_points("median about 3 min, 20 s to 30 min", [(180, 0.5), (20, 0), (1800, 1)]),
            distribution("playlist", [clip.length_s for clip in clips]),
        ),
        caption=f"Figure 2. {source}",
    )
    counts = Drawing(
        name="ccz-figure-16",
        title="Encoded levels of the clips",
        x=Axis(label="number of levels", low=0),
        y=SHARE,
        layers=(
            said_points("about 35% have one; fewer than half more than 4", [(1, 0.35), (4, 0.5)]),
            distribution("playlist", levels),
        ),
        caption=f"Figure 16. At 4 levels the curve lies above the point. {source}",
    )
    order = sorted(
        range(len(clips)), key=lambda place: (levels[place], clips[place].ladder_kbps[0])
    )
    places = [place for place, number in enumerate(order) for _ in clips[number].ladder_kbps]
    rates = [rate for number in order for rate in clips[number].ladder_kbps]
    notes = [f"clip {clips[number].number}" for number in order for _ in clips[number].ladder_kbps]
    ladder = Drawing(
        name="ccz-figure-17",
        title="Levels of each clip",
        x=Axis(label="clip, by number of levels, then by the lowest"),
        y=Axis(label="encoded rate", unit="kbit/s", log=True),
        layers=(
            said_everywhere("40% of one-level clips above 150", 150),
            said_everywhere("over half with 3 to 5 levels stay above 50", 50),
            Curve(
                name="a level", x=places, y=rates, role=UDP_ROLE, shape="points", notes=tuple(notes)
            ),
        ),
        caption=f"Figure 17. {source}",
    )
    return lengths, counts, ladder


def _scaling(measures: Measures) -> tuple[Drawing, ...]:
    """Figures 18, 19 and 20: one stream alone on 35 kbit/s."""
    udp, tcp = (part["playouts"] for part in measures[_ALONE])
    changes = Drawing(
        name="ccz-figure-19",
        title="Scale changes of each clip alone on 35 kbit/s",
        x=Axis(label="number of scale changes", low=0),
        y=SHARE,
        layers=(
            said_points("35% of UDP and 55% of TCP streams never", [(0, 0.35), (0, 0.55)]),
            distribution("UDP", [each.changes for each in udp], role=UDP_ROLE),
            distribution("TCP", [each.changes for each in tcp], role=TCP_ROLE),
        ),
        caption=f"Figure 19. The curves begin at the share of clips without a change. {_ONE_RUN}",
    )
    adapted = Drawing(
        name="ccz-figure-20",
        title="Time until the encoded rate is below 35 kbit/s",
        x=Axis(label="time after the first media packet", unit="s", low=-1, high=100),
        y=SHARE,
        layers=(
            said_points(
                "15% always, 40% in 2 s, 80% of UDP in 10 s, of TCP later than 25 s",
                [(0, 0.15), (2, 0.4), (10, 0.8), (25, 0.8)],
                ["always below", "both transports", "UDP", "TCP: right of it"],
            ),
            distribution("UDP", _adapted_s(udp), role=UDP_ROLE),
            distribution("TCP", _adapted_s(tcp), role=TCP_ROLE),
        ),
        caption=(
            f"Figure 20. A curve ends below 1 where clips have no level below the limit. {_ONE_RUN}"
        ),
    )
    return *(_levels_over_time(number, udp, tcp) for number in (65, 78)), changes, adapted


def _adapted_s(playouts: Sequence[Playout]) -> list[float]:
    return [each.adapted_s(LIMIT_KBPS) for each in playouts]


def _levels_over_time(number: int, udp: Sequence[Playout], tcp: Sequence[Playout]) -> Drawing:
    words = {
        65: "both step down 6 times, UDP much faster",
        78: "UDP uses 7 levels quickly, TCP makes one large change after more than 20 s",
    }
    layers: list[Layer] = [Rule(name="35 kbit/s", at=LIMIT_KBPS)]
    sides: tuple[tuple[str, Role, Sequence[Playout]], ...] = (
        ("UDP", UDP_ROLE, udp),
        ("TCP", TCP_ROLE, tcp),
    )
    for name, role, playouts in sides:
        one = next(each for each in playouts if each.clip.number == number)
        x, y = [*one.encoding_time_s, one.span_s], [*one.encoding_kbps, one.encoding_kbps[-1]]
        layers.append(Curve(name=name, x=x, y=y, role=role, shape="steps"))
    return over_time(
        f"ccz-figure-18-clip-{number}",
        f"Encoded rate of clip {number} alone on 35 kbit/s",
        layers,
        caption=f"Figure 18, the first minute. Published: {words[number]}. {_ONE_RUN}",
        y=Axis(label="encoded rate of what comes", unit="kbit/s", low=0),
        time="time after the first media packet",
        high_s=60.0,
    )


def _sample_pair(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figure 6: a pair without and with contention."""
    seed = {
        rate: seeds[_PAIRS][RATES_KBPS.index(rate) * PLAYLIST_RUNS] for rate in (600, _SAMPLE_KBPS)
    }
    drawings = []
    for clip in playlist_clips():
        outcome = play_together(clip, token_bucket(_SAMPLE_KBPS), seed=seed[_SAMPLE_KBPS])
        if all(changes_both_ways(outcome.playout(clip, transport)[0]) for transport in TRANSPORTS):
            break
    else:
        return ()
    words = {
        600: (
            "Figure 6, top. Published: both buffer at a higher rate first, UDP more aggressively,"
            " then play alike."
        ),
        _SAMPLE_KBPS: (
            "Figure 6, bottom. Published: UDP takes the room at first; levels change down and up on"
            " both sides, UDP's up where TCP's go down."
        ),
    }
    for rate, sample in (
        (600, play_together(clip, token_bucket(600), seed=seed[600])),
        (_SAMPLE_KBPS, outcome),
    ):
        drawings.append(
            over_time(
                f"ccz-figure-6-{rate}",
                f"Clip {clip.number} over UDP and TCP on {rate} kbit/s",
                [
                    binned(
                        "TCP", sample.rates_kbps("tcp", bin_s=_BIN_S), bin_s=_BIN_S, role=TCP_ROLE
                    ),
                    binned(
                        "UDP", sample.rates_kbps("udp", bin_s=_BIN_S), bin_s=_BIN_S, role=UDP_ROLE
                    ),
                ],
                caption=(
                    f"{words[rate]} The paper does not tell its clips: here the first clip of the"
                    f" playlist whose streams both change down and up on {_SAMPLE_KBPS} kbit/s."
                    f" Means over {_BIN_S:g} s. {_ONE_RUN}"
                ),
                time="time after the start",
            )
        )
    return tuple(drawings)


FIGURES: tuple[Figure, ...] = (
    MeasuredFigure(
        name="ccz-playlist",
        experiments=(_POPULATION,),
        findings=("CCZ-W1", "CCZ-W5", "CCZ-W6", "CCZ-W7"),
        draw=_lengths_and_levels,
    ),
    PlayedFigure(
        name="ccz-sample-pair", experiments=(_PAIRS,), findings=("CCZ-M6",), draw=_sample_pair
    ),
    *PAIR_FIGURES,
    MeasuredFigure(
        name="ccz-scaling",
        experiments=(_ALONE,),
        findings=("CCZ-M1", "CCZ-M2", "CCZ-M3", "CCZ-M4", "CCZ-B6"),
        draw=_scaling,
    ),
)
