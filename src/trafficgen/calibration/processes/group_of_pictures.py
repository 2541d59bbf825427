"""Key frames and the pattern between them, from the sizes of frames in order of sending."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.models import GroupDistance, GroupOfPictures
from trafficgen.units import BoolArray, FloatArray, IntArray

#: Fewer frames do not show a group.
_FEWEST_FRAMES = 24
#: Frames around one that say how large its neighbours are.
_WINDOW = 25
#: Key frames are larger than their neighbours by this factor, fewer than this share of frames, and
#: three at least; an empty stretch of this width (in logarithms) lies between their sizes and those
#: of the others.
_KEY_FACTOR, _KEY_SHARE, _FEWEST_KEYS, _EMPTY = 1.5, 0.25, 3, 0.2
_STRETCHES_TRIED = 8
#: Groups found by folding: the excess of the mean logarithm, its standard score, and the longest
#: group.
_FOLD_EXCESS, _FOLD_SCORE, _LONGEST_GROUP = 0.35, 6.0, 600
#: Share of the variance within groups that a pattern of predicted and bidirectional frames explains
#: at least.
_PATTERN_SHARE = 0.3
_PATTERN_PERIODS = range(2, 7)
_MOST_DISTANCES = 48
#: Large frames nearer to a key frame than this share of the median group follow from it, as at the
#: start of a stream.
_SHORTEST_GROUP = 0.1


@dataclass(frozen=True)
class FoundGroup:
    """Groups of pictures and the type of each frame: 0 key, 1 predicted, 2 bidirectional."""

    group: GroupOfPictures
    types: IntArray


def find_group(frame_bytes: FloatArray) -> FoundGroup | None:
    """Find the groups of pictures that the sizes of frames show, or None.

    Sizes are compared with the median of their neighbours. Key frames are those above the widest
    empty stretch of these ratios; where key frames and others overlap, the series is folded at each
    length and the place with the largest mean is tested (its standard score has to be far beyond
    what the best of all lengths and places reaches by chance).

    Args:
        frame_bytes: Bytes of the frames in order of sending, shape (k,).
    """
    if frame_bytes.size < _FEWEST_FRAMES:
        return None
    from scipy import ndimage  # noqa: PLC0415 - only streams of frames need it

    size = np.log(np.maximum(frame_bytes, 1.0))
    excess = size - ndimage.median_filter(size, _WINDOW, mode="mirror")
    keys = _standing_out(excess)
    if keys is None:
        keys = _folded(excess)
    return None if keys is None else _described(keys, size)


def _apart(keys: IntArray) -> IntArray:
    """Drop key frames right after another one."""
    keys = keys[np.diff(keys, prepend=-2) > 1]  # the first of each run
    if keys.size < 2:
        return keys
    shortest = _SHORTEST_GROUP * float(np.median(np.diff(keys)))
    kept = [int(keys[0])]
    for key in keys[1:].tolist():
        if key - kept[-1] >= shortest:
            kept.append(key)
    return np.array(kept, dtype=np.int64)


def _standing_out(excess: FloatArray) -> IntArray | None:
    """Return the frames above the widest gap of the excesses with three groups, or None."""
    ascending = np.sort(excess)
    first = max(
        int(np.searchsorted(ascending, np.log(_KEY_FACTOR))), int((1 - _KEY_SHARE) * excess.size), 1
    )
    steps = ascending[first:] - ascending[first - 1 : -1]
    for row in np.argsort(-steps)[:_STRETCHES_TRIED].tolist():
        if steps[row] < _EMPTY:
            return None
        keys = _apart(np.flatnonzero(excess >= ascending[first + row]))
        if keys.size >= _FEWEST_KEYS:  # one or two large frames, or a large start, are no groups
            return keys
    return None


def _folded(excess: FloatArray) -> IntArray | None:
    """Return every L-th frame from some place on, where these are larger beyond chance."""
    count = excess.size
    centred = np.clip(excess - excess.mean(), -2.0, 2.0)
    deviation = float(centred.std())
    best_score, best = _FOLD_SCORE, None
    for length in range(3, min(_LONGEST_GROUP, count // _FEWEST_KEYS) + 1):
        place = np.arange(count) % length
        members = np.bincount(place, minlength=length)
        means = np.bincount(place, weights=centred, minlength=length) / members
        score = means * np.sqrt(members) / max(deviation, 1e-12)
        top = int(score.argmax())
        if score[top] > best_score and means[top] > _FOLD_EXCESS:
            best_score, best = float(score[top]), np.arange(top, count, length)
    return best


def _described(keys: IntArray, size: FloatArray) -> FoundGroup:
    distance, times = np.unique(np.diff(keys), return_counts=True)
    if distance.size > _MOST_DISTANCES:  # an even choice of the irregular lengths stands for all
        distance = np.unique(
            np.quantile(np.diff(keys), np.linspace(0, 1, _MOST_DISTANCES), method="nearest")
        )
        times = np.ones(distance.size, dtype=np.int64)
    frame = np.arange(size.size)
    row = np.searchsorted(keys, frame, side="right") - 1
    since = np.where(
        row >= 0, frame - keys[np.maximum(row, 0)], frame - keys[0] + int(distance[times.argmax()])
    )
    is_key = np.zeros(size.size, dtype=np.bool_)
    is_key[keys] = True
    types = np.where(is_key, 0, 1)
    pattern = _reference_pattern(since, size, is_key)
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
    return FoundGroup(group, types)


def _reference_pattern(
    since: IntArray, size: FloatArray, is_key: BoolArray
) -> tuple[int, int] | None:
    """Return period and place of predicted frames among bidirectional ones, or None."""
    others, place = size[~is_key], since[~is_key]
    total = float(np.sum((others - others.mean()) ** 2))
    if others.size < _FEWEST_FRAMES or total == 0:
        return None
    best_share, best = _PATTERN_SHARE, None
    for period in _PATTERN_PERIODS:
        members = np.bincount(place % period, minlength=period)
        if members.min() < 2:
            continue
        means = np.bincount(place % period, weights=others, minlength=period) / members
        share = float(np.dot(members, (means - others.mean()) ** 2)) / total
        share = 1 - (1 - share) * (others.size - 1) / (
            others.size - period
        )  # adjusted for the number of places
        if share > best_share + 0.02:
            best_share, best = share, (period, int(means.argmax()))
    return best
