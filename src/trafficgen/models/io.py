"""Reading and writing model files, and their JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pydantic import TypeAdapter

from trafficgen.errors import ModelFileError
from trafficgen.json_text import TOO_DEEP, JsonTextError, clean_texts, read_json, refuse_odd_values
from trafficgen.models.published_model import PublishedModel
from trafficgen.models.schema import SCHEMA_REMEDY, SCHEMA_VERSION, Model
from trafficgen.options import checks_arguments
from trafficgen.outputs import whole_files
from trafficgen.standard_streams import input_file, read_text_file

if TYPE_CHECKING:
    import yaml

#: Characters from which on speed counts more than the words of an error in the syntax.
_FAST_FROM = 50_000
#: No model or workload has more levels: the slower loader ends at about this many.
_DEEPEST = 300
#: No number of a model or a workload has more characters.
_LONGEST_NUMBER = 100


class YamlTextError(ValueError):
    """YAML with content that our files may not have."""


@cache
def _loaders() -> tuple[type[yaml.SafeLoader], type[yaml.SafeLoader]]:
    """Return safe loaders that refuse content which would silently be lost or multiplied.

    The second is on libyaml, eight times as fast; it composes nodes itself, aliases with them.
    """
    import yaml  # noqa: PLC0415 - 0.01 s, and most models are JSON

    class _Loader(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            if self.check_event(yaml.AliasEvent):
                event = self.peek_event()  # type: ignore[no-untyped-call]
                raise YamlTextError(
                    f"line {event.start_mark.line + 1}: aliases (*{event.anchor}) are not read"
                )
            return super().compose_node(parent, index)

    class _FastLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        pass

    for loader in (_Loader, _FastLoader):
        loader.add_constructor(
            yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping_without_repetition
        )
        loader.add_constructor("tag:yaml.org,2002:int", _short_number)
        # YAML 1.1 wants a point and a sign in 5e-06 and takes it for text; JSON and YAML 1.2 do
        # not.
        loader.add_implicit_resolver(
            "tag:yaml.org,2002:float",
            re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
            [*"-+.0123456789"],
        )
    return _Loader, _FastLoader


def _load(text: str) -> object:
    """Return the values of a document; the slower loader has clearer words for what is wrong."""
    import yaml  # noqa: PLC0415 - as above

    slow, fast = _loaders()
    try:
        return _load_fast(text, fast)
    except yaml.YAMLError:
        if len(text) >= _FAST_FROM:
            raise
        return yaml.load(text, Loader=slow)


def _load_fast(text: str, loader: type[yaml.SafeLoader]) -> object:
    import yaml  # noqa: PLC0415 - as above

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:  # libyaml takes the square of the depth
            raise YamlTextError(TOO_DEEP)
        if isinstance(event, yaml.AliasEvent):
            line = f"line {event.start_mark.line + 1}: " if event.start_mark is not None else ""
            raise YamlTextError(f"{line}aliases (*{event.anchor}) are not read")
    return yaml.load(text, Loader=loader)


def _mapping_without_repetition(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    loader.flatten_mapping(node)
    found: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node)
        if key in found:
            raise YamlTextError(f"line {key_node.start_mark.line + 1}: {key!r} is given twice")
        found[key] = loader.construct_object(value_node, deep=True)
    return found


def _short_number(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> int:
    """Return a whole number; base 60 (YAML 1.1) takes the square of the number of digits."""
    if len(node.value) > _LONGEST_NUMBER:
        raise YamlTextError(
            f"line {node.start_mark.line + 1}: a number has {len(node.value):,} characters"
        )
    return int(loader.construct_yaml_int(node))


def read_yaml(text: str) -> object:
    """Return the values of one YAML document, as JSON has them.

    Raises:
        YamlTextError: If it is not YAML, or holds a date, an alias or a key twice; the message
            names the line.
    """
    import yaml  # noqa: PLC0415 - as above

    try:
        found = _load(text)
        refuse_odd_values(found)
        return json.loads(json.dumps(found, allow_nan=False))
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark is not None else ""
        raise YamlTextError(f"{line}{error.problem or error.context}") from error
    except JsonTextError as error:
        raise YamlTextError(str(error)) from error
    except RecursionError:
        raise YamlTextError(TOO_DEEP) from None
    except (yaml.YAMLError, TypeError, ValueError) as error:
        if isinstance(error, YamlTextError):
            raise
        raise YamlTextError(" ".join(str(error).split())) from error


#: Gives the content of a catalogue entry by its name.
ParentOf = Callable[[str], Mapping[str, Any]]

#: A model of one session has less than 64 kB, of many less than 250 kB; to check many megabytes
#: would fill the memory.
LARGEST_MODEL_BYTES = 4_000_000
#: First bytes of pcap (of either byte order, in us or ns), of pcapng and of Parquet.
_PACKET_MARKS = (
    *(bytes.fromhex(mark) for mark in ("d4c3b2a1", "a1b2c3d4", "4d3cb2a1", "a1b23c4d", "0a0d0d0a")),
    b"PAR1",
)
_LINE_LENGTH = 120
_encode = json.JSONEncoder(ensure_ascii=False).encode
_WORKLOAD_REMEDY = (
    "give it to [`trafficgen generate`, `simulate` or `export`|generate_workload(workload, out),"
    " simulate_workload(workload, path=...) or export(workload, to=...)]"
)
_VERSION_REMEDY = "fit the captures again, or use the trafficgen that wrote the file"


@runtime_checkable
class ModelHolder(Protocol):
    """A result with a model, such as a fit: functions take it for its model."""

    @property
    def model(self) -> Model | PublishedModel:
        """The model."""


def model_in(result: Model | PublishedModel | ModelHolder) -> Model | PublishedModel:
    """Return a model itself, or that of a result."""
    return result if isinstance(result, Model | PublishedModel) else result.model


def _begins_as_packets(path: Path) -> bool:
    """Return whether a file begins as a capture or a Parquet table does."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(4) in _PACKET_MARKS
    return False


