"""The page "How sure are we", from the results in ``docs/verification``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from application_pages import application_sections
from played_pages import (
    classified_sections,
    held_out_sections,
    population_sections,
    transfer_sections,
)
from reference_pages.markdown import Rows, bullets, table
from reproduction_pages import (
    format_number,
    leave_one_out_sections,
    reproduced_sections,
    sensitivity_sections,
)
from trafficgen.formatting import format_count
from trafficgen.units import ms_from_s

RESULTS = Path(__file__).resolve().parent / "verification"
_CHECKED = ("check", "expected", "found", "unit", "accepted", "result")

_INTRODUCTION = """# How sure are we

<!-- Made by `make docs` from docs/verification; do not edit. -->

Results can be wrong in four places: a model can misrepresent its capture, an interval can be too
narrow, a simulated source or path can behave differently from the real one, and an export can lose
packets or timing. This page compares each with something outside the program, and shows what
missed.

The figures are records of runs; each section names the command that renews them. Records are
renewed by hand. The tests make the same checks (`make test-all`, `make verify`, `make ns3`,
`make kernel`) and fail when a figure leaves its range."""


def page() -> str:
    """Return the page."""
    parts = [_INTRODUCTION]
    for part, sections in _SECTIONS.items():
        path = RESULTS / f"{part}.json"
        if path.exists():
            results = json.loads(path.read_text(encoding="utf-8"))
            parts += [*sections(results), _made_by(results)]
    # Results name the unit as their keys do.
    return "\n\n".join([*parts, _OPEN]).replace("kbps", "kbit/s") + "\n"


_OPEN = """## What has not been checked

- The papers' own captures are not public: findings are compared with published tables and text
  only.
- OMNeT++, TRex's server, mahimahi and MGEN's CLONE were not run; their exports follow manuals and
  source code.
- Intervals of quantities not listed above: the methods are the same, but their coverage was not
  measured.
