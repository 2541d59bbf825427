"""Schedules for ns-3: UdpTraceClient traces, files to the nanosecond, bursts for the vr-app module.

``UdpTraceClient`` (src/applications of ns-3, run in 3.37 and 3.44) keeps whole milliseconds and
sends its first line at once, whatever its time; a line whose index is that of the line before (0 at
first) is skipped; a trace whose first time is 0 sends its first packets twice; since 3.44 a newline
at the end is read as one more frame, without a time. So lines count from 1, times from 1 ms, and
the last line has no newline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from trafficgen.errors import ExportError
from trafficgen.export.flow_schedule import (
    FlowSchedule,
    Schedules,
    note_raised,
    raise_all,
    schedule_report,
    schedules_of,
)
from trafficgen.export.sending_ends import (
    NETWORK_SETTINGS,
    direction_of,
    ports_from,
    refuse_oversized_datagrams,
)
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Target, Written
from trafficgen.export.targets.ns3.model import write_ns3_model
from trafficgen.export.targets.ns3.scenario import (
    FlowRow,
    bursts_how_to_run,
    format_delimited,
    packets_how_to_run,
    write_flows,
    write_scenario,
)
from trafficgen.tables import PacketTable
from trafficgen.units import NS_PER_MS, NS_PER_S, IntArray

SETTINGS = (
    Setting(
        "mode",
        "trace",
        "Of packets. trace: UdpTraceClient, whole milliseconds; exact: a sender of the export's"
        " own, UDP and TCP, to the nanosecond; bursts: files for TraceFileBurstGenerator of the"
        " vr-app module.",
        choices=("trace", "exact", "bursts"),
    ),
    *NETWORK_SETTINGS,
    Setting(
        "queue_packets",
        1000,
        "Packets that the queue before the link holds.",
        low=1,
        high=1_000_000_000,
    ),
    Setting(
        "laws",
        "tables",
        "Of a model. tables: laws that no random variable of ns-3 has are tables; variables: the"
        " nearest one is taken.",
        choices=("tables", "variables"),
    ),
    Setting(
        "largest_ks",
        0.2,
        "Of a model. Largest KS distance of gaps, or of bursts, that is accepted.",
        low=0,
        high=1,
    ),
    Setting(
        "approximate",
        False,
        "Of a model. Whether processes other than renewal and bursts lose their dependence.",
    ),
)
#: Sequence number and time, which UdpTraceClient puts into each packet; and the same of the vr-app
#: module.
TRACE_HEADER_BYTES, BURST_HEADER_BYTES = 12, 24
#: UDP payload of the largest packet that fits in the link's MTU of 1500 bytes.
_UNFRAGMENTED_BYTES = 1472
_TRACE_TIMES_END_MS = 1 << 32


def write_ns3(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write the schedule of each flow, and a scenario that plays them over a link.

    Raises:
        ExportError: If a datagram is larger than UDP's, there are more flows than ports, or a trace
            would be longer than its times can count.

    Source: src/applications/model/udp-trace-client.cc of ns-3; model/trace-file-burst-generator.cc
        and model/bursty-application.cc of ns-3-vr-app.
    """
    mode = settings.text("mode")
    protocols, write = _MODES[mode]
    schedules = schedules_of(
        table,
        target=f"ns3 with mode={mode}",
        protocols=protocols,
        direction=direction_of(settings),
        remedy="add [--set mode=exact], whose sender takes TCP too",
    )
    refuse_oversized_datagrams(schedules.flows, target="ns3")
    return write(schedules, folder, settings)


def _write_trace(schedules: Schedules, folder: Path, settings: Settings) -> Written:
    sent, small = raise_all(schedules.flows, low_bytes=TRACE_HEADER_BYTES)
    played = [_in_milliseconds(flow) for flow in sent]
    names = []
    for flow, exact in zip(played, schedules.flows, strict=True):
        names.append(f"flow{flow.flow}.trace")
        _write_trace_lines(flow, folder / names[-1])
        names.append(_write_schedule(exact, folder))
    names += [
        *write_flows(_rows(played, settings), folder),
        *write_scenario(folder, settings, mode="trace"),
    ]
    lacks = [*note_raised(small, TRACE_HEADER_BYTES)]
    if any(
        np.any(flow.time_ns != exact.time_ns)
        for flow, exact in zip(played, schedules.flows, strict=True)
    ):
        lacks.append(
            "times are whole milliseconds from the first packet of each flow; `--mode=exact` of the"
            " scenario plays flowN.csv to the nanosecond"
        )
    lacks += [
        *_common_lacks(schedules),
        "the first 12 payload bytes (a sequence number and a time are written there)",
    ]
    report = schedule_report(schedules, played, target="ns3", files=names, cannot_express=lacks)
    return Written(report, packets_how_to_run("trace"))


def _write_exact(schedules: Schedules, folder: Path, settings: Settings) -> Written:
    names = [_write_schedule(flow, folder) for flow in schedules.flows]
    names += [
        *write_flows(_rows(schedules.flows, settings), folder),
        *write_scenario(folder, settings, mode="exact"),
    ]
    lacks = _common_lacks(schedules)
    if any(flow.protocol == "tcp" for flow in schedules.flows):
        lacks.append(
            "TCP segments, acknowledgements and retransmissions: ns-3's TCP makes them of the"
            " application's writes"
        )
    report = schedule_report(
        schedules, schedules.flows, target="ns3", files=names, cannot_express=lacks
    )
    return Written(report, packets_how_to_run("exact"))


