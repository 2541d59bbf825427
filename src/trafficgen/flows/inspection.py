"""Summarise a capture or packet table: its flows, RTP streams and sessions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core import FlowMeter
from trafficgen._core.rtp_streams import each_stream
from trafficgen._core.types import FlowCountsDict, RtpStreamDict
from trafficgen.flows.reversal import swap_flow_ends
from trafficgen.flows.sessions import Session, list_sessions
from trafficgen.formatting import format_count, number, one_line
from trafficgen.notebook import POINTS, SHOWN_ROWS, FirstRows, NotebookView, RateLines
from trafficgen.progress import report_each
from trafficgen.tables import FlowRates, PacketTable, RtpStreamCount
from trafficgen.tables.stream import PacketStream
from trafficgen.units import ns_from_s, s_from_ns

_ROWS_PER_STEP = 1 << 20
_ROWS_PER_PIECE = 1 << 17
_FLOWS_PER_STEP = 10_000
_LONGEST_TIMEOUT_S = 9e9  # beyond that nanoseconds leave 64 bits; nothing is silent for 285 years


@dataclass(frozen=True)
class Inspection(NotebookView):
    """What is in one capture (or several read as one), or in a packet table.

    Attributes:
        files: Names as given.
        packets: Packets in all.
        ip_packets: Packets that belong to a flow.
        frame_bytes: Bytes on the wire in all.
        start_time_ns: Time of the first packet, ns since 1970.
        origin_ns: Time from which the flow table counts, ns since 1970.
        duration_s: From the first packet to the last, s.
        flows: Flow table.
        rtp_streams: Counts of the RTP streams.
        signalling: RTSP messages.
        warnings: What was odd.
        rates: Frame bytes over time of each flow by its number, s from the first packet; of the
            heavier ones where there are more than a thousand.

    Example:
        >>> import trafficgen
        >>> found = trafficgen.inspect("examples/captures/rtsp_rtp_two_streams.pcap.gz")
        >>> found
        <Inspection of rtsp_rtp_two_streams.pcap.gz: 2,069 packets, 3 flows, 1 session, 61.38 s, 1
        warning>
        >>> for session in found.sessions:
        ...     print(session.kind, "of flows", session.flows)
        rtsp of flows (0, 1, 2)
        >>> video = found.describe_flow(0)["rtp"]
        >>> print(video["lost"], "of", video["expected"], "RTP packets lost")
        0 of 1920 RTP packets lost
    """

    files: tuple[str, ...]
    packets: int
    ip_packets: int
    frame_bytes: int
    start_time_ns: int
    origin_ns: int
    duration_s: float
    flows: pa.Table
    rtp_streams: tuple[RtpStreamCount, ...]
    signalling: pa.Table
    warnings: tuple[str, ...]
    rates: Mapping[int, FlowRates] = field(default_factory=dict, repr=False, compare=False)

    def __repr__(self) -> str:
        more = f" and {format_count(len(self.files) - 1, 'more file')}" if self.files[1:] else ""
        first = one_line(PurePath(self.files[0]).name) if self.files else "nothing"
        sessions = int(pc.count_distinct(self.flows.column("session")).as_py())
        parts = [
            format_count(self.packets, "packet"),
            format_count(self.flows.num_rows, "flow"),
            format_count(sessions, "session"),
            f"{number(self.duration_s)} s",
            *([format_count(len(self.warnings), "warning")] if self.warnings else []),
        ]
        return f"<Inspection of {first}{more}: {', '.join(parts)}>"

    def _notebook_data(self) -> dict[str, object]:
        largest = self.describe_flows(SHOWN_ROWS)
        return {**self.json_head(), "flows": FirstRows(largest, self.flows.num_rows)}

    def _notebook_rates(self) -> RateLines:
        steps, end_s = POINTS, self.duration_s
        rates = np.zeros(steps)
        for flow in self.rates.values():
            rates += flow.to_client.rate_kbps(steps, start_s=0.0, end_s=end_s)
        return RateLines(end_s / steps, [("bytes on the wire to clients", rates)])

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Sessions, by number."""
        return list_sessions(self.flows, self.signalling)

    def session_kinds(self, sessions: Collection[int]) -> dict[int, str]:
        """Return the kinds of some sessions: those of a network's millions would take long."""
        wanted = pa.array(list(sessions), self.flows.schema.field("session").type)
        members = self.flows.filter(pc.is_in(self.flows.column("session"), wanted))
        return {
            session.session: session.kind for session in list_sessions(members, self.signalling)
        }

    def swap_ends(self) -> Inspection:
        """Return the same with server and client exchanged, as an upload is looked at."""
        streams = tuple(
            replace(stream, to_client=not stream.to_client) for stream in self.rtp_streams
        )
        rates = {flow: curves.swap_ends() for flow, curves in self.rates.items()}
        return replace(self, flows=swap_flow_ends(self.flows), rtp_streams=streams, rates=rates)

    def describe_flows(self, largest: int | None = None) -> list[dict[str, object]]:
        """Return the flows as JSON has them, most frame bytes first.

        Args:
            largest: How many; None describes all.
        """
        order = self._order()[:largest]
        return list(self._described(order))

    def _described(self, order: npt.NDArray[np.intp]) -> Iterator[dict[str, object]]:
        offset_ns = self.origin_ns - self.start_time_ns
        streams = _streams_by_flow(self.rtp_streams)

        def described() -> Iterator[dict[str, object]]:
            for start in range(0, len(order), _FLOWS_PER_STEP):
                for row in self.flows.take(
                    pa.array(order[start : start + _FLOWS_PER_STEP])
                ).to_pylist():
                    yield describe_flow(
                        row, offset_ns=offset_ns, streams=streams.get(row["flow"], [])
                    )

        return report_each(described(), "describing", total=len(order), unit="flows")

    def _order(self) -> npt.NDArray[np.intp]:
        """Return the rows of the flow table, most frame bytes first."""
        ways = [
            self.flows.column(f"frame_bytes_to_{end}").to_numpy().astype(np.int64)
            for end in ("client", "server")
        ]
        return np.lexsort((self.flows.column("flow").to_numpy(), -(ways[0] + ways[1])))

    def describe_flow(self, number: int) -> dict[str, object]:
        """Return one flow as JSON has it.

        Raises:
            KeyError: If there is no such flow.
        """
        rows = self.flows.filter(pc.equal(self.flows.column("flow"), number)).to_pylist()
        if not rows:
            raise KeyError(number)
        streams = _streams_by_flow(self.rtp_streams).get(number, [])
        return describe_flow(
            rows[0], offset_ns=self.origin_ns - self.start_time_ns, streams=streams
        )

    def play_s(self, session: Session) -> float | None:
        """Return when a session's first RTSP PLAY was, s after the first packet, or None."""
        if session.play_time_ns is None:
            return None
        return s_from_ns(session.play_time_ns + self.origin_ns - self.start_time_ns)

    def _describe_session(self, session: Session) -> dict[str, object]:
        return {
            "session": session.session,
            "kind": session.kind,
            "flows": list(session.flows),
            "play_s": self.play_s(session),
        }

    def to_json(self) -> dict[str, object]:
        """Return the whole as JSON-compatible values, keys as published."""
        return {
            **self.json_head(),
            **{name: list(values) for name, values in self.json_lists().items()},
        }

    def json_head(self) -> dict[str, object]:
        """Return what :meth:`to_json` has before its long lists."""
        return {
            "files": list(self.files),
            "packets": self.packets,
            "ip_packets": self.ip_packets,
            "frame_bytes": self.frame_bytes,
            "start_time_ns": self.start_time_ns,
            "duration_s": self.duration_s,
            "warnings": list(self.warnings),
        }

    def json_lists(self) -> dict[str, Iterator[dict[str, object]]]:
        """Return its lists as iterators: captures of whole networks have millions of flows."""
        sessions = self.sessions
        described = map(self._describe_session, sessions)
        return {
            "sessions": report_each(described, "describing", total=len(sessions), unit="sessions"),
            "flows": self._described(self._order()),
        }


