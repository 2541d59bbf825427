"""The baselines keep of the reference what they promise, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.flows import SessionView
from trafficgen.validation.measurement import BASELINES, generate_baseline

ViewOf = Callable[..., SessionView]


def test_cbr_has_the_mean_rate_size_and_gap_of_the_reference(bursty: SessionView) -> None:
    view = generate_baseline(bursty, name="cbr", seed=0, run=0)
    assert view.media_ip_bytes.sum() == bursty.media_ip_bytes.sum()
    assert np.ptp(view.media_ip_bytes) <= 1
    assert view.media_time_ns[0] == bursty.media_time_ns[0]
    assert view.media_time_ns[-1] == bursty.media_time_ns[-1]
    assert np.ptp(np.diff(view.media_time_ns)) <= 2


@pytest.mark.parametrize("name", ["poisson", "renewal"])
def test_random_baselines_keep_sizes_and_mean_gap(bursty: SessionView, name: str) -> None:
    view = generate_baseline(bursty, name=name, seed=0, run=0)
    assert set(view.media_ip_bytes.tolist()) <= set(bursty.media_ip_bytes.tolist())
    # The number of gaps in the same time has the standard error sqrt(n) cv; five of them.
    reference_gaps = np.diff(bursty.media_time_ns)
    cv = 1.0 if name == "poisson" else np.std(reference_gaps) / np.mean(reference_gaps)
    count = bursty.media_time_ns.size
    assert abs(view.media_time_ns.size - count) < 5 * cv * np.sqrt(count)


def test_renewal_takes_gaps_of_the_reference_only(bursty: SessionView) -> None:
    view = generate_baseline(bursty, name="renewal", seed=0, run=0)
    gaps, known = np.diff(view.media_time_ns), np.unique(np.diff(bursty.media_time_ns))
    nearest = known[np.clip(np.searchsorted(known, gaps), 0, known.size - 1)]
    before = known[np.clip(np.searchsorted(known, gaps) - 1, 0, known.size - 1)]
    # Sums of seconds are rounded to whole ns.
    assert np.all(np.minimum(np.abs(nearest - gaps), np.abs(before - gaps)) <= 1)


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_is_the_same_for_a_seed_and_differs_between_runs(
    bursty: SessionView, name: str
) -> None:
    first, again, other = (
        generate_baseline(bursty, name=name, seed=1, run=run) for run in (0, 0, 1)
    )
    assert first.table.packets.equals(again.table.packets)
    assert first.table.packets.equals(other.table.packets) == (name == "cbr")


@pytest.mark.parametrize("name", BASELINES)
def test_baseline_of_a_single_packet_is_that_packet(view_of: ViewOf, name: str) -> None:
    one = view_of((np.array([3.0]), np.array([500])))
    view = generate_baseline(one, name=name, seed=0, run=0)
    assert (view.media_time_ns.tolist(), view.media_ip_bytes.tolist()) == ([3_000_000_000], [500])
