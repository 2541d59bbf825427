"""Shapes of the dictionaries that the Rust core returns."""

from __future__ import annotations

from typing import TypedDict


class RtpStreamDict(TypedDict):
    """One RTP stream of a flow; jitter for each candidate clock."""

    ssrc: int
    payload_type: int
    from_initiator: bool
    packets: int
    expected: int
    lost: int
    reordered: int
    duplicates: int
    measured_clock_hz: int | None
    jitter_s: dict[int, float]


class FlowCountsDict(TypedDict):
    """Counts of flows: one entry a flow, pairs are (from the initiator, to it)."""

    first_ns: list[int]
    last_ns: list[int]
    packets: list[list[int]]
    frame_bytes: list[list[int]]
    payload_bytes: list[list[int]]
    is_rtcp: list[bool]
    rtp_streams: list[list[RtpStreamDict]]


class CapturedFlowsDict(FlowCountsDict):
    """Counts of captured flows, with who they are."""

    initiator: list[tuple[str, int]]
    responder: list[tuple[str, int]]
    protocol: list[int]
    initiator_is_client: list[bool]


class CountsDict(TypedDict):
    """Counts over all files of a capture."""

    packets: int
    ip_packets: int
    frame_bytes: int
    first_ns: int | None
    last_ns: int | None
    cut_by_snaplen: int
    longest_captured_bytes: int
    undecodable: int
    unknown_link_type: int
    example_link_type: int | None
    above_mtu: int
    longest_ip_bytes: int
    steps_back: int
    largest_step_back_ns: int
    jumps: int
    largest_jump_ns: int
    largest_jump_packet: int
    timeless: int
