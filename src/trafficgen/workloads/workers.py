"""Who makes the blocks of a workload: this process, processes of this machine, or machines of a
cluster.

All are given the same blocks and leave the same files; what comes back of a block is a few numbers.
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
from trafficgen.worker_processes import interrupts_defer_signals, worker_pool
from trafficgen.workloads.blocks import Block, MadeBlock, Sessions, make_block
from trafficgen.workloads.storage import Storage

#: A block during which workers have ended so often is given up: it may be what ends them.
MOST_DEATHS = 3
#: Blocks handed over for each that is worked at: a worker then never waits for the next.
AHEAD = 2


@dataclass(frozen=True)
class Task:
    """What a worker needs to make any block of a run.

    Attributes:
        sessions: What plays the sessions.
        storage: Where blocks are left.
        run: The run that they are made for.
    """

    sessions: Sessions
    storage: Storage
    run: str

    def __call__(self, block: Block) -> MadeBlock:
        """Make a block.

        Raises:
            OutputFileError: If it cannot be left in its place.
        """
        try:
            return make_block(self.sessions, block, self.storage, run=self.run)
        except OSError as error:
            raise OutputFileError(
                file=self.storage.place,
                problem=f"cannot be written ({error.strerror or error})",
                remedy="make room there, or choose another place",
            ) from error


class Workers(Protocol):
    """Who makes blocks."""

    def made(self, task: Task, blocks: Sequence[Block]) -> Iterator[MadeBlock]:
        """Yield blocks as they are finished, in any order.

        Raises:
            GenerationError: If a session cannot be played, or workers end again and again.
            OutputFileError: If a block cannot be left in its place.
        """
        ...


@dataclass(frozen=True)
class ThisProcess:
    """Blocks are made here, one after the other."""

    def made(self, task: Task, blocks: Sequence[Block]) -> Iterator[MadeBlock]:
        """Yield blocks as they are finished."""
        yield from map(task, blocks)


@dataclass(frozen=True)
class ProcessPool:
    """Blocks are made in processes of this machine.

    When one is killed, all its siblings are started anew, and go on with what is not finished.

    Attributes:
        workers: Number of processes.
    """

    workers: int

    def made(self, task: Task, blocks: Sequence[Block]) -> Iterator[MadeBlock]:
        """Yield blocks as they are finished."""
        packed = pickle.dumps(task)
        waiting = list(blocks)[::-1]
        deaths: Counter[int] = Counter()
        while waiting:
            given: dict[Future[MadeBlock], Block] = {}
            try:
                with worker_pool(min(self.workers, len(waiting))) as pool:
                    yield from self._pooled(pool, packed, waiting, given)
            except BrokenProcessPool:
                deaths.update(block.place for block in given.values())
                if max(deaths.values(), default=MOST_DEATHS) >= MOST_DEATHS:
                    raise GenerationError(
                        f"workers have ended {MOST_DEATHS} times, perhaps for want of memory: run"
                        " the same command again, with fewer --workers; blocks that are done are"
                        " kept"
                    ) from None
                waiting += sorted(given.values(), key=lambda block: -block.place)

    def _pooled(
        self,
        pool: ProcessPoolExecutor,
        packed: bytes,
        waiting: list[Block],
        given: dict[Future[MadeBlock], Block],
    ) -> Iterator[MadeBlock]:
        """Yield finished blocks; take from the end of ``waiting``, and keep what is not finished in
        ``given``.
        """
        while waiting or given:
            while waiting and len(given) < AHEAD * self.workers:
                with interrupts_defer_signals():
                    future = pool.submit(make_packed, packed, waiting[-1])
                given[future] = waiting.pop()
            done, _ = wait(given, return_when=FIRST_COMPLETED)
            # What was finished before a worker was killed counts, whatever comes of the rest.
            for future in sorted(done, key=lambda future: future.exception() is not None):
                made = future.result()
                del given[future]
                yield made


def make_packed(packed: bytes, block: Block) -> MadeBlock:
    """Make a block by a pickled :class:`Task`, in another process."""
    return _unpacked(packed)(block)


@lru_cache(maxsize=1)
def _unpacked(packed: bytes) -> Task:
    """Return the task; what its sessions have worked out once serves all blocks of a process."""
    task: Task = pickle.loads(packed)
    return task