- Today's players and services in closed loop: `chunked` is a player from the literature; `dashjs`,
  `hlsjs`, `shaka` and `exoplayer` follow the source code of these players. None was measured."""


def _made_by(results: Mapping[str, Any]) -> str:
    seed = ""
    if "seed" in results:
        runs = format_count(results["runs"] * results.get("seeds", 1), "run")
        seed = f", seed {results['seed']}, {runs}"
    return (
        f"Made by `{results['command']}` with trafficgen {results['version']}"
        f" ({results['with']}){seed}."
    )


# Checks of the tests


def _theory(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## The simulated network against theory"
    yield (
        "Queues have closed forms (Kleinrock 1975; Gross and Harris for M/D/1/K). Bulk TCP at"
        " random loss has laws of its rate (Mathis and others 1997; Padhye and others 1998; RFC"
        " 9438), which are approximations themselves."
    )
    yield checks_table(results)


def _standards(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## Models of standards against their documents"
    yield (
        "*Expected* are moments and quantiles of the documents' formulas, truncation included,"
        " computed in the tests from the documents' numbers and not from the catalogue's entries;"
        " *found* those of generated traffic. Laws are compared by their Kolmogorov-Smirnov"
        " distance too. Whether the numbers are the documents' own is another question: how many"
        " public places give each stands in the [catalogue](../reference/catalogue.md), with a"
        " [table](../reference/catalogue.md#document-ours-ns-3) of document, ours and ns-3."
    )
    yield checks_table(results)


def _quic(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## QUIC against recordings and TCP"
    yield (
        "Two recorded sessions over aioquic with CUBIC (*expected*), and the same player, title and"
        " path here (*found*), with aioquic's acknowledgements, slow start and small packets that"
        " fill the window. Then bulk flows with one congestion control on 10 Mbit/s with 40 ms:"
        " means of three runs of 60 s over TCP (*expected*) and QUIC (*found*), after 10 s, and"
        " shares of 32 runs."
    )
    yield checks_table(results)


def _ns3(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## The simulated network against ns-3"
    yield (
        "The same dumbbell, bulk TCP beside constant-rate UDP, in ns-3 3.44 (*expected*) and here"
        " (*found*): means of eight runs of 60 s, payload. How the set-ups were chosen, and what is"
        " known of the one that disagrees, stands under"
        " [simulation](simulation.md#what-the-comparison-with-ns-3-says-and-what-not)."
    )
    yield checks_table(results)


def _kernel(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## The simulated network against the Linux kernel"
    yield (
        "Bulk TCP of Linux beside constant-rate UDP over a token bucket. *Expected* are means of"
        " runs that were recorded once: of three, or, for the mixes of flows on 10 Mbit/s, of five"
        " to ten runs of 60 s in network namespaces (`make kernel` makes them anew). A mix names"
        " the congestion controls, the queue in bandwidth-delay products and the round trip; its"
        " rows are what all flows of a control get, the loss of all packets, and the mean wait of"
        " small probes in the queue. What is known of those beyond 10% stands under"
        " [simulation](simulation.md#where-bbr-and-cubic-part-from-the-kernel)."
    )
    yield checks_table(results)


def _intervals(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## Intervals and verdicts of a fit"
    yield (
        "Known generators make many sessions, the functions that `fit` is made of take each, and"
        " the share of 95% intervals that hold the truth is counted; likewise how often the true"
        " family is chosen, and how often buffering is seen where there is none. *Accepted* is what"
        " chance alone leaves, or by what the method is known to fall short."
    )
    yield checks_table(results)


def checks_table(results: Mapping[str, Any]) -> str:
    """Return the figures that checks noted, and the files they are in."""
    rows: Rows = [
        (
            check["what"],
            format_number(check["expected"]),
            format_number(check["measured"]),
            check["unit"],
            check["accepted"],
            check["result"],
        )
        for check in results["checks"]
    ]
    files = dict.fromkeys(check["test"].partition("::")[0] for check in results["checks"])
    return f"{table(_CHECKED, rows)}\n\nThe checks: {', '.join(f'`{file}`' for file in files)}."


# Exports


def _exports(results: Mapping[str, Any]) -> Iterator[str]:
    yield "## What exports keep"
    yield (
        "How far the times in the files are from the table's, and how many sizes differ, as the"
        " report of each export counts them, with the defaults of each target. How exactly the"
        " tools then *send* it was measured on an idle machine:"
        " [exports](exports.md#how-exactly-they-send-it)."
    )
    for name in dict.fromkeys(row["table"] for row in results["exports"]):
        own = [row for row in results["exports"] if row["table"] == name]
        yield f"{name[:1].upper()}{name[1:]}:"
        yield table(
            ("target", "packets", "sizes changed", "largest timing error, ms", "mean, ms"),
            [_export_row(row) for row in own if "refused" not in row],
        )
        refused = [
            f"`{row['target']}` refuses it: {row['refused']}." for row in own if "refused" in row
        ]
        if refused:
            yield bullets(refused)
    yield "A target without packets holds a path or a law."


def _export_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    error = row["timing_error_s"]
    largest, mean = (f"{ms_from_s(error[key]):.4f}" for key in ("max", "mean"))
    counts = ("" if row[key] is None else str(row[key]) for key in ("packets", "packets_changed"))
    return (f"`{row['target']}`", *counts, largest, mean)


_SECTIONS = {
    "leave-one-out": leave_one_out_sections,
    "reproduce": reproduced_sections,
    "sensitivity": sensitivity_sections,
    "intervals": _intervals,
    "theory": _theory,
    "standards": _standards,
    "quic": _quic,
    "ns3": _ns3,
    "kernel": _kernel,
    "classified": classified_sections,
    "held-out": held_out_sections,
    "population": population_sections,
    "applications": application_sections,
    "transfer": transfer_sections,
    "exports": _exports,
}
