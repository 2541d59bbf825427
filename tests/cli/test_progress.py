"""Progress: nothing for short work, the time that is left for long work, nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from trafficgen.cli._progress import Progress, clear_line
from trafficgen.progress import (
    Step,
    following,
    has_listener,
    number_steps,
    report_each,
    report_step,
)


class Clock:
    """A clock that stands until it is set."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.delenv("TRAFFICGEN_PROGRESS", raising=False)
    return Clock()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("trafficgen.cli._progress._rewrites", lambda: True)
    yield
    clear_line()


def _after(progress: Progress, clock: Clock, seconds: float, step: Step) -> None:
    clock.now_s += seconds
    progress.step(step)
    progress.look()


def test_short_work_is_silent(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(clock=clock)
    for done in range(20):
        _after(progress, clock, 0.099, Step("reading", done, 20, "packets"))
    assert capsys.readouterr().err == ""


def test_a_log_gets_a_line_now_and_then_with_the_time_that_is_left(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(clock=clock)
    progress.step(Step("reading", 0, 100e6, "bytes"))
    for done in range(1, 36):
        _after(progress, clock, 1.0, Step("reading", done * 1e6, 100e6, "bytes"))
    assert capsys.readouterr().err.splitlines() == [
        "reading: 2 of 100 MB (2%), about 1 min 38 s left",
        "reading: 4 of 100 MB (4%), about 1 min 36 s left",
        "reading: 8 of 100 MB (8%), about 1 min 32 s left",
        "reading: 16 of 100 MB (16%), about 1 min 24 s left",
        "reading: 26 of 100 MB (26%), about 1 min 14 s left",
    ]


def test_a_step_that_counts_nothing_says_how_long_all_has_taken(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(clock=clock)
    _after(progress, clock, 10.0, Step("trying frames (4 of 7)"))
    assert capsys.readouterr().err == "trying frames (4 of 7): 10 s so far\n"


def test_time_that_is_left_shrinks_while_nothing_is_heard(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(clock=clock)
    progress.step(Step("fitting", 0, 10, "captures"))
    _after(progress, clock, 10.0, Step("fitting", 5, 10, "captures"))
    clock.now_s += 10.0
    progress.look()
    assert capsys.readouterr().err.splitlines() == [
        "fitting: 5 of 10 captures (50%), about 10 s left",
        "fitting: 5 of 10 captures (50%), about 1 s left",
    ]


def test_a_step_says_which_of_how_many_it_is(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(clock=clock)
    with following(progress.step), number_steps("making", "writing"):
        report_step("writing", 0, 100, unit="packets")
        clock.now_s += 10.0
        report_step("writing", 80, 100, unit="packets")
        progress.look()
    assert capsys.readouterr().err.splitlines() == [
        "step 2 of 2, writing: 80 of 100 packets (80%), about 2 s left in this step"
    ]


def test_sessions_have_their_pace(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(clock=clock)
    progress.step(Step("generating", 0, 5000, "sessions"))
    _after(progress, clock, 10.0, Step("generating", 1250, 5000, "sessions"))
    assert capsys.readouterr().err.splitlines() == [
        "generating: 1,250 of 5,000 sessions (25%), 125 sessions/s, about 30 s left"
    ]


@pytest.mark.parametrize(
    ("step", "line"),
    [
        (Step("looking for phases"), "looking for phases: 1 h 2 min so far"),
        (Step("reading", 5e6, None, "bytes"), "reading: 5 MB, 1 h 2 min so far"),
        (
            Step("simulating", 1200, None, "simulated s"),
            "simulating: 1,200 simulated s, 1 h 2 min so far",
        ),
        (Step("writing", 7, 7, "packets"), "writing: 7 of 7 packets (100%), 1 h 2 min so far"),
        (Step("writing", 0, 0, "packets"), "writing: 0 of 0 packets, 1 h 2 min so far"),
    ],
)
def test_work_without_an_end_in_sight_tells_its_time_so_far(
    clock: Clock, capsys: pytest.CaptureFixture[str], step: Step, line: str
) -> None:
    progress = Progress(clock=clock)
    progress.step(step)
    _after(progress, clock, 3725.0, step)
    assert capsys.readouterr().err == f"{line}\n"


def test_another_step_has_a_time_of_its_own(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(clock=clock)
    _after(progress, clock, 1000.0, Step("reading", 1, 2, "captures"))
    _after(progress, clock, 20.0, Step("writing", 0, 100, "packets"))
    _after(progress, clock, 20.0, Step("writing", 80, 100, "packets"))
    assert capsys.readouterr().err.splitlines()[1:] == [
        "writing: 0 of 100 packets (0%), 0 s so far",
        "writing: 80 of 100 packets (80%), about 5 s left",
    ]


@pytest.mark.usefixtures("terminal")
def test_a_terminal_gets_one_line_that_is_rewritten_and_taken_away(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(clock=clock)
    progress.step(Step("writing", 0, 100, "packets"))
    _after(progress, clock, 5.0, Step("writing", 50, 100, "packets"))
    _after(progress, clock, 0.1, Step("writing", 51, 100, "packets"))
    _after(progress, clock, 5.0, Step("writing", 99, 100, "packets"))
    shown = capsys.readouterr().err
    assert shown.count("\r") == 2
    assert "\n" not in shown
    clear_line()
    clear_line()
    assert capsys.readouterr().err == "\r\x1b[K", "once, and nothing more"


@pytest.mark.parametrize("how", ["quiet", "environment"])
def test_silence_can_be_had(
    clock: Clock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    if how == "environment":
        monkeypatch.setenv("TRAFFICGEN_PROGRESS", "0")
    with Progress(quiet=how == "quiet", clock=clock) as progress:
        _after(progress, clock, 1000.0, Step("reading", 1, 2, "captures"))
    assert capsys.readouterr().err == ""


def test_steps_of_the_library_are_followed_within_the_block_only(clock: Clock) -> None:
    progress = Progress(quiet=True, clock=clock)
    with progress:
        assert list(report_each("ab", "counting", total=2, unit="letters")) == ["a", "b"]
        assert progress._step == Step("counting", 2, 2, "letters")
        report_step("looking for phases")
        assert progress._step == Step("looking for phases")
    report_step("counting", 3)
    assert progress._step == Step("looking for phases")
    assert not has_listener()


def test_details_are_the_steps_that_count_nothing(clock: Clock) -> None:
    details: list[str] = []
    with Progress(quiet=True, clock=clock, detail=details.append):
        report_step("reading", 1, 2, unit="bytes")
        report_step("looking for phases")
    assert details == ["looking for phases"]
