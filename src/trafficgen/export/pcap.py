"""Capture files: classic pcap with nanoseconds, and pcapng, with real headers and checksums.

The Rust core makes the frames (see ``crates/trafficgen-core/src/write``); payload behind the headers is zero bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core import CaptureWriter
from trafficgen.export.base import ProjectionReport, View
from trafficgen.export.protocols import EXPERIMENTAL_PROTOCOL, NOT_IP, protocol_number
from trafficgen.export.view import seen_by
from trafficgen.output_files import whole_files
from trafficgen.progress import tell
from trafficgen.tables import PacketTable
from trafficgen.tables.buffers import known_of, values_of
from trafficgen.tables.stream import PIECE_ROWS, PacketStream, stream_of
from trafficgen.units import WHOLE_FRAME_BYTES

ETHERNET_HEADER_BYTES = 14
DEFAULT_PAYLOAD_TYPE = 96  # first of the dynamic ones, RFC 3551 section 6

_UDP = 17
_NUMBERS_WITH_HEADERS = (1, 2, 6, _UDP, 58)  # ICMP, IGMP, TCP, UDP, ICMPv6
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
_COLUMNS_WITHOUT_PLACE = ("arrival_ns", "phase", "scale_level", "retransmission")


def write_pcap(
    table: PacketTable,
    path: str | Path,
    *,
    view: View = "sender",
    snaplen_bytes: int = WHOLE_FRAME_BYTES,
    raise_small: bool = False,
) -> ProjectionReport:
    """Write packets as a classic pcap file with nanosecond times (magic 0xa1b23c4d, Ethernet).

    Args:
        table: Packets in order of time; addresses and ports come from the flow table.
        path: File to write; it appears whole or not at all.
        view: Whose capture it is, see :func:`~trafficgen.export.view.seen_by`.
        snaplen_bytes: Bytes kept of a frame; its original length is recorded all the same.
        raise_small: Make packets that are too small for their headers just large enough instead of failing.

    Raises:
        ExportError: If a packet cannot be such a frame; the message names its row.
        OutputFileError: If the file cannot be written.
        ValueError: If an option is out of range.

    Source: draft-ietf-opsawg-pcap; headers by RFC 791, 8200, 768, 9293, 3550.
    """
    return _write_capture(table, Path(path), "pcap", view=view, snaplen_bytes=snaplen_bytes, raise_small=raise_small)


def write_pcapng(
    table: PacketTable,
    path: str | Path,
    *,
    view: View = "sender",
    snaplen_bytes: int = WHOLE_FRAME_BYTES,
    raise_small: bool = False,
) -> ProjectionReport:
    """Write packets as a pcapng file: one section, one Ethernet interface with nanosecond times.

    Arguments and errors are those of :func:`write_pcap`.

    Source: draft-ietf-opsawg-pcapng.
    """
    return _write_capture(table, Path(path), "pcapng", view=view, snaplen_bytes=snaplen_bytes, raise_small=raise_small)


def write_replay(
    table: PacketTable, path: Path, *, target: str, macs: tuple[bytes, bytes], microseconds: bool = False
) -> ProjectionReport:
    """Write packets as a classic pcap file whose frames can be sent as they are: whole, from one card to the other.

    Packets too small for their headers are made just large enough; the report counts them.

    Args:
        table: Packets in order of time.
        path: File to write; it appears whole or not at all.
        target: Name of the target, for the report.
        macs: Addresses of the network cards of server and client, 6 bytes each.
        microseconds: Round times to microseconds (magic 0xa1b2c3d4), for readers that know no others.

    Raises:
        ExportError: If a packet cannot be such a frame; the message names its row.
        OutputFileError: If the file cannot be written.
    """
    container = "pcap_us" if microseconds else "pcap"
    return _write_capture(
        table,
        path,
        target,
        container=container,
        macs=macs,
        view="sender",
        snaplen_bytes=WHOLE_FRAME_BYTES,
        raise_small=True,
    )


def _write_capture(
    table: PacketTable,
    path: Path,
    target: str,
    *,
    container: str | None = None,
    macs: tuple[bytes, bytes] | None = None,
    view: View,
    snaplen_bytes: int,
    raise_small: bool,
) -> ProjectionReport:
    if not 1 <= snaplen_bytes <= WHOLE_FRAME_BYTES:
        raise ValueError(f"snaplen_bytes must lie in [1, {WHOLE_FRAME_BYTES}], not {snaplen_bytes}")
    table = seen_by(table, view)
    written = write_capture_stream(
        stream_of(table),
        path,
        container=container or target,
        macs=macs,
        snaplen_bytes=snaplen_bytes,
        raise_small=raise_small,
    )
    return ProjectionReport(
        target=target,
        files=(path.name,),
        packets=written["packets"],
        packets_changed=written["packets_raised"],
        bytes_before=pc.sum(table.column("ip_bytes")).as_py() or 0,
        bytes_after=written["ip_bytes"],
        cannot_express=tuple(_cannot_express(table, written, snaplen_bytes)),
    )


def write_capture_stream(
    stream: PacketStream,
    path: Path,
    *,
    container: str,
    macs: tuple[bytes, bytes] | None = None,
    snaplen_bytes: int = WHOLE_FRAME_BYTES,
    raise_small: bool = False,
) -> dict[str, int]:
    """Write packets as they come; the file is that of :func:`write_pcap` or :func:`write_pcapng`.

    Args:
        stream: The packets.
        path: File to write; it appears whole or not at all.
        container: ``pcap``, ``pcap_us`` (times in microseconds) or ``pcapng``.
        macs: Addresses of the network cards of server and client, 6 bytes each; None for made ones.
        snaplen_bytes: Bytes kept of a frame.
        raise_small: Make packets that are too small for their headers just large enough instead of failing.

    Returns:
        Counts: ``packets``, ``ip_bytes``, ``packets_raised``, ``packets_left_out``, ``windows_cut``.

    Raises:
        ExportError: If a packet cannot be such a frame; the message names its row.
        OutputFileError: If the file cannot be written.
    """
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
                tell("writing", done, stream.rows, unit="packets")
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
            columns[name] = (values_of(batch.column(name)), known_of(batch.column(name)))
    writer.write(**columns)


def _cannot_express(table: PacketTable, written: dict[str, int], snaplen_bytes: int) -> Iterator[str]:
    """Yield what the capture lacks of the table."""
    yield "payload content: zero bytes stand for it"
    lost = [name for name in _COLUMNS_WITHOUT_PLACE if table.known(name).any()]
    if lost:
        yield f"columns that a capture has no place for: {', '.join(lost)}"
    if table.signalling.num_rows:
        yield f"signalling messages ({table.signalling.num_rows}): their packets carry zero bytes"
    if written["packets_left_out"]:
        yield f"packets without IP were left out ({written['packets_left_out']} packets)"
    if written["packets_raised"]:
        yield f"sizes below their headers were raised to them ({written['packets_raised']} packets)"
    if written["windows_cut"]:
        yield f"TCP windows above 65535 were written as 65535 ({written['windows_cut']} packets)"
    if int(table.frame_bytes.max(initial=0)) > snaplen_bytes:
        yield f"bytes of a frame behind the first {snaplen_bytes}"
    yield from _flow_losses(table)


def _flow_losses(table: PacketTable) -> Iterator[str]:
    names = table.flows.column("protocol").to_pylist()
    numbers = np.array([protocol_number(name) or 0 for name in names], dtype=np.int64)
    unknown = sorted({name for name, number in zip(names, numbers, strict=True) if number == EXPERIMENTAL_PROTOCOL})
    if unknown:
        yield f"protocols without a known number became {EXPERIMENTAL_PROTOCOL}: {', '.join(unknown)}"
    is_ip = np.array([name != NOT_IP for name in names], dtype=np.bool_)
    is_other = is_ip & ~np.isin(numbers, _NUMBERS_WITH_HEADERS)
    others = np.count_nonzero(is_other[table.flow])
    if others:
        yield f"headers of protocols other than UDP, TCP, ICMP and IGMP: zero bytes stand for them ({others} packets)"
    other_links = np.count_nonzero(is_ip[table.flow] & (table.frame_bytes - table.ip_bytes != ETHERNET_HEADER_BYTES))
    if other_links:
        yield f"link headers other than Ethernet's {ETHERNET_HEADER_BYTES} bytes ({other_links} packets)"
    rtp_elsewhere = np.count_nonzero(table.known("rtp_sequence") & (numbers[table.flow] != _UDP))
    if rtp_elsewhere:
        yield f"RTP headers in other than UDP packets ({rtp_elsewhere} packets)"
