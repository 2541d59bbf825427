"""Fitted models in closed loop: a calm path gets their open loop, on others they answer as
calibration found.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.generation.conftest import model_with, stream

import trafficgen
from trafficgen.errors import SimulationWarning
from trafficgen.models import (
    BurstProcess,
    CongestionResponse,
    Estimate,
    Law,
    Model,
    Phase,
    ResponsePoint,
    RtpFormat,
)
from trafficgen.tables import PacketTable

CALM = "delay=10ms"
LOSSY = "delay=10ms,loss=10%"


def _law(unit: str, family: str, *, integer: bool = False, **params: float) -> Law:
    extra: dict[str, Any] = (
        {"atoms": [{"value": params.pop("only"), "p": 1.0}]} if "only" in params else {}
    )
    fields = {
        "unit": unit,
        "family": family,
        "params": params,
        "integer": integer,
        "observations": 1,
        **extra,
    }
    return Law.model_validate(fields)


def _model(
    protocol: str = "udp", *, response: CongestionResponse | None = None, duration_s: float = 40.0
) -> Model:
    """Return about 0.5 Mbit/s of frames of five packets, 25 a second on average, over RTP or
    TCP.
    """
    process = BurstProcess(
        threshold_s=0.01,
        spacing_s=_law("s", "gamma", a=50.0, loc=0.0, scale=0.04 / 50),
        burst_packets=_law("packets", "atoms", only=5.0, integer=True),
        gap_within_s=_law("s", "expon", loc=0.0, scale=0.0002),
        packet_bytes=_law("bytes", "atoms", only=528.0, integer=True),
        last_packet_bytes=_law("bytes", "atoms", only=328.0, integer=True),
    )
    played = Phase(
        name="playout", start_s=0.0, duration_s=duration_s, rate_bps=5e5, process=process
    )
    udp = protocol == "udp"
    rtp = RtpFormat(payload_type=96, clock_hz=90_000, frame_per_burst=True) if udp else None
    made = stream(
        phases=(played,), protocol="udp" if udp else "tcp", header_bytes=28 if udp else 52, rtp=rtp
    )
    model = model_with(made, silence_s=0.5, rate_bps=5e5)
    return model.model_copy(update={"response": response})


def _response(kind: str, *, at_loss: float = 0.4) -> CongestionResponse:
    points = tuple(
        ResponsePoint(
            state=state,
            low=low,
            high=high,
            relative_rate=Estimate(value=rate, method="by hand"),
            intervals=9,
        )
        for state, low, high, rate in (
            ("no loss", 0.0, 1e-9, 1.0),
            ("loss from 0.01 to 1", 0.01, 1.0, at_loss),
        )
    )
    fields = {"kind": kind, "evidence": ("by hand",), "interval_s": 1.0, "curve": points}
    return CongestionResponse.model_validate(fields)


def _media(table: PacketTable) -> PacketTable:
    return table.select(table.to_client & (table.payload_bytes > 0))


def test_over_a_calm_path_udp_sends_its_open_loop_packet_for_packet() -> None:
    model = _model(response=_response("rate_following"))
    opened = _media(trafficgen.generate(model, seed=3, sessions=2))
    closed = _media(trafficgen.generate(model, seed=3, sessions=2, path=CALM))
    for column in (
        "time_ns",
        "ip_bytes",
        "payload_bytes",
        "rtp_sequence",
        "rtp_timestamp",
        "rtp_marker",
    ):
        np.testing.assert_array_equal(closed.values(column), opened.values(column))
    delay_ns = closed.values("arrival_ns").astype(np.int64) - closed.time_ns
    assert set(delay_ns.tolist()) == {10_000_000}


def test_over_a_calm_path_tcp_sends_its_open_loop_but_for_its_acknowledgements(
    tmp_path: Path,
) -> None:
    model = _model("tcp", duration_s=20.0)
    files = tmp_path / "open.parquet", tmp_path / "closed.parquet"
    opened = trafficgen.generate(model, files[0], seed=3)
    closed = trafficgen.generate(model, files[1], seed=3, path="rate=1Gbps,delay=5ms")
    np.testing.assert_array_equal(_media(closed).payload_bytes, _media(opened).payload_bytes)
    metrics: Any = trafficgen.compare(*files).metrics
    assert metrics["gap_s"]["ks"] < 2 / len(_media(opened))
    assert metrics["packet_bytes"]["ks"] == 0


def test_a_slow_path_shapes_tcp_but_loses_none_of_its_bytes() -> None:
    model = _model("tcp", duration_s=10.0)
    with pytest.warns(trafficgen.SimulationWarning, match="they all come, but later"):
        result = trafficgen.simulate(model, path="rate=300kbps,delay=5ms,queue=20p", seed=1)
    wanted = int(_media(trafficgen.generate(model, seed=1)).payload_bytes.sum())
    sent = np.asarray(result.run.columns["payload_bytes"])
    fresh = ~np.asarray(result.run.columns["retransmission"]) & np.asarray(
        result.run.columns["to_client"]
    )
    assert sent[fresh].sum() == wanted
    assert result.end_s > 1.5 * 10
    # From the first arrival to the last there is one packet fewer than arrives.
    assert result.flows[0].measure.rate_kbps == pytest.approx(300, rel=0.005)


@pytest.mark.parametrize("kind", ["thinning", "level_switching", "rate_following"])
def test_a_source_that_answers_sends_less_where_packets_are_lost(kind: str) -> None:
    model = _model(response=_response(kind))
    calm, lossy = (trafficgen.simulate(model, path=path, seed=2) for path in (CALM, LOSSY))
    ratio = lossy.flows[0].measure.offered_kbps / calm.flows[0].measure.offered_kbps
    # The answer begins after the first reports: two of forty seconds are at the full rate, and one
    # is in between.
    assert ratio == pytest.approx(0.4 + 0.6 * 2 / 40, abs=0.03)
    assert calm.run.agents[0]["frames_dropped_at_sender"] == 0


def test_thinning_leaves_frames_out_and_keeps_their_size() -> None:
    result = trafficgen.simulate(_model(response=_response("thinning")), path=LOSSY, seed=2)
    assert result.events.thinned_s == pytest.approx(1.0, abs=1.0)
    frames = result.run.agents[0]["frames_sent"], result.run.agents[0]["frames_dropped_at_sender"]
    assert frames[0] / sum(frames) == pytest.approx(0.43, abs=0.05)
    sent = _media(result.packets())
    assert set(sent.ip_bytes.tolist()) == {528, 328}
    np.testing.assert_array_equal(np.diff(sent.values("rtp_sequence").astype(np.uint16)), 1)


def test_level_switching_tells_its_levels() -> None:
    path = "delay=10ms,loss=10%,loss_start=10s,loss_stop=25s"
    result = trafficgen.simulate(_model(response=_response("level_switching")), path=path, seed=2)
    down, up = result.events.level_changes()
    assert down.to_kbps / down.from_kbps == pytest.approx(0.4)
    assert up.to_kbps == down.from_kbps
    assert 10 < down.time_s < 14
    assert 25 < up.time_s < 32


@pytest.mark.parametrize("kind", ["unresponsive", "unknown"])
def test_other_sources_send_as_if_the_path_were_calm(kind: str) -> None:
    model = _model(response=_response(kind), duration_s=10.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SimulationWarning)
        lossy = trafficgen.simulate(model, path=LOSSY, seed=2)
    assert len(caught) == (kind == "unknown")
    assert lossy.run.outcome.packets == len(trafficgen.generate(model, seed=2))


def test_sessions_and_competitors_of_one_model_draw_apart() -> None:
    model = _model(response=_response("unresponsive"), duration_s=5.0)
    table = trafficgen.generate(model, sessions=3, path="rate=5Mbps,delay=5ms", seed=1)
    starts = [_media(table.select_flows([flow])).time_ns[:50] for flow in range(3)]
    assert len({tuple(times.tolist()) for times in starts}) == 3
