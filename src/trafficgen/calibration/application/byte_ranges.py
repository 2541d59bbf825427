"""Rungs of a player that requests ranges of bytes of video and audio in turn.

A range has about as many bytes at one rung as at another, so that sizes alone do not show rungs.
But the two are fetched together, and audio is of one rate: its bytes are a clock of the media, and
bytes of video for as much audio are the rung. At the right rung video stays as far ahead of audio
as it was, at another one it runs away. Where the player takes whole ranges, those of video last
about as long as those of audio.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from trafficgen.models import Estimate
from trafficgen.units import BoolArray, FloatArray, IntArray, kbps_from_bytes

#: How far video is ahead of audio (standard deviation, and at most), in steps; in ranges of audio.
_AHEAD, _MOST_AHEAD, _STEP = 0.5, 2.0, 0.1
#: Ranges of video are whole, as long as those of audio but for this (standard deviation of logs),
#: or of any length up to the longest, each with an even chance.
_WHOLE_SPREAD, _LONGEST, _LEAST = 0.08, 1.15, 1e-6
#: ... where a shorter one is as likely at any length (density of logs: over a factor of 150).
_SHORTER = 0.2
#: Rungs that are tried are this factor apart, from a tenth to ten times of that whose whole range
#: is the largest; those of a ladder are apart by the other factor at least.
_FINE_STEP, _FINE_STEPS, _LEAST_STEP, _MOVES = 1.06, 40, 1.25, (-3, -2, -1, 1, 2, 3)
#: Logarithms of how likely a switch before a range is, and one more rung.
_SWITCH, _NEW_RUNG, _MOST_RUNGS = -5.0, -8.0, 6
#: Part of the ranges of audio that are no longer than a whole one.
_WHOLE = 0.9
#: Time and memory grow with the square of the ranges of video that are looked at together: these
#: are no more. Rungs are looked for in so many parts of a longer session.
_MOST_TOGETHER, _MOST_PARTS = 128, 8
#: Most media that a player holds, s; audio of video services mostly has this rate (AAC, kbit/s).
_MOST_HELD_S, _USUAL_AUDIO_KBPS = 120.0, 128.0


@dataclass(frozen=True)
class RangeRungs:
    """Rungs of ranges of video.

    Attributes:
        of_range: Rung of each, 0 the lowest, shape (ranges of video,).
        video_per_audio: Bytes of video for a byte of audio at each rung, ascending.
    """

    of_range: IntArray
    video_per_audio: FloatArray


def find_range_rungs(size_bytes: FloatArray, is_audio: BoolArray) -> RangeRungs:
    """Find the rungs of ranges of video.

    Args:
        size_bytes: Sizes of ranges in the order of their requests, shape (n,).
        is_audio: Which are of the audio; some are, and some are not.
    """
    sizes = size_bytes / float(np.quantile(size_bytes[is_audio], _WHOLE))
    largest = float(sizes[~is_audio].max())
    steps = np.arange(-_FINE_STEPS, _FINE_STEPS, dtype=np.float64)
    rates: FloatArray = largest / _LONGEST * np.exp(np.log(_FINE_STEP) * steps)
    begins = np.flatnonzero(~is_audio)[_MOST_TOGETHER::_MOST_TOGETHER]
    of_size, of_kind = np.split(sizes, begins), np.split(is_audio, begins)
    chosen: list[int] = []
    for number in np.unique(np.linspace(0, len(begins), _MOST_PARTS).astype(np.int64)):
        for place in _choose_rungs(_weigh_runs(of_size[number], of_kind[number], rates)):
            if _is_far(place, chosen):
                chosen.append(place)
    chosen = chosen[:_MOST_RUNGS]
    states = [
        _decode_runs(_weigh_runs(*part, rates[chosen]), np.arange(len(chosen))[np.newaxis])[0]
        for part in zip(of_size, of_kind, strict=True)
    ]
    used, of_range = np.unique(np.concatenate(states), return_inverse=True)
    found = rates[np.array(chosen)[used]]
    return RangeRungs(np.argsort(np.argsort(found))[of_range], np.sort(found))


def _choose_rungs(runs: FloatArray) -> list[int]:
    """Return the places of the rates that explain the ranges of video, no more than needed."""
    rates = runs.shape[2]
    chosen: list[int] = []
    score = -np.inf
    while len(chosen) < _MOST_RUNGS:
        tried = [[*chosen, place] for place in range(rates) if _is_far(place, chosen)]
        more = _choose(runs, tried)
        # The rungs before may have been between two.
        while (moved := _choose(runs, _move_rungs(more[2], rates)))[1] > more[1]:
            more = moved
        if more[1] + _NEW_RUNG <= score:
            break
        _, score, chosen = more
    return chosen


def _is_far(place: int, others: list[int]) -> bool:
    """Return whether a rate is as far from others as rungs are."""
    return all(abs(place - one) * np.log(_FINE_STEP) >= np.log(_LEAST_STEP) for one in others)


def _choose(runs: FloatArray, tried: list[list[int]]) -> tuple[IntArray, float, list[int]]:
    """Return the likeliest of some sets of rates: its states, their score, and the set."""
    states, score, best = _decode_runs(runs, np.array(tried))
    return states, score, tried[best]


def _move_rungs(chosen: list[int], count: int) -> list[list[int]]:
    """Return sets of rates with one of them a little lower or higher, and the set itself."""
    moved = [chosen]
    for at, step in itertools.product(range(len(chosen)), _MOVES):
        place, others = chosen[at] + step, [*chosen[:at], *chosen[at + 1 :]]
        if 0 <= place < count and _is_far(place, others):
            moved.append([*chosen[:at], place, *chosen[at + 1 :]])
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


def _weigh_runs(sizes: FloatArray, is_audio: BoolArray, rates: FloatArray) -> FloatArray:
    """Return how likely each run of ranges of video at each rate is, shape (first, last, rates).

    Args:
        sizes: In ranges of audio.
        is_audio: Which are of the audio.
        rates: Video in as much media as a range of audio has, shape (rates,).
    """
    ahead = np.arange(-_MOST_AHEAD, _MOST_AHEAD + _STEP / 2, _STEP)
    near = np.exp(-0.5 * (ahead / _AHEAD) ** 2)
    video = np.flatnonzero(~is_audio)
    # How far ahead video is after each run that began before, shape (first, rates, steps).
    held = np.empty((len(video), len(rates), len(ahead)))
    logs = np.zeros((len(video), len(rates)))
    found = np.full((len(video), len(video), len(rates)), -np.inf)
    begun = 0
    for at in range(video[0], len(sizes)):
        if is_audio[at]:
            moves = np.full(len(rates), -sizes[at])
        else:
            held[begun], begun = near / near.sum(), begun + 1
            moves = sizes[at] / rates
            logs[:begun] += _weigh_lengths(moves)
        now = _move(held[:begun], moves / _STEP) * near
        total = now.sum(axis=2)
        held[:begun] = now / np.maximum(total, np.finfo(float).tiny)[..., None]
        logs[:begun] += np.log(np.maximum(total, np.finfo(float).tiny))
        found[:begun, begun - 1] = logs[:begun]
    return found


def _move(held: FloatArray, steps: FloatArray) -> FloatArray:
    """Return where video is ahead after a move by so many steps at each rate, spread by one."""
    count = held.shape[2]
    places = np.arange(count) - np.round(steps).astype(np.int64)[:, None]
    inside = (places >= 0) & (places < count)
    rows = np.arange(len(steps))[:, None]
    moved = np.where(inside, held[:, rows, np.clip(places, 0, count - 1)], 0.0)
    spread = 0.5 * moved
    spread[..., 1:] += 0.25 * moved[..., :-1]
    spread[..., :-1] += 0.25 * moved[..., 1:]
    return spread


def _weigh_lengths(lengths: FloatArray) -> FloatArray:
    """Return the logarithm of how likely a range of video has some lengths (density of logs)."""
    whole = np.exp(-0.5 * (np.log(lengths) / _WHOLE_SPREAD) ** 2)
    whole /= _WHOLE_SPREAD * np.sqrt(2 * np.pi)
    return np.log(np.where(lengths < _LONGEST, 0.5 * _SHORTER, _LEAST) + 0.5 * whole)


def _decode_runs(runs: FloatArray, tried: IntArray) -> tuple[IntArray, float, int]:
    """Return the likeliest rates of the ranges of video by the likeliest of some sets of rates.

    All sets are looked at together, which takes a fraction of the time of one after another.

    Args:
        runs: How likely each run is at each rate, shape (first, last, all rates).
        tried: Places of the rates of each set, shape (sets, rates).

    Returns:
        The place in the set of each range's rate, how likely they are (logarithm), and the set.
    """
    count, shape = len(runs), (len(runs), *tried.shape)
    begin, earlier = (np.zeros(shape, dtype=np.int64) for _ in range(2))
    # Before a run was one at another rate, or none.
    before, place = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    is_own, logs = np.eye(tried.shape[1], dtype=np.bool_), np.zeros(tried.shape)
    for last in range(count):
        if last:
            others = np.where(is_own, -np.inf, logs[:, np.newaxis])
            before[last], place[last] = others.max(axis=2) + _SWITCH, others.argmax(axis=2)
        options = before[: last + 1] + runs[: last + 1, last][:, tried]
        begin[last] = options.argmax(axis=0)
        logs = options.max(axis=0)
        earlier[last] = np.take_along_axis(place, begin[last][np.newaxis], axis=0)[0]
    best = int(logs.max(axis=1).argmax())
    states = np.empty(count, dtype=np.int64)
    last, rate = count - 1, int(logs[best].argmax())
    while last >= 0:
        first = int(begin[last, best, rate])
        states[first : last + 1] = rate
        last, rate = first - 1, int(earlier[last, best, rate])
    return states, float(logs[best].max()), best
