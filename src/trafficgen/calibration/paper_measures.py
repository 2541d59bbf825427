"""Operational measures of the papers: CCZ-B1, CCZ-F1 and CCZ-M1, NIC-S4 and NIC-P2, the buffering
time of BMW.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trafficgen.calibration.delivered import (
    ScaleChanges,
    SessionDelivery,
    count_scale_changes,
    session_delivery,
)
from trafficgen.calibration.levels.rate_levels import Levels
from trafficgen.calibration.path.conditions import PathConditions
from trafficgen.calibration.path.pairing import Pairing
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.player_log.events import PlayedLevels, PlayerLog
from trafficgen.calibration.response.friendliness import tcp_friendly_kbps
from trafficgen.flows import (
    BUFFERING_UNTIL_S,
    MEASURE_BIN_S,
    SHORTEST_PLAYOUT_S,
    STEADY_FROM_S,
    DataRates,
    SessionView,
    data_rates_of_parts,
    rate_series,
)
from trafficgen.units import ns_from_s, s_from_ns


@dataclass(frozen=True)
class Measures:
    """What the papers define; None where a session does not have it, then ``absent`` says why.

    Attributes:
        buffering_data_rate_kbps: CCZ-B1: largest mean rate of IP bytes over 10 s in the first 80 s.
        steady_playout_rate_kbps: CCZ-B1: mean rate from 100 s to the end.
        ratio: The first over the second.
        tcp_friendly_kbps: CCZ-F1: rate of a TCP-friendly flow on the path.
        play_s: First RTSP PLAY, s from the first media packet (negative before it).
        buffering_period_s: NIC-S4: from RTSP PLAY until the buffer is full, s.
        buffering_period_until: What ended it: the player's report, or the end of the faster part of
            the packets.
        playback_delay_s: BMW: first media packet to the start of the playback, s.
        delivery: NIC-P2, NIC-P3: offered and achieved rate and loss in and after buffering.
        scale_changes: CCZ-M1: how often the encoded rate changes.
        absent: Name of a measure -> why there is none.
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
    """Return the papers' measures of a session; zero is its first media packet, rates are of IP
    bytes of media.

    Args:
        view: The session.
        phases: Its phases.
        path: What its path was like.
        pairing: Its packets at both ends of the path, where two captures or arrival times tell.
        levels: Levels of its rate.
        log: Its player log, aligned.
        played: Levels of that log.
    """
    absent: dict[str, str] = {}
    rates = _data_rates(view, phases)
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
    delivered, why_not = session_delivery(
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


def _data_rates(view: SessionView, phases: Phases) -> DataRates | None:
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
    return data_rates_of_parts(early.size_bytes, late_bytes=late_bytes, span_s=span_s)


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
