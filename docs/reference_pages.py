"""Reference pages made from the code: command line, model file, tables, errors, targets and Python names."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

import pyarrow as pa
import typer

import trafficgen
from trafficgen import errors
from trafficgen.capture.traces import FORMATS as TRACE_FORMATS
from trafficgen.capture.traces import OPTIONS as TRACE_OPTIONS
from trafficgen.cli.app import app
from trafficgen.export import FILE_FORMATS, TARGETS, Target
from trafficgen.models import Parameter
from trafficgen.tables import FLOW_SCHEMA, MEDIA, PACKET_SCHEMA, PHASES, RTCP_SCHEMA, SIGNALLING_SCHEMA
from trafficgen.tables.meanings import FLOW_MEANINGS, PACKET_MEANINGS, RTCP_MEANINGS, SIGNALLING_MEANINGS

_GENERATED = "<!-- Made by `make docs` from the code; do not edit. -->"
_LONGEST_VALUE = 200

Rows = list[tuple[str, ...]]


def page(title: str, *parts: str) -> str:
    """Return a page: title, note that it is generated, parts parted by empty lines."""
    return "\n\n".join([f"# {title}", _GENERATED, *(part.strip("\n") for part in parts)]) + "\n"


def table(header: tuple[str, ...], rows: Rows) -> str:
    """Return a Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


# Command line


def cli_page() -> str:
    """Return the page of all commands, from the command table itself."""
    parts = [part for name, command in commands() for part in _command_parts(name, command)]
    return page("Command line", _CLI_INTRODUCTION, *parts)


_CLI_INTRODUCTION = """Every command has a function of the same name in Python, see [python.md](python.md).
Results go to stdout, messages and progress to stderr. Exit codes: 0 done; 1 a requested check failed
(`compare --fail-above`, `reproduce`); 2 bad input or usage, with one line on stderr; 130 interrupted.

`trafficgen --version` prints the version. `trafficgen --install-completion` sets up completion in your shell."""


def commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with its full name, in the order of the help."""
    yield from _commands_of("trafficgen", cast("Any", typer.main.get_command(app)))


def _commands_of(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands_of(f"{prefix} {name}", command)
        else:
            yield f"{prefix} {name}", command


def _command_parts(name: str, command: Any) -> Iterator[str]:
    description, _, example = inspect.cleandoc(command.help).partition("Example:")
    yield f"## {name}"
    yield " ".join(description.split())
    arguments = [parameter for parameter in command.params if parameter.param_type_name != "option"]
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *(str(part.metavar) for part in arguments)])
    yield f"```text\n{usage}\n```"
    yield f"Example: `{' '.join(example.split())}`"
    if arguments:
        yield table(("argument", "meaning"), [(f"`{part.metavar}`", str(part.help)) for part in arguments])
    if options:
        yield table(("option", "meaning", "default"), [_option_row(option) for option in options])


def _option_row(option: Any) -> tuple[str, ...]:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.secondary_opts:
        names += " / " + ", ".join(f"`{name}`" for name in option.secondary_opts)
    if not option.is_flag:
        names += f" `{option.metavar or 'N'}`"
    meaning = str(option.help)
    if option.min is not None:
        meaning += f" At least {option.min}."
    return names, meaning, _default(option)


def _default(option: Any) -> str:
    if option.required:
        return "required"
    if option.is_flag and option.default is not None:
        both = option.secondary_opts
        return f"`{(option.opts if option.default else both)[0]}`" if both else "off"
    return "" if option.default is None else f"`{option.default}`"


# Model file


def model_file_page() -> str:
    """Return the page of the model file, from the JSON Schema that the program checks files against."""
    schema = cast("dict[str, Any]", trafficgen.model_json_schema())
    definitions = cast("dict[str, Any]", schema["$defs"])
    roots = [choice["$ref"].rpartition("/")[2] for choice in schema["anyOf"]]
    names = [*roots, *(name for name in definitions if name not in roots)]
    # JsonValue is any JSON: there is nothing to say about its keys.
    sections = [
        section
        for name in names
        if "properties" in definitions[name]
        for section in _part_sections(name, definitions[name])
    ]
    version = definitions[roots[0]]["properties"]["schema_version"]["default"]
    return page("Model file", _MODEL_INTRODUCTION.format(version=version), *sections)


_MODEL_INTRODUCTION = """A model file is one JSON object (or the same in YAML, by its ending) in schema version
{version}: a fitted model, the part *Model* below, or a published one, *PublishedModel*, as the
[catalogue](catalogue.md) holds them.
Unknown keys are refused; units are in the names. `trafficgen models schema` prints the JSON Schema,
`trafficgen models show FILE` checks a file.
Minor versions add keys; a new major version may change what a key means."""


def _part_sections(name: str, part: Mapping[str, Any]) -> Iterator[str]:
    yield f"## {name}"
    yield " ".join(str(part["description"]).split())
    required = set(part.get("required", ()))
    rows: Rows = [
        (f"`{key}`", _type_name(value), str(value.get("description", "")), _needed(key, value, required))
        for key, value in part["properties"].items()
    ]
    yield table(("key", "type", "meaning", "default"), rows)


def _needed(key: str, value: Mapping[str, Any], required: set[str]) -> str:
    if key in required:
        return "required"
    if "default" not in value:
        return "empty"
    default = value["default"]
    return "`null`" if default is None else f"`{default}`".replace("`False`", "`false`").replace("`True`", "`true`")


_CONTAINERS = {"array": "list", "object": "object"}
_JSON_NAMES = {"null": "null", "number": "number", "integer": "integer", "string": "text", "boolean": "true or false"}


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


# Tables


def packet_table_page() -> str:
    """Return the page of the tables' columns, from their Arrow schemas."""
    return page(
        "Packet table",
        _TABLE_INTRODUCTION,
        "## Packets",
        _columns(PACKET_SCHEMA, PACKET_MEANINGS),
        f"Phases are {', '.join(f'`{name}`' for name in PHASES)}.",
        "## Flows",
        _columns(FLOW_SCHEMA, FLOW_MEANINGS),
        f"Media are {', '.join(f'`{name}`' for name in MEDIA)}.",
        "## Signalling",
        _columns(SIGNALLING_SCHEMA, SIGNALLING_MEANINGS),
        "## RTCP",
        "Sender and receiver reports (RFC 3550), one row a reception block.",
        _columns(RTCP_SCHEMA, RTCP_MEANINGS),
    )


