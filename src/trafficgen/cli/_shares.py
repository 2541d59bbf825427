"""What `trafficgen simulate` prints of sessions that share a path."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import trafficgen
from trafficgen.cli._output import number
from trafficgen.cli._tables import print_table
from trafficgen.cli._terminal import say_line
from trafficgen.formatting import format_count, format_duration, format_share, rate_text
from trafficgen.units import kbps_from_bytes

if TYPE_CHECKING:
    from trafficgen.workloads.shares import FlowShare, GroupShare

_UNKNOWN = "-"
_HEADER = (
    "group",
    "sessions",
    "mean rate",
    "of all bytes",
    "lost",
    "delay",
    "starts after",
    "stalled (in all)",
    "mean rung",
    "fairness",
)


def print_shares(result: trafficgen.WorkloadResult) -> None:
    """Print who got what: groups, competing flows, all sessions, links."""
    say_line(_describe_all(result))
    print()
    rows = [*map(_row_of_group, result.groups), *map(_row_of_flow, result.flows)]
    print_table(_HEADER, rows, right=range(1, len(_HEADER)))
    print()
    rows = [
        [
            str(link["name"]),
            f"{link['packets_out']:,}",
            f"{link['dropped_queue'] + link['dropped_random']:,}",
            f"{link['marked']:,}",
            _known(link["mean_queueing_ms"], lambda wait_ms: format_duration(wait_ms / 1e3)),
            _known(link["p95_queueing_ms"], lambda wait_ms: format_duration(wait_ms / 1e3)),
        ]
        for link in result.links
    ]
    header = ["link", "packets", "dropped", "marked", "mean wait", "p95 wait"]
    print_table(header, rows, right=range(1, 6))


def _describe_all(result: trafficgen.WorkloadResult) -> str:
    """Return what all sessions together got, in a line."""
    sessions, text = result.sessions, format_count(len(result.sessions), "session")
    if not sessions:
        return text
    ends_s = [one.start_s + one.duration_s for one in sessions]
    length_s = max(ends_s) - min(one.start_s for one in sessions)
    if length_s > 0:
        received_bytes = sum(one.received_bytes for one in sessions)
        rate = rate_text(kbps_from_bytes(received_bytes, length_s))
        text += f" in {format_duration(length_s)}: {rate} together on average"
    known = [one for one in result.groups if one.stalled_sessions is not None]
    if known:
        stalled = sum(one.stalled_sessions or 0 for one in known)
        with_player = sum(one.sessions for one in known)
        text += f"; {stalled:,} of {with_player:,} players stalled"
    return f"{text}; fairness (Jain's index) {number(result.jain_index, digits=3)}"


def _row_of_group(group: GroupShare) -> list[str]:
    stalled = _UNKNOWN
    if group.stalled_sessions is not None:
        stalled = f"{group.stalled_sessions} ({format_duration(group.stalled_s or 0.0)})"
    return [
        group.name,
        f"{group.sessions:,}",
        _known(group.rate_kbps, rate_text),
        _known(group.received_share, format_share),
        _known(group.loss, format_share),
        _known(group.delay_s, format_duration),
        _known(group.startup_s, format_duration),
        stalled,
        _known(group.mean_rung_kbps, rate_text),
        _known(group.jain_index, lambda index: number(index, digits=3)),
    ]


def _row_of_flow(flow: FlowShare) -> list[str]:
    return [
        flow.name,
        _UNKNOWN,
        rate_text(flow.rate_kbps),
        _known(flow.received_share, format_share),
        _known(flow.loss, format_share),
        _known(flow.delay_s, format_duration),
        *[_UNKNOWN] * 4,
    ]


def _known(value: float | None, write: Callable[[float], str]) -> str:
    return _UNKNOWN if value is None or math.isnan(value) else write(value)
