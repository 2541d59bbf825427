"""Keeping a model file small: what further prototypes need to be played, without what only describes their fit."""

from __future__ import annotations

import numpy as np

from trafficgen.models import Law, Model, Phase, QuantilePoint, Stream, dump_model, with_laws

#: Model files stay below 64 kB; the names of a corpus's files need some of it.
LARGEST_MODEL_BYTES = 56_000
_POINTS = 24


def model_bytes(model: Model) -> int:
    """Return the length of a model's file, bytes."""
    return len(dump_model(model).encode())


def compact_streams(streams: tuple[Stream, ...]) -> tuple[Stream, ...]:
    """Return streams that play alike: laws lose alternatives, intervals and all but two dozen of their quantiles.

    What else was tried for a phase goes as well.
    """
    return tuple(
        stream.model_copy(update={"phases": tuple(_untried(with_laws(phase, _compact)) for phase in stream.phases)})
        for stream in streams
    )


def _untried(phase: Phase) -> Phase:
    return phase.model_copy(update={"choice": None})


def _compact(law: Law) -> Law:
    return law.model_copy(
        update={
            "alternatives": (),
            "fit": None,
            "low": {},
            "high": {},
            "log_likelihood": None,
            "quantiles": _thinned(law.quantiles),
        }
    )


def _thinned(points: tuple[QuantilePoint, ...]) -> tuple[QuantilePoint, ...]:
    """Return the points that matter most, dropped one by one where that moves the mean least."""
    if len(points) <= _POINTS:
        return points
    p = np.array([point.p for point in points])
    value = np.array([point.value for point in points])
    kept = np.arange(p.size)
    while kept.size > _POINTS:
        at, v = p[kept], value[kept]
        straight = v[:-2] + (v[2:] - v[:-2]) * (at[1:-1] - at[:-2]) / np.maximum(at[2:] - at[:-2], 1e-12)
        moved = np.abs(straight - v[1:-1]) * (at[2:] - at[:-2])
        kept = np.delete(kept, int(np.argmin(moved)) + 1)
    return tuple(points[row] for row in kept)
