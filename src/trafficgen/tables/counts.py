"""Counts of packets: flow tables, as sent, arrived or inferred, and bytes over time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from trafficgen._core._rust import CLOCK_CANDIDATES_HZ
from trafficgen._core.types import RtpStreamColumns, RtpStreamDict
from trafficgen.errors import CaptureWarning, PacketTableError, warn
from trafficgen.formatting import format_count, list_first
from trafficgen.tables.columns import set_values
from trafficgen.tables.flow import FLOW_COLUMNS_OF_PACKETS, FLOW_SCHEMA, set_flow_columns
from trafficgen.tables.packet import PACKET_SCHEMA, PacketTable
from trafficgen.tables.protocols import HOSTS_IN_RANGE, documentation_client, documentation_server
from trafficgen.units import BoolArray, FloatArray, IntArray, kbps_from_bytes, s_from_ns

_SERVER_PORT = 5004  # RFC 3551 section 8 registers it for RTP
_FIRST_CLIENT_PORT = 40_000
_CLIENT_PORTS = 12_000
#: Higher ids are taken for a damaged column, not for flows: these with any number of packets, those
#: with few.
MOST_FLOWS = 1 << 22
_MOST_FLOWS_OF_FEW_PACKETS = 1 << 17
#: What `PacketTable.to_pandas` adds to the columns, and names of an index of pandas in files.
_REDUNDANT_NAMES = ("direction", "", "Unnamed: 0", "__index_level_0__")


def with_counts(table: PacketTable) -> pa.Table:
    """Return the flow table with times, packets and bytes counted from the packets.

    A flow without packets gets times of 0.
    """
    flows, count = table.flows, table.flows.num_rows
    first_time_ns, last_time_ns = _first_and_last(table, count)
    columns: dict[str, IntArray] = {"first_time_ns": first_time_ns, "last_time_ns": last_time_ns}
    for direction, rows in (("to_client", table.to_client), ("to_server", ~table.to_client)):
        columns[f"packets_{direction}"] = np.bincount(table.flow[rows], minlength=count)
        columns[f"frame_bytes_{direction}"] = _sums(table, table.frame_bytes, rows, count)
        columns[f"payload_bytes_{direction}"] = _sums(table, table.payload_bytes, rows, count)
    for name, values in columns.items():
        flows = set_values(flows, name, values)
    return flows


def _first_and_last(table: PacketTable, count: int) -> tuple[IntArray, IntArray]:
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, table.flow, table.time_ns)
    np.maximum.at(last, table.flow, table.time_ns)
    is_empty = first > last
    first[is_empty] = last[is_empty] = 0
    return first, last


def _sums(table: PacketTable, size_bytes: IntArray, rows: BoolArray, count: int) -> IntArray:
    # Sums stay below 2^53, where float64 is exact: nine petabytes in one flow.
    return np.rint(np.bincount(table.flow[rows], weights=size_bytes[rows], minlength=count)).astype(
        np.int64
    )


def as_captured(table: PacketTable, *, at_client: bool) -> PacketTable:
    """Return the packets as a capture at the client, or at the server, shows them.

    What the machine sends is at its time of sending, also if it was lost on the way; what comes is
    at its arrival, as far as it arrived. The flow table is counted anew.
    """
    comes = table.to_client == at_client
    seen = ~comes | table.is_known("arrival_ns")
    times_ns = np.where(comes & seen, table.values("arrival_ns"), table.time_ns)
    packets = set_values(table.packets, "time_ns", times_ns)
    captured = replace(table, packets=packets).select(seen).sort_by_time()
    return replace(captured, flows=with_counts(captured))


def tcp_flows(packets: pa.Table) -> set[int]:
    """Return the flows whose packets have flags of TCP."""
    if "tcp_flags" not in packets.column_names or "flow" not in packets.column_names:
        return set()
    segments = packets.filter(packets.column("tcp_flags").is_valid())
    return set(pc.unique(segments.column("flow")).to_pylist())


def infer_flows(highest: int, packets: int, tcp: Set[int] = frozenset()) -> pa.Table:
    """Return a flow table with a row for every id up to the highest of packets that came alone.

    Flows are of unknown media in session 0, between documentation addresses (RFC 5737) of their
    own; their counts are 0. They are UDP but for those of TCP. The highest is -1 where there are no
    packets, and ``tcp`` has the ids of :func:`tcp_flows`.

    Raises:
        ValueError: If the id is :data:`MOST_FLOWS` or more, or beyond what so few packets can have.
    """
    count = highest + 1
    most = min(MOST_FLOWS, max(_MOST_FLOWS_OF_FEW_PACKETS, packets))
    if count > most:
        raise ValueError(
            f"column 'flow' has the id {highest}; without a flow table ids of"
            f" {format_count(packets, 'packet')} end at {most - 1};"
            " number the flows from 0 on, or give their table"
        )
    numbers = np.arange(count)
    zeros = np.zeros(count, dtype=np.int64)
    # Client ports run first, by two as RTP's do, then client addresses, then servers.
    clients, servers = numbers // _CLIENT_PORTS, numbers // (_CLIENT_PORTS * HOSTS_IN_RANGE)
    columns: dict[str, object] = {
        field.name: pa.array(zeros).cast(field.type) for field in FLOW_SCHEMA if _counts(field)
    }
    columns |= {
        "flow": pa.array(numbers, type=pa.uint32()),
        "protocol": ["tcp" if number in tcp else "udp" for number in range(count)],
        "server": [documentation_server(int(number)) for number in servers],
        "server_port": pa.array(np.full(count, _SERVER_PORT), type=pa.uint16()),
        "client": [documentation_client(int(number)) for number in clients],
        "client_port": pa.array(
            _FIRST_CLIENT_PORT + 2 * (numbers % _CLIENT_PORTS), type=pa.uint16()
        ),
        "media": ["unknown"] * count,
    }
    for name in ("ssrc", "payload_type", "clock_hz"):
        columns[name] = pa.nulls(count, FLOW_SCHEMA.field(name).type)
    return pa.table([columns[name] for name in FLOW_SCHEMA.names], schema=FLOW_SCHEMA)


def _counts(field: pa.Field) -> bool:
    return bool(pa.types.is_integer(field.type)) and not field.nullable


def each_stream(columns: RtpStreamColumns) -> Iterator[tuple[int, RtpStreamDict]]:
    """Yield the RTP streams, each with the index of its flow."""
    for row in range(len(columns["flow"])):
        jitter_s: list[float] = columns["jitter_s"][row].tolist()
        stream: RtpStreamDict = {
            "ssrc": int(columns["ssrc"][row]),
            "payload_type": int(columns["payload_type"][row]),
            "from_initiator": bool(columns["from_initiator"][row]),
            "packets": int(columns["packets"][row]),
            "payload_bytes": int(columns["payload_bytes"][row]),
            "same_timestamp": int(columns["same_timestamp"][row]),
            "span_ns": int(columns["span_ns"][row]),
            "expected": int(columns["expected"][row]),
            "lost": int(columns["lost"][row]),
            "reordered": int(columns["reordered"][row]),
            "duplicates": int(columns["duplicates"][row]),
            "measured_clock_hz": int(columns["measured_clock_hz"][row]) or None,
            "jitter_s": dict(zip(CLOCK_CANDIDATES_HZ, jitter_s, strict=True)),
        }
        yield int(columns["flow"][row]), stream


def head_of_columns(
    packets: pa.Table,
    name: str,
    names: Iterable[str],
    origin_ns: int = 0,
    flows: pa.Table | None = None,
) -> PacketTable:
    """Return all but the packets of a packet table without our metadata.

    ``packets`` are its packets, or the first ones of each flow, ``names`` all of its columns,
    ``origin_ns`` the time of ``time_ns == 0`` since 1970, and ``flows`` what is assumed of the
    flows (None infers it from the packets).

    Raises:
        PacketTableError: If the ids of flows are too high.

    Warns:
        CaptureWarning: If columns are not used.
    """
    if flows is None:
        highest = pc.max(packets.column("flow")).as_py() if packets.num_rows else -1
        try:
            flows = infer_flows(highest, packets.num_rows, tcp_flows(packets))
        except ValueError as error:
            remedy = "number the flows from 0"
            raise PacketTableError(file=name, problem=str(error), remedy=remedy) from error
    flows, unused = set_flow_columns(flows, packets)
    known = {*PACKET_SCHEMA.names, *FLOW_COLUMNS_OF_PACKETS, *_REDUNDANT_NAMES}
    if unused := unused + [other for other in names if other not in known]:
        warn(f"{name}: columns that are not used: {list_first(unused, most=20)}", CaptureWarning)
    return PacketTable(PACKET_SCHEMA.empty_table(), flows, origin_ns=origin_ns)


@dataclass(frozen=True)
class RateCurve:
    """Bytes in successive bins of equal width; the last bin ends with the observation.

    Attributes:
        start_s: Start of the first bin, s.
        end_s: End of the observation, s.
        size_bytes: Bytes in each bin, shape (n,).
    """

    start_s: float
    end_s: float
    bin_s: float
    size_bytes: FloatArray

    def rate_kbps(
        self, bins: int, *, start_s: float | None = None, end_s: float | None = None
    ) -> FloatArray:
        """Return mean rates over equal parts of a time span, kbit/s, shape (bins,).

        Bytes are spread evenly over their bin, so that none is lost or counted twice within the
        span.

        Args:
            bins: Number of parts, >= 1.
            start_s: Start of the span, s; default: that of the curve.
            end_s: Its end, s; default: that of the curve.
        """
        start_s = self.start_s if start_s is None else start_s
        end_s = self.end_s if end_s is None else end_s
        if not end_s > start_s:
            return np.zeros(bins)
        edges = self.start_s + self.bin_s * np.arange(self.size_bytes.size + 1)
        edges[-1] = (
            max(min(edges[-1], self.end_s), edges[-2]) if self.size_bytes.size else edges[-1]
        )
        until = np.concatenate(([0.0], np.cumsum(self.size_bytes)))
        # Just after the last edge all bytes are there, even those of a last bin without width.
        wanted = np.linspace(start_s, end_s, bins + 1)
        found = np.interp(wanted, edges, until)
        found[wanted >= edges[-1]] = until[-1]
        return np.diff(found) * kbps_from_bytes(1.0, (end_s - start_s) / bins)


@dataclass(frozen=True)
class FlowRates:
    """Rates of a flow's two directions over the same bins."""

    to_client: RateCurve
    to_server: RateCurve

    @classmethod
    def from_bins(
        cls,
        pair: npt.NDArray[np.uint64],
        *,
        start_ns: int,
        end_ns: int,
        bin_ns: int,
        client_first: bool,
    ) -> FlowRates:
        """Return the rates that the core counted.

        ``pair`` has the bytes from the initiator and to it in each bin, shape (2, n). With
        ``client_first`` the initiator is the client: what it sends goes to the server.
        """
        from_initiator, to_initiator = (
            RateCurve(
                start_s=s_from_ns(start_ns),
                end_s=s_from_ns(max(end_ns, start_ns)),
                bin_s=s_from_ns(bin_ns),
                size_bytes=way.astype(np.float64),
            )
            for way in pair
        )
        return (
            cls(to_initiator, from_initiator) if client_first else cls(from_initiator, to_initiator)
        )

    def swap_ends(self) -> FlowRates:
        """Return the same with client and server exchanged."""
        return FlowRates(self.to_server, self.to_client)


def average_parts(values: FloatArray, parts: int) -> FloatArray:
    """Return means over equal parts of a series, each value for an equal time; shape (parts,).

    NaN is where nothing is known, which is left out of the means.
    """
    known = ~np.isnan(values)
    at = np.linspace(0.0, values.size, parts + 1)
    edges = np.arange(values.size + 1)
    sums = np.diff(
        np.interp(at, edges, np.concatenate(([0.0], np.cumsum(np.where(known, values, 0.0)))))
    )
    weights = np.diff(np.interp(at, edges, np.concatenate(([0.0], np.cumsum(known)))))
    # Differences of sums are off by rounding where nothing is known.
    some = weights > 1e-9 * max(1, values.size)
    return np.where(some, sums / np.where(some, weights, 1.0), np.nan)
