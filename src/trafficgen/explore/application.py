"""The web application of the page: its files, its choices, and simulations one at a time.

Other pages of the browser are kept from using it by checks of requests and headers of answers.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import chain
from typing import Any, TypeVar

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from trafficgen.errors import ExploreError
from trafficgen.explore.controls import COMPETITORS, CONTROLS, DEFAULT_COMPETITOR, MEANINGS, PRESETS
from trafficgen.explore.playable_models import PlayableModel
from trafficgen.explore.request import SimulationRequest, play_request
from trafficgen.json_text import clean_texts
from trafficgen.units import ms_from_s

#: Names of the page; any other in ``Host`` was rebound to this machine.
HOST_NAMES = ("127.0.0.1", "localhost")

#: Only our own files run or are fetched. Plotly writes styles into its charts, and images as blobs.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
ANSWER_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses requests of other names and other pages, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, *, port: int) -> None:
        self._app = app
        self._hosts = {f"{name}:{port}" for name in HOST_NAMES}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(ANSWER_HEADERS)
            await send(message)

        refusal = self._refusal(Headers(scope=scope), path=scope["path"])
        answer = self._app if refusal is None else PlainTextResponse(refusal, status_code=403)
        # The server bounds a head that has no end yet, not one that came whole.
        head = chain([scope["path"], scope["query_string"]], *scope["headers"])
        if sum(map(len, head)) > LARGEST_REQUEST_BYTES:
            answer = _refuse(f"a head has at most {LARGEST_REQUEST_BYTES} bytes", status=431)
        await answer(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers, *, path: str) -> str | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return f"This page is served as {' and '.join(sorted(self._hosts))} only."
        if any(origin.lower() not in self._origins for origin in headers.getlist("origin")):
            return "This page takes requests of its own only, not of other pages."
        # A link from another site may open the page, but not start a simulation.
        if path.startswith("/api/") and headers.get("sec-fetch-site", "same-origin") not in (
            "same-origin",
            "none",
        ):
            return "This page takes requests of its own only, not of other pages."
        return None


T = TypeVar("T")

#: A request has a few numbers and names.
LARGEST_REQUEST_BYTES = 16_384

#: A body of that size arrives in a moment; a slower client keeps others waiting.
LONGEST_REQUEST_S = 10.0

#: Model of the first view: it shows everything that the page can draw.
FIRST_MODEL = "chunked"

_OWN = resources.files("trafficgen.explore") / "static"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_PAGE = "index.html"
_PLOTLY = "plotly.min.js"


class SupersededError(Exception):
    """A newer request came before the turn of this one."""


class OneAtATime:
    """Does pieces of work in a thread, one at a time; of those that wait only the newest."""

    def __init__(self) -> None:
        self._is_busy = False
        self._next: asyncio.Future[None] | None = None

    async def do(self, work: Callable[[], T]) -> T:
        """Return the result of a piece of work.

        Raises:
            SupersededError: If newer work came while this waited: at once, so that its connection
                is free for others.
        """
        if self._is_busy:
            self._let_next(SupersededError())
            turn = self._next = asyncio.get_running_loop().create_future()
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():  # its turn has come
                    self._is_busy = self._let_next()
                raise
        self._is_busy = True
        try:
            return await run_in_threadpool(work)
        finally:
            self._is_busy = self._let_next()

    def _let_next(self, error: Exception | None = None) -> bool:
        """Let the one that waits go on, or fail; return whether there is one."""
        waiting, self._next = self._next, None
        if waiting is None or waiting.done():  # its client may have gone
            return False
        if error is None:
            waiting.set_result(None)
        else:
            waiting.set_exception(error)
        return True


def application(
    models: Mapping[str, PlayableModel], *, port: int, first: str | None = None, seed: int = 0
) -> ASGIApp:
    """Make the web application of the page.

    ``first`` names the model of the first view (None: :data:`FIRST_MODEL`), and ``seed`` is that of
    this view.
    """
    files = _files()
    queue = OneAtATime()
    choices = {
        "models": [model.to_json() for model in models.values()],
        "controls": [
            {**asdict(one), "meaning": MEANINGS[one.name]}
            | ({"default": seed} if one.name == "seed" else {})
            for one in CONTROLS.values()
        ],
        "competitors": [
            {"name": name, "meaning": meaning} for name, meaning in COMPETITORS.items()
        ],
        "presets": [asdict(preset) for preset in PRESETS],
        "defaults": {"model": first or FIRST_MODEL, "competitor": DEFAULT_COMPETITOR},
    }

    async def page(_: Request) -> Response:
        return _file(files[_PAGE], _PAGE)

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        return _file(files[name], name) if name in files else _refuse("no such file", status=404)

    async def choose(_: Request) -> Response:
        return _json(choices)

    async def simulate(request: Request) -> Response:
        return await _simulate(request, models, queue)

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        Route("/api/models", choose),
        Route("/api/simulate", simulate, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), port=port)


async def _simulate(
    request: Request, models: Mapping[str, PlayableModel], queue: OneAtATime
) -> Response:
    content_type = request.headers.get("content-type", "").partition(";")[0]
    if content_type.strip().lower() != "application/json":
        return _refuse("a request is JSON (Content-Type: application/json)", status=415)
    body = await _body(request)
    if isinstance(body, Response):
        return body
    try:
        wanted = SimulationRequest.parse(clean_texts(json.loads(body)), models)
        began_s = time.perf_counter()
        result = await queue.do(partial(play_request, wanted))
        took_s = time.perf_counter() - began_s
    except (ValueError, RecursionError):
        return _refuse("a request is one JSON object", status=400)
    except ExploreError as error:
        return _refuse(str(error), control=error.control, status=422)
    except SupersededError:
        return _refuse("replaced by a newer request; send it again", status=503)
    return _json(result, headers={"Server-Timing": f"simulate;dur={ms_from_s(took_s):.1f}"})


async def _body(request: Request) -> bytes | Response:
    """Return the body of a request, or the refusal of one that is too large or too slow."""
    body = b""
    try:
        async with asyncio.timeout(LONGEST_REQUEST_S):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_REQUEST_BYTES:
                    message = f"a request has at most {LARGEST_REQUEST_BYTES} bytes"
                    return _refuse(message, status=413)
    except TimeoutError:
        return _refuse(f"a request must arrive within {LONGEST_REQUEST_S:g} s", status=408)
    except ClientDisconnect:
        return _refuse("the request did not arrive", status=400)
    return body


def _files() -> dict[str, Traversable]:
    """Return the files of the page by name: ours, and the script of the package plotly."""
    own = {file.name: file for file in _OWN.iterdir() if file.name.endswith(tuple(_MEDIA_TYPES))}
    return {**own, _PLOTLY: resources.files("plotly") / "package_data" / _PLOTLY}


def _file(file: Traversable, name: str) -> Response:
    media_type = _MEDIA_TYPES[name[name.rindex(".") :]]
    return Response(file.read_bytes(), media_type=f"{media_type}; charset=utf-8")


def _json(
    value: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return JSON; NaN becomes null."""
    content = to_json(value, inf_nan_mode="null")
    return Response(
        content, status_code=status, media_type="application/json", headers=dict(headers or {})
    )


def _refuse(message: str, *, status: int, control: str | None = None) -> Response:
    refusal: dict[str, Any] = {"error": " ".join(message.split()), "control": control}
    return _json(refusal, status=status)
