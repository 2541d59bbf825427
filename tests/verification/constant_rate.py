"""Constant-rate UDP for the kernel checks: ``send ADDRESS BPS PAYLOAD_BYTES SECONDS`` or ``receive
ADDRESS``.
"""

from __future__ import annotations

import signal
import socket
import sys
import time

PORT = 5004


def send(address: str, rate_bps: float, payload_bytes: int, seconds: float) -> int:
    """Send on an absolute schedule, so that a late packet does not delay the rest."""
    gap_s = payload_bytes * 8 / rate_bps
    start, sent = time.monotonic(), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while sent * gap_s < seconds:
            time.sleep(max(0.0, start + sent * gap_s - time.monotonic()))
            out.sendto(bytes(payload_bytes), (address, PORT))
            sent += 1
    return sent


def receive(address: str) -> int:
    """Count until SIGTERM."""
    received, stopped = 0, False

    def stop(*_: object) -> None:
        nonlocal stopped
        stopped = True

    signal.signal(signal.SIGTERM, stop)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as into:
        into.bind((address, PORT))
        into.settimeout(0.2)
        while not stopped:
            try:
                into.recv(65_536)
                received += 1
            except TimeoutError:
                continue
    return received


if __name__ == "__main__":
    if sys.argv[1] == "send":
        count = send(sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]))
    else:
        count = receive(sys.argv[2])
    sys.stdout.write(f"{count}\n")
