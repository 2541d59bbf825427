"""Measures that the papers define: CCZ-B1, CCZ-F1, CCZ-M1, NIC-S4, NIC-P2, NIC-P3, BMW."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from trafficgen.calibration.path.conditions import PathConditions
from trafficgen.calibration.path.loss_measures import Loss
from trafficgen.calibration.path.pairing import Pairing, PairSource
from trafficgen.calibration.path.path_records import PathRecords
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog
from trafficgen.calibration.response.congestion_response import tcp_friendly_kbps
from trafficgen.flows import SessionView, rate_series
from trafficgen.flows.measures import (
    BUFFERING_UNTIL_S,
    MEASURE_BIN_S,
    SHORTEST_PLAYOUT_S,
    STEADY_FROM_S,
    DataRates,
    count_rate_changes,
    measure_data_rates,
)
from trafficgen.processes.semi_markov.rate_levels import Levels
from trafficgen.units import (
    BoolArray,
    IntArray,
    kbps_from_bytes,
    ns_array_from_s,
    ns_from_s,
    s_from_ns,
)

DeliverySource = PairSource | Literal["RTP sequence numbers"]

_NO_NUMBERS = (
    "neither arrival times, a second capture nor RTP sequence numbers show what became of the"
    " packets"
)
_BEFORE_THE_PATH = "the capture was taken before the path; a second one behind it shows this"
_ONE_CAPTURE = (
    "one capture behind the path does not show what was sent and lost; a second one at the other"
    " end does"
)
_NOT_APART = "packets without numbers, of one size: which of them were lost is not known"


@dataclass(frozen=True)
class Delivery:
    """What was offered to a path in an interval, and what came out.

    Attributes:
        offered_kbps: Rate of the IP bytes sent in the interval; None where it is not known.
        achieved_kbps: Rate of those that arrived in it, whenever they were sent.
        loss: Share of the packets sent in the interval that did not arrive; None where none was
            sent.
    """

    offered_kbps: float | None
    achieved_kbps: float
    loss: float | None


@dataclass(frozen=True)
class SessionDelivery:
    """Delivery of a session's media packets; rates are of IP bytes towards the client.

    Attributes:
        source: Where it is known from. RTP sequence numbers of one capture show the loss, not the
            offered rate.
        buffering: In the buffering; None without one.
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
        source: Levels that a generator wrote into the packet table, a player log, or the rate.
    """

    count: int
    source: Literal["scale_level", "player_log", "rate"]


@dataclass(frozen=True)
class PacketFates:
    """Media packets sent, shape (n,), and those that came, shape (m,); times in ns, IP bytes."""

    sent_ns: IntArray
    sent_bytes: IntArray
    arrived: BoolArray
    come_ns: IntArray
    come_bytes: IntArray
    source: DeliverySource

    def measure_delivery(self, start_ns: int, end_ns: int, *, is_last: bool = False) -> Delivery:
        """Measure the delivery in an interval; the last lasts until the last packet has arrived.

        Nothing arrives before the first packet has crossed the path: the last interval of the
        arrivals begins there.
        """
        inside = (self.sent_ns >= start_ns) & (self.sent_ns < end_ns)
        sent, length_s = int(np.count_nonzero(inside)), s_from_ns(end_ns - start_ns)
        offered_kbps = kbps_from_bytes(float(self.sent_bytes[inside].sum()), length_s)
        if is_last and self.come_ns.size:
            start_ns = max(start_ns, int(self.come_ns.min()))
            end_ns = max(end_ns, int(self.come_ns.max()) + 1)
        come_bytes = self.come_bytes[(self.come_ns >= start_ns) & (self.come_ns < end_ns)].sum()
        return Delivery(
            offered_kbps=None if self.source == "RTP sequence numbers" else offered_kbps,
            achieved_kbps=kbps_from_bytes(float(come_bytes), s_from_ns(end_ns - start_ns)),
            loss=1 - int(np.count_nonzero(inside & self.arrived)) / sent if sent else None,
        )


def measure_delivery(
    view: SessionView,
    phases: Phases,
    *,
    pairing: Pairing | None,
    records: PathRecords | None,
    loss: Loss | None,
) -> tuple[SessionDelivery | None, dict[str, str]]:
    """Measure offered and achieved rate and loss by phase; the second value says why parts miss.

    Packets sent in a phase count for the offered rate and the loss, packets received in it for the
    achieved rate. The last phase lasts until its last packet has arrived. ``view`` is at the sender
    if both ends are known.
    """
    fates = _find_fates(view, pairing, records, loss)
    if isinstance(fates, str):
        return None, {"delivery": fates}
    # A packet belongs to the interval that it ends.
    zero_ns, last_ns = view.first_media_ns, int(view.media_time_ns[-1]) + 1
    change_ns = zero_ns + ns_from_s(phases.playout_start_s) + (phases.side == "right")
    until_ns = (
        last_ns if phases.playout_end_s is None else zero_ns + ns_from_s(phases.playout_end_s) + 1
    )
    absent, buffering = {}, None
    if phases.buffering_end_s is None:
        absent["delivery.buffering"] = "the start is not faster than the rest"
    else:
        buffering = fates.measure_delivery(zero_ns, change_ns)
    if fates.source == "RTP sequence numbers":
        absent["delivery.offered_kbps"] = _ONE_CAPTURE
    found = SessionDelivery(
        source=fates.source,
        buffering=buffering,
        playout=fates.measure_delivery(
            min(change_ns, until_ns - 1), until_ns, is_last=until_ns == last_ns
        ),
        session=fates.measure_delivery(zero_ns, last_ns, is_last=True),
    )
    return found, absent


def count_scale_changes(
    view: SessionView, *, levels: Levels | None, played: PlayedLevels | None
) -> ScaleChanges:
    """Count how often a session's encoded rate changes.

    Of the sources that the session has, the best one counts: the level that a generator wrote next
    to each packet, then the player log, then the levels found in the rate. Retransmitted packets do
    not count, as they may have the level of an earlier time, nor do flows other than the heaviest
    one with levels. A rate without levels does not change.
    """
    table = view.table
    known = view.media & table.is_known("scale_level")
    if table.is_known("retransmission").any():
        known &= ~table.values("retransmission").astype(np.bool_)
    for flow in view.media_flows:
        mine = known & (table.flow == flow)
        if mine.any():
            changes = count_rate_changes(table.values("scale_level")[mine].astype(np.float64))
            return ScaleChanges(changes, "scale_level")
    if played is not None:
        return ScaleChanges(played.switches, "player_log")
    return ScaleChanges(0 if levels is None else levels.switches, "rate")


def _find_fates(
    view: SessionView, pairing: Pairing | None, records: PathRecords | None, loss: Loss | None
) -> PacketFates | str:
    """Return the fate of the media packets, or why it is not known."""
    if pairing is not None:
        if not pairing.are_distinguishable:
            return _NOT_APART
        come = ~pairing.is_lost
        # Two captures have a clock each: only what the path adds to its least delay is known.
        same_clock = pairing.source == "arrival times"
        queued_ns = pairing.sent_ns[come] + ns_array_from_s(pairing.delay_s[come])
        come_ns = pairing.arrival_ns[come] if same_clock else queued_ns
        return PacketFates(
            pairing.sent_ns, pairing.ip_bytes, come, come_ns, pairing.ip_bytes[come], pairing.source
        )
    time_ns, ip_bytes = view.media_time_ns, view.media_ip_bytes
    if records is None or records.is_tcp:
        return _NO_NUMBERS
    if loss is not None and loss.source == "rtcp":
        return _BEFORE_THE_PATH
    # If queueing was undone, the first packets were sent before the first was seen.
    sent_ns = np.maximum(records.sent_ns, view.first_media_ns)
    return PacketFates(
        sent_ns, records.ip_bytes, ~records.is_lost, time_ns, ip_bytes, "RTP sequence numbers"
    )


@dataclass(frozen=True)
class Measures:
    """What the papers define; None if a session lacks it, then ``absent`` says why.

    Attributes:
        buffering_data_rate_kbps: CCZ-B1: largest mean rate of IP bytes over 10 s in the first 80 s.
        steady_playout_rate_kbps: CCZ-B1: mean rate from 100 s to the end.
        ratio: The first over the second.
        tcp_friendly_kbps: CCZ-F1: rate of a TCP-friendly flow on the path.
        play_s: First RTSP PLAY, s from the first media packet (negative before it).
        buffering_period_s: NIC-S4: from RTSP PLAY until the buffer is full, s.
        buffering_period_until: What ended it: the player's report, or the packets' slower rate.
        playback_delay_s: BMW: first media packet to the start of the playback, s.
        delivery: NIC-P2, NIC-P3: offered and achieved rate and loss in and after buffering.
        absent: Name of a measure -> why it is missing.
    """

    buffering_data_rate_kbps: float | None
    steady_playout_rate_kbps: float | None
    ratio: float | None
    tcp_friendly_kbps: float | None
    play_s: float | None
    buffering_period_s: float | None
    buffering_period_until: Literal["buffer_full", "buffering_end"] | None
    playback_delay_s: float | None
    delivery: SessionDelivery | None
    scale_changes: ScaleChanges
    absent: dict[str, str] = field(default_factory=dict)


def measure_as_papers(
    view: SessionView,
    phases: Phases,
    path: PathConditions,
    *,
    pairing: Pairing | None = None,
    levels: Levels | None = None,
    log: PlayerLog | None = None,
    played: PlayedLevels | None = None,
) -> Measures:
    """Measure a session as the papers do: times from its first media packet, rates of IP bytes.

    ``pairing`` has its packets at both ends of the path, ``levels`` are those of its rate, and
    ``played`` those of its player log, which is aligned.
    """
    absent: dict[str, str] = {}
    rates = _measure_data_rates(view, phases)
    if rates is None:
        absent["buffering_data_rate_kbps"] = absent["steady_playout_rate_kbps"] = (
            f"the media are shorter than {SHORTEST_PLAYOUT_S:g} s"
        )
    play_s = _play_s(view)
    period_s, until = _buffering_period(phases, play_s=play_s, log=log)
    if play_s is None:
        absent["buffering_period_s"] = "no RTSP PLAY in the capture"
    elif period_s is None:
        absent["buffering_period_s"] = (
            "neither a player log with a full buffer nor an end of buffering in the packets"
        )
    delay_s = log.playback_start_s if log else None
    if delay_s is None:
        absent["playback_delay_s"] = (
            "the player log has no start of the playback" if log else "needs a player log"
        )
    delivered, why_not = measure_delivery(
        view, phases, pairing=pairing, records=path.records, loss=path.loss
    )
    return Measures(
        buffering_data_rate_kbps=rates.buffering_kbps if rates else None,
        steady_playout_rate_kbps=rates.steady_kbps if rates else None,
        ratio=rates.ratio if rates else None,
        tcp_friendly_kbps=tcp_friendly_kbps(
            rtt_s=path.rtt_s, loss_rate=path.loss.rate if path.loss else None
        ),
        play_s=play_s,
        buffering_period_s=period_s,
        buffering_period_until=until,
        playback_delay_s=delay_s,
        delivery=delivered,
        scale_changes=count_scale_changes(view, levels=levels, played=played),
        absent=absent | why_not,
    )


def _measure_data_rates(view: SessionView, phases: Phases) -> DataRates | None:
    """Return the two rates of CCZ-B1; None for media shorter than 110 s."""
    if phases.end_s < SHORTEST_PLAYOUT_S:
        return None
    time_ns, size_bytes, zero_ns = view.media_time_ns, view.media_ip_bytes, view.first_media_ns
    early_end_ns = zero_ns + ns_from_s(BUFFERING_UNTIL_S)
    # Bins of the start alone: a session may last for years.
    early = rate_series(
        time_ns, size_bytes, bin_s=MEASURE_BIN_S, start_ns=zero_ns, end_ns=early_end_ns
    )
    late_bytes = float(size_bytes[time_ns >= zero_ns + ns_from_s(STEADY_FROM_S)].sum())
    span_s = s_from_ns(int(time_ns[-1]) - zero_ns)
    return measure_data_rates(early.size_bytes, late_bytes=late_bytes, span_s=span_s)


def _play_s(view: SessionView) -> float | None:
    """Return the first RTSP PLAY of the session, s from its first media packet."""
    messages = view.table.signalling
    mine = [
        time_ns
        for time_ns, flow, method in zip(
            *(messages.column(name).to_pylist() for name in ("time_ns", "flow", "method")),
            strict=True,
        )
        if method == "PLAY" and flow in view.flows
    ]
    return s_from_ns(min(mine) - view.first_media_ns) if mine else None


def _buffering_period(
    phases: Phases, *, play_s: float | None, log: PlayerLog | None
) -> tuple[float | None, Literal["buffer_full", "buffering_end"] | None]:
    """Return the length of NIC-S4's buffering period and what ended it."""
    if play_s is None:
        return None, None
    full_s = log.buffer_full_s if log else None
    if full_s is not None and full_s > play_s:
        return full_s - play_s, "buffer_full"
    if phases.buffering_end_s is not None:
        return phases.buffering_end_s - play_s, "buffering_end"
    return None, None
