"""Serve the page on this machine in a thread of its own: `trafficgen explore`."""

from __future__ import annotations

import os
import socket
import threading
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Self

from trafficgen.capture.options import SessionChoice
from trafficgen.errors import ExploreError
from trafficgen.explore.controls import LARGEST_SEED
from trafficgen.explore.playable_models import list_catalogue, open_model
from trafficgen.imports import require
from trafficgen.models import Model, ModelHolder, PublishedModel
from trafficgen.options import checks_arguments

if TYPE_CHECKING:
    from starlette.types import ASGIApp

#: The only address of the page: nobody else on the network can reach it.
LOOPBACK = "127.0.0.1"
#: Default port, so that links into the page stay valid.
USUAL_PORT = 8765
LARGEST_PORT = 65535

_LARGEST_HEAD_BYTES = 16_384
_LAST_ANSWERS_S = 2


class LocalPage:
    """A page on this machine; use it in a ``with`` block, or stop it.

    Attributes:
        port: Its port.

    Example:
        >>> import trafficgen
        >>> page = trafficgen.explore(port=0)
        >>> page
        <LocalPage http://127.0.0.1:.../, served>
        >>> page.stop()
    """

    def __init__(self, listening: socket.socket, app: ASGIApp) -> None:
        """Serve an application at a listening socket."""
        self.port: int = listening.getsockname()[1]
        self._listening = listening
        uvicorn = require("explore", "uvicorn")
        from trafficgen.explore.connections import BoundedConnection  # noqa: PLC0415 - of the extra

        config = uvicorn.Config(
            app,
            loop="asyncio",
            http=BoundedConnection,
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",  # a wrong request is not worth a line
            access_log=False,
            server_header=False,
            h11_max_incomplete_event_size=_LARGEST_HEAD_BYTES,
            timeout_graceful_shutdown=_LAST_ANSWERS_S,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="trafficgen-explore", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Address of the page."""
        return f"http://{LOOPBACK}:{self.port}/"

    def wait(self) -> None:
        """Wait until the page is stopped."""
        # Without a limit the wait could not be interrupted on every platform.
        while self._thread.is_alive():
            self._thread.join(1.0)

    def stop(self) -> None:
        """Stop the page; answers under way are finished, or given up after two seconds."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "served" if self._thread.is_alive() else "stopped"
        return f"<LocalPage {self.url}, {state}>"

    def _serve(self) -> None:
        with self._listening:
            self._server.run(sockets=[self._listening])


@checks_arguments(like=SessionChoice)
def explore(
    model: Model | PublishedModel | ModelHolder | str | Path | None = None,
    *,
    port: int | None = None,
    seed: int = 0,
    flow: int | None = None,
    session: int | None = None,
    open_browser: bool = False,
) -> LocalPage:
    """Serve a page on this machine with sliders that plays models over paths.

    Every curve is a result of :func:`~trafficgen.simulate`. The page is bound to 127.0.0.1, fetches
    nothing from anywhere, and is served in the background until it is stopped or Python ends.

    Args:
        model: Model of the first view: a model or a fit, a catalogue name, a model file, or a
            capture, to which a model is fitted and whose rate is then drawn too; None: ``chunked``.
        port: Port; 0: any free one; None: 8765, or a free one if that is taken.
        seed: Seed of the fit, and of the first simulation.
        flow: Flow of a capture to fit.
        session: Session of a capture to fit; None: the one with most bytes.
        open_browser: Whether to open the page in the desktop's browser.

    Returns:
        The page with its ``url`` and ``stop()``, also for a ``with`` block.

    Raises:
        InputFileError: If a model file or a capture cannot be read.
        SelectionError: If the capture has no such flow or session.
        CalibrationError: If the capture does not have what a fit needs.
        ExploreError: If the port is not available, or the seed is too large.
        TrafficgenError: If the extra ``explore`` is not installed.

    Example:
        >>> import trafficgen, urllib.request
        >>> with trafficgen.explore("wmedia9_nichols2004", port=0) as page:  # 0: any free port
        ...     print(page.url)
        ...     answer = urllib.request.urlopen(page.url).status
        http://127.0.0.1:.../
        >>> answer
        200
    """
    if not 0 <= seed <= LARGEST_SEED:
        raise ExploreError(f"invalid seed {seed}; use 0 to {LARGEST_SEED}")
    for module in ("starlette", "uvicorn", "plotly"):
        require("explore", module)
    from trafficgen.explore.application import application  # noqa: PLC0415 - of the extra

    listening = _listen(port)  # before a fit of minutes, so that a taken port is reported at once
    try:
        models = {one.name: one for one in list_catalogue()}
        first = None
        if model is not None:
            opened = open_model(model, flow=flow, session=session, seed=seed)
            first = opened.name
            same_name = models.get(first)
            if same_name is None or same_name.model != opened.model:
                first = first if same_name is None else f"./{first}"
                models = {first: opened, **models}
        app = application(models, port=listening.getsockname()[1], first=first, seed=seed)
    except BaseException:
        listening.close()
        raise
    page = LocalPage(listening, app)
    if open_browser:
        webbrowser.open(page.url)
    return page


def _listen(port: int | None) -> socket.socket:
    """Listen on this machine alone; None: the usual port, or any free one if that is taken."""
    if port is not None and not 0 <= port <= LARGEST_PORT:
        raise ExploreError(f"invalid port {port}; use 0 (any free one) to {LARGEST_PORT}")
    try:
        return socket.create_server((LOOPBACK, USUAL_PORT if port is None else port))
    except OSError as error:
        if port is None:
            return socket.create_server((LOOPBACK, 0))
        why = os.strerror(error.errno).lower() if error.errno else str(error)
        raise ExploreError(
            f"port {port} is not available ({why}); use another, or 0 for any free one"
        ) from error
