"""The numbers of a model as records, each with its place, interval and unit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from trafficgen.models.estimate import Estimate, ModelPart
from trafficgen.models.law import Law

#: Columns of a record.
COLUMNS: dict[str, type] = {
    **dict.fromkeys(("stream", "phase", "process", "parameter"), str),
    **dict.fromkeys(("estimate", "lower", "upper"), float),
    "unit": str,
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
    for name in _PARTS:
        yield from _list_within((name,), getattr(model, name), None)
    conditions = getattr(getattr(model, "provenance", None), "conditions", None)
    yield from _list_within(("conditions",), conditions, None)


def name_members(parts: Sequence[object]) -> dict[str, object]:
    """Return parts by their names, or by their numbers where names are not unique."""
    names = [str(getattr(part, "name", number)) for number, part in enumerate(parts)]
    if len(set(names)) < len(names):
        names = [f"{name}-{number}" for number, name in enumerate(names)]
    return dict(zip(names, parts, strict=True))


def _list_within(
    place: tuple[str, ...], value: object, process: str | None
) -> Iterator[dict[str, object]]:
    if isinstance(value, Estimate):
        ends = {"lower": value.low, "upper": value.high}
        yield {**_describe_place(place, process), "estimate": value.value, **ends}
    elif isinstance(value, Law):
        yield from _list_law(_describe_place(place, process), value)
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
        yield {**_describe_place(place, process), "estimate": float(value)}


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
