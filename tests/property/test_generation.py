"""Invariants of generated tables for any seed, length and number of sessions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.generation.conftest import model_with, phase, stream

from trafficgen.generation import OpenLoopSessions
from trafficgen.models import Law, Model, RenewalProcess


def small_model(*, silence_s: float, header_bytes: int, protocol: str, scale_s: float) -> Model:
    process = RenewalProcess(
        gap_s=Law(
            unit="s",
            family="lognorm",
            params={"s": 1.2, "loc": 0.0, "scale": scale_s},
            observations=1,
        ),
        packet_bytes=Law(
            unit="bytes", family="expon", params={"loc": 0.0, "scale": 300.0}, observations=1
        ),
    )
    played = stream(
        "all",
        phases=(phase("playout", 0.0, 5.0, process),),
        protocol=protocol,
        server_port=80,
        client_port=65_535,
        header_bytes=header_bytes,
    )
    return model_with(played, silence_s=silence_s)


@settings(deadline=None, max_examples=50)
@given(
    seed=st.integers(0, 2**40),
    sessions=st.integers(1, 4),
    duration_s=st.none() | st.floats(1.1, 20.0),
    silence_s=st.sampled_from([0.0, 0.001, 1.0]),
    protocol=st.sampled_from(["udp", "tcp"]),
    scale_s=st.floats(0.005, 2.0),
    arrival_rate_per_s=st.none() | st.floats(0.1, 10.0),
)
def test_any_table_is_ordered_counted_and_within_its_time(
    *,
    seed: int,
    sessions: int,
    duration_s: float | None,
    silence_s: float,
    protocol: str,
    scale_s: float,
    arrival_rate_per_s: float | None,
) -> None:
    header_bytes = 28 if protocol == "udp" else 52
    model = small_model(
        silence_s=silence_s, header_bytes=header_bytes, protocol=protocol, scale_s=scale_s
    )
    table = OpenLoopSessions(
        model=model,
        count=sessions,
        duration_s=duration_s,
        seed=seed,
        arrival_rate_per_s=arrival_rate_per_s,
    ).make_table()
    assert np.all(np.diff(table.time_ns) >= 0)
    assert np.all(table.ip_bytes == table.payload_bytes + header_bytes)
    assert set(np.unique(table.flow)) == set(range(sessions))
    counted = (
        table.flows.column("packets_to_client").to_numpy()
        + table.flows.column("packets_to_server").to_numpy()
    )
    assert np.array_equal(counted, np.bincount(table.flow))
    media = table.to_client & np.isin(table.column("phase").to_pylist(), ["playout"])
    for row in table.flows.to_pylist():
        own = media & (table.flow == row["flow"])
        begins_s = row["first_time_ns"] / 1e9
        assert own.any()
        assert (
            abs(
                table.time_s[own].min()
                - begins_s
                - max(silence_s, 0.03 * (silence_s == 0) * (protocol == "tcp"))
            )
            < 2e-9
        )
        if duration_s is not None:
            assert table.time_s[own].max() - begins_s <= duration_s + 1e-6
