"""What a link does to packets: capacities, token buckets, traces, loss, overtaking, and what its
queue counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trafficgen.errors import SimulationError
from trafficgen.simulation.outcome import Outcome
from trafficgen.simulation.run import run_scenario
from trafficgen.units import FloatArray

PACKET_BYTES = 1_000
#: An 800 kbit/s link sends a packet in 10 ms.
LINK_BPS = 800e3


def over(
    link: dict[str, Any], *, rate_bps: float, duration_s: float = 10, seed: int = 1
) -> Outcome:
    """Send a constant rate over one link."""
    parameters = {"rate_bps": rate_bps, "packet_bytes": PACKET_BYTES, "duration_s": duration_s}
    agent = {
        "name": "media",
        "kind": "cbr",
        "parameters": parameters,
        "awaited": True,
        "forward": [0],
    }
    return run_scenario(
        {"seed": seed, "links": [{"name": "link", **link}], "agents": [agent], "end_s": 1e4}
    )


def arrivals_s(outcome: Outcome) -> FloatArray:
    columns = outcome.columns
    return np.sort(np.asarray(columns["arrival_ns"])[np.asarray(columns["arrived"])]) / 1e9


def delays_s(outcome: Outcome) -> FloatArray:
    columns = outcome.columns
    delays_ns = (columns["arrival_ns"] - columns["time_ns"])[columns["arrived"]]
    return np.asarray(delays_ns / 1e9, dtype=np.float64)


def test_a_packet_takes_its_sending_time_and_the_propagation() -> None:
    delays = delays_s(
        over({"capacity": {"constant": {"rate_bps": LINK_BPS}}, "delay_s": 0.045}, rate_bps=100e3)
    )
    assert delays == pytest.approx(0.055, abs=1e-9)


def test_a_link_without_capacity_only_delays() -> None:
    assert delays_s(over({"delay_s": 0.02}, rate_bps=5e6)) == pytest.approx(0.02, abs=1e-9)


def test_bytes_of_the_link_layer_count_on_the_line() -> None:
    link = {"capacity": {"constant": {"rate_bps": LINK_BPS}}, "overhead_bytes": 14}
    assert delays_s(over(link, rate_bps=100e3)) == pytest.approx(1014 * 8 / LINK_BPS, abs=1e-9)


def test_a_queue_in_bytes_holds_no_more_than_its_bytes() -> None:
    link = {"capacity": {"constant": {"rate_bps": LINK_BPS}}, "queue": {"bytes": 5_500}}
    outcome = over(link, rate_bps=2e6)
    assert outcome.links[0]["largest_queue_bytes"] == 5_000
    assert delays_s(outcome).max() == pytest.approx(0.05, abs=0.01)


def test_packets_in_flight_fill_a_queue_that_holds_them() -> None:
    link = {
        "capacity": {"constant": {"rate_bps": LINK_BPS}},
        "queue": {"packets": 20},
        "delay_s": 1.0,
    }
    assert over(link, rate_bps=LINK_BPS).links[0]["dropped_queue"] == 0
    held = over({**link, "hold_in_flight": True}, rate_bps=LINK_BPS)
    # 20 places for packets that stay 1.01 s each.
    assert held.links[0]["packets_out"] == pytest.approx(10 * 20 / 1.01, abs=20)


def test_a_token_bucket_never_passes_more_than_its_burst_and_its_rate() -> None:
    burst_bytes = 16_000
    link = {
        "capacity": {"token_bucket": {"rate_bps": LINK_BPS, "burst_bytes": burst_bytes}},
        "queue": {"bytes": 10_000},
    }
    arrivals = arrivals_s(over(link, rate_bps=2e6))
    sent_bytes = PACKET_BYTES * np.arange(1, len(arrivals) + 1)
    for first in (0, 3, 50):
        allowed = burst_bytes + (arrivals[first:] - arrivals[first]) * LINK_BPS / 8
        assert np.all(sent_bytes[first:] - sent_bytes[first] + PACKET_BYTES <= allowed + 1)
    # The burst leaves as it comes, at 2 Mbit/s; then the rate holds.
    assert np.diff(arrivals)[:10] == pytest.approx(0.004, abs=1e-6)
    assert np.diff(arrivals)[-100:] == pytest.approx(0.01, abs=1e-6)


def test_a_packet_larger_than_the_token_bucket_never_leaves() -> None:
    outcome = over(
        {"capacity": {"token_bucket": {"rate_bps": 1e6, "burst_bytes": 900}}}, rate_bps=100e3
    )
    assert set(np.asarray(outcome.columns["drop"])) == {3}


def test_capacity_steps_hold_from_their_times_on() -> None:
    steps = {"times_s": [0, 4], "rates_bps": [800e3, 400e3], "period_s": None}
    arrivals = arrivals_s(
        over({"capacity": {"steps": steps}, "queue": {"packets": 10}}, rate_bps=1e6)
    )
    counts, _ = np.histogram(arrivals, bins=[1, 3, 5, 9])
    assert counts[0] == pytest.approx(200, abs=2)
    assert counts[2] == pytest.approx(200, abs=2)
    # A packet on the line when the rate halves takes part of each: 4 s is where the mean rate
    # changes.
    assert counts[1] == pytest.approx(150, abs=2)


def test_opportunities_of_a_trace_repeat_and_are_shared_by_small_packets() -> None:
    trace = {"times_s": [0.0, 0.010, 0.015], "bytes": 1504, "period_s": 0.020}
    outcome = over(
        {"capacity": {"opportunities": trace}, "queue": {"packets": 5}}, rate_bps=3e6, duration_s=20
    )
    # Three opportunities of 1504 bytes each 20 ms.
    assert outcome.links[0]["bytes_out"] == pytest.approx(20 / 0.020 * 3 * 1504, rel=0.01)
    within = np.mod(arrivals_s(outcome) + 1e-9, 0.020)
    assert set(np.round(within, 4)) <= {0.0, 0.01, 0.015}


def test_bernoulli_loss_takes_its_share_independently() -> None:
    outcome = over({"loss": {"rate": 0.1}}, rate_bps=8e6, duration_s=100)
    lost = (np.asarray(outcome.columns["drop"]) == 1).astype(float)
    error = np.sqrt(0.1 * 0.9 / len(lost))
    assert abs(lost.mean() - 0.1) < 4 * error
    assert abs(np.corrcoef(lost[1:], lost[:-1])[0, 1]) < 4 / np.sqrt(len(lost))


def test_bursty_loss_keeps_its_share_and_its_runs() -> None:
    outcome = over({"loss": {"rate": 0.05, "mean_burst_packets": 4}}, rate_bps=8e6, duration_s=200)
    lost = np.asarray(outcome.columns["drop"]) == 1
    starts = int(np.sum(lost[1:] & ~lost[:-1]) + lost[0])
    run = lost.sum() / starts
    assert abs(run - 4) < 4 * np.sqrt(4 * 3 / starts)
    # Runs and the gaps between them are geometric: the variance of the share is that of an
    # alternating renewal process.
    assert lost.mean() == pytest.approx(0.05, rel=4 * np.sqrt(2 / starts))


def test_loss_starts_and_stops_after_the_first_media_packet() -> None:
    outcome = over({"loss": {"rate": 1.0, "start_s": 3, "stop_s": 5}}, rate_bps=800e3)
    columns = outcome.columns
    lost_s = np.asarray(columns["time_ns"])[np.asarray(columns["drop"]) > 0] / 1e9
    assert lost_s[0] == pytest.approx(3)
    assert lost_s[-1] == pytest.approx(4.99)
    assert len(lost_s) == 200


def test_jitter_adds_its_mean_to_the_delay_and_keeps_the_order() -> None:
    link = {"delay_s": 0.01, "delay_jitter_s": 0.001}
    outcome = over(link, rate_bps=800e3, duration_s=100)
    later_s = delays_s(outcome) - 0.01
    assert later_s.min() >= 0
    # One packet each 10 ms: few wait for the one before. An exponential law's deviation is its
    # mean.
    error_s = 0.001 / np.sqrt(len(later_s))
    assert later_s.mean() == pytest.approx(0.001, abs=4 * error_s)
    assert later_s.std() == pytest.approx(0.001, rel=0.1)
    close = over(link, rate_bps=80e6, duration_s=1)
    assert np.all(np.diff(arrivals_s(close)) >= 0)


def test_overtaken_packets_arrive_later_and_the_others_in_time() -> None:
    outcome = over(
        {"delay_s": 0.01, "reorder": {"share": 0.2, "delay_s": 0.05}},
        rate_bps=800e3,
        duration_s=100,
    )
    delays = delays_s(outcome)
    assert set(np.round(delays, 6)) == {0.01, 0.06}
    share = float(np.mean(delays > 0.03))
    assert abs(share - 0.2) < 4 * np.sqrt(0.2 * 0.8 / len(delays))


def test_links_in_a_chain_add_up_and_each_counts_its_own() -> None:
    fast = {"name": "fast", "capacity": {"constant": {"rate_bps": 8e6}}, "delay_s": 0.01}
    slow = {
        "name": "slow",
        "capacity": {"constant": {"rate_bps": LINK_BPS}},
        "delay_s": 0.02,
        "queue": {"packets": 5},
    }
    parameters = {"rate_bps": 400e3, "packet_bytes": PACKET_BYTES, "duration_s": 10}
    through = {
        "name": "through",
        "kind": "cbr",
        "parameters": parameters,
        "awaited": True,
        "forward": [0, 1],
    }
    beside = {
        "name": "beside",
        "kind": "cbr",
        "parameters": parameters,
        "start_s": 0.003,
        "forward": [1],
    }
    scenario = {"seed": 1, "links": [fast, slow], "agents": [through, beside], "end_s": 100}
    outcome = run_scenario(scenario)
    first, second = outcome.links
    assert (first["packets_in"], second["packets_in"]) == (500, 500 + 500)
    assert outcome.totals([0])["mean_delay_s"] == pytest.approx(
        0.01 + 0.001 + 0.02 + 0.01, abs=0.01
    )


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"delay_s": -1}, "delay_s must be at least 0"),
        ({"capacity": {"constant": {"rate_bps": 0}}}, "rate_bps must be above 0"),
        ({"loss": {"rate": 1.5}}, "loss rate must be from 0 to 1"),
        ({"loss": {"rate": 0.9, "mean_burst_packets": 2}}, "cannot come in runs"),
        (
            {"capacity": {"steps": {"times_s": [1, 0], "rates_bps": [1, 1]}}},
            "times_s must not fall",
        ),
    ],
)
def test_a_link_that_cannot_be_is_named_with_what_is_wrong(link: dict[str, Any], said: str) -> None:
    with pytest.raises(SimulationError, match=f'"link".*{said}'):
        over(link, rate_bps=1e5)


def test_a_parameter_that_a_source_lacks_is_named_with_the_agent() -> None:
    agent = {
        "name": "media",
        "kind": "cbr",
        "parameters": {"rate_bps": 1e5, "packet_bytes": 900, "colour": 1},
    }
    with pytest.raises(SimulationError, match=r'agent "media".*colour'):
        run_scenario({"seed": 1, "links": [], "agents": [agent], "end_s": 1})
