"""How a command ends when somebody asks it to: by an exception, so that what it has begun is tidied
up.

Nothing heavy is loaded here: a signal may come while everything else still is.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from trafficgen.interruptions import ENDING_SIGNALS, clean_up

#: Added to the number of a signal, it is the exit code that shells give.
_SIGNALLED = 128
_came: list[int] = []


def watch() -> None:
    """Have signals that end the command unwind it; those that are ignored stay so, as under
    ``nohup``.
    """
    for number in ENDING_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _unwind)
    sys.unraisablehook = _not_lost


def signal_that_came() -> int | None:
    """Return the first signal that asked for the end, None where none did."""
    return _came[0] if _came else None


def say_ended() -> int:
    """Say in a line that somebody ended the command, and return its exit code."""
    number = signal_that_came() or signal.SIGINT
    say_line("trafficgen: interrupted" if number == signal.SIGINT else "trafficgen: terminated")
    return _SIGNALLED + number


def say_line(text: str) -> None:
    """Say a line on stderr, where it can be written to: there is nobody else to tell."""
    with suppress(OSError, ValueError):
        print(text, file=sys.stderr)


def unwind_if_asked() -> None:
    """Raise an interrupt where a signal came: a library that was being loaded may have kept the
    first to itself.

    Raises:
        KeyboardInterrupt: If one came.
    """
    if _came:
        raise KeyboardInterrupt


def exit_code(code: int) -> int:
    """Return the exit code of a command: that of the signal where one came, and then said, whatever
    became of it.
    """
    if _came and code != _SIGNALLED + _came[0]:
        return say_ended()
    return code


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
    """Note a signal and unwind the command; a second one is not waited for."""
    _came.append(number)
    if len(_came) > 1:
        end_now(_SIGNALLED + _came[0])
    raise KeyboardInterrupt


def _not_lost(lost: sys.UnraisableHookArgs) -> None:
    """End the command where an interrupt came in the middle of what cannot raise it, such as a
    finaliser.
    """
    if isinstance(lost.exc_value, KeyboardInterrupt) and _came:
        end_now(say_ended())
    sys.__unraisablehook__(lost)
