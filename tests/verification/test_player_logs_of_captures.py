"""Captures with the log of their player: what the log says is found, and the packets alone agree
with it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import trafficgen

CaptureFinder = Callable[[str], Path]


def fitted(shared_capture: CaptureFinder, capture: str, log: str | None = None) -> Any:
    player_log = None if log is None else shared_capture(log)
    return trafficgen.fit(str(shared_capture(capture)), player_log=player_log).to_json()


@pytest.mark.slow
def test_hls_levels_and_the_full_buffer_come_from_the_log(shared_capture: CaptureFinder) -> None:
    found = fitted(shared_capture, "lab/hls_cubic-src.pcap", "lab/hls_cubic.json")
    # three switches shown: 400>730, 730>1390, 1390>730; 20 s of buffer are reached 41 s after the
    # first media packet
    assert (found["levels"]["kbps"], found["levels"]["switches"]) == ([400, 730, 1390], 3)
    assert found["phases"]["buffering"]["anchor"] == "buffer_full"
    assert found["phases"]["buffering"]["end_s"] == pytest.approx(41, abs=1)
    assert found["player_log"]["clock"] == "unix"


@pytest.mark.slow
def test_rtsp_stalls_come_from_the_log_and_an_even_source_has_no_buffering(
    shared_capture: CaptureFinder,
) -> None:
    found = fitted(shared_capture, "lab/rtsp_vlc_reno-dst.pcap", "lab/rtsp_vlc_reno.json")
    assert found["phases"]["buffering"] is None
    assert [stall["duration_s"] for stall in found["phases"]["stalls"]] == [0.84, 0.524]
    assert found["measures"]["play_s"] < 0
    # playing at 5.06 s, first media packet after PLAY
    assert 0 < found["measures"]["playback_delay_s"] < 5


@pytest.mark.slow
def test_the_end_of_a_throttled_servers_burst_is_found_at_both_ends(
    shared_capture: CaptureFinder,
) -> None:
    for side in ("src", "dst"):
        buffering = fitted(shared_capture, f"lab/http_throttled-{side}.pcap")["phases"]["buffering"]
        # 500 kB at 2500 kbit/s, the rest at 110 kB/s: the allowance 500 + 110 t meets 312 t at 2.5
        # s
        assert buffering["low"] <= 2.5 <= buffering["high"]


@pytest.mark.slow
def test_packets_alone_end_buffering_where_the_player_says_its_buffer_is_full(
    shared_capture: CaptureFinder,
) -> None:
    capture = "streaming/requet_A_baseline_Mar22_exp_41.pcap"
    alone = fitted(shared_capture, capture)["phases"]["buffering"]
    anchored = fitted(shared_capture, capture, "traces/requet_A_baseline_Mar22_exp_41_playback.csv")
    assert anchored["phases"]["buffering"]["anchor"] == "buffer_full"
    assert alone["low"] <= anchored["phases"]["buffering"]["end_s"] <= alone["high"]
    assert alone["end_s"] == pytest.approx(anchored["phases"]["buffering"]["end_s"], rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("session", ["dash_steps", "hls_cubic"])
def test_a_log_decides_the_stalls_of_a_fitted_player(
    shared_capture: CaptureFinder, session: str
) -> None:
    found = fitted(shared_capture, f"lab/{session}-dst.pcap", f"lab/{session}.json")
    assert found["application"]["stalls"] == []
    assert found["application"]["policy"] is not None
