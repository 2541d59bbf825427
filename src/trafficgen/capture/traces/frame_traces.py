"""Video traces: sizes of encoded frames, with or without times, as collections and codec simulators
publish them.
"""

from __future__ import annotations

import re

import numpy as np

from trafficgen.capture.traces.base import Notes, ReadTrace, TraceFormat, TraceOptions
from trafficgen.capture.traces.packetising import Frames, packets_of
from trafficgen.capture.traces.reading import (
    Unread,
    any_line,
    most_lines,
    read_result,
    understood,
    without,
)
from trafficgen.capture.traces.text import TextFile, scaled_decimals
from trafficgen.errors import PacketTableError, SettingError
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, IntArray

_NUMBER = r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_SIZES = r"^\s*(?P<size>[0-9]{1,12})(?:\.0*)?\s*$"
_SYNCODECS = (
    rf"^\s*[0-9]+\s+[IPBU]\s+{_NUMBER}\s+{_NUMBER}\s+(?P<size>[0-9]{{1,12}})\s*(?:[#%].*)?$"
)
_ASU_VERBOSE = (
    rf"^\s*[0-9]+\s+(?P<time>[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{{1,3}})?)\s+(?P<type>IDR|I|P|B)\s+"
    rf"(?P<size>[0-9]{{1,12}})(?:\s+{_NUMBER})*\s*$"
)
_ASU_TERSE = rf"^\s*(?P<size>[0-9]{{1,12}})\s+{_NUMBER}\s*$"
_FRAME_RATE = re.compile(
    r"(?i)\b(?:fps|frame rate|frames per second)\b\D{0,20}?([0-9]{1,9}(?:\.[0-9]{1,9})?)"
)
_LARGEST_FRAME = re.compile(r"(?i)max\w{0,8}\.? frame size\D{0,40}?bytes?\D{0,40}?([0-9]{1,12})")
_LINE_NUMBERS = 10
#: Between a frame a day and a billion frames a second.
_FRAME_RATES_FPS = (1e-5, 1e9)


def _frame_rate_fps(file: TextFile, options: TraceOptions, notes: Notes) -> float | None:
    given = options.frame_rate_fps
    if given is not None:
        if not _FRAME_RATES_FPS[0] <= given <= _FRAME_RATES_FPS[1]:
            raise SettingError(
                f"--frame-rate {given:g}: give frames in a second, such as 25 or 29.97"
            )
        return given
    found = _FRAME_RATE.search(file.comments())
    if found is None or not _FRAME_RATES_FPS[0] <= float(found[1]) <= _FRAME_RATES_FPS[1]:
        return None
    notes.assumptions.append(f"{float(found[1]):g} frames in a second, as its comments say")
    return float(found[1])


def _evenly_ns(
    file: TextFile, count: int, options: TraceOptions, notes: Notes, *, sizes: IntArray
) -> IntArray:
    """Return the times of frames at a steady rate, ns, shape (n,)."""
    rate_fps = _frame_rate_fps(file, options, notes)
    if rate_fps is None:
        remedy = f"give their rate: trafficgen convert {file.name} --frame-rate 25 -o OUT.parquet"
        if count >= _LINE_NUMBERS and bool((np.diff(sizes) >= 0).all()):
            remedy += "; if it is a mahimahi trace it belongs to a path: --path trace=FILE"
        raise PacketTableError(
            file=file.name, problem="is a list of frame sizes without times", remedy=remedy
        )
    time_ns: IntArray = np.rint(np.arange(count) * (NS_PER_S / rate_fps)).astype(np.int64)
    return time_ns


