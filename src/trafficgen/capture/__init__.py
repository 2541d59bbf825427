"""Captures and packet-table files into packet tables."""

from trafficgen.capture.read import CapturePackets, read_capture
from trafficgen.capture.scan import CaptureScan, Progress, scan_capture

__all__ = ["CapturePackets", "CaptureScan", "Progress", "read_capture", "scan_capture"]
