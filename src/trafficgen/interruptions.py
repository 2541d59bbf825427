"""Interrupts that leave nothing behind: what is to be cleaned up, and moments that none may split.

Python raises an interrupt between any two instructions, within what cleans up as well. So what is
unfinished is noted here beforehand: whatever ends the process calls :func:`clean_up`, and the
interpreter does where it ends by itself.
"""

from __future__ import annotations

import atexit
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

#: Signals that people end a program by; each may be turned into an exception at any moment.
ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: What is to be done, and the process that is to do it: a fork must not clean up for its parent.
_unfinished: dict[object, tuple[int, Callable[[], None]]] = {}
#: What an interrupted run leaves on purpose, a phrase each.
_kept: list[str] = []


def note_kept(text: str) -> None:
    """Note what an interrupted run leaves on purpose, for its last line."""
    _kept.append(text)


def list_kept() -> tuple[str, ...]:
    """Return what an interrupted run leaves on purpose."""
    return tuple(_kept)


@contextmanager
def clean_up_after(cleanup: Callable[[], None]) -> Iterator[None]:
    """Call a function at the end of the block, however it ends, and once more if interrupted.

    A second call must do no harm.
    """
    key = object()
    _unfinished[key] = (os.getpid(), cleanup)
    try:
        yield
    finally:
        with defer_signals():
            cleanup()
            _unfinished.pop(key, None)


def clean_up_at_end(cleanup: Callable[[], None]) -> None:
    """Call a function when the process ends, however it ends."""
    _unfinished[object()] = (os.getpid(), cleanup)


@atexit.register
def clean_up() -> None:
    """Clean up after blocks of :func:`clean_up_after` that did not come to it."""
    for key, (process, cleanup) in list(_unfinished.items()):
        if process == os.getpid():
            with suppress(OSError):
                cleanup()
        _unfinished.pop(key, None)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals that end the program to the end of the block.

    To block them in this thread would not do: another thread takes them, and Python handles them in
    this one all the same. Other threads than the main one are never interrupted.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    before = {number: signal.getsignal(number) for number in ENDING_SIGNALS}
    handled = {number: handler for number, handler in before.items() if callable(handler)}
    for number in handled:
        signal.signal(number, lambda number, _frame: waiting.append(number))
    try:
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for came in waiting:
            signal.raise_signal(came)
