"""Series of what a source sends and what the path does to it, in intervals of equal length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trafficgen.calibration.path.path_records import PathRecords
from trafficgen.units import FloatArray, bps_from_bytes, ns_from_s


@dataclass(frozen=True)
class PathSeries:
    """Successive intervals, without the first and the last, which are cut; shape (n,) each.

    Attributes:
        interval_s: Length of an interval, s.
        offered_bps: Rate sent, bit/s of IP bytes.
        goodput_bps: Rate that came, bit/s of IP bytes.
        packets: Packets sent.
        loss: Lost / sent packets, 0 where none was sent.
        delay_s: Mean one-way delay above the least, s; NaN where it is not known.
        frames: RTP frames begun; 0 everywhere where frames are not known.
    """

    interval_s: float
    offered_bps: FloatArray
    goodput_bps: FloatArray
    packets: FloatArray
    loss: FloatArray
    delay_s: FloatArray
    frames: FloatArray


def path_series(records: PathRecords, *, interval_s: float) -> PathSeries:
    """Return the series of a session.

    Args:
        records: Its media packets.
        interval_s: Length of an interval, s, > 0.
    """
    index = (records.sent_ns - records.sent_ns.min()) // ns_from_s(interval_s)
    count = int(index.max()) + 1 if index.size else 0

    def summed(weights: FloatArray) -> FloatArray:
        total: FloatArray = np.bincount(index, weights=weights, minlength=count)[1:-1].astype(
            np.float64
        )
        return total

    to_bps = bps_from_bytes(1.0, interval_s)
    packets, lost = summed(np.ones(index.size)), summed(records.is_lost.astype(np.float64))
    timed = ~np.isnan(records.delay_s)
    delays = summed(timed.astype(np.float64))
    total_s = summed(np.where(timed, records.delay_s, 0.0))
    return PathSeries(
        interval_s=interval_s,
        offered_bps=summed(records.ip_bytes.astype(np.float64)) * to_bps,
        goodput_bps=summed(np.where(records.is_lost, 0, records.ip_bytes).astype(np.float64))
        * to_bps,
        packets=packets,
        loss=np.divide(lost, packets, out=np.zeros(packets.size), where=packets > 0),
        delay_s=np.divide(total_s, delays, out=np.full(packets.size, np.nan), where=delays > 0),
        frames=summed(records.frame_starts.astype(np.float64)),
    )
