"""Exports frozen as files: ``python -m tests.golden.exports`` from the root of the repository
writes them anew.

A frozen file shows that an export has changed; that it is right is for other tests to say.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tests.conftest import build_table

import trafficgen
from trafficgen.tables import PacketTable

FOLDER = Path(__file__).resolve().parent


def small_table() -> PacketTable:
    """Return two UDP flows and a TCP flow with odd times, an empty datagram and packets at one
    time.
    """
    flows: list[dict[str, Any]] = [{"flow": 0}, {"flow": 1, "protocol": "tcp"}, {"flow": 2}]
    time_s = [0.0, 0.000000001, 0.25, 0.25, 1.0, 2.123456789, 2.2, 70.5]
    payload = np.array([1000, 1, 1448, 1448, 0, 1472, 600, 1448])
    flow = np.array([0, 2, 1, 1, 0, 2, 0, 1])
    return build_table(time_s, flow=flow, ip_bytes=payload + 28, flows=flows)


@dataclass(frozen=True)
class Frozen:
    """One frozen export.

    Attributes:
        target: Name of the target.
        flow: Flow that is exported alone; None: all.
    """

    target: str
    flow: int | None = None


#: Folder -> what it holds.
FROZEN = {
    "inet": Frozen("inet"),
    "trex_stateless": Frozen("trex"),
    "trex_stateful": Frozen("trex", flow=1),
}


def write(name: str, folder: Path) -> None:
    """Write the files of a frozen export into a folder."""
    frozen = FROZEN[name]
    trafficgen.export(small_table(), to=frozen.target, directory=folder, flow=frozen.flow)


if __name__ == "__main__":
    for name in sys.argv[1:] or FROZEN:
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        write(name, FOLDER / name)
