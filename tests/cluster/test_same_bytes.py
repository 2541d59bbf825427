"""Whoever makes the blocks, and wherever they wait: the output has the same bytes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cluster.conftest import Cluster
from tests.cluster.played import digest, play


@pytest.mark.parametrize("workers", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_processes_make_the_bytes_of_one_alone(workers: int, undisturbed: str, tmp_path: Path) -> None:
    play(tmp_path / "out.parquet", workers=workers)
    assert digest(tmp_path / "out.parquet") == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_cluster_with_a_common_disk_makes_the_bytes_of_one_process(
    cluster: Cluster, undisturbed: str, tmp_path: Path
) -> None:
    play(tmp_path / "out.parquet", scheduler=cluster.url)
    assert digest(tmp_path / "out.parquet") == undisturbed
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_cluster_with_a_bucket_alone_makes_the_bytes_of_one_process(
    cluster: Cluster, bucket: str, undisturbed: str, tmp_path: Path
) -> None:
    import s3fs  # noqa: PLC0415

    written = play(f"{bucket}/day.parquet", scheduler=cluster.url, storage=f"{bucket}/blocks")
    assert written.path == f"{bucket}/day.parquet"
    files = s3fs.S3FileSystem()
    assert files.find(bucket) == ["bucket/day.parquet"]
    files.get_file(f"{bucket}/day.parquet", str(tmp_path / "fetched.parquet"))
    assert digest(tmp_path / "fetched.parquet") == undisturbed
