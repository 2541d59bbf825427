"""Traces that NetPerfMeter of INET plays."""

from __future__ import annotations

import numpy as np

from trafficgen.capture.traces.frames import PACKETISING, Frames, cut_frames, number_rows, sum_gaps
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.text import parse_decimals
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, most_lines

_DECIMAL = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_LINE = (
    rf"^\s*(?P<delay>{_DECIMAL})\s+(?P<size>[0-9]{{1,10}})"
    r"(?:\s+(?P<stream>[0-9]{1,9}))?\s*(?:#.*)?$"
)
#: What a trace looks like: a delay with a point, or the 0 of a first line.
_SEEN = (
    r"^\s*(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?|0)\s+[0-9]{1,10}(?:\s+[0-9]{1,9})?\s*(?:#.*)?$"
)
#: This many delays that only grow are more likely times.
_ENOUGH_TO_TELL = 3


def read_netperfmeter(reading: Reading) -> Columns:
    """Return what NetPerfMeter of INET sends: delay in s, frame in bytes and maybe a stream.

    A delay comes before its frame; times count from the first frame, so that its own delay does
    not.

    Raises:
        PacketTableError: If nothing is readable or the delays add up to centuries.

    Source: description of ``traceFile`` in INET 4.7's NetPerfMeterApplication.
    """
    found = reading.match(_LINE)
    delay_ns, known = parse_decimals(found.groups["delay"], 9)
    found = reading.keep(found, known)
    delay_ns = delay_ns[known]
    if (
        len(delay_ns) >= _ENOUGH_TO_TELL
        and bool((np.diff(delay_ns) >= 0).all())
        and delay_ns[-1] > delay_ns[1]
    ):
        reading.doubts.append(
            "the first column only grows, as times do; it was read as the delay before each frame."
            " If it is a time, make it a CSV with the header time_s,ip_bytes"
        )
    time_ns = sum_gaps(reading, np.concatenate([[0], delay_ns[1:]]))
    stream, _ = number_rows(found.integers("stream"))
    frames = Frames(time_ns, found.integers("size"), stream)
    return cut_frames(reading, frames, rtp=False)


FORMAT = TraceFormat(
    name="inet",
    description=(
        "NetPerfMeter of INET: delay before the frame in s, frame in bytes, maybe a stream."
    ),
    looks_like=most_lines(_SEEN),
    read=read_netperfmeter,
    place=6,
    line="frame of a NetPerfMeter trace",
    remedy="lines have delay in s, frame in bytes and maybe a stream",
    takes=PACKETISING,
)
