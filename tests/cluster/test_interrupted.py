"""Runs that are killed: what is finished is kept, nothing half-written gets its name, a rerun gives
the same bytes.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import Cluster, ended, started
from tests.cluster.played import BLOCKS, Deadly, digest, play, until

from trafficgen.errors import GenerationError, SettingError
from trafficgen.progress import Step, following
from trafficgen.workloads.blocks import RUN, Block, ProcessPool, Task, Workers
from trafficgen.workloads.cluster import DaskCluster, versions_here
from trafficgen.workloads.storage import Folder

COMMAND = (sys.executable, "-m", "tests.cluster.command")


def finished(folder: Path) -> list[Path]:
    """Return the blocks that are whole in a work folder or storage, oldest first."""
    return sorted(folder.rglob("block-*.json"), key=lambda path: path.stat().st_mtime_ns)


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has just ended
        if parent == pid:
            found.append(int(status.parent.name))
    return found


def gone(pid: int) -> bool:
    """Return whether a process has ended, or is only waiting to be asked how."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@contextmanager
def at_block(number: int, act: object) -> Iterator[None]:
    """Have something done in this process when so many blocks are made."""
    made: list[Step] = []

    def follow(step: Step) -> None:
        if step.what == "making":
            made.append(step)
            if len(made[1:]) == number:
                act()  # type: ignore[operator]

    with following(follow):
        yield
    assert len(made) >= number


def killed_command(
    out: Path, options: Sequence[str], *, blocks: int, delay_s: float, work: Path | None = None
) -> set[str]:
    """Kill a command a moment after so many blocks are whole; return the names of those that it
    leaves.
    """
    work = work or out.parent / f".{out.name}.work"
    process = started(*COMMAND, str(out), *options, log=out.with_suffix(".log"))
    try:
        until(lambda: len(finished(work)) >= blocks or process.poll() is not None)
        time.sleep(delay_s)
        workers = children_of(process.pid)
        process.kill()
        process.wait()
        until(lambda: all(gone(pid) for pid in workers))  # nobody is there to end them
    finally:
        ended(process)
    return {path.name for path in finished(work)}


def check_rerun(out: Path, kept: set[str], undisturbed: str) -> None:
    """Check that a rerun makes only what was not finished, and leaves the same bytes and nothing
    else.
    """
    made: list[int] = []
    with following(lambda step: made.append(int(step.done)) if step.what == "making" else None):
        play(out)
    # The first step says how many are there already.
    assert len(made[1:]) == BLOCKS - len(kept)
    assert digest(out) == undisturbed
    assert {path.name for path in out.parent.iterdir()} <= {out.name, out.with_suffix(".log").name}


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))]
)
def test_a_command_killed_at_any_moment_goes_on_where_it_was(
    seed: int, undisturbed: str, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    out = tmp_path / "out.parquet"
    workers = chance.choice([1, 2, 3])
    kept = killed_command(
        out,
        [f"workers={workers}"],
        blocks=chance.randint(1, BLOCKS),
        delay_s=chance.expovariate(20.0),
    )
    if not out.exists():  # whole, if it is
        assert kept
        check_rerun(out, kept, undisturbed)
    assert digest(out) == undisturbed


def test_processes_end_with_the_command_that_is_killed(undisturbed: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    kept = killed_command(out, ["workers=2"], blocks=2, delay_s=0.0)
    assert 2 <= len(kept) < BLOCKS
    assert not out.exists()
    check_rerun(out, kept, undisturbed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_command_that_is_killed_beside_a_cluster_goes_on_where_it_was(
    seed: int, cluster: Cluster, undisturbed: str, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    out, storage = tmp_path / "here" / "out.parquet", tmp_path / "storage"
    out.parent.mkdir()
    options = [f"scheduler={cluster.url}", f"storage=file://{storage}"]
    blocks, delay_s = chance.randint(1, BLOCKS), chance.expovariate(20.0)
    kept = killed_command(out, options, blocks=blocks, delay_s=delay_s, work=storage)
    assert kept or out.exists()
    play(out, scheduler=cluster.url, storage=str(storage))
    assert digest(out) == undisturbed
    time.sleep(1.0)  # a worker may still be at a block of the one that was killed
    assert list(storage.iterdir()) == []
    assert {path.name for path in out.parent.iterdir()} <= {out.name, out.with_suffix(".log").name}


def kill_one_child() -> None:
    active_children()[0].kill()


def test_a_killed_worker_of_this_machine_is_replaced(undisturbed: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with at_block(2, kill_one_child):
        play(out, workers=2)
    assert digest(out) == undisturbed


def test_a_killed_worker_of_a_cluster_is_done_without(
    cluster: Cluster, undisturbed: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    with at_block(2, lambda: ended(cluster.workers[0])):
        play(out, scheduler=cluster.url)
    assert digest(out) == undisturbed


def test_workers_of_other_versions_are_refused(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ours = {**versions_here(), "numpy": "1.0.0"}
    monkeypatch.setattr("trafficgen.workloads.cluster.versions_here", lambda: ours)
    with pytest.raises(
        SettingError,
        match=r"the worker tcp://127\.0\.0\.1:\d+ has .* as numpy, this command has 1.0.0",
    ):
        play(tmp_path / "out.parquet", scheduler=cluster.url)


@pytest.mark.slow
def test_a_block_that_ends_every_process_is_given_up(tmp_path: Path) -> None:
    with pytest.raises(GenerationError, match="workers have ended 3 times") as error:
        play_deadly(tmp_path, ProcessPool(2))
    assert "\n" not in str(error.value)
    assert {path.name for path in finished(tmp_path)} >= {"block-000000.json"}


@pytest.mark.slow
def test_a_block_that_ends_every_worker_is_given_up(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        for _ in range(5):
            cluster.add_worker()
        with pytest.raises(
            GenerationError, match="block 3: every worker that made it has died"
        ) as error:
            play_deadly(tmp_path, DaskCluster(cluster.url))
        assert "\n" not in str(error.value)
    finally:
        cluster.end()


@pytest.mark.slow
def test_a_cluster_without_workers_is_said_in_a_line(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    try:
        with pytest.raises(GenerationError, match="has no workers; start some"):
            play_deadly(tmp_path, DaskCluster(cluster.url, connect_s=2.0))
        cluster.add_worker()
        with pytest.raises(GenerationError, match="has lost all its workers; start some"):
            play_deadly(tmp_path, DaskCluster(cluster.url, patience_s=3.0))
    finally:
        cluster.end()


def play_deadly(folder: Path, workers: Workers) -> None:
    """Have blocks made of which one ends who makes it."""
    storage = Folder(folder / "blocks")
    storage.begin()
    storage.write(RUN, lambda file: file.write(b"run"))
    sessions: Any = Deadly()
    blocks = [Block(place, place, 1) for place in range(6)]
    list(workers.make(Task(sessions, storage, "run"), blocks))


def test_a_killed_scheduler_ends_the_command_in_one_line(
    cluster: Cluster, undisturbed: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    with (
        at_block(3, lambda: ended(cluster.scheduler)),
        pytest.raises(GenerationError, match="is lost") as error,
    ):
        play(out, scheduler=cluster.url)
    assert "\n" not in str(error.value)
    kept = {path.name for path in finished(tmp_path)}
    assert len(kept) >= 3
    assert not out.exists()
    check_rerun(out, kept, undisturbed)
