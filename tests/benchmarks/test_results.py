"""What benchmarks make of what they measure."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.results import Outcome, Race, Sweep, exponent, powers_of_ten

ROOT = Path(__file__).resolve().parents[2]


def outcome(name: str, *, packets: int = 0, time_s: float, peak_bytes: int = 1) -> Outcome:
    return Outcome(name, packets, 0, time_s, peak_bytes)


@pytest.mark.parametrize("power", [0.0, 1.0, 1.5])
def test_the_exponent_is_that_of_the_growth(power: float) -> None:
    sizes = powers_of_ten(1_000, 10_000_000)
    assert sizes == [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
    assert exponent(sizes, [3.0 * size**power for size in sizes]) == pytest.approx(power)


def test_one_size_has_no_growth() -> None:
    assert powers_of_ten(100, 999) == [100]
    assert powers_of_ten(100, 5) == [100]
    alone = Sweep("task", "packets", [100], [outcome("ours", time_s=1.0)])
    assert math.isnan(alone.time_exponent)


def test_ratios_count_packets_where_contestants_have_other_numbers() -> None:
    ours, few = outcome("ours", packets=1000, time_s=1.0), outcome("slow", packets=10, time_s=1.0)
    assert Race("task", ours, [few]).times_as_fast(few) == pytest.approx(100)
    whole = outcome("whole task", time_s=3.0)
    assert Race("task", outcome("ours", time_s=1.5), [whole]).times_as_fast(whole) == pytest.approx(
        2
    )


def test_memory_of_a_contestant_is_its_own() -> None:
    # A process of its own runs the race, as benchmarks do: the memory of the parent counts for its
    # children.
    code = """
import sys
from benchmarks.measure import Contestant, race
hold = "import sys; data = b'1' * int(sys.argv[1]); print('note=held'); print('elapsed_s=0.25')"
sizes = (1, 300_000_000)
commands = [[sys.executable, "-c", hold, str(size)] for size in sizes]
runs = race([Contestant(command[-1], command, 0, 0) for command in commands], runs=1)
more_bytes = runs[1].peak_bytes - runs[0].peak_bytes
print(*(run.note for run in runs), *(run.time_s for run in runs), more_bytes)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *told, more_bytes = done.stdout.split()
    assert told == ["held", "held", "0.25", "0.25"]
    assert int(more_bytes) == pytest.approx(300_000_000, rel=0.1)


@pytest.mark.slow
def test_a_benchmark_runs_and_prints_its_tables() -> None:
    command = [sys.executable, "benchmarks/run.py", "write", "--packets", "10000", "--runs", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Building and writing 10,000 packets" in done.stdout
    assert "dpkt build + write" in done.stdout


def test_results_are_json() -> None:
    sweep = Sweep("task", "flows", [1, 10], [outcome("a", time_s=1.0), outcome("b", time_s=10.0)])
    told = json.loads(json.dumps(sweep.to_json()))
    assert [row["size"] for row in told["rows"]] == [1, 10]
    assert told["time_exponent"] == pytest.approx(1)
