"""BBR on a link: how full it is, how flows share it, and what random loss does to it."""

from __future__ import annotations

import pytest

import trafficgen
from trafficgen.errors import SimulationError
from trafficgen.simulation.run import run_scenario

RATE_BPS = 20e6
RTT_S = 0.04
WARM_S, SECONDS = 10, 60


def play(*controls: str, queue_bdp: float, loss: float = 0.0) -> tuple[list[float], float]:
    """Return each bulk flow's share of the link after start-up, and the mean wait, ms."""
    packets = int(RATE_BPS * RTT_S / 8 * queue_bdp / 1500)
    link = {
        "name": "link",
        "capacity": {"constant": {"rate_bps": RATE_BPS}},
        "delay_s": RTT_S / 2,
        "queue": {"packets": packets},
        "loss": {"rate": loss} if loss else None,
    }
    probe = {"rate_bps": 16e3, "packet_bytes": 100, "duration_s": WARM_S + SECONDS}
    agents: list[dict[str, object]] = [
        {"name": "probe", "kind": "cbr", "parameters": probe, "awaited": True}
    ]
    agents += [
        {
            "name": f"tcp-{number}",
            "kind": "bulk_tcp",
            "parameters": {"tcp": {"congestion_control": control}},
            "start_s": 0.037 * number,
        }
        for number, control in enumerate(controls)
    ]
    routes = {"forward": [0], "reverse": [1]}
    outcome = run_scenario(
        {
            "seed": 1,
            "links": [link, {"name": "back", "delay_s": RTT_S / 2}],
            "agents": [agent | routes for agent in agents],
            "end_s": 1e4,
        }
    )
    bulk = [number for number, flow in enumerate(outcome.flows) if flow["name"] == "bulk"]
    start_ns, end_ns = WARM_S * 10**9, (WARM_S + SECONDS) * 10**9
    got = [
        outcome.totals([number], start_ns=start_ns, end_ns=end_ns, media_only=True)["arrived_bytes"]
        for number in bulk
    ]
    wait_ms = outcome.links[0]["mean_queueing_ms"]
    assert wait_ms is not None
    return [arrived * 8 / SECONDS / RATE_BPS for arrived in got], wait_ms


def test_a_single_flow_fills_the_link_and_leaves_the_queue_short() -> None:
    (share,), wait_ms = play("bbr", queue_bdp=4)
    assert share >= 0.95
    assert wait_ms < 0.25 * RTT_S * 1000  # so that about 1 BDP is under way
    assert play("cubic", queue_bdp=4)[1] > 2 * RTT_S * 1000


def test_random_loss_slows_cubic_and_not_bbr() -> None:
    (bbr,), _ = play("bbr", queue_bdp=2, loss=0.01)
    (cubic,), _ = play("cubic", queue_bdp=2, loss=0.01)
    assert bbr >= 0.9
    assert cubic < 0.4


def test_two_flows_share_fairly_and_keep_the_link_full() -> None:
    shares, _ = play("bbr", "bbr", queue_bdp=4)
    assert shares == pytest.approx([0.5, 0.5], rel=0.2)
    assert sum(shares) >= 0.95


def test_beside_cubic_bbr_gets_less_the_deeper_the_queue() -> None:
    shallow, deep = (play("bbr", "cubic", queue_bdp=queue_bdp)[0] for queue_bdp in (0.5, 8))
    assert shallow[0] > 0.7
    assert deep[0] < 0.5
    assert sum(deep) >= 0.95


def test_version_3_fills_a_link_and_leaves_room_for_cubic() -> None:
    (share,), wait_ms = play("bbr3", queue_bdp=4)
    assert share >= 0.95
    assert wait_ms < 0.25 * RTT_S * 1000
    first, third = (play(control, "cubic", queue_bdp=0.5)[0] for control in ("bbr", "bbr3"))
    assert third[1] > 2 * first[1]
    assert sum(third) >= 0.95


def test_media_over_tcp_takes_the_control_that_is_set() -> None:
    path = "rate=2Mbps,delay=40ms,queue=30p,loss=0.02"
    media_bytes = {
        control: trafficgen.simulate("chunked", path=path, tcp=control, duration_s=60).links[0][
            "bytes_out"
        ]
        for control in (None, "reno", "cubic", "bbr", "bbr3")
    }
    assert media_bytes[None] == media_bytes["cubic"]
    assert media_bytes["bbr"] > 1.1 * media_bytes["reno"]
    assert media_bytes["bbr3"] > media_bytes["reno"]


def test_a_control_that_cannot_be_set_is_refused() -> None:
    with pytest.raises(SimulationError, match="tcp=bb: unknown congestion control"):
        trafficgen.simulate("chunked", path="rate=2Mbps", tcp="bb")
    with pytest.raises(SimulationError, match="cbr opens no TCP connection"):
        trafficgen.simulate("cbr", path="rate=2Mbps", tcp="bbr")
