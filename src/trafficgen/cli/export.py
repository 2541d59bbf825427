"""`trafficgen export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

import trafficgen
from trafficgen.cli._options import AsJson, At, FlowChoice, Quiet, Snaplen, Verbose, checked_view, messages_of
from trafficgen.cli._output import number, print_json
from trafficgen.export import TARGETS


def export(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="Packet table (.parquet, .csv) or capture.")],
    to: Annotated[str, typer.Option("--to", metavar="TARGET", help=f"One of: {', '.join(TARGETS)}.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Folder to write; made when not there.")],
    flow: FlowChoice = None,
    at: At = "sender",
    snaplen: Snaplen = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write packets for another tool, with a README that says how to use them and a report of what changed.

    Example: trafficgen export synthetic.parquet --to pcap -o for-tcpreplay
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    report = trafficgen.export(
        table, to=to, directory=out, flow=flow, at=cast("Any", checked_view(at)), snaplen_bytes=snaplen
    )
    if as_json:
        print_json(report.to_dict())
        return
    messages.detail(f"bytes {report.bytes_before:,} before, {report.bytes_after:,} after")
    print(f"{report.packets:,} packets written to {out}: {', '.join(report.files)}")
    error = report.timing_error_s
    print(f"{report.packets_changed:,} packets changed; timing error at most {number(error.max)} s")
    for text in report.cannot_express:
        print(f"cannot express: {text}")
