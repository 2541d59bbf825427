"""Runs that are killed: what is finished is kept, nothing half-written has a final name, a rerun gives the same bytes."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import active_children
from pathlib import Path

import pytest
from tests.cluster.conftest import Cluster, ended, started
from tests.cluster.played import BLOCKS, digest, play, until

from trafficgen.errors import GenerationError
from trafficgen.progress import Step, following

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
    done: list[Step] = []

    def follow(step: Step) -> None:
        if step.what == "making" and step.done >= number and not done:
            done.append(step)
            act()  # type: ignore[operator]

    with following(follow):
        yield
    assert done


def killed_command(out: Path, options: Sequence[str], *, blocks: int, delay_s: float) -> set[str]:
    """Kill a command a moment after so many blocks are whole; return the names of those that it leaves."""
    process = started(*COMMAND, str(out), *options, log=out.with_suffix(".log"))
    try:
        work = out.parent / f".{out.name}.work"
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
    """Check that a rerun makes only what was not finished, and leaves the same bytes and nothing else."""
    made: list[int] = []
    with following(lambda step: made.append(int(step.done)) if step.what == "making" else None):
        play(out)
    assert len(made) == BLOCKS - len(kept)
    assert digest(out) == undisturbed
    assert {path.name for path in out.parent.iterdir()} <= {out.name, out.with_suffix(".log").name}


@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 12))])
def test_a_command_killed_at_any_moment_goes_on_where_it_was(seed: int, undisturbed: str, tmp_path: Path) -> None:
    chance = random.Random(seed)
    out = tmp_path / "out.parquet"
    workers = chance.choice([1, 2, 3])
    kept = killed_command(
        out, [f"workers={workers}"], blocks=chance.randint(1, BLOCKS), delay_s=chance.expovariate(20.0)
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


def test_a_killed_worker_of_this_machine_is_replaced(undisturbed: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with at_block(2, lambda: active_children()[0].kill()):
        play(out, workers=2)
    assert digest(out) == undisturbed


def test_a_killed_worker_of_a_cluster_is_done_without(cluster: Cluster, undisturbed: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with at_block(2, lambda: ended(cluster.workers[0])):
        play(out, scheduler=cluster.url)
    assert digest(out) == undisturbed


def test_a_killed_scheduler_ends_the_command_in_one_line(cluster: Cluster, undisturbed: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    with at_block(3, lambda: ended(cluster.scheduler)), pytest.raises(GenerationError, match="is lost") as error:
        play(out, scheduler=cluster.url)
    assert "\n" not in str(error.value)
    kept = {path.name for path in finished(tmp_path)}
    assert len(kept) >= 3
    assert not out.exists()
    until(lambda: cluster.workers[1].poll() is not None or True)
    check_rerun(out, kept, undisturbed)