_TABLE_INTRODUCTION = """Captures, generators and exporters share one columnar table of packets.
A flow table and the signalling messages travel with it.
Times count from an origin, whose own time since 1970 is kept too.

In a Parquet file the packets are the rows; origin, flow table, signalling and notes are one JSON object in the schema
metadata under the key `trafficgen`. A CSV file `NAME.csv` has the packets, `NAME.flows.csv` beside it the flow table.
Columns that may be null may also be left out."""


def _columns(schema: pa.Schema, meanings: Mapping[str, str]) -> str:
    rows: Rows = [
        (f"`{field.name}`", f"`{field.type}`", meanings[field.name], "yes" if field.nullable else "no")
        for field in schema
    ]
    return table(("column", "type", "meaning", "may be null"), rows)


# Errors, targets, Python


def error_classes() -> dict[str, type[Exception]]:
    """Return every error and warning class of the package by name."""
    return {
        name: cls
        for name, cls in vars(errors).items()
        if isinstance(cls, type) and issubclass(cls, Exception) and cls.__module__ == errors.__name__
    }


def errors_page() -> str:
    """Return the page of errors and warnings."""
    tree = inspect.cleandoc(errors.__doc__ or "").partition("::\n\n")[2]
    tree, _, rest = tree.partition("\n\n")
    rows: Rows = [
        (f"`{name}`", f"`{cls.__bases__[0].__name__}`", _first_line(cls), _attributes(cls))
        for name, cls in error_classes().items()
    ]
    return page(
        "Errors and warnings",
        "The command line prints an error as one line on stderr and exits with 2. "
        "Warnings are lines that begin with `warning:`.",
        f"```text\n{inspect.cleandoc(tree)}\n```",
        rest,
        table(("class", "kind of", "meaning", "attributes"), rows),
    )


def _attributes(cls: type) -> str:
    lines = inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("Attributes:\n")[2].splitlines()
    return " ".join(f"`{name.strip()}`: {text.strip()}" for name, _, text in (line.partition(":") for line in lines))


def targets_page() -> str:
    """Return the page of export targets."""
    rows: Rows = [
        (
            f"`{target.name}`",
            target.summary,
            target.versions,
            "yes" if target.write_model else "no",
            "yes" if target.takes_view else "no",
        )
        for target in TARGETS.values()
    ]
    formats: Rows = [(f"`{known.suffix}`", f"`{known.name}`") for known in FILE_FORMATS.values()]
    return page(
        "Export targets",
        "`trafficgen export TABLE --to TARGET -o DIR` writes one of these, with a README that says how to "
        "use it and a report of what the target cannot hold. Where the target draws packets itself, "
        "`trafficgen export MODEL.json --to TARGET -o DIR` hands over the law of a fitted model.",
        table(("target", "what it writes", "for", "models", "`--at`"), rows),
        *(part for target in TARGETS.values() for part in _target_settings(target)),
        "## Files of `trafficgen generate`\n\nThe ending of its output file says what is written.",
        table(("ending", "format"), formats),
    )


def trace_formats_page() -> str:
    """Return the page of formats of traces that are read."""
    rows: Rows = [
        (f"`{its.name}`", its.description, ", ".join(f"`{TRACE_OPTIONS[field]}`" for field in its.takes) or "none")
        for its in TRACE_FORMATS.values()
    ]
    return page(
        "Trace formats",
        "`trafficgen convert TRACE -o OUT` reads these; `--from FORMAT` names one, otherwise the content tells. "
        "`inspect`, `fit`, `compare` and `export` take a trace that is recognised and needs no options. "
        "[How to bring other traces](../how-to/bring-other-traces.md) has examples.",
        table(("format", "what is in the file", "options"), rows),
    )


