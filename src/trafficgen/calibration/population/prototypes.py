"""Prototypes: the few sessions whose packet processes represent those of all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.units import FloatArray, IntArray

#: A model file has room for this many; each represents this many sessions at least.
MOST_PROTOTYPES = 4
FEWEST_OF_GROUP = 3
#: Kaufman and Rousseeuw's least mean silhouette of "a reasonable structure".
REASONABLE_SILHOUETTE = 0.5
#: Swaps are searched for in so many sweeps; real corpora need a few.
_SWEEPS = 50


@dataclass(frozen=True)
class Groups:
    """Sessions in groups.

    Attributes:
        medoids: Session that represents each group, largest group first, shape (g,).
        member_of: Group of each session, shape (k,).
        silhouette: Mean silhouette; None for one group.
    """

    medoids: IntArray
    member_of: IntArray
    silhouette: float | None


def group_sessions_by_process(features: FloatArray, *, most: int = MOST_PROTOTYPES) -> Groups:
    """Divide sessions into groups of similar packet processes, each with its middle session.

    Partitioning around medoids with the number of groups by the mean silhouette; one group if none
    is reasonable.

    Args:
        features: Features of the processes, a row per session, any scales, shape (k, f).
        most: Largest number of groups.

    Source: Kaufman and Rousseeuw, "Finding Groups in Data" (1990), chapter 2.
    """
    deviation = features.std(axis=0)
    scaled = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    from scipy import spatial  # noqa: PLC0415 - only populations of sessions need it

    distance = spatial.distance.cdist(scaled, scaled)
    best = _grouped(distance, np.array([int(np.argmin(distance.sum(axis=1)))]), None)
    for count in range(2, min(most, features.shape[0] // FEWEST_OF_GROUP) + 1):
        medoids = _medoids(distance, count)
        member_of = np.argmin(distance[:, medoids], axis=1)
        if np.bincount(member_of, minlength=count).min() < FEWEST_OF_GROUP:
            continue
        silhouette = _silhouette(distance, member_of, count)
        if silhouette >= REASONABLE_SILHOUETTE and silhouette > (best.silhouette or 0.0):
            best = _grouped(distance, medoids, silhouette)
    return best


def _grouped(distance: FloatArray, medoids: IntArray, silhouette: float | None) -> Groups:
    """Return groups around medoids, largest first."""
    member_of = np.argmin(distance[:, medoids], axis=1)
    order = np.argsort(-np.bincount(member_of, minlength=medoids.size), kind="stable")
    place = np.empty(medoids.size, dtype=np.int64)
    place[order] = np.arange(medoids.size)
    return Groups(medoids[order], place[member_of], silhouette)


def _medoids(distance: FloatArray, count: int) -> IntArray:
    """Return medoids by building them up one by one and swapping while that helps."""
    chosen = [int(np.argmin(distance.sum(axis=1)))]
    while len(chosen) < count:
        nearest = distance[:, chosen].min(axis=1)
        chosen.append(int(np.argmin(np.minimum(nearest[:, None], distance).sum(axis=0))))
    for _ in range(_SWEEPS):
        best_cost, best_swap = float(distance[:, chosen].min(axis=1).sum()) - 1e-9, None
        for place in range(count):
            others = [session for row, session in enumerate(chosen) if row != place]
            costs = np.minimum(distance[:, others].min(axis=1)[:, None], distance).sum(axis=0)
            if costs.min() < best_cost:
                best_cost, best_swap = float(costs.min()), (place, int(np.argmin(costs)))
        if best_swap is None:
            break
        chosen[best_swap[0]] = best_swap[1]
    return np.array(chosen, dtype=np.int64)


def _silhouette(distance: FloatArray, member_of: IntArray, count: int) -> float:
    """Return the mean silhouette (Rousseeuw 1987); every group has two members or more."""
    sizes = np.bincount(member_of, minlength=count)
    totals = np.stack(
        [distance[:, member_of == group].sum(axis=1) for group in range(count)], axis=1
    )
    rows = np.arange(member_of.size)
    own = totals[rows, member_of] / (sizes[member_of] - 1)
    means = totals / sizes
    means[rows, member_of] = np.inf
    other = means.min(axis=1)
    return float(np.mean((other - own) / np.maximum(np.maximum(own, other), 1e-300)))
