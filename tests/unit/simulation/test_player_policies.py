"""Policies of adaptive players in closed loop: their rungs, steps of the path, and all media
accounted for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pydantic import JsonValue

import trafficgen
from trafficgen.errors import SettingError
from trafficgen.models.published import load_entry, parameters_for_engine, with_settings
from trafficgen.models.published.mechanisms import parameter_names
from trafficgen.simulation.outcome import Outcome
from trafficgen.simulation.run import run_scenario

LADDER_KBPS: list[JsonValue] = [300, 750, 1200, 1850, 2850, 4300]
POLICIES = ("buffer", "rate", "hybrid", "throughput", "bola", "dynamic", "mpc")
PLAYERS = ("dashjs", "exoplayer", "hlsjs", "shaka")
#: Parameters that came with the policies; a source without them plays by their defaults.
_FIRST_NEW = "policy"


def _parameters(entry: str = "chunked", /, **settings: JsonValue) -> dict[str, Any]:
    plain: dict[str, JsonValue] = {"ladder_kbps": LADDER_KBPS, "duration_s": 240, "size_sigma": 0.0}
    return parameters_for_engine(with_settings(load_entry(entry), {**plain, **settings}))


def _run(parameters: Mapping[str, Any], capacity: Mapping[str, Any], seed: int = 1) -> Outcome:
    link = {"delay_s": 0.02, "queue": {"packets": 100}}
    links = [
        {"name": "forward", "capacity": capacity, **link},
        {"name": "reverse", "capacity": None, **link},
    ]
    routes = {"forward": [0], "reverse": [1]}
    agent = {"name": "player", "kind": "chunked", "parameters": parameters, "awaited": True}
    return run_scenario({"seed": seed, "links": links, "agents": [agent | routes], "end_s": 1800.0})


def _constant(rate_kbps: float) -> dict[str, Any]:
    return {"constant": {"rate_bps": 1e3 * rate_kbps}}


def _events(outcome: Outcome) -> list[tuple[float, str, float | None]]:
    zero = outcome.first_media_ns or 0
    return [
        ((time_ns - zero) / 1e9, kind, value)
        for time_ns, (kind, value, _) in outcome.agents[0]["events"]
    ]


def _rungs_kbps(outcome: Outcome) -> list[float]:
    return [value or 0.0 for _, kind, value in _events(outcome) if kind == "rung_kbps"]


def _times(outcome: Outcome, kind: str) -> list[float]:
    return [time_s for time_s, found, _ in _events(outcome) if found == kind]


def _payload(outcome: Outcome) -> dict[str, list[int]]:
    """Return the bytes that came over each connection once, by the name of its flow."""
    columns: dict[str, Any] = dict(outcome.columns)
    found: dict[str, list[int]] = {}
    for number, flow in enumerate(outcome.flows):
        fresh = (columns["flow"] == number) & columns["to_client"] & ~columns["retransmission"]
        found.setdefault(flow["name"], []).append(int(columns["payload_bytes"][fresh].sum()))
    return found


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policy_settles_at_what_the_path_carries(policy: str) -> None:
    outcome = _run(_parameters(policy=policy), _constant(2400))
    settled = _rungs_kbps(outcome)[20:]
    # The second segment may come late: TCP starts slowly, and there is one segment to play.
    assert not [time_s for time_s in _times(outcome, "stall_start") if time_s > 20]
    # 2400 kbit/s less headers carry 1850; by the buffer alone the next rung is tried in turn.
    assert 1500 <= np.mean(settled) <= 2400
    assert set(settled) <= {1200, 1850, 2850}
    if policy in ("throughput", "rate"):
        assert set(settled) == {1850}


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy != "rate"])
def test_a_step_down_is_met_before_the_buffer_is_empty(policy: str) -> None:
    steps = {"steps": {"times_s": [0.0, 100.0], "rates_bps": [6e6, 1.1e6]}}
    outcome = _run(_parameters(policy=policy, buffer_target_s=26), steps)
    assert not _times(outcome, "stall_start")
    rungs = _rungs_kbps(outcome)
    assert max(rungs[:25]) == 4300
    # What is above the path's rate is paid for by the buffer.
    assert np.mean(rungs[-15:]) <= 1200


@pytest.mark.parametrize("policy", ["throughput", "bola", "dynamic", "mpc", "fixed"])
@pytest.mark.parametrize("rate_kbps", [250, 900, 6000])
def test_media_that_came_was_played_or_is_in_the_buffer(policy: str, rate_kbps: float) -> None:
    settings: dict[str, JsonValue] = {"duration_s": 80, "size_sigma": 0.2, "fixed_kbps": 750}
    outcome = _run(_parameters(policy=policy, **settings), _constant(rate_kbps))
    (start_s,), (end_s,) = _times(outcome, "playback_start"), _times(outcome, "end")
    stalls = list(zip(_times(outcome, "stall_start"), _times(outcome, "stall_end"), strict=True))
    stalled_s = sum(end - start for start, end in stalls)
    assert end_s - start_s == pytest.approx(80 + stalled_s, abs=1e-6)
    assert bool(stalls) == (rate_kbps < 300 or (policy == "fixed" and rate_kbps < 800))
    assert len(_rungs_kbps(outcome)) == 20
    # Played and in the buffer are whole segments at any time.
    buffer_s = outcome.agents[0]["samples"][:, 2]
    before = 0.0
    for number, held_s in enumerate(buffer_s):
        time_s = 0.5 * number
        halted_s = sum(min(max(time_s - start, 0.0), end - start) for start, end in stalls)
        if start_s < time_s < end_s:
            segments = (held_s + time_s - start_s - halted_s) / 4.0
            assert segments == pytest.approx(round(segments), abs=1e-6)
            assert before <= round(segments) <= 20
            before = round(segments)


def test_audio_by_its_own_clock_comes_once_and_holds_the_playback() -> None:
    settings: dict[str, JsonValue] = {
        "audio_kbps": 96,
        "audio_order": "apart",
        "audio_segment_s": 1.5,
        "ladder_kbps": [800],
        "duration_s": 60,
    }
    outcome = _run(_parameters(**settings), _constant(4000))
    payload = _payload(outcome)
    assert payload["video"] == [15 * (800 * 125 * 4 + 300)]
    assert payload["audio"] == [40 * (96 * 125 * 1.5 + 300)]
    # With a full buffer each medium is asked for once a segment of its own.
    columns: dict[str, Any] = dict(outcome.columns)
    asks = ~columns["to_client"] & (columns["payload_bytes"] > 0)
    spacing_s = {
        name: np.diff(columns["time_ns"][asks & (columns["flow"] == number)] / 1e9)[-5:]
        for number, name in ((1, "video"), (2, "audio"))
    }
    assert spacing_s["video"] == pytest.approx(4.0, abs=0.01)
    assert spacing_s["audio"] == pytest.approx(1.5, abs=0.01)
    (start_s,), (end_s,) = _times(outcome, "playback_start"), _times(outcome, "end")
    assert end_s - start_s == pytest.approx(60.0, abs=1e-6)


@pytest.mark.parametrize(
    "settings",
    [
        # BOLA of dash.js waits where its rung is worth less than playback needs to start.
        {"policy": "bola", "bola_form": "dashjs", "start_s": 24, "start_kbps": 300},
        {"policy": "bola", "bola_form": "dashjs", "resume_s": 24, "start_kbps": 4300},
        # A segment of the audio is much longer than one of the video.
        {"segment_s": 1, "buffer_target_s": 3, "start_s": 3, "resume_s": 3, "audio_segment_s": 2.5},
    ],
)
def test_a_player_that_waits_for_its_buffer_is_not_stuck(settings: dict[str, JsonValue]) -> None:
    plain: dict[str, JsonValue] = {
        "audio_kbps": 64,
        "audio_order": "apart",
        "buffer_target_s": 24,
        "duration_s": 60,
    }
    outcome = _run(_parameters(**{**plain, **settings}), _constant(900))
    (start_s,), (end_s,) = _times(outcome, "playback_start"), _times(outcome, "end")
    assert start_s < 30
    assert end_s < 200


def test_requests_in_turn_share_the_connections() -> None:
    settings: dict[str, JsonValue] = {
        "audio_kbps": 96,
        "audio_order": "in_turn",
        "audio_segment_s": 2,
        "connections": 2,
        "connection_use": "turns",
        "ladder_kbps": [800],
        "duration_s": 60,
    }
    outcome = _run(_parameters(**settings), _constant(4000))
    payload = _payload(outcome)
    assert len(payload["media"]) == 2
    video, audio = 15 * (800 * 125 * 4 + 300), 30 * (96 * 125 * 2 + 300)
    assert sum(payload["media"]) == video + audio
    assert min(payload["media"]) > 0
    # One request is answered before the next is sent.
    columns: dict[str, Any] = dict(outcome.columns)
    media = np.isin(columns["flow"], (1, 2)) & (columns["payload_bytes"] > 0)
    turns = columns["to_client"][media]
    assert np.count_nonzero(~turns) == np.count_nonzero(turns[1:] & ~turns[:-1]) == 45


def test_sizes_are_the_rung_times_the_content() -> None:
    factors: list[JsonValue] = [0.5, 1.5, 1.0]
    parameters = _parameters(content_factors=factors, ladder_kbps=[1000], duration_s=48)
    segments = _payload(_run(parameters, _constant(5000)))["media"][0] - 12 * 300
    assert segments == 1000 * 125 * 4 * 12


@pytest.mark.parametrize("policy", [None, "throughput", "bola", "dynamic", "mpc", "fixed"])
def test_a_source_without_the_newer_parameters_plays_by_their_defaults(policy: str | None) -> None:
    whole = _parameters(policy=policy, duration_s=60, start_kbps=None)
    names = parameter_names("chunked")
    newer = set(names[names.index(_FIRST_NEW) + 1 :])
    bare = {name: value for name, value in whole.items() if name not in newer}
    assert len(bare) < len(whole) - 30
    first, second = (dict(_run(one, _constant(1500)).columns) for one in (whole, bare))
    assert all(np.array_equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("player", PLAYERS)
@pytest.mark.parametrize(
    ("rate", "stalls"), [("1200kbps", False), ("3Mbps", False), ("250kbps", True)]
)
def test_players_of_the_catalogue_play_to_the_end(player: str, rate: str, stalls: bool) -> None:
    result = trafficgen.simulate(player, path=f"rate={rate},delay=25ms", seed=3)
    seen = result.events.playback(result.end_s)
    assert seen is not None
    assert seen.startup_s is not None
    assert (seen.stalls > 0) == stalls
    assert seen.mean_rung_kbps <= 2000
    session: Any = result.to_json()["session"]
    assert session["player"]["mean_rung_kbps"] == seen.mean_rung_kbps


def test_the_buffers_are_those_of_the_players() -> None:
    held_s = {
        player: np.nanmax(
            trafficgen.simulate(player, path="rate=30Mbps,delay=10ms").series["buffer_s"]
        )
        for player in PLAYERS
    }
    # A segment beyond the target, less the time it takes; 60 MB of 4.3 Mbit/s are 111.6 s.
    assert held_s["shaka"] == pytest.approx(14, abs=1.2)
    assert held_s["dashjs"] == pytest.approx(34, abs=1.2)
    assert held_s["exoplayer"] == pytest.approx(54, abs=1.2)
    assert held_s["hlsjs"] == pytest.approx(115.6, abs=1.2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"policy": "bolla"}, r"not one of buffer, .*did you mean bola"),
        ({"polcy": "bola"}, r"did you mean policy"),
        ({"buffer_target": 8}, r"did you mean buffer_target_s"),
        ({"buffer_target_s": 3}, r"buffer_target_s must be at least 8"),
        ({"policy": "mpc", "mpc_horizon_segments": 9}, r"mpc_horizon_segments must be from 1 to 8"),
        ({"audio_kbps": 64, "audio_segment_s": 2}, r"set audio_order to apart or in_turn"),
        ({"throughput_share": 0}, r"throughput_share must be above 0"),
    ],
)
def test_wrong_settings_say_what_to_write(settings: dict[str, JsonValue], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        trafficgen.simulate("chunked", path="rate=1Mbps", settings=settings)


def test_a_policy_and_a_buffer_are_set_by_name() -> None:
    settings: dict[str, JsonValue] = {"policy": "bola", "buffer_target_s": 8}
    result = trafficgen.simulate("chunked", path="rate=3Mbps,delay=20ms", settings=settings)
    assert np.nanmax(result.series["buffer_s"]) <= 12
    assert len({kbps for _, kbps in result.events.encodings}) > 1
