"""Memory of the process: what a command may take, and what stays for the next arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LIMIT_BYTES: ContextVar[int | None] = ContextVar("limit of memory", default=None)
#: Just below the largest block that the C library learns from, 32 MiB on 64 bits.
_LEARNT_BYTES = 31 << 20
#: With fewer packets, what could be given back is not worth the time.
_MANY_PACKETS = 1_000_000


@contextmanager
def limit_memory(memory_bytes: int | None) -> Iterator[None]:
    """Let what is called within the block take this much memory; None: as much as before it."""
    token = _LIMIT_BYTES.set(_LIMIT_BYTES.get() if memory_bytes is None else memory_bytes)
    try:
        yield
    finally:
        _LIMIT_BYTES.reset(token)


def memory_limit_bytes() -> int | None:
    """Return the memory that may be taken, bytes; None where nobody has set a limit."""
    return _LIMIT_BYTES.get()


def give_back_freed_memory(packets: int) -> None:
    """Give memory that is free back to the kernel before the next step of work on many packets.

    The C library keeps what is free between blocks in use; arrays of a long session, which have
    blocks of their own, cannot use it. Other C libraries than the GNU one are left alone.
    """
    if packets < _MANY_PACKETS or sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - short work does without it

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def keep_freed_memory() -> None:
    """Let the C library keep up to 62 MiB of freed memory for the next arrays.

    The GNU C library takes larger blocks from the kernel and gives them back when they are freed;
    the kernel clears each page anew, a quarter of the time of playing. Once a block has been freed,
    blocks of its size stay (mallopt(3), "dynamic mmap threshold"). So one is freed, of which no
    page is touched. Thresholds that the environment sets stay as they are; other C libraries are
    not changed.
    """
    bytes(_LEARNT_BYTES)
