"""Traces that simulators play: ns-3's UdpTraceClient and vr-app, and NetPerfMeter of INET."""

from __future__ import annotations

import numpy as np

from trafficgen.capture.traces.base import Notes, ReadTrace, TraceFormat, TraceOptions, counted
from trafficgen.capture.traces.packetising import Frames, numbered, packets_of
from trafficgen.capture.traces.reading import most_lines, read_result, understood, without
from trafficgen.capture.traces.text import TextFile, matches, scaled_decimals
from trafficgen.errors import PacketTableError
from trafficgen.units import BoolArray, IntArray

_DECIMAL = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]{1,3})?"
_NS3 = r"^\s*(?P<index>[0-9]{1,10})\s+(?P<type>[IPB])\s+(?P<time>[0-9]{1,10}(?:\.[0-9]+)?)\s+(?P<size>[0-9]{1,10})\s*$"
_NETPERFMETER = rf"^\s*(?P<delay>{_DECIMAL})\s+(?P<size>[0-9]{{1,10}})(?:\s+(?P<stream>[0-9]{{1,9}}))?\s*(?:#.*)?$"
#: What a NetPerfMeter trace looks like: a delay with a point, or the 0 of a first line.
_NETPERFMETER_SEEN = (
    r"^\s*(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]{1,3})?|0)\s+[0-9]{1,10}(?:\s+[0-9]{1,9})?\s*(?:#.*)?$"
)
_VR_APP = rf"^\s*(?P<size>[0-9]{{1,10}})\s*,\s*(?P<gap>{_DECIMAL})\s*$"
#: Times in a table stay well inside 64 bits: 73 years.
#: So many delays that only grow are more likely times.
_ENOUGH_TO_TELL = 3
_LONGEST_NS = float(1 << 61)


