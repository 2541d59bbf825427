"""Lists of frame sizes, one a line, as collections of video traces publish them."""

from __future__ import annotations

from trafficgen.capture.traces.frames import Frames
from trafficgen.capture.traces.lines import match_lines, most_lines
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.text import TextFile
from trafficgen.capture.traces.trace_format import Notes, ReadTrace, TraceFormat
from trafficgen.capture.traces.video import VIDEO_OPTIONS, even_times, read_frames, sizes_in_bytes

_LINE = r"^\s*(?P<size>[0-9]{1,12})(?:\.0*)?\s*$"


def read_frame_sizes(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of a list of frame sizes, one a line.

    Raises:
        PacketTableError: If nothing is readable, or neither the options nor a comment give the
            frame rate.
    """
    notes = Notes()
    remedy = "give one whole number of bytes a line, or say --from"
    found, unread = match_lines(file, _LINE, what="frame size", remedy=remedy)
    sizes = sizes_in_bytes(found.integers("size"), options.size_unit or "bytes", notes)
    frames = Frames.single_stream(even_times(file, sizes, options, notes), sizes)
    return read_frames(file, FORMAT.name, frames, options, unread=unread, notes=notes)


FORMAT = TraceFormat(
    name="frame-sizes",
    description="Sizes of video frames in bytes, one a line; needs a frame rate.",
    looks_like=most_lines(_LINE),
    read=read_frame_sizes,
    place=9,
    takes=VIDEO_OPTIONS,
)
