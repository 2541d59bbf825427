"""Logs of players x odd values in the place of each of theirs: a log, or one error of one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.calibration.player_log.log_files import MOST_VALUES, read_player_log
from trafficgen.errors import PlayerLogError

RECORDED = Path(__file__).parent / "recorded"
_ODD: tuple[Any, ...] = (None, True, "", "x" * 900, "\n", -1, 0, 1e300, -1e300, 1e-300, 2**70)
_ODD = (*_ODD, [], {}, [[]], [{}], {"a": {}}, [None] * 3)
#: Entries of a list that are kept, of each kind.
_KEPT = 2


def _shorten(part: Any) -> Any:
    """Return a log with the first entries of each kind."""
    if isinstance(part, dict):
        return {key: _shorten(value) for key, value in part.items()}
    if not isinstance(part, list):
        return part
    kinds = [_kind_of(entry) for entry in part]
    return [
        _shorten(entry)
        for number, entry in enumerate(part)
        if kinds[:number].count(kinds[number]) < _KEPT
    ]


def _places(part: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where each value is: its list or object, and its number or key."""
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield part, key
        yield from _places(part[key])


def _kind_of(entry: Any) -> str:
    names = ("metric", "event", "type", "state")
    return str([entry.get(name) for name in names]) if isinstance(entry, dict) else "entry"


#: Logs of each kind that is not a player's own.
_PLAIN: dict[str, Any] = {
    "plain.json": [
        {"time_s": time, "buffer_s": 2, "position_s": time, "level": "a", "stalled": time < 2}
        for time in range(9)
    ],
    "unix.json": {
        "samples": [{"unix_time_s": 9, "level_kbps": 5}, {"unix_time_s": 11, "buffer_s": 2}]
    },
    "lab.json": {
        "t0_unix_s": 1e9,
        "playback_start_s": 1,
        "stalls": [{"t_s": 5, "seconds": 3}],
        "player_log": [
            {"event": "sample", "t": 1, "buffered_s": 2, "media_s": 3},
            {"event": "switch_shown", "t": 2, "to_kbps": 300},
        ],
    },
}
#: No player is up, buffers or stalls longer, and no level has a name on many lines.
_MOST, _LONGEST_NAME = 1e9, 100


def _check(log: PlayerLog) -> None:
    times = (log.end_s, log.playback_start_s or 0.0, *log.sample_time_s, *log.buffer_s)
    stalls = [part for stall in log.stalls for part in (stall.start_s, stall.duration_s)]
    position_s = log.position_s[~np.isnan(log.position_s)]
    assert all(abs(one) <= _MOST for one in (*times, *stalls, *position_s))
    assert all(stall.duration_s >= 0 for stall in log.stalls)
    for level in log.levels:
        text = str(level)
        assert text.isprintable()
        assert len(text) <= _LONGEST_NAME


@pytest.mark.parametrize("name", ["dash_js.json", "hls_js.json", "shaka.json", *_PLAIN])
def test_odd_values_in_a_log_are_read_or_refused(tmp_path: Path, name: str) -> None:
    log = _PLAIN.get(name) or json.loads((RECORDED / name).read_text())
    log = _shorten(json.loads(json.dumps(log)))
    places, read = list(_places(log)), 0
    assert len(places) > 6
    file = tmp_path / name
    for holder, key in places:
        usual = holder[key]
        for value in _ODD:
            holder[key] = value
            file.write_text(json.dumps(log))
            with suppress(PlayerLogError):
                _check(read_player_log(file))
                read += 1
        holder[key] = usual
    assert read > 0


@pytest.mark.parametrize("column", ["rel_time_s", "epoch_ms", "buffer_health_s", "progress_s"])
@pytest.mark.parametrize("value", ["", "nan", "inf", "-1e300", "1e300", "7" * 400, "x\x0by"])
def test_odd_values_in_a_playback_table_are_read_or_refused(
    tmp_path: Path, column: str, value: str
) -> None:
    row = dict.fromkeys(("rel_time_s", "epoch_ms", "buffer_health_s", "progress_s"), "1")
    row |= {"events": "collect+playing", "quality": "hd", column: value}
    file = tmp_path / "table.csv"
    file.write_text(f"{','.join(row)}\n{','.join(row.values())}\n")
    with suppress(PlayerLogError):
        _check(read_player_log(file))


@pytest.mark.parametrize(
    "text",
    [
        "[" + "{}," * MOST_VALUES + "{}]",
        '{"samples": [' + "[]," * MOST_VALUES + "[]]}",
        "[" + "1," * MOST_VALUES + "1]",
        "time_s,buffer_s\n" + "1,\n" * MOST_VALUES,
        "time_s,buffer_s\r" + "\r" * MOST_VALUES,
    ],
    ids=["objects", "lists", "numbers", "lines", "returns"],
)
def test_a_log_with_more_than_memory_holds_is_refused_before_it_is_read(
    tmp_path: Path, text: str
) -> None:
    file = tmp_path / "long.log"
    file.write_text(text, newline="")
    with pytest.raises(PlayerLogError, match=r"more than 2,000,000 (values|lines); give the log"):
        read_player_log(file)
