"""Count loss, reordering and duplicates by RTP sequence numbers (RFC 3550, A.1 and A.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trafficgen.tables import PacketTable
from trafficgen.units import BLOCK, BoolArray, IntArray


class SequenceLimits:
    """When a step of sequence numbers is loss or reordering, and when the source restarted.

    Attributes:
        most_lost: Largest step up that is loss (MAX_DROPOUT of RFC 3550 A.1).
        most_reordered: Largest step down that is reordering (MAX_MISORDER).
        least_way: Retransmissions end at least this part of the way below the highest number (a
            tenth); a restarted source climbs on.
        most_restarts: Restarts of a source that may be found to be retransmissions; each costs a
            pass over its packets, and numbers that jump more often are damaged.
    """

    most_lost: int = 3000
    most_reordered: int = 100
    least_way: int = 10
    most_restarts: int = 100


_LIMITS = SequenceLimits()


@dataclass(frozen=True)
class RtpLoss:
    """What the sequence numbers of one RTP source say.

    Attributes:
        received: Packets received, duplicates not counted.
        expected: Numbers from the first to the highest one.
        duplicates: Packets whose number had been received before.
        reordered: Packets received first after a higher number.
        lost_runs: Lengths of the runs of consecutive lost numbers, shape (r,).
    """

    flow: int
    ssrc: int
    received: int
    expected: int
    duplicates: int
    reordered: int
    lost_runs: IntArray

    @property
    def lost(self) -> int:
        """Expected numbers that were not received."""
        return self.expected - self.received


def rtp_loss(table: PacketTable, rows: BoolArray | None = None) -> list[RtpLoss]:
    """Count loss for each RTP source of each flow, in the order of flow and source.

    ``rows`` are the packets to look at, shape (n,); default all to the client.
    """
    chosen = (table.to_client if rows is None else rows) & table.is_known("rtp_sequence")
    index = np.flatnonzero(chosen)
    if index.size == 0:
        return []
    flow = table.flow[index].astype(np.int64)
    ssrc = table.values("rtp_ssrc").astype(np.int64)[index]
    sequence = table.values("rtp_sequence").astype(np.int64)[index]
    order = np.lexsort((ssrc, flow))  # stable: each source stays in order of arrival
    flow, ssrc, sequence = flow[order], ssrc[order], sequence[order]
    starts = np.flatnonzero(np.concatenate(([True], (np.diff(flow) != 0) | (np.diff(ssrc) != 0))))
    parts = np.split(sequence, starts[1:])
    return [
        _count(part, flow=int(flow[at]), ssrc=int(ssrc[at]))
        for at, part in zip(starts, parts, strict=True)
    ]


def extend_sequence(sequence: npt.NDArray[np.generic], *, bits: int = 16) -> IntArray:
    """Return sequence numbers with their wrap-arounds undone, shape (n,).

    Each number is taken as the one nearest to its predecessor (RFC 3550 A.1 counts cycles to the
    same effect), so steps of up to half the number space in either direction come out right. The
    first number is kept. Numbers are in order of arrival; they have 16 bits for RTP, 32 for TCP.
    """
    extended, space = np.empty(len(sequence), dtype=np.int64), 1 << bits
    extended[:1] = sequence[:1]
    for row in range(1, extended.size, BLOCK):
        numbers = np.asarray(sequence[row - 1 : row + BLOCK], dtype=np.int64)
        steps = (np.diff(numbers) + space // 2) % space - space // 2
        extended[row : row + BLOCK] = extended[row - 1] + np.cumsum(steps)
    return extended


def _count(sequence: IntArray, *, flow: int, ssrc: int) -> RtpLoss:
    """Count one source, each stretch between restarts by itself."""
    stretches = [_count_stretch(extended) for extended in _stretches(extend_sequence(sequence))]
    received, expected, duplicates, reordered = np.sum([each[0] for each in stretches], axis=0)
    return RtpLoss(
        flow=flow,
        ssrc=ssrc,
        received=int(received),
        expected=int(expected),
        duplicates=int(duplicates),
        reordered=int(reordered),
        lost_runs=np.concatenate([lost_runs for _, lost_runs in stretches]),
    )


def _stretches(extended: IntArray) -> list[IntArray]:
    """Split at restarts: jumps beyond what A.1 tolerates, confirmed by the next number.

    A jump that is not confirmed is a stray packet and left out, as in A.1.
    """
    steps = np.diff(extended)
    jumps = (steps > _LIMITS.most_lost) | (steps < -_LIMITS.most_reordered)
    if not jumps.any():
        return [extended]
    follows = np.concatenate((steps[1:] == 1, [False]))
    stray = np.flatnonzero(jumps & ~follows) + 1
    confirmed = _drop_retransmissions(extended, np.flatnonzero(jumps & follows) + 1)
    kept = np.ones(extended.size, dtype=np.bool_)
    back = np.concatenate((jumps, [False]))
    # A stray packet is left by a second jump; where none follows it, it began a stretch that the
    # capture cuts short.
    kept[stray[back[stray]]] = False
    return np.split(extended[kept], np.cumsum(kept)[confirmed - 1])


def _drop_retransmissions(extended: IntArray, restarts: IntArray) -> IntArray:
    """Drop restarts that are retransmissions: old numbers in a row, then the new ones go on.

    A.1 takes them for a restart. A source that has restarted counts up to the numbers that it had;
    after retransmissions the numbers go back up by a jump over more than a tenth of the way that
    they fell, at least ten of them.
    """
    kept: list[int] = []
    start, highest = 0, np.maximum.accumulate(extended)
    for place in restarts[: _LIMITS.most_restarts].tolist():
        top = int(highest[place - 1 - start])
        back = start + int(np.searchsorted(highest, top, side="right"))
        fell = top - int(extended[place])
        goes_on = fell > 0 and back < extended.size and extended[back] - top <= _LIMITS.most_lost
        if goes_on and _LIMITS.least_way * (top - int(extended[back - 1])) > fell:
            continue
        kept.append(place)
        start, highest = place, np.maximum.accumulate(extended[place:])
    return np.array([*kept, *restarts[_LIMITS.most_restarts :].tolist()], dtype=np.int64)


def _count_stretch(extended: IntArray) -> tuple[tuple[int, int, int, int], IntArray]:
    """Return received, expected, duplicates and reordered of a stretch, and its lost runs."""
    numbers, first_seen = np.unique(extended, return_index=True)
    first_reception = np.zeros(extended.size, dtype=np.bool_)
    first_reception[first_seen] = True
    below = extended[1:] < np.maximum.accumulate(extended)[:-1]
    received, expected = numbers.size, numbers[-1] - numbers[0] + 1 if numbers.size else 0
    reordered = int(np.count_nonzero(first_reception[1:] & below))
    runs = np.diff(numbers) - 1
    return (received, int(expected), extended.size - received, reordered), runs[runs > 0]
