"""The README that lies beside every export."""

from __future__ import annotations

from trafficgen.export.base import ProjectionReport, Written

_LISTED_FILES = 12


def readme_of(written: Written, *, versions: str) -> str:
    """Return the text: what is there, how it is run, what the target could not hold.

    Args:
        written: What the target's writer made.
        versions: Versions of the tool that take it.
    """
    report = written.report
    lacks = "".join(f"- {text}\n" for text in report.cannot_express) or "- nothing\n"
    return (
        f"# {report.target} export by trafficgen\n\n"
        f"Written for: {versions}.\n\n"
        f"{_contents(report)}\n\n"
        f"## How to run it\n\n{written.how_to_run.strip()}\n\n"
        f"## What it holds of the {'model' if report.kind == 'model' else 'packet table'}\n\n"
        f"{_kept(report)}"
        f"Not expressed:\n\n{lacks}"
    )


def _contents(report: ProjectionReport) -> str:
    shown = ", ".join(f"`{name}`" for name in report.files[:_LISTED_FILES])
    more = len(report.files) - _LISTED_FILES
    return f"Files: {shown}{f' and {more} more' if more > 0 else ''}."


def _kept(report: ProjectionReport) -> str:
    lines = []
    if report.packets is not None:
        lines.append(f"- packets: {report.packets}, of which changed in size: {report.packets_changed}")
        lines.append(f"- IP bytes: {report.bytes_before} before, {report.bytes_after} after")
    if report.timing_error_s is not None:
        error = report.timing_error_s
        lines.append(f"- timing error: at most {error.max:.9g} s, mean {error.mean:.9g} s")
    lines += [f"- distance {metric}: {distance:.4g}" for metric, distance in report.distances.items()]
    return "".join(f"{line}\n" for line in lines) + "\n"
