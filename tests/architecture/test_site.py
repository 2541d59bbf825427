"""The documentation site: built with warnings as errors, every link and anchor leads somewhere,
nothing is remote.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import build_site

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class _Page(HTMLParser):
    """What a page defines, links to and loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := given.get(key))}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        if tag in LOADED and (given.get("rel") or "") not in {
            "index",
            "search",
            "next",
            "prev",
            "canonical",
        }:
            self.loaded.append(given.get(LOADED[tag]) or "")


def _build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "docs" / "build_site.py"), "--folder", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = _build(folder)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, _Page]:
    return {path: _Page(path) for path in site.rglob("*.html")}


def test_every_page_of_the_documentation_is_in_the_site(site: Path) -> None:
    written = [place for name, place in build_site.places().items() if name.endswith(".md")]
    assert len(written) > 40
    assert [place for place in written if not (site / place).with_suffix(".html").exists()] == []


def test_links_and_anchors_within_the_site_lead_somewhere(
    site: Path, pages: dict[Path, _Page]
) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            there = pages[target].anchors if target in pages else set()
            if not target.exists() or (anchor and anchor not in there):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, _Page]) -> None:
    loaded = [link for page in pages.values() for link in page.loaded]
    assert len(loaded) > len(pages)
    assert [link for link in loaded if re.match(r"([a-z]+:)?//", link)] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", styles) == []


def test_a_link_that_leads_nowhere_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "source" / "index.md"
    monkeypatch.setattr(
        build_site, "lay_out", lambda folder: page.write_text("# Title\n\n[there](#nowhere)\n")
    )
    assert build_site.build(tmp_path) != 0


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


def test_the_site_is_light_and_dark_and_searched_from_a_disk(site: Path, browser: Any) -> None:
    brightness = {}
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme, viewport={"width": 400, "height": 800})
        page = context.new_page()
        said: list[str] = []
        requested: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("request", lambda request, requested=requested: requested.append(request.url))
        page.goto((site / "index.html").as_uri())
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness[scheme] = sum(int(part) for part in re.findall(r"\d+", colour)[:3])
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        page.goto((site / "search.html").as_uri() + "?q=token+bucket")
        page.wait_for_selector("#search-results li a")
        assert said == []
        assert {url.partition(":")[0] for url in requested} == {"file"}
        context.close()
    assert brightness["dark"] < 200
    assert brightness["light"] > 600
