"""The experiments of BMW05: streams alone on the bottleneck and with a bulk TCP flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from trafficgen.reproduction.boyden.testbed import (
    BIN_S,
    SURESTREAM,
    TCP,
    UNLIMITED_KBPS,
    Session,
    Setup,
)
from trafficgen.reproduction.experiment import Experiment, Measures, merge_pieces

_Measure = Callable[[Session], Measures]

_LOW_RATE = (56, 128, 256, 384)
_CLIPS = (*_LOW_RATE, 512, 768, 1000, 1500, SURESTREAM)
_LINK_KBPS = 1500.0
#: True rate of the 512 kbit/s clip (BMW-S2).
_TRUE_512_KBPS = 450.0
_START_S = 30.0
#: A burst goes on while the rate is above this share of the link.
_BURST_SHARE = 0.9
_BURST_S, _BURST_WITHIN_S = 2.0, 8.0
#: By then TurboPlay has stopped sending ahead and TCP has come back.
_SETTLED_S = 30.0
_TCP_STOP_S = 90.0
_AUDIO_ONLY_KBPS = 100.0


def _play(setup: Setup, measure: _Measure, seed: int) -> Measures:
    return measure(setup.play(seed=seed))


def _play_by_clip(setup: Setup, measure: _Measure, seed: int) -> Measures:
    """Return measures by ``measure/clip``."""
    measures = measure(setup.play(seed=seed))
    return {f"{key}/{setup.clip}": value for key, value in measures.items()}


def _play_burst(setup: Setup, seed: int) -> Measures:
    """Return the largest rate of 2 s in the first 8 s as a share of the link."""
    session = setup.play(seed=seed)
    rates = session.rates_kbps(start_s=session.first_s, end_s=session.first_s + _BURST_WITHIN_S)
    width = round(_BURST_S / BIN_S)
    burst_kbps = np.convolve(rates, np.full(width, 1 / width), "valid").max()
    return {f"share/{setup.name}": burst_kbps / setup.link_kbps}


def _measure_unlimited(session: Session) -> Measures:
    """Measure a row of Table I.

    Playback ends with the clip: its last seconds, which came before, count in its mean.
    """
    start_s, end_s = session.playback_s
    playback_kbps = session.mean_kbps(start_s, end_s)
    largest_kbps = float(np.max(session.rates_kbps(end_s=_START_S, width_s=1.0)))
    return {
        "buffering_s": start_s - session.first_s,
        "buffering_kbps": session.mean_kbps(session.first_s, start_s),
        "playback_kbps": playback_kbps,
        "peak_kbps": np.max(session.rates_kbps()),
        "largest_kbps": largest_kbps,
        "ratio": largest_kbps / playback_kbps,
    }


def _add_audience_share(pieces: Sequence[Measures]) -> Measures:
    values = merge_pieces(pieces)
    shares = [values[f"playback_kbps/{clip}"] / clip for clip in _LOW_RATE]
    return {**values, "audience_share": np.mean(shares)}


def _measure_near_capacity(session: Session) -> Measures:
    middle_s = (session.first_s + session.last_s) / 2
    start_s, _ = session.playback_s
    return {
        "mean_kbps": session.mean_kbps(start_s, session.last_s),
        "lost_first_half": session.count_losses(session.first_s, middle_s),
        "lost_second_half": session.count_losses(middle_s, session.last_s),
    }


def _add_losses_beyond_256(pieces: Sequence[Measures]) -> Measures:
    values = merge_pieces(pieces)
    lost = {
        clip: values[f"lost_first_half/{clip}"] + values[f"lost_second_half/{clip}"]
        for clip in (256, 768, 1500)
    }
    return values | {f"lost_beyond_256/{clip}": lost[clip] - lost[256] for clip in (768, 1500)}


def _measure_audio_only(session: Session) -> Measures:
    middle_s = (session.first_s + session.last_s) / 2
    rates = session.rates_kbps(start_s=middle_s, end_s=session.last_s)
    above = rates > 2 * rates.mean()
    # A peak is a run of bins above the limit, so that one that lasts does not count twice.
    peaks = int(above[0]) + int(np.sum(above[1:] & ~above[:-1]))
    return {"mean_kbps": rates.mean(), "peaks": peaks}


def _measure_lower_quality(session: Session) -> Measures:
    middle_s, last_s = (session.first_s + session.last_s) / 2, session.last_s
    return {
        "mean_kbps": session.mean_kbps(middle_s, last_s),
        "frames_per_s": session.frames_per_s(middle_s, last_s),
        "encoding_share": session.encoding_kbps(middle_s, last_s) / 1000.0,
    }


def _measure_room(session: Session) -> Measures:
    ends_s = session.phase_end_s()
    steady_kbps = float(np.median(session.rates_kbps(start_s=ends_s + 2, end_s=session.last_s - 2)))
    rises_s = BIN_S * float(np.argmax(session.rates_kbps() >= steady_kbps))
    return {
        "fast_kbps": session.mean_kbps(rises_s, ends_s),
        "fast_s": ends_s - rises_s,
        "lost": session.count_losses(),
    }


def _measure_room_turboplay(session: Session) -> Measures:
    fast = np.flatnonzero(session.rates_kbps() >= _BURST_SHARE * _LINK_KBPS)
    begins_s, ends_s = BIN_S * float(fast[0]), BIN_S * float(fast[-1] + 1)
    lost = session.count_losses()
    at_start = session.count_losses(0.0, ends_s + 1)
    return {
        "fast_kbps": session.mean_kbps(begins_s, ends_s),
        "fast_s": ends_s - begins_s,
        "lost": lost,
        "lost_at_start": at_start / lost if lost else float("nan"),
    }


def _measure_settled(session: Session) -> Measures:
    settled_s = session.first_s + _SETTLED_S
    return {
        "tcp_before_kbps": session.mean_kbps(-5.0, 0.0, flow=TCP),
        "tcp_first_8_s_kbps": session.mean_kbps(session.first_s, session.first_s + 8.0, flow=TCP),
        "media_kbps": session.mean_kbps(settled_s, session.last_s),
        "media_share": session.mean_kbps(settled_s, session.last_s) / _TRUE_512_KBPS,
        "tcp_kbps": session.mean_kbps(settled_s, session.last_s, flow=TCP),
        "tcp_after_kbps": session.mean_kbps(session.end_s - 8.0, session.end_s, flow=TCP),
    }


def _measure_overrun(session: Session) -> Measures:
    audio_only_s = session.time_s("audio_only")
    after_tcp_kbps = session.mean_kbps(_TCP_STOP_S + 5, session.last_s)
    gave_up = audio_only_s - session.first_s <= 60.0 and after_tcp_kbps < _AUDIO_ONLY_KBPS
    return {
        "gave_up": gave_up,
        "media_share": session.mean_kbps(60.0, session.last_s) / _TRUE_512_KBPS,
        "tcp_kbps": session.mean_kbps(60.0, _TCP_STOP_S, flow=TCP),
    }


def _measure_oscillation(session: Session) -> Measures:
    start = session.rates_kbps(end_s=15.0)
    peak_s = BIN_S * float(np.argmax(start))
    later = session.rates_kbps(start_s=_SETTLED_S, end_s=session.last_s, width_s=1.0)
    low, high = np.percentile(later, [10, 90])
    return {
        "first_kbps": start.max(),
        "then_kbps": session.mean_kbps(peak_s + 0.5, peak_s + 2.5),
        "low_kbps": low,
        "high_kbps": high,
        "tcp_after_kbps": session.mean_kbps(session.end_s - 8.0, session.end_s, flow=TCP),
    }


def _several_clips(
    name: str,
    setups: Iterable[tuple[Setup, _Measure]],
    combine: Callable[[Sequence[Measures]], Measures] = merge_pieces,
) -> Experiment:
    return Experiment(name, tuple(partial(_play_by_clip, *one) for one in setups), combine)


def _beside_tcp(
    name: str, clip: int | str, measure: _Measure, *, runs: int = 1, **parts: Any
) -> Experiment:
    """Return runs of a clip beside a bulk TCP flow, over which each measure is averaged."""
    setup = Setup(clip=clip, link_kbps=_LINK_KBPS, with_tcp=True, **parts)
    return Experiment(name, (partial(_play, setup, measure),) * runs)


_BURSTS = tuple(
    Setup(clip=clip, link_kbps=link_kbps, turboplay=True, with_tcp=with_tcp)
    for clip in (256, 512, 1000)
    for link_kbps in (750.0, 1500.0)
    for with_tcp in (False, True)
)

EXPERIMENTS: tuple[Experiment, ...] = (
    _several_clips(
        "bmw-table",
        ((Setup(clip=clip, link_kbps=UNLIMITED_KBPS), _measure_unlimited) for clip in _CLIPS),
        _add_audience_share,
    ),
    _several_clips(
        "bmw-near-capacity",
        (
            (Setup(clip=clip, link_kbps=link_kbps), _measure_near_capacity)
            for clip, link_kbps in ((256, 250.0), (768, 750.0), (1500, 1500.0))
        ),
        _add_losses_beyond_256,
    ),
    _several_clips(
        "bmw-under-provisioned",
        [
            (Setup(clip=384, link_kbps=250.0), _measure_audio_only),
            (Setup(clip=1000, link_kbps=750.0), _measure_lower_quality),
        ],
    ),
    _several_clips("bmw-room", [(Setup(clip=512, link_kbps=_LINK_KBPS), _measure_room)]),
    _several_clips(
        "bmw-room-turboplay",
        [(Setup(clip=512, link_kbps=_LINK_KBPS, turboplay=True), _measure_room_turboplay)],
    ),
    _beside_tcp("bmw-1000-turboplay", 1000, _measure_settled, turboplay=True),
    _beside_tcp("bmw-512-turboplay", 512, _measure_settled, turboplay=True),
    _beside_tcp("bmw-512", 512, _measure_overrun, runs=10, tcp_stop_s=_TCP_STOP_S),
    _beside_tcp(
        "bmw-surestream-turboplay", SURESTREAM, _measure_settled, turboplay=True, run_on_s=10.0
    ),
    _beside_tcp("bmw-surestream", SURESTREAM, _measure_oscillation, run_on_s=10.0),
    Experiment("bmw-burst", tuple(partial(_play_burst, one) for one in _BURSTS), merge_pieces),
)
