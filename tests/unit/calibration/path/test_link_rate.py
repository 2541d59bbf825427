from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from trafficgen.calibration.path.capacity import estimate_link_rate, strongest_mode
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]


def rate_of(table: PacketTable, *, has_loss: bool) -> tuple[Any, str]:
    return estimate_link_rate(table, session=0, tick_s=1e-9, seed=1, has_loss=has_loss)


def test_the_links_rate_shows_at_the_receiver(congested_pair: Callable[..., Any]) -> None:
    found, _ = rate_of(congested_pair(rate_bps=1.2e6).receiver, has_loss=True)
    assert found is not None
    assert found.value == pytest.approx(1.2e6, rel=0.01)
    assert found.low <= found.value <= found.high


def test_a_source_that_paces_itself_is_not_taken_for_a_link(make_table: TableMaker) -> None:
    steady = make_table(np.arange(1000) * 0.02, ip_bytes=1000)
    assert rate_of(steady, has_loss=False) == (
        None,
        (
            "the strongest mode of packet-pair dispersion is near the mean rate, which may be the"
            " source's own"
        ),
    )
    # with loss some queue was full, and then the link sets the pace
    assert rate_of(steady, has_loss=True)[0].value == pytest.approx(1014 * 8 / 0.02, rel=1e-6)


def test_scattered_dispersions_have_no_mode() -> None:
    assert strongest_mode(10 ** np.random.default_rng(1).uniform(4, 9, 2000)) is None
    assert strongest_mode(np.full(10, 1e6)) is None
