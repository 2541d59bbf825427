"""Making all blocks of a workload, in this process or in several, going on where an earlier run was interrupted."""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from trafficgen.errors import GenerationError, OutputFileError
from trafficgen.progress import tell
from trafficgen.provenance import software_version
from trafficgen.tables import FLOW_SCHEMA
from trafficgen.units import s_from_ns
from trafficgen.worker_processes import interrupts_held_back, worker_pool
from trafficgen.workloads.blocks import Block, MadeBlock, Sessions, made_before, make_block
from trafficgen.workloads.merging import merge_parts

_PLAN = "plan.json"


@dataclass(frozen=True)
class Workload:
    """All sessions, made and on disk.

    Attributes:
        folder: Where their blocks are.
        blocks: The blocks, in order.
        notes: How they were made.
    """

    folder: Path
    blocks: tuple[MadeBlock, ...]
    notes: dict[str, object]

    @property
    def packets(self) -> int:
        """Number of packets."""
        return sum(block.rows for block in self.blocks)

    @property
    def duration_s(self) -> float:
        """First to last packet, s."""
        filled = [block for block in self.blocks if block.rows]
        first_ns = min((block.first_ns for block in filled), default=0)
        return s_from_ns(max((block.last_ns for block in filled), default=0) - first_ns)

    @property
    def columns(self) -> frozenset[str]:
        """Columns of the packet table that have values."""
        return frozenset(name for block in self.blocks for name in block.columns)

    def flow_table(self) -> pa.Table:
        """Return the rows of all flows."""
        tables, first_flow = [FLOW_SCHEMA.empty_table()], 0
        for block in self.blocks:
            tables.append(block.flow_table(self.folder, first_flow=first_flow))
            first_flow += block.flows
        return pa.concat_tables(tables)

    def packets_in_order(self, *, memory_bytes: int) -> Iterator[pa.Table]:
        """Yield the packets of all sessions in order of time, then of flow."""
        parts, first_flow = [], 0
        for block in self.blocks:
            parts.append(block.part(self.folder, first_flow=first_flow))
            first_flow += block.flows
        return merge_parts(parts, memory_bytes=memory_bytes, folder=self.folder)


@contextmanager
def made_workload(
    sessions: Sessions,
    blocks: Sequence[Block],
    folder: Path,
    *,
    request: dict[str, object],
    workers: int,
) -> Iterator[Workload]:
    """Give a workload whose blocks are in a folder; when the block of the caller ends well, the folder is removed.

    What an earlier run of the same request has finished there is taken over. After a failure the folder stays, so that
    the next run can go on.

    Args:
        sessions: What plays the sessions.
        blocks: How they are cut.
        folder: Folder of this workload alone.
        request: All that the packets depend on, JSON-compatible.
        workers: Processes that make blocks; 1 makes them here.

    Raises:
        GenerationError: If a session cannot be played, or a worker ended.
        OutputFileError: If the folder cannot be written, or another run is at work in it.
    """
    blocks = tuple(blocks)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone_in(folder):
            _begin(folder, blocks, request)
            made = {block.place: block for block in made_before(blocks, folder)}
            rest = [block for block in blocks if block.place not in made]
            for block in _made(sessions, rest, folder, workers=workers):
                made[block.place] = block
                tell("making", len(made), len(blocks), unit="blocks")
            yield Workload(folder, tuple(made[block.place] for block in blocks), sessions.notes)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        done = len(list(folder.glob("block-*.json"))) if folder.is_dir() else 0
        raise OutputFileError(
            file=str(folder),
            problem=f"cannot be written ({error.strerror or error})",
            remedy=f"make room and run the same command again: {done} of {len(blocks)} blocks are done and kept",
        ) from error


def _begin(folder: Path, blocks: tuple[Block, ...], request: dict[str, object]) -> None:
    """Empty a folder of what is not of this request, or not whole."""
    text = json.dumps(
        {"request": request, "blocks": [block.count for block in blocks], "software": software_version()},
        sort_keys=True,
    )
    plan = json.dumps({"digest": hashlib.sha256(text.encode()).hexdigest()})
    path = folder / _PLAN
    same = path.exists() and path.read_text(encoding="utf-8") == plan
    whole = {path.name for path in folder.glob("block-*.json")} if same else set()
    for other in folder.iterdir():
        stem = other.name.partition(".")[0]
        if other.name != _LOCK and f"{stem}.json" not in whole:
            other.unlink()
    path.write_text(plan, encoding="utf-8")


_LOCK = "lock"


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder for this process; the kernel lets it go however the process ends."""
    with (folder / _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputFileError(
                file=str(folder),
                problem="another run is at work there",
                remedy="wait for it, or choose another name for the output",
            ) from None
        yield


def _made(sessions: Sessions, blocks: Sequence[Block], folder: Path, *, workers: int) -> Iterator[MadeBlock]:
    """Yield blocks as they are finished."""
    if workers == 1 or len(blocks) <= 1:
        for block in blocks:
            yield make_block(sessions, block, folder)
        return
    try:
        with worker_pool(min(workers, len(blocks))) as pool:
            yield from _pooled(pool, sessions, blocks, folder, ahead=2 * workers)
    except BrokenProcessPool:
        raise GenerationError(
            "a worker has ended, perhaps for want of memory: run the same command again, with fewer --workers;"
            " blocks that are done are kept"
        ) from None


def _pooled(
    pool: ProcessPoolExecutor, sessions: Sessions, blocks: Sequence[Block], folder: Path, *, ahead: int
) -> Iterator[MadeBlock]:
    waiting = list(blocks)[::-1]
    running: set[Future[MadeBlock]] = set()
    while waiting or running:
        while waiting and len(running) < ahead:
            with interrupts_held_back():
                running.add(pool.submit(make_block, sessions, waiting.pop(), folder))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()
