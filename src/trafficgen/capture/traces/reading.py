"""Read a trace in a format that is named, or recognised by its first lines."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from trafficgen.capture.traces.formats import FORMATS
from trafficgen.capture.traces.formats.packet_list import FORMAT as PACKET_LIST
from trafficgen.capture.traces.formats.packet_list import PARQUET_ENDING, read_parquet_list
from trafficgen.capture.traces.options import OPTION_FLAGS, TraceOptions
from trafficgen.capture.traces.text import TextFile, is_text, read_text, text_beginning
from trafficgen.capture.traces.trace_format import Reading, ReadTrace, TraceFormat
from trafficgen.errors import CaptureError, CaptureWarning, PacketTableError, SettingError, warn
from trafficgen.formatting import find_name, suggest_name
from trafficgen.standard_streams import STANDARD_INPUT, describe_input

#: A key or the end after a brace, a value or the end after a bracket.
_BEGINS_AS_JSON = re.compile(r'\s*(\{\s*("[^"]*"\s*:|\})|\[\s*(["{\[\]\d-]|true|false|null))')
#: Key of a JSON file -> what the file is, and where it belongs.
_JSON_KINDS = {
    r"bandwidth_kbps|trace_pattern|rates_kbps|rates_bps|throughput_kbps": (
        "is a trace of a path's bandwidth, not of packets",
        "play traffic over it: simulate or generate MODEL"
        " [--path trace={file},delay=20ms|with path='trace={file},delay=20ms']",
    ),
    "schema_version": (
        "is a model, not packets",
        "make packets of it first: [trafficgen generate {file} -o packets.parquet|"
        "generate('{file}', 'packets.parquet')]",
    ),
    "rate|delay|queue|links|loss": (
        "is a path, not packets",
        "play traffic over it: simulate or generate MODEL [--path {file}|with path='{file}']",
    ),
    "": (
        "is JSON, and holds no packets",
        "give a capture, a packet table, or a list as CSV or Parquet",
    ),
}


def read_trace(
    name: str, *, format_name: str | None = None, options: TraceOptions | None = None
) -> ReadTrace:
    """Return the packets of a trace, in a format that is named or recognised by the content.

    ``format_name`` is that of one of :data:`FORMATS`; None recognises it. ``options`` give what the
    trace does not say, and ``-`` is standard input.

    Raises:
        PacketTableError: If the file cannot be read, is in no format that is known, or nothing in
            it is readable.
        SettingError: If there is no such format, or it does not take an option.

    Warns:
        CaptureWarning: For each doubt, such as lines that could not be read.
    """
    options = options or TraceOptions()
    format_name = format_name and find_format(format_name)
    if Path(name).suffix.lower() == PARQUET_ENDING and format_name in (None, PACKET_LIST.name):
        _check_options(PACKET_LIST, options)
        reading = Reading(TextFile(name, ""), PACKET_LIST, options, noun="row")
        result = reading.finish(read_parquet_list(reading))
    else:
        file = read_text(name)
        found = FORMATS[format_name] if format_name else _format_of(file)
        if found is None:
            if (error := _json_error(file)) is not None:
                raise error
            number = file.first_content()[0]
            problem = f"is in no known format of traces (line {number})" if number else "is empty"
            remedy = f"name its format with [--from|from_format=...]: {', '.join(FORMATS)}"
            raise PacketTableError(file=name, problem=problem, remedy=remedy)
        _check_options(found, options)
        reading = Reading(file, found, options)
        result = reading.finish(found.read(reading))
    for text in result.doubts:
        warn(f"{describe_input(name)}: {text}", CaptureWarning)
    return result


def find_format(wanted: str) -> str:
    """Return the name of a format as it is listed; raise SettingError for an unknown one."""
    name = find_name(wanted, FORMATS)
    if name is None:
        guess = suggest_name(wanted, FORMATS)
        raise SettingError(
            f"Unknown trace format {wanted!r}{guess}. Use one of {', '.join(FORMATS)}."
        )
    return name


def recognise_format(name: str) -> str | None:
    """Return the name of the format that a regular file is in by its beginning; None if unknown."""
    if name == STANDARD_INPUT or not Path(name).is_file():
        return None
    beginning = text_beginning(name)
    found = None if beginning is None else _format_of(beginning)
    return None if found is None else found.name


def refuse_text(name: str) -> None:
    """Refuse a regular file of text that is in no known format.

    Raises:
        PacketTableError: If it begins as JSON does.
        CaptureError: If it is any other text.
    """
    if not is_text(name) or (beginning := text_beginning(name)) is None or not beginning.text:
        return
    if (error := _json_error(beginning)) is not None:
        raise error
    remedy = (
        "give a capture, or name the format of this log:"
        f" [trafficgen convert {name} --from mgen -o packets.parquet|"
        f"convert({name!r}, 'packets.parquet', from_format='mgen')] (one of {', '.join(FORMATS)})"
    )
    raise CaptureError(file=name, problem="is text in no known format", remedy=remedy)


def _format_of(file: TextFile) -> TraceFormat | None:
    sample = file.sample()
    return next((its for its in _in_order() if its.looks_like(sample)), None)


@cache
def _in_order() -> tuple[TraceFormat, ...]:
    """Return the formats in the order in which a file is tried."""
    return tuple(sorted(FORMATS.values(), key=lambda its: its.place))


def _json_error(file: TextFile) -> PacketTableError | None:
    """Return the error of a file that begins as JSON does; None for others."""
    if not _BEGINS_AS_JSON.match(file.text):
        return None
    problem, remedy = next(
        texts
        for keys, texts in _JSON_KINDS.items()
        if not keys or re.search(rf'"(?:{keys})"\s*:', file.text)
    )
    return PacketTableError(file=file.name, problem=problem, remedy=remedy.format(file=file.name))


def _check_options(chosen: TraceFormat, options: TraceOptions) -> None:
    for field, flag in OPTION_FLAGS.items():
        if getattr(options, field) is not None and field not in chosen.takes:
            raise SettingError(f"[{flag}] means nothing for {chosen.name} traces; leave it out")
