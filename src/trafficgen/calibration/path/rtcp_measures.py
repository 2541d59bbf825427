"""Loss, jitter and round-trip time from RTCP reports (RFC 3550, 6.4 and A.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from trafficgen.calibration.path.loss_measures import Loss
from trafficgen.flows import SessionView
from trafficgen.models import Estimate
from trafficgen.units import s_from_ns

_Rows = list[dict[str, Any]]
#: Units of LSR and DLSR, 1/s; LSR is the middle 32 of the 64 bits of an NTP time.
_SHORT_NTP_HZ = 1 << 16
_SHORT_NTP_SHIFT, _SHORT_NTP_MASK = 16, (1 << 32) - 1


@dataclass(frozen=True)
class ReportLimits:
    """Which round trips of reports are believed."""

    #: Below this the capture was taken next to the host that answers, s.
    shortest_rtt_s: float = 0.0002
    #: Beyond this a report answers another one than it seems to, s.
    longest_rtt_s: float = 60.0


_LIMITS = ReportLimits()


@dataclass(frozen=True)
class RtcpMeasures:
    """Loss, jitter and round-trip time of a session's reports; None if they do not show them.

    Attributes:
        loss: Loss of the media flows.
        jitter_s: Interarrival jitter, median of the reports.
        rtt_s: Round-trip time between the place of the capture and the receiver.
    """

    loss: Loss | None
    jitter_s: Estimate | None
    rtt_s: Estimate | None


def measure_rtcp(view: SessionView) -> RtcpMeasures:
    """Measure the path from the RTCP reports about a session's media flows.

    Reports about sources that sent no RTP here are left out: those of SRTP look like them.
    """
    rtcp = view.table.rtcp
    if not rtcp.num_rows:
        return RtcpMeasures(None, None, None)
    first_numbers = _first_numbers(view)
    flows = pc.cast(list(view.flows), rtcp.schema.field("flow").type)
    reports = rtcp.filter(pc.is_in(rtcp.column("flow"), flows)).to_pylist()
    blocks = [row for row in reports if row["ssrc"] in first_numbers and not row["to_client"]]
    # Before a window of a longer capture, reports are what later counts go on from.
    start_ns = int(view.table.time_ns[0])
    earlier = {block["ssrc"]: block for block in blocks if block["time_ns"] < start_ns}
    blocks = [block for block in blocks if block["time_ns"] >= start_ns]
    loss = _measure_loss(blocks, first_numbers, earlier)
    return RtcpMeasures(loss, _measure_jitter(blocks, view), _measure_rtt(reports, blocks))


def _first_numbers(view: SessionView) -> dict[int, int]:
    """Return the first RTP sequence number of each source to the client."""
    table = view.table
    rows = np.flatnonzero(view.media & table.is_known("rtp_sequence"))
    ssrc, first = np.unique(table.values("rtp_ssrc")[rows], return_index=True)
    numbers = table.values("rtp_sequence")[rows[first]].astype(np.int64)
    return dict(zip(ssrc.tolist(), numbers.tolist(), strict=True))


def _measure_loss(
    blocks: _Rows, first_numbers: dict[int, int], earlier: dict[int, dict[str, Any]]
) -> Loss | None:
    """Return cumulative loss from the first captured number, or the report before it, on."""
    lost = expected = 0
    for ssrc, first_number in first_numbers.items():
        mine = [block for block in blocks if block["ssrc"] == ssrc]
        if not mine:
            continue
        # The receiver counts cycles from its own first packet on, so that is in cycle 0.
        start = {"highest_sequence": first_number - 1, "cumulative_lost": 0}
        last, before = mine[-1], earlier.get(ssrc, start)
        its_expected = last["highest_sequence"] - before["highest_sequence"]
        its_lost = last["cumulative_lost"] - before["cumulative_lost"]
        if not its_expected > 0 or not its_lost <= its_expected:
            continue
        expected += its_expected
        lost += max(0, its_lost)
    return Loss.of_share(lost, expected, "rtcp") if expected else None


def _measure_jitter(blocks: _Rows, view: SessionView) -> Estimate | None:
    clocks = {
        row["ssrc"]: row["clock_hz"] for row in view.table.flows.to_pylist() if row["clock_hz"]
    }
    values = [
        block["jitter"] / clocks[block["ssrc"]] for block in blocks if block["ssrc"] in clocks
    ]
    if not values:
        return None
    low, high = np.quantile(values, [0.025, 0.975])
    return Estimate(
        value=float(np.median(values)),
        low=float(low),
        high=float(high),
        method=f"median of {len(values)} RTCP receiver reports; range of 95% of them",
    )


def _measure_rtt(reports: _Rows, blocks: _Rows) -> Estimate | None:
    """Return the median time from a sender report to the report that answers it, less DLSR."""
    sent = {
        (row["reporter_ssrc"], (row["ntp"] >> _SHORT_NTP_SHIFT) & _SHORT_NTP_MASK): row["time_ns"]
        for row in reports
        if row["ntp"] is not None and row["to_client"]
    }
    times = []
    for block in blocks:
        sent_ns = sent.get((block["ssrc"], block["last_sender_report"]))
        if sent_ns is None or not block["last_sender_report"]:
            continue
        rtt_s = s_from_ns(block["time_ns"] - sent_ns) - block["delay_since_last"] / _SHORT_NTP_HZ
        if _LIMITS.shortest_rtt_s < rtt_s < _LIMITS.longest_rtt_s:
            times.append(rtt_s)
    if not times:
        return None
    return Estimate(
        value=float(np.median(times)),
        low=float(min(times)),
        high=float(max(times)),
        method=(
            f"median of {len(times)} RTCP reports (LSR, DLSR), capture to receiver and back; their"
            " range"
        ),
    )
