"""Captures, packet-table files and traces of other tools (``capture.traces``) into packet tables."""

from trafficgen.capture.datasets import read_dataset
from trafficgen.capture.read import CapturePackets, read_capture
from trafficgen.capture.scan import CaptureScan, Progress, scan_capture
from trafficgen.capture.table_files import holds_packet_table, read_csv_table, read_parquet_table

__all__ = [
    "CapturePackets",
    "CaptureScan",
    "Progress",
    "holds_packet_table",
    "read_capture",
    "read_csv_table",
    "read_dataset",
    "read_parquet_table",
    "scan_capture",
]
