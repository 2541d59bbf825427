"""Count the flows and RTP streams of packet tables, with the code that counts those of captures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core import ExchangeMeter, FlowMeter
from trafficgen._core.types import FlowCountsDict
from trafficgen.flows.exchanges import ConnectionExchanges
from trafficgen.flows.inspection import Inspection
from trafficgen.tables import FlowRates, PacketTable, RtpStreamCount
from trafficgen.tables.counts import each_stream
from trafficgen.tables.stream import PacketStream
from trafficgen.units import ns_from_s, s_from_ns

_ROWS_PER_STEP = 1 << 20
_TCP_FIELDS = {"sequence": np.uint32, "acknowledgement": np.uint32, "flags": np.uint8}
_ROWS_PER_PIECE = 1 << 17
_LONGEST_TIMEOUT_S = 9e9  # beyond that nanoseconds leave 64 bits; nothing is silent for 285 years


def inspect_table(
    table: PacketTable, *, files: tuple[str, ...], idle_timeout_s: float | None = None
) -> tuple[Inspection, PacketTable]:
    """Measure the flows of a packet table, with the code that measures captures.

    A flow that is silent for ``idle_timeout_s`` is a new one from there on; None never splits.

    Returns:
        What is in the table, and the table with its flow table measured anew (and flows split).
    """
    table = table.sort_by_time()
    counter = _FlowCounter(idle_timeout_s)
    numbers = counter.add(table)
    found = counter.summarise(table, files)
    packets, rtcp = table.packets, table.rtcp
    if idle_timeout_s is not None:
        place = packets.schema.get_field_index("flow")
        field_of_flow = packets.schema.field(place)
        packets = packets.set_column(place, field_of_flow, pa.array(numbers, pa.uint32()))
        rtcp = rtcp.slice(0, 0)
    return found, replace(
        table, packets=packets, flows=found.flows, signalling=found.signalling, rtcp=rtcp
    )


def inspect_stream(
    stream: PacketStream, *, files: tuple[str, ...], idle_timeout_s: float | None = None
) -> Inspection:
    """Measure the flows of a packet stream, as :func:`inspect_table` does of a whole table."""
    counter = _FlowCounter(idle_timeout_s)
    for piece in stream.iterate_pieces(_ROWS_PER_PIECE):
        counter.add(piece)
    return counter.summarise(stream.head, files)


class _FlowCounter:
    """Counts packets and their flows as they pass by in order of time.

    With an idle timeout, flows are split and get new numbers.
    """

    def __init__(self, idle_timeout_s: float | None) -> None:
        self._renumbers, timeout_ns = idle_timeout_s is not None, None
        if idle_timeout_s is not None:
            timeout_ns = ns_from_s(min(idle_timeout_s, _LONGEST_TIMEOUT_S))
        self._meter, self._exchanges = FlowMeter(idle_timeout_ns=timeout_ns), ExchangeMeter()
        # The number in the packets of each measured flow.
        self._original: list[int] = []
        self._packets = self._frame_bytes = self._first_ns = self._last_ns = 0

    def add(self, table: PacketTable) -> npt.NDArray[np.uint32]:
        """Count packets; return the meter's number of each packet's flow, shape (n,)."""
        columns: list[npt.NDArray[Any]] = [
            table.time_ns,
            table.flow,
            table.to_client,
            table.frame_bytes,
            table.payload_bytes,
            table.is_known("rtp_ssrc"),
            table.values("rtp_ssrc").astype(np.uint32),
            table.values("rtp_sequence").astype(np.uint16),
            table.values("rtp_timestamp").astype(np.uint32),
        ]
        by_udp = pc.equal(table.flows.column("protocol"), "udp")
        of_udp = table.flows.column("flow").filter(by_udp).to_numpy()
        is_udp = np.isin(table.flow, of_udp) & ~table.is_known("rtp_ssrc")
        of_exchanges: list[npt.NDArray[Any]] = [
            table.payload_bytes,
            is_udp,
            table.is_known("tcp_sequence"),
            *(table.values(f"tcp_{name}").astype(kind) for name, kind in _TCP_FIELDS.items()),
        ]
        numbers = np.empty(len(table), dtype=np.uint32)
        for start in range(0, len(table), _ROWS_PER_STEP):
            rows = slice(start, start + _ROWS_PER_STEP)
            piece = [np.ascontiguousarray(column[rows]) for column in columns]
            numbers[rows] = self._meter.update(*piece)
            rest = [np.ascontiguousarray(column[rows]) for column in of_exchanges]
            self._exchanges.update(piece[0], numbers[rows], piece[2], *rest)
        # Measured flows are numbered as they begin: those that begin here have the next numbers.
        begun, first_row = np.unique(numbers, return_index=True)
        self._original += table.flow[first_row[begun >= len(self._original)]].tolist()
        if len(table):
            self._first_ns = self._first_ns if self._packets else int(table.time_ns[0])
            self._last_ns = int(table.time_ns[-1])
        self._packets += len(table)
        self._frame_bytes += int(table.frame_bytes.sum())
        return numbers

    def summarise(self, head: PacketTable, files: tuple[str, ...]) -> Inspection:
        """Return what was counted; ``head`` has the flow table and the signalling."""
        counts, renumbers = self._meter.flows(), self._renumbers
        order = list(range(len(self._original))) if renumbers else self._original
        flows = self._measure_flows(head.flows, counts, order)
        return Inspection(
            files=files,
            packets=self._packets,
            ip_packets=self._packets,
            frame_bytes=self._frame_bytes,
            start_time_ns=head.origin_ns + self._first_ns,
            origin_ns=head.origin_ns,
            duration_s=s_from_ns(self._last_ns - self._first_ns),
            flows=flows,
            rtp_streams=_list_rtp_streams(counts, order, flows),
            signalling=head.signalling.slice(0, 0) if renumbers else head.signalling,
            warnings=(),
            exchanges=ConnectionExchanges.from_core(
                self._exchanges.exchanges(),
                np.asarray(order, dtype=np.uint32),
                origin_ns=head.origin_ns,
            ),
            rates={
                order[measured]: FlowRates.from_bins(
                    pair,
                    start_ns=start_ns - self._first_ns,
                    end_ns=int(counts["last_ns"][measured]) - self._first_ns,
                    bin_ns=bin_ns,
                    client_first=True,
                )
                for measured, start_ns, bin_ns, pair in counts["rates"]
            },
        )

    def _measure_flows(self, flows: pa.Table, counts: FlowCountsDict, order: list[int]) -> pa.Table:
        """Return a flow table with measured times and counts; ``order`` has the new numbers.

        The client is the meter's initiator: what it sends goes to the server.
        """
        rows_of = {row["flow"]: row for row in flows.to_pylist()}
        pairs = {
            "packets": counts["packets"],
            "frame_bytes": counts["frame_bytes"],
            "payload_bytes": counts["payload_bytes"],
        }
        rows = []
        for measured, (original, flow) in enumerate(zip(self._original, order, strict=True)):
            rows.append(
                {
                    **rows_of[original],
                    "flow": flow,
                    "first_time_ns": int(counts["first_ns"][measured]),
                    "last_time_ns": int(counts["last_ns"][measured]),
                    **{f"{what}_to_server": int(pair[measured][0]) for what, pair in pairs.items()},
                    **{f"{what}_to_client": int(pair[measured][1]) for what, pair in pairs.items()},
                }
            )
        if not self._renumbers:
            seen = set(self._original)
            rows += [row for number, row in rows_of.items() if number not in seen]
        return pa.Table.from_pylist(sorted(rows, key=lambda row: row["flow"]), schema=flows.schema)


def _list_rtp_streams(
    counts: FlowCountsDict, order: list[int], flows: pa.Table
) -> tuple[RtpStreamCount, ...]:
    """Return the RTP streams with payload type and clock as the flow table declares them."""
    columns = flows.select(["flow", "ssrc", "payload_type", "clock_hz"])
    facts = {row["flow"]: row for row in columns.to_pylist()}
    found: list[RtpStreamCount] = []
    for measured, stream in each_stream(counts["rtp_streams"]):
        fact = facts[order[measured]]
        declared = fact if fact["ssrc"] == stream["ssrc"] else {}
        clock_hz = declared.get("clock_hz") or stream["measured_clock_hz"]
        found.append(
            RtpStreamCount(
                flow=order[measured],
                to_client=not stream["from_initiator"],
                ssrc=stream["ssrc"],
                payload_type=declared.get("payload_type"),
                clock_hz=clock_hz,
                packets=stream["packets"],
                expected=stream["expected"],
                lost=stream["lost"],
                reordered=stream["reordered"],
                duplicates=stream["duplicates"],
                jitter_s=stream["jitter_s"].get(clock_hz) if clock_hz is not None else None,
                payload_bytes=stream["payload_bytes"],
                same_timestamp=stream["same_timestamp"],
                span_s=s_from_ns(stream["span_ns"]),
            )
        )
    return tuple(sorted(found, key=lambda stream: (stream.flow, -stream.packets)))
