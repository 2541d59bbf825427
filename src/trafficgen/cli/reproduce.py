"""`trafficgen reproduce`."""

from __future__ import annotations

from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._options import AsJson, Quiet, Seed, Verbose, messages_of
from trafficgen.cli._output import Messages, number, print_json
from trafficgen.cli._outputs import Force, Outputs, claim
from trafficgen.cli._reports import ReportFile, write_reports
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line


def reproduce(
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="Findings, or beginnings of their ids such as BMW-T1; default: all.",
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Runs of each set-up, with seeds of their own.")
    ] = 5,
    seed: Seed = 0,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=(
                "Processes that share the work, which the result does not depend on; default:"
                " cores."
            ),
        ),
    ] = None,
    report: ReportFile = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run the set-ups of the papers again and print what they published beside what the simulation
    gives.

    The exit code is 1 when a quantity is not within the range that is accepted.

    Example: trafficgen reproduce BMW-T1.1 BMW-T1.2

    Example: trafficgen reproduce BMW-T1.1 --runs 2 --json > published-and-simulated.json
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    claim(Outputs(report=report), force=force)
    reproduce_findings = trafficgen.reproduce  # loaded before the clock of the progress runs
    with messages.progress("simulating"):
        found = reproduce_findings(ids or (), runs=runs, seed=seed, workers=workers)
    write_reports(found, report=report, plots=None, plot_formats=None, messages=messages)
    if as_json:
        print_json(found.to_json())
    else:
        _render(found)
    _say_misses(found, messages)
    if not found.ok:
        raise typer.Exit(1)


def _render(found: trafficgen.Reproduction) -> None:
    header = (
        "id",
        "quantity",
        "published",
        "accepted",
        "simulated",
        "95% interval",
        "",
        "role",
        "entry",
    )
    marks = {"ok": "green", "MISS": "bold red"}
    print_table(header, [_cells(row) for row in found.rows], right=(2, 3, 4, 5), marks=marks)
    print()
    for entry, digest in {row.finding.entry: row.entry_digest for row in found.rows}.items():
        say_line(f"{entry}  {digest}")
    say_line(_summary(found))


def _cells(row: trafficgen.FindingResult) -> tuple[str, ...]:
    finding = row.finding
    published = (
        finding.published if isinstance(finding.published, str) else number(finding.published)
    )
    return (
        finding.id,
        f"{finding.quantity}, {finding.unit}" if finding.unit else finding.quantity,
        published,
        f"{number(finding.low)} .. {number(finding.high)}",
        number(row.simulated),
        " .. ".join(number(end) for end in row.interval),
        "ok" if row.ok else "MISS",
        finding.role,
        finding.entry,
    )


def _summary(found: trafficgen.Reproduction) -> str:
    counts = found.summary()
    predicted = counts["predicted"]
    share = f" ({counts['predicted_ok'] / predicted:.0%})" if predicted else ""
    return (
        f"{counts['predicted_ok']} of {predicted} predicted quantities within range{share}, "
        f"{counts['inputs_ok']} of {counts['inputs']} inputs; "
        f"{counts['findings_ok']} of {counts['findings']} findings in all they say; "
        f"mean of {found.runs} run{'' if found.runs == 1 else 's'}, seed {found.seed}"
    )


def _say_misses(found: trafficgen.Reproduction, messages: Messages) -> None:
    for row in found.missed:
        finding = row.finding
        accepted = f"{number(finding.low)} .. {number(finding.high)}"
        reason = f": {finding.gap}" if finding.gap else ""
        messages.fail(
            f"missed: {finding.id} {finding.quantity}: {number(row.simulated)}, accepted"
            f" {accepted}{reason}"
        )