def read_model(path: str | Path, *, parent: ParentOf | None = None) -> Model | PublishedModel:
    """Read a fitted or published model file: YAML if its name ends so, else JSON.

    ``parent`` gives the content of the entry that a file extends; None refuses files that extend
    one.

    Raises:
        ModelFileError: If the file cannot be read, is not JSON or YAML, or breaks the schema; the
            message names the key.
    """
    name, path = str(path), input_file(str(path))
    remedy = (
        "give a file made by [`trafficgen fit`|save_model()], or a name of"
        " [`trafficgen models list`|models_list()]"
    )
    if Path(path).is_file() and _begins_as_packets(Path(path)):
        raise ModelFileError(
            file=name,
            problem="has packets, not a model",
            remedy=f"fit it first: [trafficgen fit {name} -o model.json|fit({name!r}).model]",
        )
    text = read_text_file(path, most_bytes=LARGEST_MODEL_BYTES, remedy=remedy, error=ModelFileError)
    if not text.strip():
        raise ModelFileError(file=name, problem="is empty", remedy=remedy)
    try:
        is_yaml = Path(path).suffix.lower() in (".yaml", ".yml")
        content = read_yaml(text) if is_yaml else read_json(text)
    except (YamlTextError, JsonTextError) as error:
        raise ModelFileError(file=name, problem=str(error), remedy=SCHEMA_REMEDY) from error
    return model_of(content, file=name, parent=parent)


def model_of(
    content: object, *, file: str, parent: ParentOf | None = None
) -> Model | PublishedModel:
    """Return the model that JSON content describes, its texts on one line each.

    Raises:
        ModelFileError: If it breaks the schema, or has another schema version.
    """
    content = clean_texts(content)
    schema: type[Model] | type[PublishedModel] = Model
    if isinstance(content, dict):
        version = content.get("schema_version")
        if isinstance(version, str) and version != SCHEMA_VERSION:
            problem = (
                f"schema_version is {version[:20]!r}, this trafficgen reads {SCHEMA_VERSION!r}"
            )
            raise ModelFileError(file=file, problem=problem, remedy=_VERSION_REMEDY)
        if "groups" in content and version is None:
            raise ModelFileError(
                file=file, problem="is a workload, not a model", remedy=_WORKLOAD_REMEDY
            )
        if "mechanism" in content or "extends" in content:
            schema = PublishedModel
        if content.get("extends") is not None:
            content = _resolved(content, file=file, parent=parent)
    return schema.model_validate_json(json.dumps(content), strict=True, context={"file": file})