def read_ns3(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return what ns-3's UdpTraceClient sends of a trace: a frame a line, with number, type, time
    in ms and size.

    The first frame goes at once, whatever its time; a B frame goes with the frame before it. Beyond
    that frames are
    cut as in any other trace: a line no longer than ``payload_bytes`` is one packet with so much
    UDP payload.

    Raises:
        PacketTableError: If nothing is readable.

    Source: description and observed behaviour of UdpTraceClient in ns-3.37 and 3.44.
    """
    notes = Notes()
    found, unread = understood(
        file,
        _NS3,
        what="frame of a UdpTraceClient trace",
        remedy="lines have number, type (I, P, B), ms and size",
    )
    time_ns, _ = scaled_decimals(found.groups["time"], 6)
    is_b = matches(found.groups["type"], "B")
    if is_b.any():
        notes.assumptions.append(
            f"B frames ({int(is_b.sum()):,}) go with the frame before them, as ns-3 sends them"
        )
    time_ns = _with_frame_before(time_ns, is_b)
    if steps := int((np.diff(time_ns) < 0).sum()):
        notes.doubts.append(
            f"the time goes back {counted(steps, 'time')}; ns-3 would wait weeks there, here it is"
            " sorted"
        )
    index = found.integers("index")
    if skipped := int((np.diff(index, prepend=0) == 0).sum()):
        notes.doubts.append(
            f"{counted(skipped, 'line')} with the number of the line before (or 0): ns-3 leaves"
            " them out"
        )
    frames = Frames(
        time_ns - time_ns[0], found.integers("size"), np.zeros(len(found), dtype=np.int64)
    )
    columns = packets_of(file.name, frames, options, rtp=False, notes=notes)
    return read_result(
        file, columns, format_name="ns3", records=len(found), unread=unread, notes=notes
    )


def _with_frame_before(time_ns: IntArray, is_b: BoolArray) -> IntArray:
    own = np.flatnonzero(~is_b)
    if not len(own):
        return np.zeros_like(time_ns)
    before = np.searchsorted(own, np.arange(len(time_ns)), side="right") - 1
    return time_ns[own[np.maximum(before, 0)]]


def read_netperfmeter(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return what NetPerfMeter of INET sends of a trace in one pass: delay in s, frame in bytes and
    maybe a stream.

    A delay comes before its frame; times count from the first frame, so that its own delay does
    not.

    Raises:
        PacketTableError: If nothing is readable or the delays add up to centuries.

    Source: description of ``traceFile`` in INET 4.7's NetPerfMeterApplication.
    """
    notes = Notes()
    what, remedy = (
        "frame of a NetPerfMeter trace",
        "lines have delay in s, frame in bytes and maybe a stream",
    )
    found, unread = understood(file, _NETPERFMETER, what=what, remedy=remedy)
    delay_ns, known = scaled_decimals(found.groups["delay"], 9)
    found = without(found, unread, ~known, file, what=what, remedy=remedy)
    delay_ns = delay_ns[known]
    if (
        len(delay_ns) >= _ENOUGH_TO_TELL
        and bool((np.diff(delay_ns) >= 0).all())
        and delay_ns[-1] > delay_ns[1]
    ):
        notes.doubts.append(
            "the first column only grows, as times do; it was read as the delay before each frame."
            " If it is a time, make it a CSV with the header time_s,ip_bytes"
        )
    time_ns = _summed(file, np.concatenate([[0], delay_ns[1:]]))
    stream, _ = numbered(found.integers("stream"))
    columns = packets_of(
        file.name, Frames(time_ns, found.integers("size"), stream), options, rtp=False, notes=notes
    )
    return read_result(
        file, columns, format_name="inet", records=len(found), unread=unread, notes=notes
    )


def read_vr_app(file: TextFile, options: TraceOptions) -> ReadTrace:
    """Return the packets of bursts: size in bytes and time to the next burst in s, as the vr-app of
    ns-3 reads them.

    Raises:
        PacketTableError: If nothing is readable or the times add up to centuries.

    Source: description of TraceFileBurstGenerator of ns-3-vr-app.
    """
    notes = Notes()
    what, remedy = (
        "burst of a vr-app trace",
        "lines have size in bytes, a comma, and s to the next burst",
    )
    found, unread = understood(file, _VR_APP, what=what, remedy=remedy)
    gap_ns, known = scaled_decimals(found.groups["gap"], 9)
    found = without(found, unread, ~known, file, what=what, remedy=remedy)
    time_ns = _summed(file, np.concatenate([[0], gap_ns[known][:-1]]))
    frames = Frames(time_ns, found.integers("size"), np.zeros(len(found), dtype=np.int64))
    columns = packets_of(file.name, frames, options, rtp=False, notes=notes)
    return read_result(
        file, columns, format_name="vr-app", records=len(found), unread=unread, notes=notes
    )


def _summed(file: TextFile, gaps_ns: IntArray) -> IntArray:
    if float(gaps_ns.sum(dtype=np.float64)) > _LONGEST_NS:
        raise PacketTableError(
            file=file.name, problem="its gaps add up to centuries", remedy="give gaps in s"
        )
    return np.cumsum(gaps_ns.astype(np.int64))


_TAKES = ("payload_bytes", "line_rate_bps", "rtp")
NS3 = TraceFormat(
    name="ns3",
    description=(
        "UdpTraceClient of ns-3: number, type (I, P, B), time in ms, UDP payload of a frame in"
        " bytes."
    ),
    looks_like=most_lines(_NS3),
    read=read_ns3,
    takes=_TAKES,
)
NETPERFMETER = TraceFormat(
    name="inet",
    description=(
        "NetPerfMeter of INET: delay before the frame in s, frame in bytes, maybe a stream."
    ),
    looks_like=most_lines(_NETPERFMETER_SEEN),
    read=read_netperfmeter,
    takes=_TAKES,
)
VR_APP = TraceFormat(
    name="vr-app",
    description="Bursts of the vr-app of ns-3: size in bytes, comma, s to the next burst.",
    looks_like=most_lines(_VR_APP),
    read=read_vr_app,
    takes=_TAKES,
)
