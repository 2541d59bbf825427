"""Estimates of a workload against what is written."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.generation.conftest import bursts, model_with, phase, stream
from tests.unit.workloads.conftest import Load

import trafficgen
from trafficgen.errors import GenerationError
from trafficgen.formatting import format_duration
from trafficgen.tables import PacketTable
from trafficgen.workloads.estimate import WorkloadEstimate

VARIED = """
name: varied
sessions: 150
for: 60s
arrivals: poisson
groups:
  - {name: udp, model: udp.json, share: 60%, duration: "lognormal:4s,sigma=1"}
  - {name: tcp, model: tcp.json, share: 40%}
"""


@pytest.fixture(autouse=True)
def time_to_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine play as many sessions as an idle one."""
    monkeypatch.setattr("trafficgen.workloads.estimate._SAMPLED_S", 60.0)


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


LONG = """
sessions: 300
for: 100s
arrivals: poisson:1/s
groups:
  - {name: udp, model: udp.json, share: 60%, duration: "lognormal:20s,sigma=1.2"}
  - {name: cbr, model: cbr(rate_kbps=50), share: 40%, duration: "lognormal:30s,sigma=0.5"}
  - {name: flash, model: tcp.json, arrivals: poisson:0.2/s}
"""


@pytest.mark.parametrize("window_s", [None, 50.0])
def test_ends_and_sessions_at_once_are_those_of_what_is_written(
    load: Load, tmp_path: Path, window_s: float | None
) -> None:
    workload, out = load(LONG), tmp_path / "out"
    estimate = trafficgen.estimate_workload(workload, out, seed=2, window_s=window_s)
    written = trafficgen.generate_workload(workload, out, seed=2, window_s=window_s)
    flows = trafficgen.read_packets(out).flows.to_pandas()
    spans_s = flows.groupby("session").agg({"first_time_ns": "min", "last_time_ns": "max"}) / 1e9
    starts_s, ends_s = spans_s.to_numpy().T
    last_s = starts_s.max()
    at_once = np.sum(np.minimum(ends_s, last_s) - starts_s) / (last_s - starts_s.min())
    assert estimate.sampled == 60 < estimate.sessions
    assert estimate.duration_s == pytest.approx(written.duration_s, rel=0.02)
    assert written.duration_s > 2 * (window_s or 100)  # sessions go on long after the last start
    assert estimate.concurrent == pytest.approx(at_once, rel=0.05)
    on_disk = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    assert estimate.file_bytes == pytest.approx(on_disk, rel=0.3)
    assert estimate.count_text == written.count_text
    assert estimate.remarks == written.remarks != ()
    assert sum(group["bytes_share"] for group in estimate.groups.values()) == pytest.approx(1)
    groups = [line.partition(":")[0] for line in estimate.lines()[3:6]]
    assert groups == ["group udp", "group cbr", "group flash"]


