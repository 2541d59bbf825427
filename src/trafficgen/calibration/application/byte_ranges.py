"""Rungs of a player that requests ranges of bytes of video and audio in turn.

A range has about as many bytes at one rung as at another, so that sizes alone do not show rungs.
But audio is of one rate: its bytes are a clock of the media. A player requests what it has less of,
so that video gets ahead of audio and falls behind by turns: at the right rung it does, at another
one it runs away. While all goes well it takes whole ranges, those of video about as long as those
of audio; where it has nothing left to play it begins anew, often at another rung. Ladders have
about equal steps, so that few of them need be tried; the rates of those rungs that were used are
then moved to where they explain the ranges best.

This is a hidden Markov chain (Rabiner, 1989) of the rung and of how far video is ahead. Its values
were set by the group A of the captures of Requet (Gutterman and others, 2019), of one quality each
and in pairs of one title put together, and by the likelihood of those whose client moved.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from trafficgen.calibration.application.segment_clock import Segments
from trafficgen.models import Estimate
from trafficgen.units import BoolArray, FloatArray, IntArray, kbps_from_bytes

#: How far video is ahead of audio, in ranges of audio: at most, in steps, and at the start or after
#: what is not accounted for (standard deviation), which has this probability at each range.
_MOST_AHEAD, _AHEAD_STEP, _AHEAD, _LOST = 4.0, 0.2, 1.0, 0.02
#: The next range is of what is behind but for this (scale of a logistic law), or of either kind in
#: this share of the requests.
_LEAN, _EITHER = 0.15, 0.05
#: Content makes a range of video (true) or of audio as much shorter or longer in media (part).
_SPREADS, _STEP_SPREAD = {True: 0.3, False: 0.05}, 0.02
#: Ranges of video are whole, as long as those of audio but for this (standard deviation of logs),
#: or of any length up to the longest.
_WHOLE_SPREAD, _LONGEST, _LEAST = 0.08, 1.15, 1e-3
#: They are whole in the first share where so many ranges before came faster than so many times the
#: rate of audio and the player did not begin anew, else in the other share.
_WHOLE_SHARES, _CALM_AFTER, _SLOW = (0.6, 0.1), 8, 3.0
#: ... where a shorter one is as likely at any length (density of logs: over a factor of 150).
_SHORTER = 0.2
#: Rates that are tried are this factor apart, down from the highest, whose whole ranges are so much
#: larger than the largest range is: to the lowest, a part of the rate of audio.
_FINE_STEP, _ABOVE, _LEAST_VIDEO = 1.06, 3.0, 0.5
#: Steps of ladders that are tried, in those: 1.7, 1.9 and 2.1, where services recommend 1.5 to 2
#: (Apple's authoring specification of HLS); rungs stay so far apart as they are moved by so many.
_LADDER_STEPS, _LEAST_APART, _MOVES = (9, 11, 13), 4, (-3, -2, -1, 1, 2, 3)
#: Probability of a switch before a range of video, and where the player begins anew.
_SWITCH, _SWITCH_ANEW = 0.015, 0.3
#: Part of the ranges of audio that are no longer than a whole one.
_WHOLE = 0.9
#: Rungs are looked for in so many parts of a longer session, of so many ranges of video each.
_PARTS, _MOST_TOGETHER = 4, 64
#: Most media that a player holds, s; audio of video services mostly has this rate (AAC, kbit/s).
_MOST_HELD_S, _USUAL_AUDIO_KBPS = 120.0, 128.0

_TINY = 1e-12


@dataclass(frozen=True)
class RangeRungs:
    """Rungs of ranges of video.

    Attributes:
        of_range: Rung of each, 0 the lowest, shape (ranges of video,).
        video_per_audio: Bytes of video for a byte of audio at each rung, ascending.
    """

    of_range: IntArray
    video_per_audio: FloatArray


@dataclass(frozen=True)
class _Steps:
    """What each range says at each rate that is tried.

    Attributes:
        is_video: Which are of the video, shape (n,).
        moves: How far video gets ahead by it, in ranges of audio, shape (n, rates).
        turns: How likely its kind is, by how far video is ahead, shape (n, steps ahead).
        lengths: How likely it has its length, shape (n, rates).
        switches: How likely its rung is another one than before, shape (n,).
    """

    is_video: BoolArray
    moves: FloatArray
    turns: FloatArray
    lengths: FloatArray
    switches: FloatArray

    def select(self, chosen: IntArray) -> _Steps:
        """Return those of some ranges."""
        return _Steps(*(getattr(self, one.name)[chosen] for one in fields(self)))


def find_range_rungs(video: Segments, audio: Segments, audio_kbps: float) -> RangeRungs:
    """Find the rungs of ranges of video.

    Args:
        video: Ranges of video, one or more.
        audio: Those of audio, one or more.
        audio_kbps: Rate of the audio, kbit/s.
    """
    parts = (video, audio)
    request_s, arrival_s, size_bytes = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("request_s", "arrival_s", "size_bytes")
    )
    order = np.argsort(request_s, kind="stable")
    begins = _find_beginnings(request_s[order], audio, audio_kbps)
    kbps = kbps_from_bytes(1, 1) * size_bytes / np.maximum(arrival_s - request_s, _TINY)
    calm = _find_calm(kbps[order] < _SLOW * audio_kbps, begins)
    unit = float(np.quantile(audio.size_bytes, _WHOLE))
    highest = max(_ABOVE * float(video.size_bytes.max()) / unit, _LEAST_VIDEO)
    count = int(np.log(highest / _LEAST_VIDEO) / np.log(_FINE_STEP)) + 1
    rates: FloatArray = highest * np.exp(-np.log(_FINE_STEP) * np.arange(count)[::-1])
    steps = _describe_ranges(size_bytes[order] / unit, order >= len(video), rates, begins, calm)
    part = steps.select(_list_parts(steps.is_video))
    chosen = _find_used(part, _choose_ladder(part))
    while (moved := _choose(part, _move_rungs(chosen, count))) != chosen:
        chosen = moved
    states = _decode(steps, chosen)[steps.is_video]
    used, of_range = np.unique(states, return_inverse=True)
    return RangeRungs(of_range, rates[np.array(chosen)[used]])


def _find_beginnings(request_s: FloatArray, audio: Segments, audio_kbps: float) -> BoolArray:
    """Return at which requests a player has come to have no audio left to play, shape (n,)."""
    order = np.argsort(audio.arrival_s, kind="stable")
    arrival_s = audio.arrival_s[order]
    media_s = kbps_from_bytes(1, 1) * audio.size_bytes[order] / audio_kbps
    # As if a player could owe media; it waits instead.
    owed_s = np.cumsum(media_s) - media_s - (arrival_s - arrival_s[0])
    held_s = owed_s - np.minimum.accumulate(owed_s) + media_s
    last = np.searchsorted(arrival_s, request_s, side="right") - 1
    is_dry = (last < 0) | (held_s[last] <= request_s - arrival_s[last])
    return np.asarray(is_dry & ~np.concatenate(([False], is_dry[:-1])))


def _find_calm(is_slow: BoolArray, begins: BoolArray) -> BoolArray:
    """Return which ranges follow enough others without a slow one or a beginning, shape (n,)."""
    places = np.arange(len(begins))
    is_trouble = begins | np.concatenate(([False], is_slow[:-1]))
    return np.asarray(
        places - np.maximum.accumulate(np.where(is_trouble, places, -_CALM_AFTER)) >= _CALM_AFTER
    )


def _find_used(steps: _Steps, chosen: list[int]) -> list[int]:
    """Return the rates, ascending, that ranges of video have by the likeliest rungs of each."""
    return [chosen[rung] for rung in np.unique(_decode(steps, chosen)[steps.is_video])]


def _list_parts(is_video: BoolArray) -> IntArray:
    """Return the places of ranges in which rungs are looked for: all, or those of some parts."""
    video = np.flatnonzero(is_video)
    begins = np.linspace(0, len(video) - _MOST_TOGETHER, _PARTS).astype(np.int64)
    if len(video) <= _PARTS * _MOST_TOGETHER:
        return np.arange(len(is_video))
    parts = [np.arange(video[one], video[one + _MOST_TOGETHER - 1] + 1) for one in begins]
    return np.concatenate(parts)


def _describe_ranges(
    sizes: FloatArray, is_audio: BoolArray, rates: FloatArray, begins: BoolArray, calm: BoolArray
) -> _Steps:
    """Return what each range says.

    Args:
        sizes: In ranges of audio.
        is_audio: Which are of the audio.
        rates: Video in as much media as a range of audio has, shape (rates,).
        begins: Before which the player begins anew.
        calm: Before which all went well for a while.
    """
    lengths = sizes[:, np.newaxis] / rates
    # No range has more bytes than the largest one.
    of_most = np.minimum(1.0, sizes[~is_audio].max() / rates)
    whole = np.exp(-0.5 * (np.log(lengths / of_most) / _WHOLE_SPREAD) ** 2)
    whole /= _WHOLE_SPREAD * np.sqrt(2 * np.pi)
    share = np.where(calm, *_WHOLE_SHARES)[:, np.newaxis]
    shorter = np.where(lengths < _LONGEST, (1 - share) * _SHORTER, _LEAST)
    audio = is_audio[:, np.newaxis]
    video_next = (1 - _EITHER) / (1 + np.exp(_list_leads() / _LEAN)) + _EITHER / 2
    return _Steps(
        is_video=~is_audio,
        moves=np.where(audio, -sizes[:, np.newaxis], lengths),
        turns=np.where(audio, 1 - video_next, video_next),
        lengths=np.where(audio, 1.0, shorter + share * whole),
        switches=np.where(begins, _SWITCH_ANEW, np.where(is_audio, 0.0, _SWITCH)),
    )


def _list_leads() -> FloatArray:
    """Return by how much video may be ahead of audio, in ranges of audio."""
    count = round(_MOST_AHEAD / _AHEAD_STEP)
    return np.asarray(_AHEAD_STEP * np.arange(-count, count + 1))


def _weigh_start() -> FloatArray:
    """Return how likely video is ahead by each lead at the start."""
    near: FloatArray = np.exp(-0.5 * (_list_leads() / _AHEAD) ** 2)
    return np.asarray(near / near.sum())


def _choose_ladder(steps: _Steps) -> list[int]:
    """Return the places of the rates, ascending, of the ladder that explains the ranges best."""
    count = steps.moves.shape[1]
    ladders: dict[int, list[list[int]]] = {}
    for step in _LADDER_STEPS:
        for lowest in range(min(step, count)):
            ladder = list(range(lowest, count, step))
            ladders.setdefault(len(ladder), []).append(ladder)
    best = [_choose(steps, tried) for tried in ladders.values()]
    return max(best, key=lambda ladder: _weigh(steps, [ladder])[0])


def _choose(steps: _Steps, tried: list[list[int]]) -> list[int]:
    """Return the likeliest of some sets of as many rates; the first of equal ones."""
    return tried[int(_weigh(steps, tried).argmax())]


def _weigh(steps: _Steps, tried: list[list[int]]) -> FloatArray:
    """Return how likely all ranges are by each of some sets of as many rates (logarithm)."""
    logs: FloatArray = np.zeros(len(tried))
    for _, total in _follow(steps, np.array(tried)):
        logs += np.log(total)
    return logs


def _move_rungs(chosen: list[int], count: int) -> list[list[int]]:
    """Return a set of rates, ascending, and those with one of them a little lower or higher."""
    moved = [chosen]
    for at, step in itertools.product(range(len(chosen)), _MOVES):
        one = [*chosen[:at], chosen[at] + step, *chosen[at + 1 :]]
        if one[0] >= 0 and one[-1] < count and np.diff(one).min(initial=count) >= _LEAST_APART:
            moved.append(one)
    return moved


def measure_audio_rate(request_s: FloatArray, size_bytes: FloatArray) -> Estimate:
    """Return the usual rate of audio as far as what was fetched of it allows, kbit/s.

    What was fetched until the last request was played or is held; and a player asks for no less
    than it plays while its path has room.

    Args:
        request_s: Times of the requests for ranges of audio, s, shape (n,) with two or more.
        size_bytes: Their sizes.
    """
    spacing_s = np.maximum(np.diff(request_s), np.finfo(np.float64).tiny)
    kbps = kbps_from_bytes(1, 1) * size_bytes[:-1] / spacing_s
    low = float(kbps @ spacing_s / (spacing_s.sum() + _MOST_HELD_S))
    high = max(float(np.median(kbps)), low)
    value = float(np.clip(_USUAL_AUDIO_KBPS, low, high))
    return Estimate(value=value, low=low, high=high, method="bytes of audio played and held")


def _follow(steps: _Steps, sets: IntArray) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield what is known with each range of its rung and of the lead of video before it.

    All sets are followed together, which takes a fraction of the time of one after another.

    Args:
        steps: What each range says.
        sets: Places of the rates of each set, shape (sets, rungs).

    Yields:
        Probabilities, shape (sets, rungs, leads), and how likely the range was, shape (sets,).
    """
    start = _weigh_start()
    held: FloatArray = np.broadcast_to(start / sets.shape[1], (*sets.shape, len(start)))
    for step, is_video in enumerate(steps.is_video):
        held = _mix_rungs(held, steps.switches[step])
        held = (1 - _LOST) * held + _LOST * start * (held.sum(axis=2, keepdims=True) + _TINY)
        held = held * _weigh_step(steps, step, sets)
        total = held.sum(axis=(1, 2))
        held = held / total[:, np.newaxis, np.newaxis]
        yield held, total
        held = _move(held, steps.moves[step, sets], spread=_SPREADS[bool(is_video)])


