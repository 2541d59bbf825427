"""INET (OMNeT++): a trace for NetPerfMeter of each flow, with a network and an omnetpp.ini.

``NetPerfMeter`` (src/inet/applications/netperfmeter of INET) reads ``delay frame_bytes stream``
lines. Each delay comes before its frame, the first one too, from ``startTime`` on; after the last
frame the trace begins anew, for ever. So the first delay is long enough for ``stopTime`` to fall
before the first frame comes again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from trafficgen.export.flow_schedule import FlowSchedule, raise_all, schedule_report, schedules_of
from trafficgen.export.sending_ends import (
    NETWORK_SETTINGS,
    direction_of,
    ports_from,
    refuse_oversized_datagrams,
)
from trafficgen.export.settings import Settings
from trafficgen.export.target import Target, Written
from trafficgen.formatting import format_count
from trafficgen.tables import PacketTable
from trafficgen.units import NS_PER_S, s_from_ms, s_from_ns

#: Sending starts after connections are made, for which four one-way delays do.
_EARLIEST_START_S, _DELAYS_TO_CONNECT = 1, 4
#: The pause before the first frame keeps it from coming again before ``stopTime``; until then the
#: last one arrives.
_PAUSE_S, _DRAIN_S = 10, 9
_SINKS = {"udp": "UdpSink", "tcp": "TcpSinkApp"}


def write_inet(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write a trace for each flow, a network of two hosts, and the configuration that plays them.

    Raises:
        ExportError: If a datagram is larger than UDP's, or there are more flows than ports.

    Source: NetPerfMeter.cc and NetPerfMeter.ned of INET 4.
    """
    schedules = schedules_of(table, target="inet", direction=direction_of(settings))
    ports = ports_from(settings.whole("first_port"), len(schedules.flows), target="inet")
    refuse_oversized_datagrams(schedules.flows, target="inet")
    sent, empty = raise_all(schedules.flows, low_bytes=1)
    names = [_write_trace(flow, folder) for flow in sent]
    (folder / "TrafficgenReplay.ned").write_text(_network(settings), encoding="ascii")
    (folder / "omnetpp.ini").write_text(_configuration(sent, ports, settings), encoding="ascii")
    lacks = ["payload and IP addresses (the network uses its own)"]
    if empty:
        lacks.append(f"empty datagrams were given 1 byte ({format_count(empty, 'packet')})")
    if any(flow.protocol == "tcp" for flow in sent):
        lacks.append(
            "TCP segments, acknowledgements and retransmissions: INET's TCP makes them of the"
            " application's writes"
        )
    files = [*names, "TrafficgenReplay.ned", "omnetpp.ini"]
    return Written(
        schedule_report(schedules, sent, target="inet", files=files, cannot_express=lacks),
        _HOW_TO_RUN,
    )


def _write_trace(flow: FlowSchedule, folder: Path) -> str:
    """Write the delays in whole nanoseconds, so that their sums are the times of the schedule."""
    name = f"flow{flow.flow}.trace"
    delay_ns = np.diff(flow.time_ns, prepend=-_PAUSE_S * NS_PER_S)
    whole_s, rest_ns = np.divmod(delay_ns, NS_PER_S)
    rows = zip(whole_s.tolist(), rest_ns.tolist(), flow.payload_bytes.tolist(), strict=True)
    text = "".join(f"{seconds}.{nanoseconds:09d} {size} 0\n" for seconds, nanoseconds, size in rows)
    (folder / name).write_text(text, encoding="ascii")
    return name


def _network(settings: Settings) -> str:
    rate = f"{settings.whole('link_rate_kbps')}kbps"
    return f"""\
// A sender and a receiver with a link between them.
import inet.networklayer.configurator.ipv4.Ipv4NetworkConfigurator;
import inet.node.inet.StandardHost;
import ned.DatarateChannel;

network TrafficgenReplay
{{
    types:
        channel Link extends DatarateChannel
        {{
            datarate = {rate};
            delay = {settings.number("link_delay_ms"):g}ms;
        }}
    submodules:
        configurator: Ipv4NetworkConfigurator;
        sender: StandardHost;
        receiver: StandardHost;
    connections:
        sender.pppg++ <--> Link <--> receiver.pppg++;
}}
"""


