"""Sections of "How sure are we" on the papers: what `trafficgen reproduce` found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reference_pages.markdown import Rows, table

_PAPERS = {
    "CCZ": "RealPlayer 8: Chung, Claypool, Zhu (2002, 2003)",
    "BMW": "RealVideo 10: Boyden, Mahanti, Williamson (2005)",
    "NIC": "Windows Media 9: Nichols (2004)",
    "LJM": "two streams: Latecki, Jin, Mulik (2003)",
}
#: Moves of open values that a row lists.
_LISTED_MOVES = 4
_ROLES = ("predicted", "calibrated", "input")


def reproduced_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe published and simulated values, paper by paper."""
    rows, summary = results["findings"], results["summary"]
    yield "## Papers run again"
    yield (
        "Each published quantity has a range that is accepted, fixed with the finding. What a"
        " quantity within its range proves depends on its role, which follows from the catalogue"
        " entry. *Inputs* are in the entry and say only that the simulation keeps to them. Of"
        " *calibrated* ones a value of the entry ([which](../reference/catalogue.md)), or of the"
        " set-up, was taken, or chosen with the finding in view: they show that one set of values"
        " can have them all. *Predicted* ones are named by no such value. Of"
        f" {summary['predicted']} predicted quantities {summary['predicted_ok']} are within their"
        f" ranges, of {summary['calibrated']} calibrated ones {summary['calibrated_ok']}, of"
        f" {summary['inputs']} inputs {summary['inputs_ok']}; of {summary['findings']} findings"
        f" {summary['findings_ok']} are met in all their quantities."
    )
    yield table(
        ("paper", *("predicted", "within range", "calibrated", "within range"), "inputs", "met"),
        [
            (_PAPERS.get(paper, paper), *(count for role in _ROLES for count in _counts(own, role)))
            for paper, own in _by_paper(rows).items()
        ],
    )
    yield "### What is missed"
    yield (
        "The mean over all runs with its 95% interval, the share of seeds at which the row passes"
        f" (each the mean of {results['runs']} runs{_describe_repeats(rows)}), and why it misses"
        " and what was tried ([more](realplayer-findings.md#what-was-tried-where-it-misses)):"
    )
    yield _missed([row for row in rows if not row["ok"]])
    yield "### What is met"
    yield "Quantities with a number in the paper, and the mean of the runs:"
    met = [row for row in rows if row["ok"]]
    numbers = [row for row in met if isinstance(row["published"], int | float)]
    yield _met(numbers)
    yield (
        f"{len(met) - len(numbers)} more are met that the papers state in words or ranges;"
        " `trafficgen reproduce` prints them."
    )


def _describe_repeats(rows: list[dict[str, Any]]) -> str:
    """Say how often a set-up is done in a run."""
    most = max(row["repeats"] for row in rows)
    return f", in each of which some set-ups are done {most} times" if most > 1 else ""


def _missed(rows: list[dict[str, Any]]) -> str:
    header = ("finding", "quantity", "published", "accepted", "simulated", "unit", "passes", "why")
    cells: Rows = [
        (
            *_begin_row(row),
            f"{format_number(row['simulated'])}"
            f" [{format_number(row['low'])}, {format_number(row['high'])}]",
            row["unit"],
            _passes(row),
            row.get("gap", "not known"),
        )
        for row in rows
    ]
    return table(header, cells)


def _met(rows: list[dict[str, Any]]) -> str:
    header = ("finding", "quantity", "published", "accepted", "simulated", "unit", "passes", "role")
    cells: Rows = [
        (*_begin_row(row), format_number(row["simulated"]), row["unit"], _passes(row), row["role"])
        for row in rows
    ]
    return table(header, cells)


def _begin_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    published = row["published"]
    text = format_number(published) if isinstance(published, int | float) else str(published)
    return f"`{row['id']}`", row["quantity"], text, _range(row["accept"])


def leave_one_out_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe sections judged by values that were chosen without them."""
    sections, summary = results["sections"], results["summary"]
    yield "## Papers predicted from their other sections"
    yield (
        "Papers leave values open, which an entry has to choose. Here they are chosen without one"
        f" section of the paper, and judged on that section: {results['draws']} draws of all open"
        f" values, each between that of the entry over {results['largest_factor']:g} and times"
        f" {results['largest_factor']:g} (a whole number moves by one at least); of these the one"
        " that meets most of the other sections."
        f" **{summary['met']} of {summary['quantities']} quantities"
        f" ({summary['met'] / summary['quantities']:.0%}) are within their ranges.** The draws lie"
        " around values that were chosen with all sections in view, and the structure of the"
        " mechanism was too: this bounds what the open *numbers* can have borrowed."
    )
    yield table(
        ("section", "within range", "missed"),
        [
            (
                f"`{one['section']}`",
                f"{one['met']} of {one['quantities']}",
                ", ".join(f"`{name}`" for name in dict.fromkeys(row["id"] for row in one["missed"]))
                or "-",
            )
            for one in sections
        ],
    )


def sensitivity_sections(results: Mapping[str, Any]) -> Iterator[str]:
    """Describe quantities that one open value decides."""
    rows, flips = results["findings"], results["flips"]
    fragile = [row for row in rows if row["fragile"]]
    predicted = [row for row in rows if row["role"] == "predicted"]
    broken = sum(row["fragile"] for row in predicted)
    yield "### What hangs on one open value"
    yield (
        f"Each of {len(results['open_values'])} open values is moved by 20% either way, by itself"
        f" and with the same seeds. {len(fragile)} of {len(rows)} quantities are *fragile*: some"
        f" such move takes them out of their range ({broken} of the {len(predicted)} predicted"
        f" ones). {len(results['refused'])} moves cannot be simulated. Runs of each setting:"
        f" {results['runs']}; of few, chance has a part in what flips. The fragile ones, and the"
        " values that matter:"
    )
    moves: dict[tuple[str, str], list[str]] = {}
    for flip in flips:
        if not flip["ok"]:
            text = f"`{flip['value']}` x {flip['factor']:g}"
            moves.setdefault((flip["id"], flip["quantity"]), []).append(text)
    yield table(
        ("finding", "quantity", "role", "leaves its range with"),
        [(f"`{row['id']}`", row["quantity"], row["role"], _first(moves, row)) for row in fragile],
    )


def _first(moves: Mapping[tuple[str, str], list[str]], row: Mapping[str, Any]) -> str:
    found = moves[row["id"], row["quantity"]]
    rest = f" and {len(found) - _LISTED_MOVES} more" if len(found) > _LISTED_MOVES else ""
    return ", ".join(found[:_LISTED_MOVES]) + rest


def _by_paper(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["id"].partition("-")[0], []).append(row)
    return groups


def _passes(row: Mapping[str, Any]) -> str:
    return f"{row['passes']['value']:.0%}" if "passes" in row else "-"


def _counts(rows: list[dict[str, Any]], role: str) -> tuple[str, str]:
    own = [row for row in rows if row["role"] == role]
    return str(len(own)), str(sum(row["ok"] for row in own))


def _range(accept: list[float | None]) -> str:
    low, high = accept
    if low is not None and high is not None:
        return f"{format_number(low)} to {format_number(high)}"
    return f"at least {format_number(low)}" if low is not None else f"at most {format_number(high)}"


def format_number(value: float | None) -> str:
    """Return a figure of a record with four digits; none where it is not known."""
    return "none" if value is None else f"{value:.4g}"
