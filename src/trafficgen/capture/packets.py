"""Read the packets of captures: all of them or those of chosen flows, whole or piece by piece."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen._core import CaptureReader
from trafficgen.capture.options import ReadOptions
from trafficgen.capture.scan import CaptureScan, ReaderSetup, collect_scan, read_steps
from trafficgen.errors import CaptureError
from trafficgen.flows import Inspection
from trafficgen.tables import OPTIONAL_FIELDS, PACKET_SCHEMA, REQUIRED_FIELDS, PacketTable
from trafficgen.tables.stream import PacketStream, sort_pieces

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
    options: ReadOptions | None = None,
    *,
    most_packets: int | None = None,
) -> CapturePackets:
    """Read all packets of captures into memory, about 50 bytes each.

    The files, pcap or pcapng, plain or compressed, are read as one; ``-`` is standard input.

    Raises:
        PacketsBeyondLimitError: If there are more than ``most_packets``.
        CaptureError: If a file cannot be read at all.
    """
    setup = ReaderSetup.from_options(paths, options)
    reader = setup.open(keep_packets=True)
    for _ in read_steps(reader):
        if most_packets is not None and reader.counts()["packets"] > most_packets:
            raise PacketsBeyondLimitError(reader.counts()["packets"])
    scan = collect_scan(reader, setup)
    return CapturePackets(_table(reader, scan), scan)


def read_flows(scan: CaptureScan, flows: Collection[int]) -> PacketTable:
    """Read captures again for some flows by their numbers; raise CaptureError if that fails."""
    reader = scan.setup.open(keep_packets=True, keep_flows=np.isin(scan.numbers, list(flows)))
    for _ in read_steps(reader):
        pass
    return _table(reader, collect_scan(reader, scan.setup))


def _table(reader: CaptureReader, scan: CaptureScan) -> PacketTable:
    batches = list(_take_batches(reader, scan))
    table = _with_packets(scan, pa.Table.from_batches(batches, schema=CAPTURE_SCHEMA))
    return table.sort_by_time() if scan.out_of_order else table


def _with_packets(scan: CaptureScan, packets: pa.Table) -> PacketTable:
    """Return a table of packets with the flows and messages that a scan found."""
    found = scan.inspection
    return PacketTable(
        packets=packets,
        flows=found.flows,
        origin_ns=found.origin_ns,
        signalling=found.signalling,
        rtcp=scan.rtcp,
        notes={"files": list(found.files)},
    )


def stream_capture(scan: CaptureScan, flows: Collection[int] | None = None) -> PacketStream:
    """Read scanned captures once more, their packets piece by piece in order of time.

    ``flows`` are the numbers of those that are wanted; None wants all.

    Returns:
        A stream whose head has the scan's flow table; its pieces raise ``CaptureError`` if the
        files have changed since, or are too far out of order, see
        :func:`~trafficgen.tables.stream.sort_pieces`.

    Raises:
        CaptureError: If a file cannot be read at all.
    """
    keep = None if flows is None else np.isin(scan.numbers, list(flows))
    reader, name = scan.setup.open(keep_packets=True, keep_flows=keep), scan.setup.name

    def pieces() -> Iterator[pa.Table]:
        for _ in read_steps(reader):
            if batches := list(_take_batches(reader, scan)):
                yield pa.Table.from_batches(batches, schema=CAPTURE_SCHEMA)

    ordered = sort_pieces(pieces(), name=name) if scan.out_of_order else pieces()
    return PacketStream(
        head=_with_packets(scan, PACKET_SCHEMA.empty_table()),
        pieces=ordered,
        columns=_columns(scan.inspection),
        rows=scan.inspection.ip_packets if keep is None else None,
    )


def _columns(found: Inspection) -> frozenset[str]:
    """Return the columns that have values in any packet of a capture."""
    names = {field.name for field in CAPTURE_SCHEMA if not field.nullable}
    if any(stream.channel is None for stream in found.rtp_streams):
        names |= {name for name in CAPTURE_SCHEMA.names if name.startswith("rtp_")}
    if "tcp" in found.flows.column("protocol").unique().to_pylist():
        names |= {name for name in CAPTURE_SCHEMA.names if name.startswith("tcp_")}
    return frozenset(names)


def _take_batches(reader: CaptureReader, scan: CaptureScan) -> Iterator[pa.RecordBatch]:
    """Yield the packets kept so far, named as a scan did; raise CaptureError for other flows."""
    while True:
        try:
            columns = reader.take_columns(scan.plan, scan.inspection.origin_ns)
        except ValueError as error:
            problem = "has changed while it was read: it has more flows than before"
            remedy = "copy it, and give the copy"
            raise CaptureError(file=scan.setup.name, problem=problem, remedy=remedy) from error
        if columns is None:
            return
        yield _wrap_columns(columns)


def _wrap_columns(columns: dict[str, npt.NDArray[np.generic]]) -> pa.RecordBatch:
    """Wrap the core's columns without copying; bits are packed as Arrow wants them."""
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
