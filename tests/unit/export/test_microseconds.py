from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trafficgen.export.microseconds import rising_us, seconds_text

_TIMES = st.lists(st.integers(0, 10**12), min_size=1, max_size=50).map(sorted)


@given(_TIMES)
def test_times_rise_and_are_late_by_as_few_microseconds_as_that_takes(time_ns: list[int]) -> None:
    times = np.array(time_ns, dtype=np.int64)
    found = rising_us(times)
    assert np.all(np.diff(found) >= 1)
    late = found - np.floor_divide(times + 500, 1000)
    assert np.all(late >= 0)
    assert late[0] == 0
    pushed = np.flatnonzero(late > 0)
    assert np.all(np.diff(found)[pushed - 1] == 1)


@given(st.integers(0, 10**15))
def test_seconds_are_written_exactly(time_us: int) -> None:
    whole, _, rest = seconds_text(time_us).partition(".")
    assert int(whole) * 1_000_000 + int(rest) == time_us
    assert len(rest) == 6
