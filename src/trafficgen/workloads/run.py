"""One run of a workload: its blocks are made, merged, and kept for the next run if it fails."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from trafficgen.errors import OutputFileError
from trafficgen.outputs import short_name
from trafficgen.packet_files.destinations import local_path
from trafficgen.progress import report_step
from trafficgen.tables import FLOW_SCHEMA
from trafficgen.units import s_from_ns
from trafficgen.workloads.blocks import (
    RUN,
    Block,
    FinishedBlock,
    Sessions,
    check_run,
    count_finished,
    discard,
    find_finished,
)
from trafficgen.workloads.cluster import DaskCluster, versions_here
from trafficgen.workloads.merge import DamagedPartError, merge_parts
from trafficgen.workloads.storage import Folder, Storage, storage_at
from trafficgen.workloads.workers import ProcessPool, Task, ThisProcess, Workers

_LOCK = "lock"
_SCRATCH = "scratch"
#: Enough of a digest that no two requests share it.
_DIGEST_DIGITS = 24


@dataclass(frozen=True)
class StoredWorkload:
    """All sessions, in finished blocks.

    Attributes:
        storage: Where the blocks are.
        blocks: The blocks, in order.
        notes: How they were made.
        scratch: Folder of this machine for temporary files of the merge.
    """

    storage: Storage
    blocks: tuple[FinishedBlock, ...]
    notes: dict[str, object]
    scratch: Path

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
        """Return the rows of all flows; raise OutputFileError if a block is damaged."""
        tables = [FLOW_SCHEMA.empty_table()]
        for block, first_flow in self._first_flows():
            with self._discard_if_damaged():
                tables.append(block.flow_table(self.storage, first_flow=first_flow))
        return pa.concat_tables(tables)

    def packets_in_order(self, *, memory_bytes: int) -> Iterator[pa.Table]:
        """Yield the packets of all sessions in order of time, then of flow.

        Raises:
            OutputFileError: If a block is damaged.
        """
        parts = [
            block.part(self.storage, scratch=self.scratch, first_flow=first_flow)
            for block, first_flow in self._first_flows()
        ]
        with self._discard_if_damaged():
            yield from merge_parts(parts, memory_bytes=memory_bytes, folder=self.scratch)

    def _first_flows(self) -> Iterator[tuple[FinishedBlock, int]]:
        first_flow = 0
        for block in self.blocks:
            yield block, first_flow
            first_flow += block.flows

    @contextmanager
    def _discard_if_damaged(self) -> Iterator[None]:
        """Discard a damaged block, so that the next run makes it again."""
        try:
            yield
        except DamagedPartError as error:
            for block in self.blocks:
                if str(error).startswith(block.name):
                    discard(block, self.storage)
            raise OutputFileError(
                file=f"{self.storage.place}/{error}",
                problem="is damaged: it has changed since it was written",
                remedy="run the same command again, which makes this block again, not the others",
            ) from error


def work_folder(out: str | Path) -> Path:
    """Return the folder of an output's blocks: next to it, or a temporary one if it is a URL."""
    path = local_path(out)
    if path is not None:
        return path.parent / f".{short_name(path)}.work"
    name = hashlib.sha256(str(out).encode()).hexdigest()[:_DIGEST_DIGITS]
    return Path(tempfile.gettempdir()) / f"trafficgen-{os.getuid()}-{name}.work"


def choose_workers(workers: int, scheduler: str | None) -> Workers:
    """Return what makes blocks: a cluster if there is a scheduler, else this many processes."""
    if scheduler is not None:
        return DaskCluster(scheduler)
    return ThisProcess() if workers == 1 else ProcessPool(workers)


