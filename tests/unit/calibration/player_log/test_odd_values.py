"""Logs of players x odd values in the place of each of theirs: a log, or one error of one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from trafficgen.calibration.player_log.log_files import read_player_log
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


@pytest.mark.parametrize("name", ["dash_js.json", "hls_js.json", "shaka.json"])
def test_odd_values_in_a_log_are_read_or_refused(tmp_path: Path, name: str) -> None:
    log = _shorten(json.loads((RECORDED / name).read_text()))
    places, read = list(_places(log)), 0
    assert len(places) > 20
    file = tmp_path / name
    for holder, key in places:
        usual = holder[key]
        for value in _ODD:
            holder[key] = value
            file.write_text(json.dumps(log))
            with suppress(PlayerLogError):
                read_player_log(file)
                read += 1
        holder[key] = usual
    assert read > 0
