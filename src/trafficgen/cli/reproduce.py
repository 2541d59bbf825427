"""`trafficgen reproduce`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

import trafficgen
from trafficgen.capture.options import parse_memory
from trafficgen.cli._completion import complete_finding
from trafficgen.cli._options import AsJson, Seed, expand_options
from trafficgen.cli._output import Messages, number, print_json, say_line
from trafficgen.cli._outputs import Force, Outputs, Page, Reports, claim, write_reports
from trafficgen.cli._tables import print_table
from trafficgen.formatting import format_count
from trafficgen.process_memory import limit_memory

if TYPE_CHECKING:
    from trafficgen.reproduction.finding import PublishedFinding

_NUMBERS = ("published", "accepted", "simulated", "95% interval")
_HEADER = ("id", "quantity", *_NUMBERS, "", "passes", "role", "entry")


@expand_options
def reproduce(
    *,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...",
            help="Findings, or beginnings of ids such as BMW-T1; default: all.",
            autocompletion=complete_finding,
        ),
    ] = None,
    runs: Annotated[
        int, typer.Option(min=1, help="Runs of each experiment, each with another seed.")
    ] = 5,
    seeds: Annotated[
        int,
        typer.Option(
            min=1, help="Repeat everything this many times; report how often each row passes."
        ),
    ] = 1,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Move each value that the papers leave open by 20% either way: which rows flip?",
        ),
    ] = False,
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out",
            help="Choose the open values without one section of a paper, and judge that section.",
        ),
    ] = False,
    draws: Annotated[
        int | None,
        typer.Option(min=1, help="Draws of the open values for --leave-one-out; default: 40."),
    ] = None,
    seed: Seed = 0,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes that share the work; default: one a core. The result is the same.",
        ),
    ] = None,
    memory_bytes: Annotated[
        int | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            parser=parse_memory,
            help="Most memory to use, such as 1GB; default: no limit.",
        ),
    ] = None,
    list_findings: Annotated[
        bool, typer.Option("--list", help="Print what the findings say, and run nothing.")
    ] = False,
    page: Page,
    force: Force = False,
    as_json: AsJson = False,
    messages: Messages,
) -> None:
    """Simulate the papers' experiments, next to published values.

    The exit code is 1 when a quantity is outside its accepted range.

    Example: trafficgen reproduce BMW-T1.1 BMW-T1.2

    Example: trafficgen reproduce BMW-T1.1 --runs 2 --json > published-and-simulated.json

    Example: trafficgen reproduce LJM --sensitivity --runs 1
    """
    if list_findings:
        _print_statements(ids or [])
        return
    options: dict[str, Any] = {"runs": runs, "seed": seed, "workers": workers}
    if draws is not None:
        if not leave_one_out:
            raise typer.BadParameter("needs --leave-one-out", param_hint="--draws")
        options["draws"] = draws
    if sensitivity or leave_one_out:
        _refuse_together(
            {"--sensitivity": sensitivity, "--leave-one-out": leave_one_out, "--seeds": seeds > 1}
        )
        if page.report is not None:
            raise typer.BadParameter("this result has no page; give --json", param_hint="--report")
        work = trafficgen.measure_sensitivity if sensitivity else trafficgen.leave_one_out
        with messages.progress("simulating"), limit_memory(memory_bytes):
            studied = work(ids or (), **options)
        _print_study(studied, as_json=as_json)
        return
    reports = Reports(page.report)
    claim(Outputs(reports=reports), force=force, check_names=partial(_find_statements, ids or []))
    reproduce_findings = trafficgen.reproduce  # loaded before the clock of the progress runs
    with messages.progress("simulating"), limit_memory(memory_bytes):
        found = reproduce_findings(ids or (), seeds=seeds, **options)
    write_reports(found, reports, messages)
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
        conflict = f" Conflict in the paper: {finding.conflict}" if finding.conflict else ""
        say_line(f"{name:9} {finding.statement} ({finding.source}){conflict}", indent=10)


def _refuse_together(given: dict[str, bool]) -> None:
    flags = [flag for flag, is_given in given.items() if is_given]
    if len(flags) > 1:
        raise typer.BadParameter(f"use one of {', '.join(flags)}")


def _print_study(found: trafficgen.Sensitivity | trafficgen.LeaveOneOut, *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
    elif isinstance(found, trafficgen.Sensitivity):
        _print_flips(found)
    else:
        _print_sections(found)


def _print_flips(found: trafficgen.Sensitivity) -> None:
    moves: dict[trafficgen.Finding, list[str]] = {}
    for flip in found.flips:
        text = f"{flip.value} x {flip.factor:g}"
        moves.setdefault(flip.row.finding, []).append(text)
    rows = [
        (
            row.finding.id,
            row.finding.quantity_text,
            number(row.simulated),
            "ok" if row.ok else "MISS",
            row.finding.role,
            ", ".join(moves[row.finding]),
        )
        for row in found.rows
        if row.finding in moves
    ]
    header = ("id", "quantity", "simulated", "", "role", "flips with")
    print_table(header, rows, right=(2,), marks={"ok": "green", "MISS": "bold red"})
    print()
    refused_text = format_count(len(found.refused), "move")
    refused = f"; {refused_text} cannot be simulated" if found.refused else ""
    say_line(
        f"{len(found.fragile)} of {len(found.rows)} quantities are fragile: a move of one of"
        f" {len(found.values)} open values by 20% takes them out of their range{refused}"
    )


def _print_sections(found: trafficgen.LeaveOneOut) -> None:
    rows = [
        (
            one.section,
            f"{one.met} of {len(one.rows)}",
            ", ".join(dict.fromkeys(row.finding.id for row in one.rows if not row.ok)),
        )
        for one in found.sections
    ]
    print_table(("section", "within range", "missed"), rows)
    print()
    share = f" ({found.met / found.quantities:.0%})" if found.quantities else ""
    say_line(
        f"{found.met} of {found.quantities} quantities within range{share}, with open values"
        f" chosen without their section, the best of {found.draws} draws"
    )


def _print_rows(found: trafficgen.Reproduction) -> None:
    rows = [_cells(row) for row in found.rows]
    marks = {"ok": "green", "MISS": "bold red"}
    shown = [at for at, name in enumerate(_HEADER) if name != "passes" or found.rows[0].passing]
    header = [_HEADER[at] for at in shown]
    cells = [[row[at] for at in shown] for row in rows]
    print_table(header, cells, right=(2, 3, 4, 5), marks=marks)
    print()
    for entry, digest in {row.finding.entry: row.entry_digest for row in found.rows}.items():
        say_line(f"{entry}  {digest}")
    counts = found.summary()
    predicted = counts["predicted"]
    share = f" ({counts['predicted_ok'] / predicted:.0%})" if predicted else ""
    others = "".join(
        f", {counts[f'{key}_ok']} of {counts[key]} {key}"
        for key in ("calibrated", "inputs")
        if counts[key]
    )
    say_line(
        f"{counts['predicted_ok']} of {predicted} predicted quantities within range{share}{others};"
        f" {counts['findings_ok']} of {counts['findings']} findings in all they say;"
        f" mean of {format_count(found.runs * found.seeds, 'run')}, seed {found.seed}"
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
        f"{row.passing[0]:.0%}" if row.passing else "",
        finding.role,
        finding.entry,
    )
