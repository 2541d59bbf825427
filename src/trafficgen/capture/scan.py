"""Scan captures for flows, RTP streams and signalling, in memory that the flows bound."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core import CaptureReader, FlowPlan
from trafficgen._core.types import CapturedFlowsDict, RtpStreamDict, Texts
from trafficgen.capture.memory import most_flows_in
from trafficgen.capture.options import ReadOptions
from trafficgen.capture.rtsp import (
    STATIC_CLOCK_HZ,
    Descriptions,
    MediaClock,
    RtspMessage,
    parse_rtsp,
)
from trafficgen.capture.warnings import describe_copies, describe_oddities, describe_tunnels
from trafficgen.flows import Inspection, group_sessions
from trafficgen.flows.exchanges import ConnectionExchanges
from trafficgen.progress import report_step
from trafficgen.tables import FLOW_SCHEMA, RTCP_SCHEMA, SIGNALLING_SCHEMA, FlowRates, RtpStreamCount
from trafficgen.tables.counts import each_stream
from trafficgen.tables.protocols import protocol_name
from trafficgen.units import ns_from_s, s_from_ns

_PACKETS_PER_STEP = 250_000
_LONGEST_TIMEOUT_S = 9e9  # beyond that nanoseconds leave 64 bits; nothing is silent for 285 years


@dataclass(frozen=True)
class ReaderSetup:
    """Capture files and how the core reads them.

    Attributes:
        most_flows: Number of flows that are distinguished at most; None for any number.
    """

    files: tuple[str, ...]
    options: ReadOptions
    most_flows: int | None

    @classmethod
    def from_options(
        cls,
        paths: Sequence[str | Path],
        options: ReadOptions | None,
        *,
        most_flows: int | None = None,
    ) -> ReaderSetup:
        """Return a setup with the flows that the memory of the options holds.

        Raises:
            ValueError: If the idle timeout is not above 0.
        """
        options = options or ReadOptions()
        if options.idle_timeout_s is not None and not options.idle_timeout_s > 0:
            raise ValueError(f"idle_timeout_s must be above 0, got {options.idle_timeout_s}")
        if most_flows is None:
            most_flows = most_flows_in(options.memory_bytes)
        return cls(tuple(str(path) for path in paths), options, most_flows)

    def open(
        self,
        *,
        keep_packets: bool,
        keep_flows: npt.NDArray[np.bool_] | None = None,
        exchanges: bool = False,
    ) -> CaptureReader:
        """Open a reader of the core at the beginning of the files."""
        timeout_s = self.options.idle_timeout_s
        return CaptureReader(
            list(self.files),
            decapsulate=self.options.decapsulate,
            idle_timeout_ns=(
                None if timeout_s is None else ns_from_s(min(timeout_s, _LONGEST_TIMEOUT_S))
            ),
            keep_packets=keep_packets,
            keep_flows=None if keep_flows is None else keep_flows.tolist(),
            most_flows=self.most_flows,
            exchanges=exchanges,
        )

    @property
    def name(self) -> str:
        """The file, or how many there are."""
        return self.files[0] if len(self.files) == 1 else f"{len(self.files)} files"


@dataclass(frozen=True)
class CaptureScan:
    """What is in capture files, and what it takes to read packets of theirs.

    Attributes:
        inspection: What is in them, flows grouped to sessions.
        rtcp: RTCP reports.
        out_of_order: Whether a packet's time lies before that of an earlier one.
        numbers: Number in the flow table by the order in which flows began, shape (n,).
        plan: What was decided about the flows, as the core needs it to read their packets.
    """

    setup: ReaderSetup
    inspection: Inspection
    rtcp: pa.Table
    out_of_order: bool
    numbers: npt.NDArray[np.uint32]
    plan: FlowPlan = field(repr=False, compare=False)


def scan_capture(
    paths: Sequence[str | Path],
    options: ReadOptions | None = None,
    *,
    most_flows: int | None = None,
) -> CaptureScan:
    """Measure the flows of capture files, read as one.

    They are pcap or pcapng files, plain or compressed; ``-`` is standard input. The first
    ``most_flows`` flows are distinguished, and a warning counts the packets of others; None takes
    as many as memory holds.

    Raises:
        CaptureError: If a file cannot be read at all. Damage further on becomes a warning.
    """
    setup = ReaderSetup.from_options(paths, options, most_flows=most_flows)
    reader = setup.open(keep_packets=False, exchanges=True)
    for _ in read_steps(reader):
        pass
    return collect_scan(reader, setup)


def read_steps(reader: CaptureReader) -> Iterator[None]:
    """Run a reader to its end; after each step report progress and hear interrupts."""
    while reader.read(_PACKETS_PER_STEP):
        done_bytes, total_bytes = reader.progress()
        report_step("reading", done_bytes, total_bytes, unit="bytes")
        yield
    yield


def collect_scan(reader: CaptureReader, setup: ReaderSetup) -> CaptureScan:
    """Return what a reader that has come to its end has counted."""
    counts, found = reader.counts(), reader.flows()
    start_ns = counts["first_ns"] or 0
    numbers = _rank(found)
    messages, interleaved = reader.signalling()
    parsed = [
        (time_ns, flow, forward, parse_rtsp(text)) for time_ns, flow, forward, text in messages
    ]
    rows = [
        (time_ns, flow, forward, message) for time_ns, flow, forward, message in parsed if message
    ]
    streams = _streams(found, numbers, interleaved, rows)
    oddities = describe_oddities(counts, name=setup.name, flows=len(numbers))
    oddities += describe_copies(setup.files)
    signalling = _signalling_table(rows, found, numbers, start_ns)
    rtcp_flows = frozenset(numbers[found["is_rtcp"]].tolist())
    flows = _flow_table(found, numbers, streams, start_ns)
    if not setup.options.decapsulate:
        oddities += describe_tunnels(flows, name=setup.name)
    inspection = Inspection(
        files=setup.files,
        packets=counts["packets"],
        ip_packets=counts["ip_packets"],
        frame_bytes=counts["frame_bytes"],
        start_time_ns=start_ns,
        origin_ns=start_ns,
        duration_s=s_from_ns((counts["last_ns"] or start_ns) - start_ns),
        flows=group_sessions(flows, signalling, rtp_streams=streams, rtcp_flows=rtcp_flows),
        rtp_streams=streams,
        signalling=signalling,
        warnings=(*reader.damages(), *oddities),
        rates=_rates(found, numbers, start_ns),
        labels=_label_table(found, numbers),
        exchanges=_exchanges(reader, numbers),
    )
    return CaptureScan(
        setup=setup,
        inspection=inspection,
        rtcp=_rtcp_table(reader.rtcp_reports(), found, numbers, start_ns),
        out_of_order=counts["steps_back"] > 0,
        numbers=numbers,
        plan=reader.plan(numbers),
    )


def _rank(found: CapturedFlowsDict) -> npt.NDArray[np.uint32]:
    """Return each flow's number: most frame bytes first, of equal ones the earlier first."""
    total = found["frame_bytes"].sum(axis=1).astype(np.int64)
    order = np.lexsort((found["first_ns"], -total))
    numbers = np.empty(len(order), dtype=np.uint32)
    numbers[order] = np.arange(len(order))
    return numbers