def read_frame_sizes(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of a list of frame sizes, one a line.

    Raises:
        PacketTableError: If nothing is readable, or neither the options nor a comment give the
            frame rate.
    """
    notes = Notes()
    found, unread = understood(
        file,
        _SIZES,
        what="frame size",
        remedy="give one whole number of bytes a line, or say --from",
    )
    sizes = _bytes(found.integers("size"), options.size_unit or "bytes", notes)
    time_ns = _evenly_ns(file, len(found), options, notes, sizes=sizes)
    return _video(
        file, "frame-sizes", _one_stream(time_ns, sizes), options, unread=unread, notes=notes
    )


def read_syncodecs(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of a trace of syncodecs: number, type, quantiser, PSNR and size in bytes
    of each frame.

    Raises:
        PacketTableError: If nothing is readable, or neither the options nor a comment give the
            frame rate.

    Source: the description of the format in traces-reader.h of syncodecs (Cisco).
    """
    notes = Notes()
    found, unread = understood(
        file,
        _SYNCODECS,
        what="syncodecs frame",
        remedy="lines have number, type (I, P, B, U), QP, PSNR and size",
    )
    sizes = _bytes(found.integers("size"), options.size_unit or "bytes", notes)
    time_ns = _evenly_ns(file, len(found), options, notes, sizes=sizes)
    return _video(
        file, "syncodecs", _one_stream(time_ns, sizes), options, unread=unread, notes=notes
    )


def read_asu(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of a trace of the ASU video trace library, verbose (number, time, type,
    size) or terse (size).

    Sizes count bits, as its readers take them, unless the options say bytes or the largest one is
    what the comments give as the largest frame in bytes. Frames whose display times go back are
    sent in the order of the file, evenly.

    Raises:
        PacketTableError: If nothing is readable, or a terse trace has no frame rate.

    Source: Seeling and Reisslein (2012), section on trace formats; INET readers of these traces.
    """
    notes = Notes()
    terse = not any_line(_ASU_VERBOSE)(file.sample())
    what, remedy = (
        "frame of a video trace",
        "lines have number, time, type and size, or size and PSNR",
    )
    found, unread = understood(
        file, _ASU_TERSE if terse else _ASU_VERBOSE, what=what, remedy=remedy
    )
    if not terse:
        time_ns, known = scaled_decimals(found.groups["time"], 9)
        found = without(found, unread, ~known, file, what=what, remedy=remedy)
        time_ns = time_ns[known]
    counts = found.integers("size")
    sizes = _bytes(counts, options.size_unit or _asu_unit(file, counts, notes), notes)
    if terse or options.frame_rate_fps is not None:
        time_ns = _evenly_ns(file, len(found), options, notes, sizes=sizes)
    elif bool((np.diff(time_ns) < 0).any()):
        time_ns = _in_file_order(time_ns, notes)
    return _video(file, "asu", _one_stream(time_ns, sizes), options, unread=unread, notes=notes)


def _asu_unit(file: TextFile, counts: IntArray, notes: Notes) -> str:
    said = _LARGEST_FRAME.search(file.comments())
    if said is not None and int(counts.max()) == int(said[1]):
        return "bytes"
    if said is None or int(counts.max()) // BITS_PER_BYTE != int(said[1]):
        notes.doubts.append(
            "frame sizes were taken for bits; if they count bytes, say --size-unit bytes"
        )
    return "bits"


def _in_file_order(time_ns: IntArray, notes: Notes) -> IntArray:
    """Return times at the frames' usual distance: coding order is the order of sending, display
    order is not.
    """
    steps_ns = np.diff(np.unique(time_ns))
    step_ns = int(np.median(steps_ns)) if len(steps_ns) else 0
    notes.assumptions.append(
        "display times go back (B frames), so frames are sent in the file's order, every"
        f" {step_ns / NS_PER_S:g} s"
    )
    return np.arange(len(time_ns), dtype=np.int64) * step_ns


def _bytes(counts: IntArray, unit: str, notes: Notes) -> IntArray:
    if unit == "bytes":
        return counts
    notes.assumptions.append("sizes count bits; eight make a byte, rounded up")
    return (counts + BITS_PER_BYTE - 1) // BITS_PER_BYTE


def _video(
    file: TextFile,
    name: str,
    frames: Frames,
    options: TraceOptions,
    *,
    unread: Unread,
    notes: Notes,
) -> ReadTrace:
    columns = packets_of(file.name, frames, options, rtp=True, notes=notes)
    records = len(frames.size_bytes)
    return read_result(file, columns, format_name=name, records=records, unread=unread, notes=notes)


def _one_stream(time_ns: IntArray, size_bytes: IntArray) -> Frames:
    return Frames(time_ns, size_bytes, np.zeros(len(size_bytes), dtype=np.int64))


_PACKETISING = ("payload_bytes", "line_rate_bps", "rtp")
FRAME_SIZES = TraceFormat(
    name="frame-sizes",
    description="Sizes of video frames in bytes, one a line; needs a frame rate.",
    looks_like=most_lines(_SIZES),
    read=read_frame_sizes,
    takes=("frame_rate_fps", "size_unit", *_PACKETISING),
)
SYNCODECS = TraceFormat(
    name="syncodecs",
    description=(
        "Video frames of syncodecs: number, type, QP, PSNR, size in bytes; needs a frame rate."
    ),
    looks_like=most_lines(_SYNCODECS),
    read=read_syncodecs,
    takes=("frame_rate_fps", "size_unit", *_PACKETISING),
)
ASU = TraceFormat(
    name="asu",
    description=(
        "Videos of the ASU trace library: number, time in s, type, size in bits, qualities; or size"
        " and PSNR."
    ),
    looks_like=most_lines(_ASU_VERBOSE),
    read=read_asu,
    takes=("frame_rate_fps", "size_unit", *_PACKETISING),
)
