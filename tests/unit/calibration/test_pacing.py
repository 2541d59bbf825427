"""How a server paces one response: found again from what it sent, with intervals that hold it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trafficgen
from trafficgen.calibration.application.pacing import Download, fit_pacing
from trafficgen.packet_files.formats import View

SEEDS = 200


def paced(
    *, burst: float, rate: float, block: float, late: float, blocks: int, seed: int
) -> Download:
    """Return what a server's bytes (rates in bytes/s) look like after a link of twice its rate.

    Blocks begin late by up to a share of the time between them.
    """
    generator = np.random.default_rng(seed)
    wait_s = block / rate
    starts_s = [0.0, *(np.arange(1, blocks) + generator.uniform(0, late, blocks - 1)) * wait_s]
    sizes = [burst, *[block] * (blocks - 1)]
    packets = [np.full(int(size // 1448), 1448.0) for size in sizes]
    given_s = np.repeat(starts_s, [len(one) for one in packets])
    size_bytes = np.concatenate(packets)
    taken_s = np.cumsum(size_bytes) / (2 * rate)
    # Each leaves the link when it came and when those before it have left.
    behind_s = np.maximum.accumulate(given_s - np.concatenate(([0.0], taken_s[:-1])))
    time_s = behind_s + taken_s
    return download_of(time_s - time_s[0], size_bytes)


def download_of(time_s: Any, size_bytes: Any) -> Download:
    """Return packets of these sizes at these times; the client's window was never closed."""
    none = np.zeros(len(time_s), dtype=np.bool_)
    return Download(np.asarray(time_s, float), np.cumsum(size_bytes, dtype=float), none)


def test_intervals_hold_the_rate_and_the_burst() -> None:
    generator = np.random.default_rng(1)
    held = np.zeros(2)
    found = 0
    for seed in range(SEEDS):
        rate, burst = generator.uniform(2e4, 4e5), generator.uniform(2e5, 2e6)
        block = 1448 * generator.choice([45, 90, 180])
        late, blocks = generator.choice([0.0, 0.2, 0.4]), int(burst / block) + 30
        download = paced(burst=burst, rate=rate, block=block, late=late, blocks=blocks, seed=seed)
        pacing, _ = fit_pacing(download)
        if pacing is None:
            continue
        found += 1
        assert pacing.rate_kbps.value == pytest.approx(rate * 8e-3, rel=0.03)
        for place, (estimate, true) in enumerate(
            [(pacing.rate_kbps, rate * 8e-3), (pacing.burst_bytes, burst)]
        ):
            assert estimate.low is not None
            assert estimate.high is not None
            held[place] += estimate.low <= true <= estimate.high
    assert found >= 0.95 * SEEDS
    assert held.min() >= 0.95 * found


def test_a_response_without_waits_is_not_paced() -> None:
    time_s = np.arange(2000) * 0.005
    download = download_of(time_s, np.full(2000, 1448))
    assert fit_pacing(download) == (None, "the server did not wait between parts of its response")


def test_a_client_that_closes_its_window_is_not_its_server() -> None:
    download = paced(burst=1e6, rate=1e5, block=144_800, late=0.1, blocks=40, seed=2)
    shut = np.diff(download.time_s, prepend=0.0) > 0.2
    pacing, why = fit_pacing(replace(download, is_closed=shut))
    assert pacing is None
    assert why.startswith("the client's window was closed")


def test_parts_of_any_sizes_at_any_times_are_not_paced() -> None:
    generator = np.random.default_rng(3)
    gap_s = np.where(generator.random(2000) < 0.02, 1 + generator.exponential(1.0, 2000), 0.005)
    pacing, why = fit_pacing(download_of(np.cumsum(gap_s), np.full(2000, 1448)))
    assert (pacing, why) == (None, "what came in parts did so at no rate that holds")


@pytest.mark.parametrize("end", ["sender", "receiver"])
def test_a_paced_model_is_found_again_where_it_is_played(tmp_path: Path, end: View) -> None:
    fitted = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz").model
    assert fitted.application is not None
    true = fitted.application.pacing
    assert true is not None
    result = trafficgen.simulate(
        fitted, path="rate=8Mbps,delay=20ms,queue=60kB", out=tmp_path / "a.pcap", at=end, seed=2
    )
    plays = "the pacing of its server: 634 kB at once, then 900 kbit/s in blocks of 275 kB"
    assert result.notes["plays"] == plays
    again = trafficgen.fit(tmp_path / "a.pcap").model.application
    assert again is not None
    assert again.kind == "paced"
    assert again.pacing is not None
    assert again.pacing.rate_kbps.value == pytest.approx(true.rate_kbps.value, rel=0.01)
    assert again.pacing.burst_bytes.value == pytest.approx(true.burst_bytes.value, rel=0.03)
    assert again.pacing.block_bytes.value == pytest.approx(true.block_bytes.value, rel=0.03)
    shown: Any = again.to_json()
    assert shown["pacing"]["kbps"]["value"] == again.pacing.rate_kbps.value


def test_over_a_path_narrower_than_its_rate_the_path_paces() -> None:
    fitted = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz").model
    result = trafficgen.simulate(fitted, path="rate=500kbps,delay=20ms,queue=60kB", seed=2)
    assert result.flows[0].measure.rate_kbps == pytest.approx(500, rel=0.02)
    assert result.end_s > 1.5 * fitted.playout.duration_s.value


def test_its_interval_varies_what_is_played() -> None:
    fitted = trafficgen.fit("examples/captures/http_burst_then_paced.pcap.gz").model
    path = "rate=8Mbps,delay=20ms,queue=60kB"
    result = trafficgen.simulate(fitted, path=path, runs=4, seed=2)
    rate = next(one for one in result.answers if one.name == "mean_kbps")
    assert rate.low < rate.high