def describe_flow(
    row: dict[str, int | str | None], *, offset_ns: int, streams: list[RtpStreamCount]
) -> dict[str, object]:
    """Return a row of the flow table as JSON has it.

    Args:
        row: The row.
        offset_ns: Added to the row's times to count from the start of the capture.
        streams: The flow's RTP streams, most packets first.
    """
    number = {name: int(value) for name, value in row.items() if isinstance(value, int)}
    directions = {
        way: {"packets": number[f"packets_{way}"], "frame_bytes": number[f"frame_bytes_{way}"]}
        for way in ("to_client", "to_server")
    }
    main = max(streams, key=lambda stream: (stream.to_client, stream.packets), default=None)
    return {
        "flow": number["flow"],
        "session": number["session"],
        "protocol": row["protocol"],
        "server": row["server"],
        "server_port": number["server_port"],
        "client": row["client"],
        "client_port": number["client_port"],
        "media": row["media"],
        "packets": sum(counts["packets"] for counts in directions.values()),
        "frame_bytes": sum(counts["frame_bytes"] for counts in directions.values()),
        "start_s": s_from_ns(number["first_time_ns"] + offset_ns),
        "duration_s": s_from_ns(number["last_time_ns"] - number["first_time_ns"]),
        **directions,
        "rtp": _describe_rtp(main, streams) if main else None,
    }


