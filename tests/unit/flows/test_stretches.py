"""Which packets of a long session are taken."""

from __future__ import annotations

import numpy as np
import pytest

from trafficgen.flows import plan_stretches


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("packets", "most"), [(1_000_000, 50_000), (100_001, 100_000), (70, 66), (10**9, 10**6)]
)
def test_stretches_are_disjoint_whole_at_both_ends_and_no_more_than_allowed(
    packets: int, most: int
) -> None:
    found = plan_stretches(packets, most, generator=generator())
    assert found.start[0] == 0
    assert found.stop[-1] == packets
    assert (found.stop > found.start).all()
    assert (found.start[1:] >= found.stop[:-1]).all()
    assert most * 0.5 <= found.taken <= most
    assert most // 8 <= found.stop[0] <= most // 8 + found.stop[1] - found.start[1]


def test_a_session_that_fits_is_one_stretch() -> None:
    found = plan_stretches(500, 500, generator=generator())
    assert (found.start.tolist(), found.stop.tolist(), found.taken) == ([0], [500], 500)


def test_every_part_of_the_middle_is_as_likely_to_be_taken() -> None:
    taken = np.zeros(4000)
    for seed in range(400):
        found = plan_stretches(4000, 800, generator=generator(seed))
        for start, stop in zip(found.start[1:-1], found.stop[1:-1], strict=True):
            taken[start:stop] += 1
        taken[100 : found.stop[0]] += 1
    share = (800 - 100 - 77) / (4000 - 100 - 77)
    # Of 400 draws each packet's share differs from the true one by four standard errors at most.
    assert np.abs(taken[100:3923] / 400 - share).max() < 4 * np.sqrt(share * (1 - share) / 400)


def test_too_few_packets_for_a_stretch_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 18"):
        plan_stretches(1000, 7, generator=generator())
