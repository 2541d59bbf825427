"""Entries of a player log, whatever wrote it, and the log that they make."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np

from trafficgen.calibration.phases.rebuffering import Pause
from trafficgen.calibration.player_log.events import LogForm, PlayerLog
from trafficgen.errors import PlayerLogError
from trafficgen.formatting import one_line
from trafficgen.quantity_bounds import most_of
from trafficgen.redaction import redact_addresses
from trafficgen.units import kbps_from_bps

MILLISECONDS = 1e-3
#: How a log is to be had, for errors.
AS_LOGGED = "give the log as the player wrote it"
#: Units of the numbers of entries.
_UNITS = {"time_s": "s", "buffer_s": "s", "position_s": "s", "level": "kbps"}
#: Where an object keeps its entries.
_ENTRIES = ("log", "events", "entries", "metrics")
#: Later times (in 2286) are not milliseconds; a range that begins so soon is the one that plays, s.
_LATEST_UNIX_S, _NEXT_RANGE_S = 1e10, 0.1


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry of a log; None for what it does not say."""

    time_s: float
    buffer_s: float | None = None
    position_s: float | None = None
    level: float | str | None = None
    stalled: bool | None = None


def log_error(name: str, problem: str, remedy: str) -> PlayerLogError:
    """Return the error of a log that cannot be read."""
    return PlayerLogError(file=name, problem=problem, remedy=remedy)


@overload
def read_number(
    name: str,
    place: str,
    record: Mapping[str, Any],
    key: str,
    *,
    required: Literal[True],
    remedy: str = AS_LOGGED,
) -> float: ...
@overload
def read_number(
    name: str,
    place: str,
    record: Mapping[str, Any],
    key: str,
    *,
    required: bool = False,
    remedy: str = AS_LOGGED,
) -> float | None: ...
def read_number(
    name: str,
    place: str,
    record: Mapping[str, Any],
    key: str,
    *,
    required: bool = False,
    remedy: str = AS_LOGGED,
) -> float | None:
    """Return a number of a record; None if it is missing or empty and not required.

    Raises:
        PlayerLogError: If it is something else, with the place.
    """
    value = record.get(key)
    if value is None or (isinstance(value, str) and not value.strip()):
        if required:
            raise log_error(name, f"{place}: {key} is missing", remedy)
        return None
    try:
        result = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise log_error(name, f"{place}: {key} is {_shorten(value)}, not a number", remedy)
    return result


def read_kbps(name: str, place: str, record: Mapping[str, Any], key: str) -> float | None:
    """Return a rate that is written in bit/s, in kbit/s; None if it is missing or 0.

    Raises:
        PlayerLogError: If it is below 0 or no number.
    """
    rate_bps = read_number(name, place, record, key)
    if rate_bps is not None and rate_bps < 0:
        raise log_error(name, f"{place}: {key} is {rate_bps:g}", AS_LOGGED)
    return kbps_from_bps(rate_bps) if rate_bps else None


def read_millisecond_time(name: str, place: str, record: Mapping[str, Any], key: str) -> float:
    """Return the Unix time of what JavaScript writes of a date, s: milliseconds or a text.

    Raises:
        PlayerLogError: If it is neither.
    """
    value = record.get(key)
    if not isinstance(value, str):
        time_s = MILLISECONDS * read_number(name, place, record, key, required=True)
    else:
        try:
            time_s = datetime.fromisoformat(value).timestamp()
        except (ValueError, OverflowError):
            raise log_error(
                name, f"{place}: {key} is {_shorten(value)}, no date", AS_LOGGED
            ) from None
    if not 0 <= time_s <= _LATEST_UNIX_S:
        problem = f"{place}: {key} is {_shorten(value)}, no time in milliseconds since 1970"
        raise log_error(name, problem, "log what Date.now() returns")
    return time_s


def choose_buffered_end(name: str, place: str, ranges: object, at_s: float) -> float:
    """Return where the buffered range around a position ends, s; the position if none is there.

    Raises:
        PlayerLogError: If there are no ranges with ``start`` and ``end``.
    """
    end_s = at_s
    for where, one in read_records(name, place, ranges):
        start_s, stop_s = (
            read_number(name, where, one, key, required=True) for key in ("start", "end")
        )
        if start_s <= at_s + _NEXT_RANGE_S and stop_s > end_s:
            end_s = stop_s
    return end_s


def find_entries(found: object) -> tuple[str, list[Any]]:
    """Return the list of entries of a JSON document, itself or in an object, and its place."""
    if isinstance(found, list):
        return "entries", found
    if isinstance(found, dict):
        for key in _ENTRIES:
            if isinstance(found.get(key), list):
                return key, found[key]
    return "", []


