"""How a server paces one long response: a burst, then blocks at a rate of its own.

Progressive downloads are throttled so (Alcock and Nelson, Application Flow Control in YouTube Video
Streams, 2011; ``limit_rate`` of nginx). What has been sent when a block ends grows with the time at
which it begins: the slope is the rate, the value at the start the burst. While the server waits
nothing is under way, and its client's window is open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.flows import extend_sequence
from trafficgen.imports import special
from trafficgen.models import Estimate, Pacing
from trafficgen.tables import PacketTable
from trafficgen.units import BoolArray, FloatArray, kbps_from_bytes, s_from_ns

#: A server waits for this part of the gap that half of all time without packets is in gaps above,
#: and for no less than this, s, more than the clocking of TCP does.
_PART_OF_USUAL, _LEAST_WAIT_S = 1 / 3, 0.03
#: Blocks that show a rate, the part of the time that is waited in, and how far blocks are off the
#: line, in blocks (standard deviation): a third is that of ticks as long as a block.
_FEWEST_BLOCKS, _LEAST_WAITING, _MOST_OFF = 8, 0.1, 0.35
#: A window is closed below this part of its largest; the client waits if it is in most waits.
_CLOSED, _MOST_WAITS = 0.1, 0.5
#: The tick of a server's clock makes all blocks late by half of it on average: this many standard
#: deviations of what varies evenly within it. A burst is no surer than this part of a block, a rate
#: than this share.
_OF_TICK, _LEAST_OF_BLOCK, _LEAST_SHARE = 3**0.5, 0.1, 1e-3
_COVERED = 0.95


@dataclass(frozen=True)
class Download:
    """The bytes of a connection's responses as they left or came, arrays of shape (n,).

    Attributes:
        time_s: When each packet of new bytes was seen, s from the first.
        total_bytes: New bytes up to and with it.
        is_closed: Whether the client's window was closed at some time since the packet before.
    """

    time_s: FloatArray
    total_bytes: FloatArray
    is_closed: BoolArray


def measure_download(table: PacketTable, flow: int) -> Download | None:
    """Return the bytes to the client of a flow of TCP; None of another one, or of few packets."""
    table = table.select(table.flow == flow)
    sent = table.to_client & (table.payload_bytes > 0) & table.is_known("tcp_sequence")
    if np.count_nonzero(sent) < _FEWEST_BLOCKS:
        return None
    ends = extend_sequence(table.values("tcp_sequence")[sent].astype(np.int64), bits=32)
    ends = np.maximum.accumulate(ends + table.payload_bytes[sent])
    is_new = np.diff(ends, prepend=ends[0] - 1) > 0
    rows = np.flatnonzero(sent)[is_new]
    total_bytes = (ends - ends[0] + table.payload_bytes[rows[0]])[is_new].astype(np.float64)
    heard = ~table.to_client & table.is_known("tcp_window")
    window = table.values("tcp_window").astype(np.float64)
    is_shut = heard & (window < _CLOSED * window[heard].max(initial=0.0))
    shut = np.cumsum(is_shut)[rows]
    time_s = s_from_ns(table.time_ns[rows] - table.time_ns[rows[0]])
    return Download(time_s, total_bytes, np.diff(shut, prepend=shut[:1]) > 0)


def fit_pacing(download: Download) -> tuple[Pacing | None, str]:
    """Return how the server paced a response, or why it is not known."""
    gap_s = np.diff(download.time_s)
    ordered = np.sort(gap_s)[::-1]
    usual_s = ordered[np.searchsorted(np.cumsum(ordered), ordered.sum() / 2)]
    waits = np.flatnonzero(gap_s > max(_PART_OF_USUAL * usual_s, _LEAST_WAIT_S))
    # The response ends within the last block.
    start_s = download.time_s[waits[:-1] + 1]
    end_bytes = download.total_bytes[waits[1:]]
    if len(start_s) < _FEWEST_BLOCKS:
        return None, "the server did not wait between parts of its response"
    if np.mean(download.is_closed[waits + 1]) > _MOST_WAITS:
        return None, "the client's window was closed while nothing came: its buffer was full"
    waited = gap_s[waits].sum() / (download.time_s[-1] - download.time_s[waits[0]])
    block_bytes = np.diff(end_bytes)
    line, variances = np.polyfit(start_s, end_bytes, 1, cov=True)
    slope, burst = map(float, line)
    slope_error, burst_error = map(float, np.sqrt(np.diag(variances)))
    off = end_bytes - (burst + slope * start_s)
    error = float(np.sqrt(off @ off / (len(off) - 2)))
    if waited < _LEAST_WAITING or error > _MOST_OFF * np.median(block_bytes) or slope <= 0:
        return None, "what came in parts did so at no rate that holds"
    block = float(np.median(block_bytes))
    errors = float(special.stdtrit(len(off) - 2, (1 + _COVERED) / 2))
    wide = max(errors * slope_error, _LEAST_SHARE * slope)
    shift = _OF_TICK * error + errors * burst_error
    shift = max(shift, _LEAST_OF_BLOCK * block)
    usual = np.quantile(block_bytes, [(1 - _COVERED) / 2, (1 + _COVERED) / 2])
    method = "bytes sent by the starts of blocks, least squares"
    return (
        Pacing(
            burst_bytes=_estimate([burst, burst - shift, burst + shift], method),
            rate_kbps=_estimate(
                [kbps_from_bytes(x, 1.0) for x in (slope, slope - wide, slope + wide)], method
            ),
            block_bytes=_estimate([block, *usual.tolist()], "bytes between waits, 95% of blocks"),
        ),
        "",
    )


def _estimate(values: list[float], method: str) -> Estimate:
    """Return a value with the ends of its interval; none is negative."""
    value, low, high = (max(one, 0.0) for one in values)
    return Estimate(value=value, low=low, high=high, method=method)
