"""Progress on stderr: one line with the time that is left, rewritten on a terminal, every 10 s in a
log.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import Self

from trafficgen.cli._ending import unwind_if_asked
from trafficgen.progress import Step, following
from trafficgen.units import megabytes

_FIRST_NEWS_S = 2.0
_NEWS_EVERY_S = 0.5
_NEWS_EVERY_IN_LOG_S = 10.0
_LOOK_EVERY_S = 0.1
_MINUTE_S = 60
_HOUR_S = 3600

#: The line that stands on the terminal, if one does, and what keeps two threads from writing at
#: once.
_lock = threading.RLock()
_on_screen: list[Progress] = []


class Progress:
    """A line about work that takes more than two seconds; used as a context, so that nothing of it
    is left.

    Within the context it follows the steps that the library tells. ``TRAFFICGEN_PROGRESS=0`` in the
    environment
    silences it: what is printed then does not depend on the time.
    """

    def __init__(
        self,
        *,
        quiet: bool = False,
        what: str = "working",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a line.

        Args:
            quiet: Whether to say nothing.
            what: What is being done until a step is told.
            clock: Tells the time, s.
        """
        self._silent = quiet or os.environ.get("TRAFFICGEN_PROGRESS") == "0"
        self._clock = clock
        self._began_s = clock()
        self._said_s: float | None = None
        self._work = _Work(Step(what), self._began_s)
        self._context = ExitStack()
        self._done = threading.Event()
        self._ticker: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to follow, and to look at the clock beside the work: steps may be far apart."""
        self._context.enter_context(following(self.step))
        if not self._silent:
            self._ticker = threading.Thread(target=self._tick, daemon=True)
            self._ticker.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the screen as it was."""
        self._context.close()
        self._done.set()
        if self._ticker is not None:
            self._ticker.join()
        clear_line()

    def step(self, step: Step) -> None:
        """Take note of a step, which the line shows when it is time for news; an interrupt that got
        lost comes now.
        """
        unwind_if_asked()
        if step.what == self._work.step.what and step.unit == self._work.step.unit:
            self._work.go_on(step, self._clock())
        else:
            self._work = _Work(step, self._clock())

    def captures(self, done: int, total: int) -> None:
        """Take note of captures that are fitted, of so many."""
        self.step(Step("fitting", done, total, "captures"))

    @contextmanager
    def of_log(
        self, logger_name: str, *, detail: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Take what a part of the library logs for steps while the block runs; ``detail`` says each
        of them instead.
        """
        logger, handler = logging.getLogger(logger_name), _Steps(detail or self._named)
        level = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    def look(self) -> None:
        """Say how far the work is when it has taken a while and nothing was said just before."""
        now_s, terminal = self._clock(), _rewrites()
        every_s = _NEWS_EVERY_S if terminal else _NEWS_EVERY_IN_LOG_S
        just_said = self._said_s is not None and now_s - self._said_s < every_s
        if self._silent or just_said or now_s - self._began_s < _FIRST_NEWS_S:
            return
        self._said_s = now_s
        text = self._work.text(now_s)
        with _lock:
            if terminal:
                _on_screen[:] = [self]
                _write(f"\r{text[: _columns() - 1]}\x1b[K")
            else:
                _write(f"{text}\n")

    def _named(self, what: str) -> None:
        self.step(Step(what))

    def _tick(self) -> None:
        while not self._done.wait(_LOOK_EVERY_S):
            self.look()


class _Work:
    """One kind of step as time goes on, from which the time that is left follows."""

    def __init__(self, step: Step, now_s: float) -> None:
        self.step = step
        self._first_done, self._began_s, self._heard_s = step.done, now_s, now_s

    def go_on(self, step: Step, now_s: float) -> None:
        self.step, self._heard_s = step, now_s

    def left_s(self, now_s: float) -> float | None:
        """Return the time that is left at the mean speed so far, s; None where it cannot be
        said.
        """
        done = self.step.done - self._first_done
        if self.step.total is None or done <= 0 or self.step.done >= self.step.total:
            return None
        speed = done / max(self._heard_s - self._began_s, 1e-9)
        return max(1.0, (self.step.total - self.step.done) / speed - (now_s - self._heard_s))

    def text(self, now_s: float) -> str:
        step, left_s = self.step, self.left_s(now_s)
        time_text = (
            f"{_duration(now_s - self._began_s)} so far"
            if left_s is None
            else f"about {_duration(left_s)} left"
        )
        if not step.unit:
            return f"{step.what}: {time_text}"
        unit = "MB" if step.unit == "bytes" else step.unit
        if step.total is None:
            return f"{step.what}: {_amount(step.done, step.unit)} {unit}, {time_text}"
        share = f" ({min(1.0, step.done / step.total):.0%})" if step.total > 0 else ""
        done, total = _amount(step.done, step.unit), _amount(step.total, step.unit)
        return f"{step.what}: {done} of {total} {unit}{share}, {time_text}"


class _Steps(logging.Handler):
    """Passes on what is logged."""

    def __init__(self, pass_on: Callable[[str], None]) -> None:
        super().__init__()
        self._pass_on = pass_on

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on one record."""
        self._pass_on(record.getMessage())


def clear_line() -> None:
    """Take a line of progress off the terminal, so that something else can be said there."""
    with _lock:
        if _on_screen:
            _on_screen.clear()
            _write("\r\x1b[K")


def _write(text: str) -> None:
    with suppress(OSError, ValueError):  # a full disk behind stderr is no reason to end the work
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


def _duration(time_s: float) -> str:
    """Return a time in words that are read at a glance, such as ``3 min 20 s``."""
    whole_s = round(time_s)
    if whole_s < _MINUTE_S:
        return f"{whole_s} s"
    if whole_s < _HOUR_S:
        return f"{whole_s // _MINUTE_S} min {whole_s % _MINUTE_S} s"
    return f"{whole_s // _HOUR_S} h {whole_s % _HOUR_S // _MINUTE_S} min"