def _target_settings(target: Target) -> list[str]:
    if not target.settings:
        return []
    rows: Rows = [
        (
            f"`{setting.name}`",
            f"`{setting.default}`" if setting.default != "" else "",
            f"{setting.meaning} One of {', '.join(setting.choices)}." if setting.choices else setting.meaning,
        )
        for setting in target.settings
    ]
    return [f"## {target.name}: settings", table(("`--set`", "default", "meaning"), rows)]


def python_page() -> str:
    """Return the page of the public Python names."""
    sections = [part for name in trafficgen.__all__ if not name.startswith("__") for part in _python_parts(name)]
    return page(
        "Python", "Everything below is imported from `trafficgen`. The rest may change without notice.", *sections
    )


def _python_parts(name: str) -> Iterator[str]:
    thing = getattr(trafficgen, name)
    yield f"## {name}"
    kind = "class" if isinstance(thing, type) else "function"
    if kind == "function":
        yield f"```python\n{name}{_signature(thing)}\n```"
    else:
        yield f"A {kind}, kind of `{thing.__bases__[0].__name__}`." if issubclass(thing, Exception) else f"A {kind}."
    yield f"```text\n{inspect.cleandoc(thing.__doc__)}\n```"


def _signature(function: Callable[..., object]) -> str:
    signature = inspect.signature(function)
    lines = []
    keyword_only = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            lines.append("    *,")
            keyword_only = True
        lines.append(f"    {parameter},")
    body = "\n".join(lines)
    return f"(\n{body}\n) -> {signature.return_annotation}" if lines else f"() -> {signature.return_annotation}"


def _first_line(thing: object) -> str:
    return inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


# Catalogue


def catalogue_page() -> str:
    """Return the page of the published models, from their entries."""
    models = [one.model for one in trafficgen.models_list()]
    rows: Rows = [
        (f"[`{one.name}`](#{one.name})", str(one.transport or ""), " ".join(one.model.description.split()))
        for one in trafficgen.models_list()
    ]
    sections = [section for model in models for section in _entry_sections(model)]
    return page("Catalogue", _CATALOGUE_INTRODUCTION, table(("model", "transport", "what it is"), rows), *sections)


_CATALOGUE_INTRODUCTION = """Sources that papers measured, by the names that commands take.
What a paper varied is an *option* (`--set NAME=VALUE`); parameters can be set in the same way.
The *basis* of a value says how far it can be trusted:

- `figure`: a paper's own;
- `derived`: follows from figures by the arithmetic that is given;
- `definition`: of a standard or of the method;
- `open`: left open by the papers and chosen once, for the reason that is given.

Where values of one table differ in this, the basis of some stands in lines of their own below it.
Sources are ids of findings, such as `BMW-T1.1`, or places.
Entries that are `provisional` have not been derived a second time."""


def _entry_sections(model: trafficgen.PublishedModel) -> Iterator[str]:
    yield f"## {model.name}"
    yield " ".join(model.description.split()) + f" Review: {model.provenance.review}."
    yield "Citations:"
    yield _list(f"{source.text}. For: {', '.join(source.supports)}." for source in model.provenance.citations)
    yield "Limits:"
    yield _list(model.provenance.limitations or ("None are stated.",))
    if model.options:
        rows: Rows = [
            (f"`{name}`", _value(option.default), option.unit, option.description, option.allowed, option.source)
            for name, option in model.options.items()
        ]
        yield table(("option", "default", "unit", "meaning", "values", "source"), rows)
    parameters = model.mechanism.parameters
    yield f"Mechanism `{model.mechanism.kind}`" + (":" if parameters else ", with no parameters but the options.")
    if parameters:
        rows = [row for name, one in parameters.items() for row in _parameter_rows(name, one)]
        yield table(("parameter", "value", "basis", "source", "reason"), rows)


def _parameter_rows(name: str, parameter: Parameter) -> Iterator[tuple[str, ...]]:
    yield f"`{name}`", _value(parameter.value), parameter.basis, parameter.source or "", parameter.reason or ""
    for key, part in parameter.parts.items():
        yield f"`{name}`, `{key}`", "", part.basis, part.source or "", part.reason or ""


def _list(items: Iterable[str]) -> str:
    return "\n".join(f"- {' '.join(item.split())}" for item in items)


def _value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if len(text) <= _LONGEST_VALUE else f"`{text[:_LONGEST_VALUE]}...` (the entry has all)"


#: Page in docs/reference -> function that makes it.
PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "model-file.md": model_file_page,
    "catalogue.md": catalogue_page,
    "packet-table.md": packet_table_page,
    "export-targets.md": targets_page,
    "trace-formats.md": trace_formats_page,
    "errors.md": errors_page,
    "python.md": python_page,
}
