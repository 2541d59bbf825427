"""How exactly tools send: twelve seconds of a published source, captured on the loopback.

Needs root, tcpdump and the tools; those that are not installed are left out. The figures are worth
something on an idle machine only.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.measure import work_folder
from tests.real_tools.loopback import Sent, captured, packets_in, running, sent_of

import trafficgen
from trafficgen.tables import PacketTable
from trafficgen.units import s_from_ns

_SOURCE, _SECONDS = "wmedia9_nichols2004", 12
_ROOM_BYTES = 50_000_000
_SERVER = "192.0.2.88"


def run(runs: int) -> None:
    """Print a line for each tool and run, then how fast each can send at all."""
    print(f"\n{_SECONDS} s of {_SOURCE}, sent over the loopback; times against the schedule, in ms")
    print(
        f"  {'':24}{'wanted':>8}{'sent':>8}{'median error':>14}"
        f"{'from the first':>16}{'median gap error':>18}"
        f"{'behind at the end':>19}"
    )
    with work_folder(_ROOM_BYTES, None) as work:
        table = trafficgen.generate(_SOURCE, duration_s=_SECONDS, seed=1)
        for name, (tools, send) in _TOOLS.items():
            missing = [tool for tool in (*tools, "tcpdump") if shutil.which(tool) is None]
            if missing:
                print(f"  {name:24}not installed: {', '.join(missing)}")
                continue
            for number in range(runs):
                _print_sent(
                    name, send(table, work / f"{name.replace(' ', '-').replace(',', '')}-{number}")
                )


def _print_sent(name: str, sent: Sent) -> None:
    n = min(len(sent.wanted), len(sent.found))
    late_ms = s_from_ns(sent.found.time_ns[:n] - sent.wanted.time_ns[:n]) * 1e3
    gap_ms = np.abs(np.diff(late_ms))
    print(
        f"  {name:24}{len(sent.wanted):8}{len(sent.found):8}"
        f"{np.median(sent.timing_errors_s()) * 1e3:14.3f}"
        f"{np.median(np.abs(late_ms - late_ms[0])):16.3f}{np.median(gap_ms):18.3f}"
        f"{late_ms[-1] - late_ms[0]:19.3f}"
    )


def _video(table: PacketTable) -> int:
    """Return the flow with most packets to the client."""
    return int(np.argmax(np.bincount(table.flow[table.to_client])))


def _mgen(table: PacketTable, folder: Path) -> Sent:
    flow = _video(table)
    trafficgen.export(table, to="mgen", directory=folder, flow=flow)
    with captured(folder / "sent.pcap", "udp dst port 5100"):
        subprocess.run(
            ["mgen", "input", f"flow{flow}.mgn"], cwd=folder, check=True, capture_output=True
        )
    return sent_of(table, folder / "sent.pcap", flow=flow)


def _ditg(table: PacketTable, folder: Path) -> Sent:
    flow = _video(table)
    trafficgen.export(
        table, to="ditg", directory=folder, flow=flow, settings={"first_port": 10_900}
    )
    with running(["ITGRecv"], cwd=folder), captured(folder / "sent.pcap", "udp dst port 10900"):
        subprocess.run(
            ["ITGSend", f"flow{flow}.script"], cwd=folder, check=True, capture_output=True
        )
    return sent_of(table, folder / "sent.pcap", flow=flow)


def _frames(table: PacketTable, folder: Path, command: list[str]) -> Sent:
    trafficgen.export(table, to="tcpreplay", directory=folder, settings={"server": _SERVER})
    with captured(folder / "sent.pcap", f"host {_SERVER}"):
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return Sent(packets_in(folder / "packets.pcap"), packets_in(folder / "sent.pcap"))


def _tcpreplay(table: PacketTable, folder: Path, options: tuple[str, ...] = ()) -> Sent:
    return _frames(table, folder, ["sh", "replay.sh", "lo", *options])


def _own_replay(table: PacketTable, folder: Path) -> Sent:
    return _frames(table, folder, [sys.executable, "replay.py", "lo"])


_TOOLS: dict[str, tuple[tuple[str, ...], Callable[[PacketTable, Path], Sent]]] = {
    "mgen": (("mgen",), _mgen),
    "D-ITG": (("ITGSend", "ITGRecv"), _ditg),
    "tcpreplay, handed to": (("tcpreplay",), _tcpreplay),
    "tcpreplay --timer=gtod": (("tcpreplay",), partial(_tcpreplay, options=("--timer=gtod",))),
    "tcpreplay --timer=nano": (("tcpreplay",), partial(_tcpreplay, options=("--timer=nano",))),
    "tcpreplay's replay.py": ((), _own_replay),
}
