"""Captures, packet-table files and traces of other tools (``capture.traces``) into packet tables.

Names are loaded on first use (PEP 562): help texts need the options of reading alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trafficgen.capture.datasets import read_dataset
    from trafficgen.capture.read import CapturePackets, PacketsBeyondLimitError, read_capture
    from trafficgen.capture.scan import CaptureScan, Progress, scan_capture
    from trafficgen.capture.streams import stream_capture
    from trafficgen.capture.table_files import (
        holds_packet_table,
        read_csv_table,
        read_parquet_table,
    )
    from trafficgen.capture.table_streams import TableFile, open_table_file, packets_in

_MODULES = {
    "CapturePackets": "read",
    "CaptureScan": "scan",
    "PacketsBeyondLimitError": "read",
    "Progress": "scan",
    "TableFile": "table_streams",
    "holds_packet_table": "table_files",
    "open_table_file": "table_streams",
    "packets_in": "table_streams",
    "read_capture": "read",
    "read_csv_table": "table_files",
    "read_dataset": "datasets",
    "read_parquet_table": "table_files",
    "scan_capture": "scan",
    "stream_capture": "streams",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


__all__ = [
    "CapturePackets",
    "CaptureScan",
    "PacketsBeyondLimitError",
    "Progress",
    "TableFile",
    "holds_packet_table",
    "open_table_file",
    "packets_in",
    "read_capture",
    "read_csv_table",
    "read_dataset",
    "read_parquet_table",
    "scan_capture",
    "stream_capture",
]
