"""Simulations are done one after the other, and of those that wait only the newest."""

from __future__ import annotations

import asyncio
import threading

import pytest

from trafficgen.explore.one_at_a_time import OneAtATime, SupersededError


def test_only_the_newest_of_those_that_wait_is_done() -> None:
    release = threading.Event()
    begun = threading.Event()
    done: list[int] = []

    def work(number: int) -> int:
        begun.set()
        assert release.wait(30)
        done.append(number)
        return number

    async def ask() -> list[int | BaseException]:
        queue = OneAtATime()
        first = asyncio.create_task(queue.do(lambda: work(1)))
        await asyncio.to_thread(begun.wait, 30)
        others = [asyncio.create_task(queue.do(lambda number=number: work(number))) for number in (2, 3, 4)]  # type: ignore[misc]
        await asyncio.sleep(0)
        release.set()
        return await asyncio.gather(first, *others, return_exceptions=True)

    first, second, third, newest = asyncio.run(ask())
    assert (first, newest) == (1, 4)
    assert isinstance(second, SupersededError)
    assert isinstance(third, SupersededError)
    assert done == [1, 4]


def test_work_that_fails_leaves_room_for_the_next() -> None:
    async def ask() -> int:
        queue = OneAtATime()
        with pytest.raises(ZeroDivisionError):
            await queue.do(lambda: 1 // 0)
        return await queue.do(lambda: 7)

    assert asyncio.run(ask()) == 7
