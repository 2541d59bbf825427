"""Read the packets of captures piece by piece, for captures of any length."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
import pyarrow as pa

from trafficgen.capture.packets import CAPTURE_SCHEMA, take_batches
from trafficgen.capture.scan import CaptureScan, read_steps
from trafficgen.errors import CaptureError
from trafficgen.tables import PACKET_SCHEMA, PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.units import s_from_ns

#: Rows within which packets out of order are put in order.
ORDER_WINDOW_ROWS = 1 << 17


def stream_capture(scan: CaptureScan, flows: Collection[int] | None = None) -> PacketStream:
    """Read scanned captures once more, their packets piece by piece in order of time.

    Args:
        scan: What a scan of the captures found.
        flows: Numbers of the flows whose packets are wanted; None wants all.

    Returns:
        A stream whose head has the scan's flow table; its pieces raise ``CaptureError`` if the
        files have changed since, or are out of order by more than :data:`ORDER_WINDOW_ROWS`
        packets.

    Raises:
        CaptureError: If a file cannot be read at all.
    """
    keep = None if flows is None else np.isin(scan.numbers, list(flows))
    reader, name = scan.setup.open(keep_packets=True, keep_flows=keep), scan.setup.name

    def pieces() -> Iterator[pa.Table]:
        for _ in read_steps(reader):
            try:
                batches = list(take_batches(reader, scan))
            except ValueError as error:
                problem, remedy = "has changed while it was read", "copy it, and give the copy"
                raise CaptureError(file=name, problem=problem, remedy=remedy) from error
            if batches:
                yield pa.Table.from_batches(batches, schema=CAPTURE_SCHEMA)

    head = PacketTable(
        packets=PACKET_SCHEMA.empty_table(),
        flows=scan.flows,
        origin_ns=scan.start_time_ns,
        signalling=scan.signalling,
        rtcp=scan.rtcp,
        notes={"files": list(scan.files)},
    )
    ordered = sort_pieces(pieces(), name=name) if scan.out_of_order else pieces()
    return PacketStream(
        head=head,
        pieces=ordered,
        columns=_columns(scan),
        rows=scan.ip_packets if keep is None else None,
    )


def _columns(scan: CaptureScan) -> frozenset[str]:
    """Return the columns that have values in any packet of a capture."""
    names = {field.name for field in CAPTURE_SCHEMA if not field.nullable}
    if any(stream.channel is None for stream in scan.rtp_streams):
        names |= {name for name in CAPTURE_SCHEMA.names if name.startswith("rtp_")}
    if "tcp" in scan.flows.column("protocol").unique().to_pylist():
        names |= {name for name in CAPTURE_SCHEMA.names if name.startswith("tcp_")}
    return frozenset(names)


def sort_pieces(
    pieces: Iterable[pa.Table], *, name: str, window_rows: int = ORDER_WINDOW_ROWS
) -> Iterator[pa.Table]:
    """Sort packets by time that are late by at most so many rows; equal times keep their order.

    Raises:
        CaptureError: If they are out of order by more.
    """
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
    return (
        table
        if bool(np.all(np.diff(time_ns) >= 0))
        else table.take(pa.array(np.argsort(time_ns, kind="stable")))
    )


def _after(table: pa.Table, until_ns: int, *, name: str) -> pa.Table:
    first_ns = int(table.column("time_ns")[0].as_py())
    if first_ns < until_ns:
        late_s = s_from_ns(until_ns - first_ns)
        problem = f"is too long to be sorted in memory, and packets come up to {late_s:.3g} s late"
        remedy = "put it in order first (reordercap does that for captures), or give more --memory"
        raise CaptureError(file=name, problem=problem, remedy=remedy)
    return table
