"""Work for the page, one piece at a time: of what waits, only the newest is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from starlette.concurrency import run_in_threadpool

T = TypeVar("T")


class SupersededError(Exception):
    """Something newer was asked for before it was this work's turn."""


class OneAtATime:
    """Does pieces of work in a thread, one after the other; whoever waits gives way to who comes
    later.
    """

    def __init__(self) -> None:
        self._busy = asyncio.Lock()
        self._newest = 0

    async def do(self, work: Callable[[], T]) -> T:
        """Return what some work returns.

        Raises:
            SupersededError: If newer work came while this waited.
        """
        self._newest += 1
        number = self._newest
        async with self._busy:
            if number != self._newest:
                raise SupersededError
            return await run_in_threadpool(work)
