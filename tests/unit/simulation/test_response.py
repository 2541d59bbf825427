"""The engine's response from what calibration found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from trafficgen.errors import SimulationWarning
from trafficgen.models import (
    Atom,
    CongestionResponse,
    Estimate,
    Law,
    Model,
    Phase,
    Playout,
    PooledResponse,
    PublishedProvenance,
    PublishedSource,
    RenewalProcess,
    Startup,
    Stream,
    Transport,
)
from trafficgen.simulation.response import response_parameters
from trafficgen.simulation.sources import tcp_parameters


def _estimate(value: float) -> Estimate:
    return Estimate(value=value, method="by hand")


def _model(protocol: str = "udp", **fields: Any) -> Model:
    size = Law(
        unit="bytes", family="atoms", atoms=(Atom(value=1000, p=1.0),), integer=True, observations=1
    )
    gap = Law(unit="s", family="expon", params={"loc": 0.0, "scale": 0.01}, observations=1)
    phase = Phase(
        name="playout",
        start_s=0.0,
        duration_s=10.0,
        rate_bps=8e5,
        process=RenewalProcess(gap_s=gap, packet_bytes=size),
    )
    transport = Transport.model_validate(
        {
            "protocol": protocol,
            "server_port": 1,
            "client_port": 2,
            "header_bytes": {"udp": 28, "tcp": 52}[protocol],
        }
    )
    source = PublishedSource(
        authors=("Nobody",), year=2000, title="Made by hand", supports=("tests",)
    )
    return Model(
        name="by_hand",
        provenance=PublishedProvenance(citations=(source,)),
        startup=Startup(silence_s=_estimate(0.0)),
        playout=Playout(duration_s=_estimate(10.0), rate_bps=_estimate(8e5)),
        streams=(Stream(name="video", media="video", transport=transport, phases=(phase,)),),
        **fields,
    )


def _response(
    kind: str, *, effect: float | None = None, curve: Sequence[tuple[str, float, float]] = ()
) -> Any:
    points = [
        {
            "state": state,
            "low": low,
            "high": low + 0.1,
            "relative_rate": _estimate(rate),
            "intervals": 9,
        }
        for state, low, rate in curve
    ]
    fields = {"kind": kind, "evidence": ("by hand",), "interval_s": 2.0, "curve": tuple(points)}
    return CongestionResponse.model_validate(
        {**fields, "effect": None if effect is None else _estimate(effect)}
    )


def test_rates_of_a_curve_are_relative_to_the_calmest_state_and_never_above_it() -> None:
    curve = [
        ("no loss", 0.0, 1.25),
        ("loss from 0.01 to 0.05", 0.01, 1.3),
        ("loss from 0.05 to 0.2", 0.05, 0.5),
    ]
    found: Any = response_parameters(_model(response=_response("rate_following", curve=curve)))
    assert found["report_interval_s"] == 2.0
    assert found["curves"] == [
        {
            "condition": "loss_rate",
            "points": [(0.0, 1.0), (0.01, 1.0), (0.05, 0.4)],
            "in_steps": True,
        }
    ]


def test_without_a_curve_the_effect_holds_where_calibration_calls_a_path_congested() -> None:
    found: Any = response_parameters(_model(response=_response("level_switching", effect=0.6)))
    assert [(one["condition"], one["points"]) for one in found["curves"]] == [
        ("loss_rate", [(0.0, 1.0), (0.01, 0.6)]),
        ("queueing_delay_s", [(0.0, 1.0), (0.05, 0.6)]),
    ]
    assert found["levels"] == [1.0, 0.6]


def test_several_captures_count_before_one() -> None:
    points = [
        {
            "condition": at,
            "low": at,
            "high": at,
            "relative_rate": _estimate(rate),
            "intervals": 5,
            "captures": 2,
        }
        for at, rate in ((2e5, 0.2), (1e6, 0.8))
    ]
    curve = {
        "condition": "link_rate_bps",
        "points": points,
        "end_to_end": _estimate(0.25),
        "capture_log_deviation": 0.1,
        "method": "by hand",
    }
    pooled = PooledResponse.model_validate(
        {
            "kind": "rate_following",
            "evidence": ("by hand",),
            "interval_s": 1.0,
            "uncongested_rate_bps": 1e6,
            "source": "a",
            "captures": ("a", "b"),
            "curves": (curve,),
        }
    )
    found: Any = response_parameters(_model(response=_response("unresponsive"), same_source=pooled))
    assert found["curves"] == [
        {"condition": "throughput_bps", "points": [(2e5, 0.25), (1e6, 1.0)], "in_steps": False}
    ]


@pytest.mark.parametrize("response", [None, _response("unknown"), _response("thinning")])
def test_an_unknown_response_is_a_warning(response: CongestionResponse | None) -> None:
    with pytest.warns(SimulationWarning, match="by_hand: .*unknown"):
        assert response_parameters(_model(response=response)) is None


def test_tcp_answers_by_itself() -> None:
    assert (
        response_parameters(_model("tcp", response=_response("rate_following", effect=0.5))) is None
    )
    transports = [
        _model("tcp").streams[0].transport.model_copy(update={"header_bytes": size})
        for size in (40, 52)
    ]
    assert [tcp_parameters(transport) for transport in transports] == [
        {"timestamps": False},
        {"timestamps": True},
    ]
