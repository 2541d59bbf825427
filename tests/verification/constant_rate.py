"""Constant-rate UDP for the kernel checks: ``send ADDRESS PORT BPS PAYLOAD_BYTES SECONDS`` or
``receive ADDRESS PORT``.

Packets carry their departure by the clock that all processes of a machine share. The receiver
writes, for each second of departures, how many came and the sum of their delays, s, and the
shortest delay of all.
"""

from __future__ import annotations

import json
import signal
import socket
import struct
import sys
import time
from collections import defaultdict

STAMP = struct.Struct("!dd")


def send(address: str, port: int, rate_bps: float, payload_bytes: int, seconds: float) -> None:
    """Send on an absolute schedule, so that a late packet does not delay the rest."""
    gap_s = payload_bytes * 8 / rate_bps
    start, sent = time.monotonic(), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while sent * gap_s < seconds:
            time.sleep(max(0.0, start + sent * gap_s - time.monotonic()))
            stamp = STAMP.pack(start, time.monotonic())
            out.sendto(stamp.ljust(payload_bytes, b"\0"), (address, port))
            sent += 1


def receive(address: str, port: int) -> dict[str, object]:
    """Note what comes until SIGTERM."""
    packets: dict[int, int] = defaultdict(int)
    delays_s: dict[int, float] = defaultdict(float)
    shortest_s, stopped = float("inf"), False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as into:
        into.bind((address, port))
        into.settimeout(0.2)
        while not stopped:
            try:
                start, left = STAMP.unpack_from(into.recv(65_536))
            except TimeoutError:
                continue
            delay_s, second = time.monotonic() - left, int(left - start)
            packets[second] += 1
            delays_s[second] += delay_s
            shortest_s = min(shortest_s, delay_s)
    rows = [[packets[second], delays_s[second]] for second in range(max(packets, default=-1) + 1)]
    return {"seconds": rows, "shortest_delay_s": shortest_s}


def main() -> None:
    what, address, port, *rest = sys.argv[1:]
    if what == "send":
        rate_bps, payload_bytes, seconds = rest
        send(address, int(port), float(rate_bps), int(payload_bytes), float(seconds))
    else:
        sys.stdout.write(json.dumps(receive(address, int(port))) + "\n")


if __name__ == "__main__":
    main()
