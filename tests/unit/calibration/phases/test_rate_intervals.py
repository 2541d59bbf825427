"""Mean rates of the phases with their intervals."""

from __future__ import annotations

import numpy as np

from trafficgen.calibration.phases.session_phases import Phases, estimate_phase_rates
from trafficgen.flows import SessionView


def view_of(make_table, time_s) -> SessionView:  # type: ignore[no-untyped-def]
    table = make_table(time_s, ip_bytes=1000)
    return SessionView(session=0, flows=(0,), media_flows=(0,), table=table)


def test_interval_of_a_poisson_rate_covers(make_table) -> None:  # type: ignore[no-untyped-def]
    covered, replicates = 0, 100
    for seed in range(replicates):
        count = 1000
        time_s = np.cumsum(np.random.default_rng(seed).exponential(0.01, count))
        phases = Phases(
            0.0,
            None,
            None,
            None,
            time_s[-1] - time_s[0],
            None,
            8 * count / float(time_s[-1] - time_s[0]),
        )
        buffering, playout = estimate_phase_rates(view_of(make_table, time_s), phases, seed=seed)
        assert buffering is None
        assert playout.low is not None
        assert playout.high is not None
        # 100 packets of 8000 bit a second
        covered += playout.low <= 800_000 <= playout.high
    # 95% of 100: standard error 2.2 points, three of them
    assert covered >= 88


def test_interval_of_a_rate_that_switches_covers(make_table) -> None:  # type: ignore[no-untyped-def]
    covered, replicates, length_s = 0, 200, 60.0
    for seed in range(replicates):
        rng, at_s, parts = np.random.default_rng(seed), 0.0, []
        is_fast = rng.random() < 1 / 3
        while at_s < length_s:
            stay_s, per_s = (rng.exponential(2), 120) if is_fast else (rng.exponential(4), 20)
            parts.append(at_s + np.sort(rng.uniform(0, stay_s, rng.poisson(per_s * stay_s))))
            at_s, is_fast = at_s + stay_s, not is_fast
        time_s = np.concatenate(parts)
        time_s = time_s[time_s < length_s] - time_s[0]
        rate_kbps = 8 * time_s.size / float(time_s[-1])
        phases = Phases(0.0, None, None, None, float(time_s[-1]), None, rate_kbps)
        _, playout = estimate_phase_rates(view_of(make_table, time_s), phases, seed=seed)
        assert playout.low is not None
        assert playout.high is not None
        # on average (120 + 2 * 20) / 3 packets of 8000 bit a second
        covered += playout.low <= 160 / 3 * 8000 <= playout.high
    # 95% of 200: standard error 1.5 points, three of them, and two that short blocks lose
    assert covered / replicates >= 0.95 - 3 * 0.015 - 0.02


def test_few_packets_have_a_rate_without_interval(make_table) -> None:  # type: ignore[no-untyped-def]
    time_s = np.arange(40) * 0.1
    phases = Phases(0.0, 1.0, 0.9, 1.1, 3.9, 100.0, 80.0)
    buffering, playout = estimate_phase_rates(view_of(make_table, time_s), phases, seed=0)
    assert buffering is not None
    assert (buffering.value, buffering.low) == (100_000.0, None)
    assert (playout.value, playout.low) == (80_000.0, None)
