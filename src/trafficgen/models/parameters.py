"""The numbers of a model as records, each with its place, interval and unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from trafficgen.distributions.law import Law
from trafficgen.model_parts.estimate import Estimate, ModelPart

#: Columns of a record.
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("stream", "phase", "process", "parameter"), str),
    **dict.fromkeys(("estimate", "lower", "upper"), float),
    "unit": str,
}
_PLACE: dict[str, type] = dict.fromkeys(("stream", "phase", "process"), str)
TableOf = Literal["parameters", "alternatives", "self_check"]
#: What ``to_pandas`` of a model tabulates -> columns of its records.
TABLES: dict[str, dict[str, type]] = {
    "parameters": COLUMNS,
    "alternatives": {
        **_PLACE,
        **dict.fromkeys(("parameter", "chosen", "family"), str),
        **dict.fromkeys(("delta_bic", "held_out"), float),
    },
    "self_check": {
        **_PLACE,
        **{"candidate": int, "chosen": bool, "passed": bool, "score": float, "statistic": str},
        **dict.fromkeys(("distance", "by_chance"), float),
    },
}
#: Parts of a fitted model with numbers of the source and of the path of its capture.
_PARTS = ("startup", "buffering", "playout", "streams", "response", "same_source", "population")
#: Fields that say how a number was made, headers, and sessions that have models of their own.
_LEFT_OUT = {"choice", "transport", "prototypes", "captures", "sessions", "intervals"}
#: Ends of names that are units -> how people write them.
_UNITS = {
    **{name: name for name in ("s", "ms", "us", "ns", "bits", "bytes", "packets", "frames")},
    **{"bps": "bit/s", "kbps": "kbit/s", "mbps": "Mbit/s", "hz": "Hz"},
}


def list_parameters(model: ModelPart) -> Iterator[dict[str, object]]:
    """Yield a record of :data:`COLUMNS` for each number of a fitted model.

    A law gives its median and its parameters. What belongs to no stream has None in the first three
    columns.
    """
    for place, value in _list_numbers(model):
        if isinstance(value, Law):
            yield from _list_law(place, value)
        elif isinstance(value, Estimate):
            yield {**place, "estimate": value.value, "lower": value.low, "upper": value.high}
        else:
            yield {**place, "estimate": value}


def list_alternatives(model: ModelPart) -> Iterator[dict[str, object]]:
    """Yield a record for each family that was tried for a law and rejected, best first."""
    for place, law in _list_numbers(model):
        if isinstance(law, Law):
            for other in law.alternatives:
                yield {**place, "chosen": law.family, **dict(other)}


def list_checks(model: ModelPart) -> Iterator[dict[str, object]]:
    """Yield a record for each statistic of each process that was tried and played."""
    for stream in getattr(model, "streams", ()):
        for phase in stream.phases:
            for number, tried in enumerate(phase.choice.tried if phase.choice else ()):
                place = {"stream": stream.name, "phase": phase.name, "process": tried.kind}
                state = {"candidate": number, "chosen": number == phase.choice.chosen}
                state["passed"] = tried.passed
                for name, distance in tried.distances.items():
                    beyond = {"statistic": name, "by_chance": tried.beyond_chance.get(name)}
                    yield {**place, **state, "score": tried.score, "distance": distance, **beyond}


def _list_numbers(model: ModelPart) -> Iterator[tuple[dict[str, object], Estimate | Law | float]]:
    """Yield each number or law of a fitted model, with its place."""
    for name in _PARTS:
        yield from _list_within((name,), getattr(model, name), None)
    conditions = getattr(getattr(model, "provenance", None), "conditions", None)
    yield from _list_within(("conditions",), conditions, None)
    pages = getattr(getattr(model, "application", None), "pages", None)
    yield from _list_within(("pages",), pages, None)


def name_members(parts: Sequence[object]) -> dict[str, object]:
    """Return parts by their names, or by their numbers where names are not unique."""
    names = [str(getattr(part, "name", number)) for number, part in enumerate(parts)]
    if len(set(names)) < len(names):
        names = [f"{name}-{number}" for number, name in enumerate(names)]
    return dict(zip(names, parts, strict=True))


def _list_within(
    place: tuple[str, ...], value: object, process: str | None
) -> Iterator[tuple[dict[str, object], Estimate | Law | float]]:
    if isinstance(value, Estimate | Law):
        yield _describe_place(place, process), value
    elif isinstance(value, ModelPart):
        if len(place) == 5 and place[4] == "process":
            process = getattr(value, "kind", None)
        for name in type(value).model_fields:
            if name not in _LEFT_OUT:
                yield from _list_within((*place, name), getattr(value, name), process)
    elif isinstance(value, tuple | Mapping):
        members = value if isinstance(value, Mapping) else name_members(value)
        for name, one in members.items():
            if isinstance(one, ModelPart):
                yield from _list_within((*place, name), one, process)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield _describe_place(place, process), float(value)


def _describe_place(place: tuple[str, ...], process: str | None) -> dict[str, object]:
    """Return all columns but the numbers: streams and phases have columns of their own."""
    unit = unit_of(*place)
    stream = phase = None
    if place[0] == "streams":
        stream, phase, place = place[1], place[3], place[4:]
        place = place[1:] if place[0] == "process" else place
    parameter = ".".join(place)
    return {
        "stream": stream,
        "phase": phase,
        "process": process,
        "parameter": parameter,
        "unit": unit,
    }


def unit_of(*place: str) -> str | None:
    """Return the unit on which the name of a number, or of what has it, ends; ``1``: none.

    The edges of a condition's bins have the unit of that condition: None.
    """
    name = place[-1]
    if name in {"condition", "low", "high"}:
        return None
    found = "1/s" if name.endswith("_per_s") else _UNITS.get(name.rpartition("_")[2])
    return found or (unit_of(*place[:-1]) if len(place) > 1 and "_" not in name else "1")


def _list_law(place: dict[str, object], law: Law) -> Iterator[dict[str, object]]:
    """Yield the median of a law and its parameters, of which places and scales have its unit."""
    name, unit = place["parameter"], _UNITS.get(law.unit, "1")
    median = float(law.distribution().ppf(0.5))
    yield {**place, "parameter": f"{name}.median", "estimate": median, "unit": unit}
    for key, value in law.params.items():
        has_unit = key.startswith(("loc", "scale"))
        yield {
            **place,
            "parameter": f"{name}.{key}",
            "estimate": value,
            "lower": law.low.get(key),
            "upper": law.high.get(key),
            "unit": unit if has_unit else "1",
        }
