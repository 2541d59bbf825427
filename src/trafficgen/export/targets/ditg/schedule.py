"""Flows for D-ITG, the Distributed Internet Traffic Generator: files of gaps and of sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from trafficgen.errors import ExportError
from trafficgen.export.epochs import Limits
from trafficgen.export.flow_schedule import (
    FlowSchedule,
    note_raised,
    raise_payloads,
    rising_us,
    schedule_report,
    schedules_of,
)
from trafficgen.export.sending_ends import (
    DESTINATION,
    DIRECTION,
    check_signal_port,
    cut_oversized,
    destination_of,
    direction_of,
    first_port_setting,
    oversize_setting,
    ports_from,
)
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.stream_runs import SINK_NAME, RunTool, write_sink_script, write_stream_runs
from trafficgen.export.target import Written
from trafficgen.formatting import format_count
from trafficgen.tables import PacketTable
from trafficgen.tables.stream import PacketStream
from trafficgen.units import BITS_PER_BYTE, US_PER_MS, IntArray, ns_from_us, us_from_ms

LARGEST_BYTES = 64_000
SCHEDULE_SETTINGS = (
    DESTINATION,
    first_port_setting(10001),
    Setting(
        "signal_port", 9000, "TCP port on which ITGRecv listens for ITGSend.", low=1, high=65_535
    ),
    DIRECTION,
    Setting(
        "start_ms",
        1000,
        "From the start of ITGSend to the first packet of all, ms.",
        low=1,
        high=3_600_000,
    ),
    Setting("poll", True, "Wait for gaps in a busy loop: exact, at the cost of a processor."),
    Setting(
        "late_us",
        0,
        "Taken off every gap, for machines that wake up late by so much, us.",
        low=0,
        high=1000,
    ),
    Setting(
        "metadata",
        "standard",
        "What D-ITG writes into payloads: standard needs 16 bytes, short 8, none 4; its logs need"
        " standard.",
        choices=("standard", "short", "none"),
    ),
    oversize_setting(LARGEST_BYTES),
)
#: Value of ``-p`` and smallest payload of UDP; TCP needs twice four bytes more.
METADATA = {"standard": (0, 16), "short": (1, 8), "none": (2, 4)}
_MORE_OF_TCP_BYTES = 8
_USUAL_SIGNAL_PORT = 9000
#: Flows of one ITGSend. 2.8.1 closes its flows one after the other, a second each: 200 flows were
#: all sent, and it ended 200 s later.
_MOST_FLOWS = 10
#: Size of its buffer for a line.
_LONGEST_LINE = 399


def write_ditg(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write for each flow a script of one line, its gaps and its sizes.

    Raises:
        ExportError: If there is nothing to send, a packet is larger than D-ITG sends, or there are
            too many flows.
        SettingError: If the destination or the ports cannot be.

    Source: what ITGSend 2.8.1 does on the loopback interface; manual of D-ITG 2.8.1, "Command line
    options".
    """
    schedules = schedules_of(table, target="ditg", direction=direction_of(settings))
    flows, notes = [], []
    for given in schedules.flows:
        flow, changes = _prepared(given, settings)
        flows.append(flow)
        notes += changes
    ports = ports_from(settings.whole("first_port"), len(flows), target="ditg")
    parts = -(-len(flows) // _MOST_FLOWS)
    signal_ports = ports_from(
        settings.whole("signal_port"), parts, target="ditg", setting="signal_port"
    )
    for signal_port in signal_ports:
        check_signal_port([flow.protocol for flow in flows], ports, signal_port=signal_port)
    start_us = us_from_ms(settings.whole("start_ms"))
    sent, files, lines = [], [], []
    for place, (given, port) in enumerate(zip(flows, ports, strict=True)):
        flow, changes = _long_enough(given, settings)
        notes += changes
        gap_us, time_us = _gaps(flow, start_us=start_us)
        sent.append(replace(flow, time_ns=ns_from_us(time_us)))
        line = _line(flow, port, settings, part=place // _MOST_FLOWS)
        script, gaps, sizes = (f"flow{flow.flow}.{ending}" for ending in ("script", "idt", "ps"))
        _write(folder / gaps, _gap_texts(gap_us, late_us=settings.whole("late_us")))
        _write(folder / sizes, map(str, flow.payload_bytes.tolist()))
        _write(folder / script, [line])
        lines.append(line)
        files += [script, gaps, sizes]
    if len(flows) > 1:
        files[:0] = _write_parts(folder, lines, signal_ports)
    report = schedule_report(
        schedules,
        sent,
        target="ditg",
        files=files,
        cannot_express=(*notes, *_NOT_EXPRESSED),
        cut=flows,
    )
    return Written(report, _how_to_run(files[0], len(flows), signal_ports, settings))


def _write_parts(folder: Path, lines: Sequence[str], signal_ports: range) -> list[str]:
    """Write the lines of all flows into a script, or one an ITGSend and what starts them."""
    if len(signal_ports) == 1:
        _write(folder / "all.script", lines)
        return ["all.script"]
    scripts = [f"part{part}.script" for part in range(len(signal_ports))]
    for part, script in enumerate(scripts):
        _write(folder / script, lines[part * _MOST_FLOWS :][:_MOST_FLOWS])
    receivers = [f"ITGRecv -Sp {port} > sink.{port}.log 2>&1 &\n" for port in signal_ports]
    write_sink_script(folder, "".join(receivers))
    reason = "each closes its flows one\n# after the other, a second each."
    (folder / "run.sh").write_text(run_script(scripts, reason), encoding="ascii", newline="\n")
    return [*scripts, "run.sh", SINK_NAME]


def run_script(scripts: Sequence[str], reason: str) -> str:
    """Return a shell script that runs the scripts by name: others may be in the folder."""
    return f"""#!/bin/sh
# Runs an ITGSend for every script here, side by side: {reason}
set -eu
CDPATH= cd -- "$(dirname -- "$0")"
started='' failed=0
for script in {" ".join(scripts)}; do
    ITGSend "$script" -l "${{script%.script}}.send.log" -x "${{script%.script}}.recv.log" &
    started="$started $!"
done
for process in $started; do wait "$process" || failed=1; done
exit $failed
"""


_NOT_EXPRESSED = (
    "payload (RTP headers too) and source ports (D-ITG uses its own)",
    (
        "times that do not drift: ITGSend 2.8.1 counts each gap from when it woke up and never"
        " makes up for being late"
    ),
)


def smallest_payload_bytes(protocol: str, metadata: str) -> int:
    """Return the shortest payload that ITGSend 2.8.1 sends without making it longer."""
    return METADATA[metadata][1] + (_MORE_OF_TCP_BYTES if protocol == "tcp" else 0)


def _prepared(given: FlowSchedule, settings: Settings) -> tuple[FlowSchedule, list[str]]:
    """Return a flow whose payloads are not too long, and what was done to it."""
    flow, count = cut_oversized(given, settings, high_bytes=LARGEST_BYTES, target="ditg")
    notes = []
    if count:
        notes.append(
            f"flow {flow.flow}: sizes above {LARGEST_BYTES} bytes were cut"
            f" ({format_count(count, 'packet')})"
        )
    if flow.protocol == "tcp":
        notes.append(
            f"flow {flow.flow}: each of {len(flow)} TCP segments is one write of the application;"
            " packetisation, acknowledgements and retransmissions are the tool's"
        )
    return flow, notes


def _long_enough(given: FlowSchedule, settings: Settings) -> tuple[FlowSchedule, list[str]]:
    """Return a flow whose payloads hold D-ITG's metadata, and what was done to it."""
    low = smallest_payload_bytes(given.protocol, settings.text("metadata"))
    flow, count = raise_payloads(given, low_bytes=low)
    return flow, [f"flow {flow.flow}: {note}" for note in note_raised(count, low)]


def _gaps(flow: FlowSchedule, *, start_us: int) -> tuple[IntArray, IntArray]:
    """Return the gaps given to ITGSend, us, and when it then sends, us on the schedule's clock.

    The first gap is the delay of the flow's start, which ITGSend cuts to whole milliseconds.
    """
    time_us = rising_us(flow.time_ns) + start_us
    time_us[0] = time_us[0] // US_PER_MS * US_PER_MS
    return np.diff(time_us, prepend=0), time_us - start_us


def _gap_texts(gap_us: IntArray, *, late_us: int) -> list[str]:
    shorter = np.maximum(gap_us - late_us, 1)
    shorter[0] = gap_us[0]
    whole, rest = np.divmod(shorter, US_PER_MS)
    return [f"{ms}.{us:03d}" for ms, us in zip(whole.tolist(), rest.tolist(), strict=True)]


def _line(flow: FlowSchedule, port: int, settings: Settings, *, part: int) -> str:
    """Return the options of a flow without ``-T UDP``, which raises the smallest payload by 4."""
    transport = "-T TCP -D " if flow.protocol == "tcp" else ""
    poll = "-poll " if settings.flag("poll") else ""
    metadata = METADATA[settings.text("metadata")][0]
    return check_line(
        f"{receiver_options(settings, part=part)} -rp {port} {transport}-p {metadata} {poll}"
        f"-z {len(flow)} -Fs flow{flow.flow}.ps -Ft flow{flow.flow}.idt"
    )


def receiver_options(settings: Settings, *, part: int = 0) -> str:
    """Return the options that say where ITGRecv is, of one of several."""
    port = settings.whole("signal_port") + part
    signal = "" if port == _USUAL_SIGNAL_PORT else f" -Sdp {port}"
    return f"-a {destination_of(settings, target='ditg')}{signal}"


def receiver_command(settings: Settings) -> str:
    """Return the command of the receiving end."""
    port = settings.whole("signal_port")
    return "ITGRecv" if port == _USUAL_SIGNAL_PORT else f"ITGRecv -Sp {port}"


def check_line(line: str) -> str:
    """Return a line of a script; raise ExportError if it is longer than ITGSend reads."""
    if len(line) > _LONGEST_LINE:
        raise ExportError(
            f"ITGSend reads lines of at most {_LONGEST_LINE} characters; give a shorter destination"
        )
    return line


def _write(path: Path, lines: Sequence[str] | map[str]) -> None:
    """Write lines, the last with its end too: ITGSend refuses a script without."""
    with path.open("w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _how_to_run(script: str, flows: int, signal_ports: range, settings: Settings) -> str:
    receive, send, log = receiver_command(settings), f"ITGSend {script} -l send.log -x", "recv.log"
    send, several, ports = f"{send} {log}", "", f"port {signal_ports[0]}"
    if len(signal_ports) > 1:
        receive = "bash sink.sh            # Ctrl-C stops it"
        send, log = "sh run.sh", "part0.recv.log"
        ports = f"ports {signal_ports[0]} to {signal_ports[-1]}"
        several = (
            f"- An ITGSend has {_MOST_FLOWS} flows, and an ITGRecv for itself, since it takes a"
            " second to close each\n  flow when all have ended. All start within some milliseconds."
            "\n"
        )
    elif flows > 1:
        several = (
            "- `all.script` has a line for every flow, so all count from the start of one ITGSend."
            " A flow can be sent alone with its own script.\n"
        )
    return f"""\
At the receiving end, first:

```sh
{receive}
```

At the sending end, in this folder:

```sh
{send}
```

- ITGRecv listens on TCP {ports} for ITGSend; open it and
  the flows' ports in firewalls. It writes `{log}` into the folder that it was started in.
- Check: `ITGDec {log}` counts packets and bytes of each flow, `ITGDec {log} -l packets.txt`
  lists every packet. Bytes are of payload. `trafficgen compare TABLE packets.txt --all` measures
  the rest. The log names no protocol: of TCP, make a table first
  (`trafficgen convert packets.txt --protocol tcp -o received.parquet`) and compare with that.
{several}- After a silence of seconds the next packet may be late by a thousandth of it, which Linux
  allows such waits.
- Each gap is counted from when ITGSend woke up for the packet before, so delays add up. The busy
  loop (`-poll`, on by default) keeps them small while no other process takes the processor. Where
  others do, export with `--set poll=off --set late_us=60` and run `chrt -f 20 ITGSend ...` as root:
  it then wakes up late by much the same time for each packet, which is taken off the gaps. Measure
  the drift, divide it by the packets, and change `late_us` by it. Do not give the busy loop
  real-time priority: Linux takes the processor away from it for 50 ms of each second.
- Do not add `-T UDP` (it makes small packets four bytes longer) nor `-sp` (ITGSend 2.8.1 then fails
  over IPv4 with `Address family not supported`), and no comments. Paths in the scripts count from
  the folder in which ITGSend runs.
"""


WORKLOAD_SETTINGS = (
    Setting("epoch_s", 1.0, "Of a workload: length of a run of a flow, s.", low=0.1, high=3600),
    Setting(
        "guard_s",
        0.05,
        "Of a workload: end of each epoch in which nothing is sent, s, for runs that start late.",
        low=0.0,
        high=3600,
    ),
)
#: A run of one datagram ends after one interval; this is a rate that makes it short, 1/s.
_RATE_OF_ONE_PER_S = 1000


#: Runs of the first second fail where a receiver is not up yet. To connect to it would be a run for
#: it, so the kernel's list of sockets is read.
_WAIT = """\
for port in $(seq {first} {step} {last}); do
  printf -v listens ': [0-9A-F]+:%04X [0-9A-F]+:0000 0A ' "$port"
  for try in $(seq 100); do
    grep -qsE "$listens" /proc/net/tcp /proc/net/tcp6 && continue 2
    sleep 0.1
  done
  echo "no ITGRecv listens on TCP port $port{hint}" >&2{failed}
done
"""


@dataclass(frozen=True, kw_only=True)
class _ItgSend(RunTool):
    """ITGSend, with an ITGRecv for each run at a time, on the port after that of the data.

    One ITGRecv for all would do, but 2.8.1 closes sockets twice: a run that begins within the
    moment in which another ends can make it end with an error.
    """

    log: bool

    def client_command(self, destination: str) -> str:
        """Return how the command that sends begins: its destination and its options follow."""
        del destination
        return "ITGSend -a"

    def server_lines(self, ports: Mapping[str, range], destination: str) -> str:
        """Return the lines of a shell script that start the receivers."""
        del destination
        [used] = ports.values()
        log = " -l recv.$port.log" if self.log else ""
        return (
            f"for port in $(seq {used.start} {used.step} {used.stop - 1}); do\n"
            f"  ITGRecv -Sp $(( port + 1 )){log} > sink.$port.log 2>&1 &\ndone\n"
            + _wait_for(used, hint=": see sink.$(( port - 1 )).log")
            + 'echo "ready: start send.sh"\n'
        )

    def setup_lines(self, ports: Mapping[str, range]) -> str:
        """Return the lines that wait for receivers on this machine, before anything is sent."""
        [used] = ports.values()
        wait = _wait_for(used, hint=": start sink.sh first", failed="; exit 1")
        return f"\nif [[ $DESTINATION == 127.* || $DESTINATION == localhost ]]; then\n{wait}fi"


def _wait_for(ports: range, *, hint: str, failed: str = "") -> str:
    first, last = ports.start + 1, ports.stop
    return _WAIT.format(first=first, step=ports.step, last=last, hint=hint, failed=failed)


def write_ditg_workload(stream: PacketStream, folder: Path, settings: Settings) -> Written:
    """Write a run of ITGSend for each flow and epoch, and what starts them.

    Raises:
        ExportError: If nothing can be sent, or ports do not suffice.
        SettingError: If the destination or the ports cannot be.

    Source: what ITGSend 2.8.1 does on the loopback interface: its first packet leaves some
    milliseconds after its start, and it ends a second after the last interval.
    """
    metadata = settings.text("metadata")

    def options(protocol: str, port: int, packets: int, size_bytes: int, rate_bps: int) -> str:
        transport = " -T TCP -D" if protocol == "tcp" else ""
        per_s = rate_bps / BITS_PER_BYTE / size_bytes if packets > 1 else _RATE_OF_ONE_PER_S
        return (
            f"-Sdp {port + 1} -rp {port}{transport} -p {METADATA[metadata][0]} -C {per_s:.9g}"
            f" -c {size_bytes} -z {packets}"
        )

    tool = _ItgSend(
        target="ditg",
        title="ITGSend",
        program="ITGSend",
        limits={
            protocol: Limits(smallest_payload_bytes(protocol, metadata), LARGEST_BYTES)
            for protocol in ("udp", "tcp")
        },
        options=options,
        server=lambda _protocol: "",
        lost=("payload (RTP headers too) and source ports (D-ITG uses its own)",),
        ending_s=3.0,
        ports_each=2,
        log=metadata == "standard",
    )
    written = write_stream_runs(stream, folder, settings, tool=tool)
    return replace(written, how_to_run=written.how_to_run + _CHECK)


_CHECK = """\

`sink.sh` says `ready` when all receivers listen: start `send.sh` then. On one machine `send.sh`
waits for them by itself, 10 s at most.

A run has an ITGRecv for itself: each listens for ITGSend on the TCP port after that of its data,
whatever `signal_port` says. With `metadata=standard` they write `recv.PORT.log`: after `sink.sh`
has ended, `ITGDec recv.PORT.log` counts packets and bytes of payload of all its runs under `TOTAL
RESULTS`. On a busy machine it logs some of ten thousand packets less than a capture has.
"""
