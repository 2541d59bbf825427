"""Logs of hls.js: its events, or the metrics of its demo page."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from trafficgen.calibration.player_log.entries import (
    MILLISECONDS,
    LogEntry,
    build_log,
    build_unix_log,
    find_entries,
    log_error,
    read_kbps,
    read_millisecond_time,
    read_number,
    read_records,
)
from trafficgen.calibration.player_log.events import PlayerLog

#: Events of the library begin with this; those of the video element are as the browser has them.
_PREFIX = "hls"
_STALLED = {"playing": False, "waiting": True}
#: What a demo page's metrics have, and the stretch of media that shows that playback goes on, s.
_DEMO, _MOVED_S = ("buffer", "video", "load"), 0.05


def is_log(found: object) -> bool:
    """Return whether a JSON document is a log of hls.js."""
    if isinstance(found, dict) and all(isinstance(found.get(key), list) for key in _DEMO):
        return True
    return any(
        isinstance(one, dict) and str(one.get("event")).startswith(_PREFIX)
        for one in find_entries(found)[1]
    )


def read_log(name: str, found: Any) -> PlayerLog:
    """Build a log from the events of a session, or from the metrics of the demo page.

    Each event has ``t`` (``Date.now()``, ms), its name as ``event``, and of its data ``level``,
    ``levels`` with their ``bitrate``, ``frag`` with ``start``, ``duration`` and ``type``, and
    ``details``; ``currentTime`` is the video's. Events of the video are ``playing`` and
    ``waiting``.

    Raises:
        PlayerLogError: If something in it is not what the player writes, with the place.
    """
    if isinstance(found, dict) and all(key in found for key in _DEMO):
        rows = sorted(_read_demo(name, found), key=lambda row: row.time_s)
        if not rows:
            raise log_error(name, "has empty metrics of hls.js", "play before they are taken")
        return build_log(name, rows, form="hls.js")
    place, entries = find_entries(found)
    session = _Session()
    rows = [
        row
        for where, entry in read_records(name, place, entries)
        if (row := session.read_event(name, where, entry)) is not None
    ]
    return build_unix_log(name, rows, form="hls.js")


@dataclass
class _Session:
    """What earlier events say of later ones."""

    rates_kbps: dict[int, float] = field(default_factory=dict)
    stalled_at_s: float = math.inf

    def read_event(self, name: str, place: str, entry: dict[str, Any]) -> LogEntry | None:
        """Return what an event says; None if nothing."""
        event = str(entry.get("event"))
        row = LogEntry(read_millisecond_time(name, place, entry, "t"))
        at_s = read_number(name, place, entry, "currentTime")
        if event == "hlsManifestParsed":
            levels = read_records(name, f"{place}.levels", entry.get("levels") or [])
            for number, (where, level) in enumerate(levels):
                rate_kbps = read_kbps(name, where, level, "bitrate")
                if rate_kbps is not None:
                    self.rates_kbps[number] = rate_kbps
        elif event == "hlsLevelSwitched":
            number = int(read_number(name, place, entry, "level", required=True))
            return replace(row, level=self.rates_kbps.get(number, str(number)))
        elif event == "hlsFragBuffered" and isinstance(frag := entry.get("frag"), dict):
            if at_s is not None and frag.get("type", "main") == "main":
                where = f"{place}.frag"
                end_s = read_number(name, where, frag, "start", required=True)
                end_s += read_number(name, where, frag, "duration", required=True)
                row = replace(row, buffer_s=max(end_s - at_s, 0.0), position_s=end_s)
        elif event in _STALLED:
            row = replace(row, stalled=_STALLED[event])
        elif event == "hlsError" and entry.get("details") == "bufferStalledError":
            row = replace(row, stalled=True)
        return self._find_end_of_stall(row, at_s)

    def _find_end_of_stall(self, row: LogEntry, at_s: float | None) -> LogEntry | None:
        """Return a row that ends a stall if the video moved since."""
        if row.stalled:
            self.stalled_at_s = math.inf if at_s is None else at_s
        elif row.stalled is False:
            self.stalled_at_s = math.inf
        elif at_s is not None and at_s > self.stalled_at_s + _MOVED_S:
            self.stalled_at_s = math.inf
            return replace(row, stalled=False)
        return None if row == LogEntry(row.time_s) else row


def _read_demo(name: str, found: dict[str, Any]) -> Iterator[LogEntry]:
    """Yield the entries of the demo page's metrics, whose times count from its start, ms."""
    for place, sample in read_records(name, "buffer", found["buffer"]):
        time_ms, buffer_ms, at_ms = (
            read_number(name, place, sample, key, required=True)
            for key in ("time", "buffer", "pos")
        )
        yield LogEntry(
            time_ms * MILLISECONDS,
            buffer_s=buffer_ms * MILLISECONDS,
            position_s=(at_ms + buffer_ms) * MILLISECONDS,
        )
    for place, event in read_records(name, "video", found["video"]):
        time_s = MILLISECONDS * read_number(name, place, event, "time", required=True)
        kind = str(event.get("type"))
        if kind == "level switched":
            yield LogEntry(time_s, level=str(event.get("name")))
        elif kind in _STALLED:
            yield LogEntry(time_s, stalled=_STALLED[kind])
