"""Keep a model file small: thin the laws of prototypes and alternatives."""

from __future__ import annotations

from functools import partial
from typing import TypeVar

import numpy as np

from trafficgen.models import (
    Law,
    Model,
    ModelPart,
    QuantilePoint,
    Stream,
    Trains,
    dump_model,
    pack_streams,
    with_laws,
    with_parts,
)
from trafficgen.processes.trains.sample import coarsen_trains

#: Files of one session stay below 64 kB.
MOST_BYTES = 62_000
#: Those of a population, which hold the packets of many sessions, stay below 250 kB; the names of
#: a corpus's files need some of it. Played sessions are no nearer with more, and less so with less.
LARGEST_POPULATION_BYTES = 240_000
#: Quantiles of a prototype's law: enough for its shape.
_POINTS = 24
#: Alternatives and points that the laws keep, packets of the trains of each process, and whether
#: their ranks are coarse, step by step. What is played matters more than what lost, and some trains
#: more than many points.
_STEPS = (
    *((5, 64, 16_384, False), (3, 64, 16_384, False), (3, 64, 16_384, True), (3, 64, 12_288, True)),
    *((3, 64, 8192, True), (1, 64, 6144, True), (1, 48, 4096, True), (1, 48, 3072, True)),
    *((1, 36, 3072, True), (1, 36, 2048, True), (1, 36, 1536, True), (1, 28, 1024, True)),
    *((1, 28, 512, True), (1, 20, 512, True), (1, 14, 256, True), (0, 10, 256, True)),
)
#: Packets of the trains of a prototype, and whether their ranks are coarse, step by step until it
#: is no longer than this, packed: more sessions matter more than their last packets, and these more
#: than the fine part of ranks. Where trains lack the few small packets, these lose their order.
_TRAINS_OF_PROTOTYPE = (
    *((16_384, False), (16_384, True), (12_288, True), (8192, True), (6144, True), (4096, True)),
    *((3072, True), (2048, True), (1536, True), (1024, True), (512, True), (256, True)),
    *((128, True), (64, True)),
)
_MOST_OF_PROTOTYPE = 12_000
#: Significant digits of the quantiles of a prototype.
_DIGITS = 5
_TINY = 1e-300
_Part = TypeVar("_Part", bound=ModelPart)


def model_bytes(model: Model) -> int:
    """Return the length of a model's file, bytes."""
    return len(dump_model(model).encode())


def compact_streams(streams: tuple[Stream, ...]) -> tuple[Stream, ...]:
    """Return streams that play alike in less space.

    Laws lose alternatives, intervals and all but two dozen quantiles, phases their other processes,
    trains packets until there is room for other sessions.
    """
    for packets, coarse in _TRAINS_OF_PROTOTYPE:
        found = _thin_streams(streams, packets, coarse=coarse)
        if len(pack_streams(found)) <= _MOST_OF_PROTOTYPE:
            break
    return found


def _thin_streams(streams: tuple[Stream, ...], packets: int, *, coarse: bool) -> tuple[Stream, ...]:
    def thin(trains: Trains) -> Trains:
        return (coarsen_trains(trains) if coarse else trains).keep(packets)

    return tuple(
        stream.model_copy(
            update={
                "phases": tuple(
                    with_parts(with_laws(phase, _compact), Trains, thin).model_copy(
                        update={"choice": None}
                    )
                    for phase in stream.phases
                )
            }
        )
        for stream in streams
    )


def _compact(law: Law) -> Law:
    return law.model_copy(
        update={
            "alternatives": (),
            "fit": None,
            "low": {},
            "high": {},
            "log_likelihood": None,
            "quantiles": _rounded(_thinned(law.quantiles, _POINTS)),
        }
    )


def _rounded(points: tuple[QuantilePoint, ...]) -> tuple[QuantilePoint, ...]:
    """Return points with few digits; the first and last, where a tail may begin, stay."""
    low, high = points[:1], points[1:][-1:]
    between = (
        one.model_copy(update={"value": min(max(_round(one.value), low[0].value), high[0].value)})
        for one in points[1:-1]
    )
    return (*low, *between, *high)


def _round(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def compact_model(model: Model, *, most_bytes: int = MOST_BYTES) -> Model:
    """Return a model whose file has at most this many bytes.

    Alternatives that lost by most go first, then packets of trains and points of smoothed
    empirical laws in turn. A model that cannot shrink so far becomes as small as possible.
    """
    # Hours over a link whose rate changes fill a file by themselves: no step needs measuring then.
    may_fit = len(model.provenance.model_dump_json()) <= most_bytes
    for alternatives, points, packets, coarse in _STEPS:
        if may_fit and model_bytes(model) <= most_bytes:
            break
        shrink = partial(
            _shrink, alternatives=alternatives, points=points, packets=packets, coarse=coarse
        )
        # No other part has laws, and the rate of a link may have thousands of steps.
        model = model.model_copy(
            update={
                "streams": tuple(map(shrink, model.streams)),
                "population": model.population and shrink(model.population),
            }
        )
    return model


def _shrink(part: _Part, *, alternatives: int, points: int, packets: int, coarse: bool) -> _Part:
    part = with_laws(part, partial(compact_law, alternatives=alternatives, points=points))
    return with_parts(
        part, Trains, lambda one: (coarsen_trains(one) if coarse else one).keep(packets)
    )


def compact_law(law: Law, *, alternatives: int, points: int = _POINTS) -> Law:
    """Return a law with at most this many alternatives and points of its quantiles."""
    if len(law.alternatives) <= alternatives and len(law.quantiles) <= points:
        return law
    return law.model_copy(
        update={
            "alternatives": law.alternatives[:alternatives],
            "quantiles": _thinned(law.quantiles, points),
        }
    )


def _thinned(points: tuple[QuantilePoint, ...], most: int) -> tuple[QuantilePoint, ...]:
    """Drop points one by one where that changes distribution and mean least."""
    p = np.array([point.p for point in points])
    value = np.array([point.value for point in points])
    kept = np.arange(p.size)
    while kept.size > most:
        at, v = p[kept], value[kept]
        rise, run = at[2:] - at[:-2], v[2:] - v[:-2]
        moved = (
            np.abs(v[:-2] + run * (at[1:-1] - at[:-2]) / np.maximum(rise, _TINY) - v[1:-1])
            * rise
            / 2
        )
        lifted = np.abs(at[:-2] + rise * (v[1:-1] - v[:-2]) / np.maximum(run, _TINY) - at[1:-1])
        mean = float(np.sum(np.diff(at) * (v[1:] + v[:-1]) / 2))
        kept = np.delete(kept, int(np.argmin(moved / max(abs(mean), _TINY) + lifted)) + 1)
    return tuple(points[row] for row in kept)
