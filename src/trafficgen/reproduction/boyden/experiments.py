"""The experiments of BMW05: streams alone on the bottleneck and with a bulk TCP flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
from trafficgen.reproduction.experiment import Experiment

_Measure = Callable[[Session], dict[str, float]]

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


@dataclass(frozen=True)
class EachSetup(Experiment):
    """Several set-ups; a piece is a set-up.

    Attributes:
        name: Name of the experiment.
        setups: Set-ups, each with what is measured of its session.
        derive: Adds what follows from the measures of all set-ups, named ``measure/clip``.
    """

    name: str
    setups: tuple[tuple[Setup, _Measure], ...]
    derive: Callable[[dict[str, float]], dict[str, float]] | None = None

    @property
    def parts(self) -> int:
        """One piece a set-up."""
        return len(self.setups)

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play a set-up."""
        setup, measure = self.setups[part]
        return measure(setup.play(seed=seed))

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the measures by ``measure/clip``, and what is derived from them."""
        values = {
            f"{key}/{setup.clip}": float(value)
            for (setup, _), measures in zip(self.setups, parts, strict=True)
            for key, value in measures.items()
        }
        return values if self.derive is None else values | self.derive(values)


@dataclass(frozen=True)
class SeveralRuns(Experiment):
    """Runs of one set-up; a piece is a run, and a quantity the mean over them."""

    name: str
    setup: Setup
    measure_session: _Measure
    parts: int = 1

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Play the set-up."""
        return self.measure_session(self.setup.play(seed=seed))


@dataclass(frozen=True)
class StartupBursts(Experiment):
    """TurboPlay's burst for three clips on two links, alone and with TCP; a piece is a set-up."""

    name: str
    setups: tuple[Setup, ...] = tuple(
        Setup(clip=clip, link_kbps=link_kbps, turboplay=True, with_tcp=with_tcp)
        for clip in (256, 512, 1000)
        for link_kbps in (750.0, 1500.0)
        for with_tcp in (False, True)
    )

    @property
    def parts(self) -> int:
        """One piece a set-up."""
        return len(self.setups)

    def measure(self, part: int, *, seed: int) -> dict[str, Any]:
        """Measure the largest rate of 2 s in the first 8 s."""
        session = self.setups[part].play(seed=seed)
        rates = session.rates_kbps(start_s=session.first_s, end_s=session.first_s + _BURST_WITHIN_S)
        width = round(_BURST_S / BIN_S)
        return {"burst_kbps": float(np.convolve(rates, np.full(width, 1 / width), "valid").max())}

    def quantities(self, parts: Sequence[dict[str, Any]]) -> dict[str, float]:
        """Return the share of the link of each set-up by its name."""
        pairs = zip(self.setups, parts, strict=True)
        return {f"share/{setup.name}": one["burst_kbps"] / setup.link_kbps for setup, one in pairs}


def _measure_unlimited(session: Session) -> dict[str, float]:
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
        "peak_kbps": float(np.max(session.rates_kbps())),
        "largest_kbps": largest_kbps,
        "ratio": largest_kbps / playback_kbps,
    }


def _audience_share(values: dict[str, float]) -> dict[str, float]:
    shares = [values[f"playback_kbps/{clip}"] / clip for clip in _LOW_RATE]
    return {"audience_share": float(np.mean(shares))}


def _measure_near_capacity(session: Session) -> dict[str, float]:
    middle_s = (session.first_s + session.last_s) / 2
    start_s, _ = session.playback_s
    return {
        "mean_kbps": session.mean_kbps(start_s, session.last_s),
        "lost_first_half": float(session.count_losses(session.first_s, middle_s)),
        "lost_second_half": float(session.count_losses(middle_s, session.last_s)),
    }


def _losses_beyond_256(values: dict[str, float]) -> dict[str, float]:
    lost = {
        clip: values[f"lost_first_half/{clip}"] + values[f"lost_second_half/{clip}"]
        for clip in (256, 768, 1500)
    }
    return {f"lost_beyond_256/{clip}": lost[clip] - lost[256] for clip in (768, 1500)}


def _measure_audio_only(session: Session) -> dict[str, float]:
    middle_s = (session.first_s + session.last_s) / 2
    rates = session.rates_kbps(start_s=middle_s, end_s=session.last_s)
    above = rates > 2 * rates.mean()
    # A peak is a run of bins above the limit, so that one that lasts does not count twice.
    peaks = int(above[0]) + int(np.sum(above[1:] & ~above[:-1]))
    return {"mean_kbps": float(rates.mean()), "peaks": float(peaks)}


def _measure_lower_quality(session: Session) -> dict[str, float]:
    middle_s, last_s = (session.first_s + session.last_s) / 2, session.last_s
    return {
        "mean_kbps": session.mean_kbps(middle_s, last_s),
        "frames_per_s": session.frames_per_s(middle_s, last_s),
        "encoding_share": session.encoding_kbps(middle_s, last_s) / 1000.0,
    }