def _decode(steps: _Steps, chosen: list[int]) -> IntArray:
    """Return the likeliest rung of each range by all that came before and after it.

    Args:
        steps: What each range says.
        chosen: Places of the rates of the rungs.
    """
    sets, start = np.array([chosen]), _weigh_start()
    before = [held[0].astype(np.float32) for held, _ in _follow(steps, sets)]
    after: FloatArray = np.ones((*sets.shape, len(start)))
    states = np.empty(len(before), dtype=np.int64)
    for step in range(len(before) - 1, -1, -1):
        states[step] = (before[step] * after[0]).sum(axis=1).argmax()
        after = after * _weigh_step(steps, step, sets)
        after = (1 - _LOST) * after + _LOST * (start * after).sum(axis=2, keepdims=True)
        after = _mix_rungs(after, steps.switches[step])
        spread = _SPREADS[bool(steps.is_video[step - 1])]
        after = _move(after / after.max(), -steps.moves[step - 1, sets], spread=spread)
    return states


def _weigh_step(steps: _Steps, step: int, sets: IntArray) -> FloatArray:
    """Return how likely a range is at each rung and lead, shape (sets, rungs, leads)."""
    return np.asarray(steps.turns[step] * steps.lengths[step, sets][..., np.newaxis])


def _mix_rungs(held: FloatArray, switch: float) -> FloatArray:
    """Return probabilities by rung after a switch to another one, of this probability."""
    others = held.shape[1] - 1
    if not others or not switch:
        return held
    total = held.sum(axis=1, keepdims=True)
    return np.asarray((1 - switch) * held + switch / others * (total - held))


