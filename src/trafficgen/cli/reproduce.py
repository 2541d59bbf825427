"""`trafficgen reproduce`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

import trafficgen
from trafficgen.cli._completion import complete_finding
from trafficgen.cli._options import AsJson, Quiet, Seed, Verbose, messages_of
from trafficgen.cli._output import number, print_json
from trafficgen.cli._outputs import Force, Outputs, claim
from trafficgen.cli._reports import ReportFile, write_reports
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line

if TYPE_CHECKING:
    from trafficgen.reproduction.finding import PublishedFinding

_NUMBERS = ("published", "accepted", "simulated", "95% interval")
_HEADER = ("id", "quantity", *_NUMBERS, "", "role", "entry")


def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="Findings, or beginnings of ids such as BMW-T1; default: all.",
            autocompletion=complete_finding,
        ),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each set-up, with other seeds.")] = 5,
    seed: Seed = 0,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes that share the work; default: one a core. The result is the same.",
        ),
    ] = None,
    list_findings: Annotated[
        bool, typer.Option("--list", help="Print what the findings say, and run nothing.")
    ] = False,
    report: ReportFile = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Simulate the set-ups of the papers, next to published values.

    The exit code is 1 when a quantity is not within the range that is accepted.

    Example: trafficgen reproduce BMW-T1.1 BMW-T1.2

    Example: trafficgen reproduce BMW-T1.1 --runs 2 --json > published-and-simulated.json
    """
    if list_findings:
        _print_statements(ids or [])
        return
    messages = messages_of(quiet=quiet, verbose=verbose)
    written = Outputs(report=report)
    claim(written, force=force, check_names=partial(_find_statements, ids or []))
    reproduce_findings = trafficgen.reproduce  # loaded before the clock of the progress runs
    with messages.progress("simulating"):
        found = reproduce_findings(ids or (), runs=runs, seed=seed, workers=workers)
    write_reports(found, written, messages)
    if as_json:
        print_json(found.to_json())
    else:
        _print_rows(found)
    for row in found.missed:
        finding = row.finding
        reason = f": {finding.gap}" if finding.gap else ""
        text = f"{finding.id} {finding.quantity_text}: {number(row.simulated)}, accepted"
        messages.fail(f"missed: {text} {finding.accepted_text}{reason}")
    if not found.ok:
        raise typer.Exit(1)


def _find_statements(ids: list[str]) -> list[tuple[str, PublishedFinding]]:
    from trafficgen.reproduction.reproduce import select_statements  # noqa: PLC0415 - of --list

    return select_statements(ids)


def _print_statements(ids: list[str]) -> None:
    for name, finding in _find_statements(ids):
        say_line(f"{name:9} {finding.statement} ({finding.source})", indent=10)


def _print_rows(found: trafficgen.Reproduction) -> None:
    rows = [_cells(row) for row in found.rows]
    marks = {"ok": "green", "MISS": "bold red"}
    print_table(_HEADER, rows, right=(2, 3, 4, 5), marks=marks)
    print()
    for entry, digest in {row.finding.entry: row.entry_digest for row in found.rows}.items():
        say_line(f"{entry}  {digest}")
    counts = found.summary()
    predicted = counts["predicted"]
    share = f" ({counts['predicted_ok'] / predicted:.0%})" if predicted else ""
    say_line(
        f"{counts['predicted_ok']} of {predicted} predicted quantities within range{share},"
        f" {counts['inputs_ok']} of {counts['inputs']} inputs;"
        f" {counts['findings_ok']} of {counts['findings']} findings in all they say;"
        f" mean of {found.runs} run{'' if found.runs == 1 else 's'}, seed {found.seed}"
    )


def _cells(row: trafficgen.FindingResult) -> tuple[str, ...]:
    finding = row.finding
    published = finding.published
    return (
        finding.id,
        finding.quantity_text,
        published if isinstance(published, str) else number(published),
        finding.accepted_text,
        number(row.simulated),
        " .. ".join(number(end) for end in row.interval),
        "ok" if row.ok else "MISS",
        finding.role,
        finding.entry,
    )
