from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from trafficgen.calibration.player_log.events import find_played_levels
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.errors import PlayerLogError

CSV = """time_s,buffer_s,level_kbps,stalled
0,0,300,1
1,2,300,1
2,4,300,0
3,6,600,0
5,0,600,1
7,3,600,0
8,4,300,0
12,4,300,0
"""


def written(folder: Path, text: str, *, name: str = "log.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_plain_csv_tells_playback_stalls_and_buffer(tmp_path: Path) -> None:
    log = read_player_log(written(tmp_path, CSV))
    assert (log.file, log.form, log.zero_unix_s, log.playback_start_s, log.end_s) == (
        "log.csv",
        "plain",
        None,
        2,
        12,
    )
    assert [(stall.start_s, stall.duration_s) for stall in log.stalls] == [(5, 2)]
    assert log.buffer_s.tolist() == [0, 2, 4, 6, 0, 3, 4, 4]


def test_json_and_unix_times_say_the_same(tmp_path: Path) -> None:
    entries = [
        {"unix_time_s": 1.7e9, "buffer_s": 0, "stalled": True},
        {"unix_time_s": 1.7e9 + 2, "buffer_s": 5, "level": "hd720", "stalled": False},
    ]
    for content in (entries, {"samples": entries}):
        log = read_player_log(written(tmp_path, json.dumps(content), name="log.json"))
        assert (log.zero_unix_s, log.playback_start_s, log.end_s, log.levels) == (
            1.7e9,
            2,
            2,
            ("hd720",),
        )


def test_a_lab_log_of_a_start_and_stalls_needs_no_samples(tmp_path: Path) -> None:
    truth = {
        **{"t0_unix_s": 1.7e9, "player_log": [{"t": 5.06, "event": "playing"}]},
        **{"playback_start_s": 5.06, "stalls": [{"t_s": 17.9, "seconds": 0.84}]},
    }
    log = read_player_log(written(tmp_path, json.dumps(truth), name="log.json"))
    assert log.playback_start_s == 5.06
    assert [(stall.start_s, stall.duration_s) for stall in log.stalls] == [(17.9, 0.84)]


def test_levels_worked_by_hand(tmp_path: Path) -> None:
    levels = find_played_levels(read_player_log(written(tmp_path, CSV)))
    assert levels is not None
    # 300 from 0 to 3 s, 600 from 3 to 8 s, 300 from 8 to 12 s unfinished: (3 + 4) / 1 and 5 / 1
    assert levels.kbps == (300, 600)
    assert levels.transition == ((0, 1), (1, 0))
    assert levels.mean_dwell_s == (7, 5)
    assert levels.switches == 2


def test_a_level_that_was_never_left_has_neither_row_nor_dwell(tmp_path: Path) -> None:
    levels = find_played_levels(
        read_player_log(written(tmp_path, "time_s,level_kbps\n0,300\n4,600\n9,600\n"))
    )
    assert levels is not None
    assert levels.transition == ((0, 1), None)
    assert levels.mean_dwell_s == (4, None)


def test_rates_of_named_levels_come_from_the_media_that_arrived(tmp_path: Path) -> None:
    # 20 s of media while "small" is shown, 40 s while "large" is; 50 kB and 200 kB a second arrive
    text = "time_s,buffer_s,position_s,level\n0,0,0,small\n10,10,20,large\n30,30,60,large\n"
    time_s = np.arange(0, 30, 0.1)
    payload = np.where(time_s < 10, 5000.0, 20_000.0)
    levels = find_played_levels(
        read_player_log(written(tmp_path, text)), media_time_s=time_s, payload_bytes=payload
    )
    assert levels is not None
    assert levels.names == ("small", "large")
    # 0.5 MB over 20 s, 4 MB over 40 s; the last packet falls on the edge
    assert levels.kbps == pytest.approx((200, 800), rel=0.02)


def test_a_buffer_that_fills_and_stays_is_full_and_one_that_grows_to_the_end_is_not(
    tmp_path: Path,
) -> None:
    filled = "".join(f"{t},{min(20, t)}\n" for t in range(60))
    growing = "".join(f"{t},{0.3 * t}\n" for t in range(60))
    full_s = read_player_log(written(tmp_path, "time_s,buffer_s\n" + filled)).buffer_full_s
    # 90% of 20 s are reached at 18 s; the fit over ten seconds sees the last growth
    assert full_s == pytest.approx(18.5, abs=1.5)
    assert read_player_log(written(tmp_path, "time_s,buffer_s\n" + growing)).buffer_full_s is None


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("", "is empty", "give a CSV or JSON"),
        ("a,b\n1,2\n", "line 2: no player log's columns (a, b)", "give a CSV or JSON"),
        ("time_s\n1\n", "line 2: no player log's columns", "buffer_s"),
        ("time_s,buffer_s\n1,2\n0,2\n", "line 3: the time goes back", "sort"),
        ("time_s,buffer_s\n1,full\n", "line 2: buffer_s is 'full', not a number", "leave it empty"),
        ("time_s,buffer_s\n,1\n", "line 2: the time is missing", "give every entry its time"),
        ("time_s,stalled\n0,maybe\n", "line 2: stalled is 'maybe'", "write 1 or 0"),
        ("time_s,level_kbps\n0,-5\n", "line 2: level_kbps is -5", "above 0"),
        ("time_s,buffer_s\n", "has no entries", "give a CSV or JSON"),
        ('{"samples": 3}', "holds no list of entries", "give a CSV or JSON"),
        ('[{"time_s": 1,', "line 1, column 15: it is not valid JSON", "correct it"),
        ('{"player_log": [{"event": "sample"}]}', "player_log[0]: t is missing", "as the player"),
        (
            "rel_time_s,buffer_health_s\nx,1\n",
            "line 2: rel_time_s is 'x', not a number",
            "as published",
        ),
        ('{"player_log": [], "t0_unix_s": 1}', "has no entries", "as the player"),
    ],
)
def test_a_bad_log_is_refused_with_place_and_remedy(
    tmp_path: Path, text: str, place: str, remedy: str
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(PlayerLogError) as caught:
        read_player_log(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert place in message
    assert remedy in message
    assert "\n" not in message


def test_a_missing_or_binary_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlayerLogError, match="cannot be read"):
        read_player_log(tmp_path / "nowhere.csv")
    (tmp_path / "log.csv").write_bytes(b"\xd4\xc3\xb2\xa1\xff\x00")
    with pytest.raises(PlayerLogError, match="not a text file"):
        read_player_log(tmp_path / "log.csv")


def test_a_log_with_a_sample_now_and_then_does_not_tell_when_its_buffer_was_full(
    tmp_path: Path,
) -> None:
    log = read_player_log(written(tmp_path, "time_s,buffer_s\n0,0\n1,2\n2,4\n3,6\n30,6\n60,6\n"))
    assert log.buffer_full_s is None  # no sample in the 10 s after it may have been
