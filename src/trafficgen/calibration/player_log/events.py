"""A player's log of a session: playback, stalls, buffer and levels, and what it says of phases."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trafficgen.calibration.phases.buffering_end import is_much_faster
from trafficgen.calibration.phases.rebuffering import Pause
from trafficgen.calibration.phases.session_phases import Phases
from trafficgen.errors import PlayerLogError
from trafficgen.flows import SessionView
from trafficgen.units import FloatArray, IntArray, kbps_from_bytes, ns_from_s, s_from_ns


class LogLimits:
    """When a buffer is full, what shows a level's rate, and which pauses belong together."""

    #: The buffer is full at this share of its 95% quantile
    full_share: float = 0.9
    #: that it holds (median) for this long, s; shorter peaks are single segments.
    hold_s: float = 10.0
    #: While full, it grows at most at this share of the mean rate at which it was filled.
    largest_growth: float = 0.4
    #: A level's rate needs this much media, s: with less, buffered media of its neighbours count.
    least_media_s: float = 10.0
    #: A pause of the packets belongs to a stall of the player no further apart than this, s.
    near_s: float = 10.0


_LIMITS = LogLimits()
#: What wrote a log: anyone, in our own form; the data set Requet; the lab; or a player.
LogForm = Literal["plain", "requet", "lab", "dash.js", "hls.js", "shaka"]
#: Names of qualities, from low to high, of a player that does not number them.
_NAMES = ("tiny", "small", "medium", "large", "hd720", "hd1080", "hd1440", "hd2160", "highres")


@dataclass(frozen=True)
class PlayerLog:
    """A player log; times in s from its zero, or from the first media packet once aligned.

    Attributes:
        zero_unix_s: Unix time of its zero, s; None if unknown.
        playback_start_s: First frame shown; None if unknown.
        stalls: Pauses after the start of the playback.
        sample_time_s: Times of the buffer samples, ascending, shape (n,).
        buffer_s: Media in the buffer, s, shape (n,).
        position_s: Media position of the end of the buffer, s, NaN if unknown, shape (n,).
        level_time_s: Times at which a level was set, ascending, shape (k,).
        levels: The levels: kbit/s of the encoding, or a name or number without a rate.
        end_s: Last entry.
        form: What wrote the log.
        clock: What placed the zero: Unix time, the option, or the capture's first packet.
    """

    file: str
    zero_unix_s: float | None
    playback_start_s: float | None
    stalls: tuple[Pause, ...]
    sample_time_s: FloatArray
    buffer_s: FloatArray
    position_s: FloatArray
    level_time_s: FloatArray
    levels: tuple[float | str, ...]
    end_s: float
    form: LogForm = "plain"
    clock: Literal["own", "unix", "option", "capture_start"] = "own"
    zero_s: float = 0.0

    def shift_times(
        self, by_s: float, *, clock: Literal["unix", "option", "capture_start"]
    ) -> PlayerLog:
        """Return the log with all times moved, and what decided that."""
        start_s, unix_s = self.playback_start_s, self.zero_unix_s
        return replace(
            self,
            clock=clock,
            zero_s=self.zero_s + by_s,
            zero_unix_s=None if unix_s is None else unix_s - by_s,
            playback_start_s=None if start_s is None else start_s + by_s,
            stalls=tuple(Pause(pause.start_s + by_s, pause.duration_s) for pause in self.stalls),
            sample_time_s=self.sample_time_s + by_s,
            level_time_s=self.level_time_s + by_s,
            end_s=self.end_s + by_s,
        )

    @property
    def sample_interval_s(self) -> float:
        """Median time between buffer samples, s; 0 with less than two."""
        return float(np.median(np.diff(self.sample_time_s))) if self.sample_time_s.size > 1 else 0.0

    @property
    def buffer_full_s(self) -> float | None:
        """When the buffer was first full, s: at 90% of its 95% quantile for 10 s, without growth.

        None if it never is, such as a buffer that grows to the end.
        """
        time_s, buffer_s = self.sample_time_s, self.buffer_s
        if time_s.size < 2:
            return None
        full = _LIMITS.full_share * float(np.quantile(buffer_s, 0.95))
        for row in np.flatnonzero(buffer_s >= full):
            since_s = time_s - time_s[row]
            held = (since_s >= 0) & (since_s <= _LIMITS.hold_s)
            if full <= 0 or time_s[row] + _LIMITS.hold_s > time_s[-1]:
                return None
            if np.ptp(since_s[held]) == 0:  # one sample does not show whether it stays
                continue
            elapsed_s = max(float(time_s[row] - time_s[0]), 1e-9)
            filled_per_s = float(buffer_s[row] - buffer_s[0]) / elapsed_s
            growth_per_s = float(np.polyfit(since_s[held], buffer_s[held], 1)[0])
            stays = growth_per_s <= _LIMITS.largest_growth * filled_per_s
            if stays and float(np.median(buffer_s[held])) >= full:
                return float(time_s[row])
        return None


