"""Blocks of sessions, and workers that make them: any makes one alone, whole or not at all.

A block has about the same number of packets whatever the number of workers, and the merged packets
do not depend on where the sessions were cut, so that a run can continue with other workers. These
are this process, several processes, or a cluster; only a few numbers of a block come back.
"""

from __future__ import annotations

import json
import pickle
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from trafficgen.errors import GenerationError, OutputFileError
from trafficgen.generation.columns import superpose
from trafficgen.generation.open_loop import OpenLoopSessions
from trafficgen.generation.session import FlowRow
from trafficgen.tables import FLOW_SCHEMA
from trafficgen.tables.columns import set_values
from trafficgen.worker_processes import defer_interrupts, worker_pool
from trafficgen.workloads.merge import DamagedPartError, StoredPart, write_batches
from trafficgen.workloads.mix import MixedSessions
from trafficgen.workloads.storage import Storage

#: Packets of a block: enough that starting one costs nothing, few enough that several fit in a
#: worker's memory.
BLOCK_PACKETS = 1 << 20
#: Endings of the files of a block; the last one is written when the others are whole.
_PACKETS, _FLOWS, _WHOLE = ".arrow", ".flows.arrow", ".json"
#: Name of the file that names the run which the blocks are made for.
RUN = "run.json"
#: Rows of the flow table of a block are in memory with its packets.
_MOST_SESSIONS = 1 << 14
#: Sessions of a population differ: this many give the mean length.
_SAMPLED = 1000


#: The sessions of a workload, or of one model; they are sent to other processes.
Sessions = MixedSessions | OpenLoopSessions


@dataclass(frozen=True)
class Block:
    """Some sessions that are made together.

    Attributes:
        place: Number of the block.
    """

    place: int
    first: int
    count: int

    @property
    def name(self) -> str:
        """Name of its files without their endings."""
        return f"block-{self.place:06d}"


@dataclass(frozen=True)
class FinishedBlock:
    """A block whose files are whole.

    Attributes:
        place: Number of the block.
        size_bytes: Bytes that they take in memory.
        first_ns: Time of the first packet, ns from the origin.
        columns: Optional columns that have values.
        packets_file_bytes: Length of the file of its packets.
        flows_file_bytes: Length of the file of its flows.
    """

    place: int
    rows: int
    size_bytes: int
    first_ns: int
    flows: int
    columns: tuple[str, ...]
    packets_file_bytes: int
    flows_file_bytes: int

    @property
    def name(self) -> str:
        """Name of its files without their endings."""
        return Block(self.place, 0, 0).name

    def part(self, storage: Storage, *, scratch: Path, first_flow: int) -> StoredPart:
        """Return its packets; ``scratch`` is a folder for a copy of remote ones."""
        return StoredPart(
            name=self.name + _PACKETS,
            rows=self.rows,
            size_bytes=self.size_bytes,
            first_ns=self.first_ns,
            first_flow=first_flow,
            storage=storage,
            scratch=scratch,
        )

    def flow_table(self, storage: Storage, *, first_flow: int) -> pa.Table:
        """Return its rows of flows, numbered in the workload, or raise DamagedPartError."""
        name = self.name + _FLOWS
        try:
            flows = pa.ipc.open_file(pa.BufferReader(storage.read(name))).read_all()
            flows.validate(full=True)
        except (OSError, pa.ArrowException) as error:
            raise DamagedPartError(name) from error
        if flows.num_rows != self.flows:
            raise DamagedPartError(name)
        return number_flows(flows, first_flow)


def number_flows(flows: pa.Table, first_flow: int) -> pa.Table:
    """Return rows of flows, numbered from ``first_flow`` on."""
    return set_values(flows, "flow", range(first_flow, first_flow + flows.num_rows))


def cut(sessions: Sessions, *, packets: int = BLOCK_PACKETS) -> tuple[Block, ...]:
    """Cut sessions into blocks of about ``packets`` packets; a session is never cut."""
    sampled = min(sessions.count, _SAMPLED)
    mean = max(1.0, sessions.expected_packets(range(sampled)) / sampled)
    size = max(1, min(_MOST_SESSIONS, int(packets / mean)))
    return tuple(
        Block(place, first, min(size, sessions.count - first))
        for place, first in enumerate(range(0, sessions.count, size))
    )


def play_block(sessions: Sessions, block: Block) -> tuple[pa.Table, pa.Table]:
    """Return the packets of a block in order, and the rows of its flows, numbered from 0."""
    tables, rows = sessions.block(block.first, block.count)
    return superpose(tables), pa.Table.from_pylist(rows, schema=FLOW_SCHEMA)


