"""A real Dask scheduler with two workers, as processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cluster.played import digest, play, until

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def answers(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def started(*command: str, log: Path) -> subprocess.Popen[bytes]:
    """Start a program in a group of its own, from the root of the repository."""
    with log.open("ab") as file:
        return subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=file, start_new_session=True)


def ended(process: subprocess.Popen[bytes]) -> None:
    """End a program and all that it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass
class Cluster:
    """A Dask scheduler and its workers, each a process."""

    folder: Path
    port: int = field(default_factory=free_port)
    scheduler: subprocess.Popen[bytes] = field(init=False)
    workers: list[subprocess.Popen[bytes]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.scheduler = self._dask(
            "scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard"
        )
        until(lambda: answers(self.port))

    @property
    def url(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def add_worker(self) -> None:
        place = str(self.folder / "scratch")
        options = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", place)
        self.workers.append(self._dask("worker", self.url, *options))

    def _dask(self, *arguments: str) -> subprocess.Popen[bytes]:
        return started(
            sys.executable, "-m", "dask", *arguments, log=self.folder / f"{arguments[0]}.log"
        )

    def end(self) -> None:
        for process in [*self.workers, self.scheduler]:
            ended(process)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler with two workers."""
    cluster = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        cluster.add_worker()
        cluster.add_worker()
        yield cluster
    finally:
        cluster.end()


@pytest.fixture
def remote(tmp_path: Path) -> str:
    """The URL of an empty folder, which fsspec opens as it opens any other place."""
    (tmp_path / "remote").mkdir()
    return f"local://{tmp_path}/remote"


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of what one process makes of the workload when nothing happens to it."""
    path = tmp_path_factory.mktemp("undisturbed") / "whole.parquet"
    play(path)
    assert not list(path.parent.glob(".*"))
    return digest(path)
