"""Workers on other machines: the blocks of a workload on a Dask distributed cluster.

The scheduler of the cluster knows blocks by number only; packets go from a worker into the storage,
never through it.
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
from trafficgen.provenance import DISTRIBUTION, software_version
from trafficgen.workloads.blocks import Block, MadeBlock
from trafficgen.workloads.workers import AHEAD, Task, make_packed

#: Time for a scheduler to answer, and for the first worker to come, s.
_CONNECT_S = 15.0
#: Time after which a cluster that has lost all its workers is given up, s.
_PATIENCE_S = 60.0
#: Time for taking leave of a scheduler, s.
_LEAVE_S = 3.0
#: How often it is looked whether there still are a scheduler and workers, s.
_LOOK_S = 2.0
#: What the packets depend on besides trafficgen itself.
_PACKAGES = ("numpy", "scipy")
_KEPT = "blocks that are done are kept, and the same command goes on"


@dataclass(frozen=True)
class DaskCluster:
    """Blocks are made by the workers of a Dask scheduler.

    Attributes:
        scheduler: Its address, such as ``tcp://host:8786``.
        connect_s: Time for it to answer, and for the first worker to come, s.
        patience_s: Time after which it is given up when all workers are gone, s.
    """

    scheduler: str
    connect_s: float = _CONNECT_S
    patience_s: float = _PATIENCE_S

    def made(self, task: Task, blocks: Sequence[Block]) -> Iterator[MadeBlock]:
        """Yield blocks as they are finished.

        Raises:
            GenerationError: If a session cannot be played, the scheduler or all workers are gone,
                or a block's workers die again and again.
            OutputFileError: If a block cannot be left in its place.
            SettingError: If Dask is not installed, or a worker has other versions than this
                process.
        """
        if not blocks:
            return
        with self._client() as client:
            self._check_versions(client)
            yield from self._made(client, task, blocks)

    @contextmanager
    def _client(self) -> Iterator[Any]:
        """Give a connection to the scheduler; what its library has to say about lost ones is said
        by us in one line.
        """
        try:
            import distributed  # noqa: PLC0415 - heavy, and for those who ask for it only
        except ImportError as error:
            raise SettingError(
                f"--scheduler needs Dask ({error.name} is not installed): pip install"
                " 'trafficgen-streaming[cluster]'"
            ) from None
        with _silence():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter(
                        "ignore"
                    )  # of versions: what matters to us is looked at by us
                    client = distributed.Client(
                        self.scheduler, timeout=self.connect_s, set_as_default=False
                    )
            except (OSError, ValueError) as error:  # an unknown scheme is a ValueError
                raise GenerationError(
                    f"no scheduler answers at {self.scheduler}; start one with `dask scheduler`,"
                    " and name its address"
                ) from error
            try:
                yield client
            finally:
                with suppress(Exception):  # one that is gone cannot be taken leave of
                    client.close(timeout=_LEAVE_S)

    def _check_versions(self, client: Any) -> None:
        """Refuse workers whose packets may differ from those made here."""
        try:
            client.wait_for_workers(1, timeout=self.connect_s)
            found = client.get_versions(packages=[DISTRIBUTION, *_PACKAGES])["workers"]
        except TimeoutError as error:
            raise GenerationError(
                f"{self.scheduler} has no workers; start some with `dask worker {self.scheduler}`"
            ) from error
        except OSError as error:
            raise self.lost() from error
        ours = versions_here()
        for address, worker in sorted(found.items()):
            theirs = {
                "Python": _minor(worker["packages"]["python"]),
                "machine": worker["host"]["machine"],
            }
            theirs |= {
                name: str(worker["packages"].get(name)) for name in (DISTRIBUTION, *_PACKAGES)
            }
            refuse_difference(ours, theirs, address)

    def _made(self, client: Any, task: Task, blocks: Sequence[Block]) -> Iterator[MadeBlock]:
        import distributed  # noqa: PLC0415

        packed, ours = pickle.dumps(task), versions_here()
        waiting = list(blocks)[::-1]
        given: dict[Any, Block] = {}
        look = _Look(self, client)
        while waiting or given:
            ahead = AHEAD * look.threads()
            while waiting and len(given) < ahead:
                block = waiting.pop()
                key = f"trafficgen-{task.run}-{block.place}"
                with warnings.catch_warnings():
                    warnings.simplefilter(
                        "ignore"
                    )  # of sessions that take some megabytes: a block takes far more
                    given[
                        client.submit(_make, packed, block, ours, key=key, priority=-block.place)
                    ] = block
            try:
                with client.as_current():
                    done = distributed.wait(
                        list(given), timeout=_LOOK_S, return_when="FIRST_COMPLETED"
                    ).done
            except TimeoutError:
                continue
            except (distributed.CancelledError, OSError) as error:
                raise self.lost() from error
            for future in done:
                yield self._result(future, given.pop(future))

    def _result(self, future: Any, block: Block) -> MadeBlock:
        import distributed  # noqa: PLC0415

        try:
            made: MadeBlock = future.result()
        except TrafficgenError:
            raise
        except distributed.KilledWorker as error:
            raise GenerationError(
                f"block {block.place}: every worker that made it has died, perhaps for want of"
                f" memory; start workers with fewer threads or more memory: {_KEPT}"
            ) from error
        except (distributed.CancelledError, OSError) as error:
            raise self.lost() from error
        except Exception as error:
            said = str(error).strip().splitlines()
            raise GenerationError(
                f"block {block.place}: a worker failed"
                f" ({said[0] if said else type(error).__name__}): {_KEPT}"
            ) from error
        return made

    def lost(self) -> GenerationError:
        """Return what is said when the scheduler is gone."""
        return GenerationError(
            f"the connection to the scheduler {self.scheduler} is lost; start it again: {_KEPT}"
        )


@dataclass
class _Look:
    """A look at the cluster from time to time: how many blocks it works at side by side."""

    cluster: DaskCluster
    client: Any
    seen_threads: int = 0
    looked_s: float = -math.inf
    alive_s: float = field(default_factory=time.monotonic)

    def threads(self) -> int:
        """Return the threads of all workers, 1 while there are none.

        Raises:
            GenerationError: If there have been none for long, or the scheduler is gone.
        """
        now_s = time.monotonic()
        if self.client.status != "running":
            raise self.cluster.lost()  # what one scheduler was asked for, the one after it does not know
        if now_s - self.looked_s >= _LOOK_S:
            try:
                self.seen_threads = sum(self.client.nthreads().values())
            except Exception as error:
                raise self.cluster.lost() from error
            self.looked_s = time.monotonic()
        if self.seen_threads:
            self.alive_s = now_s
        elif now_s - self.alive_s > self.cluster.patience_s:
            raise GenerationError(
                f"{self.cluster.scheduler} has lost all its workers; start some: {_KEPT}"
            )
        return max(1, self.seen_threads)


def versions_here() -> dict[str, str]:
    """Return what must be the same wherever blocks are made."""
    found = {
        "Python": _minor(platform.python_version()),
        "machine": platform.machine(),
        DISTRIBUTION: software_version(),
    }
    return found | {name: metadata.version(name) for name in _PACKAGES}


def refuse_difference(ours: dict[str, str], theirs: dict[str, str], worker: str) -> None:
    """Refuse a worker that differs.

    Raises:
        SettingError: If it does.
    """
    for name, version in ours.items():
        if theirs[name] != version:
            has = "lacks" if theirs[name] == "None" else f"has {theirs[name]} as"
            raise SettingError(
                f"the worker {worker} {has} {name}, this command has {version}: packets would"
                " differ; install the same on all machines"
            )


def _make(packed: bytes, block: Block, wanted: dict[str, str]) -> MadeBlock:
    """Make a block on a worker, which may have come after the others were looked at."""
    refuse_difference(wanted, versions_here(), platform.node())
    return make_packed(packed, block)


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
