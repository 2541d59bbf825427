"""Read player logs: our CSV and JSON, those of players, the lab's and the Requet data set's."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from trafficgen.calibration.phases.rebuffering import Pause
from trafficgen.calibration.player_log import dash_js, hls_js, shaka
from trafficgen.calibration.player_log.entries import (
    AS_LOGGED,
    MILLISECONDS,
    LogEntry,
    build_log,
    log_error,
    read_number,
    read_records,
)
from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.errors import PlayerLogError
from trafficgen.json_text import JsonTextError, read_json
from trafficgen.standard_streams import read_text_file

#: Ten times a line every 0.1 s of a day.
LARGEST_PLAYER_LOG_BYTES = 64_000_000
#: Lines of a CSV, or values of a JSON, of a log that memory holds.
MOST_VALUES = 2_000_000
#: Columns of our own log; the time and one more are needed.
COLUMNS = ("time_s", "unix_time_s", "buffer_s", "position_s", "level_kbps", "level", "stalled")
_FORMAT_REMEDY = (
    f"give a CSV or JSON with time_s or unix_time_s and any of {', '.join(COLUMNS[2:])},"
    " or the log of dash.js, hls.js or Shaka"
)
#: Recognises and reads the logs of a player.
_PLAYERS: tuple[tuple[Callable[[object], bool], Callable[[str, Any], PlayerLog]], ...] = (
    (dash_js.is_log, dash_js.read_log),
    (hls_js.is_log, hls_js.read_log),
    (shaka.is_log, shaka.read_log),
)
_AS_PUBLISHED = "give the table as published"
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")


def read_player_log(path: str | Path) -> PlayerLog:
    """Read the player log in a file, JSON or CSV; its content shows what wrote it.

    Our own form is a CSV with a header, or a JSON list of objects (or an object with the list under
    ``samples``) with the same names: ``time_s`` (from any zero) or ``unix_time_s``; ``buffer_s``,
    media in the buffer; ``position_s``, media position of its end; ``level_kbps``, or ``level``, a
    number or name; ``stalled``, 1 while the player waits for media, also before the playback
    starts. Fields may be empty.

    Raises:
        PlayerLogError: If the file cannot be read or is not a player log, with the place.
    """
    name = str(path)
    text = read_text_file(
        path,
        most_bytes=LARGEST_PLAYER_LOG_BYTES,
        remedy=_FORMAT_REMEDY,
        shorten="give the log of one session",
        error=PlayerLogError,
    )
    if not text.strip():
        raise log_error(name, "is empty", _FORMAT_REMEDY)
    is_json = text.lstrip()[0] in "{["
    what, marks = ("values", "{[,") if is_json else ("lines", "\n")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if sum(text.count(mark) for mark in marks) > MOST_VALUES:
        problem = f"has more than {MOST_VALUES:,} {what}"
        raise log_error(name, problem, "give the log of one session")
    if is_json:
        return _from_json(name, text)
    try:
        return _from_csv(name, text)
    except csv.Error as error:
        raise log_error(name, f"is not CSV: {error}", _FORMAT_REMEDY) from None


def _from_json(name: str, text: str) -> PlayerLog:
    try:
        found = read_json(text)
    except JsonTextError as error:
        raise log_error(name, str(error), "correct it there") from None
    if isinstance(found, dict) and "player_log" in found:
        return _from_ground_truth(name, found)
    for is_log, read_log in _PLAYERS:
        if is_log(found):
            return read_log(name, found)
    records = found.get("samples") if isinstance(found, dict) else found
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise log_error(name, "holds no list of entries", _FORMAT_REMEDY)
    return _from_records(name, ((f"entry {row}", record) for row, record in enumerate(records)))


def _from_csv(name: str, text: str) -> PlayerLog:
    reader = csv.DictReader(text.split("\n"))
    header = [column.strip() for column in reader.fieldnames or []]
    reader.fieldnames = header
    if {"rel_time_s", "buffer_health_s"} <= set(header):
        return _from_requet(name, list(reader))
    return _from_records(name, ((f"line {reader.line_num}", record) for record in reader))


def _from_records(name: str, records: Iterator[tuple[str, Mapping[str, Any]]]) -> PlayerLog:
    """Build our own log from its entries."""
    rows: list[LogEntry] = []
    unix: bool | None = None
    for place, record in records:
        if unix is None:
            if not {"time_s", "unix_time_s"} & set(record) or not set(COLUMNS[2:]) & set(record):
                columns = ", ".join(str(key) for key in record) or "none"
                raise log_error(
                    name, f"{place}: no player log's columns ({columns})", _FORMAT_REMEDY
                )
            unix = "unix_time_s" in record
        rows.append(_row(name, place, record, unix=unix))
        if len(rows) > 1 and rows[-1].time_s < rows[-2].time_s:
            raise log_error(name, f"{place}: the time goes back", "sort the log by time")
    if not rows:
        raise log_error(name, "has no entries", _FORMAT_REMEDY)
    if not unix:
        return build_log(name, rows, zero_unix_s=None)
    zero_s = rows[0].time_s
    rows = [replace(row, time_s=row.time_s - zero_s) for row in rows]
    return build_log(name, rows, zero_unix_s=zero_s)


def _row(name: str, place: str, record: Mapping[str, Any], *, unix: bool) -> LogEntry:
    def number(column: str) -> float | None:
        remedy = "correct it or leave it empty"
        return read_number(name, place, record, column, remedy=remedy)

    time_s = number("unix_time_s" if unix else "time_s")
    if time_s is None:
        raise log_error(name, f"{place}: the time is missing", "give every entry its time")
    rate_kbps = number("level_kbps")
    if rate_kbps is not None and rate_kbps <= 0:
        problem = f"{place}: level_kbps is {rate_kbps:g}"
        raise log_error(name, problem, "give a rate above 0 or leave it empty")
    level: float | str | None = rate_kbps
    if level is None and record.get("level") not in (None, ""):
        level = str(record["level"]).strip()
    flag = record.get("stalled")
    text = "" if flag is None else str(flag).strip().lower()
    if text not in (*_TRUE, *_FALSE, ""):
        problem = f"{place}: stalled is {flag!r}"
        raise log_error(name, problem, "write 1 or 0, or leave it empty")
    stalled = text in _TRUE if text else None
    return LogEntry(time_s, number("buffer_s"), number("position_s"), level, stalled)


def _from_requet(name: str, records: list[dict[str, str]]) -> PlayerLog:
    """Build a log from a playback table of Requet (Gutterman et al. 2019), a row each 0.1 s.

    Its Unix times are those of the player's reports; their median distance from the row's time
    places the zero.
    """
    rows, offsets_s = [], []
    for line, record in enumerate(records, start=2):
        time_s, epoch_ms, buffer_s, progress_s = (
            read_number(name, f"line {line}", record, key, required=True, remedy=_AS_PUBLISHED)
            for key in ("rel_time_s", "epoch_ms", "buffer_health_s", "progress_s")
        )
        events = set((record.get("events") or "").split("+")) - {""}
        if not events:
            continue
        buffer_s = max(0.0, buffer_s)
        quality = (record.get("quality") or "").split("+")[-1]
        level = quality if quality not in ("", "unlabelled") else None
        stalled = "playing" not in events if events & {"playing", "buffering"} else None
        rows.append(LogEntry(time_s, buffer_s, progress_s + buffer_s, level, stalled))
        if "collect" in events:
            offsets_s.append(MILLISECONDS * epoch_ms - time_s)
    if not rows or not offsets_s:
        raise log_error(name, "has no report of the player", _AS_PUBLISHED)
    return build_log(name, rows, zero_unix_s=float(np.median(offsets_s)), form="requet")


def _from_ground_truth(name: str, found: dict[str, Any]) -> PlayerLog:
    """Build a log from the player's part of a lab session's ground truth."""

    def number(place: str, record: dict[str, Any], key: str) -> float:
        return read_number(name, place, record, key, required=True)

    rows, end_s = [], 0.0
    for place, entry in read_records(name, "player_log", found["player_log"]):
        end_s = max(end_s, number(place, entry, "t"))
        if entry.get("event") == "sample":
            buffer_s = number(place, entry, "buffered_s")
            media_s = number(place, entry, "media_s")
            rows.append(LogEntry(number(place, entry, "t"), buffer_s, media_s + buffer_s))
        elif entry.get("event") == "switch_shown":
            level_kbps = number(place, entry, "to_kbps")
            rows.append(LogEntry(number(place, entry, "t"), level=level_kbps))
    stalls = read_records(name, "stalls", found.get("stalls") or [])
    start_s = read_number(name, "the log", found, "playback_start_s")
    if not rows and start_s is None:
        raise log_error(name, "has no entries", AS_LOGGED)
    return build_log(
        name,
        rows,
        zero_unix_s=number("the log", found, "t0_unix_s"),
        form="lab",
        end_s=end_s,
        playback=(
            start_s,
            tuple(
                Pause(number(place, stall, "t_s"), number(place, stall, "seconds"))
                for place, stall in stalls
            ),
        ),
    )
