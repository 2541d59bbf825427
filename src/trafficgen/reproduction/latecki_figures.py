"""Figures 1 to 13 of Latecki, Jin and Mulik, drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trafficgen._core import SimulationOutcome
from trafficgen.calibration.delay_trends import delay_trends
from trafficgen.drawings import Axis, Curve, Drawing, Layer, Role, Span, thinned
from trafficgen.reproduction.figure_parts import COMPETITOR, STREAM, binned, over_time, said
from trafficgen.reproduction.figures import Figure, PlayedFigure, Seeds
from trafficgen.reproduction.latecki import EXPERIMENTS, TwoStreamRun
from trafficgen.reproduction.latecki_measures import (
    VIDEO_END_S,
    VIDEO_START_S,
    AudioPackets,
    audio_packets,
    run_log,
    video_rates_kbps,
)
from trafficgen.units import FloatArray, kbps_from_bps, ms_from_s

_RUNS = {one.name: one for one in EXPERIMENTS if isinstance(one, TwoStreamRun)}
_TCP_OFF, _TCP_ON, _UDP_OFF = (
    "LJM TCP without control",
    "LJM TCP with control",
    "LJM UDP without control",
)
_TIME = "time after the first audio packet"
_DELAY = Axis(label="one-way delay of the audio", unit="ms", low=0)
_ONE_RUN = "Simulated: one run, the first of those in the table."
_BIN_S = 1.0
_SCALES = (32, 64, 128)
_SCALE_ROLES: tuple[Role, ...] = ("other", "extra", "synthetic")
_WITHOUT, _WITH = "without control", "with control"
#: Figure 1 ends with audio packet 2000.
_FIGURE_1_END_S = 80.0


def _play(name: str, seeds: Seeds) -> SimulationOutcome:
    return _RUNS[name].play(seed=seeds[name][0])


def _video() -> Span:
    return Span(name="video is sent", start=VIDEO_START_S, end=VIDEO_END_S)


def _delays(audio: AudioPackets, name: str, *, role: Role = STREAM) -> Curve:
    came = np.isfinite(audio.delay_s)
    x, y = thinned(audio.sent_s[came], ms_from_s(audio.delay_s[came]))
    return Curve(name=name, x=x, y=y, role=role)


def _over_time(
    name: str, title: str, layers: Sequence[Layer], caption: str, *, y: Axis, high_s: float = 200.0
) -> Drawing:
    return over_time(
        name, title, layers, caption=f"{caption} {_ONE_RUN}", y=y, time=_TIME, high_s=high_s
    )


def _udp(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 1 and 2: video over UDP above the link's rate, and what both tests say."""
    audio = audio_packets(_play(_UDP_OFF, seeds))
    came = np.isfinite(audio.delay_s)
    trends = delay_trends(
        audio.delay_s[came], scales_packets=(_SCALES[0],), step_packets=_SCALES[0]
    )
    at_s = audio.sent_s[came][trends.last_packet]
    delays = _over_time(
        "ljm-figure-1",
        "Audio delay when video over UDP exceeds the link",
        [_video(), _delays(audio, "audio")],
        "Figure 1, 20.8 kbit/s of audio and 120 of video over 100. Published: a short transition,"
        " then high and stable.",
        y=_DELAY,
        high_s=_FIGURE_1_END_S,
    )
    tests = _over_time(
        "ljm-figure-2",
        "Both trend tests on these delays",
        [
            _video(),
            said("threshold 0.5", 0, _FIGURE_1_END_S, 0.5),
            said("threshold 0.25", 0, _FIGURE_1_END_S, 0.25),
            Curve(name="PCT", x=at_s, y=trends.pct[0], role=STREAM),
            Curve(name="PDT", x=at_s, y=trends.pdt[0], role="extra"),
        ],
        "Figure 2: every 32 delays. Published: above the thresholds in the short transition only.",
        y=Axis(label="statistic: 1 rises, -1 falls", low=-1.05, high=1.05),
        high_s=_FIGURE_1_END_S,
    )
    return delays, tests


