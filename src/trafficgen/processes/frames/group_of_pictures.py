"""Key frames and the pattern between them, from the sizes of frames in order of sending."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trafficgen.processes.frames.model import LONGEST_PROFILE, GroupDistance, GroupOfPictures
from trafficgen.processes.frames.sample import places_after
from trafficgen.units import BoolArray, FloatArray, IntArray

_PATTERN_PERIODS = range(2, 7)
_SHORTEST_FOLD = 3


class GroupLimits:
    """When the sizes of frames show groups of pictures."""

    #: Fewer frames do not show a group.
    fewest_frames: int = 24
    #: Frames around one whose median it is compared with.
    window: int = 25
    #: Key frames are larger than their neighbours by this factor, fewer than this share of frames,
    #: at least this many, and an empty stretch of this width (in logarithms) separates their sizes.
    key_factor: float = 1.5
    key_share: float = 0.25
    fewest_keys: int = 3
    empty: float = 0.2
    #: The widest stretches that are tried.
    stretches_tried: int = 8
    #: Groups by folding: excess of the mean logarithm, its standard score, and the longest group.
    fold_excess: float = 0.35
    fold_score: float = 6.0
    longest: int = 600
    #: Groups may start anew, as after a scene cut: long series are folded in stretches of this
    #: many frames too, and these are taken where they beat one fold of all by this factor. A new
    #: start outweighs key frames of this many deviations of all frames.
    stretch_frames: int = 12_000
    slip_gain: float = 1.2
    slip_deviations: float = 12.0
    #: A pattern of predicted and bidirectional frames explains this share of the variance.
    pattern_share: float = 0.3
    #: Most distinct lengths of groups; more are replaced by an even choice of them.
    most_distances: int = 48
    #: Large frames nearer to a key frame than this share of the median group follow from it, as at
    #: the start of a stream.
    shortest: float = 0.1
    #: Sizes have a profile where places in other groups explain this share of their variance.
    profile_share: float = 0.1


_LIMITS = GroupLimits()
#: Windows that are looked at at once: some 10 MB.
_BLOCK = 50_000


@dataclass(frozen=True)
class FoundGroup:
    """Groups of pictures; arrays have the shape (k,)."""

    group: GroupOfPictures
    types: IntArray  #: of each frame: 0 key, 1 predicted, 2 bidirectional
    places: IntArray  #: frames since the key frame


def find_group(frame_bytes: FloatArray | IntArray) -> FoundGroup | None:
    """Find the groups of pictures that the sizes of frames show, or None.

    Sizes are compared with the median of their neighbours. Key frames are those above the widest
    empty stretch of these ratios; where key frames and others overlap, the series is folded at each
    length and the place with the largest mean is tested (its standard score has to be far beyond
    what the best of all lengths and places reaches by chance). Frames are in order of sending.
    """
    if frame_bytes.size < _LIMITS.fewest_frames:
        return None
    size = np.log(np.maximum(frame_bytes, 1.0))
    excess = size - _median_of_neighbours(size)
    keys = _find_outliers(excess)
    keys = _fold(excess) if keys is None else keys
    return None if keys is None else _describe_group(keys, size)


def _median_of_neighbours(values: FloatArray) -> FloatArray:
    """Return the median of a window around each value, mirrored at the ends, shape (n,)."""
    half = _LIMITS.window // 2
    mirrored = np.pad(values, half, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(mirrored, _LIMITS.window)
    medians = np.empty(values.size)
    for start in range(0, values.size, _BLOCK):
        part = np.partition(windows[start : start + _BLOCK], half, axis=1)
        medians[start : start + _BLOCK] = part[:, half]
    return medians


def _drop_neighbours(keys: IntArray) -> IntArray:
    """Drop key frames right after another one."""
    keys = keys[np.diff(keys, prepend=-2) > 1]  # the first of each run
    if keys.size < 2:
        return keys
    shortest = _LIMITS.shortest * float(np.median(np.diff(keys)))
    kept = [int(keys[0])]
    for key in keys[1:].tolist():
        if key - kept[-1] >= shortest:
            kept.append(key)
    return np.array(kept, dtype=np.int64)


def _find_outliers(excess: FloatArray) -> IntArray | None:
    """Return the frames above the widest gap of the excesses with three groups, or None."""
    ascending = np.sort(excess)
    first = max(
        int(np.searchsorted(ascending, np.log(_LIMITS.key_factor))),
        int((1 - _LIMITS.key_share) * excess.size),
        1,
    )
    steps = ascending[first:] - ascending[first - 1 : -1]
    for row in np.argsort(-steps)[: _LIMITS.stretches_tried].tolist():
        if steps[row] < _LIMITS.empty:
            return None
        keys = _drop_neighbours(np.flatnonzero(excess >= ascending[first + row]))
        # One or two large frames, or a large start, are not groups.
        if keys.size >= _LIMITS.fewest_keys:
            return keys
    return None


def _fold(excess: FloatArray) -> IntArray | None:
    """Return every L-th frame from some place on, where these are larger beyond chance.

    Where stretches of a long series are folded far better one by one, every L-th frame but for new
    starts.
    """
    centred = np.clip(excess - excess.mean(), -2.0, 2.0)
    deviation = max(float(centred.std()), 1e-12)
    stretches = max(1, round(excess.size / _LIMITS.stretch_frames))
    score, length, place = _LIMITS.fold_score, 0, 0
    slipping, slipping_length = _LIMITS.fold_score * math.sqrt(stretches), 0
    for each in range(_SHORTEST_FOLD, min(_LIMITS.longest, excess.size // _LIMITS.fewest_keys) + 1):
        sums, members = _fold_at(centred, each, stretches)
        whole, top = _score_places(sums.sum(axis=0), members.sum(axis=0), deviation)
        if whole > score:
            score, length, place = float(whole), each, int(top)
        if stretches > 1:
            together = float(_score_places(sums, members, deviation)[0].sum()) / math.sqrt(
                stretches
            )
            if together > slipping:
                slipping, slipping_length = together, each
    if slipping_length and slipping > _LIMITS.slip_gain * score:
        cost = _LIMITS.slip_deviations * deviation
        return _align_groups(centred, slipping_length, slip_cost=cost)
    return np.arange(place, excess.size, length) if length else None


def _fold_at(centred: FloatArray, length: int, stretches: int) -> tuple[FloatArray, FloatArray]:
    """Return sums and numbers of values by place in groups of a length, by stretch of them."""
    rows, rest = divmod(centred.size, length)
    bounds = np.linspace(0, rows, stretches + 1).astype(np.int64)
    table, pairs = centred[: rows * length].reshape(rows, length), pairwise(bounds)
    sums = np.array([table[start:end].sum(axis=0) for start, end in pairs])
    members = np.repeat(np.diff(bounds)[:, None].astype(np.float64), length, axis=1)
    sums[-1, :rest] += centred[rows * length :]
    members[-1, :rest] += 1
    return sums, members


def _score_places(
    sums: FloatArray, members: FloatArray, deviation: float
) -> tuple[FloatArray, IntArray]:
    """Return the standard score of the best place, 0 where its mean is small, and the place.

    Sums and members have the shape (..., length), results (...).
    """
    score = sums / np.sqrt(members) / deviation
    excess = np.where(sums > _LIMITS.fold_excess * members, score, 0.0)
    return excess.max(axis=-1), excess.argmax(axis=-1)


def _align_groups(centred: FloatArray, length: int, *, slip_cost: float) -> IntArray:
    """Return key frames a group apart that are largest together, but for costly new starts.

    Groups go on from the frame a length before, or start anew after the best frame of the lengths
    before (the algorithm of Viterbi 1967, with the place in the group as the state).
    """
    rows = -(-centred.size // length)
    gain = np.concatenate((centred, np.zeros(rows * length - centred.size))).reshape(rows, length)
    total, started = np.zeros((rows, length)), np.zeros((rows, length), dtype=np.int64)
    total[0], started[0] = gain[0], -1
    best, best_at = 0.0, -1
    for row in range(1, rows):
        before = total[row - 1]
        top = int(before.argmax())
        if before[top] > best:
            best, best_at = float(before[top]), (row - 1) * length + top
        follows = before >= best - slip_cost
        total[row] = gain[row] + np.where(follows, before, best - slip_cost)
        started[row] = np.where(follows, (row - 1) * length + np.arange(length), best_at)
    frame = int(total.ravel()[(rows - 2) * length :].argmax()) + (rows - 2) * length
    keys = []
    while frame >= 0:
        keys.append(frame)
        frame = int(started.ravel()[frame])
    found = np.array(keys[::-1])
    return found[found < centred.size]


def _describe_group(keys: IntArray, size: FloatArray) -> FoundGroup:
    lengths = np.diff(keys)
    distance, times = np.unique(lengths, return_counts=True)
    if distance.size > _LIMITS.most_distances:
        # An even choice of the irregular lengths is as good as all.
        even = np.linspace(0, 1, _LIMITS.most_distances)
        distance = np.unique(np.quantile(lengths, even, method="nearest"))
        times = np.ones(distance.size, dtype=np.int64)
    since = places_after(keys, size.size, usual=int(distance[times.argmax()]))
    is_key = np.zeros(size.size, dtype=np.bool_)
    is_key[keys] = True
    types = np.where(is_key, 0, 1)
    pattern = _find_pattern(since, size, is_key)
    if pattern is not None:
        types[~is_key & (since % pattern[0] != pattern[1])] = 2
    group = GroupOfPictures(
        distances=tuple(
            GroupDistance(frames=int(frames), share=float(times_seen / times.sum()))
            for frames, times_seen in zip(distance, times, strict=True)
        ),
        first_key_frame=int(keys[0]),
        reference_period=pattern[0] if pattern else None,
        reference_position=pattern[1] if pattern else 0,
    )
    return FoundGroup(group, types, since)


def _find_pattern(since: IntArray, size: FloatArray, is_key: BoolArray) -> tuple[int, int] | None:
    """Return period and place of predicted frames among bidirectional ones, or None."""
    others, place = size[~is_key], since[~is_key]
    total = float(np.sum((others - others.mean()) ** 2))
    if others.size < _LIMITS.fewest_frames or total == 0:
        return None
    best_share, best = _LIMITS.pattern_share, None
    for period in _PATTERN_PERIODS:
        members = np.bincount(place % period, minlength=period)
        if members.min() < 2:
            continue
        means = np.bincount(place % period, weights=others, minlength=period) / members
        share = float(np.dot(members, (means - others.mean()) ** 2)) / total
        # Adjusted for the number of places.
        share = 1 - (1 - share) * (others.size - 1) / (others.size - period)
        if share > best_share + 0.02:
            best_share, best = share, (period, int(means.argmax()))
    return best


def fit_profile(scores: FloatArray, places: IntArray) -> FloatArray:
    """Return the mean score at each place in a group; none where places say little of scores.

    Each score is predicted from those at its place in other groups: without an order there, that is
    worse than the mean of all. Means are shrunk to 0 by their errors (James and Stein 1961).
    """
    members, sums = (np.bincount(places, weights=part) for part in (scores**0, scores))
    others = members[places] - 1
    known = others > 0
    if places.max() >= LONGEST_PROFILE or not known.any():
        return np.zeros(0)
    predicted = (sums[places] - scores)[known] / others[known]
    unexplained = float(np.mean((scores[known] - predicted) ** 2))
    if unexplained >= (1 - _LIMITS.profile_share) * float(scores[known].var()):
        return np.zeros(0)
    mean = sums / np.maximum(members, 1)
    free = max(1, scores.size - int(np.count_nonzero(members)))
    error = np.sum((scores - mean[places]) ** 2) / free / np.maximum(members, 1)
    between = max(0.0, float(np.mean((mean**2 - error)[members > 0])))
    return np.where(members > 0, mean * between / (between + error), 0.0)
