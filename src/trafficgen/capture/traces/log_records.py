"""Records of packet generators' logs, sent and arrived, joined by flow and sequence number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trafficgen.capture.traces.frames import number_rows
from trafficgen.capture.traces.tables import (
    FULL_IP_BYTES,
    Columns,
    Ends,
    ip_header_bytes,
    ip_version,
)
from trafficgen.capture.traces.text import Matches, add_days
from trafficgen.capture.traces.trace_format import LARGEST_PACKET_BYTES, Reading
from trafficgen.formatting import format_count
from trafficgen.units import BoolArray, IntArray, s_from_ns


@dataclass(frozen=True)
class LogRecords:
    """Lines of a log about packets, shape (n,) each.

    Attributes:
        flow: Row of ``ends``: the 5-tuple.
        number: Number that the tool gives to the flow; several may share a 5-tuple.
        sequence: Number of the packet in the tool's flow, from 0 or 1 on.
        size_bytes: Its transport payload, bytes.
        arrival_ns: When it arrived, ns; 0 where ``arrived`` is false.
        arrived: Whether the line says that it arrived.
    """

    flow: IntArray
    number: IntArray
    sequence: IntArray
    sent_ns: IntArray
    size_bytes: IntArray
    arrival_ns: IntArray
    arrived: BoolArray
    ends: tuple[Ends, ...]

    def __len__(self) -> int:
        return len(self.flow)

    def take(self, rows: IntArray | BoolArray) -> LogRecords:
        """Return some of the lines."""
        names = ("flow", "number", "sequence", "sent_ns", "size_bytes", "arrival_ns", "arrived")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})


def _merge_records(records: LogRecords, reading: Reading) -> LogRecords:
    """Return a line for each packet: that of the sender, with its first arrival.

    The tool's flow and the number in it identify a packet. With only the receiver's log, losses are
    counted by the gaps in the numbers.
    """
    if (flows := len(number_rows(records.flow, records.number)[1])) > len(np.unique(records.flow)):
        reading.assumptions.append(
            f"{flows:,} flows of the tool share 5-tuples; each 5-tuple is one flow"
        )
    run = _runs(records)
    key, _ = number_rows(run, records.sequence)
    late = np.where(records.arrived, records.arrival_ns, np.iinfo(np.int64).max)
    order = np.lexsort((late, key))
    keys, first, inverse = np.unique(key[order], return_index=True, return_inverse=True)
    sent = np.zeros(len(keys), dtype=np.bool_)
    np.logical_or.at(sent, inverse, ~records.arrived[order])
    arrivals = np.bincount(inverse, weights=records.arrived[order], minlength=len(keys))
    sends = np.bincount(inverse, weights=~records.arrived[order], minlength=len(keys))
    repeated = int(np.maximum(arrivals - 1, 0).sum() + np.maximum(sends - 1, 0).sum())
    if repeated:
        reading.doubts.append(
            f"{format_count(repeated, 'line')} for a packet that had one already; the first counts"
        )
    kept = np.sort(order[first])
    result = records.take(kept)
    _note_losses(result, run[kept], with_sender=bool(sent.any()), reading=reading)
    return result


def _runs(records: LogRecords) -> IntArray:
    """Return the run of numbers that each line belongs to, shape (n,).

    A flow that stops and starts again counts from the beginning: its number falls while the time of
    sending rises.
    """
    its, _ = number_rows(records.flow, records.number)
    order = np.lexsort((records.sequence, records.sent_ns, its))
    flow, sequence = its[order], records.sequence[order]
    is_first = np.ones(len(records), dtype=np.bool_)
    is_first[1:] = (flow[1:] != flow[:-1]) | (sequence[1:] < sequence[:-1])
    run = np.zeros(len(records), dtype=np.int64)
    run[order] = np.cumsum(is_first)
    return run


def _note_losses(
    records: LogRecords, run: IntArray, *, with_sender: bool, reading: Reading
) -> None:
    if with_sender:
        if records.arrived.any() and (lost := int((~records.arrived).sum())):
            reading.assumptions.append(
                f"{format_count(lost, 'packet')} without a line of the receiver: lost"
            )
        return
    runs, place, count = np.unique(run, return_inverse=True, return_counts=True)
    low = np.full(len(runs), np.iinfo(np.int64).max)
    high = np.full(len(runs), np.iinfo(np.int64).min)
    np.minimum.at(low, place, records.sequence)
    np.maximum.at(high, place, records.sequence)
    missing = int((high - low + 1 - count).sum())
    if missing:
        reading.doubts.append(
            f"{format_count(missing, 'packet')} lost by the gaps in the sequence numbers; only the"
            " sender's log knows their times and sizes: put both logs into one file"
        )


def _cut_records(records: LogRecords, reading: Reading) -> Columns:
    """Return the packets of records; long TCP messages are cut into segments of one time."""
    header = np.array([ends.header_bytes for ends in records.ends], dtype=np.int64)
    is_tcp = np.array([ends.protocol == "tcp" for ends in records.ends], dtype=np.bool_)[
        records.flow
    ]
    segment_bytes = FULL_IP_BYTES - header[records.flow]
    count = np.where(is_tcp, np.maximum(-(-records.size_bytes // segment_bytes), 1), 1)
    if bool((count > 1).any()):
        reading.assumptions.append(
            f"TCP messages are cut into segments of IP packets of {FULL_IP_BYTES} bytes"
        )
    of = np.repeat(np.arange(len(records)), count)
    place = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
    rest = records.size_bytes[of] - place * segment_bytes[of]
    payload_bytes = np.where(
        is_tcp[of], np.minimum(rest, segment_bytes[of]), records.size_bytes[of]
    )
    known = bool(records.arrived.any())
    if known and bool((records.arrival_ns < records.sent_ns)[records.arrived].any()):
        early_s = s_from_ns(int((records.sent_ns - records.arrival_ns)[records.arrived].max()))
        reading.doubts.append(
            f"packets arrive up to {early_s:.6g} s before they were sent: the clocks differ"
        )
    return Columns(
        time_ns=records.sent_ns[of],
        ip_bytes=payload_bytes + header[records.flow[of]],
        payload_bytes=payload_bytes,
        flow=records.flow[of],
        ends=records.ends,
        arrival_ns=records.arrival_ns[of] if known else None,
        arrived=records.arrived[of] if known else None,
    )


def read_log(
    reading: Reading,
    found: Matches,
    flows: tuple[IntArray, Sequence[Ends]],
    *,
    sent_ns: IntArray,
    received_ns: IntArray,
    known: BoolArray,
    arrived: BoolArray,
    in_order_of_sending: bool,
) -> Columns:
    """Return the packets of the usable lines of a log.

    ``found`` are lines about packets, and ``flows`` the flow of each with the ends of each flow.
    Arrays have shape (n,): times in ns, whether they are valid (``known``), and whether a packet
    arrived. Times of day go on over midnight from line to line, which are in order of sending or
    else of reception.

    Raises:
        PacketTableError: If no line is usable.
    """
    flow, ends = flows
    valid = np.array([_are_valid(its) for its in ends], dtype=np.bool_)[flow]
    usable = known & valid & (found.integers("size") <= LARGEST_PACKET_BYTES)
    reading.keep(found, usable)
    reading.assumptions.append(
        f"sizes are transport payloads; IP headers of {ip_header_bytes('')} bytes (IPv6:"
        f" {ip_header_bytes(':')})"
    )
    if reading.of_day:
        first_ns, second_ns = (
            (sent_ns, received_ns) if in_order_of_sending else (received_ns, sent_ns)
        )
        first_ns[usable] = add_days(first_ns[usable])
        second_ns[:] = add_days(second_ns, near_ns=first_ns)
        reading.assumptions.append("the log has times of day without a date: 2020-01-01")
    records = LogRecords(
        flow=flow,
        number=found.integers("flow"),
        sequence=found.integers("sequence"),
        sent_ns=sent_ns,
        size_bytes=found.integers("size"),
        arrival_ns=np.where(arrived, received_ns, 0),
        arrived=arrived,
        ends=tuple(ends),
    ).take(usable)
    return _cut_records(_merge_records(records, reading), reading)


def _are_valid(ends: Ends) -> bool:
    """Return whether addresses are of one IP version and ports in range."""
    versions = {ip_version(ends.server), ip_version(ends.client)}
    is_known = len(versions) == 1 and None not in versions
    return is_known and max(ends.server_port, ends.client_port) < 1 << 16
