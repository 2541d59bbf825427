"""Traces of the video trace library of Arizona State University (ASU)."""

from __future__ import annotations

import re

import numpy as np

from trafficgen.capture.traces.frames import Frames
from trafficgen.capture.traces.lines import any_line, drop_lines, match_lines, most_lines
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.text import TextFile, parse_decimals
from trafficgen.capture.traces.trace_format import Notes, ReadTrace, TraceFormat
from trafficgen.capture.traces.video import VIDEO_OPTIONS, even_times, read_frames, sizes_in_bytes
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, IntArray

_NUMBER = r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_VERBOSE = (
    rf"^\s*[0-9]+\s+(?P<time>[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{{1,3}})?)\s+(?P<type>IDR|I|P|B)\s+"
    rf"(?P<size>[0-9]{{1,12}})(?:\s+{_NUMBER})*\s*$"
)
_TERSE = rf"^\s*(?P<size>[0-9]{{1,12}})\s+{_NUMBER}\s*$"
_LARGEST_FRAME = re.compile(r"(?i)max\w{0,8}\.? frame size\D{0,40}?bytes?\D{0,40}?([0-9]{1,12})")


def read_asu(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of an ASU trace, verbose (number, time, type, size) or terse (size).

    Sizes count bits, as its readers take them, unless the options say bytes or the largest one is
    what the comments give as the largest frame in bytes. Frames whose display times go back are
    sent in the order of the file, evenly.

    Raises:
        PacketTableError: If nothing is readable, or a terse trace has no frame rate.

    Source: Seeling and Reisslein (2012), section on trace formats; INET readers of these traces.
    """
    notes = Notes()
    terse = not any_line(_VERBOSE)(file.sample())
    what, remedy = (
        "frame of a video trace",
        "lines have number, time, type and size, or size and PSNR",
    )
    found, unread = match_lines(file, _TERSE if terse else _VERBOSE, what=what, remedy=remedy)
    if not terse:
        time_ns, known = parse_decimals(found.groups["time"], 9)
        found = drop_lines(found, unread, ~known, file, what=what, remedy=remedy)
        time_ns = time_ns[known]
    counts = found.integers("size")
    sizes = sizes_in_bytes(counts, options.size_unit or _unit(file, counts, notes), notes)
    if terse or options.frame_rate_fps is not None:
        time_ns = even_times(file, sizes, options, notes)
    elif bool((np.diff(time_ns) < 0).any()):
        time_ns = _in_file_order(time_ns, notes)
    frames = Frames.single_stream(time_ns, sizes)
    return read_frames(file, FORMAT.name, frames, options, unread=unread, notes=notes)


def _unit(file: TextFile, counts: IntArray, notes: Notes) -> str:
    said = _LARGEST_FRAME.search(file.comments())
    if said is not None and int(counts.max()) == int(said[1]):
        return "bytes"
    if said is None or int(counts.max()) // BITS_PER_BYTE != int(said[1]):
        notes.doubts.append(
            "frame sizes were taken for bits; if they count bytes, say --size-unit bytes"
        )
    return "bits"


def _in_file_order(time_ns: IntArray, notes: Notes) -> IntArray:
    """Return times at the frames' usual distance: frames are sent in coding order."""
    steps_ns = np.diff(np.unique(time_ns))
    step_ns = int(np.median(steps_ns)) if len(steps_ns) else 0
    notes.assumptions.append(
        "display times go back (B frames), so frames are sent in the file's order, every"
        f" {step_ns / NS_PER_S:g} s"
    )
    return np.arange(len(time_ns), dtype=np.int64) * step_ns


FORMAT = TraceFormat(
    name="asu",
    description=(
        "Videos of the ASU trace library: number, time in s, type, size in bits, qualities; or size"
        " and PSNR."
    ),
    looks_like=most_lines(_VERBOSE),
    read=read_asu,
    place=6,
    takes=VIDEO_OPTIONS,
)
