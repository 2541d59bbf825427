"""What a player said of a session: when it played and stalled, how full its buffer was, which level
it showed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from trafficgen.units import FloatArray, IntArray, kbps_from_bytes

#: The buffer is full where it reaches this share of its 95% quantile and holds it (median) for this
#: long.
_FULL_SHARE = 0.9
_HOLD_S = 10.0
#: While it is full, it grows at most at this share of the mean rate at which it was filled.
_LARGEST_GROWTH = 0.4
#: A level's rate is learnt from the media that arrived meanwhile; less than this says nothing.
_LEAST_MEDIA_S = 10.0

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
    """A player log; times in s from its zero, or from the session's first media packet once
    aligned.

    Attributes:
        file: Name of the file.
        form: What kind of log it is.
        zero_unix_s: Unix time of its zero, s; None where the log counts from a time it does not
            tell.
        playback_start_s: First frame shown; None where the log does not say.
        stalls: Pauses after the start of the playback.
        sample_time_s: Times of the buffer samples, ascending, shape (n,).
        buffer_s: Media in the buffer, s, shape (n,).
        position_s: Media position of the end of the buffer, s, NaN where unknown, shape (n,).
        level_time_s: Times at which a level was set, ascending, shape (k,).
        levels: The levels: kbit/s of the encoding, or a name or number without a rate.
        end_s: Last entry.
        clock: How the zero was placed: by Unix time, by the option, or at the capture's first
            packet; at first its own.
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
        """Return the log with all times moved, and how that was decided."""
        return replace(
            self,
            clock=clock,
            zero_s=self.zero_s + by_s,
            zero_unix_s=None if self.zero_unix_s is None else self.zero_unix_s - by_s,
            playback_start_s=(
                None if self.playback_start_s is None else self.playback_start_s + by_s
            ),
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
        """When the buffer was first full, s: at 90% of its 95% quantile, held for 10 s, and growing
        no further.

        None where it never does, as when it grows to the end or is too empty to hold that long.
        """
        time_s, buffer_s = self.sample_time_s, self.buffer_s
        if time_s.size < 2:
            return None
        full = _FULL_SHARE * float(np.quantile(buffer_s, 0.95))
        for row in np.flatnonzero(buffer_s >= full):
            since_s = time_s - time_s[row]
            held = (since_s >= 0) & (since_s <= _HOLD_S)
            if full <= 0 or time_s[row] + _HOLD_S > time_s[-1]:
                return None
            if np.ptp(since_s[held]) == 0:  # one sample does not tell whether it stays
                continue
            filled_per_s = float(buffer_s[row] - buffer_s[0]) / max(
                float(time_s[row] - time_s[0]), 1e-9
            )
            growth_per_s = float(np.polyfit(since_s[held], buffer_s[held], 1)[0])
            if (
                float(np.median(buffer_s[held])) >= full
                and growth_per_s <= _LARGEST_GROWTH * filled_per_s
            ):
                return float(time_s[row])
        return None


@dataclass(frozen=True)
class PlayedLevels:
    """Levels that a player showed, as `fit` describes levels.

    Attributes:
        kbps: Encoding rate of each level, ascending, kbit/s; None where the log has names and no
            media position.
        names: Level as the log has it.
        transition: Jump chain: row = from, column = to; None for a level that was never left.
        mean_dwell_s: Mean time at a level, s; the unfinished last one is censored; None for a level
            never left.
        switches: Observed changes.
    """

    kbps: tuple[float | None, ...]
    names: tuple[str, ...]
    transition: tuple[tuple[float, ...] | None, ...]
    mean_dwell_s: tuple[float | None, ...]
    switches: int


def played_levels(
    log: PlayerLog,
    *,
    media_time_s: FloatArray | None = None,
    payload_bytes: FloatArray | None = None,
) -> PlayedLevels | None:
    """Return the levels of a log: their rates, the chain of changes and how long they last; None
    where it has none.

    The mean dwell of a level is its time, the unfinished dwell included, over the dwells that
    ended: the maximum- likelihood mean of exponential dwells with censoring (Kalbfleisch and
    Prentice 2002, chapter 3). The rate of a level that has a name only is the payload that arrived
    at that level over the media it brought, as far as the log tells the position of the buffer's
    end.

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
    if (
        any(rate is None for rate in rates)
        and media_time_s is not None
        and payload_bytes is not None
    ):
        rates = _measured_kbps(
            log, np.clip(edge_s, 0, media_time_s[-1]), index, media_time_s, payload_bytes
        )
    return PlayedLevels(
        kbps=tuple(rates),
        names=tuple(f"{level:g}" if isinstance(level, float) else level for level in states),
        transition=tuple(
            tuple((row / total).tolist()) if total else None
            for row, total in zip(jumps, left, strict=True)
        ),
        mean_dwell_s=tuple(
            float(at_s / total) if total else None for at_s, total in zip(time_s, left, strict=True)
        ),
        switches=len(sequence) - 1,
    )


def _ascending(levels: set[float | str]) -> list[float | str]:
    """Return levels from low to high: by rate, by the order of known qualities, by number, by
    name.
    """

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
    """Return for each level the payload that arrived while it was set over the media that the
    buffer gained, kbit/s.

    None for a level with too little of it, and for all where the rates do not ascend as the levels
    do: the level that a player shows runs behind the one that it fetches.
    """
    known = np.isfinite(log.position_s)
    levels = int(index.max()) + 1
    if not known.any():
        return [None] * levels
    total = np.concatenate(([0.0], np.cumsum(payload_bytes)))
    position_s = np.interp(
        edge_s, log.sample_time_s[known], np.maximum.accumulate(log.position_s[known])
    )
    media_s = np.bincount(index, weights=np.diff(position_s), minlength=levels)
    time_s = np.bincount(index, weights=np.diff(edge_s), minlength=levels)
    arrived = np.bincount(
        index, weights=np.diff(total[np.searchsorted(media_time_s, edge_s)]), minlength=levels
    )
    rates = [
        (
            kbps_from_bytes(float(size_bytes), float(length_s))
            if min(length_s, lasted_s) >= _LEAST_MEDIA_S
            else None
        )
        for size_bytes, length_s, lasted_s in zip(arrived, media_s, time_s, strict=True)
    ]
    found = [rate for rate in rates if rate is not None]
    return rates if found == sorted(found) else [None] * levels
