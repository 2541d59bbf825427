"""Estimates of a workload against what is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.workloads.conftest import Load

import trafficgen
from trafficgen.errors import GenerationError

VARIED = """
name: varied
sessions: 150
for: 60s
arrivals: poisson
groups:
  - {name: udp, model: udp.json, share: 60%, duration: "lognormal:4s,sigma=1"}
  - {name: tcp, model: tcp.json, share: 40%}
"""


def test_an_estimate_is_close_to_what_is_written(load: Load, tmp_path: Path) -> None:
    workload, out = load(VARIED), tmp_path / "out.pcap"
    estimate = trafficgen.estimate_workload(workload, out, seed=2, snaplen_bytes=96)
    assert not out.exists()
    written = trafficgen.generate_workload(workload, out, seed=2, snaplen_bytes=96)
    assert estimate.sessions == written.sessions == 150
    assert estimate.sampled == 60
    assert 0 < estimate.error_share < 0.2
    assert estimate.packets == pytest.approx(written.packets, rel=2 * estimate.error_share)
    assert estimate.ip_bytes == pytest.approx(written.ip_bytes, rel=2 * estimate.error_share)
    assert estimate.duration_s == pytest.approx(written.duration_s, rel=0.2)
    assert estimate.file_bytes == pytest.approx(out.stat().st_size, rel=0.1)
    assert estimate.time_s > 0


def test_an_estimate_of_few_sessions_is_exact(tmp_path: Path) -> None:
    estimate = trafficgen.estimate_workload("cbr", tmp_path / "out.parquet", duration_s=10)
    assert (estimate.sessions, estimate.packets, estimate.error_share) == (1, 425, 0)
    assert [line.partition(" ")[0] for line in estimate.lines()] == ["1", "about", "about"]


def test_sessions_that_meet_on_a_path_are_not_estimated(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="leave --path and --compete out"):
        trafficgen.estimate_workload("cbr", tmp_path / "out.pcap", path="rate=1Mbps,delay=1ms")
