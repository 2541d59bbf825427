"""A player's log of a session: playback, stalls, buffer and levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trafficgen.units import FloatArray, IntArray, kbps_from_bytes


@dataclass(frozen=True)
class BufferLimits:
    """When a buffer is full, and when the media of a level show its rate."""

    #: The buffer is full at this share of its 95% quantile
    full_share: float = 0.9
    #: that it holds (median) for this long, s; shorter peaks are single segments.
    hold_s: float = 10.0
    #: While full, it grows at most at this share of the mean rate at which it was filled.
    largest_growth: float = 0.4
    #: A level's rate needs so much media, s: with less, buffered media of its neighbours count.
    least_media_s: float = 10.0


_LIMITS = BufferLimits()
#: Qualities that a player names instead of numbering them, from low to high.
QUALITY_ORDER = (
    "tiny",
    "small",
    "medium",
    "large",
    "hd720",
    "hd1080",
    "hd1440",
    "hd2160",
    "highres",
)


@dataclass(frozen=True)
class Pause:
    """A time in which the player had nothing to play, s."""

    start_s: float
    duration_s: float


@dataclass(frozen=True)
class PlayerLog:
    """A player log; times in s from its zero, or from the first media packet once aligned.

    Attributes:
        file: Name of the file.
        form: Kind of the log.
        zero_unix_s: Unix time of its zero, s; None if unknown.
        playback_start_s: First frame shown; None if unknown.
        stalls: Pauses after the start of the playback.
        sample_time_s: Times of the buffer samples, ascending, shape (n,).
        buffer_s: Media in the buffer, s, shape (n,).
        position_s: Media position of the end of the buffer, s, NaN if unknown, shape (n,).
        level_time_s: Times at which a level was set, ascending, shape (k,).
        levels: The levels: kbit/s of the encoding, or a name or number without a rate.
        end_s: Last entry.
        clock: What placed the zero: Unix time, the option, or the capture's first packet.
        zero_s: Zero of the log, s.
    """

    file: str
    form: Literal["lab", "requet", "plain"]
    zero_unix_s: float | None
    playback_start_s: float | None
    stalls: tuple[Pause, ...]
    sample_time_s: FloatArray
    buffer_s: FloatArray
    position_s: FloatArray
    level_time_s: FloatArray
    levels: tuple[float | str, ...]
    end_s: float
    clock: Literal["own", "unix", "option", "capture_start"] = "own"
    zero_s: float = 0.0

    def shifted(
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
    """Levels that a player showed, as `fit` describes levels.

    Attributes:
        kbps: Encoding rate of each level, ascending, kbit/s; None if unknown.
        names: Level as the log has it.
        transition: Jump chain: row = from, column = to; None for a level that was never left.
        mean_dwell_s: Mean time at a level, s, the last one censored; None if never left.
        switches: Observed changes.
    """

    kbps: tuple[float | None, ...]
    names: tuple[str, ...]
    transition: tuple[tuple[float, ...] | None, ...]
    mean_dwell_s: tuple[float | None, ...]
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
    at that level over the media it brought, if the log has the position of the buffer's end.

    Args:
        log: The log; for rates of named levels aligned to the first media packet.
        media_time_s: Times of the media packets, s from the first, shape (n,).
        payload_bytes: Their payload, shape (n,).
    """
    if not log.levels:
        return None
    changed = [
        row for row, level in enumerate(log.levels) if row == 0 or level != log.levels[row - 1]
    ]
    sequence = [log.levels[row] for row in changed]
    edge_s = np.append(log.level_time_s[changed], max(log.end_s, float(log.level_time_s[-1])))
    states = _ascending(set(sequence))
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


def _ascending(levels: set[float | str]) -> list[float | str]:
    """Return levels from low to high: by rate, known quality, number or name."""

    def key(level: float | str) -> tuple[float, str]:
        if isinstance(level, float):
            return level, ""
        if level in QUALITY_ORDER:
            return float(QUALITY_ORDER.index(level)), level
        return (float(level), "") if level.isdigit() else (float(len(QUALITY_ORDER)), level)

    return sorted(levels, key=key)


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
