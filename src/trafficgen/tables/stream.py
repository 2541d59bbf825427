"""Packets that come piece by piece, without all of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from trafficgen.tables.packet import PACKET_SCHEMA, PacketTable

#: Rows of a piece that writers take at once.
PIECE_ROWS = 1 << 18


@dataclass(frozen=True)
class PacketStream:
    """Packets in order of time, in pieces of any size, read once.

    Attributes:
        head: A table without packets that has all else: flows, origin, signalling, notes.
        pieces: The packets.
        columns: Optional columns that have values, and the required ones.
        rows: Number of packets; None where it is not known before they have come.
    """

    head: PacketTable
    pieces: Iterable[pa.Table]
    columns: frozenset[str]
    rows: int | None = None

    def iterate_pieces(self, rows: int = PIECE_ROWS) -> Iterator[PacketTable]:
        """Yield the packets in tables of ``rows`` rows, the last one shorter, one chunk a column.

        What is written piece by piece then does not depend on how the packets came.
        """
        for piece in even_pieces(self.pieces, rows):
            yield PacketTable(
                packets=piece,
                flows=self.head.flows,
                origin_ns=self.head.origin_ns,
                notes=self.head.notes,
            )


def stream_of(table: PacketTable) -> PacketStream:
    """Return a table that is in memory as a stream."""
    head = PacketTable(
        packets=PACKET_SCHEMA.empty_table(),
        flows=table.flows,
        origin_ns=table.origin_ns,
        signalling=table.signalling,
        notes=table.notes,
        rtcp=table.rtcp,
    )
    columns = frozenset(name for name in PACKET_SCHEMA.names if table.is_known(name).any())
    return PacketStream(head=head, pieces=[table.packets], columns=columns, rows=len(table))


def even_pieces(pieces: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """Yield the rows in tables of ``rows`` rows, the last one shorter, one chunk a column."""
    held: list[pa.Table] = []
    count = 0
    for piece in pieces:
        start = 0
        while count + piece.num_rows - start >= rows:
            held.append(piece.slice(start, rows - count))
            start += rows - count
            yield pa.concat_tables(held, promote_options="default").combine_chunks()
            held, count = [], 0
        if start < piece.num_rows:
            held.append(piece.slice(start))
            count += piece.num_rows - start
    if held:
        yield pa.concat_tables(held, promote_options="default").combine_chunks()
