"""Logs of Shaka Player: what its ``getStats()`` returns, alone or with samples of the buffer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trafficgen.calibration.player_log.entries import (
    LogEntry,
    build_unix_log,
    choose_buffered_end,
    read_kbps,
    read_millisecond_time,
    read_number,
    read_records,
)
from trafficgen.calibration.player_log.events import PlayerLog

_HISTORIES = ("switchHistory", "stateHistory")
#: States of ``stateHistory`` while the media advance, and while they wait for data.
_STALLED = {"playing": False, "buffering": True}


def is_log(found: object) -> bool:
    """Return whether a JSON document is a log of Shaka."""
    return isinstance(found, dict) and bool({"stats", *_HISTORIES} & set(found))


def read_log(name: str, found: dict[str, Any]) -> PlayerLog:
    """Build a log from what ``getStats()`` returns, or an object that has that as ``stats``.

    Times are Unix times, s. ``samples``, if there are any, have ``t`` (``Date.now()``, ms),
    ``currentTime`` and ``buffered``, what ``getBufferedInfo()`` returns.

    Raises:
        PlayerLogError: If something in it is not what the player writes, with the place.
    """
    stats = found.get("stats", found)
    place = "stats." if "stats" in found else ""
    rows = [] if not isinstance(stats, dict) else [*_read_histories(name, place, stats)]
    rows += _read_samples(name, found.get("samples") or [])
    end_s = max((row.time_s for row in rows), default=0.0)
    if isinstance(stats, dict):
        end_s = max([end_s, *_ends(name, place, stats)])
    return build_unix_log(name, rows, form="shaka", end_s=end_s)


def _read_histories(name: str, place: str, stats: dict[str, Any]) -> Iterator[LogEntry]:
    for where, state in read_records(name, f"{place}stateHistory", stats.get("stateHistory") or []):
        time_s = read_number(name, where, state, "timestamp", required=True)
        yield LogEntry(time_s, stalled=_STALLED.get(str(state.get("state"))))
    choices = read_records(name, f"{place}switchHistory", stats.get("switchHistory") or [])
    for where, choice in choices:
        if choice.get("type") == "variant":
            time_s = read_number(name, where, choice, "timestamp", required=True)
            level = read_kbps(name, where, choice, "bandwidth")
            yield LogEntry(time_s, level=str(choice.get("id")) if level is None else level)


def _ends(name: str, place: str, stats: dict[str, Any]) -> Iterator[float]:
    """Yield when each state was left, s."""
    for where, state in read_records(name, f"{place}stateHistory", stats.get("stateHistory") or []):
        time_s = read_number(name, where, state, "timestamp", required=True)
        yield time_s + (read_number(name, where, state, "duration") or 0.0)


def _read_samples(name: str, samples: object) -> Iterator[LogEntry]:
    for where, sample in read_records(name, "samples", samples):
        time_s = read_millisecond_time(name, where, sample, "t")
        at_s = read_number(name, where, sample, "currentTime", required=True)
        buffered = sample.get("buffered")
        if isinstance(buffered, dict):
            buffered = buffered.get("total")
        end_s = choose_buffered_end(name, f"{where}.buffered", buffered or [], at_s)
        yield LogEntry(time_s, buffer_s=end_s - at_s, position_s=end_s)
