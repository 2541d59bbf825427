"""Anchor phases by a player log: full buffer, start of the playback and stalls."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from trafficgen.calibration.phases.buffering_end import FALL_LIMITS
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.calibration.player_log.events import Pause, PlayerLog
from trafficgen.errors import PlayerLogError
from trafficgen.flows import SessionView
from trafficgen.units import kbps_from_bytes, ns_from_s, s_from_ns

#: A pause of the packets belongs to a stall of the player when they are no further apart than this.
_NEAR_S = 10.0


def align_log(
    log: PlayerLog, view: SessionView, *, capture_start_unix_s: float, offset_s: float | None
) -> PlayerLog:
    """Put a log on the clock of the session's first media packet.

    Args:
        log: The log as read.
        view: The session.
        capture_start_unix_s: Unix time of the capture's first packet, s.
        offset_s: Zero of the log after the capture's first packet, s; None takes the log's Unix
            time, or the capture's first packet if it has none.

    Raises:
        PlayerLogError: If log and media do not overlap.
    """
    media_unix_s = s_from_ns(view.table.origin_ns + view.first_media_ns)
    clock: Literal["unix", "option", "capture_start"] = (
        "capture_start" if offset_s is None else "option"
    )
    zero_unix_s = capture_start_unix_s + (offset_s or 0.0)
    if offset_s is None and log.zero_unix_s is not None:
        clock, zero_unix_s = "unix", log.zero_unix_s
    moved = log.shifted(zero_unix_s - media_unix_s, clock=clock)
    end_s = s_from_ns(int(view.media_time_ns[-1]) - view.first_media_ns)
    if moved.end_s < 0 or moved.zero_s > end_s:
        raise PlayerLogError(
            file=log.file,
            problem=(
                f"covers {moved.zero_s:.6g} to {moved.end_s:.6g} s after the first media packet, "
                f"the media last to {end_s:.6g} s"
            ),
            remedy="give the log of this capture, or place its zero with --player-log-offset",
        )
    return moved


def anchor_phases(phases: Phases, view: SessionView, log: PlayerLog) -> Phases:
    """Make phases agree with a player log.

    Buffering ends at the last packet before the buffer was full, known to one sample of the log, if
    the rate until then is at least 1.2 times that of the rest of the playout and the player did not
    stall before; else where the packets show its end. If neither does, the start of the playback is
    tried the same way. Pauses of the packets count as stalls only near a stall of the player.

    Args:
        phases: Phases as the packets show them.
        view: The session.
        log: Its player log, aligned.
    """
    full_s = log.buffer_full_s
    if full_s is not None and any(pause.start_s < full_s for pause in log.stalls):
        full_s = None
    within_s = log.sample_interval_s
    anchored = _end_buffering(phases, view, full_s, within_s=within_s, anchor="buffer_full")
    if anchored is None and phases.buffering_end_s is None:
        start_s = log.playback_start_s
        anchored = _end_buffering(phases, view, start_s, within_s=0.0, anchor="playback_start")
    anchored = anchored or phases
    stalls = tuple(
        stall
        for stall in anchored.stalls
        if stall.start_s >= anchored.playout_start_s
        and any(_near(stall.start_s, stall.end_s, own) for own in log.stalls)
    )
    return replace(anchored, stalls=stalls, player_stalls=log.stalls)


def _near(start_s: float, end_s: float, pause: Pause) -> bool:
    return (
        start_s <= pause.start_s + pause.duration_s + _NEAR_S and pause.start_s <= end_s + _NEAR_S
    )


def _end_buffering(
    phases: Phases,
    view: SessionView,
    at_s: float | None,
    *,
    within_s: float,
    anchor: Literal["buffer_full", "playback_start"],
) -> Phases | None:
    """Return phases whose buffering ends at a time of the log; None if the rate does not fall."""
    time_ns, size_bytes = view.media_time_ns, view.media_ip_bytes
    if at_s is None or at_s <= 0:
        return None
    kept = int(
        np.searchsorted(
            time_ns, view.first_media_ns + ns_from_s(phases.playout_stop_s), side="right"
        )
    )
    packets = int(
        np.searchsorted(time_ns[:kept], view.first_media_ns + ns_from_s(at_s), side="right")
    )
    if not 1 < packets < kept:
        return None
    end_s = s_from_ns(int(time_ns[packets - 1]) - view.first_media_ns)
    if not 0 < end_s < phases.playout_stop_s:
        return None
    fast = kbps_from_bytes(float(size_bytes[:packets].sum()), end_s)
    slow = kbps_from_bytes(float(size_bytes[packets:kept].sum()), phases.playout_stop_s - end_s)
    if fast < FALL_LIMITS.smallest_ratio * slow:
        return None
    return replace(
        phases,
        buffering_end_s=end_s,
        low_s=max(0.0, end_s - within_s),
        high_s=at_s + within_s,
        buffering_kbps=fast,
        playout_kbps=slow,
        side="right",
        anchor=anchor,
    )
