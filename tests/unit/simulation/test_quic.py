"""QUIC on a link: its share next to TCP, packets on the wire, acknowledgements."""

from __future__ import annotations

import numpy as np
import pytest

import trafficgen
from trafficgen.errors import SimulationError
from trafficgen.simulation.outcome import Outcome, TotalsDict
from trafficgen.simulation.run import run_scenario

RATE_BPS, RTT_S = 10e6, 0.04
WARM_S, SECONDS = 10, 60


def play(*flows: str, queue_packets: int = 60, **settings: object) -> tuple[Outcome, list[int]]:
    """Return what comes of bulk flows such as ``quic:cubic``, and the numbers of the flows."""
    link = {
        "name": "link",
        "capacity": {"constant": {"rate_bps": RATE_BPS}},
        "delay_s": RTT_S / 2,
        "queue": {"packets": queue_packets},
    }
    probe = {"rate_bps": 16e3, "packet_bytes": 100, "duration_s": WARM_S + SECONDS}
    agents: list[dict[str, object]] = [
        {"name": "probe", "kind": "cbr", "parameters": probe, "awaited": True}
    ]
    for number, flow in enumerate(flows):
        transport, _, control = flow.partition(":")
        own = settings if transport == "quic" else {}
        parameters = {transport: {"congestion_control": control, **own}}
        agents.append(
            {
                "name": f"{transport}-{number}",
                "kind": "bulk_tcp",
                "parameters": parameters,
                "start_s": 0.037 * number,
            }
        )
    outcome = run_scenario(
        {
            "seed": 1,
            "links": [link, {"name": "back", "delay_s": RTT_S / 2}],
            "agents": [agent | {"forward": [0], "reverse": [1]} for agent in agents],
            "end_s": 1e4,
        }
    )
    return outcome, [number for number, one in enumerate(outcome.flows) if one["name"] == "bulk"]


def count(outcome: Outcome, flow: int, *, to_client: bool = True) -> TotalsDict:
    """Return the sums over a flow's packets after start-up."""
    return outcome.totals([flow], start_ns=WARM_S * 10**9, to_client=to_client)


@pytest.mark.parametrize("control", ["reno", "bbr3"])
def test_beside_the_same_control_over_tcp_it_takes_about_half(control: str) -> None:
    outcome, flows = play(f"quic:{control}", f"tcp:{control}")
    quic, tcp = (count(outcome, flow)["arrived_bytes"] for flow in flows)
    assert 0.4 < quic / (quic + tcp) < 0.6


def test_packets_on_the_wire_are_datagrams_of_plausible_sizes() -> None:
    outcome, (flow,) = play("quic:cubic")
    columns = outcome.columns
    assert not columns["tcp_known"].any()
    of_flow = columns["flow"] == flow
    payload = columns["payload_bytes"]
    down = payload[of_flow & columns["to_client"]]
    up = payload[of_flow & ~columns["to_client"]]
    assert np.median(down) == down.max() == 1350
    assert up[0] == 1200
    assert 33 <= np.median(up) <= 42
    assert up.size / down.size == pytest.approx(0.5, abs=0.02)


def test_acknowledgements_come_as_often_as_they_are_set() -> None:
    for settings, expected in (
        ({"ack_every_packets": 10}, 0.1),
        ({"ack_every_packets": 100, "ack_delay_ns": 1_000_000}, 1.0),  # one comes each 1.1 ms
    ):
        outcome, (flow,) = play("quic:cubic", **settings)
        up = count(outcome, flow, to_client=False)["sent_packets"]
        assert up / count(outcome, flow)["sent_packets"] == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("flow", ["quic:cubic", "quic:bbr", "tcp:bbr"])
def test_a_paced_flow_sends_from_its_start_also_before_the_session(flow: str) -> None:
    result = trafficgen.simulate(
        "cbr",
        path="rate=2Mbps,delay=20ms,queue=30p",
        compete=f"{flow}@-5s",
        settings={"rate_kbps": 100, "duration_s": 2},
    )
    bulk = [number for number, one in enumerate(result.run.flows) if one["name"] == "bulk"]
    before = result.run.outcome.totals(bulk, end_ns=result.run.time_zero_ns)
    assert before["arrived_bytes"] * 8 > 0.8 * 5 * 2e6


def test_an_unknown_control_or_setting_of_quic_is_refused() -> None:
    path = "rate=1Mbps,delay=20ms"
    with pytest.raises(SimulationError, match="compete=quic:vegas: unknown congestion control"):
        trafficgen.simulate("cbr", path=path, compete="quic:vegas")
    with pytest.raises(SimulationError, match="datagram_bytes must be between 1200"):
        trafficgen.simulate("cbr", path=path, compete="quic(datagram_bytes=500)")
