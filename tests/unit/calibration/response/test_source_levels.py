"""Plateaus that the path makes, and levels of sources that it does not limit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pydantic import JsonValue

import trafficgen
from trafficgen.tables import PacketTable

TableMaker = Callable[..., PacketTable]
#: A player that always has something to fetch.
BULK: dict[str, JsonValue] = {
    **{"policy": "fixed", "ladder_kbps": [20_000], "fixed_kbps": 20_000},
    **{"segment_s": 4, "buffer_target_s": 1000},
}
TCP = [{"flow": 0, "protocol": "tcp", "server_port": 443}]
LINK_KBPS, IP_BYTES = 4000, 1500


@pytest.mark.parametrize(
    ("path", "compete"),
    [
        ("steps=0s:1Mbps/15s:800kbps/41s:400kbps/54s:600kbps,delay=10ms,queue=60kB", ()),
        ("rate=1Mbps,delay=50ms,queue=60kB", "tcp@30s..60s"),
    ],
)
def test_plateaus_that_follow_the_link_or_a_competitor_are_not_levels(
    tmp_path: Path, path: str, compete: str
) -> None:
    capture = tmp_path / "received.pcap"
    trafficgen.simulate(
        "chunked",
        settings=BULK,
        path=f"{path},delay_jitter=50us",
        compete=compete,
        duration_s=90,
        seed=1,
        out=capture,
        at="receiver",
    )
    fitted = trafficgen.fit(capture)
    assert fitted.calibration.summary()["levels"] is None
    assert "sent what the link and competing flows left" in fitted.model.absent["levels"]


def switch_levels(*, burst_s: float) -> np.ndarray:
    """Packets at the rate of the link, in bursts, at two mean rates that take turns."""
    gap_s = IP_BYTES * 8 / (LINK_KBPS * 1e3)
    times, start_s = [], 0.0
    for stretch in range(12):
        packets = round(burst_s * (0.2 if stretch % 2 else 0.6) / gap_s)
        for _ in range(round(12 / burst_s)):
            times.append(start_s + np.arange(packets) * gap_s)
            start_s += burst_s
    return np.concatenate(times)


@pytest.mark.parametrize(("burst_s", "flows"), [(0.4, TCP), (0.1, None)])
def test_levels_of_a_source_that_pauses_are_kept(
    make_table: TableMaker, burst_s: float, flows: list[dict[str, object]] | None
) -> None:
    table = make_table(switch_levels(burst_s=burst_s), ip_bytes=IP_BYTES, flows=flows)
    fitted = trafficgen.fit(table)
    levels = fitted.calibration.session.levels
    assert levels is not None
    assert levels.kbps == pytest.approx([0.2 * LINK_KBPS, 0.6 * LINK_KBPS], rel=0.06)
    assert "levels" not in fitted.model.absent
