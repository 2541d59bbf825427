from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trafficgen.flows import rtp_loss
from trafficgen.tables import PacketTable


@given(
    start=st.integers(0, 65535),
    kept=st.lists(st.booleans(), min_size=1, max_size=300),
    again=st.lists(st.integers(0, 299), max_size=10),
)
def test_counts_are_those_of_the_numbers_that_were_left_out(
    make_table: Callable[..., PacketTable], start: int, kept: list[bool], again: list[int]
) -> None:
    numbers = np.flatnonzero(np.array(kept))
    repeated = np.array(
        [number for number in again if number < len(kept) and kept[number]], dtype=np.int64
    )
    if numbers.size == 0:
        return
    sent = np.sort(np.concatenate((numbers, repeated)))
    table = make_table(np.arange(sent.size), rtp_ssrc=1, rtp_sequence=(start + sent) % 65536)
    (found,) = rtp_loss(table)
    missing = [str(int(not flag)) for flag in kept[numbers[0] : numbers[-1] + 1]]
    assert found.expected == numbers[-1] - numbers[0] + 1
    assert found.lost == missing.count("1")
    assert found.duplicates == repeated.size
    assert found.reordered == 0
    assert sorted(found.lost_runs.tolist()) == sorted(
        len(run) for run in "".join(missing).split("0") if run
    )
