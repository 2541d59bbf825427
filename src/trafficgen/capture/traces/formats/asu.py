"""Traces of the video trace library of Arizona State University (ASU)."""

from __future__ import annotations

import re

import numpy as np

from trafficgen.capture.traces.frames import (
    TIMES_NOT_USED,
    VIDEO_OPTIONS,
    Frames,
    cut_frames,
    even_times,
    sizes_in_bytes,
)
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.text import parse_decimals
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, any_line, most_lines
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, IntArray

_NUMBER = r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_VERBOSE = (
    rf"^\s*[0-9]+\s+(?P<time>[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{{1,3}})?)\s+(?P<type>IDR|I|P|B)\s+"
    rf"(?P<size>[0-9]{{1,12}})(?:\s+{_NUMBER})*\s*$"
)
_TERSE = rf"^\s*(?P<size>[0-9]{{1,12}})\s+{_NUMBER}\s*$"
_LARGEST_FRAME = re.compile(r"(?i)max\w{0,8}\.? frame size\D{0,40}?bytes?\D{0,40}?([0-9]{1,12})")


def read_asu(reading: Reading) -> Columns:
    """Return the packets of an ASU trace, verbose (number, time, type, size) or terse (size).

    Sizes count bits, as its readers take them, unless the options say bytes or the largest one is
    what the comments give as the largest frame in bytes. Frames whose display times go back are
    sent in the order of the file, evenly.

    Raises:
        PacketTableError: If nothing is readable, or a terse trace has no frame rate.

    Source: Seeling and Reisslein (2012), section on trace formats; INET readers of these traces.
    """
    options = reading.options
    terse = not any_line(_VERBOSE)(reading.file.sample())
    found = reading.match(_TERSE if terse else _VERBOSE)
    if not terse:
        time_ns, known = parse_decimals(found.groups["time"], 9)
        found, time_ns = reading.keep(found, known), time_ns[known]
    counts = found.integers("size")
    sizes = sizes_in_bytes(reading, counts, options.size_unit or _unit(reading, counts))
    if terse or options.frame_rate_fps is not None:
        if not terse:
            reading.doubts.append(TIMES_NOT_USED)
        time_ns = even_times(reading, sizes)
    elif bool((np.diff(time_ns) < 0).any()):
        time_ns = _in_file_order(reading, time_ns)
    return cut_frames(reading, Frames.single_stream(time_ns, sizes))


def _unit(reading: Reading, counts: IntArray) -> str:
    said = _LARGEST_FRAME.search(reading.file.comments())
    if said is not None and int(counts.max()) == int(said[1]):
        return "bytes"
    if said is None or int(counts.max()) // BITS_PER_BYTE != int(said[1]):
        reading.doubts.append(
            "frame sizes were taken for bits; if they count bytes, say [--size-unit bytes]"
        )
    return "bits"


def _in_file_order(reading: Reading, time_ns: IntArray) -> IntArray:
    """Return times at the frames' usual distance: frames are sent in coding order."""
    steps_ns = np.diff(np.unique(time_ns))
    step_ns = int(np.median(steps_ns)) if len(steps_ns) else 0
    reading.assumptions.append(
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
    line="frame of a video trace",
    remedy="lines have number, time, type and size, or size and PSNR",
    takes=VIDEO_OPTIONS,
)
