"""Capture files into flows, RTP streams and signalling, without keeping packets: memory is bounded by the flows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from trafficgen._core import CaptureReader
from trafficgen._core.types import CapturedFlowsDict, RtpStreamDict
from trafficgen.capture.protocols import protocol_name
from trafficgen.capture.rtsp import STATIC_CLOCK_HZ, MediaClock, RtspMessage, parse_rtsp
from trafficgen.capture.warnings import describe_oddities
from trafficgen.tables import FLOW_SCHEMA, SIGNALLING_SCHEMA, RtpStreamCount
from trafficgen.units import ns_from_s, s_from_ns

#: Called now and then with bytes read so far and in all (None where that is not known, as of a pipe).
Progress = Callable[[int, int | None], None]

_PACKETS_PER_STEP = 250_000


@dataclass(frozen=True)
class CaptureScan:
    """What is in capture files.

    Attributes:
        files: Names as given.
        packets: Packets in all, IP or not.
        ip_packets: Packets that have a place in a flow.
        frame_bytes: Bytes on the wire in all, link headers included.
        start_time_ns: Time of the first packet, ns since 1970.
        duration_s: From the first packet to the last, s.
        flows: Flow table, most frame bytes first; each flow is a session of its own, its media not yet told.
        rtp_streams: Counts of the RTP streams.
        signalling: RTSP messages.
        rtcp_flows: Numbers of the flows that are RTCP.
        out_of_order: Whether a packet's time lies before that of an earlier one.
        warnings: What was odd, one sentence each.
        numbers: Number in the flow table by the order in which flows began, shape (n,).
    """

    files: tuple[str, ...]
    packets: int
    ip_packets: int
    frame_bytes: int
    start_time_ns: int
    duration_s: float
    flows: pa.Table
    rtp_streams: tuple[RtpStreamCount, ...]
    signalling: pa.Table
    rtcp_flows: frozenset[int]
    out_of_order: bool
    warnings: tuple[str, ...]
    numbers: tuple[int, ...]


def scan_capture(
    paths: Sequence[str | Path],
    *,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    progress: Progress | None = None,
) -> CaptureScan:
    """Measure the flows of capture files, read as one.

    Args:
        paths: pcap or pcapng files, plain or compressed; ``-`` is standard input.
        decapsulate: Whether tunnels are looked into; otherwise their packets count for the outer flow.
        idle_timeout_s: Silence after which a 5-tuple's packets are a new flow, s; None never splits.
        progress: Called with bytes read so far and in all.

    Raises:
        CaptureError: If a file cannot be read at all. Damage further on becomes a warning.
    """
    reader = open_reader(paths, decapsulate=decapsulate, idle_timeout_s=idle_timeout_s, keep_packets=False)
    read_all(reader, progress)
    return collect_scan(reader, paths)


def open_reader(
    paths: Sequence[str | Path],
    *,
    decapsulate: bool,
    idle_timeout_s: float | None,
    keep_packets: bool,
    keep_flows: list[bool] | None = None,
) -> CaptureReader:
    """Return a reader of the core, with options checked and converted."""
    if idle_timeout_s is not None and not idle_timeout_s > 0:
        raise ValueError(f"idle_timeout_s must be above 0, got {idle_timeout_s}")
    return CaptureReader(
        [str(path) for path in paths],
        decapsulate=decapsulate,
        idle_timeout_ns=None if idle_timeout_s is None else ns_from_s(idle_timeout_s),
        keep_packets=keep_packets,
        keep_flows=keep_flows,
    )


def read_all(reader: CaptureReader, progress: Progress | None) -> None:
    """Run a reader to its end, in steps so that progress is shown and an interrupt is heard."""
    while reader.read(_PACKETS_PER_STEP):
        if progress is not None:
            progress(*reader.progress())


def collect_scan(reader: CaptureReader, paths: Sequence[str | Path]) -> CaptureScan:
    """Return what a reader that has come to its end has counted."""
    counts, found = reader.counts(), reader.flows()
    start_ns = counts["first_ns"] or 0
    numbers = _rank(found)
    messages, interleaved = reader.signalling()
    parsed = [(time_ns, flow, forward, parse_rtsp(text)) for time_ns, flow, forward, text in messages]
    rows = [(time_ns, flow, forward, message) for time_ns, flow, forward, message in parsed if message]
    clocks = [clock for *_, message in rows for clock in message.media_clocks]
    streams = _streams(found, numbers, interleaved, clocks)
    files = tuple(str(path) for path in paths)
    name = files[0] if len(files) == 1 else f"{len(files)} files"
    return CaptureScan(
        files=files,
        packets=counts["packets"],
        ip_packets=counts["ip_packets"],
        frame_bytes=counts["frame_bytes"],
        start_time_ns=start_ns,
        duration_s=s_from_ns((counts["last_ns"] or start_ns) - start_ns),
        flows=_flow_table(found, numbers, streams, start_ns),
        rtp_streams=streams,
        signalling=_signalling_table(rows, found, numbers, start_ns),
        rtcp_flows=frozenset(numbers[old] for old, is_rtcp in enumerate(found["is_rtcp"]) if is_rtcp),
        out_of_order=counts["steps_back"] > 0,
        warnings=(*reader.damages(), *describe_oddities(counts, name=name)),
        numbers=tuple(numbers),
    )


def _rank(found: CapturedFlowsDict) -> list[int]:
    """Return each flow's number: most frame bytes first, of equal ones the earlier first."""
    total = np.asarray(found["frame_bytes"], dtype=np.int64).reshape(-1, 2).sum(axis=1)
    order = np.lexsort((np.asarray(found["first_ns"], dtype=np.int64), -total))
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.arange(len(order))
    return [int(number) for number in numbers]


