"""Damaged captures through the commands: exit code 0 or 2, no traceback, bounded memory, nothing
half-written.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
from itertools import islice
from pathlib import Path

import pytest
from tests.mutated.campaign import Totals, captures, rounds
from tests.mutated.commands import Ended, run_in_child
from tests.mutated.damage import beginning, damaged
from tests.mutated.other_inputs import other_rounds

from trafficgen import inspect
from trafficgen.cli.app import run
from trafficgen.errors import CaptureError

_SHIPPED = captures()

needs_fork = pytest.mark.skipif(
    not hasattr(os, "fork") or sys.platform == "darwin", reason="needs fork"
)


def test_captures_to_damage_are_there() -> None:
    assert len(_SHIPPED) >= 3
    assert {path.name for path in _SHIPPED} >= {
        "http_burst_then_paced.pcap.gz",
        "rtsp_rtp_two_streams.pcap.gz",
    }


def test_damaged_captures_are_read_or_refused(tmp_path: Path) -> None:
    dice, path, read = random.Random(5), tmp_path / "damaged.pcap", 0
    pieces = [beginning(capture, 20_000) for capture in _SHIPPED[:12]]
    for _ in range(300):
        path.write_bytes(damaged(dice.choice(pieces), dice))
        with contextlib.suppress(CaptureError):
            inspect(path, decapsulate=dice.random() < 0.5)
            read += 1
    assert read > 100


def test_the_slowest_commands_and_the_largest_are_known_after_any_number(tmp_path: Path) -> None:
    totals, kept = Totals(tmp_path / "totals.json"), set()
    for number in range(100):
        cpu_s, size = float(number * 37 % 100), number * 53 % 100
        kept.add(f"{number}")
        kept -= totals.add_cost(Ended("fit", 0, "", size, cpu_s), f"{number}")
    assert [cost for cost, _ in totals.slowest] == [99, 98, 97, 96, 95]
    assert [cost for cost, _ in totals.largest] == [99, 98, 97, 96, 95]
    assert all(int(name) * 37 % 100 == cost for cost, name in totals.slowest)
    assert kept == totals.costliest()
    totals.write()
    assert Totals.read(totals.file) == totals


@needs_fork
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_commands_on_damaged_captures_end_as_they_promise(tmp_path: Path) -> None:
    _play(tmp_path, count=16, seed=3)


@needs_fork
@pytest.mark.filterwarnings("ignore")
def test_commands_on_other_damaged_inputs_end_as_they_promise(tmp_path: Path) -> None:
    codes = set()
    for arguments, out in islice(other_rounds(seed=4, folder=tmp_path), 24):
        ended = run_in_child(arguments, tmp_path / "said.txt", run)
        problem = ended.problem(out)
        assert problem is None, f"{problem}: {arguments}\n{ended.text}"
        codes.add(ended.code)
    assert codes == {0, 2}


@needs_fork
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("seed", range(10, 14))
def test_thousands_of_commands_on_damaged_captures_end_as_they_promise(
    tmp_path: Path, seed: int
) -> None:
    _play(tmp_path, count=1000, seed=seed)


def _play(folder: Path, *, count: int, seed: int) -> None:
    codes = set()
    for arguments, out in islice(rounds(_SHIPPED, seed=seed, folder=folder), count):
        ended = run_in_child(arguments, folder / "said.txt", run)
        problem = ended.problem(out)
        assert problem is None, f"{problem}: {arguments}\n{ended.text}"
        codes.add(ended.code)
    assert codes == {0, 2}
