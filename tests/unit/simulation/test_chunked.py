"""The chunked player: levels that follow the path, ON and OFF, stalls, and bytes that are all
accounted for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import JsonValue

from trafficgen.models.published import load_entry, parameters_for_engine, with_settings
from trafficgen.simulation.outcome import Outcome
from trafficgen.simulation.run import run_scenario
from trafficgen.units import FloatArray

LADDER_KBPS: list[JsonValue] = [300, 750, 1200, 1850, 2850, 4300]


def _player(name: str = "player", /, **settings: JsonValue) -> dict[str, Any]:
    parameters = parameters_for_engine(
        with_settings(load_entry("chunked"), {"duration_s": 120, **settings})
    )
    routes = {"forward": [0], "reverse": [1]}
    return {"name": name, "kind": "chunked", "parameters": parameters, "awaited": True, **routes}


def _run(*players: dict[str, Any], capacity: dict[str, Any], seed: int = 1) -> Outcome:
    link = {"delay_s": 0.02, "queue": {"packets": 100}}
    links = [
        {"name": "forward", "capacity": capacity, **link},
        {"name": "reverse", "capacity": None, **link},
    ]
    return run_scenario({"seed": seed, "links": links, "agents": list(players), "end_s": 900.0})


def _constant(rate_kbps: float) -> dict[str, Any]:
    return {"constant": {"rate_bps": 1e3 * rate_kbps}}


def _events(outcome: Outcome, agent: int = 0) -> list[tuple[float, str, float | None]]:
    zero = outcome.first_media_ns or 0
    return [
        ((time_ns - zero) / 1e9, kind, value)
        for time_ns, (kind, value, _) in outcome.agents[agent]["events"]
    ]


def _samples(outcome: Outcome) -> tuple[FloatArray, FloatArray]:
    """Return encoding rate, kbps, and buffer, s, every 0.5 s from the first media packet on."""
    samples = outcome.agents[0]["samples"]
    return samples[:, 0] / 1e3, samples[:, 2]


def _columns(outcome: Outcome) -> dict[str, Any]:
    return dict(outcome.columns)


def _payload_to_client(outcome: Outcome, flow: int) -> int:
    columns = _columns(outcome)
    fresh = (columns["flow"] == flow) & columns["to_client"] & ~columns["retransmission"]
    return int(columns["payload_bytes"][fresh].sum())


@pytest.mark.parametrize("choice", ["buffer", "rate", "hybrid"])
def test_the_level_follows_the_path_down_and_up(choice: str) -> None:
    steps = {"steps": {"times_s": [0.0, 100.0, 220.0], "rates_bps": [4e6, 9e5, 4e6]}}
    player = _player(choice=choice, duration_s=360, ladder_kbps=LADDER_KBPS)
    kbps, _ = _samples(_run(player, capacity=steps))
    # The last third of each stretch: the buffer has answered by then. A level is media, the path
    # carries headers too.
    first, middle, last = (
        float(np.mean(kbps[slice(2 * start, 2 * end)]))
        for start, end in ((60, 95), (180, 215), (310, 340))
    )
    assert 300 <= middle <= 1200  # the next level above the path is tried now and then
    assert min(first, last) >= 1850


def test_behind_a_full_buffer_there_is_one_burst_a_segment_and_silence_between_them() -> None:
    outcome = _run(_player(ladder_kbps=[1000], size_sigma=0.0), capacity=_constant(20_000))
    columns = _columns(outcome)
    media = (columns["flow"] == 1) & columns["to_client"] & (columns["payload_bytes"] > 0)
    sent_s = np.sort(columns["time_ns"][media]) / 1e9
    pauses_s = np.diff(sent_s)
    pauses_s = pauses_s[pauses_s > 1.0]
    # Of 30 segments of 4 s, 8 fill 30 s (some of it is played meanwhile); then one each 4 s, which
    # takes 0.2 to 0.8 s.
    assert pauses_s.size == 22
    assert np.all((pauses_s[1:] > 3.2) & (pauses_s[1:] < 4.0))
    _, buffer_s = _samples(outcome)
    assert np.nanmax(buffer_s) <= 30.0
    kinds = [kind for _, kind, _ in _events(outcome)]
    assert kinds.count("buffer_full") == 1
    assert "stall_start" not in kinds


def test_a_path_below_the_lowest_level_halts_the_playback_again_and_again() -> None:
    events = _events(_run(_player(ladder_kbps=LADDER_KBPS), capacity=_constant(200)))
    starts_s = [time_s for time_s, kind, _ in events if kind == "stall_start"]
    ends_s = [time_s for time_s, kind, _ in events if kind == "stall_end"]
    assert len(starts_s) == len(ends_s) > 3
    assert all(start < end for start, end in zip(starts_s, ends_s, strict=True))
    halted_s = sum(ends_s) - sum(starts_s)
    played_s = (
        events[-1][0]
        - halted_s
        - next(time_s for time_s, kind, _ in events if kind == "playback_start")
    )
    assert played_s == pytest.approx(120.0, abs=1e-6)
    # Media of 300 kbps over 200 kbps, of which headers take a twentieth and more: at least half as
    # long again.
    assert events[-1][0] > 1.5 * 120


def test_a_path_with_room_for_the_top_level_is_played_at_it_without_a_halt() -> None:
    outcome = _run(_player(ladder_kbps=LADDER_KBPS), capacity=_constant(30_000))
    kbps, _ = _samples(outcome)
    assert np.all(kbps[2 * 60 : 2 * 115] == 4300)
    assert not any(kind == "stall_start" for _, kind, _ in _events(outcome))


def test_every_byte_that_was_asked_for_comes_once() -> None:
    settings: dict[str, JsonValue] = {
        "ladder_kbps": [800],
        "size_sigma": 0.0,
        "audio_kbps": 64,
        "connections": 2,
    }
    outcome = _run(_player(**settings), capacity=_constant(5_000))
    names = [flow["name"] for flow in outcome.flows]
    assert names == ["control", "video", "video", "audio"]
    segments, header = 30, 300
    video = sum(_payload_to_client(outcome, flow) for flow in (1, 2))
    assert video == segments * (800 * 125 * 4 + 2 * header)
    assert _payload_to_client(outcome, 3) == segments * (64 * 125 * 4 + header)
    assert _payload_to_client(outcome, 0) == 4000 + header
    assert outcome.under_way == 0


def test_two_players_share_a_link() -> None:
    players = [
        _player(name, ladder_kbps=LADDER_KBPS, duration_s=300) for name in ("first", "second")
    ]
    outcome = _run(*players, capacity=_constant(4_000))
    media = [number for number, flow in enumerate(outcome.flows) if flow["name"] == "media"]
    received = [
        outcome.totals([flow], start_ns=60_000_000_000, end_ns=280_000_000_000) for flow in media
    ]
    shares = np.array([one["arrived_bytes"] for one in received], dtype=float)
    assert np.all(shares / shares.sum() > 0.35)
    assert shares.sum() * 8 / 220 > 0.6 * 4e6


def test_paced_requests_are_a_share_of_a_segment_apart() -> None:
    outcome = _run(_player(ladder_kbps=[1000], pace_share=0.5), capacity=_constant(20_000))
    columns = _columns(outcome)
    asked = (columns["flow"] == 1) & ~columns["to_client"] & (columns["payload_bytes"] > 0)
    assert np.diff(np.sort(columns["time_ns"][asked]) / 1e9).min() > 1.99


def test_sizes_vary_about_the_level_and_a_seed_gives_the_same_session_again() -> None:
    outcomes = [
        _run(_player(ladder_kbps=[1000], duration_s=600), capacity=_constant(9_000), seed=seed)
        for seed in (1, 1, 2)
    ]
    payloads = [_payload_to_client(outcome, 1) for outcome in outcomes]
    assert payloads[0] == payloads[1] != payloads[2]
    # 150 segments with a standard deviation of a fifth: the mean is within 4 standard errors.
    assert payloads[0] / 150 == pytest.approx(1000 * 125 * 4, rel=4 * 0.2 / 150**0.5 + 0.001)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"ladder_kbps": [500, 400]}, "ladder_kbps"),
        ({"buffer_s": 5}, "buffer_s"),
        ({"start_s": 0.0}, "start_s"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(
    settings: dict[str, JsonValue], named: str
) -> None:
    with pytest.raises(Exception, match=named):
        _run(_player(**settings), capacity=_constant(1_000))
