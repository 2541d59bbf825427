"""Traces of syncodecs, Cisco's simulator of video codecs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from trafficgen.capture.traces.frames import (
    TIMES_NOT_USED,
    VIDEO_OPTIONS,
    Frames,
    cut_even_frames,
    cut_frames,
    sizes_in_bytes,
)
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.text import parse_decimals
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, most_lines
from trafficgen.units import IntArray

_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_LINE = (
    rf"^\s*[0-9]+\s+[IPBU]\s+{_NUMBER}\s+(?P<time>{_NUMBER})\s+(?P<size>[0-9]{{1,12}})"
    r"\s*(?:[#%].*)?$"
)


def read_syncodecs(reading: Reading) -> Columns:
    """Return the packets of a syncodecs trace: number, type, X, time, size of each frame.

    X is not read. Older traces have the quantiser there and the PSNR in the place of the time:
    values that fall, or do not rise, are not times. Such frames, and all frames where the options
    give a frame rate, are sent evenly.

    Raises:
        PacketTableError: If nothing is readable, or neither the lines nor the options nor a comment
            give times or a frame rate.

    Source: traces and traces-reader.h of syncodecs (Cisco).
    """
    found = reading.match(_LINE)
    counts = found.integers("size")
    time_ns = _times(reading, found.groups["time"])
    if time_ns is not None and reading.options.frame_rate_fps is not None:
        reading.doubts.append(TIMES_NOT_USED)
    if time_ns is None or reading.options.frame_rate_fps is not None:
        return cut_even_frames(reading, counts)
    sizes = sizes_in_bytes(reading, counts)
    return cut_frames(reading, Frames.single_stream(time_ns - time_ns[0], sizes))


def _times(reading: Reading, column: pa.Array) -> IntArray | None:
    """Return the times of frames, ns, shape (n,); None if the column holds something else."""
    if "psnr" in reading.file.comments().lower():
        return None
    time_ns, known = parse_decimals(column, 9)
    rises = bool(known.all()) and bool((np.diff(time_ns) >= 0).all()) and time_ns[-1] > time_ns[0]
    return time_ns if rises else None


FORMAT = TraceFormat(
    name="syncodecs",
    description=(
        "Video frames of syncodecs: number, type, QP, time in s, size in bytes; older ones have the"
        " PSNR instead of the time and need a frame rate."
    ),
    looks_like=most_lines(_LINE),
    read=read_syncodecs,
    place=5,
    line="syncodecs frame",
    remedy="lines have number, type (I, P, B, U), QP, time in s and size",
    takes=VIDEO_OPTIONS,
)
