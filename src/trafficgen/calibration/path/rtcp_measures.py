"""What RTCP reports say of a path: loss, jitter and round-trip time (RFC 3550, 6.4 and A.8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow.compute as pc

from trafficgen.calibration.path.loss_measures import Loss, wilson
from trafficgen.flows import SessionView
from trafficgen.models import Estimate
from trafficgen.units import s_from_ns

_SEQUENCES = 1 << 16
#: Units of LSR and DLSR, 1/s; LSR is the middle 32 of the 64 bits of an NTP time.
_SHORT_NTP_HZ = 1 << 16
_SHORT_NTP_SHIFT, _SHORT_NTP_MASK = 16, (1 << 32) - 1
#: A round trip below this says that the capture was taken beside the host that answers, s.
_BESIDE_S = 0.0002
_LONGEST_RTT_S = 60.0


@dataclass(frozen=True)
class RtcpMeasures:
    """Loss, jitter and round-trip time as the reports of a session have them; None where they have
    not.

    Attributes:
        loss: Loss of the media flows.
        jitter_s: Interarrival jitter, median of the reports.
        rtt_s: Round-trip time between the place of the capture and the receiver.
    """

    loss: Loss | None
    jitter_s: Estimate | None
    rtt_s: Estimate | None


def rtcp_measures(view: SessionView) -> RtcpMeasures:
    """Return what the RTCP reports about the media flows of a session say.

    Reports about sources that sent no RTP here are left out: what SRTP hides looks like them.
    """
    rtcp = view.table.rtcp
    if not rtcp.num_rows:
        return RtcpMeasures(None, None, None)
    first_numbers = _first_numbers(view)
    rows = rtcp.filter(
        pc.is_in(rtcp.column("flow"), pc.cast(list(view.flows), rtcp.schema.field("flow").type))
    )
    reports = rows.to_pylist()
    blocks = [row for row in reports if row["ssrc"] in first_numbers and not row["to_client"]]
    # Before a window of a longer capture, reports are what later counts go on from.
    start_ns = int(view.table.time_ns[0])
    earlier = {block["ssrc"]: block for block in blocks if block["time_ns"] < start_ns}
    blocks = [block for block in blocks if block["time_ns"] >= start_ns]
    return RtcpMeasures(
        _loss(blocks, first_numbers, earlier), _jitter(blocks, view), _round_trip(reports, blocks)
    )


def _first_numbers(view: SessionView) -> dict[int, int]:
    """Return the first RTP sequence number of each source to the client."""
    table = view.table
    rows = np.flatnonzero(view.media & table.known("rtp_sequence"))
    ssrc, first = np.unique(table.values("rtp_ssrc")[rows], return_index=True)
    numbers = table.values("rtp_sequence")[rows[first]].astype(np.int64)
    return dict(zip(ssrc.tolist(), numbers.tolist(), strict=True))


def _loss(
    blocks: list[dict[str, Any]], first_numbers: dict[int, int], earlier: dict[int, dict[str, Any]]
) -> Loss | None:
    """Return cumulative loss over expected packets from the first captured number, or the report
    before it, to the last report.
    """
    lost = expected = 0
    for ssrc, first_number in first_numbers.items():
        mine = [block for block in blocks if block["ssrc"] == ssrc]
        if not mine:
            continue
        last = mine[-1]
        # The receiver counts cycles from its own first packet on, so that is in cycle 0.
        its_expected, its_lost = (
            last["highest_sequence"] - first_number + 1,
            last["cumulative_lost"],
        )
        if (before := earlier.get(ssrc)) is not None:
            its_expected = last["highest_sequence"] - before["highest_sequence"]
            its_lost -= before["cumulative_lost"]
        if not its_expected > 0 or not its_lost <= its_expected:
            continue
        expected += its_expected
        lost += max(0, its_lost)
    if not expected:
        return None
    rate = lost / expected
    low, high = wilson(rate, expected)
    return Loss(rate, None, "rtcp", expected, low, high)


def _jitter(blocks: list[dict[str, Any]], view: SessionView) -> Estimate | None:
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


def _round_trip(reports: list[dict[str, Any]], blocks: list[dict[str, Any]]) -> Estimate | None:
    """Return the least time from a sender report to the receiver report that answers it, less
    DLSR.
    """
    sent = {
        (row["reporter_ssrc"], (row["ntp"] >> _SHORT_NTP_SHIFT) & _SHORT_NTP_MASK): row["time_ns"]
        for row in reports
        if row["ntp"] is not None and row["to_client"]
    }
    times = []
    for block in blocks:
        asked_ns = sent.get((block["ssrc"], block["last_sender_report"]))
        if asked_ns is None or not block["last_sender_report"]:
            continue
        rtt_s = s_from_ns(block["time_ns"] - asked_ns) - block["delay_since_last"] / _SHORT_NTP_HZ
        if _BESIDE_S < rtt_s < _LONGEST_RTT_S:
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
