"""When a player played: its start-up, its stalls and the media in its buffer.

Media that came less media played is the buffer (Krishnamoorthi et al., BUFFEST, 2017; Mangla et
al., eMIMIC, 2018). Playback starts, and goes on after a stall, when some whole number of segments
is there. Several numbers are tried: the right one gives the same buffer at each request before
which the player waited, and a buffer target that is likely to be a whole number of seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from trafficgen.calibration.application.segment_clock import list_usual_durations
from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.models import Estimate, Stall
from trafficgen.units import BoolArray, FloatArray, IntArray

#: Players start with no more media than this, s, or with one segment; after a stall with twice it.
_MOST_START_S = 5.0
#: Buffers at waits are this far from the target (s), a few of them anywhere.
_WAIT_ERROR_S, _STRAY_WAITS = 0.05, 0.05
#: A player draws its first picture this long after its segment came (mean, s), so that the
#: buffer is larger by that; most targets are whole seconds.
_MEAN_LAG_S, _MOST_LAG_S, _WHOLE_TARGETS = 0.1, 0.3, 0.8
#: Waits that show a target, and how far one may be from it, in segments.
_FEWEST_WAITS, _MOST_OFF = 3, 0.15
#: More media than this is in few buffers, s, and more than that in few of players that never wait,
#: whose segments are as long as a guess says.
_MOST_HELD_S, _MOST_HELD_BY_GUESS_S = 60.0, 30.0
#: A clock with a wider interval than this is a guess (part of its value).
_WIDEST_CLOCK = 0.05
#: Start-up rules with less weight are left out; stalls are known if rules with this weight agree.
_LEAST_WEIGHT, _LEAST_SURE = 0.05, 0.7
#: Choices are looked at by rules that waits make less likely by this at most (log-likelihood).
_MOST_UNLIKELY = 10.0
STALLS_BY_GUESS = "that depends on how long segments are, which is a guess"


@dataclass(frozen=True)
class Downloads:
    """Segments of one kind in the order of their requests; arrays of shape (n,), times in s.

    Attributes:
        request_s: When each was requested.
        arrival_s: When all of it had come.
        waited: Whether the player waited before it, with a full buffer.
        rung: Its place in the ladder.
    """

    request_s: FloatArray
    arrival_s: FloatArray
    waited: BoolArray
    rung: IntArray


@dataclass(frozen=True)
class Playback:
    """What was played.

    Attributes:
        start_s: When the playback started, s.
        stalls: Where the buffer ran dry, until it went on.
        before_s: Media in the buffer at each request, s, shape (n,).
        after_s: The same when the segment had come.
        start_media_s: Media with which the playback starts, s.
        resume_media_s: Media with which it goes on after a stall, s.
    """

    start_s: float
    stalls: tuple[Stall, ...]
    before_s: FloatArray
    after_s: FloatArray
    start_media_s: float
    resume_media_s: float


@dataclass(frozen=True)
class BufferFit:
    """The playback that explains the requests best.

    Attributes:
        playback: That of the likeliest start-up rule.
        startup_s: When playback started.
        target_s: Media in the buffer at which the player asks for more; None where unknown.
        stalls: None where unknown.
        absent: What is not known -> why.
        is_known: Whether the playback is about that: what is in the buffer may be a stall off.
    """

    playback: Playback
    startup_s: Estimate | None
    target_s: Estimate | None
    stalls: tuple[Stall, ...] | None
    absent: dict[str, str]
    is_known: bool = True


def play(downloads: Downloads, media_s: FloatArray, *, start_s: float, resume_s: float) -> Playback:
    """Play segments as they came.

    Args:
        downloads: The segments.
        media_s: What each adds to the buffer, s, shape (n,).
        start_s: Media with which the playback starts, s.
        resume_s: Media with which it goes on after a stall, s.
    """
    times_s = downloads.arrival_s
    held_s, began_s, is_playing = 0.0, float(times_s[-1]), False
    levels_s, playing = np.empty(len(times_s)), np.zeros(len(times_s), dtype=np.bool_)
    stalls: list[Stall] = []
    dry_s: float | None = None
    for place, (now_s, new_s) in enumerate(zip(times_s, media_s, strict=True)):
        passed_s = float(now_s - times_s[place - 1]) if is_playing else 0.0
        if passed_s > held_s:
            dry_s, is_playing = float(now_s) - passed_s + held_s, False
        held_s = max(held_s - passed_s, 0.0) + float(new_s)
        if not is_playing and held_s >= (start_s if dry_s is None else resume_s) - 1e-6:
            is_playing = True
            if dry_s is None:
                began_s = float(now_s)
            else:
                stalls.append(Stall(start_s=dry_s, duration_s=float(now_s) - dry_s))
        levels_s[place], playing[place] = held_s, is_playing
    last = np.searchsorted(times_s, downloads.request_s, side="right") - 1
    since_s = np.where(playing[last], downloads.request_s - times_s[last], 0.0)
    before_s = np.where(last < 0, 0.0, np.maximum(levels_s[last] - since_s, 0.0))
    return Playback(began_s, tuple(stalls), before_s, levels_s, start_s, resume_s)


def fit_buffer(
    downloads: Downloads, clock: Estimate, explain: Callable[[Playback], float] | None = None
) -> BufferFit:
    """Find when a player started, stalled and waited.

    Args:
        downloads: Its segments.
        clock: Media in a segment, s.
        explain: Returns the log-likelihood (natural) of the choices of rungs with a playback, by
            what players do. None: choices say nothing.
    """
    media_s = _new_media(downloads, clock)
    segment_s = float(media_s.max())
    found = [
        (play(downloads, media_s, start_s=start * segment_s, resume_s=resume * segment_s), prior)
        for start, resume, prior in _start_rules(segment_s)
    ]
    scores = np.array([np.log(prior) + _score(one, downloads, segment_s) for one, prior in found])
    if explain is not None:
        scores += _explain_choices([one for one, _ in found], scores, explain)
    weights = np.exp(scores - scores.max())
    least = min(_LEAST_WEIGHT * weights.sum(), 1.0)
    likely = [one for (one, _), weight in zip(found, weights, strict=True) if weight >= least]
    best = found[int(weights.argmax())][0]
    if downloads.waited[1:3].all():
        why = "the player waits from its second request on: the capture begins within the session"
        return BufferFit(
            best, None, None, None, dict.fromkeys(("startup_s", *_OF_BUFFER), why), False
        )
    starts = [one.start_s for one in likely]
    startup = Estimate(
        value=best.start_s,
        low=min(starts) - _MEAN_LAG_S,
        high=max(starts) + _MOST_LAG_S,
        method="segments that came before the playback",
    )
    low_s, high_s = clock.low or clock.value, clock.high or clock.value
    is_guess = high_s - low_s > _WIDEST_CLOCK * clock.value
    most_s = float(best.before_s.max())
    if most_s > (_MOST_HELD_BY_GUESS_S if is_guess else _MOST_HELD_S):
        why = (
            f"the buffer would hold {most_s:.0f} s: segments were fetched again, or are shorter"
            f" than {clock.value:g} s"
        )
        return BufferFit(best, startup, None, None, dict.fromkeys(_OF_BUFFER, why), False)
    target, why = _target(likely, best, downloads, segment_s)
    absent = {} if target else {"buffer_target_s": why}
    counts = np.array([len(one.stalls) for one, _ in found])
    is_sure = weights[counts == len(best.stalls)].sum() >= _LEAST_SURE * weights.sum()
    if not is_sure:
        absent["stalls"] = (
            f"from {counts.min()} to {counts.max()}: that depends on how much media the player"
            " starts with, which is not known"
        )
    if is_guess and (len(list_usual_durations(low_s, high_s)) > 1 or not downloads.rung.any()):
        is_sure = False
        absent["stalls"] = STALLS_BY_GUESS
    return BufferFit(best, startup, target, best.stalls if is_sure else None, absent)


_OF_BUFFER = ("stalls", "buffer_target_s")


def _explain_choices(
    found: list[Playback], scores: FloatArray, explain: Callable[[Playback], float]
) -> FloatArray:
    """Return the log-likelihood of the choices by each playback; -inf of those that are unlikely.

    A playback that several rules lead to is explained once.
    """
    known: dict[bytes, float] = {}
    logs = np.full(len(found), -np.inf)
    for place in np.flatnonzero(scores >= scores.max() - _MOST_UNLIKELY).tolist():
        held = found[place].before_s.tobytes()
        if held not in known:
            known[held] = explain(found[place])
        logs[place] = known[held]
    return logs


def anchor_buffer(
    fit: BufferFit, downloads: Downloads, log: PlayerLog, segment_s: float
) -> BufferFit:
    """Take start, stalls and buffer from the player's log, as far as it has them.

    Args:
        fit: What the segments alone show.
        downloads: The segments.
        log: The log, on the clock of the session.
        segment_s: Media in a segment, s.
    """
    start_s = log.playback_start_s
    if start_s is None:
        return fit
    stalls = tuple(Stall(start_s=one.start_s, duration_s=one.duration_s) for one in log.stalls)
    playback = replace(fit.playback, start_s=start_s, stalls=stalls)
    target = fit.target_s
    absent = {name: why for name, why in fit.absent.items() if name == "buffer_target_s"}
    if log.sample_time_s.size > 1:
        before_s, after_s = (
            np.interp(times_s, log.sample_time_s, log.buffer_s)
            for times_s in (downloads.request_s, downloads.arrival_s)
        )
        playback = replace(playback, before_s=before_s, after_s=after_s)
        target, why = _target([playback], playback, downloads, segment_s)
        absent = {} if target else {"buffer_target_s": why}
    startup = Estimate(value=start_s, low=start_s, high=start_s, method="player log")
    return BufferFit(playback, startup, target, stalls, absent)


def _start_rules(segment_s: float) -> list[tuple[int, int, float]]:
    """Return segments to start with, segments to go on with, and how likely that is beforehand.

    Players rather start early, and most go on with what they start with.
    """
    most = max(int(_MOST_START_S / segment_s), 1)
    return [
        (start, resume, (0.5 if start == resume else 0.5 / (2 * most - 1)) / start)
        for start in range(1, most + 1)
        for resume in range(1, 2 * most + 1)
    ]


def _new_media(downloads: Downloads, clock: Estimate) -> FloatArray:
    """Return what each segment adds to the buffer, s: nothing if it was fetched again.

    At a higher rung, a player replaces segments that it has; the buffers at two waits then differ
    by whole segments. Buffers at waits do not drift either, which makes the clock more exact.
    """
    media_s = np.full(len(downloads.rung), clock.value)
    rules = {"start_s": clock.value, "resume_s": clock.value}
    before_s = play(downloads, media_s, **rules).before_s
    waits = np.flatnonzero(downloads.waited)
    for first, second in itertools.pairwise(waits.tolist()):
        more = (before_s[second] - before_s[first]) / clock.value
        again, since = round(more), max(first, 1)
        up = np.flatnonzero(np.diff(downloads.rung[since - 1 : second + 1]) > 0) + since
        if again >= 1 and abs(more - again) < _MOST_OFF and up.size:
            media_s[up[0] : up[0] + again] = 0.0
    if len(waits) >= _FEWEST_WAITS and clock.low is not None and clock.high is not None:
        held_s = play(downloads, media_s, **rules).before_s[waits]
        drift_s = float(np.polyfit(waits, held_s, 1)[0])
        media_s *= min(max(clock.value - drift_s, clock.low), clock.high) / clock.value
    return media_s


def _score(playback: Playback, downloads: Downloads, segment_s: float) -> float:
    """Return how well one target explains the waits, as a log-likelihood."""
    held_s = playback.before_s[downloads.waited]
    if len(held_s) < _FEWEST_WAITS:
        return 0.0
    target_s = float(np.median(held_s))
    near = np.exp(-0.5 * ((held_s - target_s) / _WAIT_ERROR_S) ** 2)
    near *= (1 - _STRAY_WAITS) / (_WAIT_ERROR_S * np.sqrt(2 * np.pi))
    lag_s = np.ceil(target_s - _WAIT_ERROR_S) - target_s
    whole = np.exp(-max(lag_s, 0.0) / _MEAN_LAG_S) / _MEAN_LAG_S
    return float(
        np.log(near + _STRAY_WAITS / segment_s).sum()
        + np.log(_WHOLE_TARGETS * whole + 1 - _WHOLE_TARGETS)
    )


def _target(
    likely: list[Playback], best: Playback, downloads: Downloads, segment_s: float
) -> tuple[Estimate | None, str]:
    """Return the buffer at which the player asks for more, or why it is not known."""
    held_s = best.before_s[downloads.waited]
    if len(held_s) < _FEWEST_WAITS:
        most_s = best.before_s.max()
        return None, f"its buffer, up to {most_s:.1f} s, was never full: the player did not wait"
    target_s = float(np.median(held_s))
    if np.mean(np.abs(held_s - target_s) > _MOST_OFF * segment_s) > 0.2:
        return None, f"the player waits at buffers from {held_s.min():.1f} to {held_s.max():.1f} s"
    ends = [float(np.median(one.before_s[downloads.waited])) for one in likely]
    return (
        Estimate(
            value=target_s,
            low=min(ends) - _MEAN_LAG_S,
            high=max(ends) + _MOST_LAG_S,
            method="media in the buffer at requests after waits",
        ),
        "",
    )
