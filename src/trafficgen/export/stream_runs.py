"""A workload of any length as runs, one a flow and epoch, in order of time."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.epochs import Limits
from trafficgen.export.flow_schedule import turn_round
from trafficgen.export.sending_ends import (
    HIGHEST_PORT,
    destination_of,
    direction_of,
    write_executable,
)
from trafficgen.export.settings import Settings
from trafficgen.export.target import Written
from trafficgen.formatting import format_count
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.progress import report_step
from trafficgen.tables.stream import PacketStream
from trafficgen.units import US_PER_S, IntArray, bps_from_bytes, ns_from_s, us_from_s

#: Packets that are counted at once; counting takes several times their memory.
_PIECE_ROWS = 1 << 16


def iterate_epochs(
    stream: PacketStream,
    *,
    protocols: tuple[str, ...],
    to_client: bool,
    epoch_s: float,
    piece_rows: int = _PIECE_ROWS,
) -> Iterator[tuple[int, int, int, int]]:
    """Yield number of the epoch, flow, packets and their payload of all that send, by epoch.

    Epochs are counted from the first packet of the workload. Packets without payload,
    retransmissions and other protocols are left out. ``piece_rows`` packets are counted at once.
    """
    protocol = np.array(stream.head.flows.column("protocol").to_pylist(), dtype=object)
    is_sent = np.isin(protocol, list(protocols))
    length_ns, count = ns_from_s(epoch_s), max(1, is_sent.size)
    keys, sums = np.empty(0, dtype=np.int64), np.empty((2, 0), dtype=np.int64)
    start_ns: int | None = None
    done = 0
    for piece in stream.iterate_pieces(piece_rows):
        done += len(piece)
        report_step("writing", done, stream.rows, unit="packets")
        start_ns = int(piece.time_ns[0]) if start_ns is None else start_ns
        chosen = (piece.to_client == to_client) & is_sent[piece.flow] & (piece.payload_bytes > 0)
        chosen &= ~np.asarray(piece.values("retransmission"), dtype=np.bool_)
        epoch = (piece.time_ns[chosen] - start_ns) // length_ns
        new = epoch * count + piece.flow[chosen]
        values = np.stack([np.ones(new.size, np.int64), piece.payload_bytes[chosen]])
        keys, row = np.unique(np.concatenate([keys, new]), return_inverse=True)
        both = np.concatenate([sums, values], axis=1)
        sums = np.stack([np.bincount(row, weights=one, minlength=keys.size) for one in both])
        # Later pieces may add to the last epoch.
        last = int(piece.time_ns[-1] - start_ns) // length_ns
        whole = int(np.searchsorted(keys, last * count))
        yield from _rows_of(keys[:whole], sums[:, :whole], count)
        keys, sums = keys[whole:], sums[:, whole:]
    yield from _rows_of(keys, sums, count)


def _rows_of(keys: IntArray, sums: IntArray, count: int) -> Iterator[tuple[int, int, int, int]]:
    packets, payload_bytes = sums.astype(np.int64).tolist()
    return zip(
        (keys // count).tolist(), (keys % count).tolist(), packets, payload_bytes, strict=True
    )


RUNS, SEND_NAME, SINK_NAME = "runs.txt", "send.sh", "sink.sh"


@dataclass(frozen=True, slots=True)
class EpochRun:
    """What a flow sends in an epoch.

    Attributes:
        start_us: Start of the epoch from the first packet of the workload, us.
        packets: Datagrams, or writes into a connection.
        size_bytes: Payload of each.
    """

    start_us: int
    flow: int
    protocol: str
    packets: int
    size_bytes: int


@dataclass
class EpochRuns:
    """Runs of a stream, iterated once, with a count of what they send.

    Attributes:
        settings: With ``direction`` and ``epoch_s``.
        limits: Protocol -> what datagrams the tool can send.
    """

    stream: PacketStream
    settings: Settings
    limits: Mapping[str, Limits]
    target: str
    runs: int = 0
    _packets: int = 0
    _bytes: list[int] = field(default_factory=lambda: [0, 0])

    def __iter__(self) -> Iterator[EpochRun]:
        """Yield the runs by epoch and flow; raise ExportError if nothing is sent."""
        protocols: list[str] = self.stream.head.flows.column("protocol").to_pylist()
        epoch_s = self.settings.number("epoch_s")
        totals = iterate_epochs(
            self.stream,
            protocols=tuple(self.limits),
            to_client=direction_of(self.settings) == "to_client",
            epoch_s=epoch_s,
        )
        for number, flow, given, total in totals:
            limits = self.limits[protocols[flow]]
            count = max(given, limits.least_packets, -(-total // limits.high_bytes))
            size = max(limits.low_bytes, round(total / count))
            yield EpochRun(round(us_from_s(number * epoch_s)), flow, protocols[flow], count, size)
            self.runs, self._packets = self.runs + 1, self._packets + count
            self._bytes = [self._bytes[0] + total, self._bytes[1] + count * size]
        if not self.runs:
            way = direction_of(self.settings)
            receiver = "client" if way == "to_client" else "server"
            raise ExportError(
                f"{self.target}: no packet to a {receiver} carries payload over TCP or UDP;"
                f" {turn_round(way)}"
            )

    def report(
        self, files: tuple[str, ...], *lost: str, spacing: str = "evenly spaced"
    ) -> ProjectionReport:
        """Report what the runs send, and what they lose apart from sizes and gaps."""
        epoch_s = self.settings.number("epoch_s")
        return ProjectionReport(
            target=self.target,
            files=files,
            packets=self._packets,
            bytes_before=self._bytes[0],
            bytes_after=self._bytes[1],
            timing_error_s=None,
            cannot_express=(
                f"sizes and gaps within an epoch of {epoch_s:g} s, and their correlation: each"
                f" epoch has its mean size, {spacing}",
                *lost,
            ),
        )


class _Servers:
    """Servers of a kind, each of which takes one run at a time."""

    def __init__(self, first_port: int, step: int) -> None:
        self.ports = range(first_port, first_port, step)
        self._busy: list[tuple[int, int]] = []

    def take(self, start_us: int, end_us: int) -> int:
        """Return the port of a server that is free from a time on, and keep it until another."""
        if self._busy and self._busy[0][0] <= start_us:
            port = heapq.heappop(self._busy)[1]
        else:
            port, step = self.ports.stop, self.ports.step
            self.ports = range(self.ports.start, port + step, step)
        heapq.heappush(self._busy, (end_us, port))
        return port


@dataclass(frozen=True, kw_only=True)
class RunTool:
    """A tool that sends a run in a process of its own.

    Attributes:
        title: Name of the tool in texts.
        limits: Protocol -> what datagrams a run can send.
        options: Options of a run, from protocol, port, datagrams, bytes of each, and bit/s.
        server: Options of a server of a protocol, before its port.
        lost: What the runs lose, apart from sizes and gaps, a sentence each.
        ending_s: Time after its epoch in which a run still has its server, s.
        ports_each: Ports of a server; the first is sent to.
    """

    target: str
    title: str
    program: str
    limits: Mapping[str, Limits]
    options: Callable[[str, int, int, int, int], str]
    server: Callable[[str], str]
    lost: tuple[str, ...]
    ending_s: float = 1.0
    ports_each: int = 1

    def client_command(self, destination: str) -> str:
        """Return how the command that sends begins: its destination and its options follow."""
        raise NotImplementedError

    def server_lines(self, ports: Mapping[str, range], destination: str) -> str:
        """Return the lines of a shell script that start the servers, by their options."""
        raise NotImplementedError

    def setup_lines(self, ports: Mapping[str, range]) -> str:
        """Return more lines of the script that sends, before its runs, each after a line break."""
        del ports
        return ""


def write_stream_runs(
    stream: PacketStream, folder: Path, settings: Settings, *, tool: RunTool, lead_s: float = 0.0
) -> Written:
    """Write a run for each flow and epoch into a list, a script that starts them, and servers.

    ``settings`` have ``destination``, ``direction``, ``first_port``, ``epoch_s`` and ``guard_s``.
    Each run is started ``lead_s`` earlier than its epoch.

    Raises:
        ExportError: If nothing can be sent, a setting does not suit it, or ports do not suffice.
        SettingError: If the destination is invalid.
    """
    guard_s, epoch_s = settings.number("guard_s"), settings.number("epoch_s")
    if guard_s > epoch_s / 2:
        raise ExportError(
            f"{tool.target}: guard_s is at most half of an epoch of a workload; lower guard_s, or"
            " raise epoch_s"
        )
    # Servers of one program for all protocols share their ports.
    kinds = {name: tool.server(name) for name in tool.limits}
    first = settings.whole("first_port")
    servers = {kind: _Servers(first, tool.ports_each) for kind in kinds.values()}
    held_us = round(us_from_s(epoch_s + tool.ending_s))
    runs = EpochRuns(stream, settings, tool.limits, tool.target)
    with (folder / RUNS).open("w", encoding="ascii") as file:
        for run in runs:
            bunched = tool.limits[run.protocol].bunched
            gaps = max(run.packets - 1, 2) if bunched else run.packets
            rate_bps = max(1, math.ceil(bps_from_bytes(run.size_bytes * gaps, epoch_s - guard_s)))
            port = servers[kinds[run.protocol]].take(run.start_us, run.start_us + held_us)
            options = tool.options(run.protocol, port, run.packets, run.size_bytes, rate_bps)
            file.write(f"{run.start_us} {run.flow} {options}\n")
    ports = {kind: used.ports for kind, used in servers.items() if used.ports}
    highest = max(used.stop for used in ports.values()) - 1
    if highest > HIGHEST_PORT:
        raise ExportError(
            f"{tool.target}: the runs at one time need ports up to {highest}, above"
            f" {HIGHEST_PORT}; lower first_port, or ask for fewer sessions"
        )
    destination = destination_of(settings, target=tool.target)
    write_sink_script(folder, tool.server_lines(ports, destination))
    write_send_script(
        folder,
        f'{tool.client_command(destination)} "$DESTINATION" $options',
        setup=f"DESTINATION=${{DESTINATION:-{destination}}}{tool.setup_lines(ports)}",
        needs=", and DESTINATION",
        lead_us=round(us_from_s(lead_s)),
    )
    at_once = sum(map(len, ports.values()))
    report = runs.report(
        (RUNS, SEND_NAME, SINK_NAME),
        *tool.lost,
        "headers: bytes count payload alone; acknowledgements and the other direction",
        "one 5-tuple a flow: each epoch has its own source port",
        f"a process a flow and epoch: {format_count(runs.runs, 'run')}, up to {at_once} at a time",
    )
    return Written(report, _HOW_TO_RUN.format(title=tool.title))


def write_send_script(
    folder: Path, command: str, *, setup: str, needs: str = "", lead_us: int = 0, ready_s: int = 1
) -> None:
    """Write the script that starts what the list of runs names, each at its time.

    Args:
        folder: Folder of the export.
        command: Command of a run, with ``$start_us``, ``$flow`` and ``$options`` of its line.
        setup: What comes before all runs.
        needs: What the script takes from the environment besides START_US, a phrase.
        lead_us: How much earlier than at its time a run is started.
        ready_s: Time from the call to the origin by default, s.
    """
    script = _SEND.format(
        runs=RUNS,
        command=command,
        setup=setup,
        needs=needs,
        lead_us=lead_us,
        ready="one second" if ready_s == 1 else f"{ready_s} seconds",
        ready_us=ready_s * US_PER_S,
        us_per_s=US_PER_S,
    )
    write_executable(folder / SEND_NAME, script)


def write_sink_script(folder: Path, servers: str) -> None:
    """Write the script that runs servers, which its lines start, until it is stopped."""
    write_executable(folder / SINK_NAME, _SINK.format(servers=servers))


_SEND = """\
#!/usr/bin/env bash
# Starts each run of {runs} in the background, at its time by the clock; needs bash 5.
# Environment: START_US, the origin in us since 1970 (default: in {ready}){needs}.
set -u
export LC_ALL=C
CDPATH= cd -- "$(dirname -- "$0")"
{setup}
START_US=${{START_US:-$(( ${{EPOCHREALTIME/./}} + {ready_us} ))}}
: > failed.log
exec {{never}}<> <(:)  # nothing ever comes from here: reading it waits without starting a process
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
while read -r start_us flow options; do
  wait_us=$(( START_US + start_us - {lead_us} - ${{EPOCHREALTIME/./}} ))
  if (( wait_us > 0 )); then
    printf -v wait_s '%d.%06d' $(( wait_us / {us_per_s} )) $(( wait_us % {us_per_s} ))
    read -rt "$wait_s" -u "$never"
  fi
  {{ {command} < /dev/null > /dev/null 2>&1 ||
    echo "flow $flow at $start_us us: $options" >> failed.log; }} &
done < {runs}
wait
[[ ! -s failed.log ]] || {{ echo "$(wc -l < failed.log) runs failed: see failed.log" >&2; exit 1; }}
"""

_SINK = """\
#!/usr/bin/env bash
# Runs the servers until it is stopped (Ctrl-C, or kill).
set -u
CDPATH= cd -- "$(dirname -- "$0")"
trap 'kill $(jobs -p) 2>/dev/null; exit 0' INT TERM
{servers}wait
"""

_HOW_TO_RUN = """\
At the receiving end, start the servers and leave them running:

```sh
bash sink.sh            # Ctrl-C stops it
```

At the sending end:

```sh
DESTINATION=192.0.2.7 bash send.sh
```

Each line of `runs.txt` is one run of {title}: when it starts (microseconds from the origin), the
flow, and its options. `START_US=... bash send.sh` sets the origin (microseconds since 1970), so
that several machines can share the lines. Check: `send.sh` exits with 0 and `failed.log` is empty.

A run is a process. For thousands of flows at once choose longer epochs (`--set epoch_s=10`), or
TRex.
"""
