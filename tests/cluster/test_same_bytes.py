"""Whoever makes the blocks, and wherever they wait: the output has the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pytest
import s3fs
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


def test_a_cluster_with_a_bucket_alone_makes_the_bytes_of_one_process(
    cluster: Cluster, bucket: str, undisturbed: str, tmp_path: Path
) -> None:
    written = play(f"{bucket}/day.parquet", scheduler=cluster.url, storage=f"{bucket}/blocks")
    assert written.path == f"{bucket}/day.parquet"
    check_alone(s3fs.S3FileSystem(use_listings_cache=False), bucket, undisturbed, tmp_path)


def test_blocks_in_a_bucket_of_google_become_the_same_output(
    google_bucket: str, undisturbed: str, tmp_path: Path
) -> None:
    play(f"{google_bucket}/day.parquet", storage=f"{google_bucket}/blocks")
    files = fsspec.filesystem("gs", use_listings_cache=False)
    check_alone(files, google_bucket, undisturbed, tmp_path)


def check_alone(files: Any, bucket: str, undisturbed: str, folder: Path) -> None:
    """Check that the output stands alone in a bucket, and is the one that is known."""
    assert files.find(bucket) == ["bucket/day.parquet"]
    files.get_file(f"{bucket}/day.parquet", str(folder / "fetched.parquet"))
    assert digest(folder / "fetched.parquet") == undisturbed
