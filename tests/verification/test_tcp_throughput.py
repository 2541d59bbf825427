"""Bulk TCP over the engine's links against the laws of its throughput.

Mathis, Semke, Mahdavi and Ott (1997): rate = sqrt(3 / 2b) MSS / (RTT sqrt(p)), b segments an
acknowledgement. Padhye, Firoiu, Towsley and Kurose (1998), equation 30, holds where timeouts
matter. RFC 9438, 5.1, is CUBIC's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.verification.kernel_mixes import JITTER_S
from tests.verification.records import RecordCheck

from trafficgen.simulation.run import run_scenario
from trafficgen.units import kbps_from_bps

MSS_BYTES = 1448
ONE_WAY_S = 0.05
RTT_S = 2 * ONE_WAY_S
ACK_EVERY = 2
HEADERS_BYTES = 52
#: Random losses a run must see: the rate of a sawtooth has a relative deviation near 1 / sqrt(2 x
#: losses).
LOSSES = 250
#: So rare that a run that sees enough of them is long.
RARE_LOSS = pytest.param(1e-4, marks=pytest.mark.long)


def over_random_loss(loss: float, tcp: dict[str, Any], *, seed: int) -> float:
    """Return the payload rate of one bulk flow on a link that is fast and loses at random,
    bit/s.
    """
    expected_bps = math.sqrt(3 / (2 * ACK_EVERY)) * MSS_BYTES * 8 / (RTT_S * math.sqrt(loss))
    duration_s = max(60.0, LOSSES / loss * MSS_BYTES * 8 / expected_bps)
    links = [
        {"name": "there", "delay_s": ONE_WAY_S, "loss": {"rate": loss}},
        {"name": "back", "delay_s": ONE_WAY_S},
    ]
    agent = {
        "name": "tcp",
        "kind": "bulk_tcp",
        "parameters": {"tcp": tcp},
        "forward": [0],
        "reverse": [1],
    }
    outcome = run_scenario({"seed": seed, "links": links, "agents": [agent], "end_s": duration_s})
    # The first loss ends slow start, which is not part of the law.
    start_s = duration_s * 0.1
    got = outcome.totals([0], start_ns=round(start_s * 1e9), media_only=True)
    payload_bytes = got["arrived_bytes"] - HEADERS_BYTES * got["arrived_packets"]
    return payload_bytes * 8 / (duration_s - start_s)


def mathis_bps(loss: float) -> float:
    return math.sqrt(3 / (2 * ACK_EVERY)) * MSS_BYTES * 8 / (RTT_S * math.sqrt(loss))


def padhye_bps(loss: float, *, timeout_s: float) -> float:
    in_recovery = RTT_S * math.sqrt(2 * ACK_EVERY * loss / 3)
    share = min(1.0, 3 * math.sqrt(3 * ACK_EVERY * loss / 8))
    return MSS_BYTES * 8 / (in_recovery + timeout_s * share * loss * (1 + 32 * loss**2))


#: Reno as the laws have it: a window that grows by acknowledgements, not by bytes.
RENO = {"congestion_control": "reno", "appropriate_byte_counting": False}


@pytest.mark.parametrize("loss", [RARE_LOSS, 1e-3, 1e-2])
@pytest.mark.parametrize(("sack", "within"), [(False, 0.15), (True, 0.20)])
def test_reno_follows_mathis_at_random_loss(
    loss: float, sack: bool, within: float, record_check: RecordCheck
) -> None:
    rates = [over_random_loss(loss, {**RENO, "sack": sack}, seed=seed) for seed in (1, 2)]
    record_check(
        f"Reno {'with' if sack else 'without'} SACK at loss {loss:g}: Mathis",
        expected=kbps_from_bps(mathis_bps(loss)),
        measured=kbps_from_bps(float(np.mean(rates))),
        unit="kbps",
        accepted=f"{within:.0%}",
    )
    assert np.mean(rates) == pytest.approx(mathis_bps(loss), rel=within)


@pytest.mark.parametrize("loss", [0.02, 0.05])
@pytest.mark.parametrize(("sack", "within"), [(False, 0.15), (True, 0.20)])
def test_reno_follows_padhye_where_timeouts_matter(
    loss: float, sack: bool, within: float, record_check: RecordCheck
) -> None:
    # The timeout is the smoothed round-trip time and the least variation that is added to it, 0.2 s
    # here as in Linux.
    rates = [over_random_loss(loss, {**RENO, "sack": sack}, seed=seed) for seed in (1, 2)]
    expected_bps = padhye_bps(loss, timeout_s=RTT_S + 0.2)
    record_check(
        f"Reno {'with' if sack else 'without'} SACK at loss {loss:g}: Padhye",
        expected=kbps_from_bps(expected_bps),
        measured=kbps_from_bps(float(np.mean(rates))),
        unit="kbps",
        accepted=f"{within:.0%}",
    )
    assert np.mean(rates) == pytest.approx(expected_bps, rel=within)


@pytest.mark.parametrize("loss", [RARE_LOSS, 1e-3])
def test_cubic_follows_its_response_function(loss: float, record_check: RecordCheck) -> None:
    window = (0.4 * (3 + 0.7) / (4 * (1 - 0.7))) ** 0.25 * RTT_S**0.75 / loss**0.75
    rates = [over_random_loss(loss, {"congestion_control": "cubic"}, seed=seed) for seed in (1, 2)]
    reno_like = math.sqrt(3 / 2) / math.sqrt(loss)
    expected_bps = max(window, reno_like) * MSS_BYTES * 8 / RTT_S
    record_check(
        f"CUBIC at loss {loss:g}: RFC 9438",
        expected=kbps_from_bps(expected_bps),
        measured=kbps_from_bps(float(np.mean(rates))),
        unit="kbps",
        accepted="20%",
    )
    assert np.mean(rates) == pytest.approx(expected_bps, rel=0.20)


@pytest.mark.parametrize("congestion_control", ["reno", "cubic"])
def test_two_equal_flows_share_a_link_equally_in_the_long_run(
    congestion_control: str, record_check: RecordCheck
) -> None:
    # Senders that are in step do not share equally: one finds a full queue again and again.
    way = {"delay_s": 0.02, "delay_jitter_s": JITTER_S}
    links = [
        {
            "name": "there",
            "capacity": {"constant": {"rate_bps": 4e6}},
            "queue": {"packets": 30},
            **way,
        },
        {"name": "back", **way},
    ]
    shares = []
    for seed in range(4):
        agents = [
            {
                "name": f"tcp-{number}",
                "kind": "bulk_tcp",
                "parameters": {"tcp": {"congestion_control": congestion_control}},
                "start_s": (0.37 + 0.11 * seed) * number,
                "forward": [0],
                "reverse": [1],
            }
            for number in range(2)
        ]
        outcome = run_scenario({"seed": seed, "links": links, "agents": agents, "end_s": 320})
        got = [outcome.totals([flow], start_ns=20 * 10**9)["arrived_bytes"] for flow in range(2)]
        assert sum(got) * 8 / 300 == pytest.approx(4e6, rel=0.03)
        shares.append(got[0] / sum(got))
    record_check(
        f"share of one of two equal {congestion_control} flows",
        expected=0.5,
        measured=float(np.mean(shares)),
        unit="share",
        accepted="0.05",
    )
    assert np.mean(shares) == pytest.approx(0.5, abs=0.05)
