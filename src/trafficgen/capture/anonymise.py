"""Packets that can be shared: addresses by Crypto-PAn, numbers that name a connection shifted,
times moved, text gone.

What makes traffic what it is stays: times between packets, sizes, directions, losses, flags,
windows, prefixes that addresses share. Payload is in no packet table.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen.progress import report_step
from trafficgen.tables import DEFAULT_ORIGIN_NS, PacketTable
from trafficgen.units import NS_PER_S, IntArray

#: Length of a key, bytes: AES-128's and as much padding, see :class:`~yacryptopan.CryptoPAn`.
KEY_BYTES = 32
#: Ports below are those of services (RFC 6335 section 6): who they are is no secret, and models
#: read them.
_FIRST_MAPPED_PORT = 1024
_PORTS = 1 << 16
_ACKNOWLEDGES = 0x10  # RFC 9293 section 3.1
_NTP_FRACTIONS = 1 << 32  # RFC 5905 section 6

PortRule = Literal["keep", "map"]
TimeRule = Literal["shift", "keep"]


@dataclass(frozen=True)
class Anonymiser:
    """What maps the packets of one or several captures; the same key maps them alike.

    Attributes:
        key: The secret, 32 bytes.
        ports: ``"keep"``, or ``"map"``: ports from 1024 on are exchanged among themselves.
        times: ``"shift"`` moves the first packet to 2020-01-01 UTC, ``"keep"`` leaves times alone.

    Raises:
        ValueError: If the key has another length.
    """

    key: bytes
    ports: PortRule = "keep"
    times: TimeRule = "shift"

    def __post_init__(self) -> None:
        if len(self.key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, got {len(self.key)}")

    def __call__(self, table: PacketTable) -> PacketTable:
        """Return the packets without what tells who sent them, and to whom.

        Addresses are mapped so that those with a common prefix have one of the same length
        afterwards (Xu, Fan, Ammar
        and Moon: Prefix-preserving IP address anonymization, ICNP 2002). SSRCs are replaced;
        sequence numbers and timestamps of TCP and RTP are shifted by an amount for each flow, so
        that losses and gaps stay what they were. URIs of signalling and notes are left out, as are
        packets without IP, whose addresses are of network cards.
        """
        table = _ip_only(table)
        shift_ns = (
            0 if self.times == "keep" else DEFAULT_ORIGIN_NS - table.origin_ns - _first_ns(table)
        )
        shifts = _Shifts(self.key, table.flows)
        return replace(
            table,
            packets=self._packets(table, shifts),
            flows=self._flows(table.flows),
            rtcp=self._rtcp(table.rtcp, shifts, shift_ns),
            signalling=self._signalling(table.signalling),
            origin_ns=table.origin_ns + shift_ns,
            notes={},
        )

    def _flows(self, flows: pa.Table) -> pa.Table:
        addresses = _mapped_addresses(
            self.key, [*_texts(flows, "server"), *_texts(flows, "client")]
        )
        for end in ("server", "client"):
            flows = _with(flows, end, [addresses[text] for text in _texts(flows, end)])
            flows = _with(
                flows, f"{end}_port", self._port_map[flows.column(f"{end}_port").to_numpy()]
            )
        return _with(flows, "ssrc", _mapped(flows.column("ssrc"), self._ssrc))

    def _packets(self, table: PacketTable, shifts: _Shifts) -> pa.Table:
        packets, flow, to_client = table.packets, table.flow, table.to_client
        names = packets.column_names
        if "tcp_sequence" in names:
            packets = _shifted(packets, "tcp_sequence", shifts.tcp(flow, from_server=to_client))
        if "tcp_acknowledgement" in names:
            acknowledged = shifts.tcp(flow, from_server=~to_client)
            if "tcp_flags" in names:  # without the flag the field means nothing, and is 0 as a rule
                flags = packets.column("tcp_flags").fill_null(_ACKNOWLEDGES).to_numpy()
                acknowledged = np.where(flags & _ACKNOWLEDGES, acknowledged, 0)
            packets = _shifted(packets, "tcp_acknowledgement", acknowledged)
        if "rtp_ssrc" in names:
            ssrc = packets.column("rtp_ssrc")
            for name, purpose in (("rtp_sequence", "sequence"), ("rtp_timestamp", "timestamp")):
                if name in names:
                    packets = _shifted(packets, name, shifts.rtp(ssrc, purpose))
            packets = _with(packets, "rtp_ssrc", _mapped(ssrc, self._ssrc))
        return packets

    def _rtcp(self, rtcp: pa.Table, shifts: _Shifts, shift_ns: int) -> pa.Table:
        if not rtcp.num_rows:
            return rtcp
        rtcp = _shifted(
            rtcp, "rtp_timestamp", shifts.rtp(rtcp.column("reporter_ssrc"), "timestamp")
        )
        rtcp = _shifted(rtcp, "highest_sequence", shifts.rtp(rtcp.column("ssrc"), "sequence"))
        ntp_shift = shift_ns * _NTP_FRACTIONS // NS_PER_S
        sent = [
            None if value is None else (value + ntp_shift) % 2**64
            for value in rtcp.column("ntp").to_pylist()
        ]
        rtcp = _with(rtcp, "ntp", sent)
        middle = ntp_shift >> 16
        last = rtcp.column("last_sender_report").to_pylist()
        rtcp = _with(
            rtcp,
            "last_sender_report",
            [(value + middle) % 2**32 if value else value for value in last],
        )
        for name in ("reporter_ssrc", "ssrc"):
            rtcp = _with(rtcp, name, _mapped(rtcp.column(name), self._ssrc))
        return rtcp

    def _signalling(self, signalling: pa.Table) -> pa.Table:
        for end in ("client", "server"):
            lists = signalling.column(f"{end}_ports").to_pylist()
            mapped = [[int(self._port_map[port]) for port in ports] for ports in lists]
            signalling = _with(signalling, f"{end}_ports", mapped)
        return _with(signalling, "uri", [None] * signalling.num_rows)

    @cached_property
    def _port_map(self) -> npt.NDArray[np.uint16]:
        ports = np.arange(_PORTS, dtype=np.uint16)
        if self.ports == "map":
            seed = int.from_bytes(_digest(self.key, "ports"), "big")
            np.random.Generator(np.random.Philox(np.random.SeedSequence(seed))).shuffle(
                ports[_FIRST_MAPPED_PORT:]
            )
        return ports

    def _ssrc(self, ssrc: int) -> int:
        return _number(self.key, f"ssrc {ssrc}")


@dataclass(frozen=True)
class _Shifts:
    """By how much the numbers of each connection and RTP stream are shifted."""

    key: bytes
    flows: pa.Table

    def tcp(self, flow: npt.NDArray[np.uint32], *, from_server: npt.NDArray[np.bool_]) -> IntArray:
        """Return the shift of the sequence numbers of one end, for packets of some flows."""
        columns = ("protocol", "server", "server_port", "client", "client_port")
        names = [" ".join(map(str, row.values())) for row in self.flows.select(columns).to_pylist()]
        of_end = np.array(
            [
                [_number(self.key, f"tcp {end} {name}") for name in names]
                for end in ("client", "server")
            ],
            dtype=np.int64,
        )
        found: IntArray = of_end[from_server.astype(np.intp), flow]
        return found

    def rtp(self, ssrc: pa.ChunkedArray, purpose: str) -> IntArray:
        """Return the shift of a stream's sequence numbers or timestamps, for packets of some
        streams.
        """
        shifts = _mapped(ssrc, lambda value: _number(self.key, f"rtp {purpose} {value}"))
        return np.asarray(pa.chunked_array(shifts).fill_null(0).to_numpy(), dtype=np.int64)


def _ip_only(table: PacketTable) -> PacketTable:
    """Return the packets of flows that have IP; the flow table keeps all rows, addresses without IP
    left out.
    """
    is_ip = np.asarray(pc.not_equal(table.flows.column("protocol"), "non-ip"))
    if is_ip.all():
        return table
    kept = np.flatnonzero(is_ip)
    number = np.zeros(len(is_ip), dtype=np.uint32)
    number[kept] = np.arange(len(kept))
    flows = table.flows.take(pa.array(kept))
    flows = _with(flows, "flow", np.arange(len(kept), dtype=np.uint32))
    table = replace(table.select(is_ip[table.flow]), flows=flows)
    return replace(
        table,
        packets=_with(table.packets, "flow", number[table.flow]),
        rtcp=_with(table.rtcp, "flow", number[table.rtcp.column("flow").to_numpy()]),
        signalling=_with(
            table.signalling, "flow", number[table.signalling.column("flow").to_numpy()]
        ),
    )


def _first_ns(table: PacketTable) -> int:
    return int(table.time_ns[0]) if len(table) else 0


def _mapped_addresses(key: bytes, texts: Iterable[str]) -> dict[str, str]:
    """Return what stands for each address."""
    from yacryptopan import CryptoPAn  # noqa: PLC0415 - only this command needs it

    mapping = CryptoPAn(key)
    wanted = sorted(set(texts))
    found = {}
    for place, text in enumerate(wanted):
        found[text] = str(mapping.anonymize(text))
        report_step("mapping", place + 1, len(wanted), unit="addresses")
    return found


def _number(key: bytes, text: str) -> int:
    """Return a number of 32 bits that only those who have the key can tell from the text."""
    return int.from_bytes(_digest(key, text)[:4], "big")


def _digest(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _mapped(column: pa.ChunkedArray, number_of: Callable[[int], int]) -> pa.ChunkedArray:
    """Return a column of 32-bit numbers in which each value is replaced; nulls stay."""
    distinct = pc.unique(column).drop_null()
    if len(distinct) == 0:
        return column
    replaced = pa.array([number_of(value) for value in distinct.to_pylist()], type=pa.uint32())
    places = pc.index_in(column, value_set=distinct)
    return (
        replaced.take(places)
        if isinstance(places, pa.Array)
        else pc.take(pa.chunked_array([replaced]), places)
    )


def _shifted(table: pa.Table, name: str, shift: IntArray) -> pa.Table:
    """Return a table in which a column of unsigned numbers is shifted, each by its own, round at
    its width.
    """
    column = table.column(name)
    values = column.fill_null(0).to_numpy()
    moved = (values.astype(np.int64) + shift).astype(values.dtype)  # wraps round
    return _with(table, name, pa.array(moved, mask=np.asarray(column.is_null())))


def _with(table: pa.Table, name: str, values: object) -> pa.Table:
    place = table.schema.get_field_index(name)
    field = table.schema.field(place)
    if not isinstance(values, pa.ChunkedArray | pa.Array):
        values = pa.array(values, type=field.type)
    return table.set_column(place, field, values)


def _texts(table: pa.Table, name: str) -> list[str]:
    texts: list[str] = table.column(name).to_pylist()
    return texts
