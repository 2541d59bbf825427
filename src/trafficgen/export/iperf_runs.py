"""Shell scripts that start an iperf run an epoch by the clock, for iperf 2 and iperf3."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trafficgen.errors import ExportError
from trafficgen.export.epochs import EPOCH_S, EPOCHS, Plan, plans_of, plans_report
from trafficgen.export.sending_ends import (
    DESTINATION,
    DIRECTION,
    HIGHEST_PORT,
    destination_of,
    write_executable,
)
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.stream_runs import RunTool, write_stream_runs
from trafficgen.export.target import Target, Written
from trafficgen.formatting import format_count
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.units import US_PER_S, ms_from_s, us_from_ns, us_from_s

#: A run that starts later than this after its epoch is reported, s.
_LATE_S = 0.1


@dataclass(frozen=True, kw_only=True)
class Iperf(RunTool):
    """What differs between iperf 2 and iperf3.

    Attributes:
        first_port: First port by default.
        guard_s: End of each epoch in which nothing is sent by default, s.
        how_to_run: End of the README; ``{first}`` and ``{last}`` are its ports.
    """

    versions: str
    first_port: int
    guard_s: float
    how_to_run: str

    def client_command(self, destination: str) -> str:
        """Return how the command that sends begins: its destination and its options follow."""
        return f"{self.command(destination)} -c"

    def server_lines(self, ports: Mapping[str, range], destination: str) -> str:
        """Return the lines of a shell script that start the servers, by their options."""
        command = self.command(destination)
        return "".join(
            f"for port in $(seq {used.start} {used.stop - 1}); do\n"
            f"  {command} -s{kind} -p $port >> sink.$port.log 2>&1 &\ndone\n"
            for kind, used in ports.items()
        )

    def command(self, destination: str) -> str:
        """Return the program, with the option that iperf 2 needs for IPv6."""
        return (
            f"{self.program} -V" if self.program == "iperf" and ":" in destination else self.program
        )


def iperf_target(tool: Iperf) -> Target:
    """Describe a version of iperf as a target."""
    return Target(
        name=tool.target,
        summary=f"scripts of {tool.title} runs, one an epoch, with their servers",
        versions=tool.versions,
        write=partial(write_runs, tool=tool),
        write_stream=partial(_write_workload, tool=tool),
        settings=_settings_of(tool),
        protocols="UDP, TCP",
        flows="`servers` ports each",
        how_to="feed-iperf",
        several_files=True,
    )


def _settings_of(tool: Iperf) -> tuple[Setting, ...]:
    return (
        DESTINATION,
        Setting(
            "first_port",
            tool.first_port,
            "First port; each flow has `servers` ports from there on.",
            low=1,
            high=HIGHEST_PORT,
        ),
        Setting(
            "servers",
            4,
            "Servers a flow; epochs take them in turn, as a server takes one run at a time and a"
            " run ends after its epoch.",
            low=1,
            high=64,
        ),
        DIRECTION,
        EPOCH_S,
        EPOCHS,
        Setting(
            "guard_s",
            tool.guard_s,
            "End of each epoch in which nothing is sent, s: a run that starts so much late stays"
            " within its epoch.",
            low=0.0,
            high=1e6,
        ),
        Setting(
            "lead_s",
            0.0,
            "How much earlier than its epoch each run is started, s: as long as the tool needs"
            " until its first packet.",
            low=0.0,
            high=10.0,
        ),
    )


def write_runs(table: PacketTable, folder: Path, settings: Settings, *, tool: Iperf) -> Written:
    """Write scripts that run iperf once an epoch: one a flow, one for all, one for the servers.

    Raises:
        ExportError: If nothing can be sent, the guard leaves no epoch, or there are not enough
            ports.
    """
    guard_s, epoch_s = settings.number("guard_s"), settings.number("epoch_s")
    if guard_s > epoch_s / 2:
        raise ExportError(
            f"{tool.target}: guard_s={guard_s:g} leaves less than half of an epoch of {epoch_s:g} s"
            " to send in; lower guard_s or raise epoch_s"
        )
    plans = plans_of(table, settings, target=tool.target, limits=tool.limits, guard_s=guard_s)
    ports = _ports_of(plans.flows, settings, target=tool.target)
    program = tool.command(settings.text("destination"))
    scripts, lists, sinks = [], [], []
    for plan, own_ports in zip(plans.flows, ports, strict=True):
        script = _flow_script(plan, own_ports, settings, tool=tool, program=program)
        scripts.append(write_executable(folder / f"flow{plan.flow.flow}.sh", script))
        lists.append(_write_epochs_csv(folder / f"flow{plan.flow.flow}.epochs.csv", plan))
        server = f"{program} -s{tool.server(plan.flow.protocol)} -p"
        sinks += [f"{server} {port} >> sink.{port}.log 2>&1 &\n" for port in own_ports]
    send = _SEND.format(scripts=" ".join(scripts), us_per_s=US_PER_S)
    sink = _SINK.format(servers="".join(sinks), count=len(sinks))
    others = [
        write_executable(folder / "send.sh", send),
        write_executable(folder / "sink.sh", sink),
    ]
    lost = [
        "sizes and gaps within an epoch, and their correlation: each epoch has its mean size,"
        " evenly spaced",
        *tool.lost,
        "one 5-tuple a flow: each epoch has its own source port",
    ]
    if any(plan.flow.protocol == "tcp" for plan in plans.flows):
        lost.append(
            "TCP segments, acknowledgements and retransmissions: the sending system makes them"
        )
    report = plans_report(
        plans, target=tool.target, files=[*scripts, *lists, *others], cannot_express=lost
    )
    text = _HOW_TO_RUN.format(tool=tool.program) + tool.how_to_run
    return Written(report, text.format(first=ports[0][0], last=ports[-1][-1]))


def _write_workload(
    stream: PacketStream, folder: Path, settings: Settings, *, tool: Iperf
) -> Written:
    if settings.text("epochs") == "levels":
        raise ExportError(f"{tool.target}: epochs of a workload are equally long; leave epochs out")
    lead_s = settings.number("lead_s")
    return write_stream_runs(stream, folder, settings, tool=tool, lead_s=lead_s)


def _ports_of(plans: Sequence[Plan], settings: Settings, *, target: str) -> list[list[int]]:
    """Return the ports of each flow: one a server, of no more servers than it has epochs."""
    first_port, servers = settings.whole("first_port"), settings.whole("servers")
    last_port = first_port + servers * len(plans) - 1
    if last_port > HIGHEST_PORT:
        raise ExportError(
            f"{target}: the flows need ports up to {last_port}, above {HIGHEST_PORT}; lower"
            " first_port or export one flow with [--flow]"
        )
    return [
        [first_port + place * servers + number for number in range(min(servers, len(plan.epochs)))]
        for place, plan in enumerate(plans)
    ]


def _write_epochs_csv(path: Path, plan: Plan) -> str:
    """Write the epochs: start, length, datagrams (TCP: writes), their bytes, size and rate."""
    epochs = plan.epochs
    columns = {
        "start_s": [f"{start:.9f}" for start in epochs.start_s.tolist()],
        "length_s": [f"{length:.9f}" for length in epochs.length_s.tolist()],
        "packets": epochs.packets.tolist(),
        "payload_bytes": epochs.payload_bytes.tolist(),
        "size_bytes": plan.size_bytes.tolist(),
        "rate_bps": plan.rate_bps.tolist(),
    }
    rows = [columns, *zip(*columns.values(), strict=True)]
    path.write_text("".join(f"{','.join(map(str, row))}\n" for row in rows), encoding="utf-8")
    return path.name


def _flow_script(
    plan: Plan, ports: Sequence[int], settings: Settings, *, tool: Iperf, program: str
) -> str:
    """Return the script that sends one flow; SettingError if the destination is invalid."""
    flow, epochs = plan.flow, plan.epochs
    name = f"flow{flow.flow}"
    columns = (epochs.start_ns, epochs.packets, plan.size_bytes, plan.rate_bps)
    rows = enumerate(zip(*(column.tolist() for column in columns), strict=True))
    calls = "".join(
        f"epoch {number} {us_from_ns(start_ns)}"
        f" {tool.options(flow.protocol, ports[number % len(ports)], packets, size, rate_bps)}\n"
        for number, (start_ns, packets, size, rate_bps) in rows
    )
    runs = format_count(len(epochs), f"{tool.title} run")
    head = _FLOW_HEAD.format(
        about=f"Flow {flow.flow} ({flow.protocol}, {flow.media}): {runs}.",
        name=name,
        client=f"{program} -c",
        destination=destination_of(settings, target=tool.target),
        lead_us=round(us_from_s(settings.number("lead_s"))),
        us_per_s=US_PER_S,
        late_us=round(us_from_s(_LATE_S)),
        late_ms=round(ms_from_s(_LATE_S)),
    )
    return f"{head}\n{calls}{_FLOW_TAIL.format(name=name)}"


_FLOW_HEAD = """\
#!/usr/bin/env bash
# {about}
# Each run is started in the background, at its epoch's start by the clock; needs bash 5.
# Environment: START_US, the origin of the schedule in us since 1970 (default: in one second), and
# DESTINATION.
set -u
export LC_ALL=C
CDPATH= cd -- "$(dirname -- "$0")"
DESTINATION=${{DESTINATION:-{destination}}}
START_US=${{START_US:-$(( ${{EPOCHREALTIME/./}} + {us_per_s} ))}}
LEAD_US=${{LEAD_US:-{lead_us}}}
runs=() failed=0
exec {{never}}<> <(:)  # nothing ever comes from here: reading it waits without starting a process
trap 'kill "${{runs[@]}}" 2>/dev/null; exit 130' INT TERM

