"""Lines of MGEN scripts, what a connection is sent by them, and the pcap file that MGEN clones.

MGEN 5.02b keeps to the time of an ``ON`` event to some tens of microseconds, while ``MOD`` takes
effect when the interval in force is over and a rate of 0 ends the flow. So datagrams are flows of
their own that end after ``COUNT`` messages, from one source port; only TCP, whose flow is a
connection, is changed by ``MOD``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from trafficgen.errors import ExportError
from trafficgen.export.epochs import Epochs
from trafficgen.export.flow_schedule import FlowSchedule, seconds_text, share_evenly
from trafficgen.packet_files.pcap import write_capture_stream
from trafficgen.tables import PacketTable
from trafficgen.tables.counts import infer_flows
from trafficgen.tables.protocols import smallest_header_bytes
from trafficgen.tables.stream import stream_of
from trafficgen.units import (
    ETHERNET_HEADER_BYTES,
    FEWEST_FRAME_BYTES,
    US_PER_S,
    IntArray,
    ns_from_us,
    us_from_ns,
)

#: Pattern of the messages of an epoch -> how the report says it.
SPACINGS = {"periodic": "evenly spaced", "poisson": "at the times of a Poisson process"}
#: Rate of a flow of one message, 1/s: what is left of it, a socket, is cleared away after one
#: interval.
RATE_OF_ONE_PER_S = 1000
#: Intervals are cut to whole microseconds by the tool; half of one more makes it the one that is
#: meant.
_CUT_US = 0.5
#: A rate so low that nothing more is sent, 1/s.
_NO_MORE_PER_S = 0.0001
_LINGER_US = 500_000
#: Shortest time between writes into a connection.
_SHORTEST_US = 1000


@dataclass(frozen=True)
class Ends:
    """Both ends of a flow."""

    source_port: int
    destination: str
    port: int

    def options(self, protocol: str) -> str:
        """Return the options of an ``ON`` event that name the ends."""
        return f"{protocol.upper()} SRC {self.source_port} DST {self.destination}/{self.port}"


@dataclass(frozen=True)
class Writes:
    """Writes of an application into a TCP connection.

    Attributes:
        time_us: When each is written, us on the schedule's clock, shape (w,).
        payload_bytes: Length of each, shape (w,).
        sent: The flow's segments, each with the time of the write that holds its last byte.
        raised: Writes that had to be made longer.
    """

    time_us: IntArray
    payload_bytes: IntArray
    sent: FlowSchedule
    raised: int


def join_segments(flow: FlowSchedule, *, window_us: int, low_bytes: int, high_bytes: int) -> Writes:
    """Join the segments of each window of time into a write at its start, or several if too long.

    Segments that follow one another within moments are one write that TCP has cut. Writes shorter
    than ``low_bytes`` are raised; what is more than ``high_bytes`` is spread evenly over the
    window.

    Raises:
        ExportError: If writes would follow one another within less than a millisecond.
    """
    window = us_from_ns(flow.time_ns) // window_us
    numbers, first, row = np.unique(window, return_index=True, return_inverse=True)
    total_bytes = np.bincount(row, weights=flow.payload_bytes).astype(np.int64)
    pieces = -(-total_bytes // high_bytes)
    fast = np.flatnonzero((pieces > 1) & (window_us // pieces < _SHORTEST_US))
    if fast.size:
        at_s = int(numbers[fast[0]]) * window_us / US_PER_S
        raise ExportError(
            f"flow {flow.flow} at {at_s:.6f} s: mgen writes at most {high_bytes} bytes at once,"
            f" and {pieces[fast[0]]} of them within {window_us} us are closer than a millisecond;"
            " feed ditg with it"
        )
    piece_row, place, plain_bytes = share_evenly(total_bytes, pieces)
    payload_bytes = np.maximum(plain_bytes, low_bytes)
    until_bytes = np.cumsum(flow.payload_bytes)
    within_bytes = until_bytes - (until_bytes - flow.payload_bytes)[first][row]
    piece = np.minimum((within_bytes - 1) * pieces[row] // total_bytes[row], pieces[row] - 1)
    sent_bytes = flow.payload_bytes.copy()
    np.add.at(sent_bytes, first[piece_row], payload_bytes - plain_bytes)
    sent_us = numbers[row] * window_us + piece * window_us // pieces[row]
    return Writes(
        time_us=numbers[piece_row] * window_us + place * window_us // pieces[piece_row],
        payload_bytes=payload_bytes,
        sent=replace(flow, time_ns=ns_from_us(sent_us), payload_bytes=sent_bytes),
        raised=int(np.count_nonzero(payload_bytes > plain_bytes)),
    )


def single_messages(time_us: IntArray, payload_bytes: IntArray, ends: Ends) -> Iterator[str]:
    """Yield a line a datagram: a flow that ends after one message, numbered from 1."""
    options = ends.options("udp")
    rows = zip(time_us.tolist(), payload_bytes.tolist(), strict=True)
    for number, (at_us, size_bytes) in enumerate(rows, start=1):
        yield (
            f"{seconds_text(at_us)} ON {number} {options} PERIODIC [{RATE_OF_ONE_PER_S}"
            f" {size_bytes}] COUNT 1,off\n"
        )


def epoch_messages(
    epochs: Epochs, payload_bytes: IntArray, ends: Ends, *, pattern: str
) -> Iterator[str]:
    """Yield a line an epoch: a flow that ends after its messages, at its rate and of its mean size.

    ``payload_bytes`` are the sizes of the messages of each, shape (e,); ``pattern`` is ``PERIODIC``
    or ``POISSON``.
    """
    options = ends.options("udp")
    start_us = us_from_ns(epochs.start_ns).tolist()
    rows = zip(
        start_us,
        epochs.packet_rate_per_s.tolist(),
        payload_bytes.tolist(),
        epochs.packets.tolist(),
        strict=True,
    )
    for number, (at_us, rate_per_s, size_bytes, count) in enumerate(rows, start=1):
        yield (
            f"{seconds_text(at_us)} ON {number} {options} {pattern} [{rate_per_s:.9g} {size_bytes}]"
            f" COUNT {count},off\n"
        )


def connection_messages(time_us: IntArray, payload_bytes: IntArray, ends: Ends) -> Iterator[str]:
    """Yield the lines of a TCP connection, which set size and interval between messages."""
    after_us = np.append(np.diff(time_us), 0)
    rate_per_s = np.where(after_us > 0, US_PER_S / (after_us + _CUT_US), _NO_MORE_PER_S)
    middle_us = (time_us[:-1] + time_us[1:]) // 2
    sizes, rates = payload_bytes.tolist(), rate_per_s.tolist()
    yield (
        f"{seconds_text(int(time_us[0]))} ON 1 {ends.options('tcp')} PERIODIC [{rates[0]:.12g}"
        f" {sizes[0]}]\n"
    )
    for at_us, rate, size_bytes in zip(middle_us.tolist(), rates[1:], sizes[1:], strict=True):
        yield f"{seconds_text(at_us)} MOD 1 PERIODIC [{rate:.12g} {size_bytes}]\n"
    yield f"{seconds_text(int(time_us[-1]) + _LINGER_US)} OFF 1\n"


def cloning_line(start_us: int, ends: Ends, *, file: str) -> str:
    """Return the line that plays a capture once."""
    return f"{seconds_text(start_us)} ON 1 {ends.options('udp')} CLONE [tcpdump {file} 0]\n"


def write_clone(path: Path, flow: FlowSchedule) -> None:
    """Write a pcap file, with times in microseconds, of the headers of UDP datagrams in IPv4.

    MGEN takes times and original lengths from it; addresses are those for documentation (RFC 5737).
    """
    ip_bytes = flow.payload_bytes + smallest_header_bytes("udp", ip_version=4)
    packets = {
        "time_ns": flow.time_ns,
        "flow": np.zeros(len(flow), dtype=np.uint32),
        "to_client": np.ones(len(flow), dtype=np.bool_),
        "frame_bytes": (ip_bytes + ETHERNET_HEADER_BYTES).astype(np.uint32),
        "ip_bytes": ip_bytes.astype(np.uint32),
        "payload_bytes": flow.payload_bytes.astype(np.uint32),
    }
    stream = stream_of(PacketTable(pa.table(packets), infer_flows(0, len(flow))))
    write_capture_stream(stream, path, container="pcap_us", snaplen_bytes=FEWEST_FRAME_BYTES)
