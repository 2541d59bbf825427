"""Lists of frame sizes, one a line, as collections of video traces publish them."""

from __future__ import annotations

from trafficgen.capture.traces.frames import VIDEO_OPTIONS, cut_even_frames
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, most_lines

_LINE = r"^\s*(?P<size>[0-9]{1,12})(?:\.0*)?\s*$"


def read_frame_sizes(reading: Reading) -> Columns:
    """Return the packets of a list of frame sizes, one a line.

    Raises:
        PacketTableError: If nothing is readable, or neither the options nor a comment give the
            frame rate.
    """
    return cut_even_frames(reading, reading.match(_LINE).integers("size"))


FORMAT = TraceFormat(
    name="frame-sizes",
    description="Sizes of video frames in bytes, one a line; needs a frame rate.",
    looks_like=most_lines(_LINE, fewest=2),  # one number may be a piece of any file
    read=read_frame_sizes,
    place=8,
    line="frame size",
    remedy="give one whole number of bytes a line, or say [--from|from_format=...]",
    takes=VIDEO_OPTIONS,
)
