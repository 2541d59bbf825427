"""Rate of the narrow link over time, against the shaper of the recordings.

A competing flow of another session that takes turns packet by packet can't be told from a slower
link at the sender: ``hls_cubic`` is judged at the receiver. Sender captures of datagrams have no
acknowledgements that can be read, so nothing is known there.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import trafficgen

CaptureFinder = Callable[[str], Path]
RECEIVED = (
    *("dash_steps", "hls_cubic", "http_throttled", "http_unthrottled", "rtsp_gst_clear"),
    *("rtsp_gst_cubic", "rtsp_vlc_reno", "rtp_below_near_above", "ref_1500_51200B_reno_udp548"),
    *("ref_250_10000B_cubic_udp340", "ref_725_80p_cubic_udp548", "ref_725_80p_reno_udp340"),
)
CHUNKS = tuple(f"{who}_{at}" for who in ("abr", "fixed") for at in ("p1000_40", "p3000_25"))
SENT = ("dash_steps", "http_throttled", "http_unthrottled")
CASES = [
    *(f"lab/{name}-dst" for name in RECEIVED),
    *(f"lab/{name}-src" for name in SENT),
    *(f"lab-chunks/{name}-{side}" for name in CHUNKS for side in ("dst", "src")),
    *("lab-chunks/quic_p1000_40-dst", "lab-chunks/quic_p3000_25-dst"),
]
pytestmark = pytest.mark.long


def measure_steps(
    shared_capture: CaptureFinder, name: str
) -> tuple[list[tuple[float, Any]], list[tuple[float, float]]]:
    """Return steps and true steps, both as (s after the log's zero, rate)."""
    return _measure(shared_capture(f"{name}.pcap"), shared_capture(f"{name[:-4]}.json"))


@cache
def _fit(capture: Path) -> trafficgen.Fit:
    return trafficgen.fit(capture)


@cache
def _measure(capture: Path, log: Path) -> tuple[list[tuple[float, Any]], list[tuple[float, float]]]:
    truth = json.loads(log.read_text())
    fitted = _fit(capture)
    view = fitted.calibration.views.captured
    first_ns = view.table.origin_ns + view.first_media_ns
    zero_s = first_ns / 1e9 - truth["t0_unix_s"]
    steps = fitted.model.provenance.conditions.capacity  # type: ignore[union-attr]
    assert steps is not None
    path = truth["path"]
    true = [(0.0, path["rate_kbps"])]
    true += [(step["t_s"], step["rate_kbps"]) for step in path["rate_steps"]]
    return [(zero_s + step.start_s, step.kbps) for step in steps if step.kbps], true


@pytest.mark.parametrize("name", CASES)
def test_rates_and_steps_are_those_of_the_shaper(shared_capture: CaptureFinder, name: str) -> None:
    steps, true = measure_steps(shared_capture, name)
    assert len(steps) == len(true)
    for (at_s, rate), (true_s, true_kbps) in zip(steps[1:], true[1:], strict=True):
        assert at_s == pytest.approx(true_s, abs=1)
        assert rate.value == pytest.approx(true_kbps, rel=0.03)
    assert steps[0][1].value == pytest.approx(true[0][1], rel=0.03)


def test_intervals_hold_the_rate_of_the_shaper(shared_capture: CaptureFinder) -> None:
    held = [
        rate.low <= kbps <= rate.high
        for name in CASES
        for (_, rate), (_, kbps) in zip(*measure_steps(shared_capture, name), strict=True)
    ]
    assert sum(held) / len(held) >= 0.9, held


def test_intervals_of_the_strongest_mode_hold_a_rate_of_the_shaper(
    shared_capture: CaptureFinder,
) -> None:
    held = []
    for name in CASES:
        if name.endswith("-src"):  # the sender's own link comes first
            continue
        _, true = measure_steps(shared_capture, name)
        origin = _fit(shared_capture(f"{name}.pcap")).model.provenance
        assert origin.kind == "fitted"
        link = origin.conditions.link_rate_bps
        if link is not None:
            assert link.low is not None
            assert link.high is not None
            held.append(any(link.low <= 1e3 * kbps <= link.high for _, kbps in true))
    assert sum(held) / len(held) >= 0.9, held
