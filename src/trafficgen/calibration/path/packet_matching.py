"""Match packets of two captures by their numbers, or by the order of their sizes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import IntArray


@dataclass(frozen=True)
class SizeMatchLimits:
    """How sizes are aligned after a loss."""

    #: A longer run of lost packets breaks the alignment; a longer search finds chance matches.
    longest_skip: int = 256
    #: Sizes that must agree after a skip, the first choice first; fewer if another loss is near.
    confirmed: tuple[int, ...] = (6, 3, 2)


_LIMITS = SizeMatchLimits()


def match_numbers(one: IntArray, two: IntArray) -> IntArray:
    """Return the place in ``two`` of each number of ``one``, -1 if there is none, shape (n,).

    A number that was retransmitted and arrived fewer times is matched from its last sending on: an
    earlier one was lost, or it would not have been retransmitted.

    Args:
        one: Numbers in order of sending, shape (n,).
        two: Numbers in order of arrival, shape (m,).
    """
    if not one.size or not two.size:
        return np.full(one.size, -1, dtype=np.int64)
    # The k-th last sending of a number is the k-th last arrival of it.
    from_last_one, from_last_two = _from_last(one), _from_last(two)
    repeats = int(max(from_last_one.max(), from_last_two.max())) + 1
    key_one, key_two = one * repeats + from_last_one, two * repeats + from_last_two
    order = np.argsort(key_two, kind="stable")
    place = np.minimum(np.searchsorted(key_two, key_one, sorter=order), two.size - 1)
    result: IntArray = np.where(key_two[order[place]] == key_one, order[place], -1)
    return result


def _from_last(numbers: IntArray) -> IntArray:
    """Return how many equal numbers come after each one, shape (n,)."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    result = np.empty(numbers.size, dtype=np.int64)
    result[order] = np.searchsorted(ordered, ordered, side="right") - 1 - np.arange(numbers.size)
    return result


def match_sizes(one: IntArray, two: IntArray) -> IntArray:
    """Return the place in ``two`` of each packet of ``one`` by the order of sizes, -1 if missing.

    Both are walked in step; where the sizes differ, the fewest packets of ``one`` that make the
    next six agree count as lost (three or two if another loss is near). If no such skip exists, the
    arrival is passed over.

    Args:
        one: Sizes in order of sending, bytes, shape (n,).
        two: Sizes in order of arrival, bytes, shape (m,), m <= n but for strays.
    """
    result = np.full(one.size, -1, dtype=np.int64)
    at, place = 0, 0
    while at < one.size and place < two.size:
        agree = min(one.size - at, two.size - place)
        differs = np.flatnonzero(one[at : at + agree] != two[place : place + agree])
        run = int(differs[0]) if differs.size else agree
        result[at : at + run] = np.arange(place, place + run)
        at, place = at + run, place + run
        if run == agree:
            break
        skip = _skip(one, two, at, place)
        if skip is None:
            place += 1
        else:
            at += skip
    return result


def _skip(one: IntArray, two: IntArray, at: int, place: int) -> int | None:
    """Return how many packets of ``one`` to skip for the next sizes to agree; None if none do."""
    for confirmed in _LIMITS.confirmed:
        wanted = two[place : place + confirmed]
        stretch = one[at : at + _LIMITS.longest_skip + wanted.size]
        if stretch.size < wanted.size:
            continue
        windows = np.lib.stride_tricks.sliding_window_view(stretch, wanted.size)
        found = np.flatnonzero((windows == wanted).all(axis=1))
        if found.size:
            return int(found[0])
    return None
