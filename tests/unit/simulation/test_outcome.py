"""Sums over the packets of a simulation are those of a loop over them."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import pytest

import trafficgen
from trafficgen.simulation.outcome import Outcome
from trafficgen.tables import PHASES

CONGESTED = "rate=500kbps,delay=30ms,queue=15p,loss=2%,access=2Mbps,reverse_loss=1%"


@pytest.fixture(scope="module")
def outcome() -> Outcome:
    result = trafficgen.simulate(
        "wmedia9_nichols2004", path=CONGESTED, compete=["tcp@1s..6s", "ping"], duration_s=12
    )
    return result.run.outcome


@pytest.fixture(scope="module")
def packets(outcome: Outcome) -> list[dict[str, Any]]:
    columns = {name: column.tolist() for name, column in outcome.columns.items()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_media(packet: dict[str, Any]) -> bool:
    return packet["payload_bytes"] > 0 and PHASES[packet["phase"]] != "probe"


def _of(
    packets: list[dict[str, Any]], flows: list[int], *, to_client: bool = True, media: bool
) -> list[dict[str, Any]]:
    return [
        one
        for one in packets
        if one["flow"] in flows and one["to_client"] == to_client and (not media or _is_media(one))
    ]


@pytest.mark.parametrize("interval_ns", [(None, None), (2 * 10**9, 5 * 10**9)])
def test_totals_are_those_of_a_loop(
    outcome: Outcome, packets: list[dict[str, Any]], interval_ns: tuple[int | None, int | None]
) -> None:
    start_ns, end_ns = interval_ns
    from_ns, to_ns = (-(2**62), 2**62) if start_ns is None or end_ns is None else (start_ns, end_ns)
    assert outcome.packets == len(packets)
    everything = list(range(len(outcome.flows)))
    for flows, way, media in itertools.product(([], [0], everything), (True, False), (True, False)):
        counted = _of(packets, flows, to_client=way, media=media)
        sent = [one for one in counted if from_ns <= one["time_ns"] < to_ns]
        arrived = [
            one for one in counted if one["arrived"] and from_ns <= one["arrival_ns"] < to_ns
        ]
        delays_s = [(one["arrival_ns"] - one["time_ns"]) / 1e9 for one in sent if one["arrived"]]
        arrivals_ns = [one["arrival_ns"] for one in arrived]
        found = outcome.totals(
            flows, start_ns=start_ns, end_ns=end_ns, to_client=way, media_only=media
        )
        mean_s = sum(delays_s) / len(delays_s) if delays_s else None
        assert found["mean_delay_s"] == (mean_s and pytest.approx(mean_s, rel=1e-12))
        assert found == {
            "sent_packets": len(sent),
            "sent_bytes": sum(one["ip_bytes"] for one in sent),
            "arrived_packets": len(arrived),
            "arrived_bytes": sum(one["ip_bytes"] for one in arrived),
            "dropped_packets": sum(one["drop"] > 0 for one in sent),
            "retransmissions": sum(one["retransmission"] for one in sent),
            "mean_delay_s": found["mean_delay_s"],
            "first_sent_ns": sent[0]["time_ns"] if sent else None,
            "last_sent_ns": sent[-1]["time_ns"] if sent else None,
            "first_arrived_ns": min(arrivals_ns, default=None),
            "last_arrived_ns": max(arrivals_ns, default=None),
        }


@pytest.mark.parametrize("media", [True, False])
@pytest.mark.parametrize("by", ["sent", "arrived", "dropped"])
def test_bins_are_those_of_a_loop(
    outcome: Outcome,
    packets: list[dict[str, Any]],
    by: Literal["sent", "arrived", "dropped"],
    media: bool,
) -> None:
    flows, wanted = list(range(len(outcome.flows))), np.zeros((2, 10))
    for one in _of(packets, flows, media=media):
        if by == "sent" or (one["arrived"] if by == "arrived" else one["drop"] > 0):
            place = (one["arrival_ns" if by == "arrived" else "time_ns"] - 10**9) // (5 * 10**8)
            if 0 <= place < 10:
                wanted[:, place] += one["ip_bytes"], 1
    found = outcome.bin_packets(
        flows, by=by, origin_ns=10**9, interval_ns=5 * 10**8, bins=10, media_only=media
    )
    assert wanted.any()
    np.testing.assert_array_equal(found, wanted)
