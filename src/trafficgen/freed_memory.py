"""Keep memory that arrays free, rather than give it back and ask for it again."""

from __future__ import annotations

#: Just below the largest block that the C library learns from, 32 MiB on 64 bits.
_LEARNT_BYTES = 31 << 20


def keep_freed_memory() -> None:
    """Let the C library keep up to 62 MiB of freed memory for the next arrays.

    The GNU C library takes larger blocks from the kernel and gives them back when they are freed;
    the kernel clears each page anew, a quarter of the time of playing. Once a block has been freed,
    blocks of its size stay (mallopt(3), "dynamic mmap threshold"). So one is freed, of which no
    page is touched. Thresholds that the environment sets stay as they are; other C libraries are
    not changed.
    """
    bytes(_LEARNT_BYTES)
