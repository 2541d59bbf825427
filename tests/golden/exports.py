"""Exports frozen as files: ``python -m tests.golden.exports inet`` from the root of the repository writes them anew.

A frozen file shows that an export has changed; that it is right is for other tests to say.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from tests.conftest import build_table

import trafficgen
from trafficgen.tables import PacketTable

FOLDER = Path(__file__).resolve().parent


def small_table() -> PacketTable:
    """Return two UDP flows and a TCP flow with odd times, an empty datagram and packets at one time."""
    flows: list[dict[str, Any]] = [{"flow": 0}, {"flow": 1, "protocol": "tcp"}, {"flow": 2}]
    time_s = [0.0, 0.000000001, 0.25, 0.25, 1.0, 2.123456789, 2.2, 70.5]
    payload = np.array([1000, 1, 1448, 1448, 0, 1472, 600, 1448])
    flow = np.array([0, 2, 1, 1, 0, 2, 0, 1])
    return build_table(time_s, flow=flow, ip_bytes=payload + 28, flows=flows)


def write(target: str) -> Path:
    """Write the frozen files of a target anew, and return their folder."""
    folder = FOLDER / target
    shutil.rmtree(folder, ignore_errors=True)
    trafficgen.export(small_table(), to=target, directory=folder)
    return folder


if __name__ == "__main__":
    for name in sys.argv[1:]:
        write(name)
