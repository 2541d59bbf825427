"""Capture files into a packet table: all packets, or those of chosen flows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen._core import CaptureReader
from trafficgen.capture.scan import CaptureScan, Progress, collect_scan, open_reader, read_steps
from trafficgen.tables import OPTIONAL_FIELDS, REQUIRED_FIELDS, PacketTable

_RTP_FIELDS = ("rtp_ssrc", "rtp_sequence", "rtp_timestamp", "rtp_marker")
_TCP_FIELDS = ("tcp_sequence", "tcp_acknowledgement", "tcp_flags", "tcp_window")
#: Columns of packets that were captured.
CAPTURE_SCHEMA = pa.schema(
    [
        *REQUIRED_FIELDS,
        *(field for field in OPTIONAL_FIELDS if field.name in _RTP_FIELDS + _TCP_FIELDS),
    ]
)
#: Columns of the core that have another name; no packet is both RTP and TCP, so some serve two.
_SOURCES = {
    "to_client": "to_client_bits",
    "rtp_marker": "rtp_marker_bits",
    "rtp_ssrc": "ssrc_or_sequence",
    "tcp_sequence": "ssrc_or_sequence",
    "rtp_timestamp": "timestamp_or_acknowledgement",
    "tcp_acknowledgement": "timestamp_or_acknowledgement",
}


class PacketsBeyondLimitError(Exception):
    """More packets than were allowed.

    Attributes:
        packets: How many had come.
    """

    def __init__(self, packets: int) -> None:
        self.packets = packets
        super().__init__(f"{packets} packets")


@dataclass(frozen=True)
class CapturePackets:
    """Packets of a capture with what was counted while they were read."""

    table: PacketTable
    scan: CaptureScan


def read_capture(
    paths: Sequence[str | Path],
    *,
    decapsulate: bool = False,
    idle_timeout_s: float | None = None,
    flows: Collection[int] | None = None,
    scan: CaptureScan | None = None,
    most_flows: int | None = None,
    most_packets: int | None = None,
    progress: Progress | None = None,
) -> CapturePackets:
    """Read packets into memory, about 50 bytes each.

    Args:
        paths: pcap or pcapng files, plain or compressed, read as one; ``-`` is standard input.
        decapsulate: Whether tunnels are looked into.
        idle_timeout_s: Silence after which a 5-tuple's packets are a new flow, s; None never
            splits.
        flows: Numbers of the flows whose packets are kept; needs ``scan``. None keeps all.
        scan: An earlier scan of the same files with the same options.
        most_flows: Flows that are told apart where there is no scan, which has a number of its own;
            None for all.
        most_packets: Packets after which the reading ends with an error; None has no limit.
        progress: Called with bytes read so far and in all.

    Raises:
        PacketsBeyondLimitError: If there are more than ``most_packets``.
        CaptureError: If a file cannot be read at all.
        ValueError: If ``flows`` is given without ``scan``.
    """
    if flows is not None and scan is None:
        raise ValueError("flows are numbered by a scan; give the scan as well")
    keep = (
        np.isin(scan.numbers, list(flows)).tolist()
        if flows is not None and scan is not None
        else None
    )
    most_flows = most_flows if scan is None else scan.most_flows
    reader = open_reader(
        paths,
        decapsulate=decapsulate,
        idle_timeout_s=idle_timeout_s,
        keep_packets=True,
        keep_flows=keep,
        most_flows=most_flows,
    )
    for _ in read_steps(reader, progress):
        if most_packets is not None and reader.counts()["packets"] > most_packets:
            raise PacketsBeyondLimitError(reader.counts()["packets"])
    found = collect_scan(reader, paths, most_flows=most_flows)
    table = PacketTable(
        packets=_packets(reader, found),
        flows=found.flows,
        origin_ns=found.start_time_ns,
        signalling=found.signalling,
        rtcp=found.rtcp,
        notes={"files": list(found.files)},
    )
    if found.out_of_order:
        table = table.sorted_by_time()
    return CapturePackets(table=table, scan=found)


def _packets(reader: CaptureReader, scan: CaptureScan) -> pa.Table:
    return pa.Table.from_batches(list(taken_batches(reader, scan)), schema=CAPTURE_SCHEMA)


def taken_batches(reader: CaptureReader, scan: CaptureScan) -> Iterator[pa.RecordBatch]:
    """Yield the packets that a reader has kept so far, named as a scan of the same files says.

    Raises:
        ValueError: If there are flows that the scan has not seen.
    """
    while (columns := reader.take_columns(scan.plan, scan.start_time_ns)) is not None:
        yield _record_batch(columns)


def _record_batch(columns: dict[str, npt.NDArray[np.generic]]) -> pa.RecordBatch:
    """Wrap the core's columns without copying; booleans and validity are packed as Arrow wants
    them.
    """
    count = len(columns["time_ns"])
    arrays = []
    for field in CAPTURE_SCHEMA:
        validity = None
        if field.name in _RTP_FIELDS:
            validity = pa.py_buffer(columns["rtp_known_bits"])
        elif field.name in _TCP_FIELDS:
            validity = pa.py_buffer(columns["tcp_known_bits"])
        values = pa.py_buffer(columns[_SOURCES.get(field.name, field.name)])
        arrays.append(pa.Array.from_buffers(field.type, count, [validity, values]))
    return pa.RecordBatch.from_arrays(arrays, schema=CAPTURE_SCHEMA)