def test_the_time_counts_all_steps(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, worked = itertools.count(), itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr(time, "process_time", lambda: 0.5 * next(worked))

    def estimate(**given: Any) -> WorkloadEstimate:
        return trafficgen.estimate_workload(load(VARIED), tmp_path / "o.pcap", **given)

    in_memory, in_blocks = estimate(), estimate(storage=str(tmp_path))
    assert in_blocks.time_s > in_memory.time_s > estimate(workers=2).time_s
    # Where other programs take the cores, processes gain nothing but have to start.
    processes = estimate(storage=str(tmp_path), workers=2)
    assert processes.time_s < in_blocks.time_s < in_blocks.busy_time_s < processes.busy_time_s
    alone, busy = map(format_duration, (processes.time_s, processes.busy_time_s))
    said = f" {alone} to make where no other program runs, {busy} where it stays as busy as now"
    assert said in processes.lines()[2]
    # Other programs had half of the time of the sample: alone it would have taken half.
    assert in_memory.busy_time_s == pytest.approx(1.5 * 2 * in_memory.time_s)


def test_a_sample_ends_soon_says_its_size_and_reports_its_steps(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, steps = itertools.count(step=0.5), list[trafficgen.Step]()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    monkeypatch.setattr("trafficgen.workloads.estimate._SAMPLED_S", 2.0)
    with trafficgen.following(steps.append):
        estimate = trafficgen.estimate_workload(load(VARIED), tmp_path / "o.pcap")
    assert estimate.sampled == 5  # half a second each
    assert ", from 5 sessions)" in estimate.lines()[1]
    *played, last = steps
    assert [(step.done, step.total) for step in played] == [(n, max(n, 4)) for n in range(1, 6)]
    assert last.what == "estimating all sessions from the sample"


def test_an_estimate_of_few_sessions_is_exact(tmp_path: Path) -> None:
    estimate = trafficgen.estimate_workload("cbr", tmp_path / "out.parquet", duration_s=10)
    assert (estimate.sessions, estimate.packets, estimate.error_share) == (1, 425, 0)
    assert [line.partition(" ")[0] for line in estimate.lines()] == ["1", "about", "about"]


def test_sessions_that_meet_on_a_path_are_not_estimated(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match=r"leave path=... and compete=... out"):
        trafficgen.estimate_workload("cbr", tmp_path / "out.pcap", path="rate=1Mbps,delay=1ms")


SIZES = """
sessions: 300
for: 60s
arrivals: poisson
groups:
  - {name: small, model: "cbr(packet_bytes=100,duration_s=5)", share: 70%}
  - {name: large, model: "cbr(packet_bytes=1400,duration_s=5)", share: 30%}
"""


def test_groups_with_packets_of_other_sizes_are_estimated_apart(
    load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trafficgen.workloads.estimate._SAMPLED", 9)  # 4 of them are large
    workload, out = load(SIZES), tmp_path / "out.pcap"
    estimate = trafficgen.estimate_workload(workload, out)
    written = trafficgen.generate_workload(workload, out)
    assert estimate.sampled == 9
    assert estimate.ip_bytes == pytest.approx(written.ip_bytes, rel=0.01)
    assert estimate.file_bytes == pytest.approx(out.stat().st_size, rel=0.01)
    assert estimate.error_share < 0.01


@pytest.mark.slow
def test_the_interval_of_the_bytes_covers_the_session_that_was_captured(tmp_path: Path) -> None:
    """Twenty captures of one source: 95% of them, and not all by intervals of any width."""
    source = model_with(stream(phases=(phase("playout", 0.0, 60.0, bursts(spacing_s=0.5)),)))
    inside, widths = [], []
    for seed in range(20):
        captured = trafficgen.generate(source, seed=seed)
        size = float(captured.ip_bytes.sum())
        fitted = trafficgen.fit(captured, seed=seed)
        estimate = trafficgen.estimate_workload(fitted, tmp_path / "out.csv", seed=seed)
        assert estimate.ip_bytes_interval is not None
        low, high = estimate.ip_bytes_interval
        inside.append(low <= size <= high)
        widths.append((high - low) / size)
    assert sum(inside) >= 17  # fewer have a chance of 0.3% where 19 are expected
    assert max(widths) < 0.6


@pytest.mark.slow
def test_the_interval_of_the_bytes_holds_another_session_of_a_source_whose_rate_switches(
    make_table: Callable[..., PacketTable], tmp_path: Path
) -> None:
    captures = []
    for seed in range(12):
        rng, at_s, parts = np.random.default_rng(seed), 0.0, []
        is_fast = rng.random() < 1 / 3
        while at_s < 60:
            stay_s, per_s = (rng.exponential(2), 120) if is_fast else (rng.exponential(4), 20)
            parts.append(at_s + np.sort(rng.uniform(0, stay_s, rng.poisson(per_s * stay_s))))
            at_s, is_fast = at_s + stay_s, not is_fast
        time_s = np.concatenate(parts)
        captures.append(make_table(time_s[time_s < 60]))
    inside = []
    for captured, other in itertools.pairwise(captures):
        estimate = trafficgen.estimate_workload(trafficgen.fit(captured), tmp_path / "out.csv")
        assert estimate.ip_bytes_interval is not None
        low, high = estimate.ip_bytes_interval
        inside.append(low <= float(other.ip_bytes.sum()) <= high)
    # 95% of 11, as all but two with a chance of 98%; by played sessions alone it was 15%
    assert sum(inside) >= 9


def test_only_one_session_of_a_fitted_model_has_an_interval_of_its_bytes(
    load: Load, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    model = model_with(stream(phases=(phase("playout", 0.0, 60.0, bursts(spacing_s=0.5)),)))
    one = trafficgen.estimate_workload(model, out)
    assert one.ip_bytes_interval is not None
    assert one.ip_bytes_interval[0] < one.ip_bytes < one.ip_bytes_interval[1]
    assert "95% of its sessions" in one.lines()[1]
    for others in (
        trafficgen.estimate_workload(model, out, sessions=3),
        trafficgen.estimate_workload("cbr", out, duration_s=5),
        trafficgen.estimate_workload(load(VARIED), out, sessions=2),
    ):
        assert others.ip_bytes_interval is None
