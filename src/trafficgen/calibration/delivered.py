"""Delivery in the phases of a session (NIC-P2, NIC-P3): what was offered to the path, what came,
and what was lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trafficgen.calibration.levels.rate_levels import Levels
from trafficgen.calibration.path.loss_measures import Loss
from trafficgen.calibration.path.pairing import Pairing, PairSource
from trafficgen.calibration.path.path_records import PathRecords
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.player_log.events import PlayedLevels
from trafficgen.flows import Delivery, SessionView, arrival_rate_kbps, delivery, scale_changes
from trafficgen.units import BoolArray, IntArray, ns_array_from_s, ns_from_s

DeliverySource = PairSource | Literal["RTP sequence numbers"]
ChangesSource = Literal["scale_level", "player_log", "rate"]

_NO_NUMBERS = (
    "neither arrival times, a second capture nor RTP sequence numbers tell what became of the"
    " packets"
)
_BEFORE_THE_PATH = "the capture was taken before the path; give the one behind it by --receiver"
_ONE_CAPTURE = (
    "one capture behind the path does not tell what was sent and lost; give the other end by"
    " --receiver"
)
_NOT_APART = "packets without numbers, of one size: which of them were lost is not known"


@dataclass(frozen=True)
class SessionDelivery:
    """Delivery of a session's media packets; rates are of IP bytes towards the client.

    Attributes:
        source: What tells it. RTP sequence numbers of one capture tell the loss, not the rate that
            was offered.
        buffering: In the buffering; None where there is none.
        playout: From its end to the last packet of the playout.
        session: From the first media packet to the last.
    """

    source: DeliverySource
    buffering: Delivery | None
    playout: Delivery
    session: Delivery


@dataclass(frozen=True)
class ScaleChanges:
    """How often the encoded rate changes (CCZ-M1).

    Attributes:
        count: Changes.
        source: What tells them: the levels that a generator wrote beside the packets, a player log,
            or the levels that the rate shows.
    """

    count: int
    source: ChangesSource


@dataclass(frozen=True)
class _Fates:
    """Media packets as they were sent, and those that came; ns and IP bytes, shapes (n,) and
    (m,).
    """

    sent_ns: IntArray
    sent_bytes: IntArray
    arrived: BoolArray
    come_ns: IntArray
    come_bytes: IntArray
    source: DeliverySource


def session_delivery(
    view: SessionView,
    phases: Phases,
    *,
    pairing: Pairing | None,
    records: PathRecords | None,
    loss: Loss | None,
) -> tuple[SessionDelivery | None, dict[str, str]]:
    """Return offered and achieved rate and loss by phase, and why what is missing is.

    What was sent in a phase counts for the offered rate and the loss, what was received in it for
    the achieved rate. The last phase lasts until its last packet has come.

    Args:
        view: The session at the sender where both ends are known.
        phases: Its phases.
        pairing: Its packets at both ends of the path, where two captures or arrival times tell.
        records: What became of its packets, where one capture tells.
        loss: Its loss, with where it was counted from.
    """
    fates = _fates(view, pairing, records, loss)
    if isinstance(fates, str):
        return None, {"delivery": fates}
    zero_ns, last_ns = (
        view.first_media_ns,
        int(view.media_time_ns[-1]) + 1,
    )  # a packet belongs to what it ends
    change_ns = zero_ns + ns_from_s(phases.playout_start_s) + (phases.side == "right")
    until_ns = (
        last_ns if phases.playout_end_s is None else zero_ns + ns_from_s(phases.playout_end_s) + 1
    )
    has_buffering = phases.buffering_end_s is not None
    absent = (
        {} if has_buffering else {"delivery.buffering": "the start is not faster than the rest"}
    )
    if fates.source == "RTP sequence numbers":
        absent["delivery.offered_kbps"] = _ONE_CAPTURE
    found = SessionDelivery(
        source=fates.source,
        buffering=_in_interval(fates, zero_ns, change_ns) if has_buffering else None,
        playout=_in_interval(
            fates, min(change_ns, until_ns - 1), until_ns, is_last=until_ns == last_ns
        ),
        session=_in_interval(fates, zero_ns, last_ns, is_last=True),
    )
    return found, absent


def count_scale_changes(
    view: SessionView, *, levels: Levels | None, played: PlayedLevels | None
) -> ScaleChanges:
    """Return the scale changes of a session by the best of what tells them; a rate without levels
    has none.

    Levels beside the packets are those of the first sendings of the heaviest flow that has any.
    """
    table = view.table
    known = view.media & table.is_known("scale_level")
    if table.is_known("retransmission").any():
        known &= ~table.values("retransmission").astype(np.bool_)
    for flow in view.media_flows:
        mine = known & (table.flow == flow)
        if mine.any():
            return ScaleChanges(
                scale_changes(table.values("scale_level")[mine].astype(np.float64)), "scale_level"
            )
    if played is not None:
        return ScaleChanges(played.switches, "player_log")
    return ScaleChanges(0 if levels is None else levels.switches, "rate")


def _fates(
    view: SessionView, pairing: Pairing | None, records: PathRecords | None, loss: Loss | None
) -> _Fates | str:
    """Return what became of the media packets, or why that is not known."""
    if pairing is not None:
        if not pairing.are_told_apart:
            return _NOT_APART
        come = ~pairing.is_lost
        # Two captures have a clock each: only what the path adds to its least delay is known.
        same_clock = pairing.source == "arrival times"
        queued_ns = pairing.sent_ns[come] + ns_array_from_s(pairing.delay_s[come])
        come_ns = pairing.arrival_ns[come] if same_clock else queued_ns
        return _Fates(
            pairing.sent_ns, pairing.ip_bytes, come, come_ns, pairing.ip_bytes[come], pairing.source
        )
    time_ns, ip_bytes = view.media_time_ns, view.media_ip_bytes
    if records is None or records.is_tcp:
        return _NO_NUMBERS
    if loss is not None and loss.source == "rtcp":
        return _BEFORE_THE_PATH
    # Where queueing was undone, the first packets were sent before the first was seen.
    sent_ns = np.maximum(records.sent_ns, view.first_media_ns)
    return _Fates(
        sent_ns, records.ip_bytes, ~records.is_lost, time_ns, ip_bytes, "RTP sequence numbers"
    )


def _in_interval(fates: _Fates, start_ns: int, end_ns: int, *, is_last: bool = False) -> Delivery:
    """Return the delivery in an interval; the last one goes on until the last packet has come.

    Nothing can come before the first packet has crossed the path: an interval that has no other
    before it begins there.
    """
    found = delivery(
        fates.sent_ns, fates.sent_bytes, fates.arrived, start_ns=start_ns, end_ns=end_ns
    )
    since_ns, until_ns = start_ns, end_ns
    if is_last and fates.come_ns.size:
        until_ns = max(end_ns, int(fates.come_ns.max()) + 1)
        since_ns = max(start_ns, int(fates.come_ns.min()))
    achieved_kbps = arrival_rate_kbps(
        fates.come_ns, fates.come_bytes, start_ns=since_ns, end_ns=until_ns
    )
    offered_kbps = math.nan if fates.source == "RTP sequence numbers" else found.offered_kbps
    return replace(found, offered_kbps=offered_kbps, achieved_kbps=achieved_kbps)
