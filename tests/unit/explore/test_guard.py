"""Other names, other pages and other scripts cannot use the local page."""

from __future__ import annotations

import re
from importlib import resources
from typing import Any

import pytest

from trafficgen.explore.application import ANSWER_HEADERS, CONTENT_SECURITY_POLICY

STATIC = resources.files("trafficgen.explore") / "static"
OWN_FILES = sorted(file.name for file in STATIC.iterdir())


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765"])
def test_page_answers_to_its_own_names(client: Any, host: str) -> None:
    assert client.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:80",
        "127.0.0.1:8765.evil.example",
        "[::1]:8765",
        "",
    ],
)
@pytest.mark.parametrize("path", ["/", "/static/page.js", "/api/models"])
def test_page_refuses_other_names(client: Any, host: str, path: str) -> None:
    answer = client.get(path, headers={"Host": host})
    assert answer.status_code == 403
    assert "127.0.0.1:8765" in answer.text


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8765", "http://localhost:8765"])
def test_simulation_is_done_for_the_page_itself(client: Any, origin: str) -> None:
    answer = client.post("/api/simulate", json={"model": "cbr"}, headers={"Origin": origin})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://127.0.0.1:8765",
        "http://127.0.0.1:9999",
        "http://localhost",
        "null",
        "file://",
    ],
)
def test_simulation_is_refused_to_other_pages(client: Any, origin: str) -> None:
    answer = client.post("/api/simulate", json={"model": "cbr"}, headers={"Origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_requests_that_browsers_call_foreign_open_the_page_at_most(client: Any, site: str) -> None:
    headers = {"Sec-Fetch-Site": site}
    assert client.get("/", headers=headers).status_code == 200
    assert client.get("/api/models", headers=headers).status_code == 403
    assert client.post("/api/simulate", json={"model": "cbr"}, headers=headers).status_code == 403


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/static/plotly.min.js", 200),
        ("GET", "/api/models", 200),
        ("GET", "/api/simulate", 405),
        ("POST", "/api/simulate", 415),
        ("GET", "/static/..%2f__init__.py", 404),
        ("GET", "/static/nothing.js", 404),
        ("GET", "/nothing", 404),
        ("DELETE", "/", 405),
    ],
)
def test_every_answer_carries_the_headers(client: Any, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert {name: answer.headers[name] for name in ANSWER_HEADERS} == ANSWER_HEADERS


def test_refusals_carry_the_headers_too(client: Any) -> None:
    answer = client.get("/", headers={"Host": "evil.example"})
    assert answer.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


def test_policy_lets_nothing_run_or_be_fetched_but_own_files() -> None:
    directives = dict(part.split(" ", 1) for part in CONTENT_SECURITY_POLICY.split("; "))
    assert directives["default-src"] == "'none'"
    assert directives["script-src"] == "'self'"
    assert directives["connect-src"] == "'self'"
    assert directives["frame-ancestors"] == "'none'"
    assert not re.search(r"unsafe-eval|https?:|\*", CONTENT_SECURITY_POLICY)


@pytest.mark.parametrize("name", OWN_FILES)
def test_own_files_are_served_and_name_no_other_machine(client: Any, name: str) -> None:
    answer = client.get(f"/static/{name}")
    assert answer.status_code == 200
    assert not re.search(r"https?://|//[a-z]+\.[a-z]", answer.text)


def test_page_has_no_script_or_style_within() -> None:
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>\s*[^<\s]", text) == []
    assert not re.search(r"<style|\son\w+=|\sstyle=|javascript:", text)


@pytest.mark.parametrize("name", [name for name in OWN_FILES if name.endswith(".js")])
def test_scripts_make_no_markup_of_texts(name: str) -> None:
    text = (STATIC / name).read_text(encoding="utf-8")
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text
    )
