from __future__ import annotations

from trafficgen.models import (
    Model,
    Phase,
    ProcessChoice,
    Stream,
    TriedProcess,
    describe_failed_checks,
)


def tried(beyond_chance: dict[str, float] | None = None) -> TriedProcess:
    return TriedProcess(
        kind="bursts",
        passed=not beyond_chance,
        score=1.0,
        distances={"gap_s": 0.9, "rate.0.5": 0.3, "rate_acf": 0.25},
        beyond_chance=beyond_chance or {},
    )


def model_of(*chosen: TriedProcess) -> Model:
    phases = tuple(
        Phase.model_construct(name="playout", choice=ProcessChoice(chosen=0, tried=(one,)))
        for one in chosen
    )
    return Model.model_construct(streams=(Stream.model_construct(name="video", phases=phases),))


def test_parts_that_pass_are_not_described() -> None:
    assert describe_failed_checks(model_of(tried(), tried())) is None


def test_a_failure_says_what_differs_most_and_by_how_much() -> None:
    model = model_of(tried(), tried({"rate.0.5": 0.2, "rate_acf": 0.1}))
    assert describe_failed_checks(model) == (
        "in 1 of 2 parts the played rate differs from the capture (video, playout: autocorrelation"
        " of the rate off by 0.50, chance 0.20)"
    )


def test_many_failures_are_counted() -> None:
    failed = tried({"rate_acf": 0.1})
    text = describe_failed_checks(model_of(failed, failed, failed))
    assert text is not None
    assert text.startswith("in 3 of 3 parts")
    assert text.endswith("; and 1 more)")
