"""What one request may cost: its head, its body, its time, its simulation, and how many there may
be at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
from tests.unit.explore.conftest import OWN, PageClient

import trafficgen
from trafficgen import LocalPage
from trafficgen.explore import application, connections, serving
from trafficgen.explore.application import LARGEST_REQUEST_BYTES

JSON = {"Content-Type": "application/json"}


@pytest.fixture
def opened() -> Iterator[LocalPage]:
    with trafficgen.explore("cbr", port=0) as page:
        yield page


def _posted(client: PageClient, body: AsyncIterator[bytes]) -> httpx.Response:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(client.app)
        async with httpx.AsyncClient(transport=transport, base_url=OWN) as page:
            return await page.post("/api/simulate", content=body, headers=JSON)

    return asyncio.run(ask())


def test_a_body_without_an_end_is_read_up_to_the_limit(client: PageClient) -> None:
    given = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal given
        while given < 100 * LARGEST_REQUEST_BYTES:
            given += 1000
            yield b" " * 1000

    answer = _posted(client, endless())
    assert answer.status_code == 413
    assert given <= LARGEST_REQUEST_BYTES + 2000


def test_a_body_that_does_not_come_is_not_waited_for(
    client: PageClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application, "LONGEST_REQUEST_S", 0.05)

    async def slow() -> AsyncIterator[bytes]:
        yield b'{"model": '
        await asyncio.sleep(3600)
        yield b'"cbr"}'

    answer = _posted(client, slow())
    assert answer.status_code == 408
    assert "must arrive within 0.05 s" in answer.json()["error"]


@pytest.mark.parametrize(
    "content_type", ["multipart/form-data; boundary=x", "application/octet-stream", "text/plain"]
)
def test_files_are_not_taken(client: PageClient, content_type: str) -> None:
    answer = client.post("/api/simulate", content=b"--x", headers={"Content-Type": content_type})
    assert answer.status_code == 415


@pytest.mark.parametrize(
    "body", [b"[" * 16_000, b'{"a":' * 3_000, b"1" * 16_000, b'{"seed": 1e999, "model": "cbr"}']
)
def test_deep_and_long_json_is_refused(client: PageClient, body: bytes) -> None:
    answer = client.post("/api/simulate", content=body, headers=JSON)
    assert answer.status_code in (400, 422)
    assert "\n" not in answer.json()["error"]


def _answer(page: LocalPage, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", page.port), timeout=30) as connection:
        with contextlib.suppress(
            ConnectionError
        ):  # who is refused early need not be heard to the end
            connection.sendall(request)
        found = b""
        with contextlib.suppress(ConnectionError):
            while part := connection.recv(65_536):
                found += part
    return found


def test_a_head_without_an_end_is_refused(opened: LocalPage) -> None:
    request = (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: " % opened.port
        + b"x" * 10 * serving._LARGEST_HEAD_BYTES
    )
    assert _answer(opened, request).startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))


@pytest.mark.parametrize("pieces", [1, 2000], ids=["one header", "many headers"])
def test_a_whole_head_has_a_bound_too(opened: LocalPage, pieces: int) -> None:
    header = b"X: " + b"x" * (2 * serving._LARGEST_HEAD_BYTES // pieces) + b"\r\n"
    head = b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n" % opened.port
    answer = _answer(opened, head + header * pieces + b"\r\n")
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))


_HOST = b"Host: 127.0.0.1:PORT\r\n"
_ASK = b"POST /api/simulate HTTP/1.1\r\n" + _HOST + b"Content-Type: application/json\r\n"
_LONG = b'{"model": "cbr", "duration_s": 300}'
#: What connections send that are held open then, none of which reads.
_HELD = {
    "nothing": b"",
    "half a head": b"GET / HTTP/1.1\r\nHost: ",
    "half a body": _ASK + b"Content-Length: 5000\r\n\r\n{",
    "half a body in chunks": _ASK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
    "a body to a page": b"GET / HTTP/1.1\r\n" + _HOST + b"Content-Length: 99999999\r\n\r\n",
    "a large file": b"GET /static/plotly.min.js HTTP/1.1\r\n" + _HOST + b"\r\n",
    "many requests": (b"GET / HTTP/1.1\r\n" + _HOST + b"\r\n") * 200,
    "simulations": _ASK + b"Content-Length: %d\r\n\r\n%s" % (len(_LONG), _LONG),
}


@pytest.mark.parametrize("sent", _HELD.values(), ids=list(_HELD))
@pytest.mark.parametrize("limit", ["MOST_CONNECTIONS", "MOST_OF_A_PEER"])
def test_connections_that_are_held_open_keep_nobody_out(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], limit: str, sent: bytes
) -> None:
    monkeypatch.setattr(connections, limit, 3)
    with trafficgen.explore("cbr", port=0) as page, contextlib.ExitStack() as stack:
        request = (
            b"GET /api/models HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n"
            % page.port
        )
        assert _answer(page, request).startswith(b"HTTP/1.1 200")
        held = []
        for _ in range(40):
            waiting = stack.enter_context(socket.socket())
            waiting.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            waiting.connect(("127.0.0.1", page.port))
            with contextlib.suppress(ConnectionError):
                waiting.sendall(sent.replace(b"PORT", b"%d" % page.port))
            held.append(waiting)
        time.sleep(0.2)  # all have been heard
        for _ in range(5):
            assert _answer(page, request).startswith(b"HTTP/1.1 200")
        with contextlib.suppress(ConnectionError):  # the first of them had to go
            held[0].settimeout(30)
            while held[0].recv(65_536):
                pass
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("beginning", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_a_head_that_does_not_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch, beginning: bytes
) -> None:
    monkeypatch.setattr(connections, "LONGEST_HEAD_S", 0.3)
    with (
        trafficgen.explore("cbr", port=0) as page,
        socket.create_connection(("127.0.0.1", page.port), timeout=30) as waiting,
    ):
        waiting.sendall(beginning)
        with contextlib.suppress(ConnectionError):
            assert waiting.recv(1) == b""


@pytest.mark.parametrize("key", ["model", "competitor", "settings", "rate_kbps", "unknown"])
def test_a_lone_surrogate_is_refused(opened: LocalPage, key: str) -> None:
    value = b'{"rate_kbps": "\\ud800"}' if key == "settings" else b'"\\ud800"'
    body = b'{"%s": %s, "\\ud800": 1}' % (key.encode(), value)
    head = b"POST /api/simulate HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n"
    head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    answer = _answer(opened, head % (opened.port, len(body)) + body)
    assert answer.startswith(b"HTTP/1.1 422")


def test_other_addresses_of_this_machine_are_not_listened_on(opened: LocalPage) -> None:
    for address in ("127.0.0.2", "::1"):
        with pytest.raises(OSError, match=r"refused|not available|supported"):
            socket.create_connection((address, opened.port), timeout=5).close()
