"""The packet table: one columnar schema that captures, simulations and generators all end in.

A :class:`PacketTable` is an Arrow table of packets, the flow table its ``flow`` column points into,
and the signalling messages of the same sessions. Times are nanoseconds from an origin; the
origin's own time since 1970 is kept too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.data_frames import data_frame
from trafficgen.errors import SelectionError
from trafficgen.formatting import day_and_time, describe_value, format_count, list_first, number
from trafficgen.notebook import SHOWN_ROWS, FirstRows, NotebookView
from trafficgen.options import checks_arguments
from trafficgen.tables.columns import Column, nullable, schema_of, set_values
from trafficgen.tables.flow import FLOW_SCHEMA, RTCP_SCHEMA, SIGNALLING_SCHEMA, append_flow_columns
from trafficgen.units import BoolArray, FloatArray, IntArray, s_from_ns

if TYPE_CHECKING:
    import pandas as pd

_Number = TypeVar("_Number", bound=np.generic)

PHASES = (
    *("silence", "probe", "buffering", "playout", "rebuffering"),
    *("thinned", "audio_only", "signalling", "end"),
)

#: Columns that every table has, then those that may be left out (all null).
_REQUIRED = (
    Column(
        "time_ns",
        pa.int64(),
        "When the sender put it on the wire (of a capture: when it was seen), ns from the origin.",
    ),
    Column("flow", pa.uint32(), "Number of its flow: a row of the flow table."),
    Column("to_client", pa.bool_(), "Direction: whether it goes to the client."),
    Column(
        "frame_bytes",
        pa.uint32(),
        "Length on the wire with the link header, bytes; of a capture the original one.",
    ),
    Column("ip_bytes", pa.uint32(), "IP total length, bytes; 0 where there is no IP."),
    Column("payload_bytes", pa.uint32(), "Payload of the transport protocol, bytes."),
)
_OPTIONAL = (
    nullable(
        "rtp_ssrc", pa.uint32(), "RTP synchronisation source (RFC 3550); null where it is not RTP."
    ),
    nullable("rtp_sequence", pa.uint16(), "RTP sequence number."),
    nullable("rtp_timestamp", pa.uint32(), "RTP timestamp, ticks of the stream's clock."),
    nullable("rtp_marker", pa.bool_(), "RTP marker bit; of video the last packet of a frame."),
    nullable(
        "tcp_sequence", pa.uint32(), "TCP sequence number (RFC 9293); null where it is not TCP."
    ),
    nullable("tcp_acknowledgement", pa.uint32(), "TCP acknowledgement number."),
    nullable(
        "tcp_flags",
        pa.uint8(),
        "TCP flags: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128.",
    ),
    nullable(
        "tcp_window",
        pa.uint32(),
        "TCP receive window, bytes, scaled where the handshake was seen (RFC 7323).",
    ),
    nullable(
        "arrival_ns",
        pa.int64(),
        (
            "When it reached the receiver, ns from the origin; null: lost, or unknown where all are"
            " null."
        ),
    ),
    nullable(
        "phase",
        pa.dictionary(pa.int8(), pa.string()),
        "Phase of the session it belongs to, where a generator says so.",
    ),
    nullable("scale_level", pa.int16(), "Index into the session's ladder of encoding rates."),
    nullable("retransmission", pa.bool_(), "Whether it repeats data sent before."),
)
PACKET_COLUMNS = (*_REQUIRED, *_OPTIONAL)
REQUIRED_FIELDS = tuple(column.field for column in _REQUIRED)
OPTIONAL_FIELDS = tuple(column.field for column in _OPTIONAL)
#: Schema of a table with every column.
PACKET_SCHEMA = schema_of(PACKET_COLUMNS)


_MOST_IN_32_BITS = 2**31 - 1
#: Half of what 64 bits hold, the year 2116: times of packets are added to it.
LATEST_ORIGIN_NS = 1 << 62


@dataclass(frozen=True)
class PacketTable(NotebookView):
    """Packets of one or many flows, in order of time.

    Attributes:
        packets: Arrow table with the required columns of :data:`PACKET_SCHEMA` and any of the
            optional ones.
        flows: Flow table (:data:`~trafficgen.tables.flow.FLOW_SCHEMA`), one row a flow.
        origin_ns: Time of ``time_ns == 0`` since 1970-01-01 UTC, ns.
        signalling: Control messages (:data:`~trafficgen.tables.flow.SIGNALLING_SCHEMA`).
        notes: Free facts about how the table was made (seed, model, warnings), JSON-compatible.
        rtcp: Sender and receiver reports (:data:`~trafficgen.tables.flow.RTCP_SCHEMA`).

    Example:
        >>> import trafficgen
        >>> settings = {"rate_kbps": 400, "packet_bytes": 1000}
        >>> table = trafficgen.generate("cbr", duration_s=2, settings=settings)
        >>> table
        <PacketTable: 100 packets, 1 flow, 1.98 s, 100,000 IP bytes>
        >>> table.ip_bytes[:3].tolist(), table.time_s[:3].round(3).tolist()
        ([1000, 1000, 1000], [0.0, 0.02, 0.04])
        >>> table.select(table.time_s < 1.0)
        <PacketTable: 50 packets, 1 flow, 0.98 s, 50,000 IP bytes>
        >>> list(table.to_pandas().columns[:6])
        ['time_ns', 'flow', 'to_client', 'frame_bytes', 'ip_bytes', 'payload_bytes']
    """

    packets: pa.Table
    flows: pa.Table = field(default_factory=FLOW_SCHEMA.empty_table)
    origin_ns: int = 0
    signalling: pa.Table = field(default_factory=SIGNALLING_SCHEMA.empty_table)
    notes: dict[str, object] = field(default_factory=dict)
    rtcp: pa.Table = field(default_factory=RTCP_SCHEMA.empty_table)

    def __post_init__(self) -> None:
        check_columns(self.packets, PACKET_SCHEMA, required={f.name for f in REQUIRED_FIELDS})
        check_columns(self.flows, FLOW_SCHEMA, required=set(FLOW_SCHEMA.names))
        check_columns(self.signalling, SIGNALLING_SCHEMA, required=set(SIGNALLING_SCHEMA.names))
        check_columns(self.rtcp, RTCP_SCHEMA, required=set(RTCP_SCHEMA.names))
        if not -LATEST_ORIGIN_NS <= self.origin_ns <= LATEST_ORIGIN_NS:
            raise ValueError(
                f"origin_ns is {self.origin_ns}; give ns since 1970, at most {LATEST_ORIGIN_NS}"
            )

    def __len__(self) -> int:
        return int(self.packets.num_rows)

    def __repr__(self) -> str:
        parts = [
            format_count(len(self), "packet"),
            format_count(self.flows.num_rows, "flow"),
            f"{number(self._duration_s)} s",
            format_count(int(self.ip_bytes.sum()), "IP byte"),
        ]
        return f"<PacketTable: {', '.join(parts)}>"

    @property
    def _duration_s(self) -> float:
        return s_from_ns(int(self.time_ns.max() - self.time_ns.min())) if len(self) else 0.0

    def _notebook_data(self) -> dict[str, object]:
        ways = [
            self.flows.column(f"frame_bytes_to_{end}").to_numpy().astype(np.int64)
            for end in ("client", "server")
        ]
        largest = np.lexsort((self.flows.column("flow").to_numpy(), -(ways[0] + ways[1])))
        keys = ["flow", "protocol", "server", "server_port", "client", "client_port", "media"]
        keys += ["frame_bytes_to_client", "frame_bytes_to_server"]
        first = self.flows.take(pa.array(largest[:SHOWN_ROWS])).select(keys).to_pylist()
        return {
            "packets_to_clients": int(self.to_client.sum()),
            "begins": day_and_time(self.origin_ns + int(self.time_ns.min())) if len(self) else None,
            "columns": ", ".join(self.packets.column_names),
            "flows": FirstRows(first, self.flows.num_rows),
        }

    def to_pandas(self) -> pd.DataFrame:
        """Return the packets as a pandas data frame with nullable types.

        It has the columns of :attr:`packets`, then those of its flow, texts as categories:
        ``server``, ``client``, ``server_port``, ``client_port``, ``session``, ``protocol``,
        ``media``, and ``ssrc``, ``payload_type`` and ``clock_hz`` of its RTP stream with most
        packets; and ``direction``, ``to client`` or ``to server``. :attr:`origin_ns` is in
        ``attrs["origin_ns"]``. :func:`~trafficgen.read_packets` makes packets of such a frame, and
        of a CSV or Parquet file of it.
        """
        ways = pa.DictionaryArray.from_arrays(
            pa.array(self.to_client.astype(np.int8)), pa.array(["to server", "to client"])
        )
        packets = append_flow_columns(self.packets, self.flows)
        frame = data_frame(packets.append_column("direction", ways))
        frame.attrs["origin_ns"] = self.origin_ns
        return frame

    @checks_arguments
    def column(self, name: str) -> pa.ChunkedArray:
        """Return one column as Arrow data; an optional column that was left out is all null.

        Raises:
            ValueError: If the schema has no such column.
        """
        return self._find_column(name)

    def _find_column(self, name: str) -> pa.ChunkedArray:
        """Do what `column` does, for the properties here: checks of names took most of their time.

        Populations of thousands of sessions have as many tables.
        """
        if name not in PACKET_SCHEMA.names:
            raise ValueError(
                f"no column {name!r} in the packet table; columns are"
                f" {', '.join(PACKET_SCHEMA.names)}"
            )
        if name in self.packets.column_names:
            return self.packets.column(name)
        return pa.chunked_array([pa.nulls(len(self), PACKET_SCHEMA.field(name).type)])

    @checks_arguments
    def is_known(self, name: str) -> BoolArray:
        """Return where a column is not null, shape (n,)."""
        if name not in self.packets.column_names:
            return np.zeros(len(self), dtype=np.bool_)
        column = self.packets.column(name)
        if column.null_count == 0:
            return np.ones(len(self), dtype=np.bool_)
        return np.asarray(column.is_valid().to_numpy(), dtype=np.bool_)

    @checks_arguments
    def values(self, name: str) -> npt.NDArray[np.generic]:
        """Return one column as a numpy array, shape (n,); nulls become 0 (see :meth:`is_known`)."""
        return self._read(name)

    def _read(self, name: str) -> npt.NDArray[np.generic]:
        column = self._find_column(name)
        if column.null_count:
            zero = pa.scalar(False if pa.types.is_boolean(column.type) else 0, type=column.type)
            column = column.fill_null(zero)
        return np.asarray(column.to_numpy())

    @cached_property
    def time_ns(self) -> IntArray:
        """Time of each packet, ns from the origin, shape (n,)."""
        return _read_only(self._read("time_ns").astype(np.int64, copy=False))

    @cached_property
    def time_s(self) -> FloatArray:
        """Time of each packet, s from the origin, shape (n,)."""
        return _read_only(s_from_ns(self.time_ns))

    @cached_property
    def flow(self) -> npt.NDArray[np.uint32]:
        """Row of the flow table, shape (n,)."""
        return _read_only(self._read("flow").astype(np.uint32, copy=False))

    @cached_property
    def to_client(self) -> BoolArray:
        """Whether the packet goes to the client, shape (n,)."""
        return _read_only(self._read("to_client").astype(np.bool_, copy=False))

    @cached_property
    def frame_bytes(self) -> IntArray:
        """Length on the wire with the link header, bytes, shape (n,)."""
        return _read_only(self._read("frame_bytes").astype(np.int64))

    @cached_property
    def ip_bytes(self) -> IntArray:
        """IP total length, bytes, shape (n,)."""
        return _read_only(self._read("ip_bytes").astype(np.int64))

    @cached_property
    def payload_bytes(self) -> IntArray:
        """Transport payload, bytes, shape (n,)."""
        return _read_only(self._read("payload_bytes").astype(np.int64))

    def select(self, rows: BoolArray) -> PacketTable:
        """Return the table with the packets where ``rows``, shape (n,), is true, and all flows.

        Raises:
            ValueError: If rows are not truth values, or not one a packet.
        """
        if np.asarray(rows).dtype != np.bool_ or np.shape(rows) != (len(self),):
            raise ValueError(
                f"rows must be {len(self)} truth values, one a packet, such as table.time_s < 10;"
                f" got {describe_value(rows)}"
            )
        return replace(self, packets=self.packets.filter(pa.array(rows)))

    def select_flows(self, flows: list[int]) -> PacketTable:
        """Return the packets of some flows by their numbers; the flow table stays.

        Raises:
            SelectionError: If there is no such flow.
        """
        known = self.flows.column("flow").to_numpy()
        if (unknown := np.setdiff1d(flows, known)).size:
            available = f"there are flows {list_first([str(number) for number in known.tolist()])}"
            raise SelectionError(what=f"flow {unknown[0]}", available=available)
        return self.select(np.isin(self.flow, flows))

    @checks_arguments
    def round_to_clock(self, tick_ns: int) -> PacketTable:
        """Return the table with times rounded down to whole ticks after the first packet."""
        if len(self) == 0:
            return self
        first = int(self.time_ns[0])
        ticks = first + (self.time_ns - first) // tick_ns * tick_ns
        return replace(self, packets=set_values(self.packets, "time_ns", ticks))

    def sort_by_time(self) -> PacketTable:
        """Return the table in order of time; packets with equal times keep their order."""
        if len(self) < 2 or bool(np.all(np.diff(self.time_ns) >= 0)):
            return self
        order = np.argsort(self.time_ns, kind="stable")
        return replace(self, packets=self.packets.take(pa.array(order)))


def compact_ip_bytes(table: PacketTable) -> IntArray:
    """Return :attr:`PacketTable.ip_bytes` in 32 bits where they fit, without a copy."""
    sizes = table.values("ip_bytes")
    fits = sizes.dtype == np.uint32 and (not sizes.size or sizes.max() <= _MOST_IN_32_BITS)
    return _read_only(sizes.view("int32")) if fits else table.ip_bytes


def _read_only(values: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return an array that cannot be written: it is kept, and others share it."""
    values.flags.writeable = False
    return values


def check_columns(table: pa.Table, schema: pa.Schema, *, required: set[str]) -> None:
    """Raise ``ValueError`` for a missing required column, an unknown one or one of a wrong type."""
    if not isinstance(table, pa.Table):
        raise TypeError(
            f"a packet table is made of Arrow tables, not of {describe_value(table)};"
            " `read_packets` and `generate` return packet tables"
        )
    missing = required - set(table.column_names)
    if missing:
        raise ValueError(
            f"column {sorted(missing)[0]!r} is missing; there are"
            f" {', '.join(table.column_names) or 'none'}"
        )
    for name in table.column_names:
        if name not in schema.names:
            raise ValueError(f"unknown column {name!r}; known are {', '.join(schema.names)}")
        found, expected = table.schema.field(name).type, schema.field(name).type
        if found != expected:
            raise ValueError(f"column {name!r} is {found}, expected {expected}")
        if name in required and not schema.field(name).nullable and table.column(name).null_count:
            raise ValueError(
                f"column {name!r} has {table.column(name).null_count} nulls, none are allowed"
            )
