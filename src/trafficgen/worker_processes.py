"""Fresh worker processes, which end when the work is given up or its parent is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from multiprocessing import active_children, get_context, parent_process, resource_tracker
from multiprocessing.connection import wait
from typing import Any, TypeVar

from trafficgen.errors import TrafficgenWarning
from trafficgen.imports import load_arrow_without_pandas
from trafficgen.option_names import write_flags, writes_flags
from trafficgen.progress import report_step
from trafficgen.registry import pickle_registered, restore_registered

T = TypeVar("T")
#: Time after which a listener hears again of work in other processes, s.
_NEWS_EVERY_S = 1.0


@contextmanager
def worker_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give processes to work in, at most one a core; errors and interrupts end their work.

    They are fresh, since a fork of a process that has threads (as Arrow starts them) may hang. Hand
    the work over in :func:`defer_interrupts`. Each has one thread of linear algebra, as commands
    have: there is a process a core already.
    """
    with _environment("OPENBLAS_NUM_THREADS", "1"), _fresh_pool(workers) as pool:
        yield pool


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    """Give processes that start within the block a variable, where it is not set."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        os.environ.pop(name, None)


@contextmanager
def _fresh_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    others = set(active_children())
    _start_resource_tracker()
    pool = ProcessPoolExecutor(
        min(workers, os.cpu_count() or 1),
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


def report_results(futures: list[Future[T]], what: str, *, unit: str) -> Iterator[T]:
    """Yield results in order; report how many there are when one comes, and each second.

    Work in other processes says nothing of itself: a listener hears that it goes on. The list is
    emptied, so that results that were taken need no memory.
    """
    total = len(futures)
    ended: list[None] = []
    for future in futures:  # counted as they end: looking at all for each takes the square of them
        future.add_done_callback(lambda _: ended.append(None))
    while futures:
        future = futures[0]
        report_step(what, len(ended), total, unit=unit)
        while not future.done():
            wait_for((future,), timeout=_NEWS_EVERY_S)
            report_step(what, len(ended), total, unit=unit)
        result = future.result()
        del futures[0], future
        yield result
    report_step(what, total, total, unit=unit)


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
    _hide_warnings_of_libraries()
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=[parent.sentinel], daemon=True).start()


def _hide_warnings_of_libraries() -> None:
    """Print warnings of libraries only with ``-W`` or ``PYTHONWARNINGS``, as the commands do."""
    show = warnings.showwarning

    def show_own(message: Warning | str, *place: Any, **more: Any) -> None:
        if isinstance(message, TrafficgenWarning) or sys.warnoptions:
            show(message, *place, **more)

    warnings.showwarning = show_own


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
