"""Memory that a command may take, known to all that it calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LIMIT_BYTES: ContextVar[int | None] = ContextVar("limit of memory", default=None)


@contextmanager
def limit_memory(memory_bytes: int | None) -> Iterator[None]:
    """Let what is called within the block take so much memory; None: as much as before it."""
    token = _LIMIT_BYTES.set(_LIMIT_BYTES.get() if memory_bytes is None else memory_bytes)
    try:
        yield
    finally:
        _LIMIT_BYTES.reset(token)


def memory_limit_bytes() -> int | None:
    """Return the memory that may be taken, bytes; None where nobody has set a limit."""
    return _LIMIT_BYTES.get()
