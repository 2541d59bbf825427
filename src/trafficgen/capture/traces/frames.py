"""Frames of a trace: their times and sizes, and the IP packets that would carry them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from trafficgen.capture.memory import TABLE_PACKET_BYTES, Budget
from trafficgen.capture.traces.tables import (
    FULL_IP_BYTES,
    RTP_CLOCK_HZ,
    RTP_HEADER_BYTES,
    Columns,
    make_ends,
)
from trafficgen.capture.traces.trace_format import Reading
from trafficgen.errors import SettingError
from trafficgen.formatting import format_count, number
from trafficgen.process_memory import memory_limit_bytes
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, IntArray

#: A short text could ask for any number of packets: this many are always made, and more where
#: frames have no more packets than this on average (14 MB; a whole segment of video in a line is
#: less).
_ALWAYS_PACKETS = 1_000_000
_MOST_PACKETS_A_FRAME = 10_000
#: Largest UDP payload in IPv4 (RFC 768 with RFC 791): 65535 less 28.
LARGEST_UDP_PAYLOAD_BYTES = 65_507
#: Times in a table stay well inside 64 bits: 73 years.
_LONGEST_NS = float(1 << 61)
#: A fixed RTP source, so that the same trace gives the same bytes.
_FIRST_SSRC = 0x7446_0001
#: Options that readers of frames take, then those of frames without times as well.
PACKETISING = ("payload_bytes", "line_rate_bps", "rtp")
VIDEO_OPTIONS = ("frame_rate_fps", "size_unit", *PACKETISING)
#: A doubt about traces with times that were read at a given frame rate.
TIMES_NOT_USED = "the trace has times of its own, which are not used, since a frame rate was given"
_FRAME_RATE = re.compile(
    r"(?i)\b(?:fps|frame rate|frames per second)\b\D{0,20}?([0-9]{1,9}(?:\.[0-9]{1,9})?)"
)
#: Ascending sizes of this many lines may be the milliseconds of a mahimahi trace.
_MAHIMAHI_LINES = 10
#: Between a frame a day and a billion frames a second.
_FRAME_RATES_FPS = (1e-5, 1e9)


@dataclass(frozen=True)
class Frames:
    """Application frames in the order in which they are sent, shape (n,) each.

    Attributes:
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


def sum_gaps(reading: Reading, gaps_ns: IntArray) -> IntArray:
    """Return times of frames by their gaps, ns; raise PacketTableError if they take centuries."""
    if float(gaps_ns.sum(dtype=np.float64)) > _LONGEST_NS:
        raise reading.error("its gaps add up to centuries", "give gaps in s")
    return np.cumsum(gaps_ns.astype(np.int64))


def even_times(reading: Reading, sizes: IntArray) -> IntArray:
    """Return the times of frames at a steady rate, ns, shape (n,).

    Raises:
        PacketTableError: If neither the options nor a comment give the frame rate.
        SettingError: If the rate is out of range.
    """
    rate_fps = _frame_rate_fps(reading)
    if rate_fps is None:
        name = reading.file.name
        remedy = (
            f"give their rate: [trafficgen convert {name} --frame-rate 25 -o OUT.parquet|"
            f"convert({name!r}, 'OUT.parquet', frame_rate=25)]"
        )
        if len(sizes) >= _MAHIMAHI_LINES and bool((np.diff(sizes) >= 0).all()):
            remedy += "; if it is a mahimahi trace it belongs to a path: [--path trace=FILE]"
        raise reading.error("is a list of frame sizes without times", remedy)
    time_ns: IntArray = np.rint(np.arange(len(sizes)) * (NS_PER_S / rate_fps)).astype(np.int64)
    return time_ns


def _frame_rate_fps(reading: Reading) -> float | None:
    low, high = _FRAME_RATES_FPS
    if (given := reading.options.frame_rate_fps) is not None:
        if not low <= given <= high:
            raise SettingError(f"[--frame-rate {given:g}]: give frames per second: 25 or 29.97")
        return given
    found = _FRAME_RATE.search(reading.file.comments())
    if found is None or not low <= float(found[1]) <= high:
        return None
    reading.assumptions.append(f"{float(found[1]):g} frames in a second, as its comments say")
    return float(found[1])


def sizes_in_bytes(reading: Reading, counts: IntArray) -> IntArray:
    """Return sizes in bytes, shape (n,), of counts of what the options say: bytes or bits."""
    if reading.options.size_unit != "bits":
        return counts
    reading.assumptions.append("sizes count bits; eight make a byte, rounded up")
    return (counts + BITS_PER_BYTE - 1) // BITS_PER_BYTE


def cut_even_frames(reading: Reading, counts: IntArray) -> Columns:
    """Return the packets of frames at a steady rate, from their sizes, shape (n,).

    Raises:
        PacketTableError: If neither the options nor a comment give the frame rate.
    """
    sizes = sizes_in_bytes(reading, counts)
    return cut_frames(reading, Frames.single_stream(even_times(reading, sizes), sizes))


