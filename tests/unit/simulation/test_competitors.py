"""Competing flows as users name them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import trafficgen
from trafficgen.errors import SimulationError
from trafficgen.simulation.competitors import Competitor, participants
from trafficgen.simulation.sources import Source


def _model(name: str, options: Mapping[str, str]) -> Source:
    return Source(name, "some_kind", dict(options))


def test_times_kinds_and_names_are_understood() -> None:
    texts = [
        "tcp@-10s",
        "tcp:reno@-10s..60s",
        "cbr:200kbps",
        "ping",
        "cbr:1Mbps(packet_bytes=500)@3..4.5",
    ]
    found = participants(map(Competitor.parse, texts), _model)
    assert [one.name for one in found] == ["tcp-1", "tcp-2", "cbr-1", "ping-1", "cbr-2"]
    assert [(one.start_s, one.stop_s) for one in found] == [
        (-10, None),
        (-10, 60),
        (0, None),
        (0, None),
        (3, 4.5),
    ]
    controls = [one.source.parameters["tcp"] for one in found[:2]]
    assert controls == [{"congestion_control": "cubic"}, {"congestion_control": "reno"}]
    assert found[4].source.parameters == {"rate_bps": 1e6, "packet_bytes": 500, "duration_s": None}


def test_quic_has_the_controls_of_tcp_and_settings_of_its_own() -> None:
    texts = ["quic", "up:quic:bbr3@1s", "quic:reno(ack_every_packets=10,bytes=2MB)"]
    found = participants(map(Competitor.parse, texts), _model)
    assert [one.name for one in found] == ["quic-1", "up-quic-1", "quic-2"]
    assert [one.source.parameters["quic"] for one in found] == [
        {"congestion_control": "cubic"},
        {"congestion_control": "bbr3"},
        {"congestion_control": "reno", "ack_every_packets": 10},
    ]
    assert found[2].source.parameters["bytes"] == 2_000_000


def test_models_come_with_options_that_may_be_lists() -> None:
    competitor = Competitor.parse("some_model(clip=12,rates=[1,2],name=a b)@5s")
    assert competitor.options == {"clip": "12", "rates": "[1,2]", "name": "a b"}
    (one,) = participants([competitor], _model)
    assert (one.name, one.source.kind, one.start_s) == ("some_model-1", "some_kind", 5.0)


def test_cbr_without_a_rate_is_the_model_of_that_name() -> None:
    (one,) = participants([Competitor.parse("cbr(rate_kbps=300)@5s")], _model)
    assert (one.source.kind, one.start_s) == ("some_kind", 5.0)


def test_a_model_file_may_have_a_folder() -> None:
    assert Competitor.parse("../models/a.json@-1s").what == "../models/a.json"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "not understood"),
        ("@5s", "not understood"),
        ("tcp@soon", "invalid time 'soon'"),
        ("tcp@5s..2s", "correct the times"),
        ("tcp:vegas", "cubic, reno, bbr or bbr3"),
        ("cbr:200", "cbr:200kbps"),
        ("cbr:0kbps", "cbr:200kbps"),
        ("m(a)", "not key=value"),
        ("m(a=1,a=2)", "twice"),
    ],
)
def test_the_rest_is_refused_in_one_line(text: str, part: str) -> None:
    with pytest.raises(SimulationError) as refused:
        participants([Competitor.parse(text)], _model)
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)


def test_uploads_and_flows_over_one_link_are_named() -> None:
    found = participants(map(Competitor.parse, ["up:tcp:bbr@1s", "cbr:1Mbps(via=wan)"]), _model)
    assert [one.name for one in found] == ["up-tcp-1", "cbr-1"]
    assert [(one.is_upload, one.via) for one in found] == [(True, None), (False, "wan")]
    assert found[1].source.settings == {"rate": "1Mbps"}


def test_an_upload_fills_the_queue_towards_the_servers() -> None:
    path = "rate=10Mbps,reverse_rate=1Mbps,delay=10ms"
    alone, beside = (
        trafficgen.simulate("cbr", path=path, compete=compete, duration_s=20)
        for compete in ((), "up:tcp")
    )
    upload = beside.flows[-1]
    assert upload.name == "up-tcp-1"
    assert 850 < upload.measure.rate_kbps < 1000
    forward, reverse = beside.links
    assert reverse["bytes_in"] > 1e6 > forward["bytes_in"] - alone.links[0]["bytes_in"]
    assert beside.flows[0].measure.loss == 0


def test_a_parking_lot_gives_the_long_flow_less_than_each_short_one() -> None:
    links = [{"name": name, "rate": "2Mbps", "delay": "5ms", "queue": "30p"} for name in "abc"]
    result = trafficgen.simulate(
        "cbr",
        path={"links": links},
        compete=["tcp@1s", *(f"tcp(via={name})@1s" for name in "abc")],
        settings={"rate_kbps": 50, "duration_s": 60},
        seed=3,
    )
    long, *short = (flow.measure.rate_kbps for flow in result.flows[1:])
    assert all(0 < long < rate for rate in short)
    assert all(long + rate == pytest.approx(1950, rel=0.05) for rate in short)
    for link in result.links:
        assert link["packets_in"] == link["packets_out"] + link["dropped_queue"]


def test_a_link_that_is_not_there_is_named() -> None:
    with pytest.raises(SimulationError, match="tcp-1: the path has no link 'wam'"):
        trafficgen.simulate("cbr", path="rate=1Mbps,delay=1ms", compete="tcp(via=wam)")
