"""Signals end a command by an exception, so that what it has begun is cleaned up.

Nothing heavy is loaded here: a signal may come while everything else still is.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from trafficgen.formatting import printable
from trafficgen.interruptions import ENDING_SIGNALS, clean_up, list_kept
from trafficgen.standard_streams import as_given

#: Added to the number of a signal, it is the exit code that shells give.
_SIGNALLED = 128
_came: list[int] = []


def watch() -> None:
    """Have signals that end the command unwind it; ignored ones stay so, as under ``nohup``."""
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _unwind)
    sys.unraisablehook = _end_if_interrupted


def signal_that_came() -> int | None:
    """Return the first signal to end the command, or None."""
    return _came[0] if _came else None


def report_end() -> int:
    """Print that the command was interrupted, and return its exit code."""
    number = signal_that_came() or signal.SIGINT
    how = "interrupted" if number == signal.SIGINT else "terminated"
    print_error("; ".join((f"trafficgen: {how}", *list_kept())))
    return _SIGNALLED + number


def print_error(text: str) -> None:
    """Print a line on stderr; errors in printing it are ignored."""
    with suppress(OSError, ValueError):
        print(printable(as_given(text)), file=sys.stderr)


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if a signal came: a library may have swallowed the first one."""
    if _came:
        raise KeyboardInterrupt


def exit_code(code: int) -> int:
    """Return the exit code of a command: that of the signal if one came."""
    return report_end() if _came and code != _SIGNALLED + _came[0] else code


def end_now(code: int) -> NoReturn:
    """End the process without tearing the interpreter down, with nothing half-written left."""
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    clean_up()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # a reader that has gone has been met before
            stream.flush()
    os._exit(code)


def _unwind(number: int, _frame: FrameType | None) -> None:
    """Note a signal and unwind the command; a second one ends it at once."""
    _came.append(number)
    if len(_came) > 1:
        end_now(_SIGNALLED + _came[0])
    raise KeyboardInterrupt


def _end_if_interrupted(lost: sys.UnraisableHookArgs) -> None:
    """End the command if an interrupt came where nothing can be raised, as in a finaliser."""
    if isinstance(lost.exc_value, KeyboardInterrupt) and _came:
        end_now(report_end())
    sys.__unraisablehook__(lost)
