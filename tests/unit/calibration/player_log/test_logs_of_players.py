"""Logs of dash.js, hls.js and Shaka: recorded ones say what was seen, damaged ones say where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from trafficgen.calibration.player_log.events import PlayerLog
from trafficgen.calibration.player_log.log_files import read_player_log
from trafficgen.errors import PlayerLogError

#: dash.js 5.2.1, hls.js 1.7.4 and Shaka 5.2.12 in Chromium, whose path fell from 1.8 Mbit/s to
#: 300 kbit/s and rose to 1.5 Mbit/s, and what the page saw of the video element beside their logs.
RECORDED = Path(__file__).parent / "recorded"
PLAYERS = ("dash.js", "hls.js", "shaka")
UNIX_MS = 1_700_000_000_000


def recorded(player: str) -> tuple[PlayerLog, dict[str, Any], float]:
    """Return a log, what the page saw, and the log's zero on its clock, s."""
    stem = player.replace(".", "_")
    truth = json.loads((RECORDED / f"{stem}.truth.json").read_text(encoding="utf-8"))
    log = read_player_log(RECORDED / f"{stem}.json")
    assert log.zero_unix_s is not None
    return log, truth, log.zero_unix_s - truth["t0_unix_s"]


def read(folder: Path, document: object) -> PlayerLog:
    (folder / "log.json").write_text(json.dumps(document), encoding="utf-8")
    return read_player_log(folder / "log.json")


@pytest.mark.parametrize("player", PLAYERS)
def test_a_recorded_log_says_when_playback_started_and_stalled(player: str) -> None:
    log, truth, zero_s = recorded(player)
    assert log.form == player
    assert log.playback_start_s is not None
    assert log.playback_start_s + zero_s == pytest.approx(truth["playback_start_s"], abs=0.05)
    stalls = [(stall.start_s + zero_s, stall.duration_s) for stall in log.stalls]
    assert len(stalls) == len(truth["stalls"])
    for found, seen in zip(stalls, truth["stalls"], strict=True):
        assert found == pytest.approx(tuple(seen), abs=0.05)


@pytest.mark.parametrize("player", ["dash.js", "hls.js"])
def test_a_recorded_log_says_which_levels_were_shown(player: str) -> None:
    log, truth, zero_s = recorded(player)
    found = list(zip((log.level_time_s + zero_s).tolist(), log.levels, strict=True))
    for (time_s, level), (seen_s, kbps) in zip(found, truth["levels"], strict=True):
        assert time_s == pytest.approx(seen_s, abs=0.05)
        assert level == pytest.approx(kbps, abs=1)


def test_shaka_says_the_rates_of_its_variants() -> None:
    log, _, _ = recorded("shaka")
    assert [round(float(level)) for level in log.levels] == [1075, 569, 1075, 317]


@pytest.mark.parametrize("player", PLAYERS)
def test_a_recorded_log_says_what_the_buffer_held(player: str) -> None:
    log, truth, zero_s = recorded(player)
    time_s, buffer_s = np.array(truth["buffer"]).T
    # hls.js says it once a segment: a segment of 2 s may have been played since.
    most_s = 2.1 if player == "hls.js" else 0.1
    found_s = np.interp(time_s, log.sample_time_s + zero_s, log.buffer_s)
    assert np.median(np.abs(found_s - buffer_s)) < most_s


def test_lists_of_metrics_of_dash_js_are_read_with_played_stretches(tmp_path: Path) -> None:
    trace = [
        {"representationid": "v1", "start": UNIX_MS + 1000, "duration": 4000, "stopreason": "x"},
        {
            **{"representationid": "v2", "start": UNIX_MS + 5000, "duration": 3000},
            "stopreason": "rebuffering",
        },
        {"representationid": "v2", "start": UNIX_MS + 9500, "duration": 500, "stopreason": None},
    ]
    lists = {
        "BufferLevel": [{"t": UNIX_MS, "level": 0}, {"t": UNIX_MS + 2000, "level": 2500}],
        "RepSwitchList": [{"t": UNIX_MS, "to": "v1"}],
        "HttpList": [],
    }
    for document in (
        {"video": lists, "stream": {"PlayList": [{"trace": trace}]}},
        {**lists, "PlayList": [{"trace": trace}]},
    ):
        log = read(tmp_path, document)
        assert (log.form, log.playback_start_s) == ("dash.js", 1)
        assert [(stall.start_s, stall.duration_s) for stall in log.stalls] == [(8, 1.5)]
        assert log.levels == ("v1", "v2", "v2")
        assert log.buffer_s.tolist() == [0, 2.5]


def test_without_shown_levels_those_of_dash_js_are_the_requested(tmp_path: Path) -> None:
    events = [
        {"metric": "RepSwitchList", "mediaType": "video", "value": {"t": UNIX_MS, "to": 1}},
        {"metric": "RepSwitchList", "mediaType": "audio", "value": {"t": UNIX_MS, "to": "a"}},
        {"metric": "BufferState", "mediaType": "video", "value": {"state": "bufferLoaded"}},
    ]
    log = read(
        tmp_path, {"metrics": events, "representations": [{"qualityIndex": 1, "bitrate": 700_000}]}
    )
    assert log.levels == (700.0,)
    assert log.playback_start_s == 0


