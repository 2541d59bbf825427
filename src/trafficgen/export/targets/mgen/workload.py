"""A workload for MGEN: scripts of a line a flow and epoch, started one after the other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from trafficgen.errors import ExportError
from trafficgen.export.epochs import Limits
from trafficgen.export.flow_schedule import seconds_text
from trafficgen.export.sending_ends import (
    destination_of,
    fill_template,
    ports_from,
    write_executable,
)
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.stream_runs import (
    RUNS,
    SEND_NAME,
    SINK_NAME,
    EpochRun,
    EpochRuns,
    write_send_script,
    write_sink_script,
)
from trafficgen.export.target import Written
from trafficgen.export.targets.mgen.lines import RATE_OF_ONE_PER_S, SPACINGS
from trafficgen.tables.stream import PacketStream
from trafficgen.units import US_PER_S, us_from_s

WORKLOAD_SETTINGS = (
    Setting("ports", 100, "Of a workload: ports that its flows share.", low=1, high=1000),
)
#: Lines of a script: MGEN 5.02b needs 0.3 s to read them, and 4 s for 20,000.
_MOST_LINES = 5000
#: Flows of an epoch in one process. Those of epochs before still have their sockets where a busy
#: machine or a slow path holds them up, and MGEN 5.02b aborts when it has 1024.
_MOST_AT_ONCE = 150
#: TCP connections of a script: MGEN 5.02b never closes about every other one of them.
_MOST_CONNECTIONS = 600
#: How much earlier than its time a script is started, and a second for each that runs at its side:
#: MGEN must have read it by then, or it refuses to start, s.
_LEAD_S = 5
#: Time after its last epoch in which a script is stopped: MGEN 5.02b waits for ever for a TCP
#: connection of which it has missed that it is open, some of a thousand on a busy machine, s.
_ENDING_S = 20
_TCP_SINK, _COUNTS = "tcp_sink.py", "tcp.txt"


@dataclass
class _Script:
    """A script that is being written."""

    name: str
    origin_us: int
    file: TextIO
    lines: int = 0
    connections: int = 0
    last_us: int = 0

    @property
    def is_full(self) -> bool:
        """Whether the next line belongs into another script."""
        return self.lines >= _MOST_LINES or self.connections >= _MOST_CONNECTIONS

    def add(self, run: EpochRun, *, end: str, epoch_s: float, pattern: str) -> None:
        """Add the line of a run, which is an MGEN flow that ends after its messages."""
        self.lines, self.last_us = self.lines + 1, run.start_us
        self.connections += run.protocol == "tcp"
        rate_per_s = run.packets / epoch_s if run.packets > 1 else RATE_OF_ONE_PER_S
        self.file.write(
            f"{seconds_text(run.start_us - self.origin_us)} ON {self.lines} {run.protocol.upper()}"
            f" DST {end} {pattern} [{rate_per_s:.9g} {run.size_bytes}] COUNT {run.packets}\n"
        )


def write_mgen_workload(
    stream: PacketStream, folder: Path, settings: Settings, *, limits: dict[str, Limits]
) -> Written:
    """Write scripts with a line for each flow and epoch, and what starts them and the sinks.

    Raises:
        ExportError: If nothing can be sent, or the mode is packet for packet.
        SettingError: If the destination or the ports cannot be.

    Source: what MGEN 5.02b does on the loopback interface: a number of a flow is used once, and a
    flow without ``SRC`` has a socket of its own, until an interval after its last message.
    """
    if settings.text("mode") not in ("auto", "epochs"):
        raise ExportError(
            "mgen: workloads, and packets beyond [--memory|memory_bytes], are sent in epochs; leave"
            " [--set mode|mode in settings] out"
        )
    destination = destination_of(settings, target="mgen")
    ports = ports_from(settings.whole("first_port"), settings.whole("ports"), target="mgen")
    epoch_s, pattern = settings.number("epoch_s"), settings.text("pattern").upper()
    runs = EpochRuns(stream, settings, limits, "mgen")
    scripts: list[_Script] = []
    written: list[_Script] = []  # side by side, so that none has too many flows at a time
    epoch_us = at_once = 0
    with ExitStack() as opened:
        for run in runs:
            epoch_us, at_once = run.start_us, at_once if run.start_us == epoch_us else 0
            place, at_once = at_once // _MOST_AT_ONCE, at_once + 1
            if place == len(written) or written[place].is_full:
                name, origin_us = f"part{len(scripts)}.mgn", epoch_us // US_PER_S * US_PER_S
                file = opened.enter_context((folder / name).open("w", encoding="ascii"))
                scripts.append(_Script(name, origin_us, file))
                if place < len(written):
                    written[place].file.close()
                written[place : place + 1] = scripts[-1:]
            end = f"{destination}/{ports[run.flow % len(ports)]}"
            written[place].add(run, end=end, epoch_s=epoch_s, pattern=pattern)
    lead_s = _LEAD_S + len(written)
    longest_s = lead_s + _ENDING_S + round(2 * epoch_s)
    lines = [
        f"{one.origin_us} all {one.name} {longest_s + (one.last_us - one.origin_us) // US_PER_S}\n"
        for one in scripts
    ]
    (folder / RUNS).write_text("".join(lines), encoding="ascii")
    write_send_script(
        folder, _SEND, setup=_SETUP, lead_us=round(us_from_s(lead_s)), ready_s=lead_s + 1
    )
    values = {"FIRST": ports.start, "LAST": ports.stop - 1, "COUNTS": _COUNTS}
    write_executable(folder / _TCP_SINK, fill_template("mgen_tcp_sink.txt", values))
    write_sink_script(
        folder,
        f'mgen event "0.0 LISTEN UDP {ports.start}-{ports.stop - 1}" output sink.log >'
        f" /dev/null 2>&1 &\npython3 {_TCP_SINK} &\n",
    )
    report = runs.report(
        (RUNS, *(one.name for one in scripts), SEND_NAME, SINK_NAME, _TCP_SINK),
        "payload (RTP headers too), addresses and ports (MGEN uses its own)",
        "headers: bytes count payload alone; acknowledgements and the other direction",
        f"one 5-tuple a flow: each epoch has its own source port, and flows share {len(ports)}"
        " ports that are sent to",
        spacing=SPACINGS[settings.text("pattern")],
    )
    return Written(report, _HOW_TO_RUN.format(lines=_MOST_LINES, lead=lead_s))


_SETUP = "export TZ=UTC0  # for the time of day in $at"
_SEND = """\
printf -v at '%(%H:%M:%SGMT)T' $(( (START_US + start_us) / 1000000 ))
    set -- $options
    timeout "$2" mgen start "$at" input "$1"\
"""

_HOW_TO_RUN = """\
At the receiving end, start the sinks and leave them running:

```sh
bash sink.sh            # Ctrl-C stops it
```

At the sending end:

```sh
bash send.sh
```

- Each script has at most {lines} lines, of one flow in one epoch each. `runs.txt` lists their
  origins, in microseconds from that of the workload, and after how many seconds each is stopped if
  it has not ended; `send.sh` starts each {lead} s earlier, so that MGEN has read it by then.
  `START_US=... bash send.sh` sets the origin (microseconds since 1970, cut to whole seconds), so
  that several machines can share the lines.
- TCP goes to `tcp_sink.py` (Python 3.8 and newer): MGEN's own sink never closes a connection, and
  ends at 1024 of them.
- Check: `send.sh` exits with 0 and `failed.log` is empty. `sink.log` has as many lines with `RECV`
  as datagrams were sent, `tcp.txt` the bytes over TCP, when `sink.sh` has ended. `mgen input
  part0.mgn txlog` shows what one script sends.
- A script that MGEN has not read in time, or not sent to the end, is in `failed.log`: the machine
  or the path is too busy.
"""
