"""Making a workload: in memory, or in blocks that are kept for the next run if this one fails."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path

import pyarrow as pa

from trafficgen.errors import OutputFileError
from trafficgen.formatting import format_count, size_text
from trafficgen.generation.columns import order_columns
from trafficgen.interruptions import clean_up_at_end, note_kept
from trafficgen.outputs import is_stream, short_name
from trafficgen.packet_files.destinations import local_path
from trafficgen.progress import report_step
from trafficgen.tables import DEFAULT_ORIGIN_NS, FLOW_SCHEMA, PACKET_SCHEMA, PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.workloads.blocks import (
    RUN,
    Block,
    FinishedBlock,
    ProcessPool,
    Sessions,
    Task,
    ThisProcess,
    Workers,
    check_run,
    count_finished,
    cut,
    discard,
    find_finished,
    number_flows,
    play_block,
)
from trafficgen.workloads.cluster import DaskCluster, versions_here
from trafficgen.workloads.merge import DamagedPartError, MemoryPart, merge_at_once, merge_parts
from trafficgen.workloads.options import WorkloadOptions
from trafficgen.workloads.storage import Folder, Storage, storage_at

_LOCK = "lock"
#: Folder in a work folder for temporary files.
SCRATCH = "scratch"
#: Packets of a block in memory: as many as are put in order within the processor's cache.
_BLOCK_PACKETS = 1 << 16
#: Enough of a digest that no two requests share it.
_DIGEST_DIGITS = 24


def make_in_memory(
    sessions: Sessions, *, workers: int, origin_ns: int = DEFAULT_ORIGIN_NS
) -> PacketStream:
    """Make all sessions of a workload in memory; ``workers`` threads share the blocks.

    Raises:
        GenerationError: If a session cannot be played.
        ValueError: If there is no worker.
    """
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}")
    parts: list[MemoryPart] = []
    flows: list[pa.Table] = []
    report_step("generating", 0, sessions.count, unit="sessions")
    blocks, first_flow, done = cut(sessions, packets=_BLOCK_PACKETS), 0, 0
    with ThreadPoolExecutor(workers) as pool:
        run = map if workers == 1 or len(blocks) == 1 else pool.map
        tables = run(partial(play_block, sessions), blocks)
        for block, (packets, rows) in zip(blocks, tables, strict=True):
            if packets.num_rows:
                parts.append(MemoryPart(packets, first_flow))
            flows.append(number_flows(rows, first_flow))
            first_flow, done = first_flow + rows.num_rows, done + block.count
            report_step("generating", done, sessions.count, unit="sessions")
    return PacketStream(
        head=_head(sessions, flows, origin_ns),
        pieces=merge_at_once(parts),
        columns=frozenset(name for part in parts for name in part.table.column_names),
        rows=sum(part.rows for part in parts),
    )


def gather_table(stream: PacketStream) -> PacketTable:
    """Return the packets of a stream as one table."""
    pieces: list[pa.Table] = []
    done = 0
    for piece in stream.pieces:
        pieces.append(piece)
        done += piece.num_rows
        report_step("putting packets in order", done, stream.rows, unit="packets")
    # A source may send nothing in a short time.
    pieces = pieces or [PACKET_SCHEMA.empty_table()]
    packets = order_columns(pa.concat_tables(pieces, promote_options="default"))
    return replace(stream.head, packets=packets.combine_chunks())


def _head(sessions: Sessions, flows: list[pa.Table], origin_ns: int) -> PacketTable:
    """Return the table of a workload without its packets."""
    return PacketTable(
        packets=PACKET_SCHEMA.empty_table(),
        flows=pa.concat_tables([FLOW_SCHEMA.empty_table(), *flows]),
        origin_ns=origin_ns,
        notes=sessions.notes,
    )


def work_folder(out: str | Path) -> Path:
    """Return the folder of an output's blocks: next to it, or a temporary one for URLs and streams.

    That of a stream is of this process alone and ends with it: there is no run to continue.
    """
    path = local_path(out)
    if path is not None and is_stream(path):
        folder = Path(tempfile.mkdtemp(prefix="trafficgen-"))
        clean_up_at_end(lambda: shutil.rmtree(folder, ignore_errors=True))
        return folder / "blocks"
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
    sessions: Sessions, blocks: Sequence[Block], folder: Path, options: WorkloadOptions
) -> Iterator[PacketStream]:
    """Make all blocks of a workload; they are removed when the caller's block ends without error.

    Blocks that an earlier run of the same request has finished are used. After a failure they stay,
    so that the next run can continue. In ``folder`` one run works at a time. In a storage, where no
    lock would outlive a machine, the last run to begin counts: an earlier one of the same request
    ends with an error, and no finished block of either is lost. ``folder`` is that of this output
    alone on this machine; blocks wait there where options name no storage. Memory is for their
    merge, and one worker makes them in this process.

    Raises:
        GenerationError: If a session cannot be played, workers end repeatedly, or the scheduler is
            lost.
        OutputFileError: If a place cannot be written, another run works in it, or a block is
            damaged.
        SettingError: If the storage or the cluster cannot be used.
    """
    blocks, storage = tuple(blocks), options.storage
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
            makers = choose_workers(min(options.workers, max(1, len(rest))), options.scheduler)
            done = sessions.count - sum(block.count for block in rest)
            report_step("making", done, sessions.count, unit="sessions")
            for block in makers.make(Task(sessions, place, run), rest):
                finished[block.place] = block
                done += blocks[block.place].count
                report_step("making", done, sessions.count, unit="sessions")
            made = [finished[block.place] for block in blocks]
            with _discard_if_damaged(made, place):
                yield _stream_blocks(sessions, made, place, scratch, options)
            # The output is whole; blocks that another run has taken over belong to it.
            with suppress(OutputFileError):
                check_run(place, run)
                place.remove_all()
            shutil.rmtree(folder, ignore_errors=True)
    except BrokenPipeError:  # the reader of standard output has gone
        raise
    except OSError as error:
        problem = f"cannot be written ({error.strerror or error})"
        raise _error_with_count(str(folder), problem, "make room", place, blocks) from error
    except OutputFileError as error:
        raise _error_with_count(error.file, error.problem, error.remedy, place, blocks) from error


def _stream_blocks(
    sessions: Sessions,
    blocks: Sequence[FinishedBlock],
    place: Storage,
    scratch: Path,
    options: WorkloadOptions,
) -> PacketStream:
    """Return the packets of finished blocks; reading them may find damage."""
    first_flows = accumulate((block.flows for block in blocks[:-1]), initial=0)
    numbered = list(zip(blocks, first_flows, strict=True))
    flows = [block.flow_table(place, first_flow=first) for block, first in numbered]
    parts = [block.part(place, scratch=scratch, first_flow=first) for block, first in numbered]
    return PacketStream(
        head=_head(sessions, flows, options.origin_ns),
        pieces=merge_parts(parts, memory_bytes=options.memory_bytes, folder=scratch),
        columns=frozenset(name for block in blocks for name in block.columns),
        rows=sum(block.rows for block in blocks),
    )


@contextmanager
def _discard_if_damaged(blocks: Sequence[FinishedBlock], place: Storage) -> Iterator[None]:
    """Discard a damaged block, so that the next run makes it again."""
    try:
        yield
    except DamagedPartError as error:
        for block in blocks:
            if str(error).startswith(block.name):
                discard(block, place)
        raise OutputFileError(
            file=f"{place.place}/{error}",
            problem="is damaged: it has changed since it was written",
            remedy="run the same command again, which makes this block again, not the others",
        ) from error


@contextmanager
def _remove_if_empty(folder: Path, place: Storage) -> Iterator[None]:
    """After a failure, remove a folder without finished blocks that a next run could use."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError, OutputFileError):
            is_here = isinstance(place, Folder) and place.path.is_relative_to(folder.absolute())
            if is_here and not (done := count_finished(place)):
                shutil.rmtree(folder)
            elif is_here and isinstance(error, KeyboardInterrupt):
                size = size_text(sum(file.stat().st_size for file in folder.rglob("*.arrow")))
                note_kept(
                    f"{format_count(done, 'block')} kept in {folder} ({size}): the same command"
                    " continues from there"
                )
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
    scratch = folder / SCRATCH
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
