"""Traces of syncodecs, Cisco's simulator of video codecs."""

from __future__ import annotations

from trafficgen.capture.traces.frames import Frames
from trafficgen.capture.traces.lines import match_lines, most_lines
from trafficgen.capture.traces.options import TraceOptions
from trafficgen.capture.traces.text import TextFile
from trafficgen.capture.traces.trace_format import Notes, ReadTrace, TraceFormat
from trafficgen.capture.traces.video import VIDEO_OPTIONS, even_times, read_frames, sizes_in_bytes

_NUMBER = r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_LINE = rf"^\s*[0-9]+\s+[IPBU]\s+{_NUMBER}\s+{_NUMBER}\s+(?P<size>[0-9]{{1,12}})\s*(?:[#%].*)?$"


def read_syncodecs(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of a syncodecs trace: number, type, quantiser, PSNR, size of each frame.

    Raises:
        PacketTableError: If nothing is readable, or neither the options nor a comment give the
            frame rate.

    Source: the description of the format in traces-reader.h of syncodecs (Cisco).
    """
    notes = Notes()
    remedy = "lines have number, type (I, P, B, U), QP, PSNR and size"
    found, unread = match_lines(file, _LINE, what="syncodecs frame", remedy=remedy)
    sizes = sizes_in_bytes(found.integers("size"), options.size_unit or "bytes", notes)
    frames = Frames.single_stream(even_times(file, sizes, options, notes), sizes)
    return read_frames(file, FORMAT.name, frames, options, unread=unread, notes=notes)


FORMAT = TraceFormat(
    name="syncodecs",
    description=(
        "Video frames of syncodecs: number, type, QP, PSNR, size in bytes; needs a frame rate."
    ),
    looks_like=most_lines(_LINE),
    read=read_syncodecs,
    place=5,
    takes=VIDEO_OPTIONS,
)
