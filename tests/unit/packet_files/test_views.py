"""What captures at either end of a simulated path show."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import trafficgen
from trafficgen.packet_files.formats import View
from trafficgen.packet_files.writing import select_view
from trafficgen.tables import PacketTable


@cache
def simulated() -> PacketTable:
    """Return packets of a player over a path that loses some."""
    path = "rate=1Mbps,delay=40ms,queue=15kB,loss=0.01"
    return trafficgen.simulate("dashjs", path=path, duration_s=20, seed=3).packets()


@pytest.mark.parametrize(("view", "waits_s"), [("receiver", (0.08, 0)), ("sender", (0, 0.08))])
def test_who_waits_for_a_round_trip_in_the_handshake(
    view: View, waits_s: tuple[float, float]
) -> None:
    seen = select_view(simulated(), view)
    first = seen.select(seen.flow == seen.flow[0])
    assert first.to_client[:3].tolist() == [False, True, False]
    assert np.diff(first.time_ns[:3]) / 1e9 == pytest.approx(waits_s, abs=2e-3)


@pytest.mark.parametrize("view", ["sender", "receiver"])
def test_each_end_sees_all_that_it_sends_and_of_the_rest_what_arrives(view: View) -> None:
    table = simulated()
    seen, arrived = select_view(table, view), table.is_known("arrival_ns")
    own = table.to_client == (view == "sender")
    assert len(seen) == np.count_nonzero(own | arrived)
    assert (len(seen) < len(table)) == (view == "receiver")  # the other way nothing was lost
    assert np.all(np.diff(seen.time_ns) >= 0)
    came = seen.to_client == (view == "receiver")
    assert np.all(seen.time_ns[came] == seen.values("arrival_ns")[came])
    flows = seen.flows.to_pydict()
    assert sum(flows["packets_to_client"]) + sum(flows["packets_to_server"]) == len(seen)


@pytest.mark.parametrize("view", ["sender", "receiver"])
def test_a_fit_of_either_end_finds_the_rate_of_the_link(
    view: View, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("views") / "seen.pcap"
    trafficgen.simulate(
        "dashjs",
        path="rate=1Mbps,delay=40ms,queue=40kB,overhead=14B",
        duration_s=60,
        seed=3,
        out=path,
        at=view,
    )
    conditions = trafficgen.fit(path).model.provenance.conditions  # type: ignore[union-attr]
    assert conditions is not None
    assert conditions.capacity is not None
    (rate,) = (step.kbps for step in conditions.capacity if step.kbps is not None)
    assert rate.value == pytest.approx(1000, rel=0.03)