@dataclass(frozen=True)
class PlayedLevels:
    """Levels that a player showed, as `fit` describes levels."""

    #: Encoding rate of each level, ascending, kbit/s; None if unknown.
    kbps: tuple[float | None, ...]
    #: Level as the log has it.
    names: tuple[str, ...]
    #: Jump chain: row = from, column = to; None for a level that was never left.
    transition: tuple[tuple[float, ...] | None, ...]
    #: Mean time at a level, s, the last one censored; None if never left.
    mean_dwell_s: tuple[float | None, ...]
    #: Observed changes.
    switches: int


def find_played_levels(
    log: PlayerLog,
    *,
    media_time_s: FloatArray | None = None,
    payload_bytes: FloatArray | None = None,
) -> PlayedLevels | None:
    """Return the levels of a log with rates, transitions and dwells; None if it has none.

    The mean dwell of a level is its time, the unfinished dwell included, over the dwells that
    ended: the maximum-likelihood mean of exponential dwells with censoring (Kalbfleisch and
    Prentice 2002, chapter 3). The rate of a level that has a name only is the payload that arrived
    at that level over the media it brought, if the log has the position of the buffer's end. For
    rates of named levels the log is aligned to the first media packet, from which ``media_time_s``
    counts; it and ``payload_bytes`` have shape (n,).
    """
    if not log.levels:
        return None
    changed = [
        row for row, level in enumerate(log.levels) if row == 0 or level != log.levels[row - 1]
    ]
    sequence = [log.levels[row] for row in changed]
    edge_s = np.append(log.level_time_s[changed], max(log.end_s, float(log.level_time_s[-1])))
    states = sorted(set(sequence), key=_level_order)
    index = np.array([states.index(level) for level in sequence])
    time_s = np.bincount(index, weights=np.diff(edge_s), minlength=len(states))
    jumps = np.zeros((len(states), len(states)))
    np.add.at(jumps, (index[:-1], index[1:]), 1)
    left = jumps.sum(axis=1)
    rates = [float(level) if isinstance(level, float) else None for level in states]
    if None in rates and media_time_s is not None and payload_bytes is not None:
        inside_s = np.clip(edge_s, 0, media_time_s[-1])
        rates = _measured_kbps(log, inside_s, index, media_time_s, payload_bytes)
    each = list(zip(jumps, time_s, left, strict=True))
    return PlayedLevels(
        kbps=tuple(rates),
        names=tuple(f"{level:g}" if isinstance(level, float) else level for level in states),
        transition=tuple(tuple((row / ends).tolist()) if ends else None for row, _, ends in each),
        mean_dwell_s=tuple(float(at_s / ends) if ends else None for _, at_s, ends in each),
        switches=len(sequence) - 1,
    )


def _level_order(level: float | str) -> tuple[float, str]:
    """Return what sorts levels from low to high: by rate, known quality, number or name."""
    if isinstance(level, float):
        return level, ""
    if level in _NAMES:
        return float(_NAMES.index(level)), level
    return (float(level), "") if level.isdigit() else (float(len(_NAMES)), level)