def _move(held: FloatArray, moves: FloatArray, *, spread: float) -> FloatArray:
    """Return probabilities by lead after moves at each rung, with what content adds to them.

    Args:
        held: Shape (sets, rungs, leads).
        moves: In ranges of audio, shape (sets, rungs).
        spread: Standard deviation of a move, as a part of it.
    """
    count = held.shape[2]
    padded = np.zeros((moves.size, count + 2))
    padded[:, 1:-1] = held.reshape(-1, count)
    steps = moves.reshape(-1, 1) / _AHEAD_STEP
    whole = np.floor(steps)
    places = np.clip(np.arange(count) + 1 - whole.astype(np.int64), 0, count + 1)
    rows = np.arange(moves.size)[:, np.newaxis] * (count + 2)
    near, next_one = (padded.take(rows + one) for one in (places, np.maximum(places - 1, 0)))
    moved = (near + (steps - whole) * (next_one - near)).reshape(held.shape)
    aside = np.minimum((spread * moves / _AHEAD_STEP) ** 2 + _STEP_SPREAD, 1.0)[..., np.newaxis]
    found: FloatArray = (1 - aside) * moved
    found[..., 1:] += aside / 2 * moved[..., :-1]
    found[..., :-1] += aside / 2 * moved[..., 1:]
    return found
