"""The page and its requests: files, what can be chosen, and simulations."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from trafficgen.errors import ExploreError
from trafficgen.explore.asked import Asked
from trafficgen.explore.controls import COMPETITORS, CONTROLS, DEFAULT_COMPETITOR
from trafficgen.explore.guard import Guard
from trafficgen.explore.offers import Offer
from trafficgen.explore.one_at_a_time import OneAtATime, SupersededError
from trafficgen.explore.playing import play
from trafficgen.explore.situations import SITUATIONS
from trafficgen.units import ms_from_s

#: A request says a few numbers and names.
LARGEST_REQUEST_BYTES = 16_384

#: A body of that size is there in a moment; whoever takes longer keeps others waiting.
LONGEST_REQUEST_S = 10.0

#: What is chosen first where nothing is asked for: all there is to see reacts.
FIRST_MODEL = "chunked"

_OWN = resources.files("trafficgen.explore") / "static"
_MEDIA_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
_PAGE = "index.html"
_PLOTLY = "plotly.min.js"


def application(
    offers: Mapping[str, Offer], *, port: int, opened: str | None = None, seed: int = 0
) -> ASGIApp:
    """Return the page as a web application.

    Args:
        offers: What can be chosen, by name.
        port: Port that it is reached at.
        opened: Name of the offer that is chosen first; None: :data:`FIRST_MODEL`.
        seed: Seed that is set first.
    """
    files = _files()
    queue = OneAtATime()
    choices = {
        "models": [offer.to_json() for offer in offers.values()],
        "controls": [
            {**control.to_json(), **({"default": seed} if control.name == "seed" else {})}
            for control in CONTROLS.values()
        ],
        "competitors": [
            {"name": name, "meaning": meaning} for name, meaning in COMPETITORS.items()
        ],
        "situations": [situation.to_json() for situation in SITUATIONS],
        "defaults": {"model": opened or FIRST_MODEL, "competitor": DEFAULT_COMPETITOR},
    }

    async def page(_: Request) -> Response:
        return _file(files[_PAGE], _PAGE)

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        return (
            _file(files[name], name)
            if name in files
            else _refused("there is no such file", status=404)
        )

    async def models(_: Request) -> Response:
        return _json(choices)

    async def simulate(request: Request) -> Response:
        return await _simulated(request, offers, queue)

    routes = [
        Route("/", page),
        Route("/static/{name}", static),
        Route("/api/models", models),
        Route("/api/simulate", simulate, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes), port=port)


async def _simulated(request: Request, offers: Mapping[str, Offer], queue: OneAtATime) -> Response:
    if (
        request.headers.get("content-type", "").partition(";")[0].strip().lower()
        != "application/json"
    ):
        return _refused("a request is JSON (Content-Type: application/json)", status=415)
    body = await _body(request)
    if isinstance(body, Response):
        return body
    try:
        asked = Asked.of(json.loads(body), offers)
        began_s = time.perf_counter()
        result = await queue.do(partial(play, asked))
        took_s = time.perf_counter() - began_s
    except (ValueError, RecursionError):
        return _refused("a request is one JSON object", status=400)
    except ExploreError as error:
        return _refused(str(error), control=error.control, status=422)
    except SupersededError:
        return _refused("something newer was asked for meanwhile; ask again", status=503)
    return _json(result, headers={"Server-Timing": f"simulate;dur={ms_from_s(took_s):.1f}"})


async def _body(request: Request) -> bytes | Response:
    """Return the body of a request, or the refusal of one that is too large or does not come."""
    body = b""
    try:
        async with asyncio.timeout(LONGEST_REQUEST_S):
            async for part in request.stream():
                body += part
                if len(body) > LARGEST_REQUEST_BYTES:
                    return _refused(
                        f"a request has at most {LARGEST_REQUEST_BYTES} bytes", status=413
                    )
    except TimeoutError:
        return _refused(f"a request is sent within {LONGEST_REQUEST_S:g} s", status=408)
    return body


def _files() -> dict[str, Traversable]:
    """Return the files of the page by name: ours, and Plotly's script as its package has it."""
    own = {file.name: file for file in _OWN.iterdir() if file.name.endswith(tuple(_MEDIA_TYPES))}
    return {**own, _PLOTLY: resources.files("plotly") / "package_data" / _PLOTLY}


def _file(file: Traversable, name: str) -> Response:
    media_type = _MEDIA_TYPES[name[name.rindex(".") :]]
    return Response(file.read_bytes(), media_type=f"{media_type}; charset=utf-8")


def _json(
    value: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Return JSON; NaN, what could not be measured, becomes null."""
    content = to_json(value, inf_nan_mode="null")
    return Response(
        content, status_code=status, media_type="application/json", headers=dict(headers or {})
    )


def _refused(message: str, *, status: int, control: str | None = None) -> Response:
    refusal: dict[str, Any] = {"error": " ".join(message.split()), "control": control}
    return _json(refusal, status=status)
