"""What takes seconds tells how far it is: reports, plots, and work in other processes."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import trafficgen
from trafficgen.worker_processes import report_results

CAPTURE = "examples/captures/http_burst_then_paced.pcap.gz"


@pytest.fixture(scope="module")
def fitted() -> trafficgen.Fit:
    return trafficgen.fit(CAPTURE)


def _hear(work: Callable[[], object]) -> list[trafficgen.Step]:
    steps: list[trafficgen.Step] = []
    with trafficgen.following(steps.append):
        work()
    return steps


@pytest.mark.parametrize("save", ["report", "plots"])
def test_each_chart_is_news(fitted: trafficgen.Fit, tmp_path: Path, save: str) -> None:
    if save == "report":
        steps = _hear(lambda: trafficgen.save_report(fitted, tmp_path / "fit.html"))
    else:
        steps = _hear(lambda: trafficgen.save_plots(fitted, tmp_path, formats=["svg", "png"]))
    counted = [step for step in steps if step.unit]
    assert steps[0].what == "preparing charts"
    assert [step.done for step in counted] == list(range(len(counted)))
    assert {step.total for step in counted} == {len(counted) - 1}
    charts = len(list(tmp_path.iterdir())) if save == "plots" else len(counted) - 1
    assert counted[-1].done == charts > 5


@pytest.mark.parametrize("workers", [1, 2])
def test_populations_count_captures(workers: int) -> None:
    steps = _hear(lambda: trafficgen.fit_population([CAPTURE] * 2, workers=workers))
    counted = [step for step in steps if step.unit == "captures"]
    assert (counted[0].done, counted[-1].done, counted[-1].total) == (0, 2, 2)
    assert [step.done for step in counted] == sorted(step.done for step in counted)


def test_work_elsewhere_is_heard_of_each_second_and_counted_in_any_order() -> None:
    heard: list[tuple[float, float]] = []
    began_s = time.monotonic()

    def listen(step: trafficgen.Step) -> None:
        heard.append((time.monotonic() - began_s, step.done))

    def work(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    with ThreadPoolExecutor(3) as pool, trafficgen.following(listen):
        futures = [pool.submit(work, seconds) for seconds in (2.5, 0.2, 0.1)]
        assert list(report_results(futures, "waiting", unit="naps")) == [2.5, 0.2, 0.1]
    times_s = [0.0, *(at_s for at_s, _ in heard)]
    assert max(later - earlier for earlier, later in itertools.pairwise(times_s)) < 2
    assert [done for at_s, done in heard if at_s < 2][-1] == 2
    assert heard[-1][1] == 3


def test_thousands_of_results_take_time_in_proportion() -> None:
    asked = 0

    class Counted(Future[int]):
        def done(self) -> bool:
            nonlocal asked
            asked += 1
            return super().done()

    futures: list[Future[int]] = [Counted() for _ in range(3000)]
    for number, future in enumerate(futures):
        future.set_result(number)
    assert list(report_results(futures, "counting", unit="numbers")) == list(range(3000))
    assert asked < 10 * 3000
