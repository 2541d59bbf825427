"""Workers that make the blocks of a workload: this process, several processes, or a cluster.

All get the same blocks and leave the same files; only a few numbers of a block come back.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from trafficgen.errors import GenerationError, OutputFileError
from trafficgen.worker_processes import defer_interrupts, worker_pool
from trafficgen.workloads.blocks import Block, FinishedBlock, Sessions, make_block
from trafficgen.workloads.storage import Storage

#: A block is given up when workers have ended this often during it: it may be the cause.
MOST_DEATHS = 3
#: Blocks handed over for each that is being made, so that no worker waits for the next.
AHEAD = 2


@dataclass(frozen=True)
class Task:
    """What a worker needs to make any block of a run."""

    sessions: Sessions
    storage: Storage
    run: str

    def __call__(self, block: Block) -> FinishedBlock:
        """Make a block; raise OutputFileError if it cannot be stored."""
        try:
            return make_block(self.sessions, block, self.storage, run=self.run)
        except OSError as error:
            raise OutputFileError(
                file=self.storage.place,
                problem=f"cannot be written ({error.strerror or error})",
                remedy="make room there, or choose another place",
            ) from error


class Workers(Protocol):
    """Anything that makes blocks."""

    def make(self, task: Task, blocks: Sequence[Block]) -> Iterator[FinishedBlock]:
        """Yield blocks as they are finished, in any order.

        Raises:
            GenerationError: If a session cannot be played, or workers end repeatedly.
            OutputFileError: If a block cannot be stored.
        """
        ...


@dataclass(frozen=True)
class ThisProcess:
    """Makes blocks here, one after the other."""

    def make(self, task: Task, blocks: Sequence[Block]) -> Iterator[FinishedBlock]:
        """Yield blocks as they are finished."""
        yield from map(task, blocks)


@dataclass(frozen=True)
class ProcessPool:
    """Makes blocks in processes of this machine.

    When one is killed, all are started again and continue with the blocks that are not finished.
    """

    workers: int

    def make(self, task: Task, blocks: Sequence[Block]) -> Iterator[FinishedBlock]:
        """Yield blocks as they are finished."""
        pickled = pickle.dumps(task)
        waiting = list(blocks)[::-1]
        deaths: Counter[int] = Counter()
        while waiting:
            given: dict[Future[FinishedBlock], Block] = {}
            try:
                with worker_pool(min(self.workers, len(waiting))) as pool:
                    yield from self._make_in(pool, pickled, waiting, given)
            except BrokenProcessPool:
                deaths.update(block.place for block in given.values())
                if max(deaths.values(), default=MOST_DEATHS) >= MOST_DEATHS:
                    raise GenerationError(
                        f"workers have ended {MOST_DEATHS} times, perhaps for lack of memory: run"
                        " the same command again, with fewer [--workers]; blocks that are done are"
                        " kept"
                    ) from None
                waiting += sorted(given.values(), key=lambda block: -block.place)

    def _make_in(
        self,
        pool: ProcessPoolExecutor,
        pickled: bytes,
        waiting: list[Block],
        given: dict[Future[FinishedBlock], Block],
    ) -> Iterator[FinishedBlock]:
        """Yield finished blocks; take from the end of ``waiting``, keep unfinished in ``given``."""
        while waiting or given:
            while waiting and len(given) < AHEAD * self.workers:
                with defer_interrupts():
                    future = pool.submit(make_pickled, pickled, waiting[-1])
                given[future] = waiting.pop()
            done, _ = wait(given, return_when=FIRST_COMPLETED)
            # Blocks that were finished before a worker was killed count.
            for future in sorted(done, key=lambda future: future.exception() is not None):
                finished = future.result()
                del given[future]
                yield finished


def make_pickled(pickled: bytes, block: Block) -> FinishedBlock:
    """Make a block by a pickled :class:`Task`, in another process."""
    return _unpickle(pickled)(block)


@lru_cache(maxsize=1)
def _unpickle(pickled: bytes) -> Task:
    """Return the task; all blocks of a process share what its sessions have computed."""
    task: Task = pickle.loads(pickled)
    return task
