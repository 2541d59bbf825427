"""`trafficgen models`: the catalogue, model files and their schema."""

from __future__ import annotations

import json
import shlex
import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

import trafficgen
from trafficgen.cli._completion import complete_model
from trafficgen.cli._help import require_command
from trafficgen.cli._options import AsJson
from trafficgen.cli._output import columns, is_styled, print_json, say_line
from trafficgen.cli._summaries import print_model
from trafficgen.cli._tables import print_table
from trafficgen.errors import ModelFileError
from trafficgen.formatting import format_count, number, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

    from trafficgen.models import Option, Parameter, PublishedModel
    from trafficgen.models.published.listing import CatalogueModel

_WIDTH = 120
_LONGEST_VALUE = 60
_LONGEST_DESCRIPTION = 400
#: Mechanism whose tables are laws: each value has a line.
_STREAMS = "streams"

app = typer.Typer(help="Look at the catalogue of published models and at model files.")
app.callback(invoke_without_command=True)(require_command)


@app.command("list")
def list_models(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD]...", help="List only models that have all words."),
    ] = None,
    paths: Annotated[
        bool, typer.Option("--paths", help="List the named paths that --path takes instead.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the models of the catalogue, by group, with their options and sources.

    Example: trafficgen models list

    Example: trafficgen models list xr video

    Example: trafficgen models list --json > catalogue.json

    Example: trafficgen models list --paths
    """
    if paths:
        _list_paths(as_json=as_json)
        return
    found = trafficgen.models_list()
    if words:
        found = found.search(*words)
    if as_json:
        print_json(found.to_json())
        return
    if not found:
        print(one_line(f"No model has {' and '.join(words or ())}.", longest=200))
    for group in dict.fromkeys(one.group for one in found):
        print(f"{group}:")
        for one in (one for one in found if one.group == group):
            _list_model(one)
    if not words:
        _list_mixes()


def _list_mixes() -> None:
    from trafficgen.workloads.files import load_workload, mix_names  # noqa: PLC0415 - not of --help

    print("mixes (workloads):")
    for name in mix_names():
        print(f"{name}  ({format_count(len((mix := load_workload(name)).groups), 'group')})")
        _print_indented(mix.description.description)


def _list_model(one: CatalogueModel) -> None:
    print(f"{one.name}  ({one.transport or 'unknown transport'}; {one.review})")
    _print_indented(one.model.description)
    given = ", ".join(f"{name}={_value_text(value)}" for name, value in one.options.items())
    if given:
        _print_indented(f"options: {given}")
    _print_indented(f"source: {one.citation}")


def _list_paths(*, as_json: bool) -> None:
    from trafficgen.simulation.path_keys import PRESET  # noqa: PLC0415 - not of --help

    presets = trafficgen.Path.presets()
    if as_json:
        names = ("name", "description", "source", "link")
        print_json({"paths": [{name: getattr(one, name) for name in names} for one in presets]})
        return
    for one in presets:
        print(f"{PRESET}{one.name}  {one.text}")
        _print_indented(f"{one.description}. Source: {one.source}")


@app.command("diff")
def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="Model file that `fit` wrote.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another.")],
    every: Annotated[
        bool,
        typer.Option("--full", "--all", help="Show numbers that differ and have no interval, too."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what differs between two fitted models.

    Left out is what lies within the uncertainty of the estimates: they differ if their intervals
    do not overlap, laws if their distance is more than chance explains.

    Example: trafficgen models diff model.json other.json
    """
    from trafficgen.models.differences import describe_value  # noqa: PLC0415 - not of --help

    _refuse_workloads(first, second)
    found = trafficgen.models_diff(first, second)
    if as_json:
        print_json(found.to_json())
        return
    shown = [one for one in found.differences if every or one.basis != "no_interval"]
    if shown:
        rows = [
            (
                one.what,
                *(describe_value(one.what, x) for x in (one.first, one.second)),
                one.describe(),
            )
            for one in shown
        ]
        print_table(["what", first, second, "how"], rows)
    print(f"{found.summary}.")
    if left_out := len(found.differences) - len(shown):
        print(f"{format_count(left_out, 'number')} without an interval also differ; see --all.")


@app.command("schema")
def schema() -> None:
    """Print the JSON Schema of the model file.

    Example: trafficgen models schema > model.schema.json
    """
    print_json(trafficgen.models_schema())


@app.command("show")
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Catalogue name, or a model file (JSON or YAML).",
            autocompletion=complete_model,
        ),
    ],
    full: Annotated[bool, typer.Option("--full", help="Print the whole file, as --json.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check a model against the schema and show it.

    A published model is shown with citations, limits, options and parameters, a fitted one as `fit`
    summarises it.

    Example: trafficgen models show wmedia9_nichols2004

    Example: trafficgen models show model.json

    Example: trafficgen models show model.json --full
    """
    _refuse_workloads(name)
    model = trafficgen.models_show(name)
    if as_json or full:
        print_json(model.to_json())
    elif isinstance(model, trafficgen.Model):
        _render_fitted(model)
    else:
        _render(model)


def _refuse_workloads(*names: str) -> None:
    from trafficgen.workloads.files import is_workload_file  # noqa: PLC0415 - not of --help

    for name in filter(is_workload_file, names):
        raise ModelFileError(
            file=name,
            problem="is a workload of several models",
            remedy=(
                f"see it with trafficgen generate {shlex.quote(name)} -o OUT --dry-run, or name one"
                " model"
            ),
        )


def _render_fitted(model: trafficgen.Model) -> None:
    origin = model.provenance
    made = f"  (fitted {origin.date}, {origin.software})" if origin.kind == "fitted" else ""
    say_line(f"{one_line(model.name)}{made}")
    if model.description:
        say_line(one_line(model.description, longest=_LONGEST_DESCRIPTION))
    print_model(model)


def _render(model: PublishedModel) -> None:
    print(f"{model.name}  ({model.provenance.review})")
    print(textwrap.fill(model.description, _width()))
    print("\nCitations")
    for source in model.provenance.citations:
        _print_indented(f"{source.text}: {', '.join(source.supports)}")
    print("\nLimits")
    for limit in model.provenance.limitations or ("none are stated",):
        _print_indented(limit)
    _render_options(model)
    _render_mechanism(model)


def _render_options(model: PublishedModel) -> None:
    print("\nOptions (--set NAME=VALUE)")
    for name, option in model.options.items():
        unit = f" {option.unit}" if option.unit else ""
        allowed = f"; {option.allowed}" if option.allowed else ""
        seen = _seen_text(option)
        source = option.source if seen == "-" else f"{option.source}; {seen}"
        _print_indented(f"{name} = {_value_text(option.default)}{unit}{allowed} [{source}]")
        _print_indented(option.description, indent=4)


def _render_mechanism(model: PublishedModel) -> None:
    from trafficgen.models.published import values_of  # noqa: PLC0415 - not of --help
    from trafficgen.models.published.formulas import evaluate_formulas, names_in_formulas  # noqa: PLC0415 - same
    from trafficgen.models.published.mechanisms import parameter_names  # noqa: PLC0415 - same
    from trafficgen.models.published_model import leaves  # noqa: PLC0415 - same

    kind, parameters, values = model.mechanism.kind, model.mechanism.parameters, values_of(model)
    computed: dict[str, JsonValue] = {}

    def written(value: JsonValue) -> str:
        known = evaluate_formulas(value, values, computed)
        if known == value:
            return _value_text(value)
        text = number(known, digits=6) if isinstance(known, float) else _value_text(known)
        return f"{text} ({value})"

    rows: list[tuple[str, ...]] = []
    for name, one in parameters.items():
        expanded = [(name, one.value)]
        if kind == _STREAMS and isinstance(one.value, list):
            expanded = [(f"{name}.{path}", value) for path, value in leaves(one.value)]
        about = ", ".join(one.bases), one.source or "-", _seen_text(one)
        rows += [(path, written(value), *about) for path, value in expanded]
    inputs = names_in_formulas([*values.values()])
    for name, option in model.options.items():
        rows += [
            (target, written(values[target]), f"option {name}", option.source, _seen_text(option))
            for target in option.sets or (name,)
            if target not in inputs
        ]
    given = [name for name, *_ in rows]
    if kind != _STREAMS:
        rows += [
            (name, "-", "not set", "-", "-") for name in parameter_names(kind) if name not in given
        ]
    print(
        f"\nParameters of the mechanism {kind} (--set NAME=VALUE too, unless an option sets them)"
    )
    header, last = ["  name", "value", "basis", "source", "seen in"], 4
    if all(row[last] == "-" for row in rows):
        header, rows = header[:last], [row[:last] for row in rows]
    print_table(header, [(f"  {name}", *row) for name, *row in rows])
    reasons = [line for name, one in parameters.items() for line in _reasons(name, one)]
    if reasons:
        print("\nReasons")
        for reason in reasons:
            _print_indented(reason)
    known: dict[str, Option | Parameter] = {**model.options, **parameters}
    traps = [f"{name}: {one.trap}" for name, one in known.items() if one.trap]
    if traps:
        print("\nTraps")
        for trap in traps:
            _print_indented(trap)


def _seen_text(one: Option | Parameter) -> str:
    """Return in how many independent public places a value was seen."""
    if one.confirmed_by is None:
        return "-"
    return format_count(one.confirmed_by, "place") if one.confirmed_by else "memory"


def _reasons(name: str, parameter: Parameter) -> Iterator[str]:
    """Yield why a parameter has its value, and the other bases of some of its values."""
    if parameter.reason:
        yield f"{name}: {parameter.reason}"
    for key, part in parameter.parts.items():
        reason = f": {part.reason}" if part.reason else ""
        yield f"{name}, {key} ({part.basis}; {part.source or 'no source'}){reason}"


def _width() -> int:
    return min(_WIDTH, columns()) if is_styled() else _WIDTH


def _value_text(value: JsonValue) -> str:
    if isinstance(value, list):
        text = ",".join(map(_value_text, value))
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}... (--json has all)"


def _print_indented(text: str, *, indent: int = 2) -> None:
    space, line = " " * indent, " ".join(text.split())
    print(textwrap.fill(line, _width(), initial_indent=space, subsequent_indent=f"{space}  "))
