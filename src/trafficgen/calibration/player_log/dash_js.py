"""Logs of dash.js: its metrics, as ``metricAdded`` events or as lists, and its playback events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from trafficgen.calibration.player_log.entries import (
    AS_LOGGED,
    MILLISECONDS,
    LogEntry,
    build_unix_log,
    find_entries,
    log_error,
    read_kbps,
    read_millisecond_time,
    read_number,
    read_records,
)
from trafficgen.calibration.player_log.events import PlayerLog

#: Lists of metrics that are read: names of dash.js 2 to 5.
_METRICS = ("BufferLevel", "BufferState", "RepSwitchList", "PlayList", "HttpList")
_PLAYBACK = {"playbackPlaying": False, "playbackWaiting": True, "playbackStalled": True}
_BUFFER_STATES = {"bufferLoaded": False, "bufferStalled": True}
_RENDERED = "qualityChangeRendered"
#: What a player says of its representations, by the names of versions.
_RATES = ("bandwidth", "bitrate")
_INDICES = ("absoluteIndex", "index", "qualityIndex")


def is_log(found: object) -> bool:
    """Return whether a JSON document is a log of dash.js."""
    if isinstance(found, dict):
        parts = [found, *(one for one in found.values() if isinstance(one, dict))]
        if any(isinstance(part.get(key), list) for part in parts for key in _METRICS):
            return True
    known = {"metricAdded", _RENDERED, *_PLAYBACK}
    return any(
        isinstance(one, dict) and (one.get("metric") in _METRICS or one.get("type") in known)
        for one in find_entries(found)[1]
    )


def read_log(name: str, found: Any) -> PlayerLog:
    """Build a log from events, or from the lists of metrics of one medium or of several.

    Each event has its ``type``, ``mediaType``, and a ``metric`` with its ``value``, or is one of
    the playback; ``t`` is its time (``Date.now()``, ms), which most metrics have themselves.
    ``representations`` are those that the player has, with ``id`` and ``bandwidth``.

    Raises:
        PlayerLogError: If something in it is not what the player writes, with the place.
    """
    reader = _Reader(name, _read_rates(name, found))
    place, entries = find_entries(found)
    for where, entry in read_records(name, place, entries):
        reader.read_event(where, entry)
    if not entries:
        media = {medium: one for medium, one in found.items() if isinstance(one, dict)}
        for medium, lists in (media or {"": found}).items():
            reader.read_lists(f"{medium}." if medium else "", medium, lists)
    return build_unix_log(name, reader.choose_rows(), form="dash.js")


def _read_rates(name: str, found: Any) -> dict[str, float]:
    """Return rates of representations by id and by index, kbit/s."""
    given = found.get("representations") if isinstance(found, dict) else None
    rates: dict[str, float] = {}
    for place, one in read_records(name, "representations", given or []):
        rate = next((read_kbps(name, place, one, key) for key in _RATES if key in one), None)
        for key in ("id", *_INDICES):
            if rate is not None and one.get(key) is not None:
                rates.setdefault(str(one[key]), rate)
    return rates


@dataclass
class _Reader:
    """Reads entries and keeps what they say by its source."""

    name: str
    rates_kbps: dict[str, float]

    def __post_init__(self) -> None:
        """Begin without entries."""
        self.samples: list[tuple[str, LogEntry]] = []
        self.playback: dict[str, list[LogEntry]] = {"events": [], "played": [], "buffers": []}
        self.levels: dict[str, list[LogEntry]] = {"rendered": [], "played": [], "fetched": []}
        self.time_s: float | None = None

    def choose_rows(self) -> list[LogEntry]:
        """Return the entries of the best sources: those of what was seen before what was fetched.

        The state of the buffers is not that of the playback: it is taken without better.
        """
        rows = [*_take_lower_buffers(self.samples)]
        for sources in (self.playback, self.levels):
            rows += next((found for found in sources.values() if found), [])
        return rows

    def read_lists(self, place: str, medium: str, lists: dict[str, Any]) -> None:
        """Read the lists of metrics of a medium; states of buffers have no time there."""
        for metric in (one for one in _METRICS if one != "BufferState"):
            where = f"{place}{metric}"
            for row, value in read_records(self.name, where, lists.get(metric) or []):
                self._read_metric(row, metric, medium, value)

    def read_event(self, place: str, entry: dict[str, Any]) -> None:
        """Read an event, or a metric of the video or of the whole."""
        kind, metric = str(entry.get("type")), str(entry.get("metric"))
        value = entry.get("value")
        if entry.get("t") is not None:
            self.time_s = read_millisecond_time(self.name, place, entry, "t")
        if kind in _PLAYBACK:
            time_s = read_millisecond_time(self.name, place, entry, "t")
            self.playback["events"].append(LogEntry(time_s, stalled=_PLAYBACK[kind]))
        elif kind == _RENDERED and entry.get("mediaType") == "video":
            self._read_rendered(place, entry)
        elif metric in _METRICS:
            if not isinstance(value, dict):
                raise log_error(self.name, f"{place}.value is not an object", AS_LOGGED)
            self._read_metric(f"{place}.value", metric, entry.get("mediaType"), value)

    def _read_rendered(self, place: str, entry: dict[str, Any]) -> None:
        """Read the representation that is shown from now on, an object from dash.js 5 on."""
        time_s = read_millisecond_time(self.name, place, entry, "t")
        shown = entry.get("newRepresentation")
        if not isinstance(shown, dict):
            level = self._name_level(entry.get("newQuality"))
        else:
            where = f"{place}.newRepresentation"
            rate = read_kbps(self.name, where, shown, "bandwidth")
            level = self._name_level(shown.get("id")) if rate is None else rate
        self.levels["rendered"].append(LogEntry(time_s, level=level))

    def _read_metric(self, place: str, metric: str, medium: object, value: dict[str, Any]) -> None:
        if metric == "PlayList":
            self._read_play_list(place, value)
        elif metric == "BufferState":
            stalled = _BUFFER_STATES.get(str(value.get("state")))
            if self.time_s is not None and stalled is not None and medium != "audio":
                self.playback["buffers"].append(LogEntry(self.time_s, stalled=stalled))
        elif metric == "BufferLevel":
            self.time_s = read_millisecond_time(self.name, place, value, "t")
            level_ms = read_number(self.name, place, value, "level", required=True)
            row = LogEntry(self.time_s, buffer_s=level_ms * MILLISECONDS)
            self.samples.append((str(medium), row))
        elif metric == "RepSwitchList" and medium != "audio":
            self.time_s = read_millisecond_time(self.name, place, value, "t")
            row = LogEntry(self.time_s, level=self._name_level(value.get("to")))
            self.levels["fetched"].append(row)

    def _read_play_list(self, place: str, value: dict[str, Any]) -> None:
        """Read stretches that were played without a break (ISO/IEC 23009-1, annex D.4.5)."""
        for where, part in read_records(self.name, f"{place}.trace", value.get("trace") or []):
            start_s = read_millisecond_time(self.name, where, part, "start")
            length_ms = read_number(self.name, where, part, "duration") or 0.0
            self.playback["played"].append(LogEntry(start_s, stalled=False))
            if part.get("stopreason") == "rebuffering":
                dry_s = start_s + length_ms * MILLISECONDS
                self.playback["played"].append(LogEntry(dry_s, stalled=True))
            if part.get("representationid") is not None:
                level = self._name_level(part["representationid"])
                self.levels["played"].append(LogEntry(start_s, level=level))

    def _name_level(self, number: object) -> float | str:
        return self.rates_kbps.get(str(number), str(number))


def _take_lower_buffers(samples: list[tuple[str, LogEntry]]) -> Iterator[LogEntry]:
    """Yield samples with the lower of the buffers of video and audio: both are played together."""
    last: dict[str, float] = {}
    for medium, row in sorted(samples, key=lambda pair: pair[1].time_s):
        last[medium] = row.buffer_s or 0.0
        yield replace(row, buffer_s=min(last.values()))
