"""A small workload for tests of workers: its model, its blocks, and what a run alone in one process
makes of it.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from tests.unit.generation.conftest import model_with, phase, renewal, stream

from trafficgen.generation.session import FlowRow
from trafficgen.models import Model
from trafficgen.tables import PACKET_SCHEMA
from trafficgen.workloads import write
from trafficgen.workloads.blocks import Block
from trafficgen.workloads.generate import generate_workload
from trafficgen.workloads.write import WrittenWorkload

SESSIONS = 120
BLOCKS = 12
#: So little that nothing is made in memory at once, and the parts are merged in more than one pass.
MEMORY_BYTES = 2_500_000
_PATIENCE_S = 60.0


def small_model() -> Model:
    """Return a source of 150 packets a session."""
    return model_with(
        stream(phases=(phase("playout", 0.0, 3.0, renewal(mean_s=0.02)),)), silence_s=0.0
    )


def play(
    out: str | Path,
    *,
    seed: int = 7,
    workers: int = 1,
    scheduler: str | None = None,
    storage: str | None = None,
) -> WrittenWorkload:
    """Make the workload in a dozen small blocks."""
    count = SESSIONS // BLOCKS
    blocks = tuple(Block(place, place * count, count) for place in range(BLOCKS))
    with patch.object(write, "cut", lambda _, *, packets: blocks if packets else ()):
        return generate_workload(
            small_model(),
            out,
            sessions=SESSIONS,
            arrival_rate_per_s=30.0,
            seed=seed,
            workers=workers,
            memory_bytes=MEMORY_BYTES,
            scheduler=scheduler,
            storage=storage,
        )


class Deadly:
    """Sessions of which the fourth ends the process that plays it, as the kernel does when memory
    runs out.
    """

    count = 6
    starts_ns = np.zeros(6, dtype=np.int64)
    notes: ClassVar[dict[str, object]] = {}
    request: ClassVar[dict[str, object]] = {}

    def expected_packets(self, sessions: range) -> float:
        return float(len(sessions))

    def block(self, first: int, count: int) -> tuple[list[pa.Table], list[FlowRow]]:
        if first <= 3 < first + count:
            os.kill(os.getpid(), signal.SIGKILL)
        return [PACKET_SCHEMA.empty_table()], []

    def windows(self, session: int, flows: list[FlowRow]) -> Iterator[pa.Table]:
        tables, rows = self.block(session, 1)
        yield from tables
        flows += rows

    def packets_at_once(self, session: int) -> float:
        return self.expected_packets(range(session, session + 1))


def digest(path: Path) -> str:
    """Return the digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def until(happened: Callable[[], object], *, patience_s: float = _PATIENCE_S) -> None:
    """Wait for something to happen."""
    end_s = time.monotonic() + patience_s
    while not happened():
        assert time.monotonic() < end_s, "it did not happen in time"
        time.sleep(0.002)
