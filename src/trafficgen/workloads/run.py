"""Making all blocks of a workload and handing them over merged, going on where an earlier run was
interrupted.
"""

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
from dataclasses import dataclass, replace
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
    MadeBlock,
    Sessions,
    check_wanted,
    count_whole,
    forget,
    made_before,
)
from trafficgen.workloads.cluster import DaskCluster, versions_here
from trafficgen.workloads.merge import merge_parts
from trafficgen.workloads.parts import DamagedPartError
from trafficgen.workloads.storage import Folder, Storage, storage_at
from trafficgen.workloads.workers import ProcessPool, Task, ThisProcess, Workers

_LOCK = "lock"
_SCRATCH = "scratch"
#: Enough of a digest that no two requests share it.
_DIGEST_DIGITS = 24


@dataclass(frozen=True)
class Workload:
    """All sessions, made and in their place.

    Attributes:
        storage: Where their blocks are.
        blocks: The blocks, in order.
        notes: How they were made.
        scratch: Folder of this machine for what the merge needs for a while.
    """

    storage: Storage
    blocks: tuple[MadeBlock, ...]
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
        """Return the rows of all flows.

        Raises:
            OutputFileError: If a block is damaged.
        """
        tables, first_flow = [FLOW_SCHEMA.empty_table()], 0
        for block in self.blocks:
            with self._made_again_if_damaged():
                tables.append(block.flow_table(self.storage, first_flow=first_flow))
            first_flow += block.flows
        return pa.concat_tables(tables)

    def packets_in_order(self, *, memory_bytes: int) -> Iterator[pa.Table]:
        """Yield the packets of all sessions in order of time, then of flow.

        Raises:
            OutputFileError: If a block is damaged.
        """
        parts, first_flow = [], 0
        for block in self.blocks:
            parts.append(block.part(self.storage, scratch=self.scratch, first_flow=first_flow))
            first_flow += block.flows
        with self._made_again_if_damaged():
            yield from merge_parts(parts, memory_bytes=memory_bytes, folder=self.scratch)

    @contextmanager
    def _made_again_if_damaged(self) -> Iterator[None]:
        """Have the next run make a block again that turns out to be damaged."""
        try:
            yield
        except DamagedPartError as error:
            for block in self.blocks:
                if str(error).startswith(block.name):
                    forget(block, self.storage)
            raise OutputFileError(
                file=f"{self.storage.place}/{error}",
                problem="is damaged: it is not what was written",
                remedy=(
                    "run the same command again, which makes this block again and keeps the others"
                ),
            ) from error


def work_folder(out: str | Path) -> Path:
    """Return the folder in which what belongs to an output waits: beside it, or among temporary
    files.

    Args:
        out: The output; a URL has its folder among this machine's temporary files.
    """
    path = local_path(out)
    if path is not None:
        return path.parent / f".{short_name(path)}.work"
    name = hashlib.sha256(str(out).encode()).hexdigest()[:_DIGEST_DIGITS]
    return Path(tempfile.gettempdir()) / f"trafficgen-{os.getuid()}-{name}.work"


def workers_of(workers: int, scheduler: str | None) -> Workers:
    """Return who makes blocks: a cluster where there is a scheduler, else this many processes."""
    if scheduler is not None:
        return DaskCluster(scheduler)
    return ThisProcess() if workers == 1 else ProcessPool(workers)


