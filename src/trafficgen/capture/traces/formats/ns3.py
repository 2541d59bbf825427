"""Traces that UdpTraceClient of ns-3 plays."""

from __future__ import annotations

import numpy as np

from trafficgen.capture.traces.frames import PACKETISING, Frames, cut_frames
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.text import matches, parse_decimals
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, most_lines
from trafficgen.formatting import format_count
from trafficgen.units import BoolArray, IntArray

_LINE = (
    r"^\s*(?P<index>[0-9]{1,10})\s+(?P<type>[IPB])\s+"
    r"(?P<time>[0-9]{1,10}(?:\.[0-9]+)?)\s+(?P<size>[0-9]{1,10})\s*$"
)


def read_ns3(reading: Reading) -> Columns:
    """Return what ns-3's UdpTraceClient sends: a frame a line, with number, type, ms and size.

    The first frame goes at once, whatever its time; a B frame goes with the frame before it. Frames
    are cut as in any other trace: a line no longer than ``payload_bytes`` is one packet with so
    much UDP payload.

    Raises:
        PacketTableError: If nothing is readable.

    Source: description and observed behaviour of UdpTraceClient in ns-3.37 and 3.44.
    """
    found = reading.match(_LINE)
    time_ns, _ = parse_decimals(found.groups["time"], 6)
    is_b = matches(found.groups["type"], "B")
    if is_b.any():
        reading.assumptions.append(
            f"B frames ({int(is_b.sum()):,}) go with the frame before them, as ns-3 sends them"
        )
    time_ns = _with_frame_before(time_ns, is_b)
    if steps := int((np.diff(time_ns) < 0).sum()):
        reading.doubts.append(
            f"the time goes back {format_count(steps, 'time')}; ns-3 would wait weeks there, here"
            " it is sorted"
        )
    index = found.integers("index")
    if skipped := int((np.diff(index, prepend=0) == 0).sum()):
        reading.doubts.append(
            f"{format_count(skipped, 'line')} with the number of the line before (or 0): ns-3"
            " leaves them out"
        )
    frames = Frames.single_stream(time_ns - time_ns[0], found.integers("size"))
    return cut_frames(reading, frames, rtp=False)


def _with_frame_before(time_ns: IntArray, is_b: BoolArray) -> IntArray:
    own = np.flatnonzero(~is_b)
    if not len(own):
        return np.zeros_like(time_ns)
    before = np.searchsorted(own, np.arange(len(time_ns)), side="right") - 1
    return time_ns[own[np.maximum(before, 0)]]


FORMAT = TraceFormat(
    name="ns3",
    description=(
        "UdpTraceClient of ns-3: number, type (I, P, B), time in ms, UDP payload of a frame in"
        " bytes."
    ),
    looks_like=most_lines(_LINE),
    read=read_ns3,
    place=4,
    line="frame of a UdpTraceClient trace",
    remedy="lines have number, type (I, P, B), ms and size",
    takes=PACKETISING,
)