def make_block(sessions: Sessions, block: Block, storage: Storage, *, run: str) -> FinishedBlock:
    """Make a block and store it: packets, flows, and last the file that makes it count as whole.

    Raises:
        OutputFileError: If the storage is not that of the run, seen from here.
    """
    check_run(storage, run)
    packets_name, flows_name = block.name + _PACKETS, block.name + _FLOWS
    flows: list[FlowRow] = []
    rows, sizes_bytes, first_ns, columns = list[int](), list[int](), list[int](), dict[str, None]()

    def play() -> Iterator[pa.Table]:
        for table in _play_in_pieces(sessions, block, flows):
            rows.append(table.num_rows)
            sizes_bytes.append(table.nbytes)
            first_ns.extend(table.column("time_ns")[:1].to_pylist())
            columns.update(dict.fromkeys(table.column_names))
            yield table

    try:
        packets_bytes = storage.write(packets_name, lambda file: write_batches(play(), file))
    except FileNotFoundError:
        check_run(storage, run)  # it may be over, and its place gone
        raise
    finished = FinishedBlock(
        place=block.place,
        rows=sum(rows),
        size_bytes=sum(sizes_bytes),
        first_ns=next(iter(first_ns), 0),
        flows=len(flows),
        columns=tuple(columns),
        packets_file_bytes=packets_bytes,
        flows_file_bytes=storage.write(
            flows_name,
            lambda file: write_batches([pa.Table.from_pylist(flows, schema=FLOW_SCHEMA)], file),
        ),
    )
    try:
        check_run(storage, run)
    except OutputFileError:
        if RUN not in storage.read_all([RUN]):  # the run is over: leave nothing behind
            storage.remove(packets_name)
            storage.remove(flows_name)
        raise
    content = json.dumps(asdict(finished)).encode()
    storage.write(block.name + _WHOLE, lambda file: file.write(content))
    return finished


def _play_in_pieces(sessions: Sessions, block: Block, flows: list[FlowRow]) -> Iterator[pa.Table]:
    """Yield the packets of a block in order, and add the rows of its flows at the end."""
    if block.count == 1:
        yield from sessions.windows(block.first, flows)
        return
    tables, rows = sessions.block(block.first, block.count)
    yield superpose(tables)
    flows += rows


def check_run(storage: Storage, run: str) -> None:
    """Refuse to work for a run that is over, or in a storage that is not the one that it means.

    Raises:
        OutputFileError: If another run has begun there, or none is seen from this machine.
    """
    try:
        now = storage.read(RUN).decode()
    except FileNotFoundError:
        raise OutputFileError(
            file=storage.place,
            problem=f"does not exist, seen from {platform.node() or 'a worker'}",
            remedy="name a place that all workers reach with [--storage]",
        ) from None
    if now != run:
        raise OutputFileError(
            file=storage.place,
            problem="another run of the same workload has begun there",
            remedy="let that one finish, or give this one another [--storage]",
        )


def find_finished(blocks: tuple[Block, ...], storage: Storage) -> Iterator[FinishedBlock]:
    """Yield the blocks that an earlier run has left whole."""
    sizes = storage.sizes_bytes()
    names = {block.name + _WHOLE: block for block in blocks}
    for name, content in storage.read_all([name for name in names if name in sizes]).items():
        finished = _parse_finished(content, sizes)
        if finished is not None and finished.place == names[name].place:
            yield finished


def discard(finished: FinishedBlock, storage: Storage) -> None:
    """Let the next run make a block again."""
    storage.remove(finished.name + _WHOLE)


def count_finished(storage: Storage) -> int:
    """Count the blocks that are whole in a storage."""
    return sum(
        name.startswith("block-") and name.endswith(_WHOLE) for name in storage.sizes_bytes()
    )


def _parse_finished(content: bytes, sizes_bytes: Mapping[str, int]) -> FinishedBlock | None:
    """Return a block if its files have the lengths that they were written with."""
    try:
        values = json.loads(content)
        block = FinishedBlock(**{**values, "columns": tuple(values["columns"])})
    except (ValueError, TypeError, KeyError):
        return None  # damaged, or written by another version
    lengths = sizes_bytes.get(block.name + _PACKETS), sizes_bytes.get(block.name + _FLOWS)
    return block if lengths == (block.packets_file_bytes, block.flows_file_bytes) else None


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