@contextmanager
def made_workload(
    sessions: Sessions,
    blocks: Sequence[Block],
    folder: Path,
    *,
    workers: int = 1,
    scheduler: str | None = None,
    storage: str | None = None,
) -> Iterator[Workload]:
    """Give a workload whose blocks are made; when the block of the caller ends well, what was kept
    for it is removed.

    What an earlier run of the same request has finished is taken over. After a failure it stays, so
    that the next run can go on. In ``folder`` one run is at work at a time. In a place named by
    ``storage``, where no lock would outlive a machine, the last run to begin is the one that
    counts: an earlier one of the same request ends with an error, and nothing of what either has
    finished is lost.

    Args:
        sessions: What plays the sessions.
        blocks: How they are cut.
        folder: Folder of this output alone on this machine.
        workers: Processes that make blocks; 1 makes them here.
        scheduler: Address of a Dask scheduler whose workers make them instead; None for none.
        storage: Where blocks wait, as a URL or path that all workers reach; None for ``folder``.

    Raises:
        GenerationError: If a session cannot be played, workers end again and again, or the
            scheduler is gone.
        OutputFileError: If a place cannot be written, or another run is at work in it.
        SettingError: If the storage or the cluster is none that can be used.
    """
    blocks = tuple(blocks)
    name = _digest(blocks, sessions.request)
    place = (
        Folder(folder.absolute() / name)
        if storage is None
        else _inside(storage_at(storage), f"trafficgen-{name}")
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone_in(folder), _removed_if_empty(folder, place):
            scratch = _emptied(folder, keep=name if storage is None else None)
            run = _begun(place)
            made = {block.place: block for block in made_before(blocks, place)}
            rest = [block for block in blocks if block.place not in made]
            for block in workers_of(min(workers, max(1, len(rest))), scheduler).made(
                Task(sessions, place, run), rest
            ):
                made[block.place] = block
                report_step("making", len(made), len(blocks), unit="blocks")
            yield Workload(
                place, tuple(made[block.place] for block in blocks), sessions.notes, scratch
            )
            with suppress(
                OutputFileError
            ):  # the output is whole; what another run has taken over is its own
                check_wanted(place, run)
                place.remove_all()
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise _kept(
            str(folder),
            f"cannot be written ({error.strerror or error})",
            "make room",
            place,
            blocks,
        ) from error
    except OutputFileError as error:
        raise _kept(error.file, error.problem, error.remedy, place, blocks) from error


@contextmanager
def _removed_if_empty(folder: Path, place: Storage) -> Iterator[None]:
    """Remove a folder of this machine when the block fails and nothing in it is finished that a
    next run could use.
    """
    try:
        yield
    except BaseException:
        with suppress(OSError, OutputFileError):
            if (
                isinstance(place, Folder)
                and place.path.is_relative_to(folder.absolute())
                and not count_whole(place)
            ):
                shutil.rmtree(folder)
        raise


def _kept(
    file: str, problem: str, remedy: str, place: Storage, blocks: Sequence[Block]
) -> OutputFileError:
    """Return an error that says how much is done."""
    done = 0
    with suppress(OSError, OutputFileError):  # the place itself may be what is wrong
        done = count_whole(place)
    kept = f"{done} of {len(blocks)} blocks are done and kept, and the same command goes on"
    return OutputFileError(
        file=file, problem=problem, remedy=f"{remedy}: {kept}" if done else remedy
    )


def _digest(blocks: Sequence[Block], request: dict[str, object]) -> str:
    """Return a name for what the blocks are: those of the same name are the same bytes."""
    text = json.dumps(
        {
            "request": request,
            "blocks": [block.count for block in blocks],
            "versions": versions_here(),
        },
        sort_keys=True,
    )
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_DIGITS]


def _inside(storage: Storage, name: str) -> Storage:
    """Return a place of its own for a request, so that several share a bucket."""
    if isinstance(storage, Folder):
        return replace(storage, path=storage.path / name)
    return storage_at(f"{storage.place}/{name}")


def _emptied(folder: Path, *, keep: str | None) -> Path:
    """Remove what earlier runs have left in a folder, but for the blocks that are kept; return a
    folder for scratch.
    """
    for other in folder.iterdir():
        if other.name not in {_LOCK, keep}:
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    scratch = folder / _SCRATCH
    scratch.mkdir()
    return scratch


def _begun(place: Storage) -> str:
    """Say in a place that a run has begun there, and return its name."""
    run = uuid.uuid4().hex
    place.begin()
    place.write(RUN, lambda file: file.write(run.encode()))
    return run


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