@contextmanager
def make_workload(
    sessions: Sessions,
    blocks: Sequence[Block],
    folder: Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    storage: str | None = None,
) -> Iterator[StoredWorkload]:
    """Make all blocks of a workload; they are removed when the caller's block ends without error.

    Blocks that an earlier run of the same request has finished are used. After a failure they stay,
    so that the next run can continue. In ``folder`` one run works at a time. In a ``storage``, where
    no lock would outlive a machine, the last run to begin counts: an earlier one of the same request
    ends with an error, and no finished block of either is lost.

    Args:
        sessions: The sessions of the workload.
        blocks: How they are cut.
        folder: Folder of this output alone on this machine.
        workers: Processes that make blocks; 1 makes them here.
        scheduler: Address of a Dask scheduler whose workers make them instead; None for none.
        storage: Where blocks wait, as a URL or path that all workers reach; None for ``folder``.

    Raises:
        GenerationError: If a session cannot be played, workers end repeatedly, or the scheduler is
            lost.
        OutputFileError: If a place cannot be written, or another run works in it.
        SettingError: If the storage or the cluster cannot be used.
    """
    blocks = tuple(blocks)
    name = _digest(blocks, sessions.request)
    place = storage_at(
        f"{folder.absolute() / name}"
        if storage is None
        else f"{storage.rstrip('/')}/trafficgen-{name}"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder), _remove_if_empty(folder, place):
            scratch = _clear(folder, keep=name if storage is None else None)
            run = _begin(place)
            finished = {block.place: block for block in find_finished(blocks, place)}
            rest = [block for block in blocks if block.place not in finished]
            makers = choose_workers(min(workers, max(1, len(rest))), scheduler)
            for block in makers.make(Task(sessions, place, run), rest):
                finished[block.place] = block
                report_step("making", len(finished), len(blocks), unit="blocks")
            in_order = tuple(finished[block.place] for block in blocks)
            yield StoredWorkload(place, in_order, sessions.notes, scratch)
            # The output is whole; blocks that another run has taken over belong to it.
            with suppress(OutputFileError):
                check_run(place, run)
                place.remove_all()
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise _error_with_count(str(folder), problem, "make room", place, blocks) from error
    except OutputFileError as error:
        raise _error_with_count(error.file, error.problem, error.remedy, place, blocks) from error


@contextmanager
def _remove_if_empty(folder: Path, place: Storage) -> Iterator[None]:
    """After a failure, remove a folder without finished blocks that a next run could use."""
    try:
        yield
    except BaseException:
        with suppress(OSError, OutputFileError):
            is_here = isinstance(place, Folder) and place.path.is_relative_to(folder.absolute())
            if is_here and not count_finished(place):
                shutil.rmtree(folder)
        raise


def _error_with_count(
    file: str, problem: str, remedy: str, place: Storage, blocks: Sequence[Block]
) -> OutputFileError:
    """Return an error that counts the blocks that are done."""
    done = 0
    with suppress(OSError, OutputFileError):  # the place itself may be the problem
        done = count_finished(place)
    kept = f"{done} of {len(blocks)} blocks are done and kept, and the same command continues"
    return OutputFileError(
        file=file, problem=problem, remedy=f"{remedy}: {kept}" if done else remedy
    )


def _digest(blocks: Sequence[Block], request: dict[str, object]) -> str:
    """Return a name for the blocks: those of the same name are the same bytes."""
    counts = [block.count for block in blocks]
    content = {"request": request, "blocks": counts, "versions": versions_here()}
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS]


def _clear(folder: Path, *, keep: str | None) -> Path:
    """Remove files of earlier runs but the blocks to keep; return a folder for temporary files."""
    for other in folder.iterdir():
        if other.name not in {_LOCK, keep}:
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    scratch = folder / _SCRATCH
    scratch.mkdir()
    return scratch


def _begin(place: Storage) -> str:
    """Record in a storage that a run has begun there, and return its name."""
    run = uuid.uuid4().hex
    place.begin()
    place.write(RUN, lambda file: file.write(run.encode()))
    return run


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock a folder for this process; the kernel unlocks it however the process ends."""
    with (folder / _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OutputFileError(
                file=str(folder),
                problem="another run works there",
                remedy="wait for it, or choose another name for the output",
            ) from None
        yield
