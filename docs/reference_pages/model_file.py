"""The page of the model file, from the JSON Schema that the program checks files against."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import trafficgen
from reference_pages.markdown import Rows, page, table
from trafficgen.models import SCHEMA_VERSION


def model_file_page() -> str:
    """Return the page of the model file, from the JSON Schema that files are checked against."""
    schema = cast("dict[str, Any]", trafficgen.model_json_schema())
    definitions = cast("dict[str, Any]", schema["$defs"])
    roots = [choice["$ref"].rpartition("/")[2] for choice in schema["anyOf"]]
    names = [*roots, *(name for name in definitions if name not in roots)]
    # JsonValue is any JSON: there is nothing to say about its keys.
    sections = [
        section
        for name in names
        if "properties" in definitions[name]
        for section in part_sections(name, definitions[name])
    ]
    introduction = _MODEL_INTRODUCTION.format(version=SCHEMA_VERSION)
    return page("Model file", introduction, *sections)


_MODEL_INTRODUCTION = """\
A model file is one JSON object (or the same in YAML, by its ending): a fitted model, the part
*Model* below, or a published one, *PublishedModel*, as the [catalogue](catalogue.md) holds them.
Its schema version is {version}; a file of another version is refused. Unknown keys are refused;
units are in the names. `trafficgen models schema` prints the JSON Schema,
`trafficgen models show FILE` checks a file. It has at most 4 MB and 64 levels.
"""


def part_sections(name: str, part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the heading of a part of a JSON Schema, its description and the table of its keys."""
    yield f"## {name}"
    yield " ".join(str(part["description"]).split())
    required = set(part.get("required", ()))
    rows: Rows = [
        (
            f"`{key}`",
            _type_name(value),
            str(value.get("description", "")),
            _needed(key, value, required),
        )
        for key, value in part["properties"].items()
    ]
    yield table(("key", "type", "meaning", "default"), rows)


def _needed(key: str, value: Mapping[str, Any], required: set[str]) -> str:
    if key in required:
        return "required"
    if "default" not in value:
        return "empty"
    default = value["default"]
    return (
        "`null`"
        if default is None
        else f"`{default}`".replace("`False`", "`false`").replace("`True`", "`true`")
    )


_CONTAINERS = {"array": "list", "object": "object"}
_JSON_NAMES = {
    "null": "null",
    "number": "number",
    "integer": "integer",
    "string": "text",
    "boolean": "true or false",
}


def _type_name(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return "any JSON" if name == "JsonValue" else f"[{name}](#{name.lower()})"
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " or ".join(f"`{choice}`" for choice in value["enum"])
    for key in ("anyOf", "oneOf"):
        if key in value:
            return " or ".join(_type_name(choice) for choice in value[key])
    inner = {"array": "items", "object": "additionalProperties"}.get(value["type"])
    if inner is not None:
        return f"{_CONTAINERS[value['type']]} of {_type_name(value[inner])}"
    return _JSON_NAMES[value["type"]] + _bounds(value)


_BOUNDS = (
    ("exclusiveMinimum", "above"),
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "below"),
)


def _bounds(value: Mapping[str, Any]) -> str:
    texts = [f"{word} {value[key]}" for key, word in _BOUNDS if key in value]
    return f" ({', '.join(texts)})" if texts else ""
