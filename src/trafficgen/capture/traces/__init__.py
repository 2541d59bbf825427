"""Traces of other tools into packet tables: packet lists, frame sizes, inputs of simulators, logs
of load testers.
"""

from trafficgen.capture.traces.base import (
    SIZE_KINDS,
    SIZE_UNITS,
    TRANSPORTS,
    ReadTrace,
    SizeKind,
    SizeUnit,
    TraceFormat,
    TraceOptions,
    TransportName,
)
from trafficgen.capture.traces.formats import (
    FORMATS,
    OPTIONS,
    read_trace,
    recognised_format,
    refuse_json,
)
from trafficgen.capture.traces.packet_lists import PARQUET_ENDING, is_parquet_list
from trafficgen.capture.traces.text import is_text

__all__ = [
    "FORMATS",
    "OPTIONS",
    "PARQUET_ENDING",
    "SIZE_KINDS",
    "SIZE_UNITS",
    "TRANSPORTS",
    "ReadTrace",
    "SizeKind",
    "SizeUnit",
    "TraceFormat",
    "TraceOptions",
    "TransportName",
    "is_parquet_list",
    "is_text",
    "read_trace",
    "recognised_format",
    "refuse_json",
]
