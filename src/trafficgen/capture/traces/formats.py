"""The table of trace formats: how a file is recognised and read; a new reader is entered here and
nowhere else.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from trafficgen.capture.traces.base import ReadTrace, TraceFormat, TraceOptions
from trafficgen.capture.traces.ditg import DITG
from trafficgen.capture.traces.frame_traces import ASU, FRAME_SIZES, SYNCODECS
from trafficgen.capture.traces.json_files import json_error
from trafficgen.capture.traces.mgen import MGEN
from trafficgen.capture.traces.packet_lists import PACKET_LIST, PARQUET_ENDING, read_parquet_list
from trafficgen.capture.traces.simulator_traces import NETPERFMETER, NS3, VR_APP
from trafficgen.capture.traces.text import STANDARD_INPUT, TextFile, read_text, text_beginning
from trafficgen.errors import CaptureWarning, PacketTableError, SettingError

#: Formats by their name on the command line, in the order in which a file is tried.
FORMATS: dict[str, TraceFormat] = {
    its.name: its
    for its in (PACKET_LIST, MGEN, DITG, NS3, SYNCODECS, ASU, NETPERFMETER, VR_APP, FRAME_SIZES)
}
#: Options of the command line for the fields of :class:`TraceOptions`.
OPTIONS = {
    "frame_rate_fps": "--frame-rate",
    "payload_bytes": "--payload-bytes",
    "sizes": "--sizes",
    "size_unit": "--size-unit",
    "line_rate_bps": "--line-rate",
    "rtp": "--rtp",
    "protocol": "--protocol",
}


def read_trace(
    name: str, *, format_name: str | None = None, options: TraceOptions | None = None
) -> ReadTrace:
    """Return the packets of a trace, in a format that is named or recognised by the content.

    Args:
        name: File, or ``-`` for standard input.
        format_name: Name of a format of :data:`FORMATS`; None recognises it.
        options: What the trace does not say.

    Raises:
        PacketTableError: If the file cannot be read, is in no format that is known, or nothing in
            it is readable.
        SettingError: If there is no such format, or it does not take an option.

    Warns:
        CaptureWarning: For each doubt, such as lines that could not be read.
    """
    options = options or TraceOptions()
    if format_name is not None and format_name not in FORMATS:
        raise SettingError(
            f"there is no trace format {format_name!r}; formats are {', '.join(FORMATS)}"
        )
    if Path(name).suffix.lower() == PARQUET_ENDING and format_name in (None, PACKET_LIST.name):
        _check_options(PACKET_LIST, options)
        result = read_parquet_list(name, options)
    else:
        file = read_text(name)
        found = FORMATS[format_name] if format_name else _format_of(file)
        if found is None:
            if (error := json_error(file)) is not None:
                raise error
            number = file.first_content()[0]
            problem = f"is in no known format of traces (line {number})" if number else "is empty"
            remedy = f"name its format with --from: {', '.join(FORMATS)}"
            raise PacketTableError(file=name, problem=problem, remedy=remedy)
        _check_options(found, options)
        result = found.read(file, options)
    for text in result.doubts:
        warnings.warn(f"{name}: {text}", CaptureWarning, stacklevel=2)
    return result


def recognised_format(name: str) -> str | None:
    """Return the name of the format that a regular file is in by its beginning, None where it is
    none of them.
    """
    if name == STANDARD_INPUT or not Path(name).is_file():
        return None
    beginning = text_beginning(name)
    found = None if beginning is None else _format_of(beginning)
    return None if found is None else found.name


def refuse_json(name: str) -> None:
    """Refuse a regular file that is JSON by its beginning, and say what it is instead of packets.

    Raises:
        PacketTableError: If it is.
    """
    beginning = text_beginning(name) if name != STANDARD_INPUT and Path(name).is_file() else None
    error = None if beginning is None else json_error(beginning)
    if error is not None:
        raise error


def _format_of(file: TextFile) -> TraceFormat | None:
    sample = file.sample()
    return next((its for its in FORMATS.values() if its.looks_like(sample)), None)


def _check_options(chosen: TraceFormat, options: TraceOptions) -> None:
    for field, option in OPTIONS.items():
        if getattr(options, field) is not None and field not in chosen.takes:
            raise SettingError(f"{option} means nothing for {chosen.name} traces; leave it out")
