"""The scenario that plays an export in ns-3, and the README on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from trafficgen.export.flow_schedule import FlowSchedule
from trafficgen.export.settings import Settings

_TEMPLATES = ("scenario.py", "scenario.cc", "trafficgen-replay.h")


@dataclass(frozen=True)
class FlowRow:
    """One line of ``flows.csv``; times count from the first packet of all flows.

    Attributes:
        flow: Number in the names of its files.
        protocol: ``udp`` or ``tcp``.
        first_ns: Time of its first packet, or its start where it is drawn.
        last_ns: Time of its last packet, or its end where it is drawn.
        packets: Packets it has, or about as many where it is drawn.
        largest_payload_bytes: Payload of its largest packet.
    """

    flow: int
    protocol: str
    port: int
    first_ns: int
    last_ns: int
    packets: int
    largest_payload_bytes: int


def write_flows(flows: Sequence[FlowRow], folder: Path) -> list[str]:
    """Write ``flows.csv``, and return its name."""
    lines = [
        ",".join(field.name for field in fields(FlowRow)),
        *(",".join(map(str, astuple(row))) for row in flows),
    ]
    (folder / "flows.csv").write_text("\n".join(lines) + "\n", encoding="ascii")
    return ["flows.csv"]


def write_scenario(folder: Path, settings: Settings, *, mode: str) -> list[str]:
    """Write the scenario with the settings of its link, and return the names of its files.

    By default it does what ``mode`` says: ``trace``, ``exact`` or ``onoff``.
    """
    values = {
        "@MODE@": mode,
        "@LINK_RATE@": f"{settings.whole('link_rate_kbps')}kbps",
        "@LINK_DELAY@": f"{settings.number('link_delay_ms'):g}ms",
        "@LINK_QUEUE@": f"{settings.whole('queue_packets')}p",
    }
    templates = resources.files("trafficgen.export.targets.ns3") / "templates"
    for name in _TEMPLATES:
        text = (templates / name).read_text(encoding="utf-8")
        for place, value in values.items():
            text = text.replace(place, value)
        (folder / name).write_text(text, encoding="utf-8")
    return list(_TEMPLATES)


def format_delimited(
    columns: Mapping[str, object], *, delimiter: str = ",", header: bool = True
) -> bytes:
    """Return columns as text, a row a line, without quotes."""
    sink = pa.BufferOutputStream()
    if header:
        sink.write(f"{delimiter.join(columns)}\n".encode())  # pyarrow would quote the names
    options = pa_csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")
    pa_csv.write_csv(pa.table(dict(columns)), sink, options)
    text: bytes = sink.getvalue().to_pybytes()
    return text


#: Libraries of ns-3 that the scenario needs.
LIBRARIES = ("core", "network", "internet", "applications", "point-to-point", "traffic-control")
_LINKED = " ".join(f"-lns3-{library}" for library in LIBRARIES)

#: How the scenario is run by each of the ways in which people have ns-3.
_RUN = """With the Python wheel (Python 3.11, x86-64):

```sh
pip install ns3==3.44.post0
python scenario.py
```

Two lines about `Failed to materialize symbols` are the wheel's own, and harmless.

In C++, with the packages of Debian or Ubuntu:

```sh
apt-get install --no-install-recommends g++ libns3-dev
g++ -std=c++17 scenario.cc -o scenario {libraries}
./scenario
```

In C++, in a source tree of ns-3, version 3.37 or later: copy this folder to `scratch/replay` there,
then

```sh
./ns3 run "scratch/replay/scenario.cc --folder=scratch/replay"
```

Do not start the scenario in Python in `/`: it hangs there before the simulation begins (seen with
ns-3.44).
"""

_SCHEDULE = """\
A sender, a router and a receiver: the link behind the router has a rate, a delay and a queue, see
`--help`. The receiver listens on the ports in `flows.csv`.