def cut_frames(reading: Reading, frames: Frames, *, rtp: bool = True) -> Columns:
    """Return the UDP packets that carry frames: full ones, and a last one with the rest.

    They are RTP's unless ``rtp`` is false or the options say otherwise. With
    ``options.line_rate_bps`` the packets of a stream leave one after the other at that rate, a
    frame's first not before its time; otherwise all packets of a frame have its time.

    Raises:
        PacketTableError: If that is more packets than such frames have, or than memory holds.
        SettingError: If an option is out of range.
    """
    options = reading.options
    rtp = rtp if options.rtp is None else options.rtp
    extra_bytes = RTP_HEADER_BYTES if rtp else 0
    most_bytes = _largest_part(reading, extra_bytes)
    count = -(-frames.size_bytes // most_bytes)
    _check_packets(reading, len(count), float(count.sum(dtype=np.float64)))
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
        reading.assumptions.append(f"{format_count(empty, 'frame')} of 0 bytes sent nothing")
    if rtp:
        reading.assumptions.append(
            f"frames travel in RTP over UDP, clock {RTP_CLOCK_HZ} Hz, marker on the last packet"
        )
    optional = _rtp_columns(frames, of_frame, flow, is_last, streams) if rtp else None
    return Columns(time_ns, ip_bytes, payload_bytes, flow, ends, optional=optional)


def _check_packets(reading: Reading, frames: int, packets: float) -> None:
    """Refuse frames that make more packets than frames have, or than memory holds."""
    if packets > max(_ALWAYS_PACKETS, frames * _MOST_PACKETS_A_FRAME):
        problem = f"{format_count(frames, 'frame')} would make {number(packets, digits=3)} packets"
        raise reading.error(problem, "check what the sizes count: [--size-unit|size_unit]")
    budget = Budget(memory_limit_bytes(), TABLE_PACKET_BYTES)
    if not budget.holds(int(packets)):
        remedy = "or cut the trace"
        raise budget.refusal(reading.file.name, int(packets), remedy=remedy, of_table=True)


def _largest_part(reading: Reading, extra_bytes: int) -> int:
    header_bytes = make_ends(0).header_bytes
    given_bytes = reading.options.payload_bytes
    if given_bytes is None:
        most_bytes = FULL_IP_BYTES - header_bytes - extra_bytes
        reading.assumptions.append(
            f"packets carry at most {most_bytes} bytes of a frame (IP packets of {FULL_IP_BYTES})"
        )
        return most_bytes
    if not 1 <= given_bytes <= LARGEST_UDP_PAYLOAD_BYTES - extra_bytes:
        raise SettingError(
            f"[--payload-bytes {given_bytes}]: a UDP packet carries from 1 to"
            f" {LARGEST_UDP_PAYLOAD_BYTES - extra_bytes} bytes of a frame"
        )
    return given_bytes


def _space_packets(
    time_ns: IntArray, ip_bytes: IntArray, flow: IntArray, streams: int, rate_bps: float
) -> IntArray:
    """Return when packets leave that wait for the one before: Lindley's recursion, vectorised."""
    result = time_ns.copy()
    for rows in _rows_of_streams(flow, streams):
        service_ns = np.rint(ip_bytes[rows] * (BITS_PER_BYTE * NS_PER_S / rate_bps)).astype(
            np.int64
        )
        before_ns = np.cumsum(service_ns) - service_ns
        result[rows] = before_ns + np.maximum.accumulate(time_ns[rows] - before_ns)
    return result


def _rows_of_streams(flow: IntArray, streams: int) -> list[IntArray]:
    """Return the rows of each stream, in their order; one sort serves any number of streams."""
    count = np.bincount(flow, minlength=streams)
    return np.split(np.argsort(flow, kind="stable"), np.cumsum(count)[:-1])


def _rtp_columns(
    frames: Frames,
    of_frame: IntArray,
    flow: IntArray,
    is_last: np.ndarray[tuple[int], np.dtype[np.bool_]],
    streams: int,
) -> dict[str, pa.Array]:
    sequence = np.zeros(len(of_frame), dtype=np.int64)
    for rows in _rows_of_streams(flow, streams):
        sequence[rows] = np.arange(len(rows))
    ticks = np.rint(frames.time_ns.astype(np.float64) * (RTP_CLOCK_HZ / NS_PER_S)).astype(np.int64)
    return {
        "rtp_ssrc": pa.array((_FIRST_SSRC + flow).astype(np.uint32)),
        "rtp_sequence": pa.array((sequence % (1 << 16)).astype(np.uint16)),
        "rtp_timestamp": pa.array((ticks[of_frame] % (1 << 32)).astype(np.uint32)),
        "rtp_marker": pa.array(is_last),
    }


def number_rows(*ids: IntArray) -> tuple[IntArray, IntArray]:
    """Number the distinct values, or combinations of values, from 0 by first appearance.

    Arrays have shape (n,); their combination in a row is what is numbered.

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
