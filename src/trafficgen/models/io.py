"""Reading and writing model files, and their JSON Schema."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from trafficgen.errors import ModelFileError
from trafficgen.models.schema import Model
from trafficgen.output_files import whole_files


def load_model(path: str | Path) -> Model:
    """Return the model in a JSON file.

    Raises:
        ModelFileError: If the file cannot be read, is not JSON, or breaks the schema; the message names the key.
    """
    name = str(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise ModelFileError(
            file=name, problem=f"cannot be read ({reason})", remedy="give a model file made by `trafficgen fit`"
        ) from error
    try:
        return Model.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file as a whole"
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        remedy = "see `trafficgen models schema` for what a model file may hold"
        raise ModelFileError(file=name, problem=f"{place}: {first['msg']}{more}", remedy=remedy) from error


def dump_model(model: Model) -> str:
    """Return a model as the text of its JSON file, keys in the order of the schema."""
    return json.dumps(model.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"


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
