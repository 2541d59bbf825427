"""The page's application without a server between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp

from trafficgen.explore.application import application
from trafficgen.explore.playable_models import PlayableModel, list_catalogue

PORT = 8765
OWN = f"http://127.0.0.1:{PORT}"

Simulate = Callable[..., httpx.Response]


@dataclass(frozen=True)
class PageClient:
    """Calls the application by its own name, one request after the other."""

    app: ASGIApp

    def request(self, method: str, path: str, **request: Any) -> httpx.Response:
        """Return the answer to one request."""

        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self.app)
            async with httpx.AsyncClient(transport=transport, base_url=OWN) as client:
                return await client.request(method, path, **request)

        return asyncio.run(ask())

    def get(self, path: str, **request: Any) -> httpx.Response:
        """Return the answer to GET."""
        return self.request("GET", path, **request)

    def post(self, path: str, **request: Any) -> httpx.Response:
        """Return the answer to POST."""
        return self.request("POST", path, **request)


@pytest.fixture(scope="session")
def models() -> dict[str, PlayableModel]:
    """Return the models of the catalogue by name."""
    return {offer.name: offer for offer in list_catalogue()}


@pytest.fixture
def client(models: dict[str, PlayableModel]) -> PageClient:
    """Return a client of the page."""
    return PageClient(application(models, port=PORT))


@pytest.fixture
def simulate(client: PageClient) -> Simulate:
    """Return a function that asks for a simulation and returns the answer."""

    def ask(model: object = "cbr", **asked: Any) -> httpx.Response:
        return client.post("/api/simulate", json={"model": model, **asked})

    return ask