def _measured_kbps(
    log: PlayerLog,
    edge_s: FloatArray,
    index: IntArray,
    media_time_s: FloatArray,
    payload_bytes: FloatArray,
) -> list[float | None]:
    """Return for each level the payload that arrived over the media that the buffer gained, kbit/s.

    None for a level with too little media, and for all if the rates do not ascend as the levels do:
    the level that a player shows lags behind the one that it fetches.
    """
    known = np.isfinite(log.position_s)
    levels = int(index.max()) + 1
    if not known.any():
        return [None] * levels
    total = np.concatenate(([0.0], np.cumsum(payload_bytes)))
    highest_s = np.maximum.accumulate(log.position_s[known])
    position_s = np.interp(edge_s, log.sample_time_s[known], highest_s)
    arrived = total[np.searchsorted(media_time_s, edge_s)]
    size_bytes, media_s, time_s = (
        np.bincount(index, weights=np.diff(values), minlength=levels)
        for values in (arrived, position_s, edge_s)
    )
    enough = np.minimum(media_s, time_s) >= _LIMITS.least_media_s
    rates = [
        kbps_from_bytes(float(size_bytes[level]), float(media_s[level])) if enough[level] else None
        for level in range(levels)
    ]
    found = [rate for rate in rates if rate is not None]
    return rates if found == sorted(found) else [None] * levels


def align_log(
    log: PlayerLog, view: SessionView, *, capture_start_unix_s: float, offset_s: float | None
) -> PlayerLog:
    """Put a log on the clock of the session's first media packet.

    ``capture_start_unix_s`` is the time of the capture's first packet, and ``offset_s`` the zero of
    the log after it; None takes the log's Unix time, or that packet if it has none.

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
    moved = log.shift_times(zero_unix_s - media_unix_s, clock=clock)
    end_s = s_from_ns(int(view.media_time_ns[-1]) - view.first_media_ns)
    if moved.end_s < 0 or moved.zero_s > end_s:
        raise PlayerLogError(
            file=log.file,
            problem=(
                f"covers {moved.zero_s:.6g} to {moved.end_s:.6g} s after the first media packet, "
                f"the media last to {end_s:.6g} s"
            ),
            remedy="give the log of this capture, or place its zero with [--player-log-offset]",
        )
    return moved


def anchor_phases(phases: Phases, view: SessionView, log: PlayerLog) -> Phases:
    """Make phases agree with a player log.

    Buffering ends at the last packet before the buffer was full, known to one sample of the log, if
    the rate until then is at least 1.2 times that of the rest of the playout and the player did not
    stall before; else where the packets show its end. If neither does, the start of the playback is
    tried the same way. An end that the user set stays. Pauses of the packets count as stalls only
    near a stall of the player. The log is aligned.
    """
    full_s = log.buffer_full_s
    if full_s is not None and any(pause.start_s < full_s for pause in log.stalls):
        full_s = None
    within_s = log.sample_interval_s
    anchored = _end_buffering(phases, view, full_s, within_s=within_s, anchor="buffer_full")
    is_doubtful = phases.buffering_end_s is None or phases.burst_p_value is not None
    if anchored is None and is_doubtful:
        start_s = log.playback_start_s
        anchored = _end_buffering(phases, view, start_s, within_s=0.0, anchor="playback_start")
    anchored = anchored or phases
    stalls = tuple(
        stall
        for stall in anchored.stalls
        if stall.start_s >= anchored.playout_start_s
        and any(
            stall.start_s <= own.start_s + own.duration_s + _LIMITS.near_s
            and own.start_s <= stall.end_s + _LIMITS.near_s
            for own in log.stalls
        )
    )
    return replace(anchored, stalls=stalls, player_stalls=log.stalls)


def _end_buffering(
    phases: Phases,
    view: SessionView,
    at_s: float | None,
    *,
    within_s: float,
    anchor: Literal["buffer_full", "playback_start"],
) -> Phases | None:
    """Return phases whose buffering ends at a time of the log; None if the rate does not fall."""
    if at_s is None or at_s <= 0 or phases.anchor == "option":
        return None
    time_ns, size_bytes, stop_s = (view.media_time_ns, view.media_ip_bytes, phases.playout_stop_s)
    ends_ns = [view.first_media_ns + ns_from_s(end_s) for end_s in (at_s, stop_s)]
    packets, kept = np.searchsorted(time_ns, ends_ns, side="right").tolist()
    if not 1 < packets < kept:
        return None
    end_s = s_from_ns(int(time_ns[packets - 1]) - view.first_media_ns)
    if not 0 < end_s < stop_s:
        return None
    fast = kbps_from_bytes(float(size_bytes[:packets].sum()), end_s)
    slow = kbps_from_bytes(float(size_bytes[packets:kept].sum()), stop_s - end_s)
    if not is_much_faster(fast, slow):
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
        burst_p_value=None,
    )