def _configuration(flows: Sequence[FlowSchedule], ports: Sequence[int], settings: Settings) -> str:
    delay_s = s_from_ms(settings.number("link_delay_ms"))
    start_s = max(_EARLIEST_START_S, math.ceil(_DELAYS_TO_CONNECT * delay_s))
    end_s = max(s_from_ns(int(flow.time_ns[-1])) for flow in flows)
    lines = [
        "[General]",
        "network = TrafficgenReplay",
        f"sim-time-limit = {start_s + _PAUSE_S + end_s + _DRAIN_S + 1 + math.ceil(delay_s):.9f}s",
        f"*.sender.numApps = {len(flows)}",
        f"*.receiver.numApps = {len(flows)}",
    ]
    for place, (flow, port) in enumerate(zip(flows, ports, strict=True)):
        lines += _of_flow(flow, place=place, port=port, start_s=start_s)
    return "\n".join(lines) + "\n"


def _of_flow(flow: FlowSchedule, *, place: int, port: int, start_s: int) -> Iterator[str]:
    sender, receiver = f"*.sender.app[{place}]", f"*.receiver.app[{place}]"
    # Counted from resetTime: after the last frame, and before the trace has begun anew.
    stop_s = _PAUSE_S + s_from_ns(int(flow.time_ns[-1])) + _DRAIN_S
    yield ""
    yield f"# flow {flow.flow}: what the schedule has at 0 s leaves at {start_s + _PAUSE_S} s"
    yield f'{sender}.typename = "NetPerfMeter"'
    yield f"{sender}.activeMode = true"
    yield f'{sender}.protocol = "{flow.protocol.upper()}"'
    yield f"{sender}.localPort = {port}"
    yield f'{sender}.remoteAddress = "receiver"'
    yield f"{sender}.remotePort = {port}"
    yield f'{sender}.traceFile = "flow{flow.flow}.trace"'
    yield f"{sender}.maxMsgSize = {int(flow.payload_bytes.max()) + 1}B"
    yield f"{sender}.connectTime = 0s"
    yield f"{sender}.startTime = {start_s}s"
    yield f"{sender}.resetTime = {start_s}s"
    yield f"{sender}.stopTime = {stop_s:.9f}s"
    yield f'{receiver}.typename = "{_SINKS[flow.protocol]}"'
    yield f"{receiver}.localPort = {port}"


_HOW_TO_RUN = """\
`TrafficgenReplay.ned` joins a sender and a receiver by a link; `omnetpp.ini` gives the sender one
`NetPerfMeter` and the receiver one sink for each flow. With INET built as a library and `INET` the
folder it lies in:

```sh
opp_run -l INET/src/INET -n .:INET/src -u Cmdenv omnetpp.ini
```

`NetPerfMeter` may have been left out when INET was built: `opp_featuretool list` in its folder says
what is in. In the results, `Total Sent Messages` and `Total Sent Bytes` of `sender.app[k]` are the
packets and payload bytes of its flow; the `count` and `sum(packetBytes)` of `receiver.app[k]` are
what arrived:

```sh
counts='name =~ "Total Sent*" OR name =~ "*:count" OR name =~ "*:sum(packetBytes)"'
opp_scavetool query -l -f "$counts" results/*.sca
```

Things to know when a trace is played by a configuration of your own:

- A line is `delay_s frame_bytes stream`. The delay comes before the frame, before the first one
  too.
- The trace begins anew after its last frame. `stopTime` counts from `resetTime`; here it falls into
  the first delay, which is 10 s longer than the schedule asks for.
- `protocol` is SCTP unless set, and a frame above `maxMsgSize` (1000 bytes unless set) is split.
- Versions of INET 4 before 4.3 count frames of UDP and TCP and do not send them: take 4.3 or later.
"""


TARGET = Target(
    name="inet",
    summary="NetPerfMeter traces with a network and an omnetpp.ini",
    versions="INET 4.3 and later with OMNeT++ 6 (written from its source, not run)",
    write=write_inet,
    settings=NETWORK_SETTINGS,
    protocols="UDP, TCP",
    flows="a port each",
    how_to="feed-inet",
    several_files=True,
)