{run}
Printed are the packets scheduled, sent and received of each flow; the exit code is 1 where
not all datagrams of the schedule were sent. `sent.pcap` and `received.pcap` have nanosecond times:

```sh
trafficgen inspect sent.pcap
trafficgen compare TABLE sent.pcap --all
```

{mode}
"""

_OF_MODE = {
    "trace": (
        """\
`flowN.trace` is for `UdpTraceClient`, which keeps whole milliseconds. `--mode=exact` (in Python
also `--exact`) plays `flowN.csv` (`time_ns,payload_bytes`) instead, to the nanosecond, with the
sender in `trafficgen-replay.h`.

To play a trace in a scenario of your own, take care of what `UdpTraceClient` does in silence:

- `TraceLoop` is on by default: switch it off. `MaxPacketSize` (1024 by default) must be above the
  largest packet, see `flows.csv`; else packets are cut, and a packet as large as it is followed by
  one of 12 bytes.
- It sends the first line at once, whatever its time: start the application at `first_ns` of
  `flows.csv`.
- Where it cannot read the file, it sends its built-in trace. Check that the file is there.
- Do not add a newline after the last line: ns-3.44 and later read one more frame there."""
    ),
    "exact": (
        """\
`flowN.csv` (`time_ns,payload_bytes`) is played by the sender in `trafficgen-replay.h`. For TCP the
sizes are writes of the application; each connection has a second before its first write."""
    ),
}

_MODEL = """\
`applications.csv` has the attributes of an `OnOffApplication` for each phase of each stream:
`OnTime`, `OffTime`, `DataRate`, `PacketSize`, and when it starts and stops. A file name is that of
a table (`value_s,cumulative_p`) for `EmpiricalRandomVariable` with `Interpolate` on, which in ns-3
has no form as text; with `--set laws=variables` the export has the nearest random variables that
have one. The scenario installs the applications on a sender, before a router and a link, see
`--help`.

{run}
`--run=2` draws other random numbers. Printed are packets and bytes sent and received;
`scheduled_packets` is about how many are expected. `sent.pcap` and `received.pcap` hold them:

```sh
trafficgen inspect sent.pcap
```
"""

_BURSTS = """\
`flowN.bursts.csv` is for `TraceFileBurstGenerator` of the module vr-app (contributed to ns-3): size
of a burst and time to the next. Each packet is a burst of its own, so the application sends it
whole when `FragmentSize` is not below the largest one. A flow starts at `first_ns` of `flows.csv`.
In a scenario with that module:

```cpp
auto bursts = CreateObject<TraceFileBurstGenerator>();
bursts->SetAttribute("TraceFile", StringValue("{file}"));
auto sender = CreateObject<BurstyApplication>();
sender->SetAttribute("BurstGenerator", PointerValue(bursts));
sender->SetAttribute("FragmentSize", UintegerValue({largest_bytes}));
sender->SetAttribute("Remote", AddressValue(InetSocketAddress(receiverAddress, {port})));
sender->SetStartTime(NanoSeconds({first_ns}));
```

The receiver: `BurstSinkHelper`, on that port. `FragmentTx` and `FragmentRx` of the two count what
was sent and arrived.
"""


def packets_how_to_run(mode: str) -> str:
    """Return how schedules are played in the mode ``trace`` or ``exact``."""
    return _SCHEDULE.format(run=_RUN.format(libraries=_LINKED), mode=_OF_MODE[mode])


def model_how_to_run() -> str:
    """Return how the law of a model is drawn."""
    return _MODEL.format(run=_RUN.format(libraries=_LINKED))


def bursts_how_to_run(flows: Sequence[FlowSchedule], *, first_port: int) -> str:
    """Return how the bursts of the first flow are played; the others alike."""
    flow = flows[0]
    return _BURSTS.format(
        file=f"flow{flow.flow}.bursts.csv",
        largest_bytes=int(flow.payload_bytes.max()),
        port=first_port,
        first_ns=int(flow.time_ns[0]),
    )
