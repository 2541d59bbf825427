"""Sessions over TCP played on the paths that they were captured on: the queues are as full.

What such a source sent is also the path's work: packets sent as they were captured would leave the
queue empty.
"""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import CaptureFinder

import trafficgen
from trafficgen.capture.reading import read_capture


def recorded_delay_ms(find: CaptureFinder, name: str) -> float:
    """Return the mean time in the queue, ms, of data packets that arrived; times are of one clock.

    The n-th of the packets that came once with a sequence number is the same at both ends.
    """
    ends = []
    for end in ("src", "dst"):
        packets = read_capture([find(f"{name}-{end}.pcap")]).table.packets
        is_data = packets["to_client"].to_numpy() & (packets["payload_bytes"].to_numpy() > 0)
        numbers = packets["tcp_sequence"].to_numpy()[is_data]
        times_ns = packets["time_ns"].to_numpy()[is_data]
        once, first, counts = np.unique(numbers, return_index=True, return_counts=True)
        ends.append(dict(zip(once[counts == 1], times_ns[first[counts == 1]], strict=True)))
    sent, came = ends
    delays_ms = np.array([(came[one] - sent[one]) / 1e6 for one in sent if one in came])
    return float(delays_ms.mean() - delays_ms.min())


@pytest.mark.parametrize(
    ("name", "path"),
    [
        # A download, and players that request segments: with pauses, and almost without.
        ("lab/http_unthrottled", "rate=2500kbps,delay=20ms,queue=60kB"),
        ("lab-chunks/abr_p1000_40", "rate=1Mbps,delay=40ms,queue=40kB"),
        ("lab-chunks/fixed_p1000_40", "rate=1Mbps,delay=40ms,queue=40kB"),
    ],
)
@pytest.mark.parametrize("end", ["src", "dst"])
@pytest.mark.filterwarnings("ignore:.*does not show all of its player")
def test_a_session_fills_the_queue_of_its_own_path_as_it_did(
    shared_capture: CaptureFinder, name: str, path: str, end: str
) -> None:
    model = trafficgen.fit(shared_capture(f"{name}-{end}.pcap")).model
    played = trafficgen.simulate(model, path=f"{path},overhead=14B,burst=1600B", seed=1)
    recorded_ms = recorded_delay_ms(shared_capture, name)
    assert 0.8 < played.links[0]["mean_queueing_ms"] / recorded_ms < 1.25
    assert played.links[0]["dropped_queue"] > 0