def _exchanges(
    reader: CaptureReader, numbers: npt.NDArray[np.uint32]
) -> ConnectionExchanges | None:
    found = reader.exchanges()
    return None if found is None else ConnectionExchanges.from_core(found, numbers)


def _rates(
    found: CapturedFlowsDict, numbers: npt.NDArray[np.uint32], zero_ns: int
) -> dict[int, FlowRates]:
    return {
        int(numbers[old]): FlowRates.from_bins(
            pair,
            start_ns=start_ns - zero_ns,
            end_ns=int(found["last_ns"][old]) - zero_ns,
            bin_ns=bin_ns,
            client_first=bool(found["initiator_is_client"][old]),
        )
        for old, start_ns, bin_ns, pair in found["rates"]
    }


def _clock_hz(stream: RtpStreamDict, described: MediaClock | None) -> int | None:
    """Return the clock by the SDP, else the static payload type, else the timestamps."""
    if described is not None:
        return described.clock_hz
    return STATIC_CLOCK_HZ.get(stream["payload_type"], stream["measured_clock_hz"])


def _jitter_s(stream: RtpStreamDict, clock_hz: int | None) -> float | None:
    return None if clock_hz is None else stream["jitter_s"].get(clock_hz)


def _streams(
    found: CapturedFlowsDict,
    numbers: npt.NDArray[np.uint32],
    interleaved: list[tuple[int, int, RtpStreamDict]],
    messages: list[tuple[int, int, bool, RtspMessage]],
) -> tuple[RtpStreamCount, ...]:
    hosts = _hosts_of(found)
    descriptions: dict[frozenset[bytes], Descriptions] = defaultdict(Descriptions)
    for _, old, _, message in messages:
        descriptions[hosts(old)].add(message)
    in_udp = ((old, None, stream) for old, stream in each_stream(found["rtp_streams"]))
    counts = []
    for old, channel, stream in itertools.chain(in_udp, interleaved):
        described = None
        if descriptions and (known := descriptions.get(hosts(old))) is not None:
            ports = (int(found["initiator_port"][old]), int(found["responder_port"][old]))
            described = known.find(
                stream["payload_type"],
                stream["measured_clock_hz"],
                ports if channel is None else None,
            )
        clock_hz = _clock_hz(stream, described)
        counts.append(
            RtpStreamCount(
                flow=int(numbers[old]),
                to_client=stream["from_initiator"] != bool(found["initiator_is_client"][old]),
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
                payload_bytes=stream["payload_bytes"],
                same_timestamp=stream["same_timestamp"],
                span_s=s_from_ns(stream["span_ns"]),
                declared_media=None if described is None else described.media,
            )
        )
    return tuple(sorted(counts, key=lambda count: (count.flow, -count.packets)))


