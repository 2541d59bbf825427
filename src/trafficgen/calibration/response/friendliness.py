"""A source's rate beside that of a TCP connection on the same path, interval by interval (CCZ-F1,
Padhye 1998).
"""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.path.loss_measures import wilson
from trafficgen.calibration.path.path_records import PathSeries
from trafficgen.calibration.response.tcp_models import padhye_bps, tcp_friendly_bps
from trafficgen.models import Estimate, Friendliness
from trafficgen.units import BoolArray

INTERVAL_S = 5.0


def friendliness(series: PathSeries, *, rtt_s: float) -> Friendliness | None:
    """Return how the rate that came compares with the bounds; None where no interval has loss.

    In each interval with loss the round-trip time is that of the empty path plus the mean queueing
    delay, where it is known. Both bounds are of 1500-byte packets. Overall, loss is lost / sent
    packets of all intervals (CCZ-F1 leaves playouts without loss out).

    Args:
        series: The session in intervals of :data:`INTERVAL_S`.
        rtt_s: Round-trip time of the empty path, s.
    """
    lossy = series.loss > 0
    if not lossy.any():
        return None
    rtt = rtt_s + np.nan_to_num(series.delay_s)
    bound, padhye = (
        tcp_friendly_bps(rtt[lossy], series.loss[lossy]),
        padhye_bps(rtt[lossy], series.loss[lossy]),
    )
    rate = series.goodput_bps[lossy]
    overall_loss = np.array((series.loss * series.packets).sum() / series.packets.sum())
    overall_rtt = np.array(np.average(rtt, weights=series.packets))
    return Friendliness(
        interval_s=series.interval_s,
        intervals=int(np.count_nonzero(lossy)),
        above_bound=_share(rate > bound),
        above_padhye=_share(rate > padhye),
        median_ratio=float(np.median(rate / np.maximum(padhye, 1.0))),
        overall_bound_bps=float(tcp_friendly_bps(overall_rtt, overall_loss)),
        overall_padhye_bps=float(padhye_bps(overall_rtt, overall_loss)),
    )


def _share(above: BoolArray) -> Estimate:
    share = float(above.mean())
    low, high = wilson(share, above.size)
    return Estimate(
        value=share, low=low, high=high, method=f"share of {above.size} intervals; Wilson interval"
    )
