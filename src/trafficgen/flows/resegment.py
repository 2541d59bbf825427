"""Undo segmentation offload: cut packets above the MTU, as hosts hand them to their cards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.tables import PacketTable
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, BoolArray, IntArray

#: Ethernet's MTU, bytes: what is above it was not on the wire, unless jumbo frames are in use.
ETHERNET_MTU_BYTES = 1500
_LARGEST_JUMBO_BYTES = 9216
_FEWEST_JUMBO_PACKETS = 3
_SMALLEST_FULL_PACKET_BYTES = 1200
#: Rate at which the pieces are laid out where there is room, bit/s: a host's link.
_BACK_TO_BACK_BPS = 1_000_000_000
_TCP_FIN_AND_PUSH = 0x01 | 0x08


def resegment(table: PacketTable) -> tuple[PacketTable, int]:
    """Cut segmentation-offload packets into packets of MTU size.

    Each piece has the headers of the packet it is cut from; payload bytes are conserved. The pieces
    follow one another at 1 Gbit/s, or closer where the next packet of the same flow and direction
    comes sooner.

    Args:
        table: Packets in order of time.

    Returns:
        The table, in order of time, and how many packets were cut.
    """
    mtu_bytes = infer_mtu_bytes(table)
    header_bytes = table.ip_bytes - table.payload_bytes
    largest_bytes = max(mtu_bytes, ETHERNET_MTU_BYTES)  # what lies between was on the wire as it is
    oversize = (
        (table.ip_bytes > largest_bytes) & (table.payload_bytes > 0) & (header_bytes < mtu_bytes)
    )
    if not oversize.any():
        return table, 0
    room = np.where(oversize, mtu_bytes - header_bytes, np.maximum(table.payload_bytes, 1))
    pieces = np.where(oversize, -(-table.payload_bytes // room), 1)
    source = np.repeat(np.arange(len(table)), pieces)
    number = np.arange(source.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    last = number == pieces[source] - 1
    payload = np.where(last, table.payload_bytes[source] - number * room[source], room[source])
    payload = np.where(oversize[source], payload, table.payload_bytes[source])
    columns = {
        "time_ns": (
            table.time_ns[source] + number * _piece_spacing_ns(table, pieces, mtu_bytes)[source]
        ),
        "ip_bytes": payload + header_bytes[source],
        "frame_bytes": (
            payload + header_bytes[source] + (table.frame_bytes - table.ip_bytes)[source]
        ),
        "payload_bytes": payload,
    }
    columns |= _tcp_columns(
        table, source, offset=number * room[source], cut_short=~last & oversize[source]
    )
    cut = table.packets.take(pa.array(source))
    for name, values in columns.items():
        place = cut.schema.get_field_index(name)
        field = cut.schema.field(place)
        cut = cut.set_column(place, field, _with_nulls_of(cut.column(name), values, field.type))
    return replace(table, packets=cut).sort_by_time(), int(np.count_nonzero(oversize))


def infer_mtu_bytes(table: PacketTable) -> int:
    """Return the MTU that the sizes show: the commonest full size up to 1500 bytes, else 1500.

    Jumbo frames are taken for in use where the largest size is within their reach, most packets
    above 1500 bytes have it, and there are ten of it for each full packet of up to 1500 bytes.
    """
    sizes = table.ip_bytes[table.payload_bytes > 0]
    above = sizes[sizes > ETHERNET_MTU_BYTES]
    full = sizes[(sizes >= _SMALLEST_FULL_PACKET_BYTES) & (sizes <= ETHERNET_MTU_BYTES)]
    if above.size:
        largest = int(above.max())
        count = int(np.count_nonzero(above == largest))
        enough = (
            count >= _FEWEST_JUMBO_PACKETS and 2 * count > above.size and count > 10 * full.size
        )
        if largest <= _LARGEST_JUMBO_BYTES and enough:
            return largest
    return int(np.bincount(full).argmax()) if full.size else ETHERNET_MTU_BYTES


def _piece_spacing_ns(table: PacketTable, pieces: IntArray, mtu_bytes: int) -> IntArray:
    """Return how far apart the pieces of each packet are laid, ns, shape (n,)."""
    direction = table.flow.astype(np.int64) * 2 + table.to_client
    order = np.argsort(direction, kind="stable")
    gap = np.full(len(table), np.iinfo(np.int64).max, dtype=np.int64)
    followed = direction[order][1:] == direction[order][:-1]
    gap[order[:-1][followed]] = np.diff(table.time_ns[order])[followed]
    back_to_back_ns = mtu_bytes * BITS_PER_BYTE * NS_PER_S // _BACK_TO_BACK_BPS
    spacing_ns: IntArray = np.minimum(back_to_back_ns, gap // pieces)
    return spacing_ns


def _tcp_columns(
    table: PacketTable, source: IntArray, *, offset: IntArray, cut_short: BoolArray
) -> dict[str, npt.NDArray[np.generic]]:
    """Return TCP sequence numbers and flags of the pieces: FIN and PSH stay with the last one."""
    columns: dict[str, npt.NDArray[np.generic]] = {}
    if "tcp_sequence" in table.packets.column_names:
        columns["tcp_sequence"] = (
            table.values("tcp_sequence").astype(np.int64)[source] + offset
        ) % (1 << 32)
    if "tcp_flags" in table.packets.column_names:
        flags = table.values("tcp_flags").astype(np.uint8)[source]
        columns["tcp_flags"] = np.where(
            cut_short, flags & np.uint8(0xFF ^ _TCP_FIN_AND_PUSH), flags
        )
    return columns


def _with_nulls_of(
    column: pa.ChunkedArray, values: npt.NDArray[np.generic], kind: pa.DataType
) -> pa.Array:
    """Return values as an Arrow array of a type, null where ``column`` is null."""
    missing = np.asarray(column.is_null().to_numpy(), dtype=np.bool_)
    return pa.array(
        values.astype(kind.to_pandas_dtype()), type=kind, mask=missing if missing.any() else None
    )
