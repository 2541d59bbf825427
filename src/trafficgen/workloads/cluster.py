"""Workers on other machines: the blocks of a workload on a Dask distributed cluster.

The scheduler knows blocks by number only; packets go from a worker straight into the storage.
"""

from __future__ import annotations

import logging
import math
import pickle
import platform
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

from trafficgen.errors import GenerationError, SettingError, TrafficgenError
from trafficgen.imports import require
from trafficgen.provenance import DISTRIBUTION, software_version
from trafficgen.workloads.blocks import AHEAD, Block, FinishedBlock, Task, make_pickled

#: What the packets depend on besides trafficgen itself.
_PACKAGES = ("numpy", "scipy")
_KEPT = "blocks that are done are kept, and the same command continues"


@dataclass(frozen=True)
class DaskCluster:
    """Makes blocks with the workers of a Dask scheduler.

    Attributes:
        scheduler: Its address, such as ``tcp://host:8786``.
        connect_s: Time for it to answer and for the first worker to come, s; shorter fails on a
            busy network, longer lets a wrong address go unnoticed.
        patience_s: A cluster without workers for this long is given up, s; shorter fails while
            workers restart.
        close_s: Time to close the connection, s.
        poll_s: Interval between looks at scheduler and workers, s; shorter loads the scheduler.
    """

    scheduler: str
    connect_s: float = 15.0
    patience_s: float = 60.0
    close_s: float = 3.0
    poll_s: float = 2.0

    def make(self, task: Task, blocks: Sequence[Block]) -> Iterator[FinishedBlock]:
        """Yield blocks as they are finished.

        Raises:
            GenerationError: If a session cannot be played, the scheduler or all workers are lost,
                or a block's workers die repeatedly.
            OutputFileError: If a block cannot be stored.
            SettingError: If a worker has other versions than this process.
        """
        if not blocks:
            return
        distributed = require("cluster", "distributed")
        with self._connect(distributed) as client:
            self._check_workers(client)
            yield from self._make(distributed, client, task, blocks)

    @contextmanager
    def _connect(self, distributed: Any) -> Iterator[Any]:
        """Connect to the scheduler; lost connections are reported in one line."""
        with _silence():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of versions, which are checked here
                    client = distributed.Client(
                        self.scheduler, timeout=self.connect_s, set_as_default=False
                    )
            except (OSError, ValueError) as error:  # an unknown scheme is a ValueError
                raise GenerationError(
                    f"no scheduler answers at {self.scheduler}; start one with `dask scheduler`,"
                    " and give its address"
                ) from error
            try:
                yield client
            finally:
                with suppress(Exception):  # the scheduler may be lost
                    client.close(timeout=self.close_s)

    def _check_workers(self, client: Any) -> None:
        """Refuse workers whose packets may differ from those made here."""
        try:
            client.wait_for_workers(1, timeout=self.connect_s)
            found = client.get_versions(packages=[DISTRIBUTION, *_PACKAGES])["workers"]
        except TimeoutError as error:
            raise GenerationError(
                f"{self.scheduler} has no workers; start some with `dask worker {self.scheduler}`"
            ) from error
        except OSError as error:
            raise self.connection_error() from error
        ours = versions_here()
        for address, worker in sorted(found.items()):
            theirs = {
                "Python": _minor(worker["packages"]["python"]),
                "machine": worker["host"]["machine"],
            }
            theirs |= {
                name: str(worker["packages"].get(name)) for name in (DISTRIBUTION, *_PACKAGES)
            }
            check_versions(ours, theirs, address)

    def _make(
        self, distributed: Any, client: Any, task: Task, blocks: Sequence[Block]
    ) -> Iterator[FinishedBlock]:
        pickled, ours = pickle.dumps(task), versions_here()
        waiting = list(blocks)[::-1]
        given: dict[Any, Block] = {}
        monitor = _Monitor(self, client)
        while waiting or given:
            ahead = AHEAD * monitor.threads()
            while waiting and len(given) < ahead:
                block = waiting.pop()
                key = f"trafficgen-{task.run}-{block.place}"
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of megabytes of sessions: blocks are larger
                    future = client.submit(
                        _make_on_worker, pickled, block, ours, key=key, priority=-block.place
                    )
                given[future] = block
            try:
                with client.as_current():
                    done = distributed.wait(
                        list(given), timeout=self.poll_s, return_when="FIRST_COMPLETED"
                    ).done
            except TimeoutError:
                continue
            except (distributed.CancelledError, OSError) as error:
                raise self.connection_error() from error
            for future in done:
                yield self._result(distributed, future, given.pop(future))

    def _result(self, distributed: Any, future: Any, block: Block) -> FinishedBlock:
        try:
            finished: FinishedBlock = future.result()
        except TrafficgenError:
            raise
        except distributed.KilledWorker as error:
            raise GenerationError(
                f"block {block.place}: every worker that made it has died, perhaps for lack of"
                f" memory; start workers with fewer threads or more memory: {_KEPT}"
            ) from error
        except (distributed.CancelledError, OSError) as error:
            raise self.connection_error() from error
        except Exception as error:
            lines = str(error).strip().splitlines()
            raise GenerationError(
                f"block {block.place}: a worker failed"
                f" ({lines[0] if lines else type(error).__name__}): {_KEPT}"
            ) from error
        return finished

    def connection_error(self) -> GenerationError:
        """Return the error of a lost scheduler."""
        return GenerationError(
            f"the connection to the scheduler {self.scheduler} is lost; start it again: {_KEPT}"
        )


