"""Read player logs: our CSV and JSON, the lab's ground truth, and the Requet data set's tables."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from trafficgen.calibration.player_log.events import Pause, PlayerLog
from trafficgen.errors import PlayerLogError
from trafficgen.json_text import JsonTextError, read_json
from trafficgen.redaction import redact_addresses

#: Ten times a line every 0.1 s of a day.
LARGEST_PLAYER_LOG_BYTES = 64_000_000
#: Columns of our own log; the time and one more are needed.
COLUMNS = ("time_s", "unix_time_s", "buffer_s", "position_s", "level_kbps", "level", "stalled")
_FORMAT_REMEDY = (
    f"give a CSV or JSON with time_s or unix_time_s and any of {', '.join(COLUMNS[2:])}"
)
_TRUE, _FALSE = ("1", "true", "yes"), ("0", "false", "no")
_MILLISECONDS = 1e-3


@dataclass(frozen=True)
class _Row:
    """One entry of our own log; None for an empty field."""

    time_s: float
    buffer_s: float | None = None
    position_s: float | None = None
    level: float | str | None = None
    stalled: bool | None = None


def read_player_log(path: str | Path) -> PlayerLog:
    """Read the player log in a file, JSON or CSV.

    Our own form is a CSV with a header, or a JSON list of objects (or an object with the list under
    ``samples``) with the same names: ``time_s`` (from any zero) or ``unix_time_s``; ``buffer_s``,
    media in the buffer; ``position_s``, media position of its end; ``level_kbps``, or ``level``, a
    number or name; ``stalled``, 1 while the player waits for media, also before the playback
    starts. Fields may be empty.

    Raises:
        PlayerLogError: If the file cannot be read or is no player log, with the place.
    """
    name = str(path)
    try:
        with Path(path).open("rb") as stream:
            beginning = stream.read(LARGEST_PLAYER_LOG_BYTES + 1)
        if len(beginning) > LARGEST_PLAYER_LOG_BYTES:
            problem = f"is larger than {LARGEST_PLAYER_LOG_BYTES:,} bytes"
            raise _error(name, problem, "give the log of one session")
        text = beginning.decode("utf-8-sig")
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
        raise _error(name, problem, "check name and permissions") from None
    except UnicodeDecodeError as error:
        raise _error(name, f"is no text (byte {error.start})", _FORMAT_REMEDY) from None
    if not text.strip():
        raise _error(name, "is empty", _FORMAT_REMEDY)
    if text.lstrip()[0] in "{[":
        return _from_json(name, text)
    return _from_csv(name, text)


def _error(name: str, problem: str, remedy: str) -> PlayerLogError:
    return PlayerLogError(file=name, problem=problem, remedy=remedy)


def _from_json(name: str, text: str) -> PlayerLog:
    try:
        found = read_json(text)
    except JsonTextError as error:
        raise _error(name, str(error), "correct it there") from None
    if isinstance(found, dict) and "player_log" in found:
        return _from_events(name, found)
    records = found.get("samples") if isinstance(found, dict) else found
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise _error(name, "holds no list of entries", _FORMAT_REMEDY)
    return _from_records(name, ((f"entry {row}", record) for row, record in enumerate(records)))


def _from_csv(name: str, text: str) -> PlayerLog:
    reader = csv.DictReader(text.splitlines())
    header = [column.strip() for column in reader.fieldnames or []]
    reader.fieldnames = header
    if {"rel_time_s", "buffer_health_s"} <= set(header):
        return _from_requet(name, list(reader))
    return _from_records(name, ((f"line {reader.line_num}", record) for record in reader))


def _from_records(name: str, records: Iterator[tuple[str, Mapping[str, Any]]]) -> PlayerLog:
    """Build our own log from its entries."""
    rows: list[_Row] = []
    unix: bool | None = None
    for place, record in records:
        if unix is None:
            if not {"time_s", "unix_time_s"} & set(record) or not set(COLUMNS[2:]) & set(record):
                columns = ", ".join(str(key) for key in record) or "none"
                raise _error(name, f"{place}: no player log's columns ({columns})", _FORMAT_REMEDY)
            unix = "unix_time_s" in record
        rows.append(_row(name, place, record, unix=unix))
        if len(rows) > 1 and rows[-1].time_s < rows[-2].time_s:
            raise _error(name, f"{place}: the time goes back", "sort the log by time")
    if not rows:
        raise _error(name, "has no entries", _FORMAT_REMEDY)
    zero_s = rows[0].time_s if unix else 0.0
    stalled = [(row.time_s, row.stalled) for row in rows if row.stalled is not None]
    zero_unix_s = zero_s if unix else None
    return _build_log(name, "plain", rows, stalled, zero_s=zero_s, zero_unix_s=zero_unix_s)


def _row(name: str, place: str, record: Mapping[str, Any], *, unix: bool) -> _Row:
    def number(column: str) -> float | None:
        value = record.get(column)
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        try:
            result = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            result = math.nan
        if not math.isfinite(result):
            problem = f"{place}: {column} is {value!r}, not a number"
            raise _error(name, problem, "correct it or leave it empty")
        return result

    time_s = number("unix_time_s" if unix else "time_s")
    if time_s is None:
        raise _error(name, f"{place}: the time is missing", "give every entry its time")
    rate_kbps = number("level_kbps")
    if rate_kbps is not None and rate_kbps <= 0:
        problem = f"{place}: level_kbps is {rate_kbps:g}"
        raise _error(name, problem, "give a rate above 0 or leave it empty")
    level: float | str | None = rate_kbps
    if level is None and record.get("level") not in (None, ""):
        level = str(record["level"]).strip()
    stalled = _flag(name, place, record.get("stalled"))
    return _Row(time_s, number("buffer_s"), number("position_s"), level, stalled)


def _flag(name: str, place: str, value: Any) -> bool | None:
    text = str(value).strip().lower() if value is not None else ""
    if not text:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise _error(name, f"{place}: stalled is {value!r}", "write 1 or 0, or leave it empty")


def _pauses(
    stalled: list[tuple[float, bool]], *, end_s: float
) -> tuple[float | None, tuple[Pause, ...]]:
    """Return the start of the playback and the stalls after it from flags in order of time."""
    starts = [time_s for time_s, waits in stalled if not waits]
    if not starts:
        return None, ()
    pauses, since_s = [], None
    for time_s, waits in stalled:
        if time_s < starts[0]:
            continue
        if waits and since_s is None:
            since_s = time_s
        elif not waits and since_s is not None:
            pauses.append(Pause(since_s, time_s - since_s))
            since_s = None
    if since_s is not None and end_s > since_s:
        pauses.append(Pause(since_s, end_s - since_s))
    return starts[0], tuple(pauses)


def _build_log(
    name: str,
    form: Literal["requet", "plain"],
    rows: list[_Row],
    stalled: list[tuple[float, bool]],
    *,
    zero_s: float,
    zero_unix_s: float | None,
) -> PlayerLog:
    end_s = rows[-1].time_s - zero_s
    waits = [(time_s - zero_s, waits) for time_s, waits in stalled]
    start_s, stalls = _pauses(waits, end_s=end_s)
    samples = [row for row in rows if row.buffer_s is not None]
    levels = [row for row in rows if row.level is not None]
    return PlayerLog(
        file=redact_addresses(Path(name).name),
        form=form,
        zero_unix_s=zero_unix_s,
        playback_start_s=start_s,
        stalls=stalls,
        sample_time_s=np.array([row.time_s - zero_s for row in samples], dtype=np.float64),
        buffer_s=np.array([row.buffer_s for row in samples], dtype=np.float64),
        position_s=np.array([row.position_s for row in samples], dtype=np.float64),
        level_time_s=np.array([row.time_s - zero_s for row in levels], dtype=np.float64),
        levels=tuple(row.level for row in levels if row.level is not None),
        end_s=end_s,
    )


def _from_requet(name: str, records: list[dict[str, str]]) -> PlayerLog:
    """Build a log from a playback table of Requet (Gutterman et al. 2019), a row each 0.1 s.

    Its Unix times are those of the player's reports; their median distance from the row's time
    places the zero.
    """
    rows, states, offsets_s = [], [], []
    for line, record in enumerate(records, start=2):
        try:
            time_s, epoch_s = float(record["rel_time_s"]), _MILLISECONDS * float(record["epoch_ms"])
            buffer_s, progress_s = float(record["buffer_health_s"]), float(record["progress_s"])
        except (KeyError, TypeError, ValueError):
            problem = f"line {line}: not a row of a playback table"
            raise _error(name, problem, "give the table as published") from None
        events = set(record.get("events", "").split("+")) - {""}
        if not events:
            continue
        quality = record.get("quality", "").split("+")[-1]
        named = quality if quality not in ("", "unlabelled") else None
        rows.append(_Row(time_s, max(0.0, buffer_s), progress_s + max(0.0, buffer_s), named))
        if "playing" in events or "buffering" in events:
            states.append((time_s, "playing" not in events))
        if "collect" in events:
            offsets_s.append(epoch_s - time_s)
    if not rows or not offsets_s:
        raise _error(name, "has no report of the player", "give the table as published")
    zero_unix_s = float(np.median(offsets_s))
    return _build_log(name, "requet", rows, states, zero_s=0.0, zero_unix_s=zero_unix_s)


def _from_events(name: str, found: dict[str, Any]) -> PlayerLog:
    """Build a log from the player's part of a lab session's ground truth."""
    entries = found["player_log"]
    try:
        samples = [entry for entry in entries if entry["event"] == "sample"]
        shown = [entry for entry in entries if entry["event"] == "switch_shown"]
        stalls = tuple(
            Pause(float(stall["t_s"]), float(stall["seconds"]))
            for stall in found.get("stalls") or []
        )
        start_s = found.get("playback_start_s")
        return PlayerLog(
            file=redact_addresses(Path(name).name),
            form="lab",
            zero_unix_s=float(found["t0_unix_s"]),
            playback_start_s=None if start_s is None else float(start_s),
            stalls=stalls,
            sample_time_s=np.array([float(entry["t"]) for entry in samples]),
            buffer_s=np.array([float(entry["buffered_s"]) for entry in samples]),
            position_s=np.array(
                [float(entry["media_s"]) + float(entry["buffered_s"]) for entry in samples]
            ),
            level_time_s=np.array([float(entry["t"]) for entry in shown]),
            levels=tuple(float(entry["to_kbps"]) for entry in shown),
            end_s=max((float(entry["t"]) for entry in entries), default=0.0),
        )
    except (KeyError, TypeError, ValueError) as error:
        problem = f"player_log lacks or misstates {error}"
        raise _error(name, problem, "give the lab's JSON as recorded") from None
