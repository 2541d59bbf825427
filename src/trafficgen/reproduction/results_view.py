"""Published beside simulated for people: one line each, and views for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trafficgen import html_view as html
from trafficgen.formatting import format_count, interval, number, one_line

if TYPE_CHECKING:
    from trafficgen.reproduction.base import Finding
    from trafficgen.reproduction.results import FindingResult, Reproduction

_HEADER = (
    "finding",
    "quantity",
    "published",
    "accepted",
    "simulated",
    "95% interval",
    "",
    "role",
    "catalogue entry",
)


def line_of_finding(finding: Finding) -> str:
    """Return what was published and what is accepted on one line."""
    what = f"{_quantity(finding)}, published {_published(finding)}, accepted {_accepted(finding)}"
    return f"<Finding {finding.id}: {what}>"


def view_of_finding(finding: Finding) -> str:
    """Return what a paper found, and what counts as meeting it."""
    return html.view(
        f"Finding {finding.id}",
        html.facts(
            [
                ("quantity", _quantity(finding)),
                ("published", _published(finding)),
                ("accepted", _accepted(finding)),
                ("role", finding.role),
                ("catalogue entry", finding.entry),
                ("where it misses", finding.gap),
            ]
        ),
    )


def line_of_row(row: FindingResult) -> str:
    """Return published and simulated on one line."""
    finding = row.finding
    return (
        f"<FindingResult {finding.id}: {_quantity(finding)}, published {_published(finding)},"
        f" simulated {number(row.simulated)}, {_verdict(row)}>"
    )


def view_of_row(row: FindingResult) -> str:
    """Return one quantity, published beside simulated."""
    return html.view(
        f"Finding {row.finding.id}, mean of {format_count(len(row.measured), 'run')}",
        _table([row]),
        html.paragraph("" if row.ok else row.finding.gap or ""),
    )


def line_of_reproduction(found: Reproduction) -> str:
    """Return how many quantities are within their range on one line."""
    return f"<Reproduction: {_share(found)}, {format_count(found.runs, 'run')}, seed {found.seed}>"


def view_of_reproduction(found: Reproduction) -> str:
    """Return all quantities, published beside simulated, misses first."""
    missed = found.missed
    rows = [*missed, *(row for row in found.rows if row.ok)]
    return html.view(
        f"Published beside simulated: {_share(found)}",
        _table(rows),
        html.paragraph(f"Mean of {format_count(found.runs, 'run')}, seed {found.seed}."),
    )


def _share(found: Reproduction) -> str:
    within = len(found.rows) - len(found.missed)
    return f"{within:,d} of {format_count(len(found.rows), 'quantity', 'quantities')} within range"


def _table(rows: Sequence[FindingResult]) -> str:
    shown = [_row(row) for row in rows[: html.SHOWN_ROWS]]
    return html.table(_HEADER, shown, right=(4,), total=len(rows), what="quantities")


def _row(row: FindingResult) -> tuple[str, ...]:
    finding = row.finding
    return (
        finding.id,
        _quantity(finding),
        _published(finding),
        _accepted(finding),
        number(row.simulated),
        interval(*row.interval) if len(row.measured) > 1 else "",
        _verdict(row),
        finding.role,
        finding.entry,
    )


def _quantity(finding: Finding) -> str:
    return one_line(f"{finding.quantity}, {finding.unit}" if finding.unit else finding.quantity)


def _published(finding: Finding) -> str:
    return (
        one_line(finding.published)
        if isinstance(finding.published, str)
        else number(finding.published)
    )


def _accepted(finding: Finding) -> str:
    if finding.low is None and finding.high is None:
        return "any number"
    if finding.low is None or finding.high is None:
        return (
            f"at least {number(finding.low)}"
            if finding.high is None
            else f"at most {number(finding.high)}"
        )
    return f"{number(finding.low)} to {number(finding.high)}"


def _verdict(row: FindingResult) -> str:
    return "within range" if row.ok else "missed"
