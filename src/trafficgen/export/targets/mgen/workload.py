"""A workload for MGEN: scripts of a line a flow and epoch, started one after the other."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TextIO

from trafficgen.errors import ExportError
from trafficgen.export.epochs import Limits
from trafficgen.export.flow_schedule import seconds_text
from trafficgen.export.sending_ends import destination_of, ports_from
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
#: Flows of an epoch in one process. Those of the epoch before may still have their sockets, and
#: MGEN 5.02b aborts when it has 1024.
_MOST_AT_ONCE = 400
#: Connections of an epoch to one sink, for the same reason; flows share the ports unevenly.
_MOST_CONNECTIONS = 200
#: How much earlier than its time a script is started, and a second for each that runs at its side:
#: MGEN must have read it by then, or it refuses to start, s.
_LEAD_S = 5


@dataclass
class _Script:
    """A script that is being written."""

    name: str
    origin_us: int
    file: TextIO
    lines: int = 0

    def add(self, run: EpochRun, *, end: str, epoch_s: float, pattern: str) -> None:
        """Add the line of a run, which is an MGEN flow that ends after its messages."""
        self.lines += 1
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
            "mgen: workloads, and packets beyond --memory, are sent in epochs; leave --set mode out"
        )
    destination = destination_of(settings, target="mgen")
    ports = ports_from(settings.whole("first_port"), settings.whole("ports"), target="mgen")
    epoch_s, pattern = settings.number("epoch_s"), settings.text("pattern").upper()
    runs = EpochRuns(stream, settings, limits, "mgen")
    scripts: list[_Script] = []  # written side by side, so that none has too many flows at a time
    names: list[str] = []
    epoch_us = at_once = connections = most_connections = 0
    with (folder / RUNS).open("w", encoding="ascii") as listed, ExitStack() as opened:
        for run in runs:
            if run.start_us != epoch_us:
                epoch_us, at_once, connections = run.start_us, 0, 0
            place, at_once = at_once // _MOST_AT_ONCE, at_once + 1
            connections += run.protocol == "tcp"
            most_connections = max(most_connections, connections)
            if place == len(scripts) or scripts[place].lines == _MOST_LINES:
                names.append(f"part{len(names)}.mgn")
                file = opened.enter_context((folder / names[-1]).open("w", encoding="ascii"))
                new = _Script(names[-1], epoch_us // US_PER_S * US_PER_S, file)
                listed.write(f"{new.origin_us} all {new.name}\n")
                if place < len(scripts):
                    scripts[place].file.close()
                scripts[place : place + 1] = [new]
            end = f"{destination}/{ports[run.flow % len(ports)]}"
            scripts[place].add(run, end=end, epoch_s=epoch_s, pattern=pattern)
    lead_s = _LEAD_S + len(scripts)
    write_send_script(
        folder, _SEND, setup=_SETUP, lead_us=round(us_from_s(lead_s)), ready_s=lead_s + 1
    )
    write_sink_script(
        folder, _sinks(ports, min(len(ports), 1 + most_connections // _MOST_CONNECTIONS))
    )
    report = runs.report(
        (RUNS, *names, SEND_NAME, SINK_NAME),
        "payload (RTP headers too), addresses and ports (MGEN uses its own)",
        "headers: bytes count payload alone; acknowledgements and the other direction",
        f"one 5-tuple a flow: each epoch has its own source port, and flows share {len(ports)}"
        " ports that are sent to",
        spacing=SPACINGS[settings.text("pattern")],
    )
    return Written(report, _HOW_TO_RUN.format(lines=_MOST_LINES, lead=lead_s))


def _sinks(ports: range, count: int) -> str:
    """Return the lines of a shell script that start sinks, which share the ports."""
    edges = [ports.start + len(ports) * place // count for place in range(count + 1)]
    return "".join(
        f'mgen event "0.0 LISTEN UDP {first}-{end - 1}" event "0.0 LISTEN TCP {first}-{end - 1}"'
        f" output sink.{place}.log > /dev/null 2>&1 &\n"
        for place, (first, end) in enumerate(pairwise(edges))
    )


_SETUP = "export TZ=UTC0  # for the time of day in $at"
_SEND = """\
printf -v at '%(%H:%M:%SGMT)T' $(( (START_US + start_us) / 1000000 ))
    mgen start "$at" input $options"""

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
  origins, in microseconds from that of the workload; `send.sh` starts each {lead} s earlier, so
  that MGEN has read it by then. `START_US=... bash send.sh` sets the origin (microseconds since
  1970, cut to whole seconds), so that several machines can share the lines.
- Check: `send.sh` exits with 0, `failed.log` is empty, and `sink.N.log` have as many lines with
  `RECV` as packets were exported. `mgen input part0.mgn txlog` shows what one script sends.
- A script that MGEN has not read in time is in `failed.log`: the machine is too busy.
"""
