"""TRex's advanced stateful mode (ASTF): TCP flows as writes and delays above TRex's own TCP."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from trafficgen.errors import ExportError, SettingError
from trafficgen.export.flow_schedule import FlowSchedule, schedule_report, schedules_of
from trafficgen.export.sending_ends import HIGHEST_PORT, fill_template
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Written
from trafficgen.tables import PacketTable
from trafficgen.units import IntArray, ns_from_ms, ns_from_us, us_from_ns

_PROGRAM, _DATA = "profile.py", "writes.json"
#: Writes closer than these become one, ms; the first is used with which a program has few enough
#: steps.
_CHUNKS_MS = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)

ASTF_SETTINGS = (
    Setting(
        "clients", "16.0.0.1-16.0.0.254", "First and last address of TRex's clients in mode astf."
    ),
    Setting(
        "servers", "48.0.0.1-48.0.0.254", "First and last address of TRex's servers in mode astf."
    ),
    Setting(
        "first_port",
        8000,
        "Port of the first flow's server in mode astf; each flow has its own.",
        low=1,
        high=HIGHEST_PORT,
    ),
    Setting(
        "most_writes",
        5000,
        "Writes that a flow's program has at most in mode astf.",
        low=1,
        high=1e6,
    ),
)


def write_astf(table: PacketTable, folder: Path, settings: Settings, *, target: str) -> Written:
    """Write a profile in which each TCP flow is a template: the server writes, the client reads.

    Raises:
        ExportError: If there is no TCP, a flow is too long, or there are more flows than ports.
        SettingError: If a range of addresses is invalid.

    Source: TRex 3.08, advanced stateful manual and Python client (trex_astf_profile.py).
    """
    if settings.text("direction") != "to_client":
        raise SettingError(
            f"{target}: mode=astf plays what servers send; leave direction out, or choose another"
            " mode"
        )
    ranges = {
        name.upper(): address_range(settings, name, target=target)
        for name in ("clients", "servers")
    }
    schedules = schedules_of(
        table,
        target=target,
        protocols=["tcp"],
        other_way="leave mode=astf out and add [--set direction=to_server]",
    )
    first_port = settings.whole("first_port")
    ports = range(first_port, first_port + len(schedules.flows))
    if ports[-1] > HIGHEST_PORT:
        raise ExportError(
            f"{target}: {len(schedules.flows)} flows from port {first_port} on have too few ports;"
            " set first_port lower"
        )
    sent, flows, joined = [], [], 0
    for flow, port in zip(schedules.flows, ports, strict=True):
        at_ns, writes = join_writes(flow, most=settings.whole("most_writes"), target=target)
        sent.append(replace(flow, time_ns=at_ns))
        flows.append({"flow": flow.flow, "port": port, "writes": writes})
        joined += len(flow) - len(writes)
    (folder / _DATA).write_text(_as_json(flows), encoding="utf-8")
    duration_s = int(schedules.duration_s) + 10
    program = fill_template("trex_astf_profile.txt", {**ranges, "DURATION_S": duration_s})
    (folder / _PROGRAM).write_text(program, encoding="utf-8")
    lacks = [
        (
            "sizes and times of packets: TRex's TCP cuts, acknowledges and repeats, and its manual"
            " says that gaps are not under control in this mode"
        ),
        "requests of the client: it connects and reads",
    ]
    if joined:
        lacks.append(f"writes closer than a program's length allows were joined ({joined} of them)")
    report = schedule_report(
        schedules, sent, target=target, files=[_PROGRAM, _DATA], cannot_express=lacks
    )
    return Written(report, _how_to_run(duration_s=duration_s))


def address_range(settings: Settings, name: str, *, target: str) -> list[str]:
    """Return first and last address of a setting; SettingError if it is invalid."""
    text = settings.text(name)
    first, _, last = text.partition("-")
    try:
        low, high = ipaddress.IPv4Address(first), ipaddress.IPv4Address(last)
    except ValueError:
        low, high = ipaddress.IPv4Address(1), ipaddress.IPv4Address(0)
    if low > high:
        raise SettingError(
            f"{target}: {name}={text} cannot be set: write first and last, such as"
            " 16.0.0.1-16.0.0.254"
        )
    return [str(low), str(high)]


def join_writes(flow: FlowSchedule, *, most: int, target: str) -> tuple[IntArray, list[list[int]]]:
    """Return when each segment is written, ns, and the program's writes: us from the start, bytes.

    Segments within a chunk of time are one write, at the time of the first; chunks are as long as
    the program needs.
    """
    for chunk_ms in _CHUNKS_MS:
        chunk_ns = max(1000, ns_from_ms(chunk_ms))
        _, first, row = np.unique(flow.time_ns // chunk_ns, return_index=True, return_inverse=True)
        if first.size <= most:
            break
    else:
        raise ExportError(
            f"{target}: flow {flow.flow} writes in {first.size} different seconds, more than a"
            f" program of {most} steps holds; set most_writes higher, or export a shorter table"
        )
    at_us = us_from_ns(flow.time_ns[first])
    size_bytes = np.rint(np.bincount(row, weights=flow.payload_bytes)).astype(np.int64)
    return ns_from_us(at_us)[row], np.stack([at_us, size_bytes], axis=1).tolist()


def _as_json(flows: list[dict[str, object]]) -> str:
    lines = ",\n".join(json.dumps(flow, separators=(",", ":")) for flow in flows)
    return f'{{"units": {{"writes": ["us from the start", "bytes"]}}, "flows": [\n{lines}\n]}}\n'


def _how_to_run(*, duration_s: int) -> str:
    return f"""
Start the server in advanced stateful mode (`./t-rex-64 -i --astf`), then in the console
(`./trex-console`), with the folder's path:

```text
trex> start -f profile.py -m 1 -d {duration_s}
trex> stats
```

Each flow is a template with its own port: the client connects, the server writes the data at their
times, the client reads and closes. Keep `profile.py` and `{_DATA}` together. `-t --sessions 20
--rate 2` at the end of the line starts 20 sessions, 2 a second; `-m` multiplies that rate.

Things to know:

- Writes do not wait for acknowledgements (`set_send_blocking(False)`), but TRex's TCP does: a slow
  path delays them.
- Delays of a program are counted one after the other, so lateness adds up; compare before you rely
  on times.
- The tests of trafficgen load such files with TRex's Python client; none has been run on a TRex
  server.

To check: `stats` counts connections and bytes of both sides; a capture between them compares with
`trafficgen compare TABLE captured.pcap --all`.
"""
