"""Whoever makes the blocks, and wherever they wait: the output has the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.conftest import Cluster
from tests.cluster.played import digest, play


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_make_the_bytes_of_one_alone(
    workers: int, undisturbed: str, tmp_path: Path
) -> None:
    play(tmp_path / "out.parquet", workers=workers)
    assert digest(tmp_path / "out.parquet") == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_cluster_with_a_common_disk_makes_the_bytes_of_one_process(
    cluster: Cluster, undisturbed: str, tmp_path: Path
) -> None:
    play(tmp_path / "out.parquet", scheduler=cluster.url)
    assert digest(tmp_path / "out.parquet") == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


@pytest.mark.parametrize("on_cluster", [True, False])
def test_blocks_and_output_at_a_url_have_the_bytes_of_one_process(
    on_cluster: bool, request: pytest.FixtureRequest, remote: str, undisturbed: str
) -> None:
    scheduler = request.getfixturevalue("cluster").url if on_cluster else None
    written = play(f"{remote}/day.parquet", scheduler=scheduler, storage=remote)
    assert written.path == f"{remote}/day.parquet"
    folder = Path(remote.removeprefix("local://"))
    assert [path.name for path in folder.iterdir()] == ["day.parquet"]
    assert digest(folder / "day.parquet") == undisturbed
