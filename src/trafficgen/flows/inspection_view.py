"""What is in a capture, for people: one line, and a view for notebooks."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from trafficgen import html_view as html
from trafficgen.formatting import day_and_time, endpoint, format_count, number, one_line
from trafficgen.units import FloatArray

if TYPE_CHECKING:
    from trafficgen.flows.inspection import Inspection

_HEADER = (
    "flow",
    "session",
    "protocol",
    "server",
    "client",
    "media",
    "to client, bytes",
    "to server, bytes",
    "start, s",
    "length, s",
    "RTP packets lost",
)


def line_of_inspection(found: Inspection) -> str:
    """Return files, packets, flows, sessions and length on one line."""
    parts = [
        format_count(found.packets, "packet"),
        format_count(found.flows.num_rows, "flow"),
        format_count(_sessions(found), "session"),
        f"{number(found.duration_s)} s",
        *([format_count(len(found.warnings), "warning")] if found.warnings else []),
    ]
    return f"<Inspection of {files_text(found.files)}: {', '.join(parts)}>"


def view_of_inspection(found: Inspection) -> str:
    """Return what is in the capture, its largest flows and what is odd."""
    flows: list[dict[str, Any]] = found.describe_flows(html.SHOWN_ROWS)
    kinds = found.session_kinds({flow["session"] for flow in flows})
    steps = html.MOST_POINTS
    step_s = found.duration_s / steps
    return html.view(
        f"Capture {files_text(found.files)}",
        html.facts(
            [
                ("packets", f"{found.packets:,d}, {found.ip_packets:,d} of them in flows"),
                ("bytes on the wire", number(found.frame_bytes)),
                ("length, s", number(found.duration_s)),
                ("begins", day_and_time(found.start_time_ns) if found.packets else None),
                ("sessions", number(_sessions(found))),
                ("RTSP messages", number(found.signalling.num_rows)),
            ]
        ),
        html.curve(
            [("bytes on the wire to clients", _rates_kbps(found, steps))],
            start_s=0.0,
            step_s=step_s,
        ),
        html.table(
            _HEADER,
            [_row(flow, kinds) for flow in flows],
            right=(0, 6, 7, 8, 9, 10),
            total=found.flows.num_rows,
            what="flows",
        ),
        html.texts("Warnings", found.warnings),
    )


def _rates_kbps(found: Inspection, steps: int) -> FloatArray:
    """Return the mean rate to clients in equal steps from the first packet to the last, kbit/s,
    shape (steps,).
    """
    rates = np.zeros(steps)
    for flow in found.rates.values():
        rates += flow.to_client.rate_kbps(steps, start_s=0.0, end_s=found.duration_s)
    return rates


def files_text(files: tuple[str, ...]) -> str:
    """Return names of files without folders on one line: the first, and how many more there are."""
    more = f" and {format_count(len(files) - 1, 'more file')}" if len(files) > 1 else ""
    return f"{one_line(PurePath(files[0]).name) if files else 'nothing'}{more}"


def _sessions(found: Inspection) -> int:
    return int(pc.count_distinct(found.flows.column("session")).as_py())


def _row(flow: dict[str, Any], kinds: dict[int, str]) -> tuple[object, ...]:
    rtp = flow["rtp"]
    return (
        flow["flow"],
        f"{flow['session']} {kinds[flow['session']]}",
        flow["protocol"],
        endpoint(flow["server"], flow["server_port"]),
        endpoint(flow["client"], flow["client_port"]),
        flow["media"],
        number(flow["to_client"]["frame_bytes"]),
        number(flow["to_server"]["frame_bytes"]),
        number(flow["start_s"]),
        number(flow["duration_s"]),
        f"{rtp['lost']:,d} of {rtp['expected']:,d}" if rtp else "",
    )
