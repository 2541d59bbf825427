"""What a source did by its requests, described for people."""

from __future__ import annotations

import math

import numpy as np
import pytest

from trafficgen.models import (
    Application,
    Estimate,
    PlayerPolicy,
    Rung,
    RungSwitch,
    Stall,
    complete_ladder,
    describe_application,
    estimate_ladder,
)
from trafficgen.models.application import predict_step, usual_step


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


def test_a_rung_of_few_segments_lies_between_its_neighbours() -> None:
    true, counts = np.array([300.0, 600.0, 1200.0, 2000.0]), np.array([3, 1, 9, 40])
    clock = Estimate(value=2.0, low=2.0, high=2.0, method="test")
    off = []
    for seed in range(200):
        errors = 0.2 / np.sqrt(counts)
        rates = true * np.exp(np.random.default_rng(seed).normal(0, errors))
        rungs = [
            Rung(
                rate_kbps=Estimate(
                    value=rate,
                    low=rate * (1 - 2 * error),
                    high=rate * (1 + 2 * error),
                    method="test",
                ),
                segments=count,
            )
            for rate, error, count in zip(
                rates.tolist(), errors.tolist(), counts.tolist(), strict=True
            )
        ]
        off.append(np.log(estimate_ladder(rungs, clock) / true))
    # By its one segment alone, 600 kbit/s is off by 0.2; what many segments say stays.
    spread = np.std(off, axis=0)
    assert spread[1] < 0.15
    assert spread[3] < 1.1 * 0.2 / np.sqrt(40)


def test_rungs_that_are_sure_or_far_from_others_stay() -> None:
    def rungs_of(error: float, *rates: float) -> list[Rung]:
        return [
            Rung(
                rate_kbps=Estimate(
                    value=rate, low=rate * (1 - error), high=rate * (1 + error), method="test"
                ),
                segments=2,
            )
            for rate in rates
        ]

    clock = Estimate(value=2.0, low=1.6, high=2.4, method="test")
    # An error of the clock is that of all rungs.
    assert estimate_ladder(rungs_of(0.2, 300, 700, 1200), clock) == pytest.approx(
        [300, 700, 1200], rel=1e-3
    )
    # Three rungs between the first ones were not visited: steps are even as they are.
    assert estimate_ladder(rungs_of(0.5, 200, 3200, 6400), clock) == pytest.approx(
        [200, 3200, 6400], rel=0.02
    )


def test_no_rung_is_added_that_the_path_had_room_for() -> None:
    # A player within 0.85 of 3500 kbit/s would have visited what is below 2975.
    beside = complete_ladder([900, 1796], 3500, most_above=2, likely_kbps=2435)
    assert min(kbps for kbps in beside if kbps > 1796) > 2975
    # Where a player is likely to be, and the step below, agree nearly: the rung is between.
    (near, _) = complete_ladder([900, 1796], 3500, most_above=2, likely_kbps=3400)[2:]
    (even, _) = complete_ladder([900, 1796], 3500, most_above=2)[2:]
    assert even < near < 3400


#: Ladders of video, kbit/s, as they were published: Apple's HLS Authoring Specification, Netflix
#: (2015), Pensieve, Yin and others (2015), DASH Industry Forum (Big Buck Bunny), Bitmovin, Amazon
#: Elastic Transcoder, Microsoft Smooth Streaming (Akhshabi and others 2011), Twitch.
PUBLISHED: dict[str, list[float]] = {
    "apple": [145, 365, 730, 1100, 2000, 3000, 4500, 6000, 7800],
    "netflix": [235, 375, 560, 750, 1050, 1750, 2350, 3000, 4300, 5800],
    "pensieve": [300, 750, 1200, 1850, 2850, 4300],
    "yin": [350, 600, 1000, 2000, 3000],
    "dash-if": [200, 400, 600, 800, 1000, 1500, 2500, 4000, 8000, 12_000],
    "bitmovin": [400, 800, 1200, 2400, 4800],
    "amazon": [400, 600, 1000, 1500, 2000],
    "microsoft": [350, 470, 630, 845, 1130, 1520, 2040, 2750],
    "twitch": [230, 630, 1430, 2370, 3420, 6000],
}


def test_next_rungs_are_those_of_published_ladders() -> None:
    off, spreads = [], []
    for ladder in PUBLISHED.values():
        for place in range(2, len(ladder)):
            step, spread = predict_step(ladder[:place])
            off.append(step - math.log(ladder[place] / ladder[place - 1]))
            spreads.append(spread)
    # Steps get shorter up the ladder: means of those below are 0.07 too long, 0.16 off.
    assert abs(np.mean(off)) < 0.03
    assert np.sqrt(np.mean(np.square(off))) < 0.135
    assert np.mean(np.abs(off) < 2 * np.array(spreads)) > 0.9


def test_usual_steps_are_those_of_published_ladders() -> None:
    steps, rates, weights = [], [], []
    for ladder in PUBLISHED.values():
        steps += np.diff(np.log(ladder)).tolist()
        rates += ladder[:-1]
        weights += [(len(ladder) - 1) ** -0.5] * (len(ladder) - 1)
    slope, intercept = np.polyfit(np.log(np.array(rates) / 1000), steps, 1, w=weights)
    for kbps in (200, 1000, 8000):
        assert usual_step(kbps) == pytest.approx(
            intercept + slope * math.log(kbps / 1000), abs=0.02
        )


def test_a_ladder_ends_where_a_rung_that_the_path_had_room_for_was_not_taken() -> None:
    # Ladders of two rungs are rarer than steps that are a little longer than usual.
    *visited, above_kbps = complete_ladder([270, 512], 1095, most_above=1)
    assert visited == [270, 512]
    assert 0.85 * 1095 < above_kbps < 2 * 512
    assert complete_ladder([270, 512], 1500, most_above=1) == visited
    # A little room more than the usual share of it may be that of another player.
    assert len(complete_ladder([171, 262, 392], 846, most_above=1)) == 4


def test_ladders_go_on_as_they_are() -> None:
    step = 1.6
    even = [200 * step**place for place in range(5)]
    for likely_kbps in (None, 1.8 * even[3]):
        added = complete_ladder(even[:4], 1000, most_above=1, likely_kbps=likely_kbps)[-1]
        assert added == pytest.approx(even[4], rel=0.05)
    # One rung says nothing of steps.
    assert complete_ladder([1000], 500, most_above=1)[1] == pytest.approx(1000 * math.exp(0.48))
