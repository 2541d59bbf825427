"""Scripts for MGEN, the Multi-Generator of the Naval Research Laboratory: packets or epochs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from trafficgen.errors import ExportError
from trafficgen.export.epochs import Limits, plan_flow
from trafficgen.export.flow_schedule import (
    FlowSchedule,
    note_raised,
    raise_all,
    raise_payloads,
    rising_us,
    schedule_report,
    schedules_of,
)
from trafficgen.export.sending_ends import (
    DESTINATION,
    DIRECTION,
    cut_oversized,
    destination_of,
    direction_of,
    first_port_setting,
    oversize_setting,
    ports_from,
    source_ports_from,
)
from trafficgen.export.settings import Setting, Settings
from trafficgen.export.target import Target, Written
from trafficgen.export.targets.mgen.lines import (
    SPACINGS,
    Ends,
    cloning_line,
    connection_messages,
    epoch_messages,
    join_segments,
    single_messages,
    write_clone,
)
from trafficgen.export.targets.mgen.workload import WORKLOAD_SETTINGS, write_mgen_workload
from trafficgen.formatting import format_count
from trafficgen.tables import PacketTable
from trafficgen.units import ns_from_us, us_from_ms, us_from_ns

_LARGEST_BYTES = 8192
SETTINGS = (
    DESTINATION,
    first_port_setting(5100),
    Setting(
        "first_source_port",
        15100,
        "Port that the first flow is sent from; further flows have the next.",
        low=1,
    ),
    DIRECTION,
    Setting(
        "mode",
        "auto",
        "exact: a line a packet; epochs: a line an epoch; clone: a pcap file that MGEN plays, if"
        " built with libpcap; auto: exact up to 20000 packets a flow, epochs beyond.",
        choices=("auto", "exact", "epochs", "clone"),
    ),
    Setting("epoch_s", 1.0, "Length of an epoch, s.", low=0.01, high=3600),
    Setting("pattern", "periodic", "Gaps of the packets of an epoch.", choices=tuple(SPACINGS)),
    Setting(
        "tcp_window_ms",
        10,
        "TCP segments within a window of this length are one write, ms.",
        low=1,
        high=1000,
    ),
    oversize_setting(_LARGEST_BYTES),
)
_SMALLEST_BYTES = {"udp": 28, "tcp": 76}
_LIMITS = {name: Limits(low, _LARGEST_BYTES) for name, low in _SMALLEST_BYTES.items()}
#: Lines of a script. MGEN 5.02b takes time in proportion to the square of their number to start
#: (1.7 s here), and each event comes 0.09 us later than the one before.
_MOST_LINES = 20_000


@dataclass(frozen=True)
class _Plan:
    """How one flow is sent: its packets, script lines, notes, and whether a capture is cloned."""

    sent: FlowSchedule
    lines: Iterable[str]
    notes: tuple[str, ...] = ()
    is_cloned: bool = False


def write_mgen(table: PacketTable, folder: Path, settings: Settings) -> Written:
    """Write a script for each flow, one for the receiver, and one that starts all at once.

    Raises:
        ExportError: If there is nothing to send, or a packet is larger than MGEN sends.
        SettingError: If the destination or the ports cannot be.

    Source: what MGEN 5.02b does on the loopback interface; its manual, "MGEN Script Format".
    """
    schedules = schedules_of(table, target="mgen", direction=direction_of(settings))
    flows, cut_packets = [], 0
    for given in schedules.flows:
        flow, count = given, 0
        if given.protocol == "udp":
            flow, count = cut_oversized(given, settings, high_bytes=_LARGEST_BYTES, target="mgen")
        flows.append(flow)
        cut_packets += count
    notes = _notes_on_sizes(flows, cut_packets=cut_packets)
    ends = _ends(flows, settings)
    plans = [_plan(flow, end, settings) for flow, end in zip(flows, ends, strict=True)]
    scripts: list[str] = []
    captures: list[str] = []
    for plan in plans:
        if plan.is_cloned:
            captures.append(_capture_name(plan.sent))
            write_clone(folder / captures[-1], plan.sent)
        scripts += _write_scripts(plan, folder)
    _write_text(folder / "sink.mgn", _sink_lines(flows, ends))
    _write_text(folder / "run.sh", [_run_script(scripts)])
    report = schedule_report(
        schedules,
        [plan.sent for plan in plans],
        target="mgen",
        files=[*scripts, *captures, "sink.mgn", "run.sh"],
        cannot_express=(*notes, *(note for plan in plans for note in plan.notes), _OWN_CONTENT),
        cut=flows,
    )
    return Written(report, _how_to_run(scripts, cloned=bool(captures)))


_OWN_CONTENT = "payload (RTP headers too), addresses and ports (MGEN uses its own)"


def _notes_on_sizes(flows: Sequence[FlowSchedule], *, cut_packets: int) -> list[str]:
    low = _SMALLEST_BYTES["udp"]
    _, small = raise_all([flow for flow in flows if flow.protocol == "udp"], low_bytes=low)
    notes = note_raised(small, low)
    if cut_packets:
        notes.append(
            f"sizes above {_LARGEST_BYTES} bytes were cut into equal pieces"
            f" ({format_count(cut_packets, 'packet')})"
        )
    return notes


def _ends(flows: Sequence[FlowSchedule], settings: Settings) -> list[Ends]:
    destination = destination_of(settings, target="mgen")
    ports = ports_from(settings.whole("first_port"), len(flows), target="mgen")
    first = settings.whole("first_source_port")
    source_ports = source_ports_from(first, ports, destination=destination, target="mgen")
    return [
        Ends(source, destination, port) for source, port in zip(source_ports, ports, strict=True)
    ]


def _plan(given: FlowSchedule, ends: Ends, settings: Settings) -> _Plan:
    mode = settings.text("mode")
    if given.protocol == "tcp":
        return _connection(given, ends, settings)
    flow, _ = raise_payloads(given, low_bytes=_SMALLEST_BYTES["udp"])
    if mode == "clone":
        return _clone(flow, ends)
    if mode == "exact" or (mode == "auto" and len(flow) <= _MOST_LINES):
        time_us = rising_us(flow.time_ns)
        sent = replace(flow, time_ns=ns_from_us(time_us))
        return _Plan(sent, single_messages(time_us, flow.payload_bytes, ends))
    return _epochs(flow, ends, settings)


def _connection(flow: FlowSchedule, ends: Ends, settings: Settings) -> _Plan:
    window_us = us_from_ms(settings.whole("tcp_window_ms"))
    low = _SMALLEST_BYTES["tcp"]
    writes = join_segments(flow, window_us=window_us, low_bytes=low, high_bytes=_LARGEST_BYTES)
    notes = [
        f"flow {flow.flow}: {len(flow)} TCP segments are {writes.time_us.size} writes of the"
        " application; packetisation, acknowledgements and retransmissions are the tool's"
    ]
    if writes.raised:
        notes.append(
            f"flow {flow.flow}: writes below {low} bytes were raised to {low} ({writes.raised}"
            " writes)"
        )
    return _Plan(
        writes.sent, connection_messages(writes.time_us, writes.payload_bytes, ends), tuple(notes)
    )


def _epochs(flow: FlowSchedule, ends: Ends, settings: Settings) -> _Plan:
    plan = plan_flow(flow, _LIMITS["udp"], epoch_s=settings.number("epoch_s"))
    pattern = settings.text("pattern")
    note = (
        f"flow {flow.flow}: sizes and gaps within epochs of {settings.number('epoch_s'):g} s: as"
        f" many packets of their mean size, {SPACINGS[pattern]}, are sent instead"
    )
    lines = epoch_messages(plan.epochs, plan.size_bytes, ends, pattern=pattern.upper())
    return _Plan(plan.sent, lines, (note,))


def _clone(flow: FlowSchedule, ends: Ends) -> _Plan:
    if len(flow) < 2:
        raise ExportError(
            f"flow {flow.flow} has one packet and mgen clones two or more; leave mode=clone out"
        )
    sent = replace(flow, time_ns=ns_from_us(us_from_ns(flow.time_ns)))
    start_us = int(us_from_ns(flow.time_ns[:1])[0])
    line = cloning_line(start_us, ends, file=_capture_name(flow))
    return _Plan(sent, [line], is_cloned=True)


def _capture_name(flow: FlowSchedule) -> str:
    return f"flow{flow.flow}.pcap"


def _write_scripts(plan: _Plan, folder: Path) -> list[str]:
    """Write a flow's lines into scripts, a connection's always into one; return their names."""
    lines = iter(plan.lines)
    flow = plan.sent
    parts = [list(lines)] if flow.protocol == "tcp" else list(_parts(lines))
    names = [
        f"flow{flow.flow}.mgn" if len(parts) == 1 else f"flow{flow.flow}-{k}.mgn"
        for k in range(len(parts))
    ]
    for name, part in zip(names, parts, strict=True):
        about = f"# flow {flow.flow} ({flow.protocol}, {flow.media}), {len(part)} events\n"
        _write_text(folder / name, [about, *part])
    return names


def _parts(lines: Iterator[str]) -> Iterator[list[str]]:
    while part := list(islice(lines, _MOST_LINES)):
        yield part


def _sink_lines(flows: Sequence[FlowSchedule], ends: Sequence[Ends]) -> list[str]:
    return [
        f"0.0 LISTEN {flow.protocol.upper()} {end.port}\n"
        for flow, end in zip(flows, ends, strict=True)
    ]  # a line a flow, so that a port can be taken out


def _write_text(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="ascii", errors="replace", newline="\n") as file:
        file.writelines(lines)


def _run_script(scripts: Sequence[str]) -> str:
    """Return a shell script that runs the scripts by name: others may be in the folder."""
    wait_s = 3 + 2 * len(scripts)
    return f"""#!/bin/sh
