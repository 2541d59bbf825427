"""Full disks, damaged files, runs that meet: one line says what is wrong, and the same command goes
on afterwards.
"""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cluster.played import BLOCKS, digest, play

from trafficgen.cli.app import run
from trafficgen.errors import GenerationError, OutputFileError, SettingError
from trafficgen.progress import Step, following
from trafficgen.workloads import cluster as dask_cluster
from trafficgen.workloads.cluster import DaskCluster


def made_now(out: Path, *, storage: str | None = None) -> int:
    """Make the workload and return how many blocks had to be made for it."""
    made: list[float] = []
    with following(lambda step: made.append(step.done) if step.what == "making" else None):
        play(out, storage=storage)
    return len(made[1:])  # the first step says how many there are already


def refused(out: Path, *, storage: str | None = None) -> str:
    """Return the one line that a run ends with."""
    with pytest.raises(OutputFileError) as error:
        play(out, storage=storage)
    line = str(error.value)
    assert "\n" not in line
    assert not out.exists()
    assert not list(out.parent.glob(f".{out.name}.*.part"))
    return line


def at_block(number: int, act: Callable[[], object]) -> Callable[[Step], None]:
    made: list[Step] = []

    def follow(step: Step) -> None:
        if step.what == "making":
            made.append(step)
            if len(made[1:]) == number:
                act()

    return follow


@contextmanager
def files_at_most(size_bytes: int) -> Iterator[None]:
    """Have the kernel refuse longer files, as it does where a quota is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def resized(place: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(place)], check=True)


def test_a_full_disk_is_said_in_a_line_and_a_rerun_goes_on(
    small_disk: Path, undisturbed: str
) -> None:
    out = small_disk / "out.parquet"
    with following(at_block(3, lambda: resized(small_disk, "400k"))):
        line = refused(out)
    assert "No space left on device" in line
    done = int(line.split(" of 12 blocks")[0].rpartition(" ")[2])
    assert 3 <= done < BLOCKS
    resized(small_disk, "10M")
    assert made_now(out) == BLOCKS - done
    assert digest(out) == undisturbed


def test_a_disk_that_is_full_when_parts_are_merged_keeps_all_blocks(
    small_disk: Path, undisturbed: str
) -> None:
    out = small_disk / "out.parquet"
    with following(at_block(BLOCKS, lambda: resized(small_disk, "900k"))):
        line = refused(out)
    assert "12 of 12 blocks are done and kept" in line
    resized(small_disk, "10M")
    assert made_now(out) == 0
    assert digest(out) == undisturbed


def test_a_limit_on_files_is_said_in_a_line_and_a_rerun_goes_on(
    undisturbed: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    with files_at_most(20_000):
        assert "cannot be written" in refused(out)
    longest = 0

    def look() -> None:
        nonlocal longest
        longest = max(path.stat().st_size for path in tmp_path.rglob("block-*"))

    with following(at_block(BLOCKS, look)), files_at_most(120_000):
        assert "12 of 12 blocks are done and kept" in refused(out)
    assert longest < 120_000
    assert made_now(out) == 0
    assert digest(out) == undisturbed


@pytest.mark.parametrize("damage", ["shorter", "other"])
def test_a_damaged_part_is_made_again_by_the_next_run(
    damage: str, undisturbed: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"

    def spoil() -> None:
        (path,) = tmp_path.rglob("block-000004.arrow")
        content = path.read_bytes()
        path.write_bytes(content[:-1000] if damage == "shorter" else content[:-1000] + bytes(1000))

    with following(at_block(BLOCKS, spoil)):
        line = refused(out)
    assert "block-000004.arrow: is damaged" in line
    assert made_now(out) == 1
    assert digest(out) == undisturbed


def test_a_part_that_was_cut_since_the_last_run_is_made_again(
    undisturbed: str, tmp_path: Path
) -> None:
    out = tmp_path / "out.parquet"
    with files_at_most(120_000):
        refused(out)
    (path,) = tmp_path.rglob("block-000002.flows.arrow")
    path.write_bytes(path.read_bytes()[:-1])
    assert made_now(out) == 1
    assert digest(out) == undisturbed


def test_of_two_runs_in_one_storage_the_later_counts(undisturbed: str, tmp_path: Path) -> None:
    out, storage = tmp_path / "here" / "out.parquet", tmp_path / "storage"
    (tmp_path / "there").mkdir()
    out.parent.mkdir()

    def later_run() -> None:
        later = tmp_path / "there" / "out.parquet"
        assert (
            made_now(later, storage=str(storage)) == BLOCKS - 3
        )  # what the earlier has finished is taken over
        assert digest(later) == undisturbed

    with following(at_block(3, later_run)):
        line = refused(out, storage=str(storage))
    assert str(storage) in line
    assert made_now(out, storage=f"file://{storage}") == BLOCKS
    assert digest(out) == undisturbed


def test_another_workload_in_the_same_storage_is_left_alone(
    undisturbed: str, tmp_path: Path
) -> None:
    storage = tmp_path / "storage"
    with files_at_most(120_000):
        refused(tmp_path / "out.parquet", storage=str(storage))
    play(tmp_path / "other.parquet", seed=8, storage=str(storage))
    assert made_now(tmp_path / "out.parquet", storage=str(storage)) == 0
    assert digest(tmp_path / "out.parquet") == undisturbed
    assert list(storage.iterdir()) == []


def test_two_runs_of_one_output_are_not_at_work_at_once(undisturbed: str, tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"

    def same_again() -> None:
        with pytest.raises(OutputFileError, match="another run works there"):
            play(out)

    with following(at_block(2, same_again)):
        play(out)
    assert digest(out) == undisturbed


def test_a_scheduler_that_does_not_answer_is_said_in_a_line() -> None:
    with pytest.raises(GenerationError, match=r"no scheduler answers at tcp://127\.0\.0\.1:9;"):
        list(DaskCluster("tcp://127.0.0.1:9", connect_s=0.5).make(None, [None]))  # type: ignore[arg-type, list-item]


def test_an_address_that_is_none_is_said_in_a_line() -> None:
    with pytest.raises(GenerationError, match="no scheduler answers at carrier-pigeon://host"):
        list(DaskCluster("carrier-pigeon://host", connect_s=0.5).make(None, [None]))  # type: ignore[arg-type, list-item]


@pytest.mark.parametrize("name", ["Python", "machine", "trafficgen-streaming", "numpy", "scipy"])
def test_a_worker_that_differs_is_refused(name: str) -> None:
    ours = dask_cluster.versions_here()
    dask_cluster.check_versions(ours, dict(ours), "tcp://worker:1")
    with pytest.raises(SettingError, match=f"the worker tcp://worker:1 has 0.0.7 as {name}"):
        dask_cluster.check_versions(ours, {**ours, name: "0.0.7"}, "tcp://worker:1")
    with pytest.raises(SettingError, match=f"the worker tcp://worker:1 lacks {name}"):
        dask_cluster.check_versions(ours, {**ours, name: "None"}, "tcp://worker:1")


def test_an_object_that_exists_is_kept_unless_it_is_to_be_replaced(
    remote: str, capfd: pytest.CaptureFixture[str]
) -> None:
    generate = ["generate", "cbr", "-q", "--duration", "5", "-o", f"{remote}/kept.pcap"]
    assert run(generate) == 0
    assert run(generate) == 2
    assert (
        capfd.readouterr().err
        == f"trafficgen: {remote}/kept.pcap: exists already; give --force, or another name\n"
    )
    assert run([*generate, "--force"]) == 0