def _measure_room(session: Session) -> dict[str, float]:
    ends_s = session.phase_end_s()
    steady_kbps = float(np.median(session.rates_kbps(start_s=ends_s + 2, end_s=session.last_s - 2)))
    rises_s = BIN_S * float(np.argmax(session.rates_kbps() >= steady_kbps))
    return {
        "fast_kbps": session.mean_kbps(rises_s, ends_s),
        "fast_s": ends_s - rises_s,
        "lost": float(session.count_losses()),
    }


def _measure_room_turboplay(session: Session) -> dict[str, float]:
    fast = np.flatnonzero(session.rates_kbps() >= _BURST_SHARE * _LINK_KBPS)
    begins_s, ends_s = BIN_S * float(fast[0]), BIN_S * float(fast[-1] + 1)
    lost = session.count_losses()
    at_start = session.count_losses(0.0, ends_s + 1)
    return {
        "fast_kbps": session.mean_kbps(begins_s, ends_s),
        "fast_s": ends_s - begins_s,
        "lost": float(lost),
        "lost_at_start": at_start / lost if lost else float("nan"),
    }


def _measure_settled(session: Session) -> dict[str, float]:
    settled_s = session.first_s + _SETTLED_S
    return {
        "tcp_before_kbps": session.mean_kbps(-5.0, 0.0, flow=TCP),
        "tcp_first_8_s_kbps": session.mean_kbps(session.first_s, session.first_s + 8.0, flow=TCP),
        "media_kbps": session.mean_kbps(settled_s, session.last_s),
        "media_share": session.mean_kbps(settled_s, session.last_s) / _TRUE_512_KBPS,
        "tcp_kbps": session.mean_kbps(settled_s, session.last_s, flow=TCP),
        "tcp_after_kbps": session.mean_kbps(session.end_s - 8.0, session.end_s, flow=TCP),
    }


def _measure_overrun(session: Session) -> dict[str, float]:
    audio_only_s = session.time_s("audio_only")
    after_tcp_kbps = session.mean_kbps(_TCP_STOP_S + 5, session.last_s)
    gave_up = audio_only_s - session.first_s <= 60.0 and after_tcp_kbps < _AUDIO_ONLY_KBPS
    return {
        "gave_up": float(gave_up),
        "media_share": session.mean_kbps(60.0, session.last_s) / _TRUE_512_KBPS,
        "tcp_kbps": session.mean_kbps(60.0, _TCP_STOP_S, flow=TCP),
    }


def _measure_oscillation(session: Session) -> dict[str, float]:
    start = session.rates_kbps(end_s=15.0)
    peak_s = BIN_S * float(np.argmax(start))
    later = session.rates_kbps(start_s=_SETTLED_S, end_s=session.last_s, width_s=1.0)
    low, high = np.percentile(later, [10, 90])
    return {
        "first_kbps": float(start.max()),
        "then_kbps": session.mean_kbps(peak_s + 0.5, peak_s + 2.5),
        "low_kbps": float(low),
        "high_kbps": float(high),
        "tcp_after_kbps": session.mean_kbps(session.end_s - 8.0, session.end_s, flow=TCP),
    }


def _with_tcp(clip: int | str, **parts: Any) -> Setup:
    return Setup(clip=clip, link_kbps=_LINK_KBPS, with_tcp=True, **parts)


EXPERIMENTS: tuple[Experiment, ...] = (
    EachSetup(
        "bmw-table",
        tuple((Setup(clip=clip, link_kbps=UNLIMITED_KBPS), _measure_unlimited) for clip in _CLIPS),
        _audience_share,
    ),
    EachSetup(
        "bmw-near-capacity",
        tuple(
            (Setup(clip=clip, link_kbps=link_kbps), _measure_near_capacity)
            for clip, link_kbps in ((256, 250.0), (768, 750.0), (1500, 1500.0))
        ),
        _losses_beyond_256,
    ),
    EachSetup(
        "bmw-under-provisioned",
        (
            (Setup(clip=384, link_kbps=250.0), _measure_audio_only),
            (Setup(clip=1000, link_kbps=750.0), _measure_lower_quality),
        ),
    ),
    EachSetup("bmw-room", ((Setup(clip=512, link_kbps=_LINK_KBPS), _measure_room),)),
    EachSetup(
        "bmw-room-turboplay",
        ((Setup(clip=512, link_kbps=_LINK_KBPS, turboplay=True), _measure_room_turboplay),),
    ),
    SeveralRuns("bmw-1000-turboplay", _with_tcp(1000, turboplay=True), _measure_settled),
    SeveralRuns("bmw-512-turboplay", _with_tcp(512, turboplay=True), _measure_settled),
    SeveralRuns("bmw-512", _with_tcp(512, tcp_stop_s=_TCP_STOP_S), _measure_overrun, 10),
    SeveralRuns(
        "bmw-surestream-turboplay",
        _with_tcp(SURESTREAM, turboplay=True, run_on_s=10.0),
        _measure_settled,
    ),
    SeveralRuns("bmw-surestream", _with_tcp(SURESTREAM, run_on_s=10.0), _measure_oscillation),
    StartupBursts("bmw-burst"),
)