def _describe_rtp(main: RtpStreamCount, streams: list[RtpStreamCount]) -> dict[str, object]:
    described = _describe_stream(main)
    if len(streams) > 1:
        described["streams"] = [
            {"to_client": stream.to_client, "channel": stream.channel, **_describe_stream(stream)}
            for stream in streams
        ]
    return described


def _describe_stream(stream: RtpStreamCount) -> dict[str, object]:
    counts = ("expected", "lost", "reordered", "duplicates", "jitter_s")
    return {name: getattr(stream, name) for name in ("ssrc", "payload_type", "clock_hz", *counts)}


def _streams_by_flow(streams: tuple[RtpStreamCount, ...]) -> dict[int, list[RtpStreamCount]]:
    by_flow: dict[int, list[RtpStreamCount]] = {}
    for stream in streams:
        by_flow.setdefault(stream.flow, []).append(stream)
    return by_flow


def inspect_table(
    table: PacketTable, *, files: tuple[str, ...], idle_timeout_s: float | None = None
) -> tuple[Inspection, PacketTable]:
    """Measure the flows of a packet table, with the code that measures captures.

    Args:
        table: Packets.
        files: Names to report.
        idle_timeout_s: Silence after which a flow's packets are a new flow, s; None never splits.

    Returns:
        What is in the table, and the table with its flow table measured anew (and flows split).
    """
    table = table.sort_by_time()
    meter = _meter(idle_timeout_s)
    numbers = _run(meter, table)
    counts = meter.flows()
    measured, order = _measure_flows(table, counts, numbers, renumber=idle_timeout_s is not None)
    span = _Span()
    span.add(table)
    return span.inspection(files, measured, counts, order), measured


@dataclass
class _Span:
    """Counts of packets in order of time, as they pass by."""

    packets: int = 0
    frame_bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0

    def add(self, piece: PacketTable) -> None:
        if len(piece):
            self.first_ns = self.first_ns if self.packets else int(piece.time_ns[0])
            self.last_ns = int(piece.time_ns[-1])
        self.packets += len(piece)
        self.frame_bytes += int(piece.frame_bytes.sum())

    def inspection(
        self, files: tuple[str, ...], head: PacketTable, counts: FlowCountsDict, order: list[int]
    ) -> Inspection:
        """Return what was measured of the flows of a table."""
        return Inspection(
            files=files,
            packets=self.packets,
            ip_packets=self.packets,
            frame_bytes=self.frame_bytes,
            start_time_ns=head.origin_ns + self.first_ns,
            origin_ns=head.origin_ns,
            duration_s=s_from_ns(self.last_ns - self.first_ns),
            flows=head.flows,
            rtp_streams=_rtp_streams(counts, order, head.flows),
            signalling=head.signalling,
            warnings=(),
            rates=_rates(counts, order, zero_ns=self.first_ns),
        )


def inspect_stream(
    stream: PacketStream, *, files: tuple[str, ...], idle_timeout_s: float | None = None
) -> Inspection:
    """Measure the flows of a packet stream, as :func:`inspect_table` does of a whole table."""
    meter, original, span = _meter(idle_timeout_s), list[int](), _Span()
    for piece in stream.iterate_pieces(_ROWS_PER_PIECE):
        numbers = _run(meter, piece)
        # Measured flows are numbered as they begin: those that begin here have the next numbers.
        begun, first_row = np.unique(numbers, return_index=True)
        original += piece.flow[first_row[begun >= len(original)]].tolist()
        span.add(piece)
    counts, renumber = meter.flows(), idle_timeout_s is not None
    order = list(range(len(original))) if renumber else original
    flows = _measured_flows(stream.head.flows, counts, original, order, renumber=renumber)
    signalling = stream.head.signalling.slice(0, 0) if renumber else stream.head.signalling
    head = replace(stream.head, flows=flows, signalling=signalling)
    return span.inspection(files, head, counts, order)


def _meter(idle_timeout_s: float | None) -> FlowMeter:
    timeout_ns = (
        None if idle_timeout_s is None else ns_from_s(min(idle_timeout_s, _LONGEST_TIMEOUT_S))
    )
    return FlowMeter(idle_timeout_ns=timeout_ns)


