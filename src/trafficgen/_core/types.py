"""Shapes of the dictionaries that the Rust core returns."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import numpy.typing as npt


class RtpStreamDict(TypedDict):
    """One RTP stream of a flow; jitter for each candidate clock."""

    ssrc: int
    payload_type: int
    from_initiator: bool
    packets: int
    payload_bytes: int
    same_timestamp: int
    span_ns: int
    expected: int
    lost: int
    reordered: int
    duplicates: int
    measured_clock_hz: int | None
    jitter_s: dict[int, float]


class RtpStreamColumns(TypedDict):
    """RTP streams, one entry each; unknown clocks are 0, jitter has a column for each clock."""

    flow: npt.NDArray[np.uint32]
    ssrc: npt.NDArray[np.uint32]
    payload_type: npt.NDArray[np.uint8]
    from_initiator: npt.NDArray[np.bool_]
    packets: npt.NDArray[np.uint64]
    payload_bytes: npt.NDArray[np.uint64]
    same_timestamp: npt.NDArray[np.uint64]
    span_ns: npt.NDArray[np.int64]
    expected: npt.NDArray[np.uint64]
    lost: npt.NDArray[np.uint64]
    reordered: npt.NDArray[np.uint64]
    duplicates: npt.NDArray[np.uint64]
    measured_clock_hz: npt.NDArray[np.uint32]
    jitter_s: npt.NDArray[np.float64]


#: Frame bytes of a flow over time: its index, start (ns), width of a bin (ns), bytes from the
#: initiator and to it, shape (2, bins).
FlowRates = tuple[int, int, int, npt.NDArray[np.uint64]]


class FlowCountsDict(TypedDict):
    """Counts of flows: one entry a flow, pairs of shape (n, 2) are (from the initiator, to it)."""

    first_ns: npt.NDArray[np.int64]
    last_ns: npt.NDArray[np.int64]
    packets: npt.NDArray[np.uint64]
    frame_bytes: npt.NDArray[np.uint64]
    payload_bytes: npt.NDArray[np.uint64]
    is_rtcp: npt.NDArray[np.bool_]
    rtp_streams: RtpStreamColumns
    rates: list[FlowRates]


#: Texts as Arrow has them: where each begins and ends in the bytes of all, shape (n + 1,).
Texts = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]


class CapturedFlowsDict(FlowCountsDict):
    """Counts of captured flows, with who they are; texts are empty where nothing is known."""

    application: Texts
    name: Texts
    initiator: Texts
    initiator_port: npt.NDArray[np.uint16]
    responder: Texts
    responder_port: npt.NDArray[np.uint16]
    protocol: npt.NDArray[np.uint8]
    initiator_is_client: npt.NDArray[np.bool_]


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
    beyond_most_flows: int


class SimulatedFlowDict(TypedDict):
    """A simulated flow; ``media`` is an index into ``MEDIA``, UDP has no counts."""

    agent: int
    name: str
    media: int
    tcp: bool
    quic: bool
    server_port: int
    client_port: int
    ssrc: int | None
    payload_type: int | None
    clock_hz: int | None
    retransmissions: int | None
    timeouts: int | None


class SimulatedAgentDict(TypedDict):
    """A simulated agent: its log (time_ns, (kind, value, level)), and its state every 0.5 s."""

    name: str
    finished: bool
    events: list[tuple[int, tuple[str, float | None, int | None]]]
    samples: npt.NDArray[np.float64]
    frames_sent: int
    frames_dropped_at_sender: int


class SimulatedSumsDict(TypedDict):
    """Sums over each flow's packets, each of shape (flows, 2): to the client, to the server."""

    sent_packets: npt.NDArray[np.uint64]
    sent_bytes: npt.NDArray[np.uint64]
    arrived_packets: npt.NDArray[np.uint64]
    arrived_bytes: npt.NDArray[np.uint64]
    dropped_packets: npt.NDArray[np.uint64]
    retransmissions: npt.NDArray[np.uint64]
    delay_s: npt.NDArray[np.float64]
    last_arrival_ns: npt.NDArray[np.int64]


class SimulatedLinkDict(TypedDict):
    """Counters of a link; bytes are IP bytes."""

    packets_in: int
    bytes_in: int
    packets_out: int
    bytes_out: int
    dropped_random: int
    dropped_queue: int
    largest_queue_packets: int
    largest_queue_bytes: int
    queueing_s: float
    mean_queueing_ms: float | None
    p95_queueing_ms: float | None
    marked: int
