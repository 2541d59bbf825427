"""The entries of the catalogue by name: each YAML file in ``entries`` is one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from trafficgen.errors import ModelFileError, TrafficgenError
from trafficgen.formatting import find_name, list_first, suggest_name
from trafficgen.models import (
    Model,
    ModelHolder,
    PublishedModel,
    YamlTextError,
    extend,
    model_in,
    model_of,
    read_model,
    read_yaml,
)
from trafficgen.models.published.mechanisms import check_mechanism
from trafficgen.models.registered_source import list_sources, source_model
from trafficgen.options import checks_arguments, takes_name
from trafficgen.processes.registered.source import SOURCES, RegisteredSource, SourceFunction
from trafficgen.registry import calling_module, require_function
from trafficgen.standard_streams import STANDARD_INPUT

_Function = TypeVar("_Function", bound=SourceFunction)
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


@checks_arguments
def load_model(name: str | Path) -> Model | PublishedModel:
    """Load a catalogue entry by its name, or the model in a JSON or YAML file.

    A name without folder and ending is looked for in the catalogue first, where the year at its end
    may be left out (``wmedia9_nichols``; of several years the last), then among registered
    sources; ``./NAME`` is always a file, and ``-`` is standard input.

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
    may_be_name = text != STANDARD_INPUT and "/" not in text
    if isinstance(name, str) and may_be_name and not Path(text).exists():
        if text in SOURCES:
            return source_model(SOURCES[text])
        if meant := find_name(text, entry_names()):  # such as hls.js
            return load_entry(meant)
        if "." not in text:
            raise _no_such_entry(text)
    model = read_model(name, parent=lambda parent: _merged(parent, ()))
    if isinstance(model, PublishedModel):
        _check(model, file=text)
    return model


def find_model(what: Model | PublishedModel | ModelHolder | str | Path) -> Model | PublishedModel:
    """Return a model, that of a result such as a fit, or the one of a name or file.

    Raises:
        ModelFileError: As :func:`load_model` does, or if a source that it plays is not registered.
    """
    if not isinstance(what, str | Path):
        return model_in(what)
    model = load_model(what)
    unknown = [name for name in list_sources(model) if name not in SOURCES]
    if unknown:
        module = getattr(model.provenance, "module", "")
        raise ModelFileError(
            file=str(what),
            problem=f"plays the source {unknown[0]!r}, which is not registered here"
            f"{suggest_name(unknown[0], SOURCES)}",
            remedy=f"first run the code that registers it ({module or 'register_source'}), or"
            " install a package whose entry point does",
        )
    return model


@takes_name
def register_source(name: str) -> Callable[[_Function], _Function]:
    """Make a source of your own a model, whose name commands and functions take.

    From the command line, an entry point of the group ``trafficgen.sources`` with this name gives
    the module that registers it. Model files name the source, not its code: it must be registered
    where they are played.

    Args:
        name: Its name.

    Returns:
        A decorator of a function ``place(generator, duration_s, **settings)`` that returns times in
        s from the start, below ``duration_s``, and IP lengths in bytes, both of shape (n,). It gets
        a random generator. Its keywords are its ``settings``.

    Raises:
        TrafficgenError: If the name is invalid, or that of a catalogue entry.

    Example:
        >>> import numpy as np
        >>> import trafficgen
        >>> @trafficgen.register_source("beacon")
        ... def place_beacons(
        ...     generator: np.random.Generator, duration_s: float, every_s: float = 0.5
        ... ) -> tuple[np.ndarray, np.ndarray]:
        ...     time_s = np.arange(0, duration_s, every_s)
        ...     return time_s, generator.integers(100, 200, time_s.size)
        >>> trafficgen.generate("beacon", duration_s=10, settings={"every_s": 2})
        <PacketTable: 5 packets, 1 flow, 8 s, 813 IP bytes>
    """
    module = calling_module()

    def register(function: _Function) -> _Function:
        require_function(function, "register_source")
        if name in entry_names():
            raise TrafficgenError(
                f"{name!r} is one of trafficgen's own sources; choose another name"
            )
        SOURCES.register(name, RegisteredSource(name, function, module), module=module)
        return function

    return register


def entry_digest(model: Model | PublishedModel) -> str:
    """Return ``sha256:`` and the digest of a model's canonical JSON, parents included.

    Where the catalogue lists an entry does not count, nor do remarks on values that have none.
    """
    content = model.model_dump(mode="json", exclude={"group"})
    if isinstance(model, PublishedModel):
        parts = [*content["options"].values(), *content["mechanism"]["parameters"].values()]
        for part in filter(None, [*parts, content["competing_tcp"]]):
            for remark in ("confirmed_by", "trap"):
                if part[remark] is None:
                    del part[remark]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
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
            name = users[kind]
            remedy = f"for an example: [`trafficgen models show {name}`|models_show({name!r})]"
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


def _no_such_entry(name: str) -> ModelFileError:
    names = [*entry_names(), *SOURCES]
    return ModelFileError(
        file=name,
        problem=f"no such file and no such catalogue entry{suggest_name(name, names)}",
        remedy=f"entries are {list_first(names)}: [`trafficgen models list`|models_list()]",
    )
