"""Connections of the page: time limits for heads and idle ones, a bound for each peer."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

#: Connections at a time, of one address and of all. A browser opens six.
MOST_OF_A_PEER = 16
MOST_CONNECTIONS = 32
#: Time for the head of a request, s: a browser sends it in one piece.
LONGEST_HEAD_S = 10.0
#: A connection without a new byte for this long may be closed for another one: no answer takes as
#: long, s.
LONGEST_ANSWER_S = 60.0


class BoundedConnection(H11Protocol):
    """A connection that gives way: an idle one is closed where another comes in its place."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._heard_s = time.monotonic()
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, in the place of the one that has been idle for longest if need be."""
        super().connection_made(transport)
        others = [one for one in self.connections if one is not self]
        peer = self._address
        of_peer = [one for one in others if isinstance(one, BoundedConnection) and one.is_of(peer)]
        for known, most in ((of_peer, MOST_OF_A_PEER), (others, MOST_CONNECTIONS)):
            if len(known) >= most and not _close_longest_idle(known):
                transport.abort()
                return
        self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._end_limit()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; a head that has begun must end within its time.

        One that asks again before it has its answer is closed: browsers wait for it.
        """
        self._heard_s = time.monotonic()
        super().data_received(data)
        if self.conn.their_state is h11.DONE and self.conn.trailing_data[0]:
            self.transport.abort()
        if self.conn.their_state is not h11.IDLE:
            self._end_limit()
        elif self._head_timer is None:
            self._limit_head()

    def is_of(self, address: str) -> bool:
        """Return whether it comes from an address."""
        return self._address == address

    @property
    def idle_s(self) -> float | None:
        """Time since its last byte, s; None while an answer is under way.

        One that sends no more of its request, or reads no more of the answer, is idle.
        """
        silent_s = time.monotonic() - self._heard_s
        cycle: RequestResponseCycle | None = self.cycle
        is_waited_for = self.conn.their_state is h11.SEND_BODY or self.flow.write_paused
        is_answering = cycle is not None and not cycle.response_complete and not is_waited_for
        return None if is_answering and silent_s < LONGEST_ANSWER_S else silent_s

    @property
    def _address(self) -> str:
        return "" if self.client is None else self.client[0]

    def _limit_head(self) -> None:
        self._head_timer = self.loop.call_later(LONGEST_HEAD_S, self.transport.abort)

    def _end_limit(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def _close_longest_idle(connections: list[Any]) -> bool:
    """Close the connection that has been idle for longest; return whether there is one."""
    idle = [(one.idle_s, place) for place, one in enumerate(connections) if one.idle_s is not None]
    if not idle:
        return False
    closed = connections[max(idle)[1]]
    closed.connections.discard(closed)
    closed.transport.abort()
    return True
