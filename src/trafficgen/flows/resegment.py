"""Undo segmentation offload: cut packets above the MTU, as hosts hand them to their cards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from trafficgen.tables import PacketTable, compact_ip_bytes
from trafficgen.units import BITS_PER_BYTE, NS_PER_S, IntArray


class OffloadLimits:
    """Which packets were cut by a network card, and how their pieces are laid out.

    Attributes:
        mtu_bytes: Ethernet's MTU: longer packets were not on the wire, unless jumbo frames are in
            use.
        largest_jumbo_bytes: Longest packet of links with jumbo frames.
        fewest_jumbo: Number of packets of the largest size from which jumbo frames are believed.
        jumbo_to_full: Jumbo frames / full packets of up to 1500 bytes, at least.
        least_full_bytes: Packets of at least this size may be full ones, which show the MTU.
        largest_offload_bytes: Longest packet that a host hands to its card (Linux: GSO_MAX_SIZE);
            longer ones are damage, and are left as they are: 2 GiB would be a million pieces.
        mtu_to_headers: So are packets whose headers are more than this part of an MTU: the pieces
            of one with headers of 1499 bytes have a byte of payload.
        piece_rate_bps: Pieces follow one another at this rate where there is room: a host's link.
    """

    mtu_bytes: int = 1500
    largest_jumbo_bytes: int = 9216
    fewest_jumbo: int = 3
    jumbo_to_full: int = 10
    least_full_bytes: int = 1200
    largest_offload_bytes: int = 8 * 65_535
    mtu_to_headers: int = 4
    piece_rate_bps: int = 1_000_000_000


#: Also what an estimate of memory goes by.
OFFLOAD_LIMITS = _LIMITS = OffloadLimits()
_TCP_FIN_AND_PUSH = 0x01 | 0x08


def resegment(table: PacketTable) -> tuple[PacketTable, int]:
    """Cut segmentation-offload packets into packets of MTU size.

    Each piece has the headers of the packet it is cut from; payload bytes are conserved. The pieces
    follow one another at 1 Gbit/s, or closer where the next packet of the same flow and direction
    comes sooner. The result is the table, in order of time, and how many packets were cut.
    """
    sizes = compact_ip_bytes(table)
    if sizes.max(initial=0) <= _LIMITS.mtu_bytes:
        return table, 0
    mtu_bytes = infer_mtu_bytes(table)
    payload_bytes = table.values("payload_bytes").astype(np.int64)
    header_bytes = table.ip_bytes - payload_bytes
    largest_bytes = max(mtu_bytes, _LIMITS.mtu_bytes)  # what lies between was on the wire as it is
    oversize = (
        (table.ip_bytes > largest_bytes)
        & (table.ip_bytes <= _LIMITS.largest_offload_bytes)
        & (payload_bytes > 0)
        & (_LIMITS.mtu_to_headers * header_bytes < mtu_bytes)
    )
    if not oversize.any():
        return table, 0
    room = np.where(oversize, mtu_bytes - header_bytes, np.maximum(payload_bytes, 1))
    pieces = np.where(oversize, -(-payload_bytes // room), 1)
    source = np.repeat(np.arange(len(table)), pieces)
    number = np.arange(source.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    last = number == pieces[source] - 1
    payload = np.where(last, payload_bytes[source] - number * room[source], room[source])
    payload = np.where(oversize[source], payload, payload_bytes[source])
    spacing_ns, ip_bytes = _space_pieces(table, pieces, mtu_bytes), payload + header_bytes[source]
    columns: dict[str, npt.NDArray[np.generic]] = {
        "time_ns": table.time_ns[source] + number * spacing_ns[source],
        "ip_bytes": ip_bytes,
        "frame_bytes": ip_bytes + (table.frame_bytes - table.ip_bytes)[source],
        "payload_bytes": payload,
    }
    if "tcp_sequence" in table.packets.column_names:
        begun = table.values("tcp_sequence").astype(np.int64)[source] + number * room[source]
        columns["tcp_sequence"] = begun % (1 << 32)
    if "tcp_flags" in table.packets.column_names:
        # FIN and PSH stay with the last piece.
        flags = table.values("tcp_flags").astype(np.uint8)[source]
        others = flags & np.uint8(0xFF ^ _TCP_FIN_AND_PUSH)
        columns["tcp_flags"] = np.where(~last & oversize[source], others, flags)
    cut = table.packets.take(pa.array(source))
    for name, values in columns.items():
        place = cut.schema.get_field_index(name)
        field = cut.schema.field(place)
        cut = cut.set_column(place, field, _copy_nulls(cut.column(name), values, field.type))
    return replace(table, packets=cut).sort_by_time(), int(np.count_nonzero(oversize))


def infer_mtu_bytes(table: PacketTable) -> int:
    """Return the MTU that the sizes show: the commonest full size up to 1500 bytes, else 1500.

    Jumbo frames are taken for in use where the largest size is within their reach, most packets
    above 1500 bytes have it, and there are ten of it for each full packet of up to 1500 bytes.
    """
    sizes = table.ip_bytes[table.values("payload_bytes").astype(np.uint32, copy=False) > 0]
    above = sizes[sizes > _LIMITS.mtu_bytes]
    full = sizes[(sizes >= _LIMITS.least_full_bytes) & (sizes <= _LIMITS.mtu_bytes)]
    if above.size:
        largest = int(above.max())
        count = int(np.count_nonzero(above == largest))
        enough = (
            count >= _LIMITS.fewest_jumbo
            and 2 * count > above.size
            and count > _LIMITS.jumbo_to_full * full.size
        )
        if largest <= _LIMITS.largest_jumbo_bytes and enough:
            return largest
    return int(np.bincount(full).argmax()) if full.size else _LIMITS.mtu_bytes


def _space_pieces(table: PacketTable, pieces: IntArray, mtu_bytes: int) -> IntArray:
    """Return how far apart the pieces of each packet are laid, ns, shape (n,)."""
    direction = table.flow.astype(np.int64) * 2 + table.to_client
    order = np.argsort(direction, kind="stable")
    gap = np.full(len(table), np.iinfo(np.int64).max, dtype=np.int64)
    followed = direction[order][1:] == direction[order][:-1]
    gap[order[:-1][followed]] = np.diff(table.time_ns[order])[followed]
    back_to_back_ns = mtu_bytes * BITS_PER_BYTE * NS_PER_S // _LIMITS.piece_rate_bps
    spacing_ns: IntArray = np.minimum(back_to_back_ns, gap // pieces)
    return spacing_ns


def _copy_nulls(
    column: pa.ChunkedArray, values: npt.NDArray[np.generic], kind: pa.DataType
) -> pa.Array:
    """Return values as an Arrow array of a type, null where ``column`` is null."""
    missing = np.asarray(column.is_null().to_numpy(), dtype=np.bool_)
    return pa.array(
        values.astype(kind.to_pandas_dtype()), type=kind, mask=missing if missing.any() else None
    )
