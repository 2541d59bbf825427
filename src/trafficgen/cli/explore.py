"""`trafficgen explore`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated

import typer

import trafficgen
from trafficgen.cli._options import FlowChoice, Seed, SessionChoice, expand_options
from trafficgen.cli._output import Messages


@expand_options
def explore(
    *,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL|CAPTURE]",
            help="Catalogue name, model file, or capture to fit a model to; default: chunked.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port; 0: any free one; default: 8765, or a free one if it is taken.",
        ),
    ] = None,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--browser/--no-browser",
            help="Open the page in a browser; default: if there is a display.",
        ),
    ] = None,
    flow: FlowChoice = None,
    session: SessionChoice = None,
    seed: Seed = 0,
    messages: Messages,
) -> None:
    """Play models over paths on a local page with sliders.

    The page is bound to 127.0.0.1 and fetches nothing from anywhere. Ctrl-C ends it. A capture may
    take 1 GB of memory here; where it needs more, `trafficgen fit` it with `--memory` and open the
    model.

    Example: trafficgen explore wmedia9_nichols2004

    Example: trafficgen explore capture.pcapng --no-browser --port 0
    """
    if flow is not None and session is not None:
        raise typer.BadParameter("use one, not both", param_hint="--flow, --session")
    open_page = trafficgen.explore  # loaded before the clock runs
    with messages.progress("reading"):
        page = open_page(
            model,
            port=port,
            seed=seed,
            flow=flow,
            session=session,
            open_browser=_has_display() if browser is None else browser,
        )
    with page, _until_signal():
        messages.say("Ctrl-C ends it")  # first: who reads the address may end it at once
        print(page.url, flush=True)
        page.wait()
    messages.say("stopped")


@contextmanager
def _until_signal() -> Iterator[None]:
    """Leave the block at Ctrl-C or SIGTERM: for a page the ordinary end, with exit code 0."""
    handlers = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    for one in handlers:
        signal.signal(one, signal.default_int_handler)
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for one, handler in handlers.items():
            signal.signal(one, handler)


def _has_display() -> bool:
    displays = (os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
    return sys.platform == "darwin" or any(displays)
