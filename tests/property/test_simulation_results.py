"""Any path: what `simulate` reports is what its packet table says, and no packet is lost on the way
to the report.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trafficgen.simulation.competitors import Competitor, participants
from trafficgen.simulation.path import Path
from trafficgen.simulation.results import SimulationResult
from trafficgen.simulation.run import run_path
from trafficgen.simulation.sources import Participant, Source

_KEYS = st.fixed_dictionaries(
    {"rate": st.sampled_from(["5kbps", "200kbps", "2Mbps"])},
    optional={
        "delay": st.sampled_from(["0", "45ms", "3s"]),
        "queue": st.sampled_from(["1p", "1B", "1500B", "20p"]),
        "loss": st.sampled_from(["0.03", "50%", "1"]),
        "access": st.sampled_from(["1kbps", "1Mbps"]),
        "reverse_loss": st.sampled_from(["0.1", "1"]),
        "hold": st.just("in_flight"),
    },
)
_NAMES = ["tcp@-1s", "tcp:reno@0.3s..0.7s", "tcp@5s", "quic@-1s", "up:quic:bbr@0.3s..1s"]
_FLOWS = st.lists(st.sampled_from([*_NAMES, "cbr:50kbps@-0.5s..0.5s", "ping"]), max_size=3)


def _simulated(keys: dict[str, str], flows: list[str], seed: int) -> SimulationResult:
    source = Source("cbr", "cbr", {"rate_bps": 2e5, "packet_bytes": 500, "duration_s": 2.0})
    competitors = participants([Competitor.parse(flow) for flow in flows], lambda *_: source)
    path = Path.parse(",".join(f"{key}={value}" for key, value in keys.items()))
    run = run_path(path, [Participant("media", source, is_session=True)], competitors, seed=seed)
    return SimulationResult(run, {"seed": seed})


@settings(max_examples=15, deadline=None)
@given(keys=_KEYS, flows=_FLOWS, seed=st.integers(0, 2**64 - 1))
def test_results_are_those_of_the_packet_table(
    keys: dict[str, str], flows: list[str], seed: int
) -> None:
    result = _simulated(keys, flows, seed)
    packets = result.packets().packets
    flow, to_client = packets["flow"].to_numpy(), packets["to_client"].to_numpy()
    sent_ns, ip_bytes = packets["time_ns"].to_numpy(), packets["ip_bytes"].to_numpy()
    arrival_ns = packets["arrival_ns"].fill_null(-1).to_numpy()
    arrived = arrival_ns >= 0
    assert (arrival_ns >= sent_ns)[arrived].all()
    dropped = sum(link["dropped_random"] + link["dropped_queue"] for link in result.links)
    assert (~arrived).sum() == dropped
    media = to_client & np.isin(flow, result.media_flows)
    spans = [times[of] for times, of in ((arrival_ns, media & arrived), (sent_ns, media))]
    if min(span.size for span in spans) < 2:
        return
    for one in result.flows:
        own = to_client & np.isin(flow, one.flows)
        in_time = own & arrived & (arrival_ns >= spans[0].min()) & (arrival_ns <= spans[0].max())
        received_s, sent_s = (np.ptp(span) / 1e9 for span in spans)
        assert one.measure.rate_kbps == pytest.approx(
            ip_bytes[in_time].sum() * 8e-3 / received_s, rel=1e-6
        )
        in_time = own & (sent_ns >= spans[1].min()) & (sent_ns <= spans[1].max())
        assert one.measure.offered_kbps == pytest.approx(
            ip_bytes[in_time].sum() * 8e-3 / sent_s, rel=1e-6
        )
        if in_time.any():
            assert one.measure.loss == pytest.approx((in_time & ~arrived).sum() / in_time.sum())
    json.dumps(result.to_json())


@settings(max_examples=5, deadline=None)
@given(keys=_KEYS, flows=_FLOWS, seed=st.integers(0, 2**64 - 1))
def test_the_same_seed_gives_the_same_result(
    keys: dict[str, str], flows: list[str], seed: int
) -> None:
    first, second = (_simulated(keys, flows, seed) for _ in range(2))
    assert first.packets().packets.equals(second.packets().packets)
    assert json.dumps(first.to_json()) == json.dumps(second.to_json())