def read_records(name: str, place: str, found: object) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a list with their places.

    Raises:
        PlayerLogError: If it is not a list of objects.
    """
    if not isinstance(found, list):
        raise log_error(name, f"{place} is not a list", AS_LOGGED)
    for row, one in enumerate(found):
        if not isinstance(one, dict):
            problem = f"{place}[{row}] is {_shorten(one)}, not an object"
            raise log_error(name, problem, AS_LOGGED)
    return [(f"{place}[{row}]", one) for row, one in enumerate(found)]


def _shorten(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def build_log(
    name: str,
    rows: list[LogEntry],
    *,
    form: LogForm = "plain",
    zero_unix_s: float | None = None,
    end_s: float | None = None,
    playback: tuple[float | None, tuple[Pause, ...]] | None = None,
) -> PlayerLog:
    """Build a log from entries in order of time; playback and stalls from them if not given.

    Raises:
        PlayerLogError: If an entry or a stall has a number that no player has.
    """
    end_s = rows[-1].time_s if end_s is None else end_s
    for row, entry in enumerate(rows):
        _refuse_beyond(name, f"entry {row} in order of time", entry, _UNITS)
    start_s, stalls = playback or _find_playback(rows, end_s=end_s)
    for place, time_s in (("the end", end_s), ("the start of the playback", start_s or 0.0)):
        _refuse_beyond(name, place, LogEntry(time_s), _UNITS)
    for row, stall in enumerate(stalls):
        _refuse_beyond(name, f"stall {row}", stall, {"start_s": "s", "duration_s": "s"})
        if stall.duration_s < 0:
            raise log_error(name, f"stall {row}: it lasts {stall.duration_s:g} s", AS_LOGGED)
    samples = [row for row in rows if row.buffer_s is not None]
    levels = [
        (row.time_s, one_line(row.level) if isinstance(row.level, str) else row.level)
        for row in rows
        if row.level is not None
    ]
    return PlayerLog(
        file=redact_addresses(Path(name).name),
        zero_unix_s=zero_unix_s,
        playback_start_s=start_s,
        stalls=stalls,
        sample_time_s=np.array([row.time_s for row in samples], dtype=np.float64),
        buffer_s=np.array([row.buffer_s for row in samples], dtype=np.float64),
        position_s=np.array([row.position_s for row in samples], dtype=np.float64),
        level_time_s=np.array([time_s for time_s, _ in levels], dtype=np.float64),
        levels=tuple(level for _, level in levels),
        end_s=end_s,
        form=form,
    )


def _refuse_beyond(name: str, place: str, found: object, units: Mapping[str, str]) -> None:
    """Raise PlayerLogError where a number of an entry is beyond the bounds of its unit."""
    for key, unit in units.items():
        value = getattr(found, key)
        if isinstance(value, float) and abs(value) > (most := most_of(unit)):
            problem = f"{place}: {key} is {value:g}, beyond {most:g}"
            raise log_error(name, problem, AS_LOGGED)


def build_unix_log(
    name: str, rows: list[LogEntry], *, form: LogForm, end_s: float | None = None
) -> PlayerLog:
    """Build a log from entries in any order with Unix times, s.

    Raises:
        PlayerLogError: If there is no entry.
    """
    if not rows:
        raise log_error(name, f"has no entries of {form} that say something", AS_LOGGED)
    ordered = sorted(rows, key=lambda row: row.time_s)
    zero_s = ordered[0].time_s
    last_s = max(ordered[-1].time_s, end_s or 0.0) - zero_s
    shifted = [replace(row, time_s=row.time_s - zero_s) for row in ordered]
    return build_log(name, shifted, form=form, zero_unix_s=zero_s, end_s=last_s)


def _find_playback(rows: list[LogEntry], *, end_s: float) -> tuple[float | None, tuple[Pause, ...]]:
    """Return the start of the playback and the stalls after it, s."""
    start_s = next((row.time_s for row in rows if row.stalled is False), None)
    stalls, since_s = [], None
    for row in rows:
        if start_s is None or row.time_s < start_s:
            continue
        if row.stalled and since_s is None:
            since_s = row.time_s
        elif row.stalled is False and since_s is not None:
            stalls.append(Pause(since_s, row.time_s - since_s))
            since_s = None
    if since_s is not None and end_s > since_s:
        stalls.append(Pause(since_s, end_s - since_s))
    return start_s, tuple(stalls)
