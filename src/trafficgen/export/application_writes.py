"""Application writes into a TCP connection, put together from the data segments of a schedule.

Segments that follow one another within moments are one write that TCP has cut. A tool that sends
messages gets the writes; TCP makes segments of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.flow_schedule import FlowSchedule
from trafficgen.units import US_PER_S, IntArray, ns_from_us, us_from_ns

_SHORTEST_US = 1000


@dataclass(frozen=True)
class Writes:
    """Writes of one flow.

    Attributes:
        time_us: When each is written, us on the schedule's clock, shape (w,).
        payload_bytes: Length of each, shape (w,).
        sent: The flow's segments, each with the time of the write that holds its last byte.
        raised: Writes that had to be made longer.
    """

    time_us: IntArray
    payload_bytes: IntArray
    sent: FlowSchedule
    raised: int


def writes_of(
    flow: FlowSchedule, *, window_us: int, low_bytes: int, high_bytes: int, target: str
) -> Writes:
    """Put the segments of each window of time together at its start, in several writes if too long.

    Args:
        flow: Data segments of a TCP flow.
        window_us: Length of a window, us.
        low_bytes: Shortest write that the tool takes; shorter ones are raised.
        high_bytes: Longest one; what is more is spread evenly over the window.
        target: Name of the target, for messages.

    Raises:
        ExportError: If writes would follow one another within less than a millisecond.
    """
    window = us_from_ns(flow.time_ns) // window_us
    numbers, first, row = np.unique(window, return_index=True, return_inverse=True)
    total_bytes = np.bincount(row, weights=flow.payload_bytes).astype(np.int64)
    pieces = -(-total_bytes // high_bytes)
    _refuse_fast(flow, numbers, pieces, window_us=window_us, high_bytes=high_bytes, target=target)
    piece_row = np.repeat(np.arange(numbers.size), pieces)
    place = np.arange(piece_row.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    share, rest = (
        total_bytes[piece_row] // pieces[piece_row],
        total_bytes[piece_row] % pieces[piece_row],
    )
    plain_bytes = share + (place < rest)
    payload_bytes = np.maximum(plain_bytes, low_bytes)
    until_bytes = np.cumsum(flow.payload_bytes)
    within_bytes = until_bytes - (until_bytes - flow.payload_bytes)[first][row]
    piece = np.minimum((within_bytes - 1) * pieces[row] // total_bytes[row], pieces[row] - 1)
    sent_bytes = flow.payload_bytes.copy()
    np.add.at(sent_bytes, first[piece_row], payload_bytes - plain_bytes)
    sent_us = numbers[row] * window_us + piece * window_us // pieces[row]
    return Writes(
        time_us=numbers[piece_row] * window_us + place * window_us // pieces[piece_row],
        payload_bytes=payload_bytes,
        sent=replace(flow, time_ns=ns_from_us(sent_us), payload_bytes=sent_bytes),
        raised=int(np.count_nonzero(payload_bytes > plain_bytes)),
    )


def _refuse_fast(
    flow: FlowSchedule,
    numbers: IntArray,
    pieces: IntArray,
    *,
    window_us: int,
    high_bytes: int,
    target: str,
) -> None:
    fast = np.flatnonzero((pieces > 1) & (window_us // pieces < _SHORTEST_US))
    if fast.size:
        at_s = int(numbers[fast[0]]) * window_us / US_PER_S
        raise ExportError(
            f"flow {flow.flow} at {at_s:.6f} s: {target} writes at most {high_bytes} bytes at once,"
            f" and {pieces[fast[0]]} of them within {window_us} us are closer than a millisecond;"
            " feed ditg with it"
        )
