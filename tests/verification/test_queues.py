"""The queue against theory: waits and losses have closed forms (Kleinrock, Queueing Systems,
1975).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.verification.records import RecordCheck

from trafficgen.simulation.outcome import Outcome
from trafficgen.simulation.run import run_scenario
from trafficgen.units import FloatArray, ms_from_s

RATE_BPS = 8e6
PACKET_BYTES = 1_000
SERVICE_S = PACKET_BYTES * 8 / RATE_BPS
#: Batches are long beside the correlation of a queue at these loads, so their means are
#: independent.
BATCHES = 40


def queue(source: dict[str, Any], *, limit_packets: int | None = None, seed: int = 1) -> Outcome:
    """Run one source into one queue."""
    link = {
        "name": "queue",
        "capacity": {"constant": {"rate_bps": RATE_BPS}},
        "queue": None if limit_packets is None else {"packets": limit_packets},
    }
    agent = {"name": "source", "awaited": True, "forward": [0], **source}
    return run_scenario({"seed": seed, "links": [link], "agents": [agent], "end_s": 1e6})


def poisson(load: float, *, sizes: str, packets: int) -> dict[str, Any]:
    rate_bps = load * RATE_BPS
    parameters = {
        "rate_bps": rate_bps,
        "packet_bytes": PACKET_BYTES,
        "sizes": sizes,
        "duration_s": packets * PACKET_BYTES * 8 / rate_bps,
    }
    return {"kind": "poisson", "parameters": parameters}


def batch_means(values: FloatArray) -> tuple[float, float]:
    """Return the mean and its standard error from the means of batches."""
    means = values[: len(values) // BATCHES * BATCHES].reshape(BATCHES, -1).mean(axis=1)
    return float(means.mean()), float(means.std(ddof=1) / math.sqrt(BATCHES))


def waits_s(outcome: Outcome) -> FloatArray:
    return np.asarray(outcome.columns["queueing_ns"], dtype=np.float64) / 1e9


@pytest.mark.parametrize("load", [0.3, 0.7, 0.9])
def test_packets_of_md1_wait_as_pollaczek_and_khinchine_say(
    load: float, record_check: RecordCheck
) -> None:
    mean, error = batch_means(waits_s(queue(poisson(load, sizes="constant", packets=400_000))))
    expected = load * SERVICE_S / (2 * (1 - load))
    record_check(
        f"mean wait, M/D/1, load {load}",
        expected=ms_from_s(expected),
        measured=ms_from_s(mean),
        unit="ms",
        accepted=f"{ms_from_s(4 * error):.2g} ms (4 standard errors)",
    )
    assert abs(mean - expected) < 4 * error
    assert error < 0.1 * expected


@pytest.mark.parametrize("load", [0.3, 0.7])
def test_packets_of_mm1_wait_for_exponential_times(load: float, record_check: RecordCheck) -> None:
    # Headers make the smallest packet 28 bytes, which narrows the law of the service time a little.
    waits = waits_s(queue(poisson(load, sizes="exponential", packets=400_000)))
    mean, error = batch_means(waits)
    second_moment = SERVICE_S**2 * (1 + (1 - 28 / PACKET_BYTES) ** 2)
    expected = load / SERVICE_S * second_moment / (2 * (1 - load))
    record_check(
        f"mean wait, M/M/1, load {load}",
        expected=ms_from_s(expected),
        measured=ms_from_s(mean),
        unit="ms",
        accepted=f"{ms_from_s(4 * error):.2g} ms (4 standard errors)",
    )
    assert abs(mean - expected) < 4 * error
    none, none_error = batch_means((waits == 0).astype(np.float64))
    assert abs(none - (1 - load)) < 4 * none_error


@pytest.mark.parametrize(("urgent_load", "other_load"), [(0.3, 0.4), (0.5, 0.4)])
def test_urgent_packets_wait_as_cobham_says(
    urgent_load: float, other_load: float, record_check: RecordCheck
) -> None:
    link = {
        "name": "queue",
        "capacity": {"constant": {"rate_bps": RATE_BPS}},
        "aqm": {"kind": "priority"},
    }
    agents = [
        {
            **poisson(load, sizes="constant", packets=round(400_000 * load)),
            "name": name,
            "urgent": name == "urgent",
            "awaited": True,
            "forward": [0],
        }
        for name, load in (("urgent", urgent_load), ("other", other_load))
    ]
    outcome = run_scenario({"seed": 1, "links": [link], "agents": agents, "end_s": 1e6})
    busy_s = (urgent_load + other_load) * SERVICE_S / 2  # what is on the line when one comes
    expected = {
        "urgent": busy_s / (1 - urgent_load),
        "other": busy_s / ((1 - urgent_load) * (1 - urgent_load - other_load)),
    }
    waits = waits_s(outcome)
    for agent, (name, wait_s) in enumerate(expected.items()):
        flow = next(at for at, flow in enumerate(outcome.flows) if flow["agent"] == agent)
        mean, error = batch_means(waits[outcome.columns["flow"] == flow])
        record_check(
            f"mean wait of {name} packets, M/D/1 with priorities, {urgent_load} and {other_load}",
            expected=ms_from_s(wait_s),
            measured=ms_from_s(mean),
            unit="ms",
            accepted=f"{ms_from_s(4 * error):.2g} ms (4 standard errors)",
        )
        assert abs(mean - wait_s) < 4 * error
        assert error < 0.1 * wait_s


def loss_of_md1k(load: float, places: int) -> float:
    """Return the loss of M/D/1/K from the chain that a departure leaves behind (Gross and Harris,
    5.1.7).
    """
    arrivals = [math.exp(-load) * load**k / math.factorial(k) for k in range(places)]
    left = [1.0]
    for state in range(places - 1):
        inflow = left[0] * arrivals[state] + sum(
            left[i] * arrivals[state - i + 1] for i in range(1, state + 1)
        )
        left.append((left[state] - inflow) / arrivals[0])
    empty = left[0] / sum(left)
    return 1 - 1 / (empty + load)


@pytest.mark.parametrize(("load", "places"), [(0.8, 3), (0.9, 10), (1.2, 5)])
def test_full_queue_of_md1k_drops_its_share(
    load: float, places: int, record_check: RecordCheck
) -> None:
    outcome = queue(poisson(load, sizes="constant", packets=400_000), limit_packets=places)
    dropped = (np.asarray(outcome.columns["drop"]) > 0).astype(np.float64)
    mean, error = batch_means(dropped)
    record_check(
        f"loss, M/D/1/{places}, load {load}",
        expected=loss_of_md1k(load, places),
        measured=mean,
        unit="share",
        accepted=f"{4 * error:.2g} (4 standard errors)",
    )
    assert abs(mean - loss_of_md1k(load, places)) < 4 * error


def cbr(load: float, *, duration_s: float) -> dict[str, Any]:
    parameters = {
        "rate_bps": load * RATE_BPS,
        "packet_bytes": PACKET_BYTES,
        "duration_s": duration_s,
    }
    return {"kind": "cbr", "parameters": parameters}


def test_constant_rate_below_capacity_never_waits() -> None:
    outcome = queue(cbr(0.99, duration_s=20))
    assert waits_s(outcome).max() == 0
    assert outcome.links[0]["largest_queue_packets"] == 1


def test_constant_rate_above_capacity_loses_what_does_not_fit_and_no_more() -> None:
    outcome = queue(cbr(1.25, duration_s=100), limit_packets=20)
    link = outcome.links[0]
    # All but the 20 places, which fill once.
    assert link["packets_out"] == pytest.approx(link["packets_in"] / 1.25 + 20, abs=1)
    assert waits_s(outcome).max() == pytest.approx(19 * SERVICE_S, rel=0.06)


@pytest.mark.parametrize("limit", [None, 7])
def test_every_packet_arrives_or_is_dropped(limit: int | None) -> None:
    outcome = queue(poisson(1.1, sizes="exponential", packets=20_000), limit_packets=limit)
    columns = outcome.columns
    arrived, dropped = np.asarray(columns["arrived"]), np.asarray(columns["drop"]) > 0
    assert outcome.under_way == 0
    assert np.array_equal(arrived, ~dropped)
    link = outcome.links[0]
    assert link["packets_in"] == len(arrived)
    assert link["bytes_out"] == int(np.asarray(columns["ip_bytes"])[arrived].sum())


def test_same_seed_gives_the_same_packets_and_another_seed_others() -> None:
    source = poisson(0.8, sizes="exponential", packets=2_000)
    first, again, other = (queue(source, seed=seed).columns for seed in (5, 5, 6))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert not np.array_equal(first["time_ns"], other["time_ns"])
