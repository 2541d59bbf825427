"""What players did in recorded sessions, against their logs: segment clock, rungs, switches, start
and buffer.

Not found: the clock of a player that the path never let wait.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.application.recognition import recognise_application
from trafficgen.models import Application
from trafficgen.units import ns_from_s

CaptureFinder = Callable[[str], Path]
#: Sessions -> duration of a segment, s, and rungs with fewer segments than can be distinguished.
SESSIONS = {
    "lab-chunks/abr_p1000_40": (2.0, 0),
    "lab-chunks/abr_p3000_25": (2.0, 0),
    "lab-chunks/fixed_p3000_25": (4.0, 0),
    "lab-chunks/quic_p1000_40": (2.0, 0),
    "lab-chunks/quic_p3000_25": (2.0, 0),
    "lab/dash_steps": (2.0, 1),
    "lab/hls_cubic": (2.0, 1),
}


def recognised(
    shared_capture: CaptureFinder, name: str, side: str
) -> tuple[Application | None, dict[str, Any]]:
    """Return what is found of a session, with times from the log's zero, and the log."""
    truth = json.loads(shared_capture(f"{name}.json").read_text())
    found = trafficgen.measure_exchanges(str(shared_capture(f"{name}-{side}.pcap")))
    return recognise_application(found, first_media_ns=ns_from_s(truth["t0_unix_s"]))[0], truth


@pytest.mark.parametrize("side", ["src", "dst"])
@pytest.mark.parametrize("name", SESSIONS)
def test_clock_and_rungs_of_segments(shared_capture: CaptureFinder, name: str, side: str) -> None:
    found, truth = recognised(shared_capture, name, side)
    segment_s, fewest = SESSIONS[name]
    assert found is not None
    assert found.segment_s is not None
    assert found.segment_s.value == pytest.approx(segment_s, rel=0.01)
    sizes: dict[float, list[int]] = {}
    for event in truth["player_log"]:
        if event["event"] == "segment" and "bytes" in event:
            sizes.setdefault(event["kbps"], []).append(event["bytes"])
    rates = [rung.rate_kbps.value for rung in found.rungs]
    for of_rung in sizes.values():
        if len(of_rung) > fewest:
            true_kbps = np.mean(of_rung) * 8 / 1000 / segment_s
            assert min(abs(rate / true_kbps - 1) for rate in rates) <= 0.03


@pytest.mark.parametrize("side", ["src", "dst"])
@pytest.mark.parametrize("name", [name for name in SESSIONS if "fixed" not in name])
def test_switches_are_found_within_a_segment(
    shared_capture: CaptureFinder, name: str, side: str
) -> None:
    found, truth = recognised(shared_capture, name, side)
    wanted = [
        event["t_s"]
        for event in truth["switches"]
        if event["event"] == "switch_requested" and event["from_kbps"] is not None
    ]
    assert found is not None
    hits = sum(any(abs(one.time_s - at) <= 2.0 for one in found.switches) for at in wanted)
    assert hits >= 0.9 * len(wanted)
    assert len(found.switches) <= len(wanted) + 2


@pytest.mark.parametrize("side", ["src", "dst"])
@pytest.mark.parametrize(
    ("name", "target_s"),
    [
        # Media that a player holds less a segment, which is what it asks for then.
        ("lab-chunks/abr_p1000_40", 14),
        ("lab-chunks/abr_p3000_25", 14),
        ("lab-chunks/fixed_p3000_25", 16),
        ("lab-chunks/quic_p1000_40", 14),
        ("lab-chunks/quic_p3000_25", 14),
        ("lab/hls_cubic", 20),
        ("lab/dash_steps", None),
    ],
)
def test_start_and_buffer_are_those_of_the_logs(
    shared_capture: CaptureFinder, name: str, side: str, target_s: float | None
) -> None:
    found, truth = recognised(shared_capture, name, side)
    assert found is not None
    startup, target = found.startup_s, found.buffer_target_s
    assert startup is not None
    assert startup.value == pytest.approx(truth["playback_start_s"], abs=0.2)
    if target_s is None:  # segments that were fetched again make its buffer unknown
        assert (found.stalls, target) == (None, None)
        return
    assert found.stalls == ()
    assert target is not None
    assert target.value == pytest.approx(target_s, abs=0.3)
    assert target.low is not None
    assert target.high is not None
    assert target.low <= target_s <= target.high


@pytest.mark.parametrize("side", ["src", "dst"])
def test_throughput_is_left_for_hls_js(shared_capture: CaptureFinder, side: str) -> None:
    found, _ = recognised(shared_capture, "lab/hls_cubic", side)
    assert found is not None
    assert found.policy is not None
    weights = {found.policy.family: found.policy.weight, **found.policy.alternatives}
    assert weights["throughput"] >= 0.3
    assert set(weights) == {"throughput", "dynamic"}


@pytest.mark.parametrize("side", ["src", "dst"])
def test_progressive_downloads_are_paced_by_the_server_or_bulk(
    shared_capture: CaptureFinder, side: str
) -> None:
    kinds = {}
    for name in ("http_throttled", "http_unthrottled"):
        fitted = trafficgen.fit(shared_capture(f"lab/{name}-{side}.pcap")).model.application
        assert fitted is not None
        kinds[fitted.kind] = fitted.pacing
    assert set(kinds) == {"paced", "bulk"}
    pacing = kinds["paced"]
    assert pacing is not None
    # nginx's limit_rate 110k after 500k, of 1024 bytes each; what it allows is that of a second
    # more than has passed.
    rate, after = 110 * 1024, 500 * 1024
    for found, true in ((pacing.rate_kbps, rate * 8e-3), (pacing.burst_bytes, after + rate)):
        assert found.low is not None
        assert found.high is not None
        assert found.low <= true <= found.high
