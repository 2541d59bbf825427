"""How many UDP packets of 1,000 bytes load generators send over the loopback in a second."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SECONDS = 3
_PAYLOAD_BYTES = 1_000
#: More than any of them can.
_RATE_PER_S = 1_000_000
_SETTLING_S = 0.5


@dataclass(frozen=True)
class Sender:
    """A tool.

    Attributes:
        program: What must be installed.
        send: The command that sends.
        receive: The command that receives, or none.
    """

    program: str
    send: Sequence[str]
    receive: Sequence[str] = ()


_MGEN = f"ON 1 UDP DST 127.0.0.1/5100 PERIODIC [{_RATE_PER_S} {_PAYLOAD_BYTES}]"
_ITG = [
    "ITGSend",
    "-a",
    "127.0.0.1",
    "-T",
    "UDP",
    "-C",
    str(_RATE_PER_S),
    "-c",
    str(_PAYLOAD_BYTES),
]
SENDERS = {
    "iperf 2": Sender(
        "iperf",
        [
            "iperf",
            "-u",
            "-c",
            "127.0.0.1",
            "-b",
            "100g",
            "-l",
            str(_PAYLOAD_BYTES),
            "-t",
            str(_SECONDS),
        ],
        ["iperf", "-u", "-s"],
    ),
    "iperf3": Sender(
        "iperf3",
        [
            "iperf3",
            "-u",
            "-c",
            "127.0.0.1",
            "-b",
            "0",
            "-l",
            str(_PAYLOAD_BYTES),
            "-t",
            str(_SECONDS),
        ],
        ["iperf3", "-s", "-1"],
    ),
    "MGEN": Sender(  # it would go on for ever
        "mgen",
        ["timeout", str(_SECONDS), "mgen", "event", _MGEN, "output", "/dev/null"],
        ["mgen", "port", "5100"],
    ),
    "D-ITG": Sender("ITGSend", [*_ITG, "-t", str(1000 * _SECONDS)], ["ITGRecv"]),
}


def sent_in(sender: Sender) -> tuple[int, float]:
    """Run a tool; return the packets that the loopback carried and the sending time, s."""
    with tempfile.TemporaryDirectory() as folder:
        quiet: dict[str, Any] = {
            "cwd": folder,
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
        }
        receiver = subprocess.Popen(sender.receive, **quiet) if sender.receive else None
        try:
            time.sleep(_SETTLING_S)
            before = _carried()
            subprocess.run(sender.send, **quiet, check=False, timeout=10 * _SECONDS)
            return _carried() - before, float(_SECONDS)
        finally:
            if receiver is not None:
                receiver.terminate()
                receiver.wait()


def _carried() -> int:
    """Return the packets that the loopback has carried."""
    lines = Path("/proc/net/dev").read_text(encoding="ascii").splitlines()
    loopback = next(
        line.partition(":")[2].split() for line in lines if line.strip().startswith("lo:")
    )
    return int(loopback[9])


if __name__ == "__main__":
    sent, sending_s = sent_in(SENDERS[sys.argv[1]])
    if not sent:
        raise SystemExit(f"{sys.argv[1]} sent nothing")
    print(f"note={sent} packets in {sending_s:.0f} s")
    print(
        f"elapsed_s={int(sys.argv[2]) * sending_s / sent}"
    )  # of as many packets as the others have
