"""All sessions of a table as one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from trafficgen.errors import SelectionError
from trafficgen.flows import SessionView, all_sessions
from trafficgen.validation.compare import compare_sessions

ViewOf = Callable[..., SessionView]


def test_all_sessions_hold_every_flow_heaviest_first(view_of: ViewOf) -> None:
    times = np.arange(0, 5, 0.1)
    table = view_of((times, np.full(50, 100)), (times + 0.01, np.full(50, 900))).table
    view = all_sessions(table)
    assert view.flows == (0, 1)
    assert view.media_flows == (1, 0)
    assert view.media_ip_bytes.sum() == 50_000
    assert compare_sessions(view, view).flat()["gap_s.ks"] == 0.0


def test_table_without_media_cannot_be_compared(view_of: ViewOf) -> None:
    table = view_of((np.arange(3.0), np.full(3, 100))).table
    with pytest.raises(SelectionError, match="the input is empty"):
        all_sessions(table.select(np.zeros(3, dtype=np.bool_)))
