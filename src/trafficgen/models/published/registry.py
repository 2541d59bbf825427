"""The entries of the catalogue by name: each YAML file in ``entries`` is one."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from trafficgen.errors import ModelFileError
from trafficgen.formatting import find_name, suggest_name
from trafficgen.models import (
    Model,
    PublishedModel,
    YamlTextError,
    extend,
    model_of,
    read_model,
    read_yaml,
)
from trafficgen.models.published.mechanisms import check_mechanism
from trafficgen.standard_streams import STANDARD_INPUT

#: Folder of the entries: a YAML file in it is a published model, and nothing lists it.
ENTRIES = resources.files("trafficgen.models.published") / "entries"
_ENDING = ".yaml"


@cache
def entry_names() -> tuple[str, ...]:
    """Return the names of all entries, sorted."""
    return tuple(
        sorted(
            path.name.removesuffix(_ENDING)
            for path in ENTRIES.iterdir()
            if path.name.endswith(_ENDING)
        )
    )


@cache
def load_entry(name: str) -> PublishedModel:
    """Return a catalogue entry, with what it extends taken over.

    Raises:
        ModelFileError: If there is no such entry, it breaks the schema, or it cannot be simulated.
    """
    model = model_of(_merged(name, ()), file=f"{name}{_ENDING}")
    if not isinstance(model, PublishedModel) or model.name != name:
        problem = f"it is not a published model of the name {name}"
        raise ModelFileError(
            file=f"{name}{_ENDING}", problem=problem, remedy="give it the name of its file"
        )
    _check(model, file=f"{name}{_ENDING}")
    return model


def load_model(name: str | Path) -> Model | PublishedModel:
    """Load a catalogue entry by its name, or the model in a JSON or YAML file.

    A name without folder and ending is looked for in the catalogue first; ``./NAME`` is always a
    file, and ``-`` is standard input.

    Raises:
        ModelFileError: If there is neither, the file breaks the schema, or a published model cannot
            be simulated; the message names the key.

    Example:
        >>> import trafficgen
        >>> trafficgen.load_model("cbr")
        <PublishedModel cbr: cbr, 3 options, provisional>
    """
    text = str(name)
    if isinstance(name, str) and text in entry_names():
        return load_entry(text)
    if isinstance(name, str) and not Path(text).exists() and (meant := _name_meant(text)):
        return load_entry(meant)
    is_name = text != STANDARD_INPUT and "/" not in text and "." not in text
    if isinstance(name, str) and is_name and not Path(text).exists():
        raise _no_such_entry(text)
    model = read_model(name, parent=lambda parent: _merged(parent, ()))
    if isinstance(model, PublishedModel):
        _check(model, file=text)
    return model


def entry_digest(model: Model | PublishedModel) -> str:
    """Return ``sha256:`` and the digest of a model's canonical JSON, parents included."""
    text = json.dumps(
        model.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def _check(model: PublishedModel, *, file: str) -> None:
    """Refuse a published model that cannot be simulated as it is."""
    try:
        check_mechanism(model)
    except ValueError as error:
        users = {_merged(name, ())["mechanism"]["kind"]: name for name in reversed(entry_names())}
        kind = model.mechanism.kind
        remedy = f"entries use the mechanisms {', '.join(sorted(users))}"
        if kind in users:
            remedy = f"for an example: `trafficgen models show {users[kind]}`"
        raise ModelFileError(file=file, problem=str(error), remedy=remedy) from error


def _merged(name: str, below: tuple[str, ...]) -> dict[str, Any]:
    """Return an entry's content with its parents'; ``below`` are the entries that extend it."""
    if name not in entry_names():
        raise _no_such_entry(name)
    if name in below:
        remedy = f"look at {', '.join(below)}"
        raise ModelFileError(file=f"{name}{_ENDING}", problem="it extends itself", remedy=remedy)
    try:
        content = read_yaml((ENTRIES / f"{name}{_ENDING}").read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError("it is not an object")
        if content.get("extends") is None:
            return content
        return extend(content, parent=_merged(content["extends"], (*below, name)))
    except (YamlTextError, ValueError) as error:
        raise ModelFileError(
            file=f"{name}{_ENDING}", problem=str(error), remedy="correct the entry"
        ) from error


def _name_meant(name: str) -> str | None:
    """Return the entry that a name means, however it is written; None for names of files."""
    return None if "/" in name or "." in name else find_name(name, entry_names())


def _no_such_entry(name: str) -> ModelFileError:
    return ModelFileError(
        file=name,
        problem=f"no such file and no such catalogue entry{suggest_name(name, entry_names())}",
        remedy=f"entries are {', '.join(entry_names())}",
    )