def _resolved(content: dict[str, Any], *, file: str, parent: ParentOf | None) -> dict[str, Any]:
    """Return a published model's content with that of the entry it extends."""
    name = content["extends"]
    if parent is None or not isinstance(name, str):
        raise ModelFileError(
            file=file, problem=f"extends: {name!r} cannot be found here", remedy=SCHEMA_REMEDY
        )
    try:
        return extend(content, parent=parent(name))
    except ValueError as error:
        raise ModelFileError(file=file, problem=str(error), remedy=SCHEMA_REMEDY) from error


def extend(content: Mapping[str, Any], *, parent: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a published model's content from its parent.

    A parameter is taken or replaced as a whole, since another value has another source; of an
    option single keys can be replaced, such as its default. ``null`` leaves a parameter or an
    option of the parent out.

    Raises:
        ValueError: If a part is not an object.
    """
    merged = {**parent, **content, "extends": None}
    merged["provenance"] = {**_part(parent, "provenance"), **_part(content, "provenance")}
    options = _part(parent, "options")
    for name, option in _part(content, "options").items():
        options[name] = {**options.get(name, {}), **option} if isinstance(option, dict) else option
    merged["options"] = _without_nulls(options)
    inherited, own = _part(parent, "mechanism"), _part(content, "mechanism")
    parameters = {**_part(inherited, "parameters"), **_part(own, "parameters")}
    merged["mechanism"] = {**inherited, **own, "parameters": _without_nulls(parameters)}
    return merged


def _part(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    part = content.get(key) or {}
    if not isinstance(part, dict):
        raise ValueError(f"{key}: must be an object, not {json.dumps(part)}")
    return dict(part)


def _without_nulls(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in parts.items() if part is not None}


def dump_model(model: Model | PublishedModel) -> str:
    """Return a model as the text of its JSON file, keys in the order of the schema.

    A part that fits on a line is on one, such as a point of a law; all others are indented.
    """
    return _text(model.model_dump(mode="json"), indent=0, before=0) + "\n"


def _text(value: object, *, indent: int, before: int) -> str:
    """Return a value as JSON; ``before`` characters precede it on its line."""
    if not isinstance(value, dict | list) or not value:
        return _encode(value)
    inside = indent + 1
    if isinstance(value, dict):
        keys = [f"{_encode(key)}: " for key in value]
        items = [
            key + _text(one, indent=inside, before=len(key))
            for key, one in zip(keys, value.values(), strict=True)
        ]
    else:
        items = [_text(one, indent=inside, before=0) for one in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    if all("\n" not in item for item in items):
        line = start + ", ".join(items) + end
        if before + indent + len(line) <= _LINE_LENGTH:
            return line
        if isinstance(value, list):
            items = _filled(items, width=_LINE_LENGTH - inside)
    return start + _lines(items, indent=inside) + "\n" + " " * indent + end


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


@checks_arguments
def save_model(model: Model | PublishedModel | ModelHolder, path: str | Path) -> None:
    """Write a model, or that of a fit, to a JSON file: to a temporary name first, then renamed.

    Raises:
        ModelFileError: If :func:`load_model` would refuse the file; nothing is written.
        OutputFileError: If the file cannot be written.

    Example:
        >>> import trafficgen
        >>> _ = trafficgen.generate("cbr", "cbr.parquet", duration_s=20)
        >>> model = trafficgen.fit("cbr.parquet").model
        >>> trafficgen.save_model(model, "cbr-model.json")
        >>> trafficgen.load_model("cbr-model.json") == model
        True
    """
    text = dump_model(model_in(model))
    model_of(json.loads(text), file=str(path))
    with whole_files([Path(path)]) as [part]:
        part.write_text(text, encoding="utf-8")


def model_json_schema() -> dict[str, object]:
    """Return the JSON Schema of the model file: a fitted model or a published one.

    Example:
        >>> import trafficgen
        >>> schema = trafficgen.model_json_schema()
        >>> [choice["$ref"] for choice in schema["anyOf"]]
        ['#/$defs/Model', '#/$defs/PublishedModel']
        >>> schema["$defs"]["Estimate"]["required"]
        ['value', 'method']
    """
    schema: dict[str, object] = TypeAdapter(Model | PublishedModel).json_schema()
    schema["title"] = "Model file"
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return schema
