"""A wire that delays: copies frames between two interfaces, each ``DELAY_S`` later. ``delay_wire.py
IF IF DELAY_S``. At its end it writes how late frames were, s: the median, and that of one in 1000.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import time
from array import array
from collections import deque

ALL_PROTOCOLS = 3
OUTGOING = 4


def raw_socket(interface: str) -> socket.socket:
    """Return a socket that sees and sends whole frames."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    opened.bind((interface, ALL_PROTOCOLS))
    opened.setblocking(False)
    return opened


def main() -> None:
    late_s = array("d")
    signal.signal(signal.SIGTERM, lambda *_: end(late_s))
    with contextlib.suppress(PermissionError):  # a wire does not wait for other programs
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    one, other = raw_socket(sys.argv[1]), raw_socket(sys.argv[2])
    delay_s = float(sys.argv[3])
    under_way: dict[socket.socket, deque[tuple[float, bytes]]] = {one: deque(), other: deque()}
    peer = {one: other, other: one}
    while True:
        due = [frames[0][0] for frames in under_way.values() if frames]
        wait_s = max(0.0, min(due) - time.monotonic()) if due else 1.0
        readable, _, _ = select.select([one, other], [], [], wait_s)
        for source in readable:
            collect(source, under_way[source], delay_s)
        now = time.monotonic()
        for source, frames in under_way.items():
            while frames and frames[0][0] <= now:
                due_at, frame = frames.popleft()
                peer[source].send(frame)
                late_s.append(now - due_at)


def end(late_s: array[float]) -> None:
    """Write how late frames were, and end."""
    ascending = sorted(late_s) or [0.0]
    quantiles = (ascending[int(share * len(ascending))] for share in (0.5, 0.999))
    sys.stdout.write(" ".join(map(str, quantiles)) + "\n")
    sys.stdout.flush()
    sys.exit(0)


def collect(source: socket.socket, frames: deque[tuple[float, bytes]], delay_s: float) -> None:
    """Take every frame that has come in; our own copies are seen too, and left out."""
    while True:
        try:
            frame, address = source.recvfrom(65_536)
        except BlockingIOError:
            return
        if address[2] != OUTGOING:
            frames.append((time.monotonic() + delay_s, frame))


if __name__ == "__main__":
    main()