def _tcp_trends(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 3, 4 and 5: video over TCP, the test at three scales, and the verdict."""
    audio = audio_packets(_play(_TCP_OFF, seeds))
    came = np.isfinite(audio.delay_s)
    delay_s, sent_s = audio.delay_s[came], audio.sent_s[came]
    delays = _over_time(
        "ljm-figure-3",
        "Audio delay when video is sent over TCP",
        [_video(), _delays(audio, "audio")],
        "Figure 3. Published: long trends with large local variance, as TCP's window grows and is"
        " halved.",
        y=_DELAY,
    )
    layers: list[Layer] = [_video()]
    for scale, role in zip(_SCALES, _SCALE_ROLES, strict=True):
        trends = delay_trends(delay_s, scales_packets=(scale,), step_packets=_SCALES[0])
        layers.append(
            Curve(
                name=f"PDT of {scale} packets",
                x=sent_s[trends.last_packet],
                y=trends.pdt[0],
                role=role,
            )
        )
    tests = _over_time(
        "ljm-figure-4",
        "Trend test at three scales on these delays",
        layers,
        "Figure 4. Published: 32 packets hardly see the trends, 128 see all of them.",
        y=Axis(label="statistic: 1 rises, -1 falls", low=-1.05, high=1.05),
    )
    final = delay_trends(delay_s, step_packets=_SCALES[0] // 4)
    said_by_all = _over_time(
        "ljm-figure-5",
        "What the three scales say together",
        [
            _video(),
            Curve(
                name="verdict",
                x=sent_s[final.last_packet],
                y=final.trend,
                role=STREAM,
                shape="steps",
            ),
        ],
        "Figure 5: 1 increasing, -1 decreasing, 0 steady, 0.5 and -0.5 ambiguous with their"
        " leaning.",
        y=Axis(label="verdict", low=-1.1, high=1.1),
    )
    return delays, tests, said_by_all


def _without_control(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 6 and 7: what the application sends and what TCP carries, without control."""
    return (
        _video_rates(
            _TCP_OFF, seeds, "ljm-figure-6", f"Video rate over TCP {_WITHOUT}", "Figures 6 and 7."
        ),
    )


def _with_control(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 8 and 9: the same with control."""
    told = said("converges in about 20 s to 48.8", VIDEO_START_S + 20, VIDEO_END_S, 48.8)
    return (
        _video_rates(
            _TCP_ON, seeds, "ljm-figure-8", f"Video rate over TCP {_WITH}", "Figures 8 and 9.", told
        ),
    )


def _video_rates(
    run: str, seeds: Seeds, name: str, title: str, figures: str, *told: Layer
) -> Drawing:
    outcome = _play(run, seeds)
    carried = binned(
        "on the network", video_rates_kbps(outcome, bin_s=_BIN_S), bin_s=_BIN_S, role=COMPETITOR
    )
    caption = (
        f"{figures} Of the application: media payload; on the network: IP bytes that came, means"
        f" over {_BIN_S:g} s."
    )
    axis = Axis(label="rate of the video", unit="kbit/s", low=0)
    return _over_time(name, title, [*told, carried, _encoded(outcome)], caption, y=axis)


def _encoded(outcome: SimulationOutcome) -> Curve:
    """Return the rate that the application sends at: 0 while it pauses, until the video ends."""
    changes: list[tuple[float, float]] = [(0.0, 0.0)]
    for time_s, kind, value in run_log(outcome).of("encoding", "paused_at_kbps"):
        changes.append((time_s, 0.0 if kind == "paused_at_kbps" else kbps_from_bps(value)))
    changes += [(VIDEO_END_S, 0.0), (200.0, 0.0)]
    x, y = zip(*changes, strict=True)
    return Curve(name="of the application", x=x, y=y, role=STREAM, shape="steps")


def _control(seeds: Seeds) -> tuple[Drawing, ...]:
    """Figures 10 and 12: audio delay and loss without and with control."""
    audios = [(name, role, audio_packets(_play(run, seeds))) for name, role, run in _pairs()]
    delays = _over_time(
        "ljm-figure-10",
        "Audio delay without and with control",
        [
            _video(),
            said("mean without control 1274", VIDEO_START_S, VIDEO_END_S, 1274),
            said("mean with control 57", VIDEO_START_S, VIDEO_END_S, 57),
            *(_delays(audio, name, role=role) for name, role, audio in audios),
        ],
        "Figure 10, video over TCP. Published means before the video: 53 and 55 ms.",
        y=_DELAY,
    )
    losses = _over_time(
        "ljm-figure-12",
        "Audio packets lost without and with control",
        [
            _video(),
            said("143 without control", VIDEO_END_S, 200, 143),
            said("0 with control", VIDEO_END_S, 200, 0),
            *(_lost(audio, name, role=role) for name, role, audio in audios),
        ],
        "Figure 12 tells the loss rate; here the losses are counted up, of 3000 packets sent beside"
        " the video.",
        y=Axis(label="audio packets lost so far", low=0),
    )
    return delays, losses


def _pairs() -> tuple[tuple[str, Role, str], ...]:
    return (_WITHOUT, "other", _TCP_OFF), (_WITH, STREAM, _TCP_ON)


def _lost(audio: AudioPackets, name: str, *, role: Role) -> Curve:
    lost: FloatArray = np.cumsum(np.isnan(audio.delay_s)).astype(np.float64)
    x, y = thinned(audio.sent_s, lost)
    return Curve(name=name, x=x, y=y, role=role, shape="steps")


FIGURES: tuple[Figure, ...] = (
    PlayedFigure(
        name="ljm-figures-1-2",
        experiments=(_UDP_OFF,),
        findings=("LJM-E7", "LJM-D2", "LJM-D4"),
        draw=_udp,
    ),
    PlayedFigure(
        name="ljm-figures-3-5",
        experiments=(_TCP_OFF,),
        findings=("LJM-D4", "LJM-E2"),
        draw=_tcp_trends,
    ),
    PlayedFigure(
        name="ljm-figures-6-7",
        experiments=(_TCP_OFF,),
        findings=("LJM-E1", "LJM-E3", "LJM-E5"),
        draw=_without_control,
    ),
    PlayedFigure(
        name="ljm-figures-8-9",
        experiments=(_TCP_ON,),
        findings=("LJM-E3", "LJM-E5", "LJM-E6", "LJM-C1", "LJM-C2"),
        draw=_with_control,
    ),
    PlayedFigure(
        name="ljm-figures-10-12",
        experiments=(_TCP_OFF, _TCP_ON),
        findings=("LJM-E2", "LJM-E4", "LJM-C3"),
        draw=_control,
    ),
)