def test_the_lower_of_the_buffers_of_video_and_audio_counts(tmp_path: Path) -> None:
    events = [
        {"metric": "BufferLevel", "mediaType": medium, "value": {"t": UNIX_MS + at, "level": level}}
        for medium, at, level in (("video", 0, 4000), ("audio", 10, 1500), ("video", 20, 6000))
    ]
    assert read(tmp_path, events).buffer_s.tolist() == [4, 1.5, 1.5]


def test_events_of_hls_js_say_stalls_without_those_of_the_video(tmp_path: Path) -> None:
    events = [
        {"t": UNIX_MS, "event": "hlsManifestParsed", "levels": [{"bitrate": 400_000}]},
        {"t": UNIX_MS + 500, "event": "hlsLevelSwitched", "level": 0},
        {"t": UNIX_MS + 600, "event": "playing", "currentTime": 0},
        {
            **{"t": UNIX_MS + 9000, "event": "hlsError", "details": "bufferStalledError"},
            "currentTime": 6.0,
        },
        {"t": UNIX_MS + 9500, "event": "hlsFragChanged", "currentTime": 6.0},
        {"t": UNIX_MS + 9900, "event": "hlsFragChanged", "currentTime": 6.2},
        {
            "t": UNIX_MS + 9950,
            "event": "hlsFragBuffered",
            "frag": {"start": 8, "duration": 4},
            "currentTime": 6.25,
        },
    ]
    log = read(tmp_path, {"log": events})
    assert log.form == "hls.js"
    assert log.levels == (400.0,)
    (stall,) = log.stalls
    assert (stall.start_s, stall.duration_s) == pytest.approx((8.5, 0.9))
    assert log.buffer_s.tolist() == [5.75]


def test_metrics_of_the_demo_page_of_hls_js_count_from_its_start(tmp_path: Path) -> None:
    document = {
        "t0": 812.4,
        "load": [{"type": "main fragment", "id": 0, "time": 10, "size": 1000}],
        "buffer": [{"time": 0, "buffer": 0, "pos": 0}, {"time": 2000, "buffer": 3500, "pos": 900}],
        "video": [
            {"time": 1100, "type": "playing"},
            {"time": 1200, "type": "level switched", "name": 2},
        ],
    }
    log = read(tmp_path, document)
    assert (log.form, log.zero_unix_s, log.playback_start_s) == ("hls.js", None, 1.1)
    assert log.levels == ("2",)
    assert log.position_s.tolist() == [0, 4.4]


def test_statistics_of_shaka_alone_are_a_log(tmp_path: Path) -> None:
    document = {
        "playTime": 8.5,
        "switchHistory": [
            {"timestamp": 1.7e9, "id": 4, "type": "variant", "bandwidth": 800_000},
            {"timestamp": 1.7e9, "id": 9, "type": "text", "bandwidth": None},
        ],
        "stateHistory": [
            {"timestamp": 1.7e9, "state": "buffering", "duration": 1.5},
            {"timestamp": 1.7e9 + 1.5, "state": "playing", "duration": 6},
            {"timestamp": 1.7e9 + 7.5, "state": "buffering", "duration": 2},
            {"timestamp": 1.7e9 + 9.5, "state": "playing", "duration": 2.5},
        ],
    }
    log = read(tmp_path, document)
    assert (log.form, log.playback_start_s, log.levels, log.end_s) == ("shaka", 1.5, (800.0,), 12)
    assert [(stall.start_s, stall.duration_s) for stall in log.stalls] == [(7.5, 2)]


@pytest.mark.parametrize(
    ("document", "parts"),
    [
        ([{"metric": "BufferLevel", "value": {"t": "soon", "level": 3}}], ["entries[0].value: t"]),
        (
            [{"type": "playbackPlaying", "t": UNIX_MS}, {"type": "playbackWaiting"}],
            ["entries[1]: t is missing", "give the log as the player wrote it"],
        ),
        ({"BufferLevel": [{"t": UNIX_MS, "level": "much"}]}, ["BufferLevel[0]: level is 'much'"]),
        ({"BufferLevel": [7]}, ["BufferLevel[0] is 7"]),
        ([{"event": "hlsLevelSwitched", "t": 5e14, "level": 1}], ["entries[0]: t", "Date.now()"]),
        ([{"event": "hlsLevelSwitched", "t": UNIX_MS}], ["entries[0]: level is missing"]),
        ([{"event": "hlsFragLoaded", "t": UNIX_MS}], ["no entries of hls.js"]),
        ({"stateHistory": [{"state": "playing"}]}, ["stateHistory[0]: timestamp is missing"]),
        (
            {"stats": {"switchHistory": [{"timestamp": 0, "type": "variant", "bandwidth": -1}]}},
            ["stats.switchHistory[0]: bandwidth is -1"],
        ),
        ({"stats": 5}, ["no entries of shaka"]),
        ({"load": [], "buffer": [], "video": []}, ["empty metrics of hls.js"]),
    ],
)
def test_what_no_player_writes_is_refused_with_its_place(
    tmp_path: Path, document: object, parts: list[str]
) -> None:
    with pytest.raises(PlayerLogError) as caught:
        read(tmp_path, document)
    for part in parts:
        assert part in str(caught.value)
