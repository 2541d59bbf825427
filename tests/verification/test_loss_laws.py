"""Bernoulli and Gilbert loss recovered, and their intervals' coverage, against simulation."""

from __future__ import annotations

import numpy as np
import pytest
from tests.verification.records import RecordCheck

from trafficgen.calibration.path.loss_measures import estimate_loss, find_runs
from trafficgen.units import BoolArray


def gilbert(
    packets: int, *, to_bad: float, to_good: float, generator: np.random.Generator
) -> BoolArray:
    """Return which packets a two-state chain loses, from its stationary start."""
    runs = packets  # more than enough
    good, bad = generator.geometric(to_bad, runs), generator.geometric(to_good, runs)
    lengths = np.column_stack((good, bad)).ravel()
    states = np.tile([False, True], runs)
    if generator.random() < to_bad / (to_bad + to_good):
        lengths, states = lengths[1:], states[1:]
    until = int(np.searchsorted(np.cumsum(lengths), packets)) + 1
    return np.repeat(states[:until], lengths[:until])[:packets]


def test_independent_loss_is_taken_for_what_it_is() -> None:
    lost = np.random.default_rng(1).random(50_000) < 0.02
    found = estimate_loss(find_runs(lost), packets=lost.size, source="rtp")
    assert found.model is not None
    assert found.model.kind == "bernoulli"
    # 1000 losses: three standard errors are 9.5%
    assert found.rate == pytest.approx(0.02, rel=0.095)
    assert found.mean_burst_packets == pytest.approx(1 / 0.98, rel=0.02)


def test_gilbert_loss_is_taken_for_what_it_is() -> None:
    lost = gilbert(100_000, to_bad=0.005, to_good=0.25, generator=np.random.default_rng(2))
    found = estimate_loss(find_runs(lost), packets=lost.size, source="rtp")
    assert found.model is not None
    assert found.model.kind == "gilbert"
    assert found.low < 0.005 / 0.255 < found.high
    # 500 runs: three standard errors of the mean run of 4 are 12%
    assert found.mean_burst_packets == pytest.approx(4, rel=0.12)
    interval = found.model.mean_burst_packets
    assert interval.low is not None
    assert interval.high is not None
    assert interval.low < 4 < interval.high


@pytest.mark.parametrize(("to_bad", "to_good"), [(0.02, 0.98), (0.01, 0.2)])
def test_intervals_cover(to_bad: float, to_good: float, record_check: RecordCheck) -> None:
    generator = np.random.default_rng(3)
    hits, runs_hit, replicates = 0, 0, 1000
    for _ in range(replicates):
        lost = gilbert(4000, to_bad=to_bad, to_good=to_good, generator=generator)
        found = estimate_loss(find_runs(lost), packets=lost.size, source="rtp")
        hits += found.low <= to_bad / (to_bad + to_good) <= found.high
        run = found.model.mean_burst_packets if found.model else None
        runs_hit += run is not None and (run.low or 0) <= 1 / to_good <= (run.high or 0)
    kind = "independent" if to_bad + to_good == 1 else "in runs"
    for name, count in (("rate", hits), ("mean run", runs_hit)):
        record_check(
            f"loss {kind}, {name}: {replicates} streams of 4000 packets",
            expected=0.95,
            measured=count / replicates,
            unit="share",
            accepted="92.5% to 99%",
        )
    # binomial standard error of 95% in 1000 replicates: 0.7%; a Wilson interval of an estimated
    # correlation is not an exact one, and intervals of few runs are conservative
    assert 0.925 <= hits / replicates <= 0.99
    assert 0.925 <= runs_hit / replicates <= 0.99
