"""Cut the frames of a trace into the IP packets that would carry them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.tables import (
    FULL_IP_BYTES,
    RTP_CLOCK_HZ,
    RTP_HEADER_BYTES,
    Columns,
    make_ends,
)
from trafficgen.capture.traces.trace_format import MOST_PACKETS, Notes, count_text
from trafficgen.errors import PacketTableError, SettingError
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, IntArray

#: Largest UDP payload in IPv4 (RFC 768 with RFC 791): 65535 less 28.
LARGEST_UDP_PAYLOAD_BYTES = 65_507
#: Times in a table stay well inside 64 bits: 73 years.
_LONGEST_NS = float(1 << 61)
#: A fixed RTP source, so that the same trace gives the same bytes.
_FIRST_SSRC = 0x7446_0001


@dataclass(frozen=True)
class Frames:
    """Application frames in the order in which they are sent, shape (n,) each.

    Attributes:
        time_ns: When they are sent, ns.
        size_bytes: Their size, bytes; 0 sends nothing.
        stream: Number of their stream, from 0.
    """

    time_ns: IntArray
    size_bytes: IntArray
    stream: IntArray

    @classmethod
    def single_stream(cls, time_ns: IntArray, size_bytes: IntArray) -> Frames:
        """Return frames that all belong to one stream."""
        return cls(time_ns, size_bytes, np.zeros(len(size_bytes), dtype=np.int64))


def sum_gaps(file_name: str, gaps_ns: IntArray) -> IntArray:
    """Return the times of frames by the gaps before them, ns, shape (n,).

    Raises:
        PacketTableError: If the gaps add up to centuries.
    """
    if float(gaps_ns.sum(dtype=np.float64)) > _LONGEST_NS:
        raise PacketTableError(
            file=file_name, problem="its gaps add up to centuries", remedy="give gaps in s"
        )
    return np.cumsum(gaps_ns.astype(np.int64))


def cut_frames(
    file_name: str, frames: Frames, options: TraceOptions, *, rtp: bool, notes: Notes
) -> Columns:
    """Return the UDP packets that carry frames: full ones, and a last one with the rest.

    With ``options.line_rate_bps`` the packets of a stream leave one after the other at that rate, a
    frame's first not before its time; otherwise all packets of a frame have its time.

    Raises:
        PacketTableError: If that is more packets than memory holds.
        SettingError: If an option is out of range.
    """
    rtp = rtp if options.rtp is None else options.rtp
    extra_bytes = RTP_HEADER_BYTES if rtp else 0
    most_bytes = _largest_part(options, extra_bytes, notes)
    count = -(-frames.size_bytes // most_bytes)
    if int(count.sum(dtype=np.float64)) > MOST_PACKETS:
        problem = f"its frames make more than {MOST_PACKETS:,} packets"
        raise PacketTableError(
            file=file_name, problem=problem, remedy="check what the sizes count, or cut the trace"
        )
    of_frame = np.repeat(np.arange(len(count)), count)
    place = np.arange(len(of_frame)) - np.repeat(np.cumsum(count) - count, count)
    is_last = place == count[of_frame] - 1
    part_bytes = np.where(is_last, frames.size_bytes[of_frame] - place * most_bytes, most_bytes)
    streams = int(frames.stream.max(initial=0)) + 1
    ends = [
        make_ends(
            number, media="video" if rtp else "unknown", ssrc=_FIRST_SSRC + number if rtp else None
        )
        for number in range(streams)
    ]
    payload_bytes = part_bytes + extra_bytes
    ip_bytes = payload_bytes + ends[0].header_bytes
    flow = frames.stream[of_frame]
    time_ns = frames.time_ns[of_frame]
    if options.line_rate_bps is not None:
        time_ns = _space_packets(time_ns, ip_bytes, flow, streams, options.line_rate_bps)
    if empty := int((frames.size_bytes == 0).sum()):
        notes.assumptions.append(f"{count_text(empty, 'frame')} of 0 bytes sent nothing")
    if rtp:
        notes.assumptions.append(
            f"frames travel in RTP over UDP, clock {RTP_CLOCK_HZ} Hz, marker on the last packet"
        )
    optional = _rtp_columns(frames, of_frame, flow, is_last, streams) if rtp else None
    return Columns(time_ns, ip_bytes, payload_bytes, flow, ends, optional=optional)


def _largest_part(options: TraceOptions, extra_bytes: int, notes: Notes) -> int:
    header_bytes = make_ends(0).header_bytes
    if options.payload_bytes is None:
        most_bytes = FULL_IP_BYTES - header_bytes - extra_bytes
        notes.assumptions.append(
            f"packets carry at most {most_bytes} bytes of a frame (IP packets of {FULL_IP_BYTES})"
        )
        return most_bytes
    if not 1 <= options.payload_bytes <= LARGEST_UDP_PAYLOAD_BYTES - extra_bytes:
        raise SettingError(
            f"--payload-bytes {options.payload_bytes}: a UDP packet carries from 1 to "
            f"{LARGEST_UDP_PAYLOAD_BYTES - extra_bytes} bytes of a frame"
        )
    return options.payload_bytes


def _space_packets(
    time_ns: IntArray, ip_bytes: IntArray, flow: IntArray, streams: int, rate_bps: float
) -> IntArray:
    """Return when packets leave that wait for the one before: Lindley's recursion, vectorised."""
    result = time_ns.copy()
    for stream in range(streams):
        rows = np.flatnonzero(flow == stream)
        service_ns = np.rint(ip_bytes[rows] * (BITS_PER_BYTE * NS_PER_S / rate_bps)).astype(
            np.int64
        )
        before_ns = np.cumsum(service_ns) - service_ns
        result[rows] = (
            before_ns + np.maximum.accumulate(time_ns[rows] - before_ns) if len(rows) else 0
        )
    return result


def _rtp_columns(
    frames: Frames,
    of_frame: IntArray,
    flow: IntArray,
    is_last: np.ndarray[tuple[int], np.dtype[np.bool_]],
    streams: int,
) -> dict[str, pa.Array]:
    sequence = np.zeros(len(of_frame), dtype=np.int64)
    for stream in range(streams):
        rows = flow == stream
        sequence[rows] = np.arange(np.count_nonzero(rows))
    ticks = np.rint(frames.time_ns.astype(np.float64) * (RTP_CLOCK_HZ / NS_PER_S)).astype(np.int64)
    return {
        "rtp_ssrc": pa.array((_FIRST_SSRC + flow).astype(np.uint32)),
        "rtp_sequence": pa.array((sequence % (1 << 16)).astype(np.uint16)),
        "rtp_timestamp": pa.array((ticks[of_frame] % (1 << 32)).astype(np.uint32)),
        "rtp_marker": pa.array(is_last),
    }


def number_rows(*ids: IntArray) -> tuple[IntArray, IntArray]:
    """Number the distinct values, or combinations of values, from 0 by first appearance.

    Args:
        ids: Arrays of shape (n,); their combination in a row is what is numbered.

    Returns:
        The numbers, shape (n,), and the row at which each first appears, shape (how many there
        are,).
    """
    numbers = np.zeros(len(ids[0]), dtype=np.int64)
    first = np.zeros(0, dtype=np.int64)
    for values in ids:
        # Both factors are below the number of rows, so that the product stays within 64 bits.
        values_numbered = np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)
        key = numbers * (int(values_numbered.max(initial=0)) + 1) + values_numbered
        _, found, inverse = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(found, kind="stable")
        numbers = np.argsort(order, kind="stable")[inverse.reshape(-1)].astype(np.int64)
        first = found[order].astype(np.int64)
    return numbers, first