def _write_bursts(schedules: Schedules, folder: Path, settings: Settings) -> Written:
    sent, small = raise_all(schedules.flows, low_bytes=BURST_HEADER_BYTES)
    names = []
    for flow in sent:
        names.append(f"flow{flow.flow}.bursts.csv")
        _write_burst_lines(flow, folder / names[-1])
    names += write_flows(_rows(sent, settings), folder)
    lacks = [
        *note_raised(small, BURST_HEADER_BYTES),
        *_common_lacks(schedules),
        "the first 24 payload bytes (the header of a fragment is written there)",
        "frames: each packet is a burst",
    ]
    report = schedule_report(schedules, sent, target="ns3", files=names, cannot_express=lacks)
    return Written(report, bursts_how_to_run(sent, first_port=settings.whole("first_port")))


#: Mode -> protocols that it sends, and its writer.
_MODES = {
    "trace": (["udp"], _write_trace),
    "exact": (["udp", "tcp"], _write_exact),
    "bursts": (["udp"], _write_bursts),
}


def _in_milliseconds(flow: FlowSchedule) -> FlowSchedule:
    """Return a flow as UdpTraceClient plays it: whole milliseconds after its first packet.

    Raises:
        ExportError: If it is longer than the times of a trace can count.
    """
    after_ms = _after_first_ms(flow)
    if int(after_ms[-1]) + 1 >= _TRACE_TIMES_END_MS:
        raise ExportError(
            f"flow {flow.flow}: a trace of ns-3 counts 32 bits of milliseconds, the flow takes"
            f" {flow.time_s[-1]:.0f} s; use [--set mode=exact]"
        )
    return replace(flow, time_ns=flow.time_ns[0] + after_ms * NS_PER_MS)


def _after_first_ms(flow: FlowSchedule) -> IntArray:
    after_ns = flow.time_ns - flow.time_ns[0]
    return np.asarray((after_ns + NS_PER_MS // 2) // NS_PER_MS, dtype=np.int64)


def _write_trace_lines(flow: FlowSchedule, path: Path) -> None:
    n = len(flow)
    columns = {
        "index": np.arange(1, n + 1),
        "type": pa.repeat("P", n),
        "time_ms": _after_first_ms(flow) + 1,
        "payload_bytes": flow.payload_bytes,
    }
    path.write_bytes(format_delimited(columns, delimiter=" ", header=False).removesuffix(b"\n"))


def _write_schedule(flow: FlowSchedule, folder: Path) -> str:
    name = f"flow{flow.flow}.csv"
    columns = {"time_ns": flow.time_ns, "payload_bytes": flow.payload_bytes}
    (folder / name).write_bytes(format_delimited(columns))
    return name


def _write_burst_lines(flow: FlowSchedule, path: Path) -> None:
    """Write size and time to the next packet; the last is followed by nothing, after no time.

    The module turns each time into whole nanoseconds, and a number such as 0.017 may be a hair
    below 17 ms: a third of a nanosecond more is the same after rounding as after cutting, so that
    errors do not add up.
    """
    gap_ns = np.diff(flow.time_ns, append=flow.time_ns[-1])
    whole_s, rest_ns = np.divmod(gap_ns, NS_PER_S)
    rows = zip(flow.payload_bytes.tolist(), whole_s.tolist(), rest_ns.tolist(), strict=True)
    lines = (f"{size},{seconds}.{nanoseconds:09d}3\n" for size, seconds, nanoseconds in rows)
    path.write_text("# burst_size_bytes,time_to_next_burst_s\n" + "".join(lines), encoding="ascii")


def _rows(flows: Sequence[FlowSchedule], settings: Settings) -> list[FlowRow]:
    return [
        FlowRow(
            flow=flow.flow,
            protocol=flow.protocol,
            port=port,
            first_ns=int(flow.time_ns[0]),
            last_ns=int(flow.time_ns[-1]),
            packets=len(flow),
            largest_payload_bytes=int(flow.payload_bytes.max()),
        )
        for flow, port in zip(
            flows, ports_from(settings.whole("first_port"), len(flows), target="ns3"), strict=True
        )
    ]


def _common_lacks(schedules: Schedules) -> list[str]:
    lacks = ["payload and IP addresses (the scenario uses its own)"]
    large = sum(
        int(np.count_nonzero(flow.payload_bytes > _UNFRAGMENTED_BYTES))
        for flow in schedules.flows
        if flow.protocol == "udp"
    )
    if large:
        lacks.append(
            f"datagrams above {_UNFRAGMENTED_BYTES} payload bytes travel as IP fragments ({large}"
            " datagrams)"
        )
    if any(":" in flow.source for flow in schedules.flows):
        lacks.append("IPv6: the scenario's addresses are IPv4")
    return lacks


TARGET = Target(
    name="ns3",
    summary=(
        "UdpTraceClient traces, schedules to the ns or OnOffApplications, with a scenario in"
        " Python and C++"
    ),
    versions="ns-3.37 and later (run with 3.37 and 3.44)",
    write=write_ns3,
    write_model=write_ns3_model,
    settings=SETTINGS,
    protocols="UDP; TCP with mode=exact",
    flows="a port each",
    how_to="feed-ns-3",
    several_files=True,
)
