"""The standard streams of a command: closed ones are opened, and a full stdout is an error."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class StdoutError(OSError):
    """Results that cannot be printed."""

    @property
    def line(self) -> str:
        """What is wrong, and what can be done."""
        return (
            f"standard output: cannot be written ({self.strerror}); make room, or redirect it"
            " elsewhere"
        )


class _Stdout(io.BufferedWriter):
    """Stdout, whose errors say that they are its own.

    They are marked here: an interrupt in a ``write`` of Python below the buffer, after the bytes
    have gone, would have them written once more.
    """

    def write(self, data: Buffer, /) -> int:
        with _own_errors():
            return super().write(data)

    def flush(self) -> None:
        with _own_errors():
            super().flush()


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StdoutError(error.errno, error.strerror) from error


def open_streams() -> None:
    """Open the standard streams that the caller has closed: the next file would take their place.

    What is printed to a closed stdout fails, as on a full disk. Characters that the encoding of
    stdout lacks become question marks.
    """
    for number, flags in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest number that is free
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as Python opens them
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    before = sys.stdout
    if before is None or isinstance(before, io.TextIOWrapper):
        sys.stdout = io.TextIOWrapper(
            _Stdout(io.FileIO(1, "wb", closefd=False)),
            encoding=None if before is None else before.encoding,
            errors="replace",
            line_buffering=before is not None and before.line_buffering,
        )
