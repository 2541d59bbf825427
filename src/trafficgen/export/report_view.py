"""What an export kept, for people: one line, and a view for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen import html_view as html
from trafficgen.formatting import format_count, number

if TYPE_CHECKING:
    from trafficgen.export.base import ProjectionReport


def line_of_report(report: ProjectionReport) -> str:
    """Return what was written, for which target, and what changed on one line."""
    parts = [format_count(len(report.files), "file")]
    if report.packets is not None:
        parts.append(format_count(report.packets, "packet"))
    if report.packets_changed is not None:
        parts.append(f"{report.packets_changed:,d} resized")
    if report.timing_error_s is not None:
        parts.append(f"timing error at most {number(report.timing_error_s.max, digits=3)} s")
    if report.cannot_express:
        parts.append(format_count(len(report.cannot_express), "limit"))
    return f"<ProjectionReport for {report.target}: {', '.join(parts)}>"


def view_of_report(report: ProjectionReport) -> str:
    """Return what was written, what changed, and what the target cannot hold."""
    timing = report.timing_error_s
    errors = f"{number(timing.max)} at most, {number(timing.mean)} on average" if timing else None
    return html.view(
        f"Export to {report.target}:"
        f" {'the law of a model' if report.kind == 'model' else 'this very schedule'}",
        html.facts(
            [
                ("packets", None if report.packets is None else number(report.packets)),
                (
                    "changed in size",
                    None if report.packets_changed is None else number(report.packets_changed),
                ),
                (
                    "IP bytes before",
                    None if report.bytes_before is None else number(report.bytes_before),
                ),
                (
                    "IP bytes after",
                    None if report.bytes_after is None else number(report.bytes_after),
                ),
                ("timing error, s", errors),
                *((f"distance {name}", number(value)) for name, value in report.distances.items()),
            ]
        ),
        html.texts("Files", report.files),
        html.texts("The target cannot express", report.cannot_express),
    )
