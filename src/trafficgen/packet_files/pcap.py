"""Capture files: classic pcap with nanoseconds, and pcapng, with real headers and checksums.

The Rust core makes the frames (see ``crates/trafficgen-core/src/write``); payload behind the
headers is zero bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from trafficgen._core import CaptureWriter
from trafficgen.formatting import format_count
from trafficgen.outputs import whole_files
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.progress import report_step
from trafficgen.tables import PacketTable
from trafficgen.tables.columns import validity_of, values_of
from trafficgen.tables.protocols import EXPERIMENTAL_PROTOCOL, NOT_IP, protocol_number
from trafficgen.tables.stream import PIECE_ROWS, PacketStream
from trafficgen.units import ETHERNET_HEADER_BYTES, FEWEST_FRAME_BYTES, WHOLE_FRAME_BYTES

DEFAULT_PAYLOAD_TYPE = 96  # first of the dynamic ones, RFC 3551 section 6

_PLAIN_COLUMNS = ("time_ns", "flow", "to_client", "ip_bytes", "payload_bytes")
_NULLABLE_COLUMNS = (
    "rtp_ssrc",
    "rtp_sequence",
    "rtp_timestamp",
    "rtp_marker",
    "tcp_sequence",
    "tcp_acknowledgement",
    "tcp_flags",
    "tcp_window",
)


_UDP = 17
_NUMBERS_WITH_HEADERS = (1, 2, 6, _UDP, 58)  # ICMP, IGMP, TCP, UDP, ICMPv6
_COLUMNS_WITHOUT_PLACE = ("arrival_ns", "phase", "scale_level", "retransmission")


def write_replay(
    stream: PacketStream,
    path: Path,
    *,
    target: str,
    macs: tuple[bytes, bytes],
    microseconds: bool = False,
) -> ProjectionReport:
    """Write a classic pcap file whose frames can be sent as they are, from one card to the other.

    Packets too small for their headers are made just large enough; the report counts them. The file
    appears whole or not at all. ``macs`` are those of server and client, 6 bytes each.
    ``microseconds`` rounds times (magic 0xa1b2c3d4), for readers that know no others.

    Raises:
        ExportError: If a packet cannot be such a frame; the message names its row.
        OutputFileError: If the file cannot be written.
    """
    losses, bytes_before = CaptureLosses(stream.head), 0

    def counted() -> Iterator[pa.Table]:
        nonlocal bytes_before
        for piece in stream.pieces:
            table = replace(stream.head, packets=piece)
            losses.add(table)
            bytes_before += int(table.ip_bytes.sum(dtype="int64"))
            yield piece

    container = "pcap_us" if microseconds else "pcap"
    passing = replace(stream, pieces=counted())
    written = write_capture_stream(passing, path, container=container, macs=macs)
    lost = tuple(losses.texts(written, snaplen_bytes=WHOLE_FRAME_BYTES))
    return capture_report(target, path, written, bytes_before, lost)


def capture_report(
    target: str, path: Path, written: Mapping[str, int], bytes_before: int, lost: tuple[str, ...]
) -> ProjectionReport:
    """Report a capture from what :func:`write_capture_stream` has counted."""
    return ProjectionReport(
        target=target,
        files=(path.name,),
        packets=written["packets"],
        packets_changed=written["packets_raised"],
        bytes_before=bytes_before,
        bytes_after=written["ip_bytes"],
        cannot_express=lost,
    )


def write_capture_stream(
    stream: PacketStream,
    path: Path,
    *,
    container: str,
    macs: tuple[bytes, bytes] | None = None,
    snaplen_bytes: int = WHOLE_FRAME_BYTES,
    raise_small: bool = True,
) -> dict[str, int]:
    """Write packets as they come to a pcap or pcapng file with real headers (Ethernet).

    Args:
        stream: The packets; addresses and ports come from the flow table.
        path: File to write; it appears whole or not at all.
        container: ``pcap`` (nanoseconds, magic 0xa1b23c4d), ``pcap_us`` (microseconds) or
            ``pcapng`` (one section, one interface, nanoseconds; draft-ietf-opsawg-pcapng).
        macs: Addresses of the network cards of server and client, 6 bytes each; None for made ones.
        snaplen_bytes: Bytes kept of a frame; its original length is recorded all the same.
        raise_small: Make packets that are too small for their headers just large enough; otherwise
            they are refused.

    Returns:
        Counts: ``packets``, ``ip_bytes``, ``packets_raised``, ``packets_left_out``,
            ``windows_cut``.

    Raises:
        ExportError: If a packet cannot be such a frame; the message names its row.
        OutputFileError: If the file cannot be written.
        ValueError: If the snapshot length is out of range.
    """
    if not FEWEST_FRAME_BYTES <= snaplen_bytes <= WHOLE_FRAME_BYTES:
        within = f"[{FEWEST_FRAME_BYTES}, {WHOLE_FRAME_BYTES}]"
        raise ValueError(f"snaplen_bytes must lie in {within}, not {snaplen_bytes}")
    with whole_files([path]) as [part]:
        writer = CaptureWriter(
            part,
            _flow_rows(stream.head.flows),
            container=container,
            origin_ns=stream.head.origin_ns,
            snaplen_bytes=snaplen_bytes,
            raise_small=raise_small,
            macs=macs,
        )
        done = 0
        for piece in stream.pieces:
            for batch in piece.to_batches(max_chunksize=PIECE_ROWS):
                _write_batch(writer, batch)
                done += batch.num_rows
                report_step("writing", done, stream.rows, unit="packets")
        return writer.finish()


def _flow_rows(flows: pa.Table) -> list[tuple[int | None, str, int, str, int, int, int]]:
    return [
        (
            protocol_number(row["protocol"]),
            row["server"],
            row["server_port"],
            row["client"],
            row["client_port"],
            DEFAULT_PAYLOAD_TYPE if row["payload_type"] is None else row["payload_type"],
            row["ssrc"] or 0,
        )
        for row in flows.to_pylist()
    ]


def _write_batch(writer: CaptureWriter, batch: pa.RecordBatch) -> None:
    columns: dict[str, Any] = {name: values_of(batch.column(name)) for name in _PLAIN_COLUMNS}
    for name in _NULLABLE_COLUMNS:
        if name in batch.schema.names and batch.column(name).null_count < batch.num_rows:
            columns[name] = (values_of(batch.column(name)), validity_of(batch.column(name)))
    writer.write(**columns)


class CaptureLosses:
    """What a capture file lacks of the packets that were written to it, counted piece by piece."""

    def __init__(self, head: PacketTable) -> None:
        """Begin with a table's flows and messages; its packets are counted when they are added."""
        self._messages = head.signalling.num_rows
        names = head.flows.column("protocol").to_pylist()
        numbers = [protocol_number(name) or 0 for name in names]
        self._numbers = np.array(numbers, dtype=np.int64)
        self._is_ip = np.array([name != NOT_IP for name in names], dtype=np.bool_)
        self._is_other = self._is_ip & ~np.isin(self._numbers, _NUMBERS_WITH_HEADERS)
        pairs = zip(names, numbers, strict=True)
        self._unknown = sorted({name for name, number in pairs if number == EXPERIMENTAL_PROTOCOL})
        self._columns: set[str] = set()
        self._longest_bytes = self._others = self._other_links = self._rtp_elsewhere = 0

    def add(self, piece: PacketTable) -> None:
        """Count packets, but those of unknown flows, which the writer refuses."""
        if int(piece.flow.max(initial=0)) >= len(self._numbers):
            return
        self._columns |= {name for name in _COLUMNS_WITHOUT_PLACE if piece.is_known(name).any()}
        self._longest_bytes = max(self._longest_bytes, int(piece.frame_bytes.max(initial=0)))
        self._others += int(np.count_nonzero(self._is_other[piece.flow]))
        other_link = piece.frame_bytes - piece.ip_bytes != ETHERNET_HEADER_BYTES
        self._other_links += int(np.count_nonzero(self._is_ip[piece.flow] & other_link))
        not_udp = self._numbers[piece.flow] != _UDP
        self._rtp_elsewhere += int(np.count_nonzero(piece.is_known("rtp_sequence") & not_udp))

    def texts(self, written: Mapping[str, int], *, snaplen_bytes: int) -> Iterator[str]:
        """Yield what the capture lacks of the packets that were added."""
        yield "payload content (zero bytes are written)"
        lost = [name for name in _COLUMNS_WITHOUT_PLACE if name in self._columns]
        if lost:
            yield f"columns that a capture cannot hold: {', '.join(lost)}"
        if self._messages:
            yield f"signalling messages ({self._messages}): their packets carry zero bytes"
        if written["packets_left_out"]:
            packets = format_count(written["packets_left_out"], "packet")
            yield f"packets without IP were left out ({packets})"
        if written["packets_raised"]:
            packets = format_count(written["packets_raised"], "packet")
            yield f"sizes below their headers were raised to them ({packets})"
        if written["windows_cut"]:
            packets = format_count(written["windows_cut"], "packet")
            yield f"TCP windows above 65535 were written as 65535 ({packets})"
        if self._longest_bytes > snaplen_bytes:
            yield f"bytes of a frame behind the first {snaplen_bytes}"
        if self._unknown:
            yield (
                f"protocols without a known number became {EXPERIMENTAL_PROTOCOL}:"
                f" {', '.join(self._unknown)}"
            )
        if self._others:
            others = f"({format_count(self._others, 'packet')})"
            yield (
                "headers of protocols other than UDP, TCP, ICMP and IGMP (zero bytes are written)"
                f" {others}"
            )
        if self._other_links:
            yield (
                f"link headers other than Ethernet's {ETHERNET_HEADER_BYTES} bytes"
                f" ({format_count(self._other_links, 'packet')})"
            )
        if self._rtp_elsewhere:
            packets = format_count(self._rtp_elsewhere, "packet")
            yield f"RTP headers in other than UDP packets ({packets})"
