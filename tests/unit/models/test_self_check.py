from __future__ import annotations

import pytest

from trafficgen.model_parts.estimate import PartError
from trafficgen.models import (
    Model,
    Phase,
    ProcessChoice,
    RateShares,
    Stream,
    TriedProcess,
    describe_failed_checks,
    describe_judged_parts,
)


def tried(beyond_chance: dict[str, float] | None = None) -> TriedProcess:
    return TriedProcess(
        kind="bursts",
        passed=not beyond_chance,
        score=1.0,
        distances={"gap_s": 0.9, "rate.0.5": 0.3, "rate_acf": 0.25},
        beyond_chance=beyond_chance or {},
    )


def model_of(*chosen: TriedProcess, duration_s: float = 10.0) -> Model:
    streams = tuple(
        Stream.model_construct(
            name=name,
            phases=(
                Phase.model_construct(
                    name="playout",
                    duration_s=duration_s,
                    choice=ProcessChoice(chosen=0, tried=(one,)),
                ),
            ),
        )
        for name, one in zip(("video", "audio", "audio-2"), chosen, strict=False)
    )
    return Model.model_construct(streams=streams)


def test_the_chosen_process_is_one_of_those_tried() -> None:
    with pytest.raises(PartError, match="chosen must be below"):
        ProcessChoice(chosen=1, tried=(tried(),))


def test_parts_that_pass_are_not_described() -> None:
    assert describe_failed_checks(model_of(tried(), tried())) is None


def test_a_failure_says_what_differs_most_and_by_how_much() -> None:
    model = model_of(tried(), tried({"rate.0.5": 0.2, "rate_acf": 0.1}))
    assert describe_failed_checks(model) == (
        "in 1 of 2 parts the played rate differs from the capture (audio, playout: autocorrelation"
        " of the rate off by 0.50, chance 0.20); see with compare() whether that matters"
        " to you before you rely on the model"
    )


def test_a_rate_that_differs_is_described_as_a_chart_shows_it() -> None:
    seen = {
        "silent in 28% of the 0.5 s bins, measured 46%": 0.0,
        "at most 64 kbit/s in 28% of the 0.5 s bins, measured 46%": 64e3,
    }
    for words, rate_bps in seen.items():
        where = RateShares(rate_bps=rate_bps, measured=0.456, played=0.276)
        one = tried({"rate.0.5": 0.2}).model_copy(update={"differs_at": {"rate.0.5": where}})
        assert (text := describe_failed_checks(model_of(one))) is not None
        assert f"(video, playout: {words})" in text


def test_parts_too_short_to_check_are_named() -> None:
    model = model_of(tried(), tried().model_copy(update={"distances": {"gap_s": 0.1}}))
    assert describe_judged_parts(model) == (
        "self-check passed: played rates match in 1 of 1 checked part (stream, phase); too short to"
        " check: audio in the playout"
    )
    unchecked = tried().model_copy(update={"distances": {}})
    assert describe_judged_parts(model_of(unchecked)) is None


def test_a_constant_rate_has_no_autocorrelation_to_judge() -> None:
    one = tried().model_copy(update={"distances": {"gap_s": 0.1, "rate.0.5": 0.01}})
    model = model_of(one, duration_s=60.0)
    assert describe_judged_parts(model) == (
        "self-check passed: played rates match in 1 of 1 checked part (stream, phase); constant"
        " rate, without an autocorrelation to judge: video in the playout"
    )


def test_many_failures_are_counted() -> None:
    failed = tried({"rate_acf": 0.1})
    text = describe_failed_checks(model_of(failed, failed, failed))
    assert text is not None
    assert text.startswith("in 3 of 3 parts")
    assert "; and 1 more); see with compare()" in text
