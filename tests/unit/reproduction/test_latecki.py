"""Two streams beside each other: what the paper found, and what its mechanism does on other
paths.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from trafficgen.reproduction import run_experiments
from trafficgen.reproduction.latecki import EXPERIMENTS, Session, measure_audio, scenario
from trafficgen.simulation.run import run_scenario

#: Headers with each audio packet and, each 20 ms, with each frame over UDP: both 42 bytes.
AUDIO_KBPS = (104 + 42) * 8 / 40
FRAME_HEADERS_KBPS = 42 * 8 / 20


def _on_link(capacity: dict[str, Any], **options: Any) -> dict[str, Any]:
    run = scenario({"traffic_transport": "udp", **options}, seed=3)
    run["links"][0]["capacity"] = capacity
    return run


def _rates_kbps(run: dict[str, Any], *, until_s: float = 160.0) -> list[float]:
    rates = Session(run_scenario(run)).rates_kbps()
    return [rate_kbps for time_s, rate_kbps in rates if time_s < until_s]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda experiment: experiment.name)
def test_findings_that_do_not_hang_on_chance_hold_in_one_run(experiment: Any) -> None:
    # Audio loss without control varies from run to run by a fifth of its mean: means of several
    # runs are for `verify`.
    findings = tuple(one for one in experiment.findings if one.key != "audio_loss" or one.high == 0)
    rows = run_experiments([(experiment, findings)], runs=1, seed=11, workers=1).rows
    assert {row.finding.quantity: row.simulated for row in rows if not row.ok} == {}


@pytest.mark.slow
def test_every_finding_holds_for_seeds_that_nobody_chose() -> None:
    chosen = [(experiment, experiment.findings) for experiment in EXPERIMENTS]
    rows = run_experiments(chosen, runs=20, seed=4, workers=1).rows
    assert {
        (row.finding.id, row.finding.quantity): row.simulated for row in rows if not row.ok
    } == {}


@pytest.mark.parametrize("link_kbps", [150.0, 200.0, 300.0])
def test_the_rate_found_follows_the_link(link_kbps: float) -> None:
    room_kbps = link_kbps - AUDIO_KBPS - FRAME_HEADERS_KBPS
    found_kbps = _rates_kbps(
        _on_link({"constant": {"rate_bps": 1e3 * link_kbps}}, video_kbps=link_kbps)
    )[-1]
    # A frame is a whole number of bytes (0.4 kbps); the smallest trend that epsilon lets through is
    # 1% of the link.
    assert 0.9 * room_kbps <= found_kbps <= 1.01 * room_kbps + 0.4


def test_a_link_with_room_for_all_of_the_video_is_used_without_a_pause() -> None:
    session = Session(run_scenario(_on_link({"constant": {"rate_bps": 1e6}})))
    assert session.log.select("paused_at_kbps") == []
    assert session.last("held_at_kbps") > 99.0


def test_less_capacity_while_holding_starts_a_search_below_it_and_audio_returns() -> None:
    steps = {"steps": {"times_s": [0.0, 90.0], "rates_bps": [100_000.0, 70_000.0]}}
    run = _on_link(steps)
    room_kbps = 70.0 - AUDIO_KBPS - FRAME_HEADERS_KBPS
    before_kbps = _rates_kbps(run, until_s=90.0)[-1]
    after_kbps = _rates_kbps(run)[-1]
    assert before_kbps > 45.0
    assert 0.5 * room_kbps <= after_kbps <= 1.02 * room_kbps
    late_s = Session(run_scenario(run)).audio_delays_s(140.0, 160.0)
    assert late_s.max() < 0.053 + 0.1


def test_without_any_verdict_the_rate_only_falls() -> None:
    run = _on_link({"constant": {"rate_bps": 1e5}})
    run["links"][1]["loss"] = {
        "rate": 1.0,
        "mean_burst_packets": 1.0,
        "start_s": None,
        "stop_s": None,
    }
    rates_kbps = _rates_kbps(run)
    assert len(rates_kbps) > 10
    assert all(after < before for before, after in itertools.pairwise(rates_kbps))


def test_video_over_tcp_without_control_costs_the_audio_most_of_its_promptness() -> None:
    rises_ms = [
        measure_audio(
            Session(
                run_scenario(scenario({"traffic_transport": "tcp", "control": control}, seed=5))
            )
        )
        for control in ("off", "on")
    ]
    assert rises_ms[0]["delay_rise_ms"] > 50 * max(rises_ms[1]["delay_rise_ms"], 1.0)
    assert rises_ms[0]["audio_loss"] > 0.0 == rises_ms[1]["audio_loss"]