def _hosts_of(found: CapturedFlowsDict) -> Callable[[int], frozenset[bytes]]:
    """Return a function from a flow to the addresses of its ends, as text."""

    def text(texts: Texts, index: int) -> bytes:
        offsets, data = texts
        return data[offsets[index] : offsets[index + 1]].tobytes()

    return lambda old: frozenset((text(found["initiator"], old), text(found["responder"], old)))


def _label_table(found: CapturedFlowsDict, numbers: npt.NDArray[np.uint32]) -> pa.Table:
    """Return application and name of each flow, in the order of the flow table."""
    columns = {name: _texts(found[name]) for name in ("application", "name")}
    known = {
        name: pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        for name, texts in columns.items()
    }
    return pa.table(known).take(pa.array(np.argsort(numbers)))


def _flow_table(
    found: CapturedFlowsDict,
    numbers: npt.NDArray[np.uint32],
    streams: tuple[RtpStreamCount, ...],
    start_ns: int,
) -> pa.Table:
    """Return the flow table, made column by column: networks have millions of flows."""
    count = len(numbers)
    client_first = pa.array(found["initiator_is_client"])
    ends = [_texts(found["initiator"]), _texts(found["responder"])]
    ports = [pa.array(found["initiator_port"]), pa.array(found["responder_port"])]
    columns: dict[str, pa.Array] = {
        "flow": pa.array(numbers),
        "session": pa.array(numbers),
        "protocol": _protocols(found["protocol"]),
        "server": pc.if_else(client_first, ends[1], ends[0]),
        "server_port": pc.if_else(client_first, ports[1], ports[0]),
        "client": pc.if_else(client_first, ends[0], ends[1]),
        "client_port": pc.if_else(client_first, ports[0], ports[1]),
        "media": pa.repeat(pa.scalar("unknown"), count),
        "first_time_ns": pa.array(found["first_ns"] - start_ns),
        "last_time_ns": pa.array(found["last_ns"] - start_ns),
        **_main_streams(numbers, streams),
    }
    rows = np.arange(count)
    # Pairs are (from the initiator, to it): the client's own packets go to the server.
    to_client = found["initiator_is_client"].astype(np.intp)
    for what, pairs in (
        ("packets", found["packets"]),
        ("frame_bytes", found["frame_bytes"]),
        ("payload_bytes", found["payload_bytes"]),
    ):
        columns[f"{what}_to_client"] = pa.array(pairs[rows, to_client])
        columns[f"{what}_to_server"] = pa.array(pairs[rows, 1 - to_client])
    table = pa.table([columns[name] for name in FLOW_SCHEMA.names], schema=FLOW_SCHEMA)
    return table.take(pa.array(np.argsort(numbers)))


