"""`trafficgen explore`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, NoReturn

import typer

import trafficgen
from trafficgen.cli._options import FlowChoice, Quiet, Seed, SessionChoice, Verbose, messages_of


def explore(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL|CAPTURE]",
            help=(
                "Chosen first: a catalogue name, a model file, or a capture, to which a model is"
                " fitted; default:"
                " chunked, a player of today."
            ),
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="Port; 0: any free one; default: 8765, or a free one where it is taken.",
        ),
    ] = None,
    browser: Annotated[
        bool | None,
        typer.Option(
            "--browser/--no-browser",
            help="Open the page in a browser; default: where there is a display.",
        ),
    ] = None,
    flow: FlowChoice = None,
    session: SessionChoice = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Serve a page on this machine on which models are played over paths: move sliders, see what
    reacts.

    The page is bound to 127.0.0.1 and fetches nothing from anywhere. Ctrl-C ends it.

    Example: trafficgen explore wmedia9_nichols2004

    Example: trafficgen explore capture.pcapng --no-browser --port 0
    """
    if flow is not None and session is not None:
        raise typer.BadParameter(
            "give a flow or a session, not both", param_hint="--flow, --session"
        )
    messages = messages_of(quiet=quiet, verbose=verbose)
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
    with page, _until_ended():
        print(page.url, flush=True)
        messages.say("Ctrl-C ends it")
        page.wait()
    messages.say("stopped")


class _EndedError(Exception):
    """Somebody ended the program, as a page is ended."""


@contextmanager
def _until_ended() -> Iterator[None]:
    """Leave the block when Ctrl-C or SIGTERM comes: for a page that is the ordinary end, with exit
    code 0.
    """

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise _EndedError

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except _EndedError:
        pass
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _has_display() -> bool:
    if sys.platform == "darwin":
        return True
    return any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))
