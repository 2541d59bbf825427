"""The player of several sessions of one source: shared ladder, and one policy for all decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trafficgen.calibration.application.policy import fit_policy
from trafficgen.calibration.application.recognition import (
    MOST_ABOVE,
    PlayedSegments,
    find_switches,
    play_segments,
)
from trafficgen.calibration.application.rungs import Rungs
from trafficgen.calibration.application.segment_clock import (
    INTERVAL_ERRORS,
    Segments,
    find_waits,
    guess_segment_clock,
)
from trafficgen.calibration.application.shared_ladder import (
    SharedLadder,
    find_shared_ladder,
    find_titles,
)
from trafficgen.formatting import format_count, rate_text
from trafficgen.models import Application, Estimate, Rung, estimate_ladder
from trafficgen.models.application import MOST_SEGMENTS
from trafficgen.units import FloatArray, kbps_from_bytes

#: Segments of one source are as long in each session, but for this part.
_SAME_CLOCK = 0.05
#: A rung whose standard error (log) is above this depends on content that no other session shows.
_UNSURE = 0.08


@dataclass(frozen=True)
class SeenPlayer:
    """The player of a capture.

    Attributes:
        name: Of the capture.
        application: What the capture alone shows.
        video: Its segments.
    """

    name: str
    application: Application
    video: Segments


def pool_players(
    players: Sequence[SeenPlayer], base: str
) -> tuple[Application, dict[str, str], list[str]] | None:
    """Return one player for several sessions, what is not known of it, and what they showed.

    Args:
        players: Those that requested segments.
        base: Name of the capture whose session is described: switches, stalls and start.

    Returns:
        None with fewer than two sessions whose segments are as long.
    """
    clock = _choose_clock(players)
    same = [one for one in players if clock is not None and _has_clock(one, clock)]
    if clock is None or len(same) < 2:
        return None
    sizes = [one.video.size_bytes for one in same]
    contents = [np.array(one.application.content) for one in same]
    titles = find_titles(sizes, contents)
    own = [_measure_rungs(one) for one in same]
    ladder = find_shared_ladder(sizes, titles, own)
    if any(titles):
        # Rungs that a session alone shows may be wrong, and so its content.
        together = find_shared_ladder(sizes, [0] * len(same), own)
        if together.score < ladder.score:
            titles, ladder = [0] * len(same), together
    rungs = _make_rungs(ladder, clock)
    kbps = [rung.rate_kbps.value for rung in rungs]
    played = [
        play_segments(one.video, Rungs(states, ladder.spread), clock)
        for one, states in zip(same, ladder.of_segment, strict=True)
    ]
    place = next((at for at, one in enumerate(same) if one.name == base), 0)
    found, absent = _fit_player(played, place, estimate_ladder(rungs, clock))
    application = same[place].application.model_copy(
        update={
            **{"segment_s": clock, "rungs": rungs, **found},
            "switches": find_switches(same[place].video, ladder.of_segment[place], kbps),
            "content": tuple(np.round(ladder.content[place][:MOST_SEGMENTS], 4).tolist()),
        }
    )
    if unsure := _list_unsure(rungs, ladder):
        absent["rungs"] = unsure
    evidence = [
        f"segments of {clock.value:.4g} s at {format_count(len(rungs), 'rung')}, shared by"
        f" {len(same)} captures of {format_count(max(titles) + 1, 'title')}"
    ]
    return application, {f"application.{name}": why for name, why in absent.items()}, evidence


def _choose_clock(players: Sequence[SeenPlayer]) -> Estimate | None:
    """Return the surest of the clocks: one that was measured; None if no session has one."""
    clocks = [one.application.segment_s for one in players]
    known = [one for one in clocks if one is not None]
    return min(known, key=lambda one: _width(one) if _width(one) > 0 else np.inf, default=None)


def _width(clock: Estimate) -> float:
    """Return the width of its interval, s: 0 of a usual duration that was preferred to others."""
    return (clock.high or np.inf) - (clock.low or 0.0)


def _has_clock(player: SeenPlayer, clock: Estimate) -> bool:
    """Return whether segments may be as long: a guess gives way to what others show."""
    own = player.application.segment_s
    if own is None:
        return False
    if abs(own.value / clock.value - 1) <= _SAME_CLOCK:
        return True
    waits = find_waits(player.video.request_s, player.video.idle_s)
    guess = guess_segment_clock(player.video.request_s)
    return not waits.any() and (guess is None or clock.value <= (guess.high or np.inf))


def _measure_rungs(player: SeenPlayer) -> FloatArray:
    """Return the mean size at the rung of each segment, as a session shows it by itself, bytes."""
    application = player.application
    own, switches = application.segment_s, application.switches
    assert own is not None
    first = switches[0].from_kbps if switches else application.rungs[0].rate_kbps.value
    rates = np.array([first, *(one.to_kbps for one in switches)])
    # Times of switches are those of requests.
    times_s = [one.time_s for one in switches]
    places = np.searchsorted(times_s, player.video.request_s, side="right")
    return rates[places] * own.value / kbps_from_bytes(1, 1)


def _make_rungs(ladder: SharedLadder, clock: Estimate) -> tuple[Rung, ...]:
    counts = np.bincount(np.concatenate(ladder.of_segment))
    rungs = []
    for mean_bytes, error, count in zip(ladder.mean_bytes, ladder.error, counts, strict=True):
        kbps = kbps_from_bytes(float(mean_bytes), clock.value)
        factor = float(np.exp(INTERVAL_ERRORS * error))
        rate = Estimate(
            value=kbps, low=kbps / factor, high=kbps * factor, method="sizes less their content"
        )
        rungs.append(Rung(rate_kbps=rate, segments=int(count)))
    return tuple(rungs)


def _fit_player(
    played: Sequence[PlayedSegments], place: int, kbps: list[float]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return policy, target and what else sessions share, and what is not known -> why."""
    highest_kbps = max(one.highest_kbps for one in played)
    known = [one for one in played if one.shows_choices]
    targets = [one.buffer.target_s for one in played if one.buffer.target_s is not None]
    target = sorted(targets, key=lambda one: one.value)[len(targets) // 2] if targets else None
    decisions = [one.decide(kbps, highest_kbps, most_above=MOST_ABOVE) for one in known]
    # A buffer that was never full has the target of the others.
    decisions = [one if one.target else replace(one, target=target) for one in decisions]
    policy, why = fit_policy(decisions) if decisions else (None, "stalls are not known")
    own = played[place].buffer
    absent = dict(own.absent) | ({} if policy else {"policy": why})
    found: dict[str, Any] = {"policy": policy, "highest_throughput_kbps": highest_kbps}
    if target is not None and own.target_s is None:
        found["buffer_target_s"] = target
        del absent["buffer_target_s"]
    elif own.target_s is not None:
        found["buffer_target_s"] = own.target_s
    return found, absent


def _list_unsure(rungs: Sequence[Rung], ladder: SharedLadder) -> str:
    """Say which rungs were only fetched where nothing parts them from the content."""
    unsure = [
        f"{rate_text(rung.rate_kbps.value)} ({rate_text(rung.rate_kbps.low or 0.0)} to"
        f" {rate_text(rung.rate_kbps.high or 0.0)})"
        for rung, error in zip(rungs, ladder.error, strict=True)
        if error > _UNSURE
    ]
    if not unsure:
        return ""
    return (
        f"{', '.join(unsure)}: fetched only where no capture has the same segment at another rung,"
        " so that its rate is known up to the content"
    )
