"""Paths that change over time in a line, and the path that a capture was taken on."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

import pytest
from tests.unit.generation.conftest import captured_model, phase, renewal, stream

import trafficgen
from trafficgen.errors import SimulationError
from trafficgen.models import CapacityStep, DelayRange, Estimate, Model
from trafficgen.simulation.path import read_path

pytestmark = pytest.mark.filterwarnings("ignore:by_hand")


def estimate(value: float) -> Estimate:
    return Estimate(value=value, method="by hand")


def captured(**conditions: Any) -> Model:
    """Return a model of 340 kbit/s whose capture had such a path, with a silence of 2 s."""
    phases = (phase("playout", 0.0, 60.0, renewal(mean_s=0.025)),)
    return captured_model(stream(phases=phases), **conditions)


def path_of(model: Model, path: str = "recorded") -> trafficgen.Path:
    return trafficgen.Path.model_validate(trafficgen.simulate(model, path=path).notes["path"])


def test_steps_of_a_line_are_those_of_a_file(tmp_path: FilePath) -> None:
    trace = tmp_path / "steps.csv"
    trace.write_text("time_s,rate\n0,2Mbps\n10,200kbps\n20,2Mbps\n", encoding="ascii")
    results = [
        trafficgen.simulate("cbr", path=f"{capacity},delay=20ms,queue=20p", duration_s=30, seed=3)
        for capacity in ("steps=0s:2Mbps/10s:200kbps/20s:2Mbps", f"trace={trace}")
    ]
    one, other = (result.packets().packets for result in results)
    assert one.equals(other)
    assert results[0].flows[0].measure.loss > 0.1  # 340 kbit/s over 200 kbit/s for 10 s


def test_steps_are_written_as_they_are_read() -> None:
    path = trafficgen.Path.parse("steps=0s:2Mbps/1.5s:0bps/30s:500kbps,delay=20ms")
    assert path.links[0].steps == ((0.0, 2e6), (1.5, 0.0), (30.0, 5e5))
    assert trafficgen.Path.parse(path.text()) == path


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("steps=2Mbps", "steps=2Mbps: not understood; write times and the rate"),
        ("steps=0s:2Mbps/5", "not understood; write times and the rate"),
        ("steps=1s:2Mbps", "steps begin at 1 s; begin them at 0s"),
        ("steps=0s:2Mbps/5s:1Mbps/5s:2Mbps", "steps must ascend, up to 1e+06 s; 5 s does not"),
        ("steps=0s:2Mbps/2000000s:1Mbps", "2e+06 s does not"),
        ("steps=0s:2Mbps/9s:0bps", "steps end with a rate of 0"),
        ("steps=0s:2Mbps,rate=1Mbps", "exclude each other"),
        ("steps=0s:2Mbps,trace=x.csv", "exclude each other"),
    ],
)
def test_steps_that_make_no_sense_are_one_line(text: str, problem: str) -> None:
    with pytest.raises(SimulationError) as found:
        trafficgen.Path.parse(f"{text},delay=1ms")
    assert problem in str(found.value)
    assert "\n" not in str(found.value)


def test_steps_replace_the_rate_of_a_preset() -> None:
    link = trafficgen.Path.parse("preset:lte,steps=0s:2Mbps/9s:1Mbps").links[0]
    assert (link.rate_bps, link.delay_s) == (None, 0.035)


def test_a_recorded_path_is_what_the_capture_shows() -> None:
    steps = [
        CapacityStep(start_s=start_s, kbps=None if kbps is None else estimate(kbps))
        for start_s, kbps in ((0.5, 2000), (10.0, None), (20.0, 600))
    ]
    queueing = DelayRange(median=0.01, p95=0.1, largest=0.2, method="by hand")
    model = captured(capacity=tuple(steps), rtt_s=estimate(0.05), queueing_delay_s=queueing)
    (link,) = path_of(model).links
    assert link.steps == ((0.0, 2e6), (22.0, 6e5))  # the silence comes before the first packet
    assert link.delay_s == 0.025
    assert link.queue is not None
    assert link.queue.size_bytes == 50_000  # 0.2 s at 2 Mbit/s


def test_one_rate_is_no_step_and_keys_change_the_path() -> None:
    model = captured(link_rate_bps=estimate(2.5e6), rtt_s=estimate(0.05))
    (link,) = path_of(model).links
    assert (link.rate_bps, link.steps, link.queue) == (2.5e6, None, None)
    (changed,) = path_of(model, "recorded,queue=9p,rate=1Mbps").links
    assert (changed.rate_bps, changed.delay_s) == (1e6, 0.025)
    assert changed.queue is not None
    assert changed.queue.packets == 9


@pytest.mark.parametrize(
    ("conditions", "path", "remedy"),
    [
        ({}, "recorded", "rate and the delay of its path; add rate=..., delay=..., such as"),
        ({"rtt_s": estimate(0.05)}, "recorded", "recorded,rate=10Mbps"),
        ({"link_rate_bps": estimate(1e6)}, "recorded", "recorded,delay=20ms"),
        ({"rtt_s": estimate(0.05)}, "recorded,speed=3", "unknown key 'speed'"),
    ],
)
def test_what_a_capture_does_not_show_is_asked_for(
    conditions: dict[str, Any], path: str, remedy: str
) -> None:
    with pytest.raises(SimulationError) as found:
        trafficgen.simulate(captured(**conditions), path=path)
    assert remedy in str(found.value).replace("unknown key 'speed'", "unknown key 'speed'")


def test_a_model_without_a_capture_has_no_recorded_path() -> None:
    with pytest.raises(SimulationError, match="cbr was not fitted to a capture"):
        trafficgen.simulate("cbr", path="recorded")
    with pytest.raises(SimulationError, match="recorded is the path of one fitted model's capture"):
        read_path("recorded,queue=80p")


def test_a_session_is_generated_over_its_recorded_path() -> None:
    model = captured(link_rate_bps=estimate(2e5), rtt_s=estimate(0.05))
    sent = trafficgen.generate(model, path="recorded", at="receiver")
    over = trafficgen.generate(model, path="rate=200kbps,delay=25ms", at="receiver")
    assert sent.packets.equals(over.packets)
