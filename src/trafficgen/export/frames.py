"""Whole frames for tools that send them as they are, of one or both directions."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Set
from dataclasses import replace

import numpy as np
import pyarrow as pa

from trafficgen.errors import ExportError, SettingError
from trafficgen.export.flow_schedule import share_evenly, turn_round
from trafficgen.export.sending_ends import HIGHEST_PORT
from trafficgen.export.settings import Setting, Settings
from trafficgen.formatting import format_count
from trafficgen.tables import PacketTable
from trafficgen.tables.columns import set_values
from trafficgen.tables.protocols import documentation_client, documentation_server
from trafficgen.tables.stream import PacketStream
from trafficgen.units import s_from_ns

#: Largest IP packet there is.
_LARGEST_IP_BYTES = 65_535
#: Smallest that every IPv4 host must be able to take (RFC 791).
_SMALLEST_MTU_BYTES = 68
_MAC = re.compile(r"[0-9a-fA-F]{2}([:-][0-9a-fA-F]{2}){5}")
_GROUP_BIT = 0x01
_LOWEST_FREE_PORT = 1024
_RTP_COLUMNS = ("rtp_ssrc", "rtp_sequence", "rtp_timestamp", "rtp_marker")

#: Settings of every target that sends frames; ``direction`` is added by each, with its own default.
FRAME_SETTINGS = (
    Setting("server", "", "Address of all servers; empty: as in the table."),
    Setting("client", "", "Address of all clients; empty: as in the table."),
    Setting("server_mac", "02:00:00:00:00:01", "Address of the server's network card."),
    Setting("client_mac", "02:00:00:00:00:02", "Address of the client's network card."),
    Setting(
        "mtu_bytes",
        1500,
        "Largest IP packet that the interface sends.",
        low=_SMALLEST_MTU_BYTES,
        high=_LARGEST_IP_BYTES,
    ),
    Setting(
        "oversize",
        "refuse",
        "What becomes of larger packets: refuse, or split the payload into equal packets at the"
        " same time.",
        choices=("refuse", "split"),
    ),
)


class FrameStream:
    """Packets that are sent as frames, as they come, and what is counted of them.

    Its settings are :data:`FRAME_SETTINGS`, and ``direction``. The packets raise ExportError if
    nothing is left of them, or one is larger than the interface takes.

    Attributes:
        stream: The packets, none larger than the interface takes; counts are whole at its end.
        macs: Addresses of the network cards of server and client, 6 bytes each.
        bytes_before: IP bytes of the packets that were to be sent, before any was split.
        packets_split: Packets of the original that were split.
        ways: Directions that were seen, as in the column ``to_client``.
        first_ns: Time of the first packet, ns from the origin.
    """

    def __init__(self, stream: PacketStream, settings: Settings, *, target: str) -> None:
        """Begin with what is to be sent, as set; raise SettingError if an address is invalid."""
        self.macs = (
            mac_of(settings, "server_mac", target=target),
            mac_of(settings, "client_mac", target=target),
        )
        self._direction, self._target = settings.text("direction"), target
        self._mtu_bytes = settings.whole("mtu_bytes")
        self._splits = settings.text("oversize") == "split"
        self.packets = self.bytes_before = self.packets_split = self._others = 0
        self.first_ns = self.last_ns = 0
        self.ways: set[bool] = set()
        head, ends = stream.head, _addresses(settings, target=target)
        if ends:
            head = replace(head, flows=set_addresses(head.flows, **ends))
        rows = None if self._splits or self._direction != "both" else stream.rows
        self.stream = replace(stream, head=head, pieces=self._iterate(stream.pieces), rows=rows)

    def _iterate(self, pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
        for piece in pieces:
            table = replace(self.stream.head, packets=piece)
            chosen = table
            if self._direction != "both":
                chosen = table.select(table.to_client == (self._direction == "to_client"))
            self._others += len(table) - len(chosen)
            if not len(chosen):
                continue
            self.bytes_before += int(chosen.ip_bytes.astype(np.int64).sum())
            if self._splits:
                chosen, split = _split(chosen, mtu_bytes=self._mtu_bytes)
                self.packets_split += split
            _refuse_large(
                chosen, mtu_bytes=self._mtu_bytes, target=self._target, before=self.packets
            )
            self.ways |= set(np.unique(chosen.to_client).tolist())
            self.first_ns = self.first_ns if self.packets else int(chosen.time_ns[0])
            self.last_ns, self.packets = int(chosen.time_ns[-1]), self.packets + len(chosen)
            yield chosen.packets
        if not self.packets:
            client = "server" if self._direction == "to_server" else "client"
            raise ExportError(
                f"{self._target}: no packet goes to the {client}; choose another flow, or"
                f" {turn_round(self._direction)}"
            )

    def gather(self) -> PacketTable:
        """Return all packets in one table; there is at least one."""
        return replace(self.stream.head, packets=pa.concat_tables(self.stream.pieces))

    def describe_changes(self) -> tuple[str, ...]:
        """Return what of the original is not among the frames or was changed, a sentence each."""
        left_out = []
        if self._others:
            left_out.append(
                f"packets of the other direction ({format_count(self._others, 'packet')})"
            )
        if self.packets_split:
            left_out.append(
                f"packets above {self._mtu_bytes} bytes were split"
                f" ({format_count(self.packets_split, 'packet')})"
            )
        return tuple(left_out)


def mac_of(settings: Settings, name: str, *, target: str) -> bytes:
    """Return the address of a network card, 6 bytes; raise SettingError for others and groups."""
    text = settings.text(name)
    mac = bytes.fromhex(text.replace(":", "").replace("-", "")) if _MAC.fullmatch(text) else b""
    if not mac or mac[0] & _GROUP_BIT:
        raise SettingError(
            f"{target}: {name}={text} cannot be set: it must be the address of one card, such as"
            " 02:00:00:00:00:01"
        )
    return mac


def _addresses(settings: Settings, *, target: str) -> dict[str, str]:
    ends = {name: settings.text(name) for name in ("server", "client") if settings.text(name)}
    versions = set()
    for name, text in ends.items():
        try:
            versions.add(ipaddress.ip_address(text).version)
        except ValueError:
            raise SettingError(
                f"{target}: {name}={text} cannot be set: it must be an IP address"
            ) from None
    if len(versions) > 1:
        raise SettingError(f"{target}: server and client must be of the same IP version")
    return ends


def set_addresses(
    flows: pa.Table, *, server: str | None = None, client: str | None = None
) -> pa.Table:
    """Return a flow table whose flows over IP are all between one server and one client.

    Where two flows would get the same 5-tuple, the later one's client port moves up to the next
    even free one (even as RTP's ports, RFC 3550 section 11). Without addresses, which are of one IP
    version, they get the documentation's (RFC 5737, RFC 3849).

    Raises:
        ValueError: If there are more flows than ports.
    """
    ipv6 = ":" in (server or client or "")
    server = server or documentation_server(ipv6=ipv6)
    client = client or documentation_client(ipv6=ipv6)
    taken: set[tuple[object, ...]] = set()
    # Where the search for a wanted port last ended: many flows that want it do not search it anew.
    reached: dict[tuple[object, ...], int] = {}
    rows = flows.to_pylist()
    for row in rows:
        if row["protocol"] == "non-ip":
            continue
        row["server"], row["client"] = server, client
        if row["server_port"] or row["client_port"]:
            ends = (row["protocol"], row["server_port"])
            wanted = (*ends, row["client_port"])
            port = _free_port(ends, reached.get(wanted, int(row["client_port"])), taken)
            taken.add((*ends, port))
            reached[wanted] = row["client_port"] = port
    return pa.Table.from_pylist(rows, schema=flows.schema)


def _free_port(ends: tuple[object, ...], first: int, taken: Set[tuple[object, ...]]) -> int:
    """Return the first port from ``first`` on, by twos, with which ``ends`` are not taken."""
    port = first
    for _ in range(HIGHEST_PORT):
        if (*ends, port) not in taken:
            return port
        port = port + 2 if port + 2 <= HIGHEST_PORT else _LOWEST_FREE_PORT + port % 2
    raise ValueError("more flows between two hosts than they have ports")


def _refuse_large(table: PacketTable, *, mtu_bytes: int, target: str, before: int) -> None:
    large = np.flatnonzero(table.ip_bytes > mtu_bytes)
    if large.size:
        row = int(large[0])
        raise ExportError(
            f"{target}: packet {before + row} (flow {table.flow[row]}) at"
            f" {s_from_ns(int(table.time_ns[row])):.6f} s has {table.ip_bytes[row]} IP bytes, more"
            f" than the {mtu_bytes} of the interface ({large.size} such packets); set"
            " oversize=split, or mtu_bytes to what the interface sends"
        )


def _split(table: PacketTable, *, mtu_bytes: int) -> tuple[PacketTable, int]:
    """Cut payloads so that no packet is above ``mtu_bytes``; each piece repeats the headers.

    The first piece keeps the RTP header; TCP sequence numbers go on from piece to piece.
    """
    payload = table.payload_bytes.astype(np.int64)
    headers = table.ip_bytes.astype(np.int64) - payload
    room = mtu_bytes - headers
    is_large = (table.ip_bytes > mtu_bytes) & (room > 0) & (payload > 0)
    if not is_large.any():
        return table, 0
    pieces = np.where(is_large, -(-payload // np.maximum(room, 1)), 1)
    row, place, share = share_evenly(payload, pieces)
    packets = table.packets.take(pa.array(row))
    for name, values in (
        ("payload_bytes", share),
        ("ip_bytes", share + headers[row]),
        (
            "frame_bytes",
            share + headers[row] + (table.frame_bytes.astype(np.int64) - table.ip_bytes)[row],
        ),
    ):
        packets = set_values(packets, name, values)
    if table.is_known("tcp_sequence").any():
        before = np.cumsum(share) - share
        sent = before - np.repeat(before[place == 0], pieces)
        sequence = (np.asarray(table.values("tcp_sequence"), dtype=np.int64)[row] + sent) % (
            1 << 32
        )
        packets = set_values(
            packets, "tcp_sequence", sequence, ~table.is_known("tcp_sequence")[row]
        )
    for name in _RTP_COLUMNS:
        if name in packets.column_names:
            later = place > 0
            packets = set_values(
                packets, name, table.values(name)[row], ~table.is_known(name)[row] | later
            )
    return replace(table, packets=packets), int(np.count_nonzero(is_large))