@dataclass
class _Monitor:
    """Looks at the cluster from time to time: how many blocks it makes at once."""

    cluster: DaskCluster
    client: Any
    seen_threads: int = 0
    looked_s: float = -math.inf
    alive_s: float = field(default_factory=time.monotonic)

    def threads(self) -> int:
        """Return the threads of all workers, at least 1; raise GenerationError if none is left."""
        now_s = time.monotonic()
        if self.client.status != "running":
            # A new scheduler does not know the blocks of the old one.
            raise self.cluster.connection_error()
        if now_s - self.looked_s >= self.cluster.poll_s:
            try:
                self.seen_threads = sum(self.client.nthreads().values())
            except Exception as error:
                raise self.cluster.connection_error() from error
            self.looked_s = time.monotonic()
        if self.seen_threads:
            self.alive_s = now_s
        elif now_s - self.alive_s > self.cluster.patience_s:
            raise GenerationError(
                f"{self.cluster.scheduler} has lost all its workers; start some: {_KEPT}"
            )
        return max(1, self.seen_threads)


def versions_here() -> dict[str, str]:
    """Return the versions that must be equal wherever blocks are made."""
    found = {
        "Python": _minor(platform.python_version()),
        "machine": platform.machine(),
        DISTRIBUTION: software_version(),
    }
    return found | {name: metadata.version(name) for name in _PACKAGES}


def check_versions(ours: dict[str, str], theirs: dict[str, str], worker: str) -> None:
    """Raise SettingError if a worker has other versions."""
    for name, version in ours.items():
        if theirs[name] != version:
            has = "lacks" if theirs[name] == "None" else f"has {theirs[name]} as"
            raise SettingError(
                f"the worker {worker} {has} {name}, this command has {version}: packets would"
                " differ; install the same on all machines"
            )


def _make_on_worker(pickled: bytes, block: Block, wanted: dict[str, str]) -> FinishedBlock:
    """Make a block on a worker, which may have come after the others were checked."""
    check_versions(wanted, versions_here(), platform.node())
    return make_pickled(pickled, block)


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


@contextmanager
def _silence() -> Iterator[None]:
    """Keep the library's own messages from the terminal."""
    talking = [
        logger
        for name, logger in logging.root.manager.loggerDict.items()
        if name.partition(".")[0] == "distributed"
        and isinstance(logger, logging.Logger)
        and not logger.disabled
    ]
    for logger in talking:
        logger.disabled = True
    try:
        yield
    finally:
        for logger in talking:
            logger.disabled = False
