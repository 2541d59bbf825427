"""Simulations are done one after the other, and of those that wait only the newest."""

from __future__ import annotations

import asyncio
import threading
from functools import partial
from typing import Any

import httpx
import pytest

from trafficgen.explore import application
from trafficgen.explore.application import OneAtATime, SupersededError


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
        others = [asyncio.create_task(queue.do(partial(work, number))) for number in (2, 3, 4)]
        await asyncio.sleep(0)
        release.set()
        return await asyncio.gather(first, *others, return_exceptions=True)

    first, second, third, newest = asyncio.run(ask())
    assert (first, newest) == (1, 4)
    assert isinstance(second, SupersededError)
    assert isinstance(third, SupersededError)
    assert done == [1, 4]


def test_one_that_gives_up_when_its_turn_has_come_leaves_it_to_the_next() -> None:
    async def ask() -> int:
        queue, release = OneAtATime(), threading.Event()
        first = asyncio.create_task(queue.do(lambda: release.wait(30)))
        await asyncio.sleep(0)
        second = asyncio.create_task(queue.do(lambda: 2))
        await asyncio.sleep(0)
        release.set()
        first.add_done_callback(lambda _: second.cancel())
        await asyncio.wait([first, second])
        return await asyncio.wait_for(queue.do(lambda: 7), 30)

    assert asyncio.run(ask()) == 7


def test_those_that_are_superseded_are_told_at_once() -> None:
    async def ask() -> None:
        queue, release = OneAtATime(), threading.Event()
        first = asyncio.create_task(queue.do(lambda: release.wait(30)))
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(queue.do(lambda: 0)) for _ in range(3)]
        done, _ = await asyncio.wait(waiting, timeout=0.2)
        assert len(done) == 2
        assert not first.done()
        release.set()
        await asyncio.gather(first, *waiting, return_exceptions=True)

    asyncio.run(ask())


def test_work_that_fails_leaves_room_for_the_next() -> None:
    async def ask() -> int:
        queue = OneAtATime()
        with pytest.raises(ZeroDivisionError):
            await queue.do(lambda: 1 // 0)
        return await queue.do(lambda: 7)

    assert asyncio.run(ask()) == 7


def test_page_that_asks_again_before_its_turn_gets_the_newest_answer_only(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()
    begun = threading.Event()

    def play(asked: Any) -> dict[str, Any]:
        begun.set()
        assert release.wait(30)
        return {"seed": asked.values["seed"]}

    monkeypatch.setattr(application, "play_request", play)

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765") as page:
            requests = []
            for seed in range(3):
                request = page.post("/api/simulate", json={"model": "cbr", "seed": seed})
                requests.append(asyncio.create_task(request))
                if seed == 0:
                    await asyncio.to_thread(begun.wait, 30)
                else:
                    await asyncio.sleep(0.05)
            release.set()
            return list(await asyncio.gather(*requests))

    first, second, newest = asyncio.run(ask())
    assert (first.json(), newest.json()) == ({"seed": 0}, {"seed": 2})
    assert second.status_code == 503
    assert "replaced by a newer request" in second.json()["error"]