def _clock_hz(stream: RtpStreamDict, clocks: list[MediaClock]) -> int | None:
    """Return the clock: as the SDP says, else as the static payload type says, else as the timestamps ran."""
    payload_type = stream["payload_type"]
    said = [clock.clock_hz for clock in clocks if clock.payload_type == payload_type]
    if said:
        return said[-1]
    return STATIC_CLOCK_HZ.get(payload_type, stream["measured_clock_hz"])


def _jitter_s(stream: RtpStreamDict, clock_hz: int | None) -> float | None:
    return None if clock_hz is None else stream["jitter_s"].get(clock_hz)


def _streams(
    found: CapturedFlowsDict,
    numbers: list[int],
    interleaved: list[tuple[int, int, RtpStreamDict]],
    clocks: list[MediaClock],
) -> tuple[RtpStreamCount, ...]:
    in_udp = [(old, None, stream) for old, streams in enumerate(found["rtp_streams"]) for stream in streams]
    in_tcp: list[tuple[int, int | None, RtpStreamDict]] = [*interleaved]
    counts = []
    for old, channel, stream in [*in_udp, *in_tcp]:
        clock_hz = _clock_hz(stream, clocks)
        counts.append(
            RtpStreamCount(
                flow=numbers[old],
                to_client=stream["from_initiator"] != found["initiator_is_client"][old],
                ssrc=stream["ssrc"],
                payload_type=stream["payload_type"],
                clock_hz=clock_hz,
                packets=stream["packets"],
                expected=stream["expected"],
                lost=stream["lost"],
                reordered=stream["reordered"],
                duplicates=stream["duplicates"],
                jitter_s=_jitter_s(stream, clock_hz),
                channel=channel,
            )
        )
    return tuple(sorted(counts, key=lambda count: (count.flow, -count.packets)))


def _flow_table(
    found: CapturedFlowsDict, numbers: list[int], streams: tuple[RtpStreamCount, ...], start_ns: int
) -> pa.Table:
    main: dict[int, RtpStreamCount] = {}
    for stream in streams:
        known = main.get(stream.flow)
        if known is None or (stream.to_client, stream.packets) > (known.to_client, known.packets):
            main[stream.flow] = stream
    order = np.argsort(np.asarray(numbers, dtype=np.int64))
    rows = [_flow_row(found, int(old), new, main.get(new), start_ns) for new, old in enumerate(order)]
    return pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)


def _flow_row(
    found: CapturedFlowsDict, old: int, new: int, stream: RtpStreamCount | None, start_ns: int
) -> dict[str, object]:
    ends = (found["initiator"][old], found["responder"][old])
    client_first = found["initiator_is_client"][old]
    client, server = ends if client_first else ends[::-1]
    # Pairs are (from the initiator, to it): the client's own packets go to the server.
    to_server, to_client = (0, 1) if client_first else (1, 0)
    row: dict[str, object] = {
        "flow": new,
        "session": new,
        "protocol": protocol_name(found["protocol"][old]),
        "server": server[0],
        "server_port": server[1],
        "client": client[0],
        "client_port": client[1],
        "media": "unknown",
        "ssrc": stream.ssrc if stream else None,
        "payload_type": stream.payload_type if stream else None,
        "clock_hz": stream.clock_hz if stream else None,
        "first_time_ns": found["first_ns"][old] - start_ns,
        "last_time_ns": found["last_ns"][old] - start_ns,
    }
    for what in ("packets", "frame_bytes", "payload_bytes"):
        pair = found[what][old]
        row[f"{what}_to_client"], row[f"{what}_to_server"] = pair[to_client], pair[to_server]
    return row


def _signalling_table(
    rows: list[tuple[int, int, bool, RtspMessage]], found: CapturedFlowsDict, numbers: list[int], start_ns: int
) -> pa.Table:
    columns = [
        {
            "time_ns": time_ns - start_ns,
            "flow": numbers[old],
            "to_client": forward != found["initiator_is_client"][old],
            "method": message.method,
            "status": message.status,
            "sequence": message.sequence,
            "uri": message.uri,
            "client_ports": list(message.client_ports),
            "server_ports": list(message.server_ports),
            "interleaved_channels": list(message.interleaved_channels),
            "media_clocks": [vars(clock) for clock in message.media_clocks],
        }
        for time_ns, old, forward, message in rows
    ]
    return pa.Table.from_pylist(columns, schema=SIGNALLING_SCHEMA)
