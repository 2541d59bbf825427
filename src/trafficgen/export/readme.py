"""The README of every export."""

from __future__ import annotations

import re
from pathlib import Path

from trafficgen.export.target import Written
from trafficgen.formatting import list_first
from trafficgen.packet_files.report import ProjectionReport

README = "README.md"

_LISTED_FILES = 12
_TITLE = re.compile(r"# \S+ export by trafficgen")
_FILES, _ALL_FILES = "Files: ", "All files: "


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
        f"{_model_check(report)}"
        f"## What it keeps of the {'model' if report.kind == 'model' else 'packet table'}\n\n"
        f"{_kept(report)}"
        f"Lost:\n\n{lacks}"
        f"{_all_files(report)}"
    )


def list_exported_files(folder: Path) -> frozenset[str]:
    """List the files that an earlier export put into a folder, its README among them.

    They are those that the README lists; without such a README the set is empty.
    """
    try:
        lines = (folder / README).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    if not lines or not _TITLE.fullmatch(lines[0]):
        return frozenset()
    listed = [line for line in lines if line.startswith((_FILES, _ALL_FILES))]
    names = re.findall(r"`([^`/\\]+)`", " ".join(listed))
    return frozenset({README, *names} - {".", ".."})


def _contents(report: ProjectionReport) -> str:
    return f"{_FILES}{list_first([f'`{name}`' for name in report.files], most=_LISTED_FILES)}."


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


def _all_files(report: ProjectionReport) -> str:
    """List all files for the next export into this folder, if the list above is cut short."""
    if len(report.files) <= _LISTED_FILES:
        return ""
    return f"\n{_ALL_FILES}{', '.join(f'`{name}`' for name in report.files)}.\n"


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
