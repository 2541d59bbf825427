"""What commands print: results on stdout, messages and progress on stderr."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

_FIRST_NEWS_S = 2.0
_NEWS_EVERY_S = 0.5
_NEWS_EVERY_WITHOUT_TERMINAL_S = 10.0


@dataclass
class Messages:
    """Messages to the person at the terminal.

    Attributes:
        quiet: Whether only errors are said.
        verbose: Whether details are said as well.
    """

    quiet: bool = False
    verbose: bool = False

    def say(self, text: str) -> None:
        """Say something that is not a result."""
        if not self.quiet:
            print(text, file=sys.stderr)

    def fail(self, text: str) -> None:
        """Say why the exit code is not 0; nothing silences that."""
        print(text, file=sys.stderr)

    def detail(self, text: str) -> None:
        """Say something that only a curious person wants to know."""
        if self.verbose and not self.quiet:
            print(text, file=sys.stderr)

    def warn(self, texts: Iterable[str]) -> None:
        """Say what is doubtful, a line each."""
        for text in texts:
            self.say(f"warning: {text}")


@dataclass
class ReadingProgress:
    """A line on stderr for work that takes more than two seconds: rewritten on a terminal, else now and then."""

    messages: Messages
    _began_s: float = field(default_factory=time.monotonic)
    _said_s: float = 0.0
    _shown: bool = False

    def __call__(self, done_bytes: int, total_bytes: int | None) -> None:
        """Show how far a reading is."""
        share = f" of {total_bytes / 1e6:.0f} MB ({done_bytes / total_bytes:.0%})" if total_bytes else " MB"
        self.show(f"reading: {done_bytes / 1e6:.0f}{share}")

    def show(self, text: str) -> None:
        """Show what is being done, when it has taken a while and nothing was shown just before.

        With ``TRAFFICGEN_PROGRESS=0`` in the environment nothing is shown: output then does not depend on the time.
        """
        now_s = time.monotonic()
        terminal = sys.stderr.isatty()
        every_s = _NEWS_EVERY_S if terminal else _NEWS_EVERY_WITHOUT_TERMINAL_S
        silent = self.messages.quiet or os.environ.get("TRAFFICGEN_PROGRESS") == "0"
        if silent or now_s - self._began_s < _FIRST_NEWS_S or now_s - self._said_s < every_s:
            return
        self._said_s, self._shown = now_s, True
        print(f"\r{text}\x1b[K" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)

    @contextmanager
    def of_steps(self, logger_name: str) -> Iterator[None]:
        """Show the steps that a part of the library logs while the block runs; with ``-v`` every one of them."""
        logger, handler = logging.getLogger(logger_name), _Steps(self)
        level = logger.level
        logger.setLevel(logging.INFO)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            logger.setLevel(level)

    def close(self) -> None:
        """Leave the line clean for what follows."""
        if self._shown and sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class _Steps(logging.Handler):
    """Passes what is logged on to the line of progress."""

    def __init__(self, progress: ReadingProgress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        """Show one step."""
        if self._progress.messages.verbose:
            self._progress.messages.detail(record.getMessage())
        else:
            self._progress.show(record.getMessage())


def print_json(value: object) -> None:
    """Print one JSON object; NaN and infinity become null."""
    print(json.dumps(finite(value), indent=1, ensure_ascii=False, allow_nan=False))


def printable(text: str) -> str:
    """Return a text that can be printed: bytes of a file's name that are not UTF-8 become question marks."""
    return text.encode(errors="replace").decode()


def finite(value: object) -> object:
    """Return a value with NaN and infinity replaced by None and texts made printable, at any depth."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return value


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print columns under a header; columns named in ``right`` are aligned to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    for row in [header, *rows]:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def number(value: object, *, digits: int = 4) -> str:
    """Return a number for people: a few digits, ``-`` where there is none."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return "-"
    return f"{value:,d}" if isinstance(value, int) else f"{value:.{digits}g}"


def endpoint(address: object, port: object) -> str:
    """Return an address with its port, IPv6 in brackets (RFC 3986)."""
    host = f"[{address}]" if ":" in str(address) else str(address)
    return f"{host}:{port}" if port else host