epoch() {{  # number, start in us from the origin, options
  local number=$1 wait_us=$(( START_US + $2 - LEAD_US - ${{EPOCHREALTIME/./}} )) wait_s
  shift 2
  if (( wait_us > 0 )); then
    printf -v wait_s '%d.%06d' $(( wait_us / {us_per_s} )) $(( wait_us % {us_per_s} ))
    read -rt "$wait_s" -u "$never"
  elif (( wait_us < -{late_us} )); then
    echo "{name}, epoch $number: more than {late_ms} ms late" >&2
  fi
  {client} "$DESTINATION" "$@" >> {name}.log 2>&1 &
  runs+=($!)
}}
"""

_FLOW_TAIL = """
for number in "${{!runs[@]}}"; do
  wait "${{runs[number]}}" && continue
  failed=1
  echo "{name}, epoch $number failed: see {name}.log" >&2
done
exit $failed
"""

_SEND = """\
#!/usr/bin/env bash
# Sends all flows from one origin: START_US, in us since 1970 (default: in one second).
set -u
export LC_ALL=C
CDPATH= cd -- "$(dirname -- "$0")"
export START_US=${{START_US:-$(( ${{EPOCHREALTIME/./}} + {us_per_s} ))}}
flows=() failed=0
trap 'kill "${{flows[@]}}" 2>/dev/null; wait; exit 130' INT TERM
for script in {scripts}; do
  bash "$script" &
  flows+=($!)
