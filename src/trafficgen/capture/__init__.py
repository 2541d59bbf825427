"""Captures, packet-table files and traces of other tools (``capture.traces``) into packet
tables.
"""

from trafficgen.capture.datasets import read_dataset
from trafficgen.capture.read import CapturePackets, PacketsBeyondLimitError, read_capture
from trafficgen.capture.scan import CaptureScan, Progress, scan_capture
from trafficgen.capture.streams import stream_capture
from trafficgen.capture.table_files import holds_packet_table, read_csv_table, read_parquet_table
from trafficgen.capture.table_streams import TableFile, open_table_file, packets_in

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
