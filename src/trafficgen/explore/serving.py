"""A page that is served on this machine, in a thread of its own, until it is stopped."""

from __future__ import annotations

import os
import socket
import threading
from types import TracebackType
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from trafficgen.errors import ExploreError

#: The only address that is listened on: nobody else on the network can reach it.
LOOPBACK = "127.0.0.1"
#: Port where none is asked for, so that links into the page stay good.
USUAL_PORT = 8765
LARGEST_PORT = 65535

_MOST_CONNECTIONS = 32
_LARGEST_HEAD_BYTES = 16_384
_LAST_ANSWERS_S = 2


class LocalPage:
    """A page on this machine; use it in a ``with`` block, or stop it.

    Attributes:
        port: Port that it is reached at.

    Example:
        >>> import trafficgen
        >>> page = trafficgen.explore(port=0)
        >>> page
        <LocalPage http://127.0.0.1:.../, served>
        >>> page.stop()
    """

    def __init__(self, listening: socket.socket, app: ASGIApp) -> None:
        """Serve an application at a socket that listens.

        Args:
            listening: The socket.
            app: The application.
        """
        self.port: int = listening.getsockname()[1]
        self._listening = listening
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            limit_concurrency=_MOST_CONNECTIONS,
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
        """Return when the page has been stopped."""
        # Without a limit the wait could not be interrupted on every platform.
        while self._thread.is_alive():
            self._thread.join(1.0)

    def stop(self) -> None:
        """End the page; answers that are under way are finished, or given up after two seconds."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "served" if self._thread.is_alive() else "stopped"
        return f"<LocalPage {self.url}, {state}>"

    def _serve(self) -> None:
        with self._listening:
            self._server.run(sockets=[self._listening])


def listen(port: int | None) -> socket.socket:
    """Return a socket that listens on this machine alone.

    Args:
        port: The port; 0: any free one; None: the usual one, or any free one where that is taken.

    Raises:
        ExploreError: If the port cannot be had.
    """
    if port is not None and not 0 <= port <= LARGEST_PORT:
        raise ExploreError(
            f"port {port} is none; give one from 0 (any that is free) to {LARGEST_PORT}"
        )
    try:
        return socket.create_server((LOOPBACK, USUAL_PORT if port is None else port))
    except OSError as error:
        if port is None:
            return socket.create_server((LOOPBACK, 0))
        why = os.strerror(error.errno).lower() if error.errno else str(error)
        raise ExploreError(
            f"port {port} cannot be had ({why}); give another, or 0 for any that is free"
        ) from error