done
for flow in "${{flows[@]}}"; do wait "$flow" || failed=1; done
exit $failed
"""

_SINK = """\
#!/usr/bin/env bash
# Runs {count} servers until it is stopped (Ctrl-C, or kill).
set -u
CDPATH= cd -- "$(dirname -- "$0")"
stop() {{  # servers that wait for an end of their last run do not heed the first signal
  trap - EXIT
  kill $(jobs -p); sleep 0.3; kill -KILL $(jobs -p); wait
}} 2>/dev/null
trap stop EXIT
trap 'exit 0' INT TERM
{servers}
while [[ -n $(jobs -rp) ]]; do
  wait -n
  echo "a server ended: see the logs; is its port in use?" >&2
done
exit 1
"""

#: The beginning of both READMEs.
_HOW_TO_RUN = """\
At the receiving end, start the servers (ports {{first}} to {{last}}) and leave them running:

```sh
bash sink.sh            # Ctrl-C stops it
```

At the sending end:

```sh
DESTINATION=192.0.2.7 bash send.sh
```

`send.sh` starts all flows from one origin, `flowN.sh` one flow alone. Each line
`epoch NUMBER START_US ...` is one run of {tool}, started START_US microseconds after the origin
whether or not the one before has ended; `flowN.epochs.csv` lists the same for programs.
`START_US=... bash send.sh` sets the origin (microseconds since 1970), so that several machines
start together.

"""
