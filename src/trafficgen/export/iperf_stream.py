"""A workload of any length as runs of iperf: a list in order of time, one script that starts it."""

from __future__ import annotations

import heapq
import math
from pathlib import Path

from trafficgen.errors import ExportError
from trafficgen.export.iperf_runs import Iperf
from trafficgen.export.scripts import write_executable
from trafficgen.export.sending_ends import HIGHEST_PORT, destination_of, direction_of
from trafficgen.export.settings import Settings
from trafficgen.export.stream_epochs import iterate_epochs
from trafficgen.export.target import Written
from trafficgen.packet_files.report import ProjectionReport
from trafficgen.tables.stream import PacketStream
from trafficgen.units import US_PER_S, bps_from_bytes, us_from_s

_RUNS, _SEND_NAME, _SINK_NAME = "runs.txt", "send.sh", "sink.sh"
#: Time after its epoch in which a run still has its server, s.
_ENDING_S = 1.0


class _Servers:
    """Servers of a kind, each of which takes one run at a time."""

    def __init__(self, first_port: int) -> None:
        self.ports = range(first_port, first_port)
        self._busy: list[tuple[int, int]] = []

    def take(self, start_us: int, end_us: int) -> int:
        """Return the port of a server that is free from a time on, and keep it until another."""
        if self._busy and self._busy[0][0] <= start_us:
            port = heapq.heappop(self._busy)[1]
        else:
            port, self.ports = self.ports.stop, range(self.ports.start, self.ports.stop + 1)
        heapq.heappush(self._busy, (end_us, port))
        return port


def write_stream_runs(
    stream: PacketStream, folder: Path, settings: Settings, *, tool: Iperf
) -> Written:
    """Write a run for each flow and epoch into a list, a script that starts them, and servers.

    Raises:
        ExportError: If nothing can be sent, a setting does not suit it, or ports do not suffice.
        SettingError: If the destination is invalid.
    """
    guard_s, epoch_s = settings.number("guard_s"), settings.number("epoch_s")
    if settings.text("epochs") == "levels" or guard_s > epoch_s / 2:
        raise ExportError(
            f"{tool.target}: epochs of a workload are equally long, and guard_s is at most half of"
            " one; leave epochs out, or raise epoch_s"
        )
    protocols: list[str] = stream.head.flows.column("protocol").to_pylist()
    # Servers of one program for all protocols share their ports.
    kinds = {name: tool.server(name) for name in tool.limits}
    servers = {kind: _Servers(settings.whole("first_port")) for kind in kinds.values()}
    packets = sent_packets = before_bytes = after_bytes = runs = 0
    is_to_client = direction_of(settings) == "to_client"
    epochs = iterate_epochs(
        stream, protocols=tuple(tool.limits), to_client=is_to_client, epoch_s=epoch_s
    )
    with (folder / _RUNS).open("w", encoding="ascii") as file:
        for epoch in epochs:
            start_us = round(us_from_s(epoch.number * epoch_s))
            end_us = start_us + round(us_from_s(epoch_s + _ENDING_S))
            columns = (epoch.flows, epoch.packets, epoch.payload_bytes)
            for flow, given, total in zip(*(one.tolist() for one in columns), strict=True):
                limits = tool.limits[protocols[flow]]
                count = max(given, limits.least_packets, -(-total // limits.high_bytes))
                size = max(limits.low_bytes, round(total / count))
                gaps = max(count - 1, 2) if limits.bunched else count
                rate_bps = max(1, math.ceil(bps_from_bytes(size * gaps, epoch_s - guard_s)))
                port = servers[kinds[protocols[flow]]].take(start_us, end_us)
                options = tool.options(protocols[flow], port, count, size, rate_bps)
                file.write(f"{start_us} {flow} {options}\n")
                runs, packets, sent_packets = runs + 1, packets + given, sent_packets + count
                before_bytes, after_bytes = before_bytes + total, after_bytes + count * size
    if not runs:
        raise ExportError(f"{tool.target}: no packet that way carries payload over TCP or UDP")
    highest = max(one.ports.stop for one in servers.values()) - 1
    if highest > HIGHEST_PORT:
        raise ExportError(
            f"{tool.target}: the runs at one time need ports up to {highest}, above"
            f" {HIGHEST_PORT}; lower first_port, or ask for fewer sessions"
        )
    _write_scripts(folder, servers, settings, tool=tool)
    report = ProjectionReport(
        target=tool.target,
        files=(_RUNS, _SEND_NAME, _SINK_NAME),
        packets=sent_packets,
        bytes_before=before_bytes,
        bytes_after=after_bytes,
        timing_error_s=None,
        cannot_express=(
            f"sizes and gaps within an epoch of {epoch_s:g} s, and their correlation: each epoch"
            " has its mean size, evenly spaced",
            *tool.lost,
            "headers: bytes count payload alone; acknowledgements and the other direction",
            "one 5-tuple a flow: each epoch has its own source port",
            f"a process a flow and epoch: {runs:,} runs, up to"
            f" {sum(len(one.ports) for one in servers.values())} at a time",
        ),
    )
    return Written(report, _HOW_TO_RUN.format(title=tool.title))


def _write_scripts(
    folder: Path, servers: dict[str, _Servers], settings: Settings, *, tool: Iperf
) -> None:
    destination = destination_of(settings, target=tool.target)
    is_v6 = tool.program == "iperf" and ":" in destination
    program = f"{tool.program} -V" if is_v6 else tool.program
    lines = [
        f"for port in $(seq {used.ports.start} {used.ports.stop - 1}); do\n"
        f"  {program} -s{kind} -p $port >> sink.$port.log 2>&1 &\ndone\n"
        for kind, used in servers.items()
        if used.ports
    ]
    write_executable(folder / _SINK_NAME, _SINK.format(servers="".join(lines)))
    send = _SEND.format(
        client=f"{program} -c",
        destination=destination,
        runs=_RUNS,
        lead_us=round(us_from_s(settings.number("lead_s"))),
        us_per_s=US_PER_S,
    )
    write_executable(folder / _SEND_NAME, send)


_SEND = """\
#!/usr/bin/env bash
# Starts each run of {runs} in the background, at its time by the clock; needs bash 5.
# Environment: START_US, the origin in us since 1970 (default: in one second), and DESTINATION.
set -u
export LC_ALL=C
CDPATH= cd -- "$(dirname -- "$0")"
DESTINATION=${{DESTINATION:-{destination}}}
START_US=${{START_US:-$(( ${{EPOCHREALTIME/./}} + {us_per_s} ))}}
: > failed.log
exec {{never}}<> <(:)  # nothing ever comes from here: reading it waits without starting a process
trap 'kill $(jobs -p) 2>/dev/null; exit 130' INT TERM
while read -r start_us flow options; do
  wait_us=$(( START_US + start_us - {lead_us} - ${{EPOCHREALTIME/./}} ))
  if (( wait_us > 0 )); then
    printf -v wait_s '%d.%06d' $(( wait_us / {us_per_s} )) $(( wait_us % {us_per_s} ))
    read -rt "$wait_s" -u "$never"
  fi
  {{ {client} "$DESTINATION" $options < /dev/null > /dev/null 2>&1 ||
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
