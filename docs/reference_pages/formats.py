"""The pages of packet tables, export targets, traces and errors, from their own tables."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable

from reference_pages.markdown import Rows, first_line, page, table
from trafficgen import errors
from trafficgen.capture.traces.formats import FORMATS as TRACE_FORMATS
from trafficgen.capture.traces.options import OPTION_FLAGS as TRACE_OPTIONS
from trafficgen.export.settings import Setting
from trafficgen.export.target import Target
from trafficgen.export.targets import TARGETS
from trafficgen.flows.exchanges import EXCHANGE_COLUMNS
from trafficgen.packet_files.formats import FILE_FORMATS
from trafficgen.tables import MEDIA, PHASES
from trafficgen.tables.columns import Column
from trafficgen.tables.flow import FLOW_COLUMNS, RTCP_COLUMNS, SIGNALLING_COLUMNS
from trafficgen.tables.packet import PACKET_COLUMNS


def packet_table_page() -> str:
    """Return the page of the tables' columns, from their Arrow schemas."""
    return page(
        "Packet table",
        _TABLE_INTRODUCTION,
        "## Packets",
        _columns(PACKET_COLUMNS),
        f"Phases are {', '.join(f'`{name}`' for name in PHASES)}.",
        "## Flows",
        _columns(FLOW_COLUMNS),
        f"Media are {', '.join(f'`{name}`' for name in MEDIA)}.",
        "## Signalling",
        _columns(SIGNALLING_COLUMNS),
        "## RTCP",
        "Sender and receiver reports (RFC 3550), one row a reception block.",
        _columns(RTCP_COLUMNS),
        "## Exchanges",
        "Requests of a client and the responses to them (`trafficgen fit --exchanges`), one row an"
        " exchange.",
        _columns(EXCHANGE_COLUMNS),
    )


_TABLE_INTRODUCTION = """\
Captures, generators and exporters share one columnar table of packets. A flow table and the
signalling messages belong to it. Times count from an origin, whose own time since 1970 is kept.

In a Parquet file the packets are the rows; origin, flow table, signalling and notes are one JSON
object in the schema metadata under the key `trafficgen`. A CSV file `NAME.csv` has the packets, and
`NAME.flows.csv` the flow table. Columns that may be null may be left out."""


def _columns(columns: Iterable[Column]) -> str:
    rows: Rows = [
        (f"`{its.name}`", f"`{its.type}`", its.meaning, "yes" if its.is_nullable else "no")
        for its in columns
    ]
    return table(("column", "type", "meaning", "may be null"), rows)


def error_classes() -> dict[str, type[Exception]]:
    """Return every error and warning class of the package by name."""
    return {
        name: cls
        for name, cls in vars(errors).items()
        if isinstance(cls, type)
        and issubclass(cls, Exception)
        and cls.__module__ == errors.__name__
    }


def errors_page() -> str:
    """Return the page of errors and warnings."""
    tree = inspect.cleandoc(errors.__doc__ or "").partition("::\n\n")[2]
    tree, _, rest = tree.partition("\n\n")
    rows: Rows = [
        (f"`{name}`", f"`{cls.__bases__[0].__name__}`", first_line(cls), _attributes(cls))
        for name, cls in error_classes().items()
    ]
    return page(
        "Errors and warnings",
        "The command line prints an error as one line on stderr and exits with 2. "
        "Warnings are lines that begin with `warning:`.",
        f"```text\n{inspect.cleandoc(tree)}\n```",
        rest,
        table(("class", "kind of", "meaning", "attributes"), rows),
        "## Examples",
        *(f"```pycon\n{_example(cls)}\n```" for cls in error_classes().values()),
    )


def _example(cls: type) -> str:
    return inspect.cleandoc(
        inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("Example:\n")[2]
    )


def _attributes(cls: type) -> str:
    section = inspect.cleandoc(cls.__dict__.get("__doc__") or "").partition("Attributes:\n")[2]
    lines = section.partition("\n\n")[0].splitlines()
    return " ".join(
        f"`{name.strip()}`: {text.strip()}"
        for name, _, text in (line.partition(":") for line in lines)
    )


def targets_page() -> str:
    """Return the page of export targets."""
    rows: Rows = [
        (
            f"`{target.name}`",
            target.summary,
            target.versions,
            "yes" if target.write_model else "no",
            "yes" if target.takes_view else "no",
            target.protocols,
            target.flows,
            f"[{target.how_to}](../how-to/{target.how_to}.md)" if target.how_to else "",
        )
        for target in TARGETS.values()
    ]
    formats: Rows = [(f"`{known.suffix}`", f"`{known.name}`") for known in FILE_FORMATS.values()]
    return page(
        "Export targets",
        "`trafficgen export TABLE --to TARGET -o DIR` writes one of these, with a README that says"
        " how to use it and a report of what the target cannot hold. Where the target draws packets"
        " itself, `trafficgen export MODEL.json --to TARGET -o DIR` hands over the law of a fitted"
        " model.",
        table(
            ("target", "what it writes", "for", "models", "`--at`", "protocols", "flows", "how to"),
            rows,
        ),
        "*models*: whether a fitted model can be handed over; *`--at`*: whether the receiver's view"
        " can be exported; *flows*: how many, or what each takes. The last word of a setting's name"
        " is its unit.",
        *(part for target in TARGETS.values() for part in _target_settings(target)),
        "## Files of `trafficgen generate`\n\nThe ending of its output file says what is written.",
        table(("ending", "format"), formats),
    )


def trace_formats_page() -> str:
    """Return the page of formats of traces that are read."""
    rows: Rows = [
        (
            f"`{its.name}`",
            its.description,
            ", ".join(f"`{TRACE_OPTIONS[field]}`" for field in its.takes) or "none",
        )
        for its in TRACE_FORMATS.values()
    ]
    return page(
        "Trace formats",
        "`trafficgen convert TRACE -o OUT` reads these; `--from FORMAT` names one, otherwise the"
        " content tells. `inspect`, `fit`, `compare` and `export` take a trace that is recognised"
        " and needs no options. [How to bring other traces](../how-to/bring-other-traces.md) has"
        " examples.",
        table(("format", "what is in the file", "options"), rows),
    )


def _target_settings(target: Target) -> list[str]:
    if not target.settings:
        return []
    rows: Rows = [
        (
            f"`{setting.name}`",
            f"`{setting.default}`" if setting.default != "" else "",
            _values(setting),
            setting.meaning,
        )
        for setting in target.settings
    ]
    return [f"## {target.name}: settings", table(("`--set`", "default", "may be", "meaning"), rows)]


def _values(setting: Setting) -> str:
    """Return what a setting may be: choices, a range, or the kind of its default."""
    if setting.choices:
        return ", ".join(setting.choices)
    if isinstance(setting.default, bool):
        return "on, off"
    if isinstance(setting.default, str):
        return "text"
    kind = "whole number" if isinstance(setting.default, int) else "number"
    low, high = (
        f"{bound:.15g}" if math.isfinite(bound) else "" for bound in (setting.low, setting.high)
    )
    if low and high:
        return f"{kind}, {low} to {high}"
    return f"{kind}, {low} or more" if low else f"{kind}, at most {high}" if high else kind