# Starts a mgen for every script here, all at the same second: in {wait_s} s, or in as many as the
# first argument says.
set -eu
CDPATH= cd -- "$(dirname -- "$0")"
started='' failed=0
start=$(date -u -d "+${{1:-{wait_s}}} seconds" +%H:%M:%S)GMT
for script in {" ".join(scripts)}; do
    mgen start "$start" input "$script" txlog output "${{script%.mgn}}.log" &
    started="$started $!"
done
for process in $started; do wait "$process" || failed=1; done
exit $failed
"""


def _how_to_run(scripts: Sequence[str], *, cloned: bool) -> str:
    first = scripts[0]
    one = (
        f"At the sending end:\n\n```sh\nmgen input {first} txlog output"
        f" {first.removesuffix('.mgn')}.log\n```"
        if len(scripts) == 1
        else (
            "At the sending end, all scripts at the same second (GNU date):\n\n```sh\nsh"
            " run.sh\n```"
        )
    )
    clone = (
        "\n- The scripts clone captures. Debian's mgen is built without libpcap and answers"
        " `invalid event option`; build mgen with it, or export again without `mode=clone`. Two"
        " cloned flows need two processes, as `run.sh` does it."
        if cloned
        else ""
    )
    return f"""\
At the receiving end, first:

```sh
mgen input sink.mgn output sink.log
```

{one}

- `txlog` makes mgen log what it sends. Check: as many lines with `SEND` in the sender's logs, and
  with `RECV` in `sink.log`, as packets were exported (TCP: as writes).
  `trafficgen compare TABLE sink.log --all` measures the rest.
- mgen ends by itself half a second after the last packet at the latest; the sink runs until it is
  stopped.
- On a busy machine give mgen priority: `chrt -f 20 mgen ...` as root. A process that is held up
  sends late, and one that is held up for more than 1000 packets ends with
  `bit out of range 0 - FD_SETSIZE`.
- Every packet or epoch is an MGEN flow (`flow>1`, `flow>2` ...), from one source port;
  flows of the packet table differ in the destination port.
- Without `destination` the scripts send to this machine; the sink may run on another one.{clone}
"""


TARGET = Target(
    name="mgen",
    summary="MGEN scripts, one a flow and one for the receiving end",
    versions="MGEN 5.02b",
    write=write_mgen,
    write_stream=partial(write_mgen_workload, limits=_LIMITS),
    settings=(*SETTINGS, *WORKLOAD_SETTINGS),
    protocols="UDP, TCP",
    flows="a port each",
    how_to="feed-mgen",
    several_files=True,
)
