"""Capture files: classic pcap with nanoseconds, and pcapng, with real headers and checksums.

The Rust core makes the frames (see ``crates/trafficgen-core/src/write``); payload behind the
headers is zero bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from trafficgen._core import CaptureWriter
from trafficgen.outputs import whole_files
from trafficgen.packet_files.capture_losses import CaptureLosses
from trafficgen.packet_files.report import ProjectionReport, View, bytes_of
from trafficgen.packet_files.view import select_view
from trafficgen.progress import report_step
from trafficgen.tables import PacketTable
from trafficgen.tables.buffers import validity_of, values_of
from trafficgen.tables.protocols import protocol_number
from trafficgen.tables.stream import PIECE_ROWS, PacketStream, stream_of
from trafficgen.units import WHOLE_FRAME_BYTES

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
        view: Whose capture it is, see :func:`~trafficgen.packet_files.view.select_view`.
        snaplen_bytes: Bytes kept of a frame; its original length is recorded all the same.
        raise_small: Make packets that are too small for their headers just large enough instead of
            failing.

    Raises:
        ExportError: If a packet cannot be such a frame; the message names its row.
        OutputFileError: If the file cannot be written.
        ValueError: If an option is out of range.

    Source: draft-ietf-opsawg-pcap; headers by RFC 791, 8200, 768, 9293, 3550.
    """
    return _write_capture(
        table, Path(path), "pcap", view=view, snaplen_bytes=snaplen_bytes, raise_small=raise_small
    )


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
    return _write_capture(
        table, Path(path), "pcapng", view=view, snaplen_bytes=snaplen_bytes, raise_small=raise_small
    )


def write_replay(
    table: PacketTable,
    path: Path,
    *,
    target: str,
    macs: tuple[bytes, bytes],
    microseconds: bool = False,
) -> ProjectionReport:
    """Write a classic pcap file whose frames can be sent as they are, from one card to the other.

    Packets too small for their headers are made just large enough; the report counts them.

    Args:
        table: Packets in order of time.
        path: File to write; it appears whole or not at all.
        target: Name of the target, for the report.
        macs: Addresses of the network cards of server and client, 6 bytes each.
        microseconds: Round times to microseconds (magic 0xa1b2c3d4), for readers that know no
            others.

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
    table = select_view(table, view)
    losses = CaptureLosses(table)
    losses.add(table)
    written = write_capture_stream(
        stream_of(table),
        path,
        container=container or target,
        macs=macs,
        snaplen_bytes=snaplen_bytes,
        raise_small=raise_small,
    )
    lost = tuple(losses.texts(written, snaplen_bytes=snaplen_bytes))
    return capture_report(target, path, written, bytes_of(table), lost)


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
    raise_small: bool = False,
) -> dict[str, int]:
    """Write packets as they come; the file is that of :func:`write_pcap` or :func:`write_pcapng`.

    Args:
        stream: The packets.
        path: File to write; it appears whole or not at all.
        container: ``pcap``, ``pcap_us`` (times in microseconds) or ``pcapng``.
        macs: Addresses of the network cards of server and client, 6 bytes each; None for made ones.
        snaplen_bytes: Bytes kept of a frame.
        raise_small: Make packets that are too small for their headers just large enough instead of
            failing.

    Returns:
        Counts: ``packets``, ``ip_bytes``, ``packets_raised``, ``packets_left_out``,
            ``windows_cut``.

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
