"""Conditions of a capture's path: loss, round-trip time, delays and the narrow link's rate.

Trends of one-way delays are tested on three scales: PCT and PDT (findings LJM-D1 to LJM-D3).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trafficgen.calibration.path.capacity import estimate_capacity, estimate_link_rate
from trafficgen.calibration.path.control_messages import (
    RtcpMeasures,
    is_capture_at_server,
    measure_round_trip,
    measure_rtcp,
)
from trafficgen.calibration.path.loss_measures import (
    Loss,
    LossSource,
    estimate_loss,
    estimate_share,
    find_runs,
)
from trafficgen.calibration.path.pairing import Pairing, PairSource
from trafficgen.calibration.path.path_records import PathRecords, carries_half, trace_packets
from trafficgen.calibration.path.source_reconstruction import mark_retransmissions
from trafficgen.flows import SessionView, rtp_loss
from trafficgen.models import CaptureConditions, DelayRange, Estimate
from trafficgen.tables import PacketTable
from trafficgen.units import FloatArray, IntArray

#: Windows of the three scales, packets (LJM-D3).
SCALES_PACKETS = (32, 64, 128)
#: Thresholds L and U of both tests (LJM-D2).
LOW, HIGH = 0.25, 0.5
#: Not in the paper: groups of a window, and the change of delay that still counts as none, s.
GROUPS = 8
EPSILON_S = 0.001
_MOST_WINDOWS = 20_000

INCREASING, STEADY, DECREASING = 1.0, 0.0, -1.0
#: Ambiguous, leaning up or down.
LEANING = 0.5


@dataclass(frozen=True)
class DelayTrends:
    """Trends of a series of one-way delays.

    Attributes:
        last_packet: Index of the last packet of each position's windows, shape (k,).
        trend: 1 increasing, -1 decreasing, 0 steady, +-0.5 ambiguous with its leaning, shape (k,).
        pct: Extended pairwise comparison test of each scale, shape (scales, k).
        pdt: Pairwise difference test of each scale, shape (scales, k).
    """

    last_packet: IntArray
    trend: FloatArray
    pct: FloatArray
    pdt: FloatArray


def find_delay_trends(
    delay_s: FloatArray,
    *,
    groups: int = GROUPS,
    epsilon_s: float = EPSILON_S,
    step_packets: int = 1,
    scales_packets: tuple[int, ...] = SCALES_PACKETS,
) -> DelayTrends:
    """Find the trends of one-way delays in windows that slide over them.

    In each window the delays are split into groups, each replaced by its median D_k (LJM-D1). The
    extended pairwise comparison test is the mean of the signs of D_k - D_(k-1), those within
    epsilon counting 0; the pairwise difference test is D_G - D_1 over the sum of absolute steps.
    Windows of all scales end at the same packet.

    Args:
        delay_s: One-way delays in the order of sending, s, shape (n,); a constant offset does not
            matter.
        groups: Groups G of a window, 2 up to the smallest window. Not in the paper.
        epsilon_s: Steps of up to this count as 0, s, >= 0. Not in the paper.
        step_packets: Packets from one position to the next, >= 1; more for over 20,000 positions.
        scales_packets: Windows, packets.

    Returns:
        Trends; no position if there are fewer delays than the largest window has.

    Raises:
        ValueError: If a parameter is out of its range.
    """
    if not 2 <= groups <= min(scales_packets) or epsilon_s < 0 or step_packets < 1:
        raise ValueError(
            f"groups {groups}, epsilon_s {epsilon_s} or step_packets {step_packets} is out of range"
        )
    longest = max(scales_packets)
    step = max(step_packets, -(-delay_s.size // _MOST_WINDOWS))
    last = np.arange(longest - 1, delay_s.size, step)
    pct, pdt = np.zeros((2, len(scales_packets), last.size))
    for scale, window in enumerate(scales_packets):
        medians = _group_medians(delay_s, last, window=window, groups=groups)
        steps = np.diff(medians, axis=1)
        pct[scale] = np.mean(np.sign(steps) * (np.abs(steps) > epsilon_s), axis=1)
        total = np.abs(steps).sum(axis=1)
        pdt[scale] = np.divide(
            medians[:, -1] - medians[:, 0], total, out=np.zeros(last.size), where=total > 0
        )
    return DelayTrends(
        last, combine_scales(classify(pct, pdt), leaning=(pct + pdt).sum(axis=0)), pct, pdt
    )


def classify(pct: FloatArray, pdt: FloatArray) -> FloatArray:
    """Combine the two tests (LJM-D2): 1, -1, 0, or NaN if they are ambiguous; any shape."""
    rising = ((pct > HIGH) & (pdt > LOW)) | ((pdt > HIGH) & (pct > LOW))
    falling = ((pct < -HIGH) & (pdt < -LOW)) | ((pdt < -HIGH) & (pct < -LOW))
    steady = (np.abs(pct) < LOW) & (np.abs(pdt) < LOW)
    return np.select([rising, falling, steady], [INCREASING, DECREASING, STEADY], np.nan)


def combine_scales(trends: FloatArray, *, leaning: FloatArray) -> FloatArray:
    """Combine the scales (LJM-D3).

    Increasing if any scale is and none decreases, decreasing likewise, steady if neither and at
    least two scales are steady, else ambiguous.

    Args:
        trends: Trend of each scale, as :func:`classify` returns it, shape (scales, k).
        leaning: Sign of ambiguous trends, shape (k,); 0 leans up.

    Returns:
        1, -1, 0 or +-0.5, shape (k,).
    """
    rises, falls = (trends == INCREASING).any(axis=0), (trends == DECREASING).any(axis=0)
    steady = ~rises & ~falls & (np.count_nonzero(trends == STEADY, axis=0) >= 2)
    ambiguous = np.where(leaning < 0, -LEANING, LEANING)
    found = [rises & ~falls, falls & ~rises, steady]
    return np.select(found, [INCREASING, DECREASING, STEADY], ambiguous)


def _group_medians(delay_s: FloatArray, last: IntArray, *, window: int, groups: int) -> FloatArray:
    """Return the medians of the groups of each window, shape (k, groups)."""
    edges = np.rint(np.linspace(0, window, groups + 1)).astype(np.int64)
    values = delay_s[last[:, np.newaxis] - (window - 1) + np.arange(window)]
    parts = np.split(values, edges[1:-1], axis=1)
    return np.stack([np.median(part, axis=1) for part in parts], axis=1)


_LOSS_SOURCE: dict[PairSource, LossSource] = {"two captures": "pair", "arrival times": "arrival"}
#: Reasons for fields of the conditions that are null.
_ABSENT = {
    "rtt_s": "no complete TCP handshake, RTCP report or RTSP response in the capture",
    "loss_rate": "neither RTP nor TCP sequence numbers in the media flows",
    "queueing_delay_s": "neither RTP timestamps nor a second capture shows when packets were sent",
}


#: In the method of delays where that of the empty path cannot be known.
_NEVER_EMPTIED = "as far as they show, the queue never emptied, and the path's delay may be less"


class DelayLimits:
    """Which delays are summarised."""

    #: Quantiles and trends of fewer delays are left out.
    fewest_delays: int = 100
    #: Packets from one window of delays to the next: those of LJM-D are of packets 20 to 40 ms
    #: apart; fewer cost time and change little.
    trend_step_packets: int = 8


_LIMITS = DelayLimits()


@dataclass(frozen=True)
class PathConditions:
    """The path of a capture.

    Attributes:
        conditions: The part of the model.
        loss: Loss with its source; None if unknown.
        records: The fate of each media packet; None if unknown.
        absent: Field of the conditions -> why it is null.
    """

    conditions: CaptureConditions
    loss: Loss | None
    records: PathRecords | None
    absent: dict[str, str] = field(default_factory=dict)

    @property
    def rtt_s(self) -> float | None:
        """Round-trip time, s; None if unknown."""
        return self.conditions.rtt_s.value if self.conditions.rtt_s else None


def find_conditions(
    view: SessionView,
    *,
    pairing: Pairing | None,
    receiver: PacketTable | None,
    tick_s: float,
    seed: int,
) -> PathConditions:
    """Measure the path of a session's capture.

    ``pairing`` and ``receiver``, all packets at the receiver, are there if both ends are known;
    ``seed`` is that of the resampling behind intervals.
    """
    rtcp = measure_rtcp(view)
    loss = find_loss(view, pairing=pairing, rtcp=rtcp)
    records = trace_packets(view, pairing)
    has_loss = loss is not None and loss.rate > 0
    if receiver is None and is_capture_at_server(view.table):
        link_bps, why_no_link = None, "the capture was taken next to the server, before the path"
    else:
        link_bps, why_no_link = estimate_link_rate(
            view.table if receiver is None else receiver,
            session=view.session,
            tick_s=tick_s,
            seed=seed,
            has_loss=has_loss,
        )
    capacity, why_no_capacity = estimate_capacity(
        view, receiver, tick_s=tick_s, seed=seed, has_loss=has_loss
    )
    conditions = CaptureConditions(
        rtt_s=measure_round_trip(view, rtcp),
        loss_rate=loss.to_estimate() if loss else None,
        mean_loss_burst_packets=loss.mean_burst_packets if loss else None,
        loss_source=loss.source if loss else None,
        loss_model=loss.model if loss else None,
        jitter_s=rtcp.jitter_s,
        queueing_delay_s=_summarise_delays(records),
        link_rate_bps=link_bps,
        capacity=capacity,
        **_conditions_of_pair(pairing),
    )
    why_no_rate = {"link_rate_bps": why_no_link, "capacity": why_no_capacity}
    absent = {
        f"provenance.conditions.{name}": why
        for name, why in (_ABSENT | why_no_rate).items()
        if getattr(conditions, name) is None
    }
    return PathConditions(conditions, loss, records, absent)


def find_loss(
    view: SessionView, *, pairing: Pairing | None = None, rtcp: RtcpMeasures | None = None
) -> Loss | None:
    """Return the loss of the media flows: of a pairing, else of RTP, TCP or RTCP, in this order.

    Numbers on less than half of the media bytes say nothing about the session. Where RTP misses
    nothing but the receiver reports loss, the capture was taken before the path and the reports
    count.
    """
    if pairing is not None:
        packets, source = pairing.is_lost.size, _LOSS_SOURCE[pairing.source]
        if not pairing.are_distinguishable:
            return Loss.from_share(pairing.lost, packets, source)
        return estimate_loss(find_runs(pairing.is_lost), packets=packets, source=source)
    of_rtp = _rtp_loss(view) if carries_half(view, "rtp_sequence") else None
    reported = rtcp.loss if rtcp is not None else None
    if of_rtp is not None:
        return reported if reported is not None and not of_rtp.rate and reported.rate else of_rtp
    if not carries_half(view, "tcp_sequence"):
        return reported
    flows = [is_repeated for _, is_repeated in mark_retransmissions(view)]
    if not flows:
        return None
    runs = np.concatenate([find_runs(is_repeated) for is_repeated in flows])
    return estimate_loss(runs, packets=sum(flow.size for flow in flows), source="tcp")


def _rtp_loss(view: SessionView) -> Loss | None:
    counted = [found for found in rtp_loss(view.table, view.media) if found.expected > 1]
    if not counted:
        return None
    runs = np.concatenate([found.lost_runs for found in counted])
    return estimate_loss(runs, packets=sum(found.expected for found in counted), source="rtp")


def _summarise_delays(records: PathRecords | None) -> DelayRange | None:
    if records is None:
        return None
    delay_s = records.delay_s[~np.isnan(records.delay_s)]
    if delay_s.size < _LIMITS.fewest_delays:
        return None
    trends = find_delay_trends(delay_s, step_packets=_LIMITS.trend_step_packets).trend
    above = "; above the line below all delays (Moon, Skelly, Towsley 1999)"
    if not records.has_emptied:
        above = f", above the least delay: {_NEVER_EMPTIED}"
    median, p95, largest = np.quantile(delay_s, [0.5, 0.95, 1.0]).tolist()
    return DelayRange(
        median=median,
        p95=p95,
        largest=largest,
        increasing_share=float(np.mean(trends == INCREASING)) if trends.size else None,
        method=f"{records.source}{above}",
    )


def _conditions_of_pair(pairing: Pairing | None) -> dict[str, Estimate]:
    """Return the conditions that only both ends of the path show."""
    came = 0 if pairing is None else pairing.is_lost.size - pairing.lost
    if pairing is None or not came or not pairing.are_distinguishable:
        return {}
    line = "line below all delays (Moon, Skelly, Towsley 1999), offset of the clocks included"
    if not pairing.has_emptied:
        line = f"least delay, offset of the clocks included: {_NEVER_EMPTIED}"
    slope = "slope of that line; 0 where the least delays wander"
    counted = f"share of {came} packets; Wilson interval"
    return {
        "one_way_delay_s": Estimate(value=pairing.least_delay_s, method=line),
        "clock_skew": Estimate(value=pairing.skew, method=slope),
        "reordered_share": estimate_share(pairing.reordered / came, came, counted),
    }