def _texts(texts: Texts) -> pa.Array:
    offsets, data = texts
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers).cast(pa.string())


def _protocols(numbers: npt.NDArray[np.uint8]) -> pa.Array:
    largest = int(numbers.max(initial=0))
    names = pa.array([protocol_name(number) for number in range(largest + 1)])
    return names.take(pa.array(numbers))


def _main_streams(
    numbers: npt.NDArray[np.uint32], streams: tuple[RtpStreamCount, ...]
) -> dict[str, pa.Array]:
    """Return columns of each flow's main RTP stream: to the client if possible, most packets."""
    main: dict[int, RtpStreamCount] = {}
    for stream in streams:
        known = main.get(stream.flow)
        if known is None or (stream.to_client, stream.packets) > (known.to_client, known.packets):
            main[stream.flow] = stream
    names = ("ssrc", "payload_type", "clock_hz")
    if not main:
        return {name: pa.nulls(len(numbers), FLOW_SCHEMA.field(name).type) for name in names}
    mains = [main.get(number) for number in numbers.tolist()]
    return {
        name: pa.array(
            [None if stream is None else getattr(stream, name) for stream in mains],
            FLOW_SCHEMA.field(name).type,
        )
        for name in names
    }


def _signalling_table(
    rows: list[tuple[int, int, bool, RtspMessage]],
    found: CapturedFlowsDict,
    numbers: npt.NDArray[np.uint32],
    start_ns: int,
) -> pa.Table:
    columns = [
        {
            "time_ns": time_ns - start_ns,
            "flow": int(numbers[old]),
            "to_client": forward != bool(found["initiator_is_client"][old]),
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


_OF_SENDERS = ("ntp", "rtp_timestamp", "sender_packets", "sender_bytes")


def _rtcp_table(
    reports: dict[str, npt.NDArray[np.generic]],
    found: CapturedFlowsDict,
    numbers: npt.NDArray[np.uint32],
    start_ns: int,
) -> pa.Table:
    old = reports["flow"].astype(np.intp)
    columns = {
        **reports,
        "time_ns": reports["time_ns"].astype(np.int64) - start_ns,
        "flow": numbers[old],
        "to_client": (
            reports["from_initiator"].astype(np.bool_) != found["initiator_is_client"][old]
        ),
    }
    whose = {
        name: reports["has_sender_info" if name in _OF_SENDERS else "has_block"].astype(np.bool_)
        for name in RTCP_SCHEMA.names
        if RTCP_SCHEMA.field(name).nullable
    }
    arrays = [
        pa.array(
            columns[field.name], field.type, mask=~whose[field.name] if field.nullable else None
        )
        for field in RTCP_SCHEMA
    ]
    return pa.Table.from_arrays(arrays, schema=RTCP_SCHEMA)
