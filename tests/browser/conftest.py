"""Headless Chromium for tests that look at pages: one browser, a fresh profile for each page."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

HEIGHT_PX = 900


@dataclass
class WatchedPage:
    """A page that has been opened, and what it did meanwhile.

    Attributes:
        page: The page.
        errors: What it wrote to the console as errors or warnings, and what it did not catch.
        requests: Addresses that it fetched, data and blobs of its own left out.
    """

    page: Page
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def requests_elsewhere(self, own: str) -> list[str]:
        """Return addresses that it fetched and that do not begin with ``own``."""
        return [address for address in self.requests if not address.startswith(own)]

    def overflowing(self) -> list[str]:
        """Return what reaches beyond the edges of the window and cannot be scrolled to; empty is
        good.
        """
        found: list[str] = self.page.evaluate(_OVERFLOWING)
        return found


PageOpener = Callable[..., WatchedPage]


# Of a module, not of the session: while it is open, Playwright's event loop runs, and asyncio.run
# refuses to.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return the machine's own Chromium, or skip the test."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with sync_playwright() as playwright:
        arguments = [
            "--disable-gpu",
            "--disable-quic",
            "--disable-background-networking",
            "--disable-component-update",
        ]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def page_at(browser: Browser) -> Iterator[PageOpener]:
    """Return a function that opens an address or a file: ``page_at(place, width=1400,
    dark=False)``.
    """
    contexts: list[BrowserContext] = []

    def open_page(place: str | Path, *, width: int = 1400, dark: bool = False) -> WatchedPage:
        context = browser.new_context(
            viewport={"width": width, "height": HEIGHT_PX}, color_scheme="dark" if dark else "light"
        )
        contexts.append(context)
        watched = WatchedPage(context.new_page())
        page = watched.page
        page.on(
            "console",
            lambda said: (
                watched.errors.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        page.on("pageerror", lambda error: watched.errors.append(str(error)))

        def note(request: Request) -> None:
            if not request.url.startswith(("data:", "blob:")):
                watched.requests.append(request.url)

        page.on("request", note)
        page.goto(place.resolve().as_uri() if isinstance(place, Path) else place)
        return watched

    yield open_page
    for context in contexts:
        context.close()


#: What sticks out: elements beyond the window's edges that no box of their own scrolls.
_OVERFLOWING = """() => {
  const width = document.documentElement.clientWidth;
  const scrolled = (node) => {
    for (let up = node.parentElement; up; up = up.parentElement) {
      if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
    }
    return false;
  };
  const found = [];
  for (const node of document.body.querySelectorAll("*")) {
    // Inside a drawing Plotly clips by itself; its tester for texts is kept out of sight.
    if (node.id === "js-plotly-tester" || (node.closest("svg") && node.tagName !== "svg")) continue;
    const box = node.getBoundingClientRect();
    if (box.width === 0 || box.height === 0 || scrolled(node)) continue;
    const name = `${node.tagName.toLowerCase()}#${node.id}.${node.className}`;
    if (box.right > width + 1 || box.left < -1) {
      found.push(`${name} from ${box.left} to ${box.right} of ${width}`);
    }
  }
  return found;
}"""
