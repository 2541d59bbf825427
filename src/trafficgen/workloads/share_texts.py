"""What sessions of a workload got of a path, in words: for the terminal and for reports."""

from __future__ import annotations

import math
from collections.abc import Callable

from trafficgen.formatting import format_count, format_duration, format_share, number, rate_text
from trafficgen.units import kbps_from_bytes
from trafficgen.workloads.shares import FlowShare, GroupShare, WorkloadResult

UNKNOWN = "-"
SHARE_HEADER = (
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
LINK_HEADER = ("link", "packets", "dropped", "marked", "mean wait", "p95 wait")


def describe_shares(result: WorkloadResult) -> str:
    """Return what all sessions together got, in a line."""
    sessions, text = result.sessions, format_count(len(result.sessions), "session")
    if not sessions:
        return text
    if (rate := total_rate_text(result)) is not None:
        text += f" in {format_duration(_length_s(result))}: {rate} together on average"
    if (players := count_players(result)) is not None:
        text += f"; {players[0]:,} of {players[1]:,} players stalled"
    for group in result.groups:
        if group.satisfied is not None:
            text += f"; {group.satisfied:,} of {group.sessions:,} of {group.name} in time"
    return f"{text}; fairness (Jain's index) {number(result.jain_index, digits=3)}"


def total_rate_text(result: WorkloadResult) -> str | None:
    """Return the mean rate of all sessions together, from the first start to the last end."""
    if (length_s := _length_s(result)) <= 0:
        return None
    received_bytes = sum(one.received_bytes for one in result.sessions)
    return rate_text(kbps_from_bytes(received_bytes, length_s))


def count_players(result: WorkloadResult) -> tuple[int, int] | None:
    """Return how many sessions with a player stalled, and how many have one; None: none has."""
    known = [one for one in result.groups if one.stalled_sessions is not None]
    if not known:
        return None
    return sum(one.stalled_sessions or 0 for one in known), sum(one.sessions for one in known)


def share_rows(result: WorkloadResult) -> list[list[str]]:
    """Return a row of :data:`SHARE_HEADER` for each group and competing flow."""
    return [*map(_row_of_group, result.groups), *map(_row_of_flow, result.flows)]


def link_rows(result: WorkloadResult) -> list[list[str]]:
    """Return a row of :data:`LINK_HEADER` for each link."""
    return [
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


def _length_s(result: WorkloadResult) -> float:
    ends_s = [one.start_s + one.duration_s for one in result.sessions]
    return max(ends_s) - min(one.start_s for one in result.sessions)


def _row_of_group(group: GroupShare) -> list[str]:
    stalled = UNKNOWN
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
        UNKNOWN,
        rate_text(flow.rate_kbps),
        _known(flow.received_share, format_share),
        _known(flow.loss, format_share),
        _known(flow.delay_s, format_duration),
        *[UNKNOWN] * 4,
    ]


def _known(value: float | None, write: Callable[[float], str]) -> str:
    return UNKNOWN if value is None or math.isnan(value) else write(value)
