"""What a source did by its requests, described for people."""

from __future__ import annotations

import pytest

from trafficgen.models import (
    Application,
    Estimate,
    PlayerPolicy,
    Rung,
    RungSwitch,
    Stall,
    describe_application,
)


def known(value: float) -> Estimate:
    return Estimate(value=value, method="given")


def rungs(*rates_kbps: float) -> tuple[Rung, ...]:
    return tuple(Rung(rate_kbps=known(rate), segments=10) for rate in rates_kbps)


def test_segments_and_player_are_described() -> None:
    application = Application(
        kind="chunked",
        connections=2,
        exchanges=24,
        segment_s=known(2.0),
        rungs=rungs(600.0, 1200.0),
        switches=(RungSwitch(time_s=4.0, from_kbps=600.0, to_kbps=1200.0),),
        audio_kbps=known(64.0),
        startup_s=known(0.7),
        buffer_target_s=known(14.0),
        stalls=(Stall(start_s=10.0, duration_s=1.5), Stall(start_s=20.0, duration_s=2.5)),
        policy=PlayerPolicy(family="bola", weight=0.934),
    )
    assert describe_application(application) == {
        "segments": "20 segments of 2 s at 600 kbit/s, 1.2 Mbit/s; 1 switch,"
        " with audio of 64 kbit/s",
        "player": "starts after 700 ms, fills its buffer to 14 s, 2 stalls of 4 s,"
        " policy bola (weight 0.93)",
    }


@pytest.mark.parametrize(
    ("stalls", "text"), [(None, "stalls not known"), ((), "no stalls")], ids=["unknown", "none"]
)
def test_what_is_not_known_is_told_from_what_was_not_there(
    stalls: tuple[Stall, ...] | None, text: str
) -> None:
    application = Application(kind="chunked", connections=1, exchanges=20, stalls=stalls)
    assert describe_application(application)["player"] == text


def test_many_rungs_are_described_by_their_ends() -> None:
    ladder = rungs(200.0, 400.0, 800.0, 1600.0, 3200.0, 6400.0)
    application = Application(kind="chunked", connections=1, exchanges=60, rungs=ladder)
    text = describe_application(application)["segments"]
    assert text == "60 segments at 6 levels from 200 kbit/s to 6.4 Mbit/s; no switches"


def test_one_long_response_is_described() -> None:
    application = Application(kind="bulk", connections=1, exchanges=1)
    assert describe_application(application) == {"requests": "bulk: 1 request over 1 connection"}
