from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.export.test_flow_schedule import flow_of

from trafficgen.export.targets.mgen.lines import join_segments

_SEGMENTS = st.lists(
    st.tuples(st.integers(0, 10**9), st.integers(1, 1460)), min_size=1, max_size=20
)


@given(_SEGMENTS)
def test_writes_carry_every_byte_once_at_most_a_window_early(
    segments: list[tuple[int, int]],
) -> None:
    time_ns, payload_bytes = (list(column) for column in zip(*sorted(segments), strict=True))
    flow = flow_of(time_ns, payload_bytes)
    writes = join_segments(flow, window_us=10_000, low_bytes=1, high_bytes=8_000)
    assert writes.payload_bytes.sum() == flow.payload_bytes.sum()
    assert writes.payload_bytes.max() <= 8_000
    assert np.all(np.diff(writes.time_us) >= 1_000)
    assert np.all(np.isin(writes.sent.time_ns // 1_000, writes.time_us))
    assert np.all(np.abs(writes.sent.time_ns - flow.time_ns) <= 10_000_500)
    assert np.array_equal(writes.sent.payload_bytes, flow.payload_bytes)


@given(_SEGMENTS)
def test_bytes_that_short_writes_are_raised_by_are_told(segments: list[tuple[int, int]]) -> None:
    time_ns, payload_bytes = (list(column) for column in zip(*sorted(segments), strict=True))
    flow = flow_of(time_ns, payload_bytes)
    writes = join_segments(flow, window_us=10_000, low_bytes=500, high_bytes=8_000)
    assert writes.payload_bytes.min() >= 500
    assert writes.sent.payload_bytes.sum() == writes.payload_bytes.sum()
    assert (writes.raised > 0) == (writes.payload_bytes.sum() > flow.payload_bytes.sum())
