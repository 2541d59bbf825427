"""What each flow of a workload sends in each epoch, from packets that come piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trafficgen.progress import report_step
from trafficgen.tables.stream import PacketStream
from trafficgen.units import IntArray, ns_from_s

#: Packets that are counted at once; counting takes several times their memory.
_PIECE_ROWS = 1 << 16


@dataclass(frozen=True)
class EpochTotals:
    """What flows send in one epoch; shape (n,) each, a row a flow that sends.

    Attributes:
        number: Number of the epoch, from 0 at the first packet of the workload.
        packets: Packets with payload of each.
        payload_bytes: Their payload.
    """

    number: int
    flows: IntArray
    packets: IntArray
    payload_bytes: IntArray


def iterate_epochs(
    stream: PacketStream,
    *,
    protocols: tuple[str, ...],
    to_client: bool,
    epoch_s: float,
    piece_rows: int = _PIECE_ROWS,
) -> Iterator[EpochTotals]:
    """Yield what each flow sends in each epoch, in order of time, without empty ones.

    Packets without payload, retransmissions and other protocols are left out. ``piece_rows``
    packets are counted at once.
    """
    protocol = np.array(stream.head.flows.column("protocol").to_pylist(), dtype=object)
    is_sent = np.isin(protocol, list(protocols))
    length_ns, count = ns_from_s(epoch_s), max(1, is_sent.size)
    keys, sums = np.empty(0, dtype=np.int64), np.empty((2, 0), dtype=np.int64)
    start_ns: int | None = None
    done = 0
    for piece in stream.iterate_pieces(piece_rows):
        done += len(piece)
        report_step("writing", done, stream.rows, unit="packets")
        start_ns = int(piece.time_ns[0]) if start_ns is None else start_ns
        chosen = (piece.to_client == to_client) & is_sent[piece.flow] & (piece.payload_bytes > 0)
        chosen &= ~np.asarray(piece.values("retransmission"), dtype=np.bool_)
        epoch = (piece.time_ns[chosen] - start_ns) // length_ns
        new = epoch * count + piece.flow[chosen]
        values = np.stack([np.ones(new.size, np.int64), piece.payload_bytes[chosen]])
        keys, row = np.unique(np.concatenate([keys, new]), return_inverse=True)
        both = np.concatenate([sums, values], axis=1)
        sums = np.stack([np.bincount(row, weights=one, minlength=keys.size) for one in both])
        # Later pieces may add to the last epoch.
        last = int(piece.time_ns[-1] - start_ns) // length_ns
        whole = int(np.searchsorted(keys, last * count))
        yield from _totals(keys[:whole], sums[:, :whole], count)
        keys, sums = keys[whole:], sums[:, whole:]
    yield from _totals(keys, sums, count)


def _totals(keys: IntArray, sums: IntArray, count: int) -> Iterator[EpochTotals]:
    numbers, starts = np.unique(keys // count, return_index=True)
    parts = zip(
        numbers.tolist(),
        np.split(keys % count, starts[1:]),
        np.split(sums.astype(np.int64), starts[1:], axis=1),
        strict=True,
    )
    for number, flows, (packets, payload_bytes) in parts if keys.size else ():
        yield EpochTotals(number, flows, packets, payload_bytes)
