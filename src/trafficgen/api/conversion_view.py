"""A converted trace for people: one line, and a view for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trafficgen import html_view as html
from trafficgen.formatting import format_count, number, one_line

if TYPE_CHECKING:
    from trafficgen.api.converting import Conversion


def line_of_conversion(done: Conversion) -> str:
    """Return the trace, its format and what was read from it on one line."""
    parts = [
        format_count(done.records, "record"),
        format_count(len(done.table), "packet"),
        f"{number(done.duration_s)} s",
        *([f"{done.unread:,d} unread"] if done.unread else []),
        *([format_count(len(done.doubts), "doubt")] if done.doubts else []),
    ]
    return f"<Conversion of {one_line(done.file)} ({done.format}): {', '.join(parts)}>"


def view_of_conversion(done: Conversion) -> str:
    """Return what was read from a trace, what was assumed, and the rate over time."""
    unread = f"{done.unread:,d}, the first is number {done.first_unread}" if done.unread else None
    return html.view(
        f"Trace {done.file}",
        html.facts(
            [
                ("format", done.format),
                ("records read", number(done.records)),
                ("records not read", unread),
                ("packets", number(len(done.table))),
                ("flows", number(done.table.flows.num_rows)),
                ("IP bytes", number(int(done.table.ip_bytes.sum()))),
                ("length, s", number(done.duration_s)),
                ("written", None if done.report is None else ", ".join(done.report.files)),
            ]
        ),
        html.rate_curves(("IP packets", done.table.time_ns, done.table.ip_bytes)),
        html.texts("Doubts", done.doubts),
        html.texts("Assumed", done.assumptions),
    )
