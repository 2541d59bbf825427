"""The pages of published models, from their entries and findings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import cast

import trafficgen
from reference_pages.markdown import Rows, bullets, page, table
from reference_pages.standard_moments import moments_section
from trafficgen.models import Option, Parameter
from trafficgen.models.published.listing import CatalogueModel
from trafficgen.models.published_model import UNITS
from trafficgen.reproduction.reproduce import experiments
from trafficgen.workloads.files import mix_names

_LONGEST_VALUE = 120
_PATH = "rate=1500kbps,delay=45ms,queue=50p"
#: That of a standard's model, whose rates go up to 100 Mbit/s.
_WIDE_PATH = "rate=200Mbps,delay=2ms,queue=2000p"
#: Settings of the example on an entry's page, in which a paper varied something worth seeing.
_EXAMPLE_SETTINGS = {
    "cbr": "--set rate_kbps=340",
    **dict.fromkeys(("chunked", "dashjs", "exoplayer", "hlsjs", "shaka"), "--set duration_s=60"),
    "realplayer8_chung2002": "--set clip=12",
    "realplayer8_tcp_chung2002": "--set clip=12",
    "twostream_latecki2003": "--set traffic_transport=udp",
    "wmedia9_nichols2004": "--set encoding_rate_kbps=548",
}


def entries() -> list[trafficgen.PublishedModel]:
    """Return the entries of the catalogue, by name."""
    models = (one.model for one in trafficgen.models_list())
    return [model for model in models if isinstance(model, trafficgen.PublishedModel)]


def index_page() -> str:
    """Return the page that lists the published models, by group."""
    known = entries()
    sections: list[str] = []
    for group in dict.fromkeys(one.group for one in known):
        rows: Rows = [
            (
                f"[`{one.name}`](catalogue/{one.name}.md)",
                str(CatalogueModel(one).transport or ""),
                one.provenance.review,
                " ".join(one.description.split()),
            )
            for one in known
            if one.group == group
        ]
        sections += [f"## {group[0].upper()}{group[1:]}"]
        sections += [table(("model", "transport", "review", "what it is"), rows)]
    mixes: Rows = [
        (f"`{name}`", " ".join(trafficgen.load_workload(name).description.description.split()))
        for name in mix_names()
    ]
    sections += ["## Mixes", _MIXES, table(("workload", "what it is"), mixes)]
    return page("Catalogue", _INTRODUCTION, *sections, _LEFT_OUT, _BASES, moments_section())


_INTRODUCTION = """\
Sources that papers measured and standards define, by the names that commands take. Each has a page
with its citations, limits, numbers with their sources, traps, and findings.
[How to use them](../how-to/use-published-models.md)."""

_MIXES = """\
[Workloads](workload-file.md) that come with trafficgen, by the names that `generate` and `simulate`
take: `trafficgen generate ngmn_mix -o users.pcap` makes 1,000 users."""

_LEFT_OUT = """## Not in the catalogue

- Wireless display (11-14/0571). The mean size of a slice is 15.798 kB in its drafts (11-13/0722,
  11-13/1335) and 9.19 kB in a later correction alone, by one author. At 4080 slices/s 9.19 kB are
  the 300 Mbit/s that is stated for 1080p; in the next larger format the same rule
  has twice the rate that its table says. The document's last revision was not found.
- The transient of RFC 8593 after a change of the target rate (tau_v, K_d, K_B): nothing here
  changes it, for no congestion control of media is simulated.
- Web pages over several connections at once: the documents that were found have one.
- First-person shooters of 802.16m: their numbers were seen nowhere."""

_BASES = """## How far a number can be trusted

What a paper varied is an *option* (`--set NAME=VALUE`); parameters can be set in the same way.
The *basis* of a value says where it comes from:

- `figure`: a paper's own;
- `derived`: follows from figures by the arithmetic that is given;
- `definition`: of a standard or of the method;
- `open`: left open by the papers and chosen once, for the reason that is given.

