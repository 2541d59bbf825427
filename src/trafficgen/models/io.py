"""Reading and writing model files, and their JSON Schema."""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic import ValidationError

from trafficgen.errors import ModelFileError
from trafficgen.models.schema import SCHEMA_VERSION, Model
from trafficgen.output_files import whole_files

_LINE_LENGTH = 120


def load_model(path: str | Path) -> Model:
    """Return the model in a JSON file.

    Raises:
        ModelFileError: If the file cannot be read, is not JSON, or breaks the schema; the message names the key.
    """
    name = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise ModelFileError(
            file=name, problem=f"cannot be read ({reason})", remedy="give a model file made by `trafficgen fit`"
        ) from error
    try:
        return Model.model_validate_json(text, strict=True)
    except ValidationError as error:
        version = _newer_version(text)
        if version is not None:
            problem = f"it has schema version {version}, this trafficgen reads {SCHEMA_VERSION}"
            remedy = "use the trafficgen that wrote it, or a newer one"
            raise ModelFileError(file=name, problem=problem, remedy=remedy) from error
        remedy = "see `trafficgen models schema` for what a model file may hold"
        raise ModelFileError(file=name, problem=_first_problem(error), remedy=remedy) from error


def _first_problem(error: ValidationError) -> str:
    # A list whose items are wrong is reported as too short as well.
    problems = [found for found in error.errors() if found["type"] != "too_short"] or error.errors()
    first = problems[0]
    place = ".".join(str(part) for part in first["loc"]) or "the file as a whole"
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"{place}: {first['msg'].removeprefix('Value error, ')}{more}"


def _newer_version(text: str) -> str | None:
    """Return the schema version of a model file when it is not ours, None where it is ours or cannot be told."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    version = found.get("schema_version") if isinstance(found, dict) else None
    if not isinstance(version, str) or not re.fullmatch(r"\d{1,4}\.\d{1,4}", version):
        return None
    return version if version != SCHEMA_VERSION else None


def dump_model(model: Model) -> str:
    """Return a model as the text of its JSON file, keys in the order of the schema.

    What fits on a line stands on one, such as a point of a law; everything else is indented.
    """
    return _text(model.model_dump(mode="json"), indent=0, before=0) + "\n"


def _text(value: object, *, indent: int, before: int) -> str:
    """Return a value as JSON; ``before`` characters stand before it on its line."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value or before + indent + len(line) <= _LINE_LENGTH:
        return line
    inside = indent + 1
    if isinstance(value, dict):
        keys = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        items = [
            key + _text(one, indent=inside, before=len(key)) for key, one in zip(keys, value.values(), strict=True)
        ]
        return "{" + _lines(items, indent=inside) + "\n" + " " * indent + "}"
    items = [_text(one, indent=inside, before=0) for one in value]
    if all("\n" not in item for item in items):
        items = _filled(items, width=_LINE_LENGTH - inside)
    return "[" + _lines(items, indent=inside) + "\n" + " " * indent + "]"


def _lines(items: list[str], *, indent: int) -> str:
    return ",".join(f"\n{' ' * indent}{item}" for item in items)


def _filled(items: list[str], *, width: int) -> list[str]:
    """Return short items of a list, several on a line."""
    lines = [items[0]]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + 3 <= width:
            lines[-1] += f", {item}"
        else:
            lines.append(item)
    return lines


def save_model(model: Model, path: str | Path) -> None:
    """Write a model to a JSON file: to a temporary name first, then renamed.

    Raises:
        OutputFileError: If the file cannot be written.
    """
    with whole_files([Path(path)]) as [part]:
        part.write_text(dump_model(model), encoding="utf-8")


def model_json_schema() -> dict[str, object]:
    """Return the JSON Schema of the model file."""
    schema = Model.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema
