"""Traces of bursts that the vr-app of ns-3 plays."""

from __future__ import annotations

import numpy as np

from trafficgen.capture.traces.frames import PACKETISING, Frames, cut_frames, sum_gaps
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.text import parse_decimals
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, most_lines

_DECIMAL = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_LINE = rf"^\s*(?P<size>[0-9]{{1,10}})\s*,\s*(?P<gap>{_DECIMAL})\s*$"


def read_vr_app(reading: Reading) -> Columns:
    """Return the packets of bursts: size in bytes, and s to the next burst.

    Raises:
        PacketTableError: If nothing is readable or the times add up to centuries.

    Source: description of TraceFileBurstGenerator of ns-3-vr-app.
    """
    found = reading.match(_LINE)
    gap_ns, known = parse_decimals(found.groups["gap"], 9)
    found = reading.keep(found, known)
    time_ns = sum_gaps(reading, np.concatenate([[0], gap_ns[known][:-1]]))
    return cut_frames(reading, Frames.single_stream(time_ns, found.integers("size")), rtp=False)


FORMAT = TraceFormat(
    name="vr-app",
    description="Bursts of the vr-app of ns-3: size in bytes, comma, s to the next burst.",
    looks_like=most_lines(_LINE),
    read=read_vr_app,
    place=7,
    line="burst of a vr-app trace",
    remedy="lines have size in bytes, a comma, and s to the next burst",
    takes=PACKETISING,
)