A value that begins with `=` is a formula of options and other parameters. Of standards, *seen in*
counts the independent public places that give a number: implementations, papers and summaries that
cite the document. Look up what is from `memory` before you rely on it. A *trap* is what readers or
implementations get wrong. The [table below](#document-ours-ns-3) compares the traffic of each with
the document's law and with ns-3.

Where values of one table differ in this, the basis of some stands in lines of their own below it.
Sources are ids of findings, such as `BMW-T1.1`, or places.

Who had not seen an entry derived its figures a second time, and a test compares the two
([how](../../tests/catalogue_qc/README.md)). What that was derived from is the *review*:

- `reviewed`: the papers or documents themselves;
- `second-hand`: implementations, papers and summaries that cite them. Both derivations agree, and
  both could share a mistake of those that cite: compare with the document before you rely on a
  number that counts;
- `provisional`: some of its figures were not derived a second time."""


def entry_page(name: str) -> str:
    """Return the page of one published model."""
    model = next(one for one in entries() if one.name == name)
    return page(name, *_entry_sections(model))


def _entry_sections(model: trafficgen.PublishedModel) -> Iterator[str]:
    yield " ".join(model.description.split())
    yield (
        f"Review: {model.provenance.review}. What these words and the *basis* of a value mean:"
        " [catalogue](../catalogue.md)."
    )
    yield "## Citations"
    yield bullets(
        f"{source.text}. For: {', '.join(source.supports)}."
        for source in model.provenance.citations
    )
    yield "## Limits"
    yield bullets(model.provenance.limitations or ("None are stated.",))
    yield "## Example"
    settings = _EXAMPLE_SETTINGS.get(model.name, "")
    command = f"trafficgen simulate {model.name} {settings}".rstrip()
    if model.mechanism.kind == "streams":
        yield f"<!-- not run: a table of numbers -->\n```sh\n{command} --path {_WIDE_PATH}\n```"
    else:
        yield f"```console\n$ {command} --path {_PATH} --compete tcp@-10s --seed 1\n```"
    if model.options:
        yield "## Options"
        rows: Rows = [
            (
                f"`{name}`",
                _value(option.default),
                option.unit,
                option.description,
                option.allowed,
                option.source,
                *_remarks(option),
            )
            for name, option in model.options.items()
        ]
        yield _table(("option", "default", "unit", "meaning", "values", "source"), rows)
    yield "## Parameters"
    parameters = dict(model.mechanism.parameters)
    yield f"Mechanism `{model.mechanism.kind}`" + (
        ":" if parameters else ", with no parameters but the options."
    )
    if model.competing_tcp is not None:
        parameters["competing_tcp"] = model.competing_tcp
    yield from _parameter_sections(parameters)
    yield from _open_values(parameters)
    yield "## Findings"
    yield from _finding_sections(model.name)


def _parameter_sections(parameters: Mapping[str, Parameter]) -> Iterator[str]:
    if parameters:
        rows = [row for name, one in parameters.items() for row in _parameter_rows(name, one)]
        yield _table(("parameter", "value", "unit", "basis", "source", "reason"), rows)
    for name, one in parameters.items():
        if _is_long(one.value):
            yield f"### {name}"
            yield _whole_value(one.value)


def _parameter_rows(name: str, parameter: Parameter) -> Iterator[tuple[str, ...]]:
    value = f"[below](#{name})" if _is_long(parameter.value) else _value(parameter.value)
    yield (
        f"`{name}`",
        value,
        _unit(name, parameter),
        parameter.basis,
        parameter.source or "",
        parameter.reason or "",
        *_remarks(parameter),
    )
    for key, part in parameter.parts.items():
        yield f"`{name}`, `{key}`", "", "", part.basis, part.source or "", part.reason or "", "", ""


def _table(header: tuple[str, ...], rows: Rows) -> str:
    """Return a table with what is known of each value's confirmation, where something is."""
    if any(row[len(header) :] != ("", "") for row in rows):
        return table((*header, "seen in", "trap"), rows)
    return table(header, [row[: len(header)] for row in rows])


def _remarks(one: Option | Parameter) -> tuple[str, str]:
    """Return in how many public places a value was seen, and what is wrong elsewhere."""
    seen = "" if one.confirmed_by is None else str(one.confirmed_by or "memory")
    return seen, one.trap or ""


def _unit(name: str, parameter: Parameter) -> str:
    """Return the unit that is given, or the last word of the name where that is one."""
    word = name.rpartition("_")[2]
    return parameter.unit or (word if word in UNITS else "")


def _open_values(parameters: Mapping[str, Parameter]) -> Iterator[str]:
    chosen = [name for name, one in parameters.items() if "open" in one.bases]
    if chosen:
        yield "## What is open"
        yield f"Of {len(parameters)} parameters {len(chosen)} hold values that no paper gives:"
        yield ", ".join(f"`{name}`" for name in chosen) + "."


def _finding_sections(name: str) -> Iterator[str]:
    findings = [
        one for experiment in experiments() for one in experiment.findings if one.entry == name
    ]
    if not findings:
        yield "No finding is measured on this model."
        return
    ids = dict.fromkeys(one.id for one in findings)
    yield (
        f"`trafficgen reproduce` measures {len(findings)} quantities of {len(ids)} findings on it."
        " What came out: [How sure are we](../../explanation/how-sure-are-we.md)."
    )
    yield table(
        ("finding", "what the paper found", "quantities", "of them predicted"),
        [
            (
                f"`{key}`",
                next(one.statement for one in findings if one.id == key),
                str(sum(one.id == key for one in findings)),
                str(sum(one.id == key and one.role == "predicted" for one in findings)),
            )
            for key in ids
        ],
    )


def _is_long(value: object) -> bool:
    return len(json.dumps(value, ensure_ascii=False)) > _LONGEST_VALUE


def _value(value: object) -> str:
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _whole_value(value: object) -> str:
    """Return a long value whole: a list of like objects as a table, anything else as JSON."""
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        records = cast("list[dict[str, object]]", value)
        keys = list(dict.fromkeys(key for row in records for key in row))
        rows: Rows = [
            (str(number), *(_value(row[key]) if key in row else "" for key in keys))
            for number, row in enumerate(records)
        ]
        return table(("row", *keys), rows)
    return f"```json\n{json.dumps(value, ensure_ascii=False, indent=1)}\n```"
