"""The page is served on this machine alone, from when it is opened until it is stopped."""

from __future__ import annotations

import json
import socket
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator

import pytest

import trafficgen
from trafficgen import ExploreError, LocalPage, TrafficgenError
from trafficgen.explore import serving
from trafficgen.explore.serving import _listen


@pytest.fixture
def opened() -> Iterator[LocalPage]:
    """Return a page that is served."""
    with trafficgen.explore("cbr", port=0, seed=4) as page:
        yield page


@pytest.fixture
def taken() -> Iterator[int]:
    """Return a port that somebody else listens at."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield other.getsockname()[1]


def _get(page: LocalPage, path: str, **headers: str) -> bytes:
    request = urllib.request.Request(page.url + path, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        body: bytes = answer.read()
    return body


def test_page_is_served_over_http(opened: LocalPage) -> None:
    assert opened.url == f"http://127.0.0.1:{opened.port}/"
    assert b"<title>trafficgen explore</title>" in _get(opened, "")
    choices = json.loads(_get(opened, "api/models"))
    assert choices["defaults"]["model"] == "cbr"
    assert [control["default"] for control in choices["controls"] if control["name"] == "seed"] == [
        4
    ]


def test_other_names_are_refused_over_http(opened: LocalPage) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        _get(opened, "", Host="evil.example")
    with refused.value as answer:
        assert answer.code == 403


def test_page_that_is_stopped_leaves_its_port_free() -> None:
    page = trafficgen.explore(port=0)
    assert "served" in repr(page)
    page.stop()
    page.wait()
    assert "stopped" in repr(page)
    with trafficgen.explore(port=page.port) as again:
        assert again.port == page.port


def test_nobody_else_can_reach_it() -> None:
    with _listen(0) as listening:
        assert listening.getsockname()[0] == "127.0.0.1"
        assert listening.family is socket.AF_INET


def test_port_that_is_taken_is_told(taken: int) -> None:
    with pytest.raises(ExploreError, match=f"port {taken} is not available .*use another, or 0"):
        trafficgen.explore(port=taken)


def test_usual_port_that_is_taken_gives_way(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "USUAL_PORT", taken)
    with _listen(None) as listening:
        assert listening.getsockname()[1] != taken


@pytest.mark.parametrize("port", [-1, 65536])
def test_ports_that_are_none_are_refused(port: int) -> None:
    with pytest.raises(ExploreError, match="invalid port"):
        trafficgen.explore(port=port)


def test_seed_that_the_page_cannot_hold_is_refused() -> None:
    with pytest.raises(ExploreError, match="seed"):
        trafficgen.explore(port=0, seed=2**32)


def test_browser_is_opened_when_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    remember: Callable[[str], None] = opened.append
    monkeypatch.setattr("webbrowser.open", remember)
    with trafficgen.explore(port=0):
        assert opened == []
    with trafficgen.explore(port=0, open_browser=True) as page:
        assert opened == [page.url]


@pytest.mark.parametrize("module", ["starlette", "uvicorn", "plotly"])
def test_a_missing_extra_is_one_line_with_the_command(
    monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TrafficgenError, match=rf"^{module} is not installed; run: pip install"):
        trafficgen.explore("cbr", port=0)
