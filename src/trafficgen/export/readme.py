"""The README of every export."""

from __future__ import annotations

from trafficgen.export.target import Written
from trafficgen.formatting import clean_text, list_first
from trafficgen.packet_files.report import ProjectionReport

README = "README.md"

_LISTED_FILES = 12


def readme_of(written: Written, *, versions: str) -> str:
    """Return the text: what is there, how it is run, what the target could not hold."""
    report = written.report
    lacks = "".join(f"- {clean_text(text)}\n" for text in report.cannot_express) or "- nothing\n"
    return (
        f"# {report.target} export by trafficgen\n\n"
        f"Written for: {versions}.\n\n"
        f"{_contents(report)}\n\n"
        f"## How to run it\n\n{written.how_to_run.strip()}\n\n"
        f"{_model_check(report)}"
        f"## What it keeps of the {'model' if report.kind == 'model' else 'packet table'}\n\n"
        f"{_kept(report)}"
        f"Lost:\n\n{lacks}"
    )


def _contents(report: ProjectionReport) -> str:
    return f"Files: {list_first([f'`{name}`' for name in report.files], most=_LISTED_FILES)}."


def _model_check(report: ProjectionReport) -> str:
    """Return how to compare packets that a tool drew with the model; nothing for a schedule."""
    if report.kind != "model":
        return ""
    return (
        "## How close it is\n\nPackets are drawn anew in each run. Capture one (`sent.pcap`,"
        " where the tool writes none) and compare it with packets of the model:\n\n```sh\ntcpdump"
        " -i INTERFACE -w sent.pcap\ntrafficgen generate MODEL.json -o wanted.parquet\ntrafficgen"
        " compare wanted.parquet sent.pcap --all\n```\n\nWhere a TCP sender connects to its sink,"
        " add `--candidate-upload`.\n\n"
    )


def _kept(report: ProjectionReport) -> str:
    lines = []
    if report.packets is not None:
        changed = report.packets_changed
        of_which = "" if changed is None else f", of which changed in size: {changed}"
        lines.append(f"- packets: {report.packets}{of_which}")
        lines.append(f"- IP bytes: {report.bytes_before} before, {report.bytes_after} after")
    if report.timing_error_s is not None:
        error = report.timing_error_s
        lines.append(f"- timing error: at most {error.max:.9g} s, mean {error.mean:.9g} s")
    lines += [
        f"- distance {metric}: {distance:.4g}" for metric, distance in report.distances.items()
    ]
    return "".join(f"{line}\n" for line in lines) + "\n"
