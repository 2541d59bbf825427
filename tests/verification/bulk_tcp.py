"""Bulk TCP for the kernel checks: ``send ADDRESS PORT CONTROL SECONDS`` or ``receive ADDRESS
PORT``.

Both sides sleep until there is something to do, so that a flow of some Mbit/s leaves the machine
to the path: iperf3 3.12 was seen to keep a core busy at each end, and the delays of a path that
programs share with it are longer. The receiver writes the bytes that came in each second since
the connection.
"""

from __future__ import annotations

import json
import socket
import sys
import time
from collections import defaultdict

_BLOCK = b"\0" * 65_536


def send(address: str, port: int, control: str, seconds: float) -> None:
    """Write as fast as the connection takes it, for so long."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as out:
        out.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        out.connect((address, port))
        out.settimeout(1.0)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                out.send(_BLOCK)
            except TimeoutError:
                continue


def receive(address: str, port: int) -> list[int]:
    """Take one connection and count what comes until it ends."""
    got: dict[int, int] = defaultdict(int)
    with socket.create_server((address, port)) as server:
        connection, _ = server.accept()
        start = time.monotonic()
        with connection:
            while data := connection.recv(1 << 20):
                got[int(time.monotonic() - start)] += len(data)
    return [got[second] for second in range(max(got, default=-1) + 1)]


def main() -> None:
    what, address, port, *rest = sys.argv[1:]
    if what == "send":
        control, seconds = rest
        send(address, int(port), control, float(seconds))
    else:
        sys.stdout.write(json.dumps(receive(address, int(port))) + "\n")


if __name__ == "__main__":
    main()
