"""`trafficgen inspect`."""

from __future__ import annotations

import datetime
from typing import Annotated, Any

import typer

import trafficgen
from trafficgen.cli._options import AsJson, Captures, Decapsulate, IdleTimeout, Quiet, Verbose, messages_of, positive
from trafficgen.cli._output import ReadingProgress, endpoint, number, print_json, print_table
from trafficgen.units import NS_PER_S

_SHOWN_FLOWS = 20


def inspect(
    captures: Captures,
    as_json: AsJson = False,
    decapsulate: Decapsulate = False,
    idle_timeout: IdleTimeout = None,
    flows: Annotated[int, typer.Option("--flows", min=0, help="Flows to show; 0 shows all.")] = _SHOWN_FLOWS,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Tell what is in captures: flows, RTP streams, sessions, and what is odd.

    Example: trafficgen inspect capture.pcapng

    Example: trafficgen inspect capture.pcapng.gz --json > flows.json
    """
    messages = messages_of(quiet=quiet, verbose=verbose)
    progress = ReadingProgress(messages)
    timeout_s = positive(idle_timeout, option="--idle-timeout", endless=True)
    found = trafficgen.inspect(captures, decapsulate=decapsulate, idle_timeout_s=timeout_s, progress=progress)
    progress.close()
    messages.warn(found.warnings)
    if as_json:
        print_json(found.to_json())
        return
    _render(found, shown=flows)


def _render(found: trafficgen.Inspection, *, shown: int) -> None:
    start = datetime.datetime.fromtimestamp(found.start_time_ns // NS_PER_S, datetime.UTC)
    print(
        f"{', '.join(found.files)}: {found.packets:,} packets ({found.ip_packets:,} IP), {found.frame_bytes:,} bytes, "
        f"{found.duration_s:.3f} s from {start:%Y-%m-%d %H:%M:%S} UTC"
    )
    described: list[dict[str, Any]] = found.describe_flows(shown or None)
    kinds = found.session_kinds({flow["session"] for flow in described})
    rows = [_row(flow, kinds) for flow in described]
    header = (
        "flow",
        "session",
        "proto",
        "server",
        "client",
        "media",
        "to client",
        "to server",
        "start s",
        "length s",
        "RTP",
    )
    print_table(header, rows, right=(0, 6, 7, 8, 9))
    for session in found.sessions if found.signalling.num_rows else ():
        if (play_s := found.play_s(session)) is not None:
            print(f"session {session.session}: PLAY at {play_s:.3f} s")
    if len(rows) < found.flows.num_rows:
        print(f"... and {found.flows.num_rows - len(rows):,} more flows (--flows 0 shows all)")


def _row(flow: dict[str, Any], kinds: dict[int, str]) -> tuple[str, ...]:
    rtp = flow["rtp"]
    loss = f"{rtp['lost']:,}/{rtp['expected']:,} lost, PT {number(rtp['payload_type'])}" if rtp else ""
    return (
        str(flow["flow"]),
        f"{flow['session']} {kinds[flow['session']]}",
        flow["protocol"],
        endpoint(flow["server"], flow["server_port"]),
        endpoint(flow["client"], flow["client_port"]),
        flow["media"],
        f"{flow['to_client']['frame_bytes']:,} B",
        f"{flow['to_server']['frame_bytes']:,} B",
        f"{flow['start_s']:.3f}",
        f"{flow['duration_s']:.3f}",
        loss,
    )
