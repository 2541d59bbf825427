"""What a capture file lacks of the packet table that was written to it, found piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from trafficgen.tables import PacketTable
from trafficgen.tables.protocols import EXPERIMENTAL_PROTOCOL, NOT_IP, protocol_number
from trafficgen.units import ETHERNET_HEADER_BYTES

_UDP = 17
_NUMBERS_WITH_HEADERS = (1, 2, 6, _UDP, 58)  # ICMP, IGMP, TCP, UDP, ICMPv6
_COLUMNS_WITHOUT_PLACE = ("arrival_ns", "phase", "scale_level", "retransmission")


class CaptureLosses:
    """Counts over the packets that are written, for the sentences of a report."""

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
        """Yield what the capture lacks of the packets that were added.

        Args:
            written: What :func:`~trafficgen.packet_files.pcap.write_capture_stream` has counted.
            snaplen_bytes: Bytes kept of a frame.
        """
        yield "payload content (zero bytes are written)"
        lost = [name for name in _COLUMNS_WITHOUT_PLACE if name in self._columns]
        if lost:
            yield f"columns that a capture cannot hold: {', '.join(lost)}"
        if self._messages:
            yield f"signalling messages ({self._messages}): their packets carry zero bytes"
        if written["packets_left_out"]:
            yield f"packets without IP were left out ({written['packets_left_out']} packets)"
        if written["packets_raised"]:
            yield (
                f"sizes below their headers were raised to them ({written['packets_raised']}"
                " packets)"
            )
        if written["windows_cut"]:
            yield (
                f"TCP windows above 65535 were written as 65535 ({written['windows_cut']} packets)"
            )
        if self._longest_bytes > snaplen_bytes:
            yield f"bytes of a frame behind the first {snaplen_bytes}"
        if self._unknown:
            yield (
                f"protocols without a known number became {EXPERIMENTAL_PROTOCOL}:"
                f" {', '.join(self._unknown)}"
            )
        if self._others:
            others = f"({self._others} packets)"
            yield (
                "headers of protocols other than UDP, TCP, ICMP and IGMP (zero bytes are written)"
                f" {others}"
            )
        if self._other_links:
            yield (
                f"link headers other than Ethernet's {ETHERNET_HEADER_BYTES} bytes"
                f" ({self._other_links} packets)"
            )
        if self._rtp_elsewhere:
            yield f"RTP headers in other than UDP packets ({self._rtp_elsewhere} packets)"
