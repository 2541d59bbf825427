"""Packets that come piece by piece, without all of them in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from trafficgen.errors import CaptureError
from trafficgen.tables.packet import PACKET_SCHEMA, PacketTable
from trafficgen.units import s_from_ns

#: Rows of a piece that writers take at once.
PIECE_ROWS = 1 << 18
#: Rows within which packets out of order are put in order.
ORDER_WINDOW_ROWS = 1 << 17


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
            yield PacketTable(piece, self.head.flows, self.head.origin_ns, notes=self.head.notes)


def stream_of(table: PacketTable) -> PacketStream:
    """Return a table that is in memory as a stream."""
    head = replace(table, packets=PACKET_SCHEMA.empty_table())
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


def sort_pieces(
    pieces: Iterable[pa.Table], *, name: str, window_rows: int = ORDER_WINDOW_ROWS
) -> Iterator[pa.Table]:
    """Sort packets that are late by at most this many rows, stably; raise CaptureError for more."""
    held: pa.Table | None = None
    until_ns = np.iinfo(np.int64).min
    for piece in pieces:
        held = piece if held is None else pa.concat_tables([held, piece])
        if held.num_rows < 2 * window_rows:
            continue
        held = _sorted(held)
        yield _after(held.slice(0, held.num_rows - window_rows), until_ns, name=name)
        until_ns = int(held.column("time_ns")[held.num_rows - window_rows - 1].as_py())
        held = held.slice(held.num_rows - window_rows)
    if held is not None and held.num_rows:
        yield _after(_sorted(held), until_ns, name=name)


def _sorted(table: pa.Table) -> pa.Table:
    time_ns = table.column("time_ns").to_numpy()
    if bool(np.all(np.diff(time_ns) >= 0)):
        return table
    return table.take(pa.array(np.argsort(time_ns, kind="stable")))


def _after(table: pa.Table, until_ns: int, *, name: str) -> pa.Table:
    first_ns = int(table.column("time_ns")[0].as_py())
    if first_ns < until_ns:
        late_s = s_from_ns(until_ns - first_ns)
        problem = f"is too long to be sorted in memory, and packets come up to {late_s:.3g} s late"
        remedy = (
            "put it in order first (reordercap does that for captures), or give more [--memory]"
        )
        raise CaptureError(file=name, problem=problem, remedy=remedy)
    return table
