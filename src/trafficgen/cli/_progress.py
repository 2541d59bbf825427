"""Progress on stderr: one line with the time left, rewritten on a terminal, repeated in a log."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Self

from trafficgen.cli._signals import raise_if_interrupted
from trafficgen.formatting import format_duration, number
from trafficgen.progress import Step, following
from trafficgen.units import megabytes

_FIRST_NEWS_S = 2.0
_NEWS_EVERY_S = 0.5
_NEWS_EVERY_IN_LOG_S = 10.0
_LOOK_EVERY_S = 0.1

#: Keeps two threads from writing at once.
_lock = threading.RLock()
_on_screen = False


class Progress:
    """A line about work that takes more than two seconds; a context that leaves nothing behind.

    Within the context it follows the steps that the library reports. ``TRAFFICGEN_PROGRESS=0`` in
    the environment silences it.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        what: str = "working",
        detail: Callable[[str], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a line.

        Args:
            quiet: Whether to print nothing.
            what: What is being done until a step is reported.
            detail: Called with the name of each step that counts nothing.
            clock: Returns the time, s.
        """
        self._silent = quiet or os.environ.get("TRAFFICGEN_PROGRESS") == "0"
        self._detail = detail
        self._clock = clock
        self._began_s = self._shown_s = clock()
        self._step = self._first_step = Step(what)
        self._first_step_s = self._heard_s = self._began_s
        self._context = ExitStack()
        self._done = threading.Event()

    def __enter__(self) -> Self:
        """Follow the steps, and look at the clock meanwhile: steps may be far apart."""
        self._context.callback(clear_line)
        self._context.enter_context(following(self.step))
        if not self._silent:
            ticker = threading.Thread(target=self._tick, daemon=True)
            ticker.start()
            self._context.callback(ticker.join)
            self._context.callback(self._done.set)
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the screen as it was."""
        self._context.close()

    def step(self, step: Step) -> None:
        """Note a step; an interrupt that a library swallowed is raised now."""
        raise_if_interrupted()
        self._heard_s = self._clock()
        if (step.what, step.unit) != (self._step.what, self._step.unit):
            self._first_step, self._first_step_s = step, self._heard_s
            if self._detail is not None and not step.unit:
                self._detail(step.what)
        self._step = step

    def look(self) -> None:
        """Show how far the work is, if it has taken a while and nothing was shown just before."""
        global _on_screen  # noqa: PLW0603 - there is one terminal
        now_s, terminal = self._clock(), _rewrites()
        shown_s = self._shown_s - self._began_s
        # In a log the times between lines double, so that work of 15 s has some, of 1 h not many.
        every_s = _NEWS_EVERY_S if terminal else min(shown_s, _NEWS_EVERY_IN_LOG_S)
        if self._silent or now_s - self._shown_s < (every_s if shown_s else _FIRST_NEWS_S):
            return
        self._shown_s = now_s
        with _lock:
            _on_screen = terminal
            text = self._text(now_s)
            _write(f"\r{text[: _columns() - 1]}\x1b[K" if terminal else f"{text}\n")

    def _tick(self) -> None:
        while not self._done.wait(_LOOK_EVERY_S):
            self.look()

    def _left_s(self, now_s: float) -> float | None:
        """Return the time left at the mean speed so far, s; None if unknown."""
        speed, total = self._speed(), self._step.total
        if total is None or speed <= 0 or self._step.done >= total:
            return None
        return max(1.0, (total - self._step.done) / speed - (now_s - self._heard_s))

    def _speed(self) -> float:
        """Return how much is done in a second, on average so far."""
        done = self._step.done - self._first_step.done
        return done / max(self._heard_s - self._first_step_s, 1e-9)

    def _text(self, now_s: float) -> str:
        step, left_s = self._step, self._left_s(now_s)
        since_s = self._first_step_s if step.unit else self._began_s
        time_text = (
            f"{format_duration(round(now_s - since_s))} so far"
            if left_s is None
            else f"about {format_duration(round(left_s))} left"
        )
        what = step.what
        if step.place:  # the time left is that of this step
            what = f"step {step.place}, {what}"
            time_text += " in this step" if left_s is not None else ""
        if not step.unit:
            return f"{what}: {time_text}"
        unit = "MB" if step.unit == "bytes" else step.unit
        if step.total is None:
            return f"{what}: {_amount(step.done, step.unit)} {unit}, {time_text}"
        share = f" ({min(1.0, step.done / step.total):.0%})" if step.total > 0 else ""
        done, total = _amount(step.done, step.unit), _amount(step.total, step.unit)
        speed = self._speed()
        # Sessions are what a load test counts; other units have the time left alone.
        pace = f" {number(speed, digits=3)} sessions/s," if unit == "sessions" and speed > 0 else ""
        return f"{what}: {done} of {total} {unit}{share},{pace} {time_text}"


def clear_line() -> None:
    """Take a line of progress off the terminal, so that something else can be printed there."""
    global _on_screen  # noqa: PLW0603 - there is one terminal
    with _lock:
        if _on_screen:
            _on_screen = False
            _write("\r\x1b[K")


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # a full disk behind stderr is not a reason to end the work
        sys.stderr.write(text)
        sys.stderr.flush()


def _rewrites() -> bool:
    """Return whether stderr is a terminal on which a line can be written anew."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


def _amount(value: float, unit: str) -> str:
    return f"{megabytes(value) if unit == 'bytes' else value:,.0f}"