def _run(meter: FlowMeter, table: PacketTable) -> npt.NDArray[np.uint32]:
    """Feed a table to the meter; return the meter's number of each packet's flow, shape (n,)."""
    known = table.is_known("rtp_ssrc")
    columns: list[npt.NDArray[Any]] = [
        table.time_ns,
        table.flow,
        table.to_client,
        table.frame_bytes,
        table.payload_bytes,
        known,
        table.values("rtp_ssrc").astype(np.uint32),
        table.values("rtp_sequence").astype(np.uint16),
        table.values("rtp_timestamp").astype(np.uint32),
    ]
    numbers = np.empty(len(table), dtype=np.uint32)
    for start in range(0, len(table), _ROWS_PER_STEP):
        rows = slice(start, start + _ROWS_PER_STEP)
        piece = [np.ascontiguousarray(column[rows]) for column in columns]
        numbers[rows] = meter.update(*piece)
    return numbers


def _measure_flows(
    table: PacketTable, counts: FlowCountsDict, numbers: npt.NDArray[np.uint32], *, renumber: bool
) -> tuple[PacketTable, list[int]]:
    """Return the table with measured times and counts of its flows, and each flow's number."""
    first_packet = np.unique(numbers, return_index=True)[1]
    original = [int(table.flow[index]) for index in first_packet]
    order = list(range(len(original))) if renumber else original
    flows = _measured_flows(table.flows, counts, original, order, renumber=renumber)
    packets = table.packets
    if renumber:
        column = packets.schema.get_field_index("flow")
        packets = packets.set_column(
            column, packets.schema.field("flow"), pa.array(numbers, pa.uint32())
        )
    signalling, rtcp = (
        part.slice(0, 0) if renumber else part for part in (table.signalling, table.rtcp)
    )
    measured_table = PacketTable(packets, flows, table.origin_ns, signalling, table.notes, rtcp)
    return measured_table, order


def _measured_flows(
    flows: pa.Table,
    counts: FlowCountsDict,
    original: list[int],
    order: list[int],
    *,
    renumber: bool,
) -> pa.Table:
    """Return a flow table with measured times and counts; ``order`` has the new flow numbers."""
    rows_of = {row["flow"]: row for row in flows.to_pylist()}
    pairs = {
        "packets": counts["packets"],
        "frame_bytes": counts["frame_bytes"],
        "payload_bytes": counts["payload_bytes"],
    }
    rows = []
    for measured, flow in enumerate(order):
        row = dict(rows_of[original[measured]])
        row.update(flow=flow, first_time_ns=int(counts["first_ns"][measured]))
        row.update(last_time_ns=int(counts["last_ns"][measured]))
        for what, pair in pairs.items():
            # The client is the meter's initiator: what it sends goes to the server.
            row[f"{what}_to_server"], row[f"{what}_to_client"] = (
                int(number) for number in pair[measured]
            )
        rows.append(row)
    seen = set(original)
    rows.extend(row for number, row in rows_of.items() if number not in seen and not renumber)
    return pa.Table.from_pylist(sorted(rows, key=lambda row: row["flow"]), schema=flows.schema)


def _rates(counts: FlowCountsDict, order: list[int], *, zero_ns: int) -> dict[int, FlowRates]:
    """Return the rates of measured flows; the client is the meter's initiator."""
    return {
        order[measured]: FlowRates.from_bins(
            pair,
            start_ns=start_ns - zero_ns,
            end_ns=int(counts["last_ns"][measured]) - zero_ns,
            bin_ns=bin_ns,
            client_first=True,
        )
        for measured, start_ns, bin_ns, pair in counts["rates"]
    }


def _rtp_streams(
    counts: FlowCountsDict, order: list[int], flows: pa.Table
) -> tuple[RtpStreamCount, ...]:
    facts = {
        row["flow"]: row
        for row in flows.select(["flow", "ssrc", "payload_type", "clock_hz"]).to_pylist()
    }
    found: list[RtpStreamCount] = []
    for measured, stream in each_stream(counts["rtp_streams"]):
        number = order[measured]
        found.append(_rtp_stream(stream, number, facts[number]))
    return tuple(sorted(found, key=lambda stream: (stream.flow, -stream.packets)))


def _rtp_stream(stream: RtpStreamDict, number: int, fact: dict[str, int | None]) -> RtpStreamCount:
    declared = fact["clock_hz"] if fact["ssrc"] == stream["ssrc"] else None
    clock_hz = declared or stream["measured_clock_hz"]
    return RtpStreamCount(
        flow=number,
        to_client=not stream["from_initiator"],
        ssrc=stream["ssrc"],
        payload_type=fact["payload_type"] if fact["ssrc"] == stream["ssrc"] else None,
        clock_hz=clock_hz,
        packets=stream["packets"],
        expected=stream["expected"],
        lost=stream["lost"],
        reordered=stream["reordered"],
        duplicates=stream["duplicates"],
        jitter_s=stream["jitter_s"].get(clock_hz) if clock_hz is not None else None,
    )
