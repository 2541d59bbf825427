"""Traces of bursts that the vr-app of ns-3 plays."""

from __future__ import annotations

import numpy as np

from trafficgen.capture.traces.frames import Frames, sum_gaps
from trafficgen.capture.traces.lines import drop_lines, match_lines, most_lines
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.text import TextFile, parse_decimals
from trafficgen.capture.traces.trace_format import Notes, ReadTrace, TraceFormat
from trafficgen.capture.traces.video import PACKETISING, read_frames

_DECIMAL = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_LINE = rf"^\s*(?P<size>[0-9]{{1,10}})\s*,\s*(?P<gap>{_DECIMAL})\s*$"


def read_vr_app(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of bursts: size in bytes, and s to the next burst.

    Raises:
        PacketTableError: If nothing is readable or the times add up to centuries.

    Source: description of TraceFileBurstGenerator of ns-3-vr-app.
    """
    notes = Notes()
    what, remedy = (
        "burst of a vr-app trace",
        "lines have size in bytes, a comma, and s to the next burst",
    )
    found, unread = match_lines(file, _LINE, what=what, remedy=remedy)
    gap_ns, known = parse_decimals(found.groups["gap"], 9)
    found = drop_lines(found, unread, ~known, file, what=what, remedy=remedy)
    time_ns = sum_gaps(file.name, np.concatenate([[0], gap_ns[known][:-1]]))
    frames = Frames.single_stream(time_ns, found.integers("size"))
    return read_frames(file, FORMAT.name, frames, options, unread=unread, notes=notes, rtp=False)


FORMAT = TraceFormat(
    name="vr-app",
    description="Bursts of the vr-app of ns-3: size in bytes, comma, s to the next burst.",
    looks_like=most_lines(_LINE),
    read=read_vr_app,
    place=8,
    takes=PACKETISING,
)
