"""Traces of syncodecs, Cisco's simulator of video codecs."""

from __future__ import annotations

from trafficgen.capture.traces.frames import VIDEO_OPTIONS, cut_even_frames
from trafficgen.capture.traces.tables import Columns
from trafficgen.capture.traces.trace_format import Reading, TraceFormat, most_lines

_NUMBER = r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_LINE = rf"^\s*[0-9]+\s+[IPBU]\s+{_NUMBER}\s+{_NUMBER}\s+(?P<size>[0-9]{{1,12}})\s*(?:[#%].*)?$"


def read_syncodecs(reading: Reading) -> Columns:
    """Return the packets of a syncodecs trace: number, type, quantiser, PSNR, size of each frame.

    Raises:
        PacketTableError: If nothing is readable, or neither the options nor a comment give the
            frame rate.

    Source: the description of the format in traces-reader.h of syncodecs (Cisco).
    """
    return cut_even_frames(reading, reading.match(_LINE).integers("size"))


FORMAT = TraceFormat(
    name="syncodecs",
    description=(
        "Video frames of syncodecs: number, type, QP, PSNR, size in bytes; needs a frame rate."
    ),
    looks_like=most_lines(_LINE),
    read=read_syncodecs,
    place=5,
    line="syncodecs frame",
    remedy="lines have number, type (I, P, B, U), QP, PSNR and size",
    takes=VIDEO_OPTIONS,
)
