"""Steps that readers of video traces share: frame rates, units of sizes, packets of the frames."""

from __future__ import annotations

import re

import numpy as np

from trafficgen.capture.traces.frames import Frames, cut_frames
from trafficgen.capture.traces.lines import Unread, read_result
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.text import TextFile
from trafficgen.capture.traces.trace_format import Notes, ReadTrace
from trafficgen.errors import PacketTableError, SettingError
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, IntArray

#: Options that readers of frames take, then those of frames without times as well.
PACKETISING = ("payload_bytes", "line_rate_bps", "rtp")
VIDEO_OPTIONS = ("frame_rate_fps", "size_unit", *PACKETISING)
_FRAME_RATE = re.compile(
    r"(?i)\b(?:fps|frame rate|frames per second)\b\D{0,20}?([0-9]{1,9}(?:\.[0-9]{1,9})?)"
)
#: Ascending sizes of so many lines may be the milliseconds of a mahimahi trace.
_MAHIMAHI_LINES = 10
#: Between a frame a day and a billion frames a second.
_FRAME_RATES_FPS = (1e-5, 1e9)


def _frame_rate_fps(file: TextFile, options: TraceOptions, notes: Notes) -> float | None:
    given = options.frame_rate_fps
    if given is not None:
        if not _FRAME_RATES_FPS[0] <= given <= _FRAME_RATES_FPS[1]:
            raise SettingError(f"--frame-rate {given:g}: give frames per second: 25 or 29.97")
        return given
    found = _FRAME_RATE.search(file.comments())
    if found is None or not _FRAME_RATES_FPS[0] <= float(found[1]) <= _FRAME_RATES_FPS[1]:
        return None
    notes.assumptions.append(f"{float(found[1]):g} frames in a second, as its comments say")
    return float(found[1])


def even_times(file: TextFile, sizes: IntArray, options: TraceOptions, notes: Notes) -> IntArray:
    """Return the times of frames at a steady rate, ns, shape (n,).

    Raises:
        PacketTableError: If neither the options nor a comment give the frame rate.
        SettingError: If the rate is out of range.
    """
    rate_fps = _frame_rate_fps(file, options, notes)
    if rate_fps is None:
        remedy = f"give their rate: trafficgen convert {file.name} --frame-rate 25 -o OUT.parquet"
        if len(sizes) >= _MAHIMAHI_LINES and bool((np.diff(sizes) >= 0).all()):
            remedy += "; if it is a mahimahi trace it belongs to a path: --path trace=FILE"
        raise PacketTableError(
            file=file.name, problem="is a list of frame sizes without times", remedy=remedy
        )
    time_ns: IntArray = np.rint(np.arange(len(sizes)) * (NS_PER_S / rate_fps)).astype(np.int64)
    return time_ns


def sizes_in_bytes(counts: IntArray, unit: str, notes: Notes) -> IntArray:
    """Return sizes in bytes, shape (n,), of counts of bytes or bits."""
    if unit == "bytes":
        return counts
    notes.assumptions.append("sizes count bits; eight make a byte, rounded up")
    return (counts + BITS_PER_BYTE - 1) // BITS_PER_BYTE


def read_frames(
    file: TextFile,
    name: str,
    frames: Frames,
    options: TraceOptions,
    *,
    unread: Unread,
    notes: Notes,
    rtp: bool = True,
) -> ReadTrace:
    """Return the packets of frames, in RTP unless ``rtp`` is false or the options say otherwise."""
    columns = cut_frames(file.name, frames, options, rtp=rtp, notes=notes)
    records = len(frames.size_bytes)
    return read_result(file, columns, format_name=name, records=records, unread=unread, notes=notes)
