"""Fresh worker processes, which end when the work is given up or its parent is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from multiprocessing.connection import wait

from trafficgen.option_names import write_flags, writes_flags
from trafficgen.registry import pickle_registered, restore_registered


class _PandasHider(MetaPathFinder):
    """Pretends that pandas is not installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("hidden from Arrow", name=fullname)


def load_arrow_without_pandas() -> None:
    """Load Arrow so that its first array does not import pandas: saves 0.5 s and 40 MB.

    Arrow looks for pandas once. Commands and workers never hand it a pandas series; code that later
    asks for a data frame still gets one.
    """
    import pyarrow as pa  # noqa: PLC0415 - a command that only prints its help does not need it

    hider = _PandasHider()
    sys.meta_path.insert(0, hider)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(hider)


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes to work in; after an error or an interrupt their work is ended.

    They are fresh, since a fork of a process that has threads (as Arrow starts them) may hang. Hand
    the work over in :func:`defer_interrupts`.
    """
    others = set(active_children())
    _start_resource_tracker()
    pool = ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=_begin,
        initargs=(pickle_registered(), writes_flags()),
    )
    try:
        yield pool
    except BaseException:
        # The program would wait for running work. Futures are not cancelled: the pool, which finds
        # its processes gone, complains of cancelled ones.
        for process in set(active_children()) - others:
            process.kill()
        pool.shutdown(wait=False)
        raise
    pool.shutdown(cancel_futures=True)  # waits, so that no process outlives the command


def _start_resource_tracker() -> None:
    """Start Python's process that removes semaphores of ended processes, without its warnings.

    It does so after an interrupt as well, and would say there that they had leaked.
    """
    sys.warnoptions.append("ignore::UserWarning:multiprocessing.resource_tracker")
    try:
        resource_tracker.ensure_running()
    finally:
        sys.warnoptions.pop()


def _begin(registered: list[bytes], wants_flags: bool) -> None:
    """Load Arrow; end this process as soon as its parent is gone, which may have been killed."""
    load_arrow_without_pandas()
    restore_registered(registered)
    write_flags(wants_flags)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=[parent.sentinel], daemon=True).start()


def _end_after(sentinel: int) -> None:
    wait([sentinel])
    os._exit(1)


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Defer interrupts to the end of the block; processes started in it ignore them.

    This process ends them when it is interrupted; they would only print tracebacks.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
